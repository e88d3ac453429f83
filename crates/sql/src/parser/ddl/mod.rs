//! Definitions, by their first words.
//!
//! | file | subject |
//! |---|---|
//! | `table` | tables, columns, constraints |
//! | `alter_table` | changes of tables |
//! | `schema` | views, indexes, domains, sequences, exceptions |
//! | `routine` | procedures, functions, packages, external functions |
//! | `trigger` | triggers |
//! | `database` | databases, shadows, filters, collations, character sets |
//! | `security` | users, roles, mappings |
//! | `grant` | privileges |
//! | `comment` | COMMENT ON |

mod alter_table;
mod comment;
mod database;
mod grant;
mod routine;
mod schema;
mod security;
mod table;
mod trigger;

use super::cursor::Parser;
use crate::ast::{DdlStatement, DefineMode, DropKind, DropObject, Name, SqlSecurity, SqlSecurityChange};
use farbird_types::Result;

impl Parser<'_> {
    /// CREATE, ALTER, DROP, RECREATE, DECLARE, GRANT, REVOKE, COMMENT, SET GENERATOR, SET STATISTICS.
    pub(super) fn ddl_statement(&mut self) -> Result<DdlStatement> {
        match self.keyword().unwrap_or_default() {
            "CREATE" => self.create(),
            "RECREATE" => {
                self.take();
                self.define(DefineMode::Recreate)
            }
            "ALTER" => self.alter(),
            "DROP" => self.drop_object(),
            "DECLARE" => self.declare(),
            "GRANT" => self.grant(),
            "REVOKE" => self.revoke(),
            "COMMENT" => self.comment(),
            "SET" if self.keyword_ahead(1, "STATISTICS") => {
                self.expect_keywords(&["SET", "STATISTICS", "INDEX"])?;
                Ok(DdlStatement::SetStatistics(self.name()?))
            }
            "SET" => self.set_generator(),
            _ => Err(self.unexpected()),
        }
    }

    fn create(&mut self) -> Result<DdlStatement> {
        self.take();
        if self.eat_keyword("OR") {
            self.expect_keyword("ALTER")?;
            return self.define(DefineMode::CreateOrAlter);
        }
        self.define(DefineMode::Create)
    }

    /// What follows CREATE, CREATE OR ALTER and RECREATE; not every object takes all three.
    fn define(&mut self, mode: DefineMode) -> Result<DdlStatement> {
        if let Some(statement) = self.define_in_any_mode(mode)? {
            return Ok(statement);
        }
        let keyword = self.keyword().unwrap_or_default();
        match (keyword, mode) {
            ("TABLE", DefineMode::Create | DefineMode::Recreate) => self.create_table(mode),
            ("GLOBAL", _) if self.keyword_ahead(1, "MAPPING") && mode != DefineMode::Recreate => {
                self.define_mapping(mode)
            }
            ("GLOBAL", DefineMode::Create | DefineMode::Recreate) => self.create_temporary_table(mode),
            ("MAPPING", DefineMode::Create | DefineMode::CreateOrAlter) => self.define_mapping(mode),
            (_, DefineMode::Create) => self.create_only(keyword),
            _ => Err(self.unexpected()),
        }
    }

    /// Objects that CREATE, CREATE OR ALTER and RECREATE all know.
    fn define_in_any_mode(&mut self, mode: DefineMode) -> Result<Option<DdlStatement>> {
        let statement = match self.keyword().unwrap_or_default() {
            "VIEW" => self.define_view(mode)?,
            "PROCEDURE" => self.define_procedure(mode)?,
            "FUNCTION" => self.define_function(mode)?,
            "TRIGGER" => self.define_trigger(mode)?,
            "PACKAGE" => self.define_package(mode)?,
            "EXCEPTION" => self.define_exception(mode)?,
            "GENERATOR" | "SEQUENCE" => self.define_sequence(mode)?,
            "USER" => self.define_user(mode)?,
            _ => return Ok(None),
        };
        Ok(Some(statement))
    }

    /// Objects that only CREATE knows.
    fn create_only(&mut self, keyword: &str) -> Result<DdlStatement> {
        match keyword {
            "UNIQUE" | "ASC" | "ASCENDING" | "DESC" | "DESCENDING" | "INDEX" => self.create_index(),
            "DOMAIN" => self.create_domain(),
            "DATABASE" => self.create_database(),
            "SHADOW" => self.create_shadow(),
            "ROLE" => self.define_role(DefineMode::Create),
            "COLLATION" => self.create_collation(),
            _ => Err(self.unexpected()),
        }
    }

    fn alter(&mut self) -> Result<DdlStatement> {
        self.take();
        match self.keyword().unwrap_or_default() {
            "TABLE" => self.alter_table(),
            "VIEW" => self.define_view(DefineMode::Alter),
            "TRIGGER" => self.define_trigger(DefineMode::Alter),
            "PROCEDURE" => self.define_procedure(DefineMode::Alter),
            "FUNCTION" => self.define_function(DefineMode::Alter),
            "PACKAGE" => self.define_package(DefineMode::Alter),
            "EXCEPTION" => self.define_exception(DefineMode::Alter),
            "GENERATOR" | "SEQUENCE" => self.define_sequence(DefineMode::Alter),
            "DOMAIN" => self.alter_domain(),
            "INDEX" => self.alter_index(),
            "DATABASE" => self.alter_database(),
            "ROLE" => self.define_role(DefineMode::Alter),
            "USER" | "CURRENT" => self.define_user(DefineMode::Alter),
            "CHARACTER" => self.alter_character_set(),
            "MAPPING" | "GLOBAL" => self.define_mapping(DefineMode::Alter),
            "EXTERNAL" if self.keyword_ahead(1, "FUNCTION") => self.alter_external_function(),
            "EXTERNAL" => self.alter_connections_pool(),
            _ => Err(self.unexpected()),
        }
    }

    fn declare(&mut self) -> Result<DdlStatement> {
        let position = self.position();
        self.take();
        if self.at_keyword("FILTER") {
            return self.declare_filter();
        }
        self.expect_keywords(&["EXTERNAL", "FUNCTION"])?;
        self.declare_external_function(position)
    }

    fn drop_object(&mut self) -> Result<DdlStatement> {
        self.take();
        if self.eat_keyword("DATABASE") {
            return Ok(DdlStatement::DropDatabase);
        }
        let kind = self.drop_kind()?;
        if kind == DropKind::Shadow {
            return self.drop_shadow();
        }
        let name = self.name()?;
        let plugin =
            if kind == DropKind::User && self.eat_keyword("USING") { Some(self.plugin()?) } else { None };
        Ok(DdlStatement::Drop(DropObject { kind, name, plugin, preserve_file: None }))
    }

    fn drop_kind(&mut self) -> Result<DropKind> {
        let kind = match self.keyword().unwrap_or_default() {
            "TABLE" => DropKind::Table,
            "VIEW" => DropKind::View,
            "INDEX" => DropKind::Index,
            "DOMAIN" => DropKind::Domain,
            "SEQUENCE" | "GENERATOR" => DropKind::Sequence,
            "EXCEPTION" => DropKind::Exception,
            "PROCEDURE" => DropKind::Procedure,
            "FUNCTION" => DropKind::Function,
            "EXTERNAL" => {
                self.expect_keywords(&["EXTERNAL", "FUNCTION"])?;
                return Ok(DropKind::ExternalFunction);
            }
            "TRIGGER" => DropKind::Trigger,
            "PACKAGE" if self.keyword_ahead(1, "BODY") && self.name_ahead(2) => {
                self.take();
                DropKind::PackageBody
            }
            "PACKAGE" => DropKind::Package,
            "COLLATION" => DropKind::Collation,
            "FILTER" => DropKind::Filter,
            "ROLE" => DropKind::Role,
            "USER" => DropKind::User,
            "MAPPING" => DropKind::Mapping,
            "GLOBAL" => {
                self.expect_keywords(&["GLOBAL", "MAPPING"])?;
                return Ok(DropKind::GlobalMapping);
            }
            "SHADOW" => DropKind::Shadow,
            _ => return Err(self.unexpected()),
        };
        self.take();
        Ok(kind)
    }

    /// `n [PRESERVE FILE | DELETE FILE]` behind DROP SHADOW.
    fn drop_shadow(&mut self) -> Result<DdlStatement> {
        let position = self.position();
        let number = self.positive_short()?;
        let preserve_file = if self.eat_keywords(&["PRESERVE", "FILE"]) {
            Some(true)
        } else if self.eat_keywords(&["DELETE", "FILE"]) {
            Some(false)
        } else {
            None
        };
        let name = Name { position, ..Name::new(number.to_string()) };
        Ok(DdlStatement::Drop(DropObject { kind: DropKind::Shadow, name, plugin: None, preserve_file }))
    }

    /// `PLUGIN name`.
    fn plugin(&mut self) -> Result<Name> {
        self.expect_keyword("PLUGIN")?;
        self.name()
    }

    /// `[SQL SECURITY DEFINER | INVOKER]`.
    fn sql_security(&mut self) -> Result<Option<SqlSecurity>> {
        if !self.eat_keywords(&["SQL", "SECURITY"]) {
            return Ok(None);
        }
        self.definer_or_invoker().map(Some)
    }

    /// `[SQL SECURITY DEFINER | INVOKER | DROP SQL SECURITY]`.
    fn sql_security_change(&mut self) -> Result<Option<SqlSecurityChange>> {
        if self.eat_keyword("DROP") {
            self.expect_keywords(&["SQL", "SECURITY"])?;
            return Ok(Some(SqlSecurityChange::Drop));
        }
        Ok(self.sql_security()?.map(SqlSecurityChange::Set))
    }

    fn definer_or_invoker(&mut self) -> Result<SqlSecurity> {
        if self.eat_keyword("DEFINER") {
            return Ok(SqlSecurity::Definer);
        }
        self.expect_keyword("INVOKER")?;
        Ok(SqlSecurity::Invoker)
    }

    /// `[ENABLE | DISABLE PUBLICATION]`: whether ENABLE.
    fn publication(&mut self) -> Option<bool> {
        if self.eat_keywords(&["ENABLE", "PUBLICATION"]) {
            Some(true)
        } else if self.eat_keywords(&["DISABLE", "PUBLICATION"]) {
            Some(false)
        } else {
            None
        }
    }
}
