//! ALTER TABLE.

use crate::ast::{
    AlterTable, ColumnChange, DdlStatement, IdentityChange, Name, Restart, SqlSecurityChange, TableChange,
};
use crate::parser::cursor::Parser;
use farbird_types::Result;

/// Reserved words that ALTER takes for the name of a column or domain: names from before they were reserved, so that
/// they can be renamed. Source: Firebird 5, parse.y, keyword_or_column.
pub(super) const OLD_NAMES: &[&str] = &[
    "ADMIN",
    "COLUMN",
    "EXTRACT",
    "YEAR",
    "MONTH",
    "DAY",
    "HOUR",
    "MINUTE",
    "SECOND",
    "TIME",
    "TIMESTAMP",
    "CURRENT_DATE",
    "CURRENT_TIME",
    "CURRENT_TIMESTAMP",
    "CURRENT_USER",
    "CURRENT_ROLE",
    "RECREATE",
    "CURRENT_CONNECTION",
    "CURRENT_TRANSACTION",
    "BIGINT",
    "CASE",
    "RELEASE",
    "ROW_COUNT",
    "SAVEPOINT",
    "OPEN",
    "CLOSE",
    "FETCH",
    "ROWS",
    "USING",
    "CROSS",
    "BIT_LENGTH",
    "BOTH",
    "CHAR_LENGTH",
    "CHARACTER_LENGTH",
    "COMMENT",
    "LEADING",
    "LOWER",
    "OCTET_LENGTH",
    "TRAILING",
    "TRIM",
    "CONNECT",
    "DISCONNECT",
    "GLOBAL",
    "INSENSITIVE",
    "RECURSIVE",
    "SENSITIVE",
    "START",
    "SIMILAR",
    "BOOLEAN",
    "CORR",
    "COVAR_POP",
    "COVAR_SAMP",
    "DELETING",
    "DETERMINISTIC",
    "FALSE",
    "INSERTING",
    "OFFSET",
    "OVER",
    "REGR_AVGX",
    "REGR_AVGY",
    "REGR_COUNT",
    "REGR_INTERCEPT",
    "REGR_R2",
    "REGR_SLOPE",
    "REGR_SXX",
    "REGR_SXY",
    "REGR_SYY",
    "RETURN",
    "ROW",
    "SCROLL",
    "SQLSTATE",
    "STDDEV_SAMP",
    "STDDEV_POP",
    "TRUE",
    "UNKNOWN",
    "UPDATING",
    "VAR_SAMP",
    "VAR_POP",
    "BINARY",
    "DECFLOAT",
    "INT128",
    "LATERAL",
    "LOCAL",
    "LOCALTIME",
    "LOCALTIMESTAMP",
    "PUBLICATION",
    "RESETTING",
    "TIMEZONE_HOUR",
    "TIMEZONE_MINUTE",
    "UNBOUNDED",
    "VARBINARY",
    "WINDOW",
    "WITHOUT",
];

