//! What a backup in gbak's format leaves out, as a script for isql: the same statements that a restore here would execute.
//!
//! Heads of routines and packages come first and bodies behind the views, since they may need each other.

use std::fmt::Write;

use farbird_gbak::attribute::{
    field, function, function_argument, index, package, privilege, procedure, procedure_parameter, relation,
    trigger,
};
use farbird_gbak::write::{Definitions, LeftOut};
use farbird_gbak::{Record, RecordKind};

use super::schema::{RoutineRecords, Schema};
use super::statements::{Definition, Statements, as_default, is_ddl_trigger, security};

/// How every script begins.
pub const SCRIPT_HEAD: &str = "/* What the backup has no BLR of.";
/// Who is expected to run the script.
const ADMINISTRATOR: &str = "SYSDBA";
/// Ends a statement of the script: bodies have semicolons.
const TERMINATOR: char = '^';
/// RDB$OBJECT_TYPE and RDB$USER_TYPE.
const VIEW: i64 = 1;
const TRIGGER: i64 = 2;
const PROCEDURE: i64 = 5;
const USER: i64 = 8;
const ROLE: i64 = 13;
const FUNCTION: i64 = 15;
const PACKAGE: i64 = 18;

/// The definitions of a database, out of which a script is made of those that a backup has left out.
pub struct Remainder {
    schema: Schema,
}

impl Remainder {
    /// Keeps the definitions.
    pub fn of(definitions: &Definitions) -> Remainder {
        Remainder { schema: Schema::of(definitions) }
    }

    /// The script; empty if there is nothing to be made by statements.
    pub fn script(&self, left_out: &[LeftOut]) -> String {
        let statements = self.statements(left_out);
        if statements.is_empty() {
            return String::new();
        }
        let mut out = format!(
            "{SCRIPT_HEAD} Run this in the restored database: isql -ch UTF8 -i THIS_FILE DATABASE\n   \
             Who runs it, {ADMINISTRATOR} usually, becomes the owner of what it makes."
        );
        // Writing to a String cannot fail.
        for (object, owner) in self.changed_owners(left_out) {
            let said = format!("The owner of {object} was {owner}.");
            let _ = write!(out, "\n   {}", said.replace("*/", "* /"));
        }
        let _ = write!(out, " */\nSET SQL DIALECT {};\nSET TERM {TERMINATOR} ;\n", self.schema.dialect);
        for definition in statements {
            let _ = writeln!(out, "{}\n{TERMINATOR}", definition.sql.trim());
        }
        let _ = write!(out, "COMMIT{TERMINATOR}\nSET TERM ; {TERMINATOR}\n");
        out
    }

    /// What will have another owner when an administrator has run the script, with the owner that it had.
    pub fn changed_owners(&self, left_out: &[LeftOut]) -> Vec<(String, String)> {
        let owned = left_out.iter().filter_map(|it| Some((it.to_string(), self.owner(it)?)));
        owned.filter(|(_, owner)| owner != ADMINISTRATOR).collect()
    }

    fn owner(&self, it: &LeftOut) -> Option<String> {
        let (record, attribute) = self.owned(it)?;
        record.name(attribute).filter(|owner| !owner.is_empty())
    }

    /// The record of what has an owner, and the attribute that says whom.
    fn owned(&self, it: &LeftOut) -> Option<(&Record, u8)> {
        match it {
            LeftOut::View(name) => Some((&self.schema.relation(name)?.record, relation::OWNER_NAME)),
            LeftOut::Procedure(_) => Some((&self.routine_records(it)?.record, procedure::OWNER_NAME)),
            LeftOut::Function(_) => Some((&self.routine_records(it)?.record, function::OWNER_NAME)),
            LeftOut::Package(name) => Some((self.package_record(name)?, package::OWNER_NAME)),
            _ => None,
        }
    }

    fn routine_records(&self, it: &LeftOut) -> Option<&RoutineRecords> {
        let (routines, name) = match it {
            LeftOut::Procedure(name) => (&self.schema.procedures, name),
            LeftOut::Function(name) => (&self.schema.functions, name),
            _ => return None,
        };
        routines.iter().find(|it| it.package.is_none() && it.name == *name)
    }

    fn package_record(&self, name: &str) -> Option<&Record> {
        let mut records = self.schema.all(RecordKind::Package).iter();
        records.find(|it| it.name(package::NAME).as_deref() == Some(name))
    }

