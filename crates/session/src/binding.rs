//! SET BIND: as which types a client is shown the server's types.
//!
//! A rule changes how columns and parameters are described, nothing else. Clients then ask for values in those types and
//! send them, and whoever serves them converts. The newest rule that fits a type decides; rules of the attach
//! (`isc_dpb_set_bind`) come after those of SET BIND, and ALTER SESSION RESET leaves only the former.
//!
//! Lengths are computed as Firebird computes them, which gives some texts more room than they need.
//!
//! Source: what Firebird 5.0.4 describes (`crates/engine/tests/data/bindings.tsv`), and its Coercion.cpp.

use farbird_sql::ast::{BindTarget, BindType, DataType, DataTypeKind, SessionStatement, StatementKind};
use farbird_types::decimal::Decimal;
use farbird_types::{
    CastContext, CharacterSet, Collation, ColumnType, Date, Error, ExactSubtype, ExactWidth, Result, SqlType,
    Text, TextType, Time, TimeTz, Timestamp, TimestampTz, Value, ZoneId, convert, isc,
};

use crate::type_names::TypeNames;

/// A type as a client is shown it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShownType {
    /// The type.
    pub column_type: ColumnType,
    /// Whether a time or timestamp with a zone comes with the zone's displacement.
    pub extended: bool,
}

/// The rules of a session.
#[derive(Debug, Clone, Default)]
pub struct Bindings {
    /// Of the attach, oldest first.
    initial: Vec<Rule>,
    /// Of SET BIND, oldest first.
    current: Vec<Rule>,
}

impl Bindings {
    /// SET BIND OF from TO to.
    ///
    /// # Errors
    /// `bind_convert` for types of which one is never made of the other; what is wrong with the types themselves.
    pub fn set(&mut self, names: &dyn TypeNames, from: &BindType, to: &BindTarget) -> Result<()> {
        put(&mut self.current, Rule::new(names, from, to)?);
        Ok(())
    }

    /// Forgets what SET BIND has said.
    pub fn reset(&mut self) {
        self.current.clear();
    }

    /// The rules of `isc_dpb_set_bind`: `type TO type; type TO type ...`.
    ///
    /// # Errors
    /// `bind_err` with the whole text, the rule that is wrong, and what is wrong with it.
    pub fn set_initial(&mut self, names: &dyn TypeNames, text: &str) -> Result<()> {
        let rules: Vec<&str> = text.split(';').map(str::trim).collect();
        for rule in rules {
            let statement = format!("SET BIND OF {rule}");
            let parsed = farbird_sql::parse_statement(&statement, &farbird_sql::ParseOptions::default());
            let rule = parsed.and_then(|parsed| match parsed.kind {
                StatementKind::Session(statement) => match *statement {
                    SessionStatement::SetBind { from, to } => Rule::new(names, &from, &to),
                    _ => Err(Error::new(isc::COMMAND_END_ERR)),
                },
                _ => Err(Error::new(isc::COMMAND_END_ERR)),
            });
            match rule {
                Ok(rule) => put(&mut self.initial, rule),
                Err(cause) => return Err(initial_error(text, &statement, &cause)),
            }
        }
        Ok(())
    }

    /// As which type a client is shown a type.
    pub fn shown(&self, column_type: ColumnType) -> ShownType {
        if self.initial.is_empty() && self.current.is_empty() {
            return ShownType { column_type, extended: false };
        }
        let mut form = Form::of(&column_type.sql_type);
        let is_char = matches!(column_type.sql_type, SqlType::Text(text) if !text.varying);
        let rules = self.current.iter().rev().chain(self.initial.iter().rev());
        if rules.into_iter().all(|rule| !rule.apply(&mut form)) {
            return ShownType { column_type, extended: false };
        }
        ShownType {
            column_type: ColumnType { sql_type: form.sql_type(is_char), ..column_type },
            extended: matches!(form.kind, Kind::ExtendedTimeTz | Kind::ExtendedTimestampTz),
        }
    }
}

/// Adds a rule; one that says something about the same types is forgotten.
fn put(rules: &mut Vec<Rule>, rule: Rule) {
    if let Some(place) = rules.iter().position(|known| rule.is_about_the_same(known)) {
        rules.remove(place);
    }
    rules.push(rule);
}

