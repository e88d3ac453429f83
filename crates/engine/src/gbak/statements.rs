//! Definitions as SQL: what stands by itself, and routines, views and triggers.

use std::collections::BTreeSet;

use farbird_gbak::attribute::{
    collation as collation_attribute, exception, field, function, function_argument, generator, package,
    procedure, procedure_parameter, relation, role, trigger,
};
use farbird_gbak::{Record, RecordKind};
use farbird_sql::ast::DdlEvents;
use farbird_types::CharacterSet;

use super::schema::{
    RelationRecords, RoutineRecords, Schema, function_arguments, is_implicit, procedure_parameters,
};
use super::types;

/// A statement, and what it defines, in words.
#[derive(Debug, Clone)]
pub(super) struct Definition {
    pub(super) object: String,
    pub(super) sql: String,
}

impl Definition {
    pub(super) fn new(object: impl Into<String>, sql: impl Into<String>) -> Definition {
        Definition { object: object.into(), sql: sql.into() }
    }
}

/// Makes definitions of the records of a backup.
#[derive(Clone, Copy)]
pub(super) struct Statements<'s> {
    pub(super) schema: &'s Schema,
}

impl Statements<'_> {
    /// A name as SQL: dialect 1 has no quoted ones.
    pub(super) fn name(self, name: &str) -> String {
        match self.schema.dialect {
            1 => name.to_owned(),
            _ => format!("\"{}\"", name.replace('"', "\"\"")),
        }
    }

    pub(super) fn names<'n>(self, names: impl IntoIterator<Item = &'n str>) -> String {
        names.into_iter().map(|name| self.name(name)).collect::<Vec<_>>().join(", ")
    }

    /// Collations that users have made.
    pub(super) fn collations(self) -> Vec<Definition> {
        let records = self.schema.all(RecordKind::Collation).iter();
        let own = records.filter(|it| it.number(collation_attribute::SYSFLAG).unwrap_or_default() == 0);
        own.map(|record| {
            let name = record.name(collation_attribute::NAME).unwrap_or_default();
            let set = record.number(collation_attribute::CS_ID).and_then(|it| u8::try_from(it).ok());
            let set = set.and_then(CharacterSet::by_id).unwrap_or(CharacterSet::NONE);
            let base = record.name(collation_attribute::BASE_COLLATION_NAME);
            let attributes = record.number(collation_attribute::ATTR).unwrap_or_default();
            let from = match base {
                Some(base) => format!(" FROM {}", self.name(&base)),
                None => String::new(),
            };
            let pad = if attributes & 1 == 0 { "NO PAD" } else { "PAD SPACE" };
            let not = |bit: i64, word: &str| match attributes & bit {
                0 => format!(" {word} SENSITIVE"),
                _ => format!(" {word} INSENSITIVE"),
            };
            let specific = record.source(collation_attribute::SPECIFIC_ATTR, None);
            let specific = specific.map(|it| format!(" '{}'", it.replace('\'', "''"))).unwrap_or_default();
            let sql = format!(
                "CREATE COLLATION {} FOR {}{from} {pad}{}{}{specific}",
                self.name(&name),
                set.name(),
                not(2, "CASE"),
                not(4, "ACCENT"),
            );
            Definition::new(format!("collation {name}"), sql)
        })
        .collect()
    }

    pub(super) fn domains(self) -> Vec<Definition> {
        let named = self.schema.domains.iter().filter(|(name, record)| {
            !is_implicit(name) && record.number(field::SYSTEM_FLAG).unwrap_or_default() == 0
        });
        named
            .map(|(name, record)| Definition::new(format!("domain {name}"), self.domain(name, record)))
            .collect()
    }

    /// The CHECKs of domains that were made before these were known.
    pub(super) fn domain_checks(self, made: &BTreeSet<String>) -> Vec<Definition> {
        let object = |name: &String| format!("domain {name}");
        let early = self.schema.domains.iter().filter(|(name, _)| made.contains(&object(name)));
        early
            .filter_map(|(name, record)| {
                let check = record.source(field::VALIDATION_SOURCE2, Some(field::VALIDATION_SOURCE))?;
                let sql = format!("ALTER DOMAIN {} ADD {check}", self.name(name));
                Some(Definition::new(format!("the CHECK of {}", object(name)), sql))
            })
            .collect()
    }

    fn domain(self, name: &str, record: &Record) -> String {
        let mut sql = format!("CREATE DOMAIN {} AS {}", self.name(name), self.declared_type(record));
        if let Some(default) = record.source(field::DEFAULT_SOURCE, None) {
            sql.push_str(&format!(" {}", as_default(&default)));
        }
        if record.number(field::NULL_FLAG).is_some_and(|it| it != 0) {
            sql.push_str(" NOT NULL");
        }
        if let Some(check) = record.source(field::VALIDATION_SOURCE2, Some(field::VALIDATION_SOURCE)) {
            sql.push_str(&format!(" {check}"));
        }
        if let Some(collation) = types::collation(self.schema, None, record) {
            sql.push_str(&format!(" COLLATE {}", self.name(&collation)));
        }
        sql
    }

    /// A type; one that is not there is written so that its name is told when it is refused.
    fn declared_type(self, record: &Record) -> String {
        types::declared(self.schema, record).unwrap_or_else(|| "a type that is not supported".to_owned())
    }

    pub(super) fn sequences(self) -> Vec<Definition> {
        self.schema
            .sequences()
            .map(|record| {
                let name = record.name(generator::GENERATOR).unwrap_or_default();
                let mut sql = format!("CREATE SEQUENCE {}", self.name(&name));
                if let Some(start) = record.number(generator::INIT_VAL) {
                    sql.push_str(&format!(" START WITH {start}"));
                }
                if let Some(increment) = record.number(generator::ID_INCREMENT).filter(|it| *it != 0) {
                    sql.push_str(&format!(" INCREMENT BY {increment}"));
                }
                Definition::new(format!("sequence {name}"), sql)
            })
            .collect()
    }

    pub(super) fn exceptions(self) -> Vec<Definition> {
        let records = self.schema.all(RecordKind::Exception).iter();
        records
            .map(|record| {
                let name = record.name(exception::NAME).unwrap_or_default();
                let message = record.name(exception::MSG2).or_else(|| record.name(exception::MSG));
                let message = message.unwrap_or_default().replace('\'', "''");
                let sql = format!("CREATE EXCEPTION {} '{message}'", self.name(&name));
                Definition::new(format!("exception {name}"), sql)
            })
            .collect()
    }

    pub(super) fn roles(self) -> Vec<Definition> {
        let records = self.schema.all(RecordKind::Role).iter();
        let names = records.map(|record| record.name(role::NAME).unwrap_or_default());
        names
            .filter(|name| name != "RDB$ADMIN")
            .map(|name| Definition::new(format!("role {name}"), format!("CREATE ROLE {}", self.name(&name))))
            .collect()
    }

    /// The type of a parameter: a domain, a domain's or column's type, or its own.
    fn parameter_type(
        self,
        source: Option<String>,
        mechanism: i64,
        column: Option<(String, String)>,
    ) -> String {
        if let Some((table, column)) = column {
            return format!("TYPE OF COLUMN {}.{}", self.name(&table), self.name(&column));
        }
        let source = source.unwrap_or_default();
        match self.schema.domains.get(&source) {
            Some(own) if is_implicit(&source) => self.declared_type(own),
            _ if mechanism == 1 => format!("TYPE OF {}", self.name(&source)),
            _ => self.name(&source),
        }
    }

    fn procedure_parameter(self, record: &Record) -> String {
        let name = record.name(procedure_parameter::NAME).unwrap_or_default();
        let source = record.name(procedure_parameter::FIELD_SOURCE);
        let table = record.name(procedure_parameter::RELATION_NAME);
        let column = table.zip(record.name(procedure_parameter::FIELD_NAME));
        let mechanism = record.number(procedure_parameter::MECHANISM).unwrap_or_default();
        let domain = source.as_ref().and_then(|it| self.schema.domains.get(it));
        let parameter = Parameter {
            sql_type: self.parameter_type(source.clone(), mechanism, column),
            not_null: record.number(procedure_parameter::NULL_FLAG) == Some(1),
            collation: domain.and_then(|domain| {
                self.own_collation(
                    record.number(procedure_parameter::COLLATION_ID),
                    source.as_deref(),
                    domain,
                )
            }),
            default: record.source(procedure_parameter::DEFAULT_SOURCE, None),
        };
        parameter.print(self, &name)
    }

    fn function_argument(self, record: &Record, is_result: bool) -> String {
        let name = record.name(function_argument::ARG_NAME).unwrap_or_default();
        let source = record.name(function_argument::FIELD_SOURCE);
        let table = record.name(function_argument::RELATION_NAME);
        let column = table.zip(record.name(function_argument::FIELD_NAME));
        let mechanism = record.number(function_argument::TYPE_MECHANISM).unwrap_or_default();
        let domain = source.as_ref().and_then(|it| self.schema.domains.get(it));
        let parameter = Parameter {
            sql_type: self.parameter_type(source.clone(), mechanism, column),
            not_null: record.number(function_argument::NULL_FLAG) == Some(1),
            collation: domain.and_then(|domain| {
                self.own_collation(record.number(function_argument::COLLATION_ID), source.as_deref(), domain)
            }),
            default: record.source(function_argument::DEFAULT_SOURCE, None),
        };
        parameter.print(self, if is_result { "" } else { &name })
    }

    /// A collation that is said beside the type.
    fn own_collation(self, said: Option<i64>, source: Option<&str>, domain: &Record) -> Option<String> {
        let said = match source.is_some_and(is_implicit) {
            true => said,
            false => Some(said.filter(|said| Some(*said) != domain.number(field::COLLATION_ID))?),
        };
        types::collation(self.schema, said, domain)
    }

    /// A procedure, with its body or with one that fails.
    pub(super) fn procedure(self, routine: &RoutineRecords, with_body: bool) -> Definition {
        let object = format!("procedure {}", routine.name);
        let list = |output| {
            let parameters = procedure_parameters(routine, output);
            parameters.into_iter().map(|it| self.procedure_parameter(it)).collect::<Vec<_>>().join(", ")
        };
        let (inputs, outputs) = (list(false), list(true));
        let mut sql = format!("CREATE OR ALTER PROCEDURE {}", self.name(&routine.name));
        if !inputs.is_empty() {
            sql.push_str(&format!(" ({inputs})"));
        }
        if !outputs.is_empty() {
            sql.push_str(&format!(" RETURNS ({outputs})"));
        }
        sql.push_str(security(&routine.record, procedure::SQL_SECURITY, procedure::SQL_SECURITY_DEPRECATED));
        let source = routine.record.source(procedure::SOURCE2, Some(procedure::SOURCE));
        let body = match (with_body, source) {
            (true, Some(source)) => source,
            // A procedure that is read from must be one that gives rows.
            _ if !outputs.is_empty() => format!("BEGIN {} SUSPEND; END", refusal(&object)),
            _ => format!("BEGIN {} END", refusal(&object)),
        };
        Definition::new(object, format!("{sql}\nAS\n{body}"))
    }

    /// A function, with its body or with one that fails.
    pub(super) fn function(self, routine: &RoutineRecords, with_body: bool) -> Definition {
        let object = format!("function {}", routine.name);
        let (arguments, result) = function_arguments(routine);
        let arguments: Vec<String> =
            arguments.into_iter().map(|it| self.function_argument(it, false)).collect();
        let mut sql = format!("CREATE OR ALTER FUNCTION {}", self.name(&routine.name));
        if !arguments.is_empty() {
            sql.push_str(&format!(" ({})", arguments.join(", ")));
        }
        if let Some(result) = result {
            sql.push_str(&format!(" RETURNS {}", self.function_argument(result, true).trim_start()));
        }
        if routine.record.number(function::DETERMINISTIC_FLAG).is_some_and(|it| it != 0) {
            sql.push_str(" DETERMINISTIC");
        }
        sql.push_str(security(&routine.record, function::SQL_SECURITY, function::SQL_SECURITY_DEPRECATED));
        let source = routine.record.source(function::SOURCE, None).filter(|_| with_body);
        let body = source.unwrap_or_else(|| format!("BEGIN {} RETURN NULL; END", refusal(&object)));
        Definition::new(object, format!("{sql}\nAS\n{body}"))
    }

    /// An external function.
    pub(super) fn library_function(self, routine: &RoutineRecords) -> Definition {
        let position = |it: &&Record| it.number(function_argument::POSITION).unwrap_or_default();
        let mut arguments: Vec<&Record> = routine.parameters.iter().collect();
        arguments.sort_by_key(position);
        let returned = routine.record.number(function::RETURN_ARG).unwrap_or_default();
        let is_value = |it: &&Record| position(it) == 0;
        let inputs: Vec<String> =
            arguments.iter().filter(|it| !is_value(it)).map(|it| library_argument(it)).collect();
        let mut sql = format!("DECLARE EXTERNAL FUNCTION {} {}", self.name(&routine.name), inputs.join(", "));
        match arguments.iter().find(|it| is_value(it)) {
            Some(result) if returned == 0 => sql.push_str(&format!(" RETURNS {}", library_argument(result))),
            _ => sql.push_str(&format!(" RETURNS PARAMETER {returned}")),
        }
        let quoted = |attribute| routine.record.name(attribute).unwrap_or_default().replace('\'', "''");
        let (entry_point, module) = (quoted(function::ENTRYPOINT), quoted(function::MODULE_NAME));
        sql.push_str(&format!(" ENTRY_POINT '{entry_point}' MODULE_NAME '{module}'"));
        Definition::new(format!("function {}", routine.name), sql)
    }

    /// Packages as they are declared.
    pub(super) fn package_headers(self) -> Vec<Definition> {
        let header = |record: &Record| {
            let name = record.name(package::NAME)?;
            let source = record.source(package::HEADER_SOURCE, None)?;
            let security = security(record, package::SQL_SECURITY, package::SQL_SECURITY_DEPRECATED);
            let sql = format!("CREATE PACKAGE {}{security} AS {source}", self.name(&name));
            Some(Definition::new(format!("package {name}"), sql))
        };
        self.schema.all(RecordKind::Package).iter().filter_map(header).collect()
    }

    /// The bodies of packages, but for those that had no effect: their headers had changed.
    pub(super) fn package_bodies(self) -> Vec<Definition> {
        let body = |record: &Record| {
            let name = record.name(package::NAME)?;
            record.number(package::VALID_BODY_FLAG).filter(|it| *it != 0)?;
            let source = record.source(package::BODY_SOURCE, None)?;
            let sql = format!("CREATE PACKAGE BODY {} AS {source}", self.name(&name));
            Some(Definition::new(format!("package body {name}"), sql))
        };
        self.schema.all(RecordKind::Package).iter().filter_map(body).collect()
    }

    /// What drops a procedure or function; `None` for anything else.
    pub(super) fn drop_routine(self, object: &str) -> Option<String> {
        let (kind, name) = object.split_once(' ')?;
        let kind = ["procedure", "function"].into_iter().find(|it| *it == kind)?;
        Some(format!("DROP {} {}", kind.to_uppercase(), self.name(name)))
    }

    pub(super) fn view(self, view: &RelationRecords) -> Definition {
        let columns: Vec<String> = view
            .columns()
            .iter()
            .filter_map(|it| it.name(field::NAME))
            .map(|name| self.name(&name))
            .collect();
        let source =
            view.record.source(relation::VIEW_SOURCE2, Some(relation::VIEW_SOURCE)).unwrap_or_default();
        let sql = format!("CREATE VIEW {} ({}) AS {source}", self.name(&view.name), columns.join(", "));
        Definition::new(format!("view {}", view.name), sql)
    }

    /// Triggers that users have made: those of the system are the constraints'.
    pub(super) fn triggers(self) -> Vec<Definition> {
        let records = self.schema.all(RecordKind::Trigger).iter();
        let own = records.filter(|it| it.number(trigger::SYSTEM_FLAG).unwrap_or_default() == 0);
        own.filter(|it| it.bytes(trigger::ENGINE_NAME).is_none()).map(|record| self.trigger(record)).collect()
    }

    pub(super) fn trigger(self, record: &Record) -> Definition {
        let name = record.name(trigger::NAME).unwrap_or_default();
        let kind = trigger_type(record);
        let active = match record.number(trigger::INACTIVE).unwrap_or_default() {
            0 => "ACTIVE",
            _ => "INACTIVE",
        };
        let table = record.name(trigger::RELATION_NAME).filter(|table| !table.is_empty());
        let table = table.map(|table| format!(" FOR {}", self.name(&table))).unwrap_or_default();
        let position = record.number(trigger::SEQUENCE).unwrap_or_default();
        let source = record.source(trigger::SOURCE2, Some(trigger::SOURCE)).unwrap_or_default();
        let sql = format!(
            "CREATE TRIGGER {}{table} {active} {} POSITION {position}{}\n{source}",
            self.name(&name),
            fires(kind),
            security(record, trigger::SQL_SECURITY, trigger::SQL_SECURITY_DEPRECATED),
        );
        Definition::new(format!("trigger {name}"), sql)
    }
}