    fn statements(&self, left_out: &[LeftOut]) -> Vec<Definition> {
        let mut made: Vec<Definition> = Vec::new();
        made.extend(left_out.iter().flat_map(|it| self.of_domain(it)));
        made.extend(left_out.iter().filter_map(|it| self.routine(it, false)));
        made.extend(left_out.iter().filter_map(|it| self.package(it, false)));
        made.extend(left_out.iter().flat_map(|it| self.of_column(it)));
        made.extend(left_out.iter().filter_map(|it| self.view(it)));
        made.extend(left_out.iter().filter_map(|it| self.routine(it, true)));
        made.extend(left_out.iter().filter_map(|it| self.package(it, true)));
        made.extend(left_out.iter().flat_map(|it| self.of_table(it)));
        // Those that watch definitions come last: what else the script defines is nothing new.
        made.extend(left_out.iter().filter_map(|it| self.trigger(it, false)));
        made.extend(left_out.iter().filter_map(|it| self.trigger(it, true)));
        made.extend(self.grants(left_out));
        made.extend(left_out.iter().flat_map(|it| self.comments(it)));
        made
    }

    fn all(&self) -> Statements<'_> {
        Statements { schema: &self.schema }
    }

    fn of_domain(&self, it: &LeftOut) -> Vec<Definition> {
        let (LeftOut::DomainDefault(name) | LeftOut::DomainCheck(name)) = it else { return Vec::new() };
        let Some(record) = self.schema.domains.get(name) else { return Vec::new() };
        let alter = format!("ALTER DOMAIN {}", self.all().name(name));
        let sql = match it {
            LeftOut::DomainDefault(_) => {
                let source = record.source(field::DEFAULT_SOURCE, None).unwrap_or_default();
                format!("{alter} SET {}", as_default(&source))
            }
            _ => {
                let source = record.source(field::VALIDATION_SOURCE2, None).unwrap_or_default();
                format!("{alter} ADD {source}")
            }
        };
        vec![Definition::new(it.to_string(), sql)]
    }

    fn of_column(&self, it: &LeftOut) -> Vec<Definition> {
        let (LeftOut::Column { table, column } | LeftOut::Default { table, column }) = it else {
            return Vec::new();
        };
        let Some(relation) = self.schema.relation(table) else { return Vec::new() };
        let alter = format!("ALTER TABLE {}", self.all().name(table));
        let name = self.all().name(column);
        let columns = self.all().columns(relation);
        match (it, columns.into_iter().find(|known| known.name == *column)) {
            (LeftOut::Column { .. }, Some(known)) => vec![
                Definition::new(it.to_string(), format!("{alter} ADD {}", known.sql)),
                Definition::new(it.to_string(), format!("{alter} ALTER {name} POSITION {}", known.position)),
            ],
            _ => {
                let record = relation.fields.iter().find(|it| it.name(field::NAME).as_ref() == Some(column));
                let domain = record.and_then(|it| self.schema.domain_of(it));
                let source = record.and_then(|it| it.source(field::DEFAULT_SOURCE, None));
                let source = source.or_else(|| domain?.source(field::DEFAULT_SOURCE, None));
                let default = as_default(&source.unwrap_or_default());
                vec![Definition::new(it.to_string(), format!("{alter} ALTER {name} SET {default}"))]
            }
        }
    }

    fn view(&self, it: &LeftOut) -> Option<Definition> {
        let LeftOut::View(name) = it else { return None };
        Some(self.all().view(self.schema.relation(name)?))
    }

    fn routine(&self, it: &LeftOut, with_body: bool) -> Option<Definition> {
        let routine = self.routine_records(it)?;
        match it {
            LeftOut::Function(_) => Some(self.all().function(routine, with_body)),
            _ => Some(self.all().procedure(routine, with_body)),
        }
    }

    /// A package's header, or its body.
    fn package(&self, it: &LeftOut, body: bool) -> Option<Definition> {
        let LeftOut::Package(name) = it else { return None };
        let record = self.package_record(name)?;
        let (words, source) = match body {
            true => ("RECREATE PACKAGE BODY", record.source(package::BODY_SOURCE, None)),
            false => ("CREATE OR ALTER PACKAGE", record.source(package::HEADER_SOURCE, None)),
        };
        let security = match body {
            true => "",
            false => security(record, package::SQL_SECURITY, package::SQL_SECURITY_DEPRECATED),
        };
        let sql = format!("{words} {}{security}\nAS\n{}", self.all().name(name), source?);
        Some(Definition::new(it.to_string(), sql))
    }

    /// Indexes and constraints.
    fn of_table(&self, it: &LeftOut) -> Vec<Definition> {
        match it {
            LeftOut::Index { table, name, .. } => self.index(table, name),
            LeftOut::Check { table, .. } | LeftOut::ForeignKey { table, .. } => {
                let Some(relation) = self.schema.relation(table) else { return Vec::new() };
                let keys = self.all().keys(relation, false);
                let object = it.to_string();
                let made = keys.foreign.into_iter().chain(keys.checks).find(|made| made.object == object);
                made.into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    fn index_record(&self, table: &str, name: &str) -> Option<&Record> {
        let relation = self.schema.relation(table)?;
        relation.indexes.iter().find(|it| it.name(index::NAME).as_deref() == Some(name))
    }

    fn index(&self, table: &str, name: &str) -> Vec<Definition> {
        let found = self.schema.relation(table).zip(self.index_record(table, name));
        let Some((relation, record)) = found else { return Vec::new() };
        let made = self.all().index(relation, name, record, false);
        if record.number(index::INACTIVE).unwrap_or_default() == 0 {
            return vec![made];
        }
        // Older servers do not know an index that is made inactive.
        let inactive = format!("ALTER INDEX {} INACTIVE", self.all().name(name));
        let inactive = Definition::new(made.object.clone(), inactive);
        vec![made, inactive]
    }

    /// A trigger, if it is one that watches definitions, or none that does.
    fn trigger(&self, it: &LeftOut, watches_definitions: bool) -> Option<Definition> {
        let LeftOut::Trigger(name) = it else { return None };
        let record = self.schema.named(RecordKind::Trigger, name)?;
        (is_ddl_trigger(record) == watches_definitions).then(|| self.all().trigger(record))
    }

    /// Privileges on what was left out, and of it.
    fn grants(&self, left_out: &[LeftOut]) -> Vec<Definition> {
        let is_left_out = |kind: i64, name: &str| {
            left_out.iter().any(|it| match it {
                LeftOut::View(it) => matches!(kind, 0 | VIEW) && it == name,
                LeftOut::Trigger(it) => kind == TRIGGER && it == name,
                LeftOut::Procedure(it) => kind == PROCEDURE && it == name,
                LeftOut::Function(it) => kind == FUNCTION && it == name,
                LeftOut::Package(it) => kind == PACKAGE && it == name,
                _ => false,
            })
        };
        let records = self.schema.all(RecordKind::UserPrivilege).iter();
        let concerned = records.filter(|record| {
            let text = |attribute| record.name(attribute).unwrap_or_default();
            let kind = |attribute| record.number(attribute).unwrap_or_default();
            is_left_out(kind(privilege::OBJ_TYPE), &text(privilege::OBJECT_NAME))
                || is_left_out(kind(privilege::USER_TYPE), &text(privilege::USER))
        });
        concerned.filter_map(|record| self.grant(record, left_out)).collect()
    }

    /// Whether the owner of something that is made anew has granted it: who makes it takes the owner's place.
    fn is_granted_by_owner(&self, record: &Record, left_out: &[LeftOut]) -> bool {
        let name = record.name(privilege::OBJECT_NAME);
        let grantor = record.name(privilege::GRANTOR);
        let kind = record.number(privilege::OBJ_TYPE).unwrap_or_default();
        let object = left_out.iter().find(|it| match it {
            LeftOut::View(it) => matches!(kind, 0 | VIEW) && name.as_ref() == Some(it),
            LeftOut::Procedure(it) => kind == PROCEDURE && name.as_ref() == Some(it),
            LeftOut::Function(it) => kind == FUNCTION && name.as_ref() == Some(it),
            LeftOut::Package(it) => kind == PACKAGE && name.as_ref() == Some(it),
            _ => false,
        });
        object.and_then(|it| self.owner(it)).is_some_and(|owner| Some(owner) == grantor)
    }

    fn grant(&self, record: &Record, left_out: &[LeftOut]) -> Option<Definition> {
        let text = |attribute| record.name(attribute).unwrap_or_default();
        let quoted = |attribute| self.all().name(&text(attribute));
        let column = match text(privilege::FIELD_NAME) {
            name if name.is_empty() => String::new(),
            name => format!(" ({})", self.all().name(&name)),
        };
        let object_kind = match record.number(privilege::OBJ_TYPE)? {
            0 | VIEW => "",
            PROCEDURE => "PROCEDURE ",
            FUNCTION => "FUNCTION ",
            PACKAGE => "PACKAGE ",
            7 => "EXCEPTION ",
            14 => "SEQUENCE ",
            _ => return None,
        };
        let what = match text(privilege::PRIVILEGE).chars().next()? {
            'S' => "SELECT",
            'I' => "INSERT",
            'U' => "UPDATE",
            'D' => "DELETE",
            'R' => "REFERENCES",
            'X' => "EXECUTE",
            'G' => "USAGE",
            _ => return None,
        };
        let grantee = match record.number(privilege::USER_TYPE).unwrap_or(USER) {
            USER if text(privilege::USER) == "PUBLIC" => "",
            USER => "USER ",
            ROLE => "ROLE ",
            VIEW => "VIEW ",
            TRIGGER => "TRIGGER ",
            PROCEDURE => "PROCEDURE ",
            FUNCTION => "FUNCTION ",
            PACKAGE => "PACKAGE ",
            _ => return None,
        };
        let user = match grantee {
            "" => "PUBLIC".to_owned(),
            _ => quoted(privilege::USER),
        };
        let option = match record.number(privilege::GRANT_OPTION).unwrap_or_default() {
            0 => "",
            _ => " WITH GRANT OPTION",
        };
        let object = quoted(privilege::OBJECT_NAME);
        let grantor = match self.is_granted_by_owner(record, left_out) {
            true => String::new(),
            false => format!(" GRANTED BY {}", quoted(privilege::GRANTOR)),
        };
        let sql =
            format!("GRANT {what}{column} ON {object_kind}{object} TO {grantee}{user}{option}{grantor}");
        Some(Definition::new(format!("privilege on {object}"), sql))
    }

    /// The comments on what was left out, and on its columns and parameters.
    fn comments(&self, it: &LeftOut) -> Vec<Definition> {
        let name = |name: &str| self.all().name(name);
        let part =
            |of: &str, part: Option<String>| format!("{}.{}", name(of), name(&part.unwrap_or_default()));
        let mut said: Vec<(String, Option<String>)> = Vec::new();
        match it {
            LeftOut::View(view) => {
                let Some(found) = self.schema.relation(view) else { return Vec::new() };
                let text = found.record.source(relation::DESCRIPTION2, None);
                said.push((format!("VIEW {}", name(view)), text));
                said.extend(found.fields.iter().map(|column| {
                    let what = format!("COLUMN {}", part(view, column.name(field::NAME)));
                    (what, column.source(field::DESCRIPTION2, None))
                }));
            }
            LeftOut::Column { table, column } => {
                let fields = self.schema.relation(table).map(|it| it.fields.as_slice()).unwrap_or_default();
                let found = fields.iter().find(|it| it.name(field::NAME).as_ref() == Some(column));
                let text = found.and_then(|it| it.source(field::DESCRIPTION2, None));
                said.push((format!("COLUMN {}", part(table, Some(column.clone()))), text));
            }
            LeftOut::Index { table, name: of, .. } => {
                let text = self.index_record(table, of).and_then(|it| it.source(index::DESCRIPTION2, None));
                said.push((format!("INDEX {}", name(of)), text));
            }
            LeftOut::Package(of) => {
                let text = self.package_record(of).and_then(|it| it.source(package::DESCRIPTION, None));
                said.push((format!("PACKAGE {}", name(of)), text));
            }
            LeftOut::Procedure(of) => {
                let Some(found) = self.routine_records(it) else { return Vec::new() };
                let text = found.record.source(procedure::DESCRIPTION2, None);
                said.push((format!("PROCEDURE {}", name(of)), text));
                said.extend(found.parameters.iter().map(|parameter| {
                    let what = part(of, parameter.name(procedure_parameter::NAME));
                    let text = parameter.source(procedure_parameter::DESCRIPTION2, None);
                    (format!("PROCEDURE PARAMETER {what}"), text)
                }));
            }
            LeftOut::Function(of) => {
                let Some(found) = self.routine_records(it) else { return Vec::new() };
                let text = found.record.source(function::DESCRIPTION2, None);
                said.push((format!("FUNCTION {}", name(of)), text));
                said.extend(found.parameters.iter().map(|parameter| {
                    let what = part(of, parameter.name(function_argument::ARG_NAME));
                    let text = parameter.source(function_argument::DESCRIPTION, None);
                    (format!("FUNCTION PARAMETER {what}"), text)
                }));
            }
            LeftOut::Trigger(of) => {
                let record = self.schema.named(RecordKind::Trigger, of);
                let text = record.and_then(|it| it.source(trigger::DESCRIPTION2, None));
                said.push((format!("TRIGGER {}", name(of)), text));
            }
            _ => {}
        }
        let said =
            said.into_iter().filter_map(|(what, text)| Some((what, text.filter(|it| !it.is_empty())?)));
        said.map(|(what, text)| {
            let sql = format!("COMMENT ON {what} IS '{}'", text.replace('\'', "''"));
            Definition::new(format!("comment on {what}"), sql)
        })
        .collect()
    }
}
