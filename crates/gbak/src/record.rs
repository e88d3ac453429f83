//! Records: definitions as lists of attributes.

use crate::input::{Input, little_endian};
use crate::{Fault, Result};

/// Longest attribute. Sources and BLR are the long ones; Firebird's own limits are far below.
const ATTRIBUTE_BYTES_MAX: usize = 64 << 20;
/// Most attributes of one record: an index has a name for each of its columns, an array its bounds.
const ATTRIBUTES_MAX: usize = 4096;

/// What a record is. The numbers are those of the file (enum rec_type of burp.h).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum RecordKind {
    Burp = 0,
    Database,
    GlobalField,
    Relation,
    Field,
    Index,
    Data,
    Blob,
    RelationData,
    RelationEnd,
    End,
    View,
    SecurityClass,
    Trigger,
    PhysicalDatabase,
    Function,
    FunctionArgument,
    FunctionEnd,
    GeneratorOfRelation,
    SystemType,
    Filter,
    TriggerMessage,
    UserPrivilege,
    Array,
    FieldDimensions,
    Files,
    Generator,
    Procedure,
    ProcedureParameter,
    ProcedureEnd,
    Exception,
    Constraint,
    Reference,
    Check,
    CharacterSet,
    Collation,
    Role,
    Mapping,
    Package,
    DatabaseCreator,
    Publication,
    PublicationTable,
}

use RecordKind as Kind;

/// All kinds, by number.
const KINDS: [Kind; 42] = [
    Kind::Burp,
    Kind::Database,
    Kind::GlobalField,
    Kind::Relation,
    Kind::Field,
    Kind::Index,
    Kind::Data,
    Kind::Blob,
    Kind::RelationData,
    Kind::RelationEnd,
    Kind::End,
    Kind::View,
    Kind::SecurityClass,
    Kind::Trigger,
    Kind::PhysicalDatabase,
    Kind::Function,
    Kind::FunctionArgument,
    Kind::FunctionEnd,
    Kind::GeneratorOfRelation,
    Kind::SystemType,
    Kind::Filter,
    Kind::TriggerMessage,
    Kind::UserPrivilege,
    Kind::Array,
    Kind::FieldDimensions,
    Kind::Files,
    Kind::Generator,
    Kind::Procedure,
    Kind::ProcedureParameter,
    Kind::ProcedureEnd,
    Kind::Exception,
    Kind::Constraint,
    Kind::Reference,
    Kind::Check,
    Kind::CharacterSet,
    Kind::Collation,
    Kind::Role,
    Kind::Mapping,
    Kind::Package,
    Kind::DatabaseCreator,
    Kind::Publication,
    Kind::PublicationTable,
];

impl RecordKind {
    /// The kind of this number.
    pub fn by_number(number: u8) -> Option<RecordKind> {
        KINDS.get(usize::from(number)).copied()
    }

    /// Whether attributes follow, up to the one that ends them. Rows, BLOBs and arrays have their own form.
    fn has_attributes(self) -> bool {
        !matches!(
            self,
            Kind::Data
                | Kind::Blob
                | Kind::Array
                | Kind::RelationEnd
                | Kind::End
                | Kind::FunctionEnd
                | Kind::ProcedureEnd
                | Kind::GeneratorOfRelation
        )
    }

    /// How an attribute is written; `None` for one that no known format has.
    fn framing(self, attribute: u8) -> Option<Framing> {
        // The highest number, those with a length of four bytes, those of one byte without a length.
        let (last, long, bare): (u8, &[u8], u8) = match self {
            Kind::Database => (21, &[6, 10], 17),
            Kind::GlobalField | Kind::Field => (47, &[6, 15, 16, 17, 18, 19, 20, 21, 35, 36, 37, 39, 40], 0),
            Kind::Relation => (20, &[2, 3, 9, 11, 13, 14, 15], 19),
            Kind::Index => (13, &[6, 9, 10, 11, 12, 13], 0),
            Kind::View => (12, &[], 0),
            Kind::SecurityClass => (19, &[12, 13, 19], 0),
            Kind::Trigger => (19, &[2, 3, 7, 10, 11, 14], 18),
            Kind::PhysicalDatabase => (21, &[], 0),
            Kind::Function => (22, &[2, 9, 13, 14, 16], 21),
            Kind::FunctionArgument => (20, &[13, 14, 20], 0),
            Kind::SystemType => (13, &[4, 13], 0),
            Kind::Filter => (12, &[7, 12], 0),
            Kind::Generator => (9, &[4], 0),
            Kind::Procedure => (19, &[4, 5, 6, 7, 8, 13], 18),
            Kind::ProcedureParameter => (13, &[5, 6, 7, 8], 0),
            Kind::Exception if attribute == 5 => return Some(Framing::TwoByteLength),
            Kind::Exception => (7, &[3, 4], 0),
            Kind::CharacterSet => (11, &[7], 0),
            Kind::Collation => (12, &[7, 10], 0),
            Kind::Role => (4, &[3], 0),
            Kind::Mapping => (10, &[10], 0),
            Kind::Package => (9, &[2, 3, 7], 8),
            Kind::FieldDimensions => (47, &[], 0),
            _ => (12, &[], 0),
        };
        match attribute {
            0 => None,
            number if number > last => None,
            number if long.contains(&number) => Some(Framing::FourByteLength),
            number if number == bare => Some(Framing::OneByte),
            _ => Some(Framing::OneByteLength),
        }
    }
}