/// A parameter, or a result, whose name is empty.
struct Parameter {
    sql_type: String,
    not_null: bool,
    collation: Option<String>,
    default: Option<String>,
}

impl Parameter {
    fn print(&self, statements: Statements<'_>, name: &str) -> String {
        let mut sql = match name {
            "" => String::new(),
            name => format!("{} ", statements.name(name)),
        };
        sql.push_str(&self.sql_type);
        if self.not_null {
            sql.push_str(" NOT NULL");
        }
        if let Some(collation) = &self.collation {
            sql.push_str(&format!(" COLLATE {}", statements.name(collation)));
        }
        if let Some(default) = &self.default {
            sql.push_str(&format!(" {default}"));
        }
        sql
    }
}

/// A statement that fails: whoever calls a routine whose body could not be had learns it.
fn refusal(object: &str) -> String {
    format!("EXECUTE STATEMENT '{} of the backup could not be restored';", object.replace('\'', "''"))
}

/// A default as columns have it: domains and columns of old databases keep it without its first word.
pub(super) fn as_default(source: &str) -> String {
    let source = source.trim();
    let begins = source.get(..7).is_some_and(|word| word.eq_ignore_ascii_case("DEFAULT"));
    match source.strip_prefix('=') {
        _ if begins => source.to_owned(),
        Some(rest) => format!("DEFAULT {rest}"),
        None => format!("DEFAULT {source}"),
    }
}

