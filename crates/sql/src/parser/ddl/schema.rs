//! Views, indexes, domains, sequences, exceptions.

use crate::ast::{
    AlterDomain, CreateDomain, CreateIndex, DdlStatement, DefineException, DefineMode, DefineSequence,
    DefineView, DomainChange, IndexCondition, IndexKey, SelectStatement,
};
use crate::error;
use crate::parser::cursor::Parser;
use crate::parser::transaction::once;
use farbird_types::Result;

impl Parser<'_> {
    /// `VIEW name [(columns)] AS query [WITH CHECK OPTION]`.
    pub(super) fn define_view(&mut self, mode: DefineMode) -> Result<DdlStatement> {
        self.take();
        let name = self.name()?;
        let columns = self.optional_names()?;
        self.expect_keyword("AS")?;
        let start = self.source_start();
        let query = self.query()?;
        let check_option = self.check_option()?;
        let source = self.source_since(start);
        let query =
            Box::new(SelectStatement { query, for_update: None, with_lock: None, optimize_for: None });
        Ok(DdlStatement::DefineView(DefineView { mode, name, columns, query, check_option, source }))
    }

    /// `[WITH CHECK OPTION]`.
    pub(in crate::parser) fn check_option(&mut self) -> Result<bool> {
        let found = self.eat_keyword("WITH");
        if found {
            self.expect_keywords(&["CHECK", "OPTION"])?;
        }
        Ok(found)
    }

    /// `[UNIQUE] [ASC | DESC] INDEX name [ACTIVE | INACTIVE] ON table key [WHERE condition]`.
    pub(super) fn create_index(&mut self) -> Result<DdlStatement> {
        let unique = self.eat_keyword("UNIQUE");
        let descending = self.descending();
        self.expect_keyword("INDEX")?;
        let name = self.name()?;
        let inactive = self.eat_keyword("INACTIVE");
        if !inactive {
            self.eat_keyword("ACTIVE");
        }
        self.expect_keyword("ON")?;
        let table = self.name()?;
        let key = if self.at_computed() {
            IndexKey::Computed(self.computed()?)
        } else if self.at_symbol("(") {
            IndexKey::Columns(self.parenthesised_list(Self::name)?)
        } else {
            IndexKey::Columns(self.comma_list(Self::name)?)
        };
        let condition = self.index_condition()?;
        Ok(DdlStatement::CreateIndex(CreateIndex {
            unique,
            descending,
            name,
            inactive,
            table,
            key,
            condition,
        }))
    }

    fn index_condition(&mut self) -> Result<Option<IndexCondition>> {
        let start = self.source_start();
        if !self.eat_keyword("WHERE") {
            return Ok(None);
        }
        let condition = self.expression()?;
        Ok(Some(IndexCondition { condition, source: self.source_since(start) }))
    }

    /// `INDEX name ACTIVE | INACTIVE`.
    pub(super) fn alter_index(&mut self) -> Result<DdlStatement> {
        self.take();
        let name = self.name()?;
        let active = self.eat_keyword("ACTIVE");
        if !active {
            self.expect_keyword("INACTIVE")?;
        }
        Ok(DdlStatement::AlterIndex { name, active })
    }

    /// `DOMAIN name [AS] type [DEFAULT value] [NOT NULL] [CHECK (condition)] [COLLATE collation]`.
    pub(super) fn create_domain(&mut self) -> Result<DdlStatement> {
        self.take();
        let name = self.name()?;
        self.eat_keyword("AS");
        if self.at_name() && !self.at_keyword("CSTRING") {
            return Err(self.unexpected());
        }
        let data_type = self.type_of_column()?;
        let default = self.default_keyword_clause()?;
        let mut domain =
            CreateDomain { name, data_type, collation: None, default, not_null: false, check: None };
        loop {
            if self.at_keyword("CHECK") {
                let check = self.check()?;
                if domain.check.replace(check).is_some() {
                    return Err(error::duplicate_clause("DOMAIN CHECK CONSTRAINT"));
                }
            } else if self.not_null()? {
                if std::mem::replace(&mut domain.not_null, true) {
                    return Err(error::duplicate_clause("NOT NULL"));
                }
            } else {
                break;
            }
        }
        domain.collation = self.collation()?;
        Ok(DdlStatement::CreateDomain(domain))
    }

    /// `DOMAIN name change ...`.
    pub(super) fn alter_domain(&mut self) -> Result<DdlStatement> {
        self.take();
        let name = self.old_name()?;
        let mut changes = vec![self.domain_change()?];
        while self.at_any_keyword(&["SET", "ADD", "DROP", "TO", "TYPE"]) {
            changes.push(self.domain_change()?);
        }
        Ok(DdlStatement::AlterDomain(AlterDomain { name, changes }))
    }

    fn domain_change(&mut self) -> Result<DomainChange> {
        match self.keyword().unwrap_or_default() {
            "TO" => {
                self.take();
                Ok(DomainChange::Rename(self.name()?))
            }
            "TYPE" => {
                self.take();
                Ok(DomainChange::Type(self.type_without_domain()?))
            }
            "ADD" => {
                self.take();
                self.eat_keyword("CONSTRAINT");
                Ok(DomainChange::AddCheck(self.check()?))
            }
            "SET" => {
                self.take();
                if self.not_null()? {
                    return Ok(DomainChange::SetNotNull);
                }
                if !self.at_keyword("DEFAULT") {
                    return Err(self.unexpected());
                }
                Ok(DomainChange::SetDefault(self.default_clause()?))
            }
            _ => {
                self.expect_keyword("DROP")?;
                if self.eat_keyword("DEFAULT") {
                    return Ok(DomainChange::DropDefault);
                }
                if self.eat_keyword("CONSTRAINT") {
                    return Ok(DomainChange::DropConstraint);
                }
                self.expect_keywords(&["NOT", "NULL"])?;
                Ok(DomainChange::DropNotNull)
            }
        }
    }

    /// `SEQUENCE | GENERATOR name [START WITH n] [RESTART [WITH n]] [INCREMENT [BY] n]`.
    pub(super) fn define_sequence(&mut self, mode: DefineMode) -> Result<DdlStatement> {
        self.take();
        let name = self.name()?;
        let mut sequence =
            DefineSequence { mode, name, start: None, restart: None, increment: None, set_generator: false };
        loop {
            if self.eat_keyword("INCREMENT") {
                self.eat_keyword("BY");
                once(&mut sequence.increment, self.signed_long()?, "INCREMENT BY")?;
            } else if mode != DefineMode::Alter && self.eat_keyword("START") {
                self.expect_keyword("WITH")?;
                once(&mut sequence.start, self.bigint()?, "START WITH")?;
            } else if mode == DefineMode::Alter && self.at_keyword("RESTART") {
                sequence.restart = Some(self.restart()?);
            } else if mode == DefineMode::CreateOrAlter && self.eat_keyword("RESTART") {
                sequence.restart = Some(crate::ast::Restart::Initial);
            } else {
                break;
            }
        }
        let says_nothing =
            sequence.start.is_none() && sequence.restart.is_none() && sequence.increment.is_none();
        if says_nothing && matches!(mode, DefineMode::Alter | DefineMode::CreateOrAlter) {
            return Err(self.incomplete());
        }
        Ok(DdlStatement::DefineSequence(sequence))
    }

    /// `SET GENERATOR name TO value`.
    pub(super) fn set_generator(&mut self) -> Result<DdlStatement> {
        self.expect_keywords(&["SET", "GENERATOR"])?;
        let name = self.name()?;
        self.expect_keyword("TO")?;
        let restart = Some(crate::ast::Restart::With(self.bigint()?));
        Ok(DdlStatement::DefineSequence(DefineSequence {
            mode: DefineMode::Alter,
            name,
            start: None,
            restart,
            increment: None,
            set_generator: true,
        }))
    }

    /// `EXCEPTION name 'message'`.
    pub(super) fn define_exception(&mut self, mode: DefineMode) -> Result<DdlStatement> {
        self.take();
        let name = self.name()?;
        Ok(DdlStatement::DefineException(DefineException { mode, name, message: self.text()? }))
    }
}