fn initial_error(text: &str, statement: &str, cause: &Error) -> Error {
    let mut error = Error::new(isc::BIND_ERR).with(text).and(isc::BIND_STATEMENT).with(statement);
    let said = cause.items().iter().skip_while(|item| matches!(item.gds_code, isc::DSQL_ERROR | isc::SQLERR));
    for item in said {
        error = error.and(item.gds_code);
        for argument in &item.arguments {
            error = match argument {
                farbird_types::error::StatusArgument::Text(text) => error.with(text.as_str()),
                farbird_types::error::StatusArgument::Number(number) => error.with(*number),
            };
        }
    }
    error
}

/// What was written of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Written {
    length: bool,
    character_set: bool,
    scale: bool,
    subtype: bool,
    precision: bool,
}

/// The kinds of types, as clients tell them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Char,
    Varchar,
    Short,
    Long,
    Int64,
    Int128,
    Float,
    Double,
    DecFloat16,
    DecFloat34,
    Date,
    Time,
    Timestamp,
    TimeTz,
    TimestampTz,
    ExtendedTimeTz,
    ExtendedTimestampTz,
    Boolean,
    Blob,
    Array,
}

impl Kind {
    fn is_exact(self) -> bool {
        matches!(self, Kind::Short | Kind::Long | Kind::Int64 | Kind::Int128)
    }

    fn is_text(self) -> bool {
        matches!(self, Kind::Char | Kind::Varchar)
    }

    fn is_zoned(self) -> bool {
        matches!(self, Kind::TimeTz | Kind::TimestampTz)
    }

    /// What errors call it.
    fn name(self) -> &'static str {
        match self {
            Kind::Char => "char",
            Kind::Varchar => "varchar",
            Kind::Short => "smallint",
            Kind::Long => "integer",
            Kind::Int64 => "bigint",
            Kind::Int128 => "int128",
            Kind::Float => "float",
            Kind::Double => "double precision",
            Kind::DecFloat16 => "decfloat(16)",
            Kind::DecFloat34 => "decfloat(34)",
            Kind::Date => "date",
            Kind::Time => "time",
            Kind::Timestamp => "timestamp",
            Kind::TimeTz => "time with timezone",
            Kind::TimestampTz => "timestamp with timezone",
            Kind::ExtendedTimeTz => "extended time with timezone",
            Kind::ExtendedTimestampTz => "extended timestamp with timezone",
            Kind::Boolean => "boolean",
            Kind::Blob => "blob",
            Kind::Array => "array",
        }
    }
}

/// A type in the terms that rules are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Form {
    kind: Kind,
    /// Length of a text in bytes, with the two bytes before a VARCHAR.
    length: u32,
    scale: i8,
    /// Of exact numbers and BLOBs.
    subtype: i16,
    character_set: CharacterSet,
}

/// Bytes before the text of a VARCHAR.
const VARCHAR_OVERHEAD: u32 = 2;

impl Form {
    /// CHARs are VARCHARs to the rules: their values go around without padding.
    fn of(sql_type: &SqlType) -> Form {
        let plain = |kind| Form { kind, length: 0, scale: 0, subtype: 0, character_set: CharacterSet::NONE };
        match sql_type {
            SqlType::Null => plain(Kind::Char),
            SqlType::Boolean => plain(Kind::Boolean),
            SqlType::Exact { width, scale, subtype } => Form {
                scale: *scale,
                subtype: *subtype as i16,
                ..plain(match width {
                    ExactWidth::Short => Kind::Short,
                    ExactWidth::Long => Kind::Long,
                    ExactWidth::Int64 => Kind::Int64,
                    ExactWidth::Int128 => Kind::Int128,
                })
            },
            SqlType::Float => plain(Kind::Float),
            SqlType::Double => plain(Kind::Double),
            SqlType::DecFloat16 => plain(Kind::DecFloat16),
            SqlType::DecFloat34 => plain(Kind::DecFloat34),
            SqlType::Date => plain(Kind::Date),
            SqlType::Time => plain(Kind::Time),
            SqlType::Timestamp => plain(Kind::Timestamp),
            SqlType::TimeTz => plain(Kind::TimeTz),
            SqlType::TimestampTz => plain(Kind::TimestampTz),
            SqlType::Text(text) => Form {
                length: text.length_bytes().saturating_add(VARCHAR_OVERHEAD),
                character_set: text.character_set,
                ..plain(Kind::Varchar)
            },
            SqlType::Blob { subtype, character_set, .. } => {
                Form { subtype: *subtype, character_set: *character_set, ..plain(Kind::Blob) }
            }
            SqlType::Array => plain(Kind::Array),
        }
    }