/// SQL SECURITY, if it is said.
pub(super) fn security(record: &Record, attribute: u8, older: u8) -> &'static str {
    match record.flag(attribute).or_else(|| record.flag(older)) {
        None => "",
        Some(true) => " SQL SECURITY DEFINER",
        Some(false) => " SQL SECURITY INVOKER",
    }
}

fn trigger_type(record: &Record) -> i64 {
    record.number(trigger::TYPE2).or_else(|| record.number(trigger::TYPE)).unwrap_or_default()
}

/// What it watches, if it fires on definitions, and whether AFTER.
fn watched_events(kind: i64) -> Option<(bool, DdlEvents)> {
    DdlEvents::of_trigger_type(u64::try_from(kind).ok()?)
}

/// Whether it fires on definitions.
pub(super) fn is_ddl_trigger(record: &Record) -> bool {
    watched_events(trigger_type(record)).is_some()
}

/// When a trigger fires (RDB$TRIGGER_TYPE).
fn fires(kind: i64) -> String {
    const DATABASE: i64 = 8192;
    if let Some((after, events)) = watched_events(kind) {
        return format!("{} {events}", if after { "AFTER" } else { "BEFORE" });
    }
    let database =
        ["CONNECT", "DISCONNECT", "TRANSACTION START", "TRANSACTION COMMIT", "TRANSACTION ROLLBACK"];
    if kind & DATABASE != 0 {
        let event = usize::try_from(kind & 0xff).ok().and_then(|event| database.get(event));
        return format!("ON {}", event.unwrap_or(&"an event that is not known"));
    }
    let kind = kind + 1;
    let moment = if kind & 1 == 0 { "BEFORE" } else { "AFTER" };
    let events: Vec<&str> = [1, 3, 5]
        .into_iter()
        .filter_map(|shift| match (kind >> shift) & 3 {
            1 => Some("INSERT"),
            2 => Some("UPDATE"),
            3 => Some("DELETE"),
            _ => None,
        })
        .collect();
    format!("{moment} {}", events.join(" OR "))
}

/// An argument of an external function, or its result, with how it is passed (RDB$MECHANISM).
fn library_argument(record: &Record) -> String {
    let declared = types::of_argument(record).unwrap_or_else(|| "a type that is not supported".to_owned());
    let mechanism = record.number(function_argument::MECHANISM).unwrap_or_default();
    let is_result = record.number(function_argument::POSITION) == Some(0);
    let passed = match mechanism.abs() {
        0 if is_result => " BY VALUE",
        2 => " BY DESCRIPTOR",
        4 => " BY SCALAR_ARRAY",
        5 => " NULL",
        _ => "",
    };
    let freed = if mechanism < 0 { " FREE_IT" } else { "" };
    format!("{declared}{passed}{freed}")
}
