//! How fields of packets are read and written, and the lists of fields turned into enums.
//!
//! Uses [`crate::decoder`]'s memory of formats and [`crate::xdr`].

use farbird_types::BlobId;

use crate::decoder::Memory;
use crate::protocol::{Handle, ProtocolVersion};
use crate::status::StatusVector;
use crate::xdr::{Reader, Stop, Writer};

/// What decoding a packet depends on besides its bytes.
#[derive(Debug)]
pub(crate) struct Context<'m> {
    pub(crate) version: ProtocolVersion,
    /// Longest counted string.
    pub(crate) string_bytes_max: usize,
    /// Formats that earlier packets described.
    pub(crate) memory: &'m mut Memory,
}

/// A field of a packet, or a group of fields.
pub(crate) trait Field: Sized {
    fn read(reader: &mut Reader<'_>, context: &mut Context<'_>) -> Result<Self, Stop>;
    fn write(&self, writer: &mut Writer<'_>, version: ProtocolVersion);
}

/// How many bytes of answer the sender has room for. Old peers sign-extend a 16-bit number here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BufferLength(pub u32);

impl Field for BufferLength {
    fn read(reader: &mut Reader<'_>, _: &mut Context<'_>) -> Result<Self, Stop> {
        Ok(BufferLength(reader.length()?))
    }
    fn write(&self, writer: &mut Writer<'_>, _: ProtocolVersion) {
        writer.u32(self.0);
    }
}

impl Field for Handle {
    fn read(reader: &mut Reader<'_>, _: &mut Context<'_>) -> Result<Self, Stop> {
        Ok(Handle(reader.u16()?))
    }
    fn write(&self, writer: &mut Writer<'_>, _: ProtocolVersion) {
        writer.short(self.0);
    }
}

impl Field for u16 {
    fn read(reader: &mut Reader<'_>, _: &mut Context<'_>) -> Result<Self, Stop> {
        reader.u16()
    }
    fn write(&self, writer: &mut Writer<'_>, _: ProtocolVersion) {
        writer.short(*self);
    }
}

impl Field for u32 {
    fn read(reader: &mut Reader<'_>, _: &mut Context<'_>) -> Result<Self, Stop> {
        reader.u32()
    }
    fn write(&self, writer: &mut Writer<'_>, _: ProtocolVersion) {
        writer.u32(*self);
    }
}

impl Field for i32 {
    fn read(reader: &mut Reader<'_>, _: &mut Context<'_>) -> Result<Self, Stop> {
        reader.i32()
    }
    fn write(&self, writer: &mut Writer<'_>, _: ProtocolVersion) {
        writer.i32(*self);
    }
}

impl Field for BlobId {
    fn read(reader: &mut Reader<'_>, _: &mut Context<'_>) -> Result<Self, Stop> {
        Ok(BlobId(reader.u64()?))
    }
    fn write(&self, writer: &mut Writer<'_>, _: ProtocolVersion) {
        writer.u64(self.0);
    }
}

impl Field for Vec<u8> {
    fn read(reader: &mut Reader<'_>, context: &mut Context<'_>) -> Result<Self, Stop> {
        Ok(reader.counted(context.string_bytes_max)?.to_vec())
    }
    fn write(&self, writer: &mut Writer<'_>, _: ProtocolVersion) {
        writer.counted(self);
    }
}

impl Field for StatusVector {
    fn read(reader: &mut Reader<'_>, _: &mut Context<'_>) -> Result<Self, Stop> {
        StatusVector::read(reader)
    }
    fn write(&self, writer: &mut Writer<'_>, version: ProtocolVersion) {
        self.write(writer, version);
    }
}

/// Declares a group of fields that several packets share or that callers pass around.
macro_rules! fields {
    ($(#[$doc:meta])* pub struct $name:ident { $($(#[$field_doc:meta])* $field:ident: $kind:ty,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $kind,)*
        }

        impl $crate::packet::Field for $name {
            fn read(
                reader: &mut $crate::xdr::Reader<'_>,
                context: &mut $crate::packet::Context<'_>,
            ) -> Result<Self, $crate::xdr::Stop> {
                Ok($name { $($field: $crate::packet::Field::read(reader, context)?,)* })
            }

            fn write(
                &self,
                writer: &mut $crate::xdr::Writer<'_>,
                version: $crate::protocol::ProtocolVersion,
            ) {
                $($crate::packet::Field::write(&self.$field, writer, version);)*
            }
        }
    };
}

/// Declares the packets of one direction: for each its operation and fields.
macro_rules! packets {
    ($(#[$doc:meta])* pub enum $name:ident {
        $($(#[$variant_doc:meta])* $variant:ident = $operation:ident
            $({ $($(#[$field_doc:meta])* $field:ident: $kind:ty,)* })?
            $(($inner:ident: $inner_kind:ty))?,)*
    }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq)]
        pub enum $name {
            $($(#[$variant_doc])* $variant
                $({ $($(#[$field_doc])* $field: $kind,)* })?
                $(($inner_kind))?,)*
        }

        impl $name {
            /// The operation.
            pub fn operation(&self) -> $crate::operation::Operation {
                match self {
                    $($name::$variant { .. } => $crate::operation::Operation::$operation,)*
                }
            }

            /// Appends the packet in the form of a protocol version. (Before one is agreed: the newest.)
            pub fn encode(&self, version: $crate::protocol::ProtocolVersion, out: &mut Vec<u8>) {
                let writer = &mut $crate::xdr::Writer::new(out);
                writer.u32(self.operation().code());
                match self {
                    $($name::$variant $({ $($field,)* })? $(($inner))? => {
                        $($($crate::packet::Field::write($field, writer, version);)*)?
                        $($crate::packet::Field::write($inner, writer, version);)?
                    })*
                }
            }

            /// Takes one packet off the reader.
            pub(crate) fn read(
                reader: &mut $crate::xdr::Reader<'_>,
                context: &mut $crate::packet::Context<'_>,
            ) -> Result<$name, $crate::xdr::Stop> {
                let code = reader.u32()?;
                let unknown = $crate::xdr::DecodeError::UnknownOperation { code };
                let operation = $crate::operation::Operation::from_code(code).ok_or(unknown)?;
                Ok(match operation {
                    $($crate::operation::Operation::$operation => $name::$variant
                        $({ $($field: $crate::packet::Field::read(reader, context)?,)* })?
                        $((<$inner_kind as $crate::packet::Field>::read(reader, context)?))?,)*
                    _ => return Err(unknown.into()),
                })
            }
        }
    };
}

pub(super) use {fields, packets};