    /// The type again. `is_char`: it was made of a CHAR.
    fn sql_type(&self, is_char: bool) -> SqlType {
        let exact = |width| SqlType::Exact {
            width,
            scale: self.scale,
            subtype: match self.subtype {
                1 => ExactSubtype::Numeric,
                2 => ExactSubtype::Decimal,
                _ => ExactSubtype::Integer,
            },
        };
        match self.kind {
            Kind::Char | Kind::Varchar => {
                let overhead = if self.kind == Kind::Varchar { VARCHAR_OVERHEAD } else { 0 };
                let bytes = self.length.saturating_sub(overhead).min(u32::from(u16::MAX) - VARCHAR_OVERHEAD);
                SqlType::Text(TextType {
                    varying: self.kind == Kind::Varchar && !is_char,
                    length_chars: bytes / u32::from(self.character_set.bytes_per_character()),
                    character_set: self.character_set,
                    collation: Collation(0),
                })
            }
            Kind::Short => exact(ExactWidth::Short),
            Kind::Long => exact(ExactWidth::Long),
            Kind::Int64 => exact(ExactWidth::Int64),
            Kind::Int128 => exact(ExactWidth::Int128),
            Kind::Float => SqlType::Float,
            Kind::Double => SqlType::Double,
            Kind::DecFloat16 => SqlType::DecFloat16,
            Kind::DecFloat34 => SqlType::DecFloat34,
            Kind::Date => SqlType::Date,
            Kind::Time => SqlType::Time,
            Kind::Timestamp => SqlType::Timestamp,
            Kind::TimeTz | Kind::ExtendedTimeTz => SqlType::TimeTz,
            Kind::TimestampTz | Kind::ExtendedTimestampTz => SqlType::TimestampTz,
            Kind::Boolean => SqlType::Boolean,
            Kind::Array => SqlType::Array,
            Kind::Blob => SqlType::Blob {
                subtype: self.subtype,
                character_set: self.character_set,
                collation: Collation(0),
            },
        }
    }

    /// How long the text form of a value is, in bytes of a character set with a byte for each character.
    fn text_length(&self) -> u32 {
        match self.kind {
            Kind::Char => self.length,
            Kind::Varchar => self.length.saturating_sub(VARCHAR_OVERHEAD),
            Kind::Blob => 9,
            _ => self.sql_type(false).text_length(),
        }
    }
}

/// What a rule makes of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    Native,
    Legacy,
    Extended,
    Type(Form, Written),
}

/// A rule of SET BIND.
#[derive(Debug, Clone, Copy)]
struct Rule {
    from: Form,
    written: Written,
    to: Target,
}

impl Rule {
    fn new(names: &dyn TypeNames, from: &BindType, to: &BindTarget) -> Result<Rule> {
        let (from, written) = form_of(names, from)?;
        let extended = |kind| {
            let form = Form { kind, length: 0, scale: 0, subtype: 0, character_set: CharacterSet::NONE };
            Target::Type(form, Written { precision: true, ..Written::default() })
        };
        let to = match to {
            BindTarget::Native => Target::Native,
            BindTarget::Legacy => Target::Legacy,
            BindTarget::Extended => Target::Extended,
            BindTarget::ExtendedTime => extended(Kind::ExtendedTimeTz),
            BindTarget::ExtendedTimestamp => extended(Kind::ExtendedTimestampTz),
            BindTarget::Type(to) => {
                let (form, written) = form_of(names, to)?;
                Target::Type(form, written)
            }
        };
        let rule = Rule { from, written, to };
        match rule.to {
            Target::Extended if !from.kind.is_zoned() => Err(cannot_convert(from.kind.name(), "unknown")),
            Target::Type(to, written) if !can_become(&from, &to, written) => {
                Err(cannot_convert(from.kind.name(), to.kind.name()))
            }
            _ => Ok(rule),
        }
    }

    /// Whether a rule replaces another one.
    fn is_about_the_same(&self, other: &Rule) -> bool {
        self.written == other.written && other.fits(&self.from)
    }

    fn fits(&self, form: &Form) -> bool {
        let written = self.written;
        let same = form.kind == self.from.kind
            && (!written.length || form.length == self.from.length)
            && (!written.character_set || form.character_set == self.from.character_set)
            && (!written.subtype || form.subtype == self.from.subtype)
            && (!written.scale || form.scale == self.from.scale);
        if same || written.precision {
            return same;
        }
        // A type without a precision is all types of its family.
        match self.from.kind {
            Kind::DecFloat16 | Kind::DecFloat34 => matches!(form.kind, Kind::DecFloat16 | Kind::DecFloat34),
            Kind::TimeTz | Kind::TimestampTz => form.kind.is_zoned(),
            kind if kind.is_exact() => {
                form.kind.is_exact() && written.subtype && form.subtype == self.from.subtype
            }
            _ => false,
        }
    }

