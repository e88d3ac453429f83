//! What a backup in gbak's format leaves out, as a script for isql: the same statements that a restore here would execute.
//!
//! Heads of routines and packages come first and bodies behind the views, since they may need each other.

use std::fmt::Write;

use farbird_gbak::attribute::{field, function, index, package, privilege, procedure, relation, trigger};
use farbird_gbak::write::{Definitions, LeftOut};
use farbird_gbak::{Record, RecordKind};

use super::schema::Schema;
use super::statements::{Definition, Statements, as_default, is_ddl_trigger};

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

    /// The script; empty if nothing was left out.
    pub fn script(&self, left_out: &[LeftOut]) -> String {
        if left_out.is_empty() {
            return String::new();
        }
        let mut out = format!(
            "/* What the backup has no BLR of. Run this in the restored database: isql -ch UTF8 -i THIS_FILE DATABASE */\n\
             SET SQL DIALECT {};\nSET TERM {TERMINATOR} ;\n",
            self.schema.dialect
        );
        for definition in self.statements(left_out) {
            // Writing to a String cannot fail.
            let _ = writeln!(out, "{}\n{TERMINATOR}", definition.sql.trim());
        }
        out.push_str(&format!("COMMIT{TERMINATOR}\nSET TERM ; {TERMINATOR}\n"));
        out
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
        made.extend(left_out.iter().filter_map(|it| self.of_table(it)));
        made.extend(left_out.iter().filter_map(|it| self.trigger(it)));
        made.extend(self.grants(left_out));
        made.extend(left_out.iter().filter_map(|it| self.comment(it)));
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
        let columns = self.all().columns(relation).0;
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
        match it {
            LeftOut::Function(name) => {
                let routine =
                    self.schema.functions.iter().find(|it| it.package.is_none() && it.name == *name);
                Some(self.all().function(routine?, with_body))
            }
            LeftOut::Procedure(name) => {
                let routine =
                    self.schema.procedures.iter().find(|it| it.package.is_none() && it.name == *name);
                Some(self.all().procedure(routine?, with_body))
            }
            _ => None,
        }
    }

    /// A package's header, or its body.
    fn package(&self, it: &LeftOut, body: bool) -> Option<Definition> {
        let LeftOut::Package(name) = it else { return None };
        let mut records = self.schema.all(RecordKind::Package).iter();
        let record = records.find(|it| it.name(package::NAME).as_ref() == Some(name))?;
        let (words, source) = match body {
            true => ("RECREATE PACKAGE BODY", record.source(package::BODY_SOURCE, None)),
            false => ("CREATE OR ALTER PACKAGE", record.source(package::HEADER_SOURCE, None)),
        };
        let sql = format!("{words} {}\nAS\n{}", self.all().name(name), source?);
        Some(Definition::new(it.to_string(), sql))
    }

    /// Indexes and constraints.
    fn of_table(&self, it: &LeftOut) -> Option<Definition> {
        let (LeftOut::Index { table, name }
        | LeftOut::Check { table, name }
        | LeftOut::ForeignKey { table, name }) = it
        else {
            return None;
        };
        let relation = self.schema.relation(table)?;
        if let LeftOut::Index { .. } = it {
            let record = relation.indexes.iter().find(|it| it.name(index::NAME).as_ref() == Some(name))?;
            // Older servers do not know an index that is made inactive.
            return Some(self.all().index(relation, name, record, false));
        }
        let keys = self.all().keys(relation);
        let object = it.to_string();
        keys.foreign.into_iter().chain(keys.checks).find(|made| made.object == object)
    }

    fn trigger(&self, it: &LeftOut) -> Option<Definition> {
        let LeftOut::Trigger(name) = it else { return None };
        let record = self.schema.named(RecordKind::Trigger, name)?;
        if is_ddl_trigger(record) {
            return None;
        }
        Some(self.all().trigger(record))
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
        concerned.filter_map(|record| self.grant(record)).collect()
    }

    fn grant(&self, record: &Record) -> Option<Definition> {
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
        let grantor = quoted(privilege::GRANTOR);
        let sql = format!(
            "GRANT {what}{column} ON {object_kind}{object} TO {grantee}{user}{option} GRANTED BY {grantor}"
        );
        Some(Definition::new(format!("privilege on {object}"), sql))
    }

    /// The comment on what was left out.
    fn comment(&self, it: &LeftOut) -> Option<Definition> {
        let (kind, name, said) = match it {
            LeftOut::View(name) => {
                ("VIEW", name, self.schema.relation(name)?.record.source(relation::DESCRIPTION2, None))
            }
            LeftOut::Procedure(name) => {
                let found =
                    self.schema.procedures.iter().find(|it| it.package.is_none() && it.name == *name)?;
                ("PROCEDURE", name, found.record.source(procedure::DESCRIPTION2, None))
            }
            LeftOut::Function(name) => {
                let found =
                    self.schema.functions.iter().find(|it| it.package.is_none() && it.name == *name)?;
                ("FUNCTION", name, found.record.source(function::DESCRIPTION2, None))
            }
            LeftOut::Trigger(name) => {
                let record = self.schema.named(RecordKind::Trigger, name)?;
                ("TRIGGER", name, record.source(trigger::DESCRIPTION2, None))
            }
            _ => return None,
        };
        let said = said.filter(|it| !it.is_empty())?.replace('\'', "''");
        let sql = format!("COMMENT ON {kind} {} IS '{said}'", self.all().name(name));
        Some(Definition::new(format!("comment on {it}"), sql))
    }
}