impl Parser<'_> {
    /// `TABLE name change, ...`.
    pub(super) fn alter_table(&mut self) -> Result<DdlStatement> {
        self.take();
        let name = self.name()?;
        let changes = self.comma_list(Self::table_change)?;
        Ok(DdlStatement::AlterTable(AlterTable { name, changes }))
    }

    fn table_change(&mut self) -> Result<TableChange> {
        if let Some(enabled) = self.publication() {
            return Ok(TableChange::Publication(enabled));
        }
        if self.eat_keyword("ADD") {
            if self.at_table_constraint() {
                return Ok(TableChange::AddConstraint(Box::new(self.table_constraint()?)));
            }
            return Ok(TableChange::AddColumn(Box::new(self.column_definition()?)));
        }
        if self.eat_keyword("DROP") {
            return self.table_drop();
        }
        if self.eat_keyword("SET") {
            return Ok(TableChange::Storage(self.storage()?));
        }
        self.expect_keyword("ALTER")?;
        if self.eat_keywords(&["SQL", "SECURITY"]) {
            return Ok(TableChange::SqlSecurity(SqlSecurityChange::Set(self.definer_or_invoker()?)));
        }
        self.eat_keyword("COLUMN");
        let name = self.name_or_keyword(OLD_NAMES)?;
        Ok(TableChange::AlterColumn { name, change: self.column_change()? })
    }

    fn table_drop(&mut self) -> Result<TableChange> {
        if self.eat_keyword("CONSTRAINT") {
            return Ok(TableChange::DropConstraint(self.name()?));
        }
        if self.eat_keywords(&["SQL", "SECURITY"]) {
            return Ok(TableChange::SqlSecurity(SqlSecurityChange::Drop));
        }
        let name = self.name()?;
        // Both mean the same: a column that something depends on is not dropped.
        if !self.eat_keyword("RESTRICT") {
            self.eat_keyword("CASCADE");
        }
        Ok(TableChange::DropColumn(name))
    }

    fn column_change(&mut self) -> Result<ColumnChange> {
        if self.at_computed() {
            return Ok(ColumnChange::Computed { data_type: None, computed: self.computed()? });
        }
        match self.keyword().unwrap_or_default() {
            "TO" => {
                self.take();
                Ok(ColumnChange::Rename(self.name()?))
            }
            "POSITION" => {
                self.take();
                let position = self.positive_short()?;
                Ok(ColumnChange::Position(u16::try_from(position).unwrap_or(u16::MAX)))
            }
            "TYPE" => self.column_type_change(),
            "DROP" => self.column_drop(),
            "SET" if self.keyword_ahead(1, "DEFAULT") => {
                self.take();
                Ok(ColumnChange::SetDefault(self.default_clause()?))
            }
            "SET" if self.keyword_ahead(1, "NOT") => {
                self.expect_keywords(&["SET", "NOT", "NULL"])?;
                Ok(ColumnChange::SetNotNull)
            }
            "SET" | "RESTART" => self.identity_change(),
            _ => Err(self.unexpected()),
        }
    }

    /// `TYPE type [COMPUTED BY (value)]`.
    fn column_type_change(&mut self) -> Result<ColumnChange> {
        self.take();
        let data_type = self.data_type()?;
        if self.at_any_keyword(&["COMPUTED", "GENERATED"]) {
            return Ok(ColumnChange::Computed { data_type: Some(data_type), computed: self.computed()? });
        }
        Ok(ColumnChange::Type { data_type, collation: self.collation()? })
    }

    fn column_drop(&mut self) -> Result<ColumnChange> {
        self.take();
        if self.eat_keyword("DEFAULT") {
            return Ok(ColumnChange::DropDefault);
        }
        if self.eat_keyword("IDENTITY") {
            return Ok(ColumnChange::DropIdentity);
        }
        self.expect_keywords(&["NOT", "NULL"])?;
        Ok(ColumnChange::DropNotNull)
    }

    /// `[SET GENERATED ...] [RESTART [WITH n]] [SET INCREMENT [BY] n]`.
    fn identity_change(&mut self) -> Result<ColumnChange> {
        let mut change = IdentityChange::default();
        if self.eat_keywords(&["SET", "GENERATED"]) {
            change.always = Some(self.identity_kind()?);
        }
        loop {
            if self.at_keyword("RESTART") {
                change.restart = Some(self.restart()?);
            } else if self.eat_keywords(&["SET", "INCREMENT"]) {
                self.eat_keyword("BY");
                change.increment = Some(self.signed_long()?);
            } else if change == IdentityChange::default() {
                self.take();
                return Err(self.unexpected());
            } else {
                return Ok(ColumnChange::Identity(change));
            }
        }
    }

    /// `RESTART [WITH value]`.
    pub(super) fn restart(&mut self) -> Result<Restart> {
        self.expect_keyword("RESTART")?;
        if self.eat_keyword("WITH") { Ok(Restart::With(self.bigint()?)) } else { Ok(Restart::Initial) }
    }

    /// A name from before its word was reserved, or any other.
    pub(super) fn old_name(&mut self) -> Result<Name> {
        self.name_or_keyword(OLD_NAMES)
    }
}