    /// Changes a type, if the rule is about it and knows what to make of it.
    fn apply(&self, form: &mut Form) -> bool {
        if !self.fits(form) {
            return false;
        }
        match self.to {
            Target::Native => true,
            Target::Legacy => legacy(form),
            Target::Extended => {
                form.kind = match form.kind {
                    Kind::TimeTz => Kind::ExtendedTimeTz,
                    Kind::TimestampTz => Kind::ExtendedTimestampTz,
                    _ => return false,
                };
                true
            }
            Target::Type(to, written) => {
                *form = become_type(form, &to, written);
                true
            }
        }
    }
}

/// What clients of Firebird 3 know instead of a type.
fn legacy(form: &mut Form) -> bool {
    form.kind = match form.kind {
        Kind::DecFloat16 | Kind::DecFloat34 => Kind::Double,
        Kind::TimeTz => Kind::Time,
        Kind::TimestampTz => Kind::Timestamp,
        Kind::Int128 => Kind::Int64,
        Kind::Boolean => Kind::Char,
        _ => return false,
    };
    if form.kind == Kind::Char {
        form.length = LEGACY_BOOLEAN_BYTES;
    }
    true
}

/// Length of the text that stands for a BOOLEAN: FALSE.
const LEGACY_BOOLEAN_BYTES: u32 = 5;

/// A type as the target of a rule: what the target does not say stays as it is, where both are of one family.
fn become_type(source: &Form, to: &Form, written: Written) -> Form {
    let mut form = *source;
    let both_exact = source.kind.is_exact() && to.kind.is_exact();
    let both_text = source.kind.is_text() && to.kind.is_text();
    if written.scale {
        form.scale = to.scale;
    } else if !both_exact {
        form.scale = 0;
    }
    if written.subtype || !(both_exact || both_text) {
        form.subtype = to.subtype;
        form.character_set = if to.kind.is_text() { to.character_set } else { CharacterSet::NONE };
    }
    if written.length {
        form.length = to.length;
    }
    if written.precision || !both_exact {
        if !written.length {
            form.length = if to.kind.is_text() { form.text_length() } else { 0 };
        }
        form.kind = to.kind;
    }
    if written.character_set {
        form.character_set = to.character_set;
    }
    if form.kind.is_text() {
        let source_set = if source.kind.is_text() || source.kind == Kind::Blob {
            source.character_set
        } else {
            CharacterSet::NONE
        };
        form.length = in_character_set(form.length, source_set, to.character_set);
        if form.kind == Kind::Varchar && !written.length {
            form.length += VARCHAR_OVERHEAD;
        }
    }
    form
}

/// Bytes that as many characters of another set take.
fn in_character_set(bytes: u32, from: CharacterSet, to: CharacterSet) -> u32 {
    match to {
        CharacterSet::NONE | CharacterSet::OCTETS => bytes,
        _ => (bytes / u32::from(from.bytes_per_character()))
            .saturating_mul(u32::from(to.bytes_per_character())),
    }
}

/// Whether values of one type can be made values of another: BLOBs of texts and other BLOBs only, of the rest what a
/// conversion takes.
fn can_become(from: &Form, to: &Form, written: Written) -> bool {
    if from.kind == Kind::Array || to.kind == Kind::Array {
        return false;
    }
    if from.kind == Kind::Blob || to.kind == Kind::Blob {
        let fits = |kind: Kind| kind == Kind::Blob || kind.is_text();
        return fits(from.kind) && fits(to.kind);
    }
    let is_moment = matches!(from.kind, Kind::Time | Kind::Timestamp | Kind::TimeTz | Kind::TimestampTz);
    match (from.kind, to.kind) {
        (_, Kind::ExtendedTimeTz) => return is_moment,
        (_, Kind::ExtendedTimestampTz) => return is_moment || from.kind == Kind::Date,
        (Kind::Varchar, Kind::DecFloat16 | Kind::DecFloat34) => return true,
        // Firebird has no conversion of these to themselves.
        (Kind::Boolean | Kind::Date, same) if same == from.kind => return false,
        (_, same) if is_moment && same == from.kind => return false,
        _ => {}
    }
    // Only in character sets of several bytes does Firebird see that a text would be too long.
    let target = match to.sql_type(false) {
        SqlType::Text(text) if !written.length || text.character_set.bytes_per_character() == 1 => {
            SqlType::varchar(SAMPLE_CHARS, text.character_set)
        }
        other => other,
    };
    let context = CastContext { session_zone: ZoneId(u16::MAX), now: Timestamp::default, ..CastContext::UTC };
    convert::cast(&sample(from), &target, &context).is_ok()
}

