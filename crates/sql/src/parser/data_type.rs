//! Data types.

use super::cursor::Parser;
use crate::ast::{ArrayBounds, BlobSubtype, DataType, DataTypeKind, Name, TypedName};
use crate::error;
use crate::lexer::TokenKind;
use farbird_types::{Result, isc};

/// Digits of NUMERIC and DECIMAL without a precision.
const PRECISION_DEFAULT: u8 = 9;
/// Most digits of NUMERIC and DECIMAL.
const PRECISION_MAX: i32 = 38;
/// Most binary digits of FLOAT.
const FLOAT_PRECISION_MAX: i32 = 53;
/// Most binary digits of a FLOAT of four bytes.
const SINGLE_PRECISION_MAX: i32 = 24;

impl Parser<'_> {
    /// A type: `INTEGER`, `TYPE OF COLUMN t.c`, a domain's name.
    pub(super) fn data_type(&mut self) -> Result<DataType> {
        let position = self.position();
        let kind = self.data_type_kind()?;
        Ok(DataType { kind, array: Vec::new(), position })
    }

    /// The type of a column or domain, with array bounds perhaps. A character set stands behind them.
    pub(super) fn type_of_column(&mut self) -> Result<DataType> {
        let has_character_set = self.at_any_keyword(&["CHAR", "CHARACTER", "VARCHAR"]);
        let mut data_type = self.data_type()?;
        let may_be_array = match &data_type.kind {
            DataTypeKind::Blob { .. }
            | DataTypeKind::CString { .. }
            | DataTypeKind::Domain(_)
            | DataTypeKind::TypeOfDomain(_)
            | DataTypeKind::TypeOfColumn { .. } => false,
            DataTypeKind::Char { character_set, .. } | DataTypeKind::Varchar { character_set, .. } => {
                !has_character_set || character_set.is_none()
            }
            _ => true,
        };
        if !may_be_array || !self.eat_symbol("[") {
            return Ok(data_type);
        }
        data_type.array = self.array_bounds()?;
        if let DataTypeKind::Char { character_set: set @ None, .. }
        | DataTypeKind::Varchar { character_set: set @ None, .. } = &mut data_type.kind
        {
            *set = self.character_set()?;
        }
        Ok(data_type)
    }

    /// A type where the name of a domain cannot stand.
    pub(super) fn type_without_domain(&mut self) -> Result<DataType> {
        if self.at_name() && !self.at_keyword("CSTRING") { Err(self.unexpected()) } else { self.data_type() }
    }

    /// `name type [NOT NULL] [COLLATE collation]`.
    pub(super) fn typed_name(&mut self) -> Result<TypedName> {
        let name = self.name()?;
        let data_type = self.data_type()?;
        let not_null = self.not_null()?;
        Ok(TypedName { name, data_type, not_null, collation: self.collation()? })
    }

    /// `[NOT NULL]`.
    pub(super) fn not_null(&mut self) -> Result<bool> {
        let found = self.eat_keyword("NOT");
        if found {
            self.expect_keyword("NULL")?;
        }
        Ok(found)
    }

    /// `[COLLATE collation]`.
    pub(super) fn collation(&mut self) -> Result<Option<Name>> {
        if self.eat_keyword("COLLATE") { self.name().map(Some) } else { Ok(None) }
    }

    /// `[CHARACTER SET name]`.
    pub(super) fn character_set(&mut self) -> Result<Option<Name>> {
        if !self.eat_keyword("CHARACTER") {
            return Ok(None);
        }
        self.expect_keyword("SET")?;
        self.character_set_name().map(Some)
    }

    /// The name of a character set, of which BINARY is one.
    pub(super) fn character_set_name(&mut self) -> Result<Name> {
        self.name_or_keyword(&["BINARY"])
    }

    fn array_bounds(&mut self) -> Result<Vec<ArrayBounds>> {
        let bounds = self.comma_list(|parser| {
            let first = parser.signed_long()?;
            Ok(if parser.eat_symbol(":") {
                ArrayBounds { lower: first, upper: parser.signed_long()? }
            } else {
                // One number is the last subscript, or the first one if it is below 1.
                ArrayBounds { lower: first.min(1), upper: first.max(1) }
            })
        })?;
        self.expect_symbol("]")?;
        Ok(bounds)
    }

    fn data_type_kind(&mut self) -> Result<DataTypeKind> {
        if self.at_keyword("TYPE") && self.keyword_ahead(1, "OF") {
            return self.type_of();
        }
        if self.at_name() && !self.at_keyword("CSTRING") {
            return Ok(DataTypeKind::Domain(self.name()?));
        }
        match self.keyword().unwrap_or_default() {
            "SMALLINT" => self.take_type(DataTypeKind::Smallint),
            "INTEGER" | "INT" => self.take_type(DataTypeKind::Integer),
            "BIGINT" => {
                self.check_type_is_known("BIGINT")?;
                self.take_type(DataTypeKind::Bigint)
            }
            "INT128" => self.take_type(DataTypeKind::Int128),
            "BOOLEAN" => self.take_type(DataTypeKind::Boolean),
            "REAL" => self.take_type(DataTypeKind::Float),
            "NUMERIC" => {
                self.take();
                let (precision, scale) = self.precision_and_scale()?;
                Ok(DataTypeKind::Numeric { precision, scale })
            }
            "DECIMAL" | "DEC" => {
                self.take();
                let (precision, scale) = self.precision_and_scale()?;
                Ok(DataTypeKind::Decimal { precision, scale })
            }
            "FLOAT" => {
                self.take();
                self.float(DataTypeKind::Float)
            }
            "LONG" => {
                self.take();
                self.expect_keyword("FLOAT")?;
                self.float(DataTypeKind::Double)?;
                Ok(DataTypeKind::Double)
            }
            "DOUBLE" => {
                self.take();
                self.expect_keyword("PRECISION")?;
                Ok(DataTypeKind::Double)
            }
            "DECFLOAT" => self.decfloat(),
            "DATE" => self.date(),
            "TIME" => {
                self.check_type_is_known("TIME")?;
                self.time(DataTypeKind::Time, DataTypeKind::TimeTz)
            }
            "TIMESTAMP" => self.time(DataTypeKind::Timestamp, DataTypeKind::TimestampTz),
            "CHAR" | "CHARACTER" | "VARCHAR" => self.character_type(),
            "NCHAR" | "NATIONAL" => self.national_type(),
            "BINARY" | "VARBINARY" => self.binary_type(),
            "CSTRING" => {
                self.take();
                let length = self.length()?;
                Ok(DataTypeKind::CString { length, character_set: self.character_set()? })
            }
            "BLOB" => self.blob(),
            _ => Err(self.unexpected()),
        }
    }

    fn take_type(&mut self, kind: DataTypeKind) -> Result<DataTypeKind> {
        self.take();
        Ok(kind)
    }

    /// `TYPE OF domain`, `TYPE OF COLUMN relation.column`.
    fn type_of(&mut self) -> Result<DataTypeKind> {
        self.expect_keywords(&["TYPE", "OF"])?;
        if !self.eat_keyword("COLUMN") {
            return Ok(DataTypeKind::TypeOfDomain(self.name()?));
        }
        let relation = self.name()?.into();
        self.expect_symbol(".")?;
        Ok(DataTypeKind::TypeOfColumn { relation, column: self.name()? })
    }

    /// `[(precision [, scale])]`.
    fn precision_and_scale(&mut self) -> Result<(u8, u8)> {
        if !self.eat_symbol("(") {
            return Ok((PRECISION_DEFAULT, 0));
        }
        let position = self.position();
        let precision = self.signed_long()?;
        if !(1..=PRECISION_MAX).contains(&precision) {
            return Err(error::bad_type_number(isc::PRECISION_ERR2, &[1, PRECISION_MAX], position));
        }
        let mut scale = 0;
        if self.eat_symbol(",") {
            let position = self.position();
            scale = self.signed_long()?;
            if !(0..=precision).contains(&scale) {
                return Err(error::bad_type_number(isc::SCALE_NOGT, &[], position));
            }
        }
        self.expect_symbol(")")?;
        self.check_numeric(precision)?;
        Ok((u8::try_from(precision).unwrap_or(PRECISION_DEFAULT), u8::try_from(scale).unwrap_or(0)))
    }

    /// `[(binary digits)]` of FLOAT.
    fn float(&mut self, without_precision: DataTypeKind) -> Result<DataTypeKind> {
        let position = self.position();
        if !self.eat_symbol("(") {
            return Ok(without_precision);
        }
        let digits = self.positive_short()?;
        self.expect_symbol(")")?;
        match digits {
            1..=SINGLE_PRECISION_MAX => Ok(DataTypeKind::Float),
            25..=FLOAT_PRECISION_MAX => Ok(DataTypeKind::Double),
            _ => Err(error::bad_type_number(isc::PRECISION_ERR2, &[1, FLOAT_PRECISION_MAX], position)),
        }
    }

    /// `DECFLOAT [(16 | 34)]`.
    fn decfloat(&mut self) -> Result<DataTypeKind> {
        self.take();
        let position = self.position();
        if !self.eat_symbol("(") {
            return Ok(DataTypeKind::DecFloat34);
        }
        let digits = self.positive_short()?;
        self.expect_symbol(")")?;
        match digits {
            16 => Ok(DataTypeKind::DecFloat16),
            34 => Ok(DataTypeKind::DecFloat34),
            _ => Err(error::bad_type_number(isc::DECPRECISION_ERR, &[], position)),
        }
    }

    /// `[WITH TIME ZONE | WITHOUT TIME ZONE]` behind TIME and TIMESTAMP.
    fn time(&mut self, without_zone: DataTypeKind, with_zone: DataTypeKind) -> Result<DataTypeKind> {
        self.take();
        if self.eat_keywords(&["WITH", "TIME", "ZONE"]) {
            return Ok(with_zone);
        }
        if self.eat_keyword("WITHOUT") {
            self.expect_keywords(&["TIME", "ZONE"])?;
        }
        Ok(without_zone)
    }

    /// `(length)`.
    fn length(&mut self) -> Result<u32> {
        self.expect_symbol("(")?;
        let length = self.positive_short()?;
        self.expect_symbol(")")?;
        Ok(length.unsigned_abs())
    }

    /// `[(length)]`, 1 without.
    fn optional_length(&mut self) -> Result<u32> {
        if self.at_symbol("(") { self.length() } else { Ok(1) }
    }

    /// CHAR, CHARACTER, VARCHAR, CHAR VARYING, CHARACTER VARYING.
    fn character_type(&mut self) -> Result<DataTypeKind> {
        let varying = self.at_keyword("VARCHAR");
        self.take();
        if varying || self.eat_keyword("VARYING") {
            let length = self.length()?;
            return Ok(DataTypeKind::Varchar { length, character_set: self.character_set()? });
        }
        let length = self.optional_length()?;
        Ok(DataTypeKind::Char { length, character_set: self.character_set()? })
    }

    /// NCHAR, NATIONAL CHAR \[VARYING\]: in ISO8859_1.
    fn national_type(&mut self) -> Result<DataTypeKind> {
        if self.eat_keyword("NATIONAL") && !self.at_any_keyword(&["CHAR", "CHARACTER"]) {
            return Err(self.unexpected());
        }
        self.take();
        let character_set = Some(Name { position: self.position(), ..Name::new("ISO8859_1") });
        if self.eat_keyword("VARYING") {
            return Ok(DataTypeKind::Varchar { length: self.length()?, character_set });
        }
        Ok(DataTypeKind::Char { length: self.optional_length()?, character_set })
    }

    /// BINARY, VARBINARY, BINARY VARYING.
    fn binary_type(&mut self) -> Result<DataTypeKind> {
        let varying = self.at_keyword("VARBINARY");
        self.take();
        if varying || self.eat_keyword("VARYING") {
            return Ok(DataTypeKind::Varbinary { length: self.length()? });
        }
        Ok(DataTypeKind::Binary { length: self.optional_length()? })
    }

    /// `BLOB [SUB_TYPE ...] [SEGMENT SIZE n] [CHARACTER SET ...]`, `BLOB (segment [, subtype])`.
    fn blob(&mut self) -> Result<DataTypeKind> {
        self.take();
        if self.eat_symbol("(") {
            return self.blob_in_parentheses();
        }
        let subtype = if self.eat_keyword("SUB_TYPE") { Some(self.blob_subtype()?) } else { None };
        let segment_size =
            if self.eat_keywords(&["SEGMENT", "SIZE"]) { Some(self.unsigned_short()?) } else { None };
        Ok(DataTypeKind::Blob { subtype, segment_size, character_set: self.character_set()? })
    }

    fn blob_in_parentheses(&mut self) -> Result<DataTypeKind> {
        let segment_size = if self.at_symbol(",") { None } else { Some(self.unsigned_short()?) };
        let subtype =
            if self.eat_symbol(",") { Some(BlobSubtype::Number(self.signed_short()?)) } else { None };
        self.expect_symbol(")")?;
        Ok(DataTypeKind::Blob { subtype, segment_size, character_set: None })
    }

    /// A number, or a name of RDB$TYPES, of which BINARY is one.
    pub(super) fn blob_subtype(&mut self) -> Result<BlobSubtype> {
        if matches!(self.peek(), TokenKind::Number(_) | TokenKind::Symbol("-")) {
            return Ok(BlobSubtype::Number(self.signed_short()?));
        }
        Ok(BlobSubtype::Name(self.name_or_keyword(&["BINARY"])?))
    }
}