/// What stands before the bytes of an attribute.
#[derive(Debug, Clone, Copy)]
enum Framing {
    /// Texts and numbers: a length of one byte.
    OneByteLength,
    /// Long messages: a length of two bytes.
    TwoByteLength,
    /// BLOBs of the system tables: a length as a number.
    FourByteLength,
    /// Nothing, and it is one byte: how Firebird 4's first versions wrote truth values.
    OneByte,
}

/// An attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attribute {
    /// Its number: see [`crate::attribute`].
    pub number: u8,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// A definition, or the mark of something that follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// What it is.
    pub kind: RecordKind,
    /// What is said of it, in order. Some stand there several times.
    pub attributes: Vec<Attribute>,
}

impl Record {
    /// The bytes of an attribute.
    pub fn bytes(&self, number: u8) -> Option<&[u8]> {
        self.all(number).next()
    }

    /// The bytes of each attribute of this number.
    pub fn all(&self, number: u8) -> impl Iterator<Item = &[u8]> {
        self.attributes.iter().filter(move |it| it.number == number).map(|it| it.bytes.as_slice())
    }

    /// A number.
    pub fn number(&self, number: u8) -> Option<i64> {
        self.bytes(number).map(|bytes| little_endian(bytes.get(..bytes.len().min(8)).unwrap_or_default()))
    }

    /// A truth value.
    pub fn flag(&self, number: u8) -> Option<bool> {
        self.bytes(number).map(|bytes| bytes.iter().any(|byte| *byte != 0))
    }

    /// A name: without the spaces behind it. Names that are no UTF-8 (of files older than Firebird 2) are read as they can be.
    pub fn name(&self, number: u8) -> Option<String> {
        let text = self.bytes(number).map(String::from_utf8_lossy)?;
        Some(text.trim_end_matches([' ', '\0']).to_owned())
    }

    /// A source: its segments, which end with a zero each, put together. `older` is the attribute in which gbak of Firebird 1
    /// wrote it without marks.
    pub fn source(&self, number: u8, older: Option<u8>) -> Option<String> {
        if let Some(bytes) = self.bytes(number) {
            let kept: Vec<u8> = bytes.iter().copied().filter(|byte| *byte != 0).collect();
            return Some(text_of(kept));
        }
        older.and_then(|older| self.bytes(older)).map(|bytes| text_of(bytes.to_vec()))
    }
}

/// Sources of databases that were made before metadata were UTF-8 are in some character set of Western Europe, most likely.
fn text_of(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| {
        farbird_types::CharacterSet::WIN1252.decode_lossy(error.as_bytes()).into_owned()
    })
}

/// What stands before an attribute's bytes: its number, and their length as that attribute has it. `None` if they are too
/// long for it, or there is no such attribute.
pub(crate) fn attribute_head(kind: RecordKind, number: u8, bytes: usize) -> Option<Vec<u8>> {
    let mut head = vec![number];
    match kind.framing(number)? {
        Framing::OneByteLength => head.push(u8::try_from(bytes).ok()?),
        Framing::TwoByteLength => head.extend_from_slice(&u16::try_from(bytes).ok()?.to_le_bytes()),
        Framing::FourByteLength => {
            head.push(4);
            head.extend_from_slice(&i32::try_from(bytes).ok()?.to_le_bytes());
        }
        Framing::OneByte if bytes == 1 => {}
        Framing::OneByte => return None,
    }
    Some(head)
}

/// Reads the next record.
pub(crate) fn read(input: &mut Input<'_>) -> Result<Record> {
    let at = input.offset();
    let number = input.byte()?;
    let kind = RecordKind::by_number(number).ok_or(Fault::Record { kind: number, at })?;
    let mut record = Record { kind, attributes: Vec::new() };
    if kind == Kind::GeneratorOfRelation {
        input.number()?;
    }
    if kind.has_attributes() {
        while let Some(attribute) = read_attribute(kind, input)? {
            if record.attributes.len() == ATTRIBUTES_MAX {
                return Err(input.damaged("a record of too many attributes"));
            }
            record.attributes.push(attribute);
        }
    }
    Ok(record)
}

fn read_attribute(kind: RecordKind, input: &mut Input<'_>) -> Result<Option<Attribute>> {
    let number = input.byte()?;
    if number == 0 {
        return Ok(None);
    }
    let framing = kind.framing(number).ok_or_else(|| input.damaged("an attribute that is not known"))?;
    let length = match framing {
        Framing::OneByteLength => usize::from(input.byte()?),
        Framing::TwoByteLength => usize::from(u16::from_le_bytes([input.byte()?, input.byte()?])),
        Framing::FourByteLength => usize::try_from(input.number()?)
            .ok()
            .filter(|length| *length <= ATTRIBUTE_BYTES_MAX)
            .ok_or_else(|| input.damaged("an attribute that is too long"))?,
        Framing::OneByte => 1,
    };
    let mut bytes = Vec::new();
    input.take(length, &mut bytes)?;
    Ok(Some(Attribute { number, bytes }))
}