/// Room for the text form of any value.
const SAMPLE_CHARS: u32 = 254;

/// The value that Firebird tries a conversion with: all bytes zero.
fn sample(form: &Form) -> Value {
    let utc = Timestamp { date: Date(0), time: Time(0) };
    let zone = ZoneId(0);
    match form.kind {
        Kind::Char | Kind::Varchar | Kind::Blob | Kind::Array => {
            Value::Text(Text::new(Vec::new(), form.character_set))
        }
        Kind::Short | Kind::Long | Kind::Int64 => Value::Integer { unscaled: 0, scale: form.scale },
        Kind::Int128 => Value::Int128 { unscaled: 0, scale: form.scale },
        Kind::Float => Value::Float(0.0),
        Kind::Double => Value::Double(0.0),
        Kind::DecFloat16 | Kind::DecFloat34 => Value::DecFloat(Decimal::ZERO),
        Kind::Date => Value::Date(Date(0)),
        Kind::Time => Value::Time(Time(0)),
        Kind::Timestamp => Value::Timestamp(utc),
        Kind::TimeTz | Kind::ExtendedTimeTz => Value::TimeTz(TimeTz { utc: Time(0), zone }),
        Kind::TimestampTz | Kind::ExtendedTimestampTz => Value::TimestampTz(TimestampTz { utc, zone }),
        Kind::Boolean => Value::Boolean(false),
    }
}

fn cannot_convert(from: &str, to: &str) -> Error {
    Error::new(isc::BIND_CONVERT).with(from).with(to)
}

/// A type of a rule, and what was written of it.
fn form_of(names: &dyn TypeNames, bind: &BindType) -> Result<(Form, Written)> {
    match bind {
        BindType::TimeZone => Ok((Form::of(&SqlType::TimestampTz), Written::default())),
        BindType::Family(name) => Ok(family(names, name.as_str())),
        BindType::Type(data_type) => {
            let declared = names.declared(data_type)?;
            let form = Form::of(&declared);
            let kind = match declared {
                SqlType::Text(text) if !text.varying => Kind::Char,
                _ => form.kind,
            };
            let length = if kind == Kind::Char { form.length - VARCHAR_OVERHEAD } else { form.length };
            Ok((Form { kind, length, ..form }, written(data_type)))
        }
    }
}

/// A type by its name alone.
fn family(names: &dyn TypeNames, name: &str) -> (Form, Written) {
    let nothing = Written::default();
    let text = |kind, character_set: CharacterSet| {
        let length = u32::from(character_set.bytes_per_character());
        Form { kind, length, scale: 0, subtype: 0, character_set }
    };
    match name {
        "DECFLOAT" => (Form::of(&SqlType::DecFloat34), nothing),
        "NUMERIC" | "DECIMAL" | "DEC" => {
            let subtype = if name == "NUMERIC" { 1 } else { 2 };
            (Form { subtype, ..Form::of(&SqlType::INTEGER) }, Written { subtype: true, ..nothing })
        }
        "BINARY" => (text(Kind::Char, CharacterSet::OCTETS), Written { character_set: true, ..nothing }),
        "VARBINARY" => {
            (text(Kind::Varchar, CharacterSet::OCTETS), Written { character_set: true, ..nothing })
        }
        "VARCHAR" => (text(Kind::Varchar, names.default_character_set()), nothing),
        _ => (text(Kind::Char, names.default_character_set()), nothing),
    }
}

fn written(data_type: &DataType) -> Written {
    let nothing = Written::default();
    let exact = Written { precision: true, ..nothing };
    match &data_type.kind {
        DataTypeKind::Numeric { scale, .. } | DataTypeKind::Decimal { scale, .. } => {
            Written { subtype: true, scale: *scale > 0, ..exact }
        }
        DataTypeKind::Char { character_set, .. } | DataTypeKind::Varchar { character_set, .. } => {
            Written { length: true, character_set: character_set.is_some(), ..nothing }
        }
        DataTypeKind::Binary { .. } | DataTypeKind::Varbinary { .. } => {
            Written { length: true, character_set: true, ..nothing }
        }
        DataTypeKind::Blob { subtype, character_set, .. } => {
            Written { subtype: subtype.is_some(), character_set: character_set.is_some(), ..nothing }
        }
        DataTypeKind::Boolean => nothing,
        _ => exact,
    }
}
