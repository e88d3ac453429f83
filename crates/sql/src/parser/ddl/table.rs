//! Tables, their columns and constraints.

use crate::ast::{
    Check, ColumnConstraint, ColumnConstraintKind, ColumnDefinition, ColumnGeneration, Computed,
    ConstraintIndex, CreateTable, DataType, DataTypeKind, DdlStatement, DefaultValue, DefineMode, Identity,
    Name, References, ReferentialAction, Storage, TableConstraint, TableConstraintKind, TableElement,
    TemporaryRows,
};
use crate::error;
use crate::parser::cursor::Parser;
use crate::parser::transaction::once;
use farbird_types::Result;

impl Parser<'_> {
    /// `TABLE name [EXTERNAL [FILE] 'file'] (elements) [attributes]`.
    pub(super) fn create_table(&mut self, mode: DefineMode) -> Result<DdlStatement> {
        self.expect_keyword("TABLE")?;
        let name = self.name()?;
        let external_file = if self.eat_keyword("EXTERNAL") {
            self.eat_keyword("FILE");
            Some(self.text()?)
        } else {
            None
        };
        let elements = self.parenthesised_list(Self::table_element)?;
        let (mut sql_security, mut publication, mut storage) = (None, None, None);
        loop {
            if let Some(security) = self.sql_security()? {
                if sql_security.replace(security).is_some() {
                    return Err(error::duplicate_clause("SQL SECURITY"));
                }
            } else if let Some(enabled) = self.publication() {
                if publication.replace(enabled).is_some() {
                    return Err(error::duplicate_clause("PUBLICATION"));
                }
            } else if self.at_word("STORAGE") {
                if storage.replace(self.storage()?).is_some() {
                    return Err(error::duplicate_clause("STORAGE"));
                }
            } else {
                break;
            }
        }
        Ok(DdlStatement::CreateTable(CreateTable {
            mode,
            name,
            temporary: None,
            external_file,
            elements,
            sql_security,
            publication,
            storage,
        }))
    }

    /// `STORAGE CODEC 'name'`, `STORAGE DEFAULT`. Neither STORAGE nor CODEC is a keyword: both stay names elsewhere.
    pub(super) fn storage(&mut self) -> Result<Storage> {
        self.expect_word("STORAGE")?;
        if self.eat_keyword("DEFAULT") {
            return Ok(Storage::Default);
        }
        self.expect_word("CODEC")?;
        Ok(Storage::Codec(self.text()?))
    }

    /// `GLOBAL TEMPORARY TABLE name (elements) [ON COMMIT ...] [SQL SECURITY ...]`.
    pub(super) fn create_temporary_table(&mut self, mode: DefineMode) -> Result<DdlStatement> {
        self.expect_keywords(&["GLOBAL", "TEMPORARY", "TABLE"])?;
        let name = self.name()?;
        let elements = self.parenthesised_list(Self::table_element)?;
        let (mut temporary, mut sql_security) = (None, None);
        loop {
            if self.eat_keywords(&["ON", "COMMIT"]) {
                let rows = if self.eat_keyword("DELETE") {
                    TemporaryRows::DeleteOnCommit
                } else {
                    self.expect_keyword("PRESERVE")?;
                    TemporaryRows::PreserveOnCommit
                };
                self.expect_keyword("ROWS")?;
                if temporary.replace(rows).is_some() {
                    return Err(error::duplicate_clause("ON COMMIT DELETE/PRESERVE ROWS"));
                }
            } else if let Some(security) = self.sql_security()? {
                if sql_security.replace(security).is_some() {
                    return Err(error::duplicate_clause("SQL SECURITY"));
                }
            } else {
                break;
            }
            self.eat_symbol(",");
        }
        Ok(DdlStatement::CreateTable(CreateTable {
            mode,
            name,
            temporary: Some(temporary.unwrap_or(TemporaryRows::DeleteOnCommit)),
            external_file: None,
            elements,
            sql_security,
            publication: None,
            storage: None,
        }))
    }

    fn table_element(&mut self) -> Result<TableElement> {
        if self.at_table_constraint() {
            return Ok(TableElement::Constraint(Box::new(self.table_constraint()?)));
        }
        Ok(TableElement::Column(Box::new(self.column_definition()?)))
    }

    pub(super) fn at_table_constraint(&self) -> bool {
        self.at_any_keyword(&["CONSTRAINT", "PRIMARY", "UNIQUE", "FOREIGN", "CHECK"])
    }

    // Columns.

    pub(super) fn column_definition(&mut self) -> Result<ColumnDefinition> {
        let name = self.name()?;
        let data_type = if self.at_computed() { None } else { Some(self.column_type()?) };
        let mut column = ColumnDefinition {
            name,
            data_type,
            collation: None,
            generation: ColumnGeneration::Stored { default: None },
            constraints: Vec::new(),
        };
        if self.at_computed() {
            column.generation = ColumnGeneration::Computed(self.computed()?);
            return Ok(column);
        }
        column.generation = if self.at_keyword("GENERATED") {
            ColumnGeneration::Identity(self.identity()?)
        } else {
            ColumnGeneration::Stored { default: self.default_keyword_clause()? }
        };
        while self.at_any_keyword(&["CONSTRAINT", "NOT", "CHECK", "REFERENCES", "UNIQUE", "PRIMARY"]) {
            let constraint = self.column_constraint()?;
            let is_not_null = |it: &ColumnConstraint| matches!(it.kind, ColumnConstraintKind::NotNull);
            if is_not_null(&constraint) && column.constraints.iter().any(is_not_null) {
                return Err(error::duplicate_clause("NOT NULL"));
            }
            column.constraints.push(constraint);
        }
        column.collation = self.collation()?;
        Ok(column)
    }

    /// A type, or the name of a domain; TYPE OF is not for columns, so that TYPE is such a name.
    fn column_type(&mut self) -> Result<DataType> {
        if self.at_name() {
            let position = self.position();
            return Ok(DataType { kind: DataTypeKind::Domain(self.name()?), array: Vec::new(), position });
        }
        self.type_of_column()
    }

    /// Whether COMPUTED or GENERATED ALWAYS AS ( begins here.
    pub(super) fn at_computed(&mut self) -> bool {
        if self.at_keyword("COMPUTED") {
            return self.keyword_ahead(1, "BY") || self.symbol_ahead(1, "(");
        }
        self.at_keywords(&["GENERATED", "ALWAYS", "AS"]) && self.symbol_ahead(3, "(")
    }

    /// `COMPUTED [BY] (value)`, `GENERATED ALWAYS AS (value)`.
    pub(super) fn computed(&mut self) -> Result<Computed> {
        if self.eat_keyword("COMPUTED") {
            self.eat_keyword("BY");
        } else {
            self.expect_keywords(&["GENERATED", "ALWAYS", "AS"])?;
        }
        self.computed_value()
    }

    /// `(value)` with its source.
    pub(in crate::parser) fn computed_value(&mut self) -> Result<Computed> {
        let start = self.source_start();
        self.expect_symbol("(")?;
        let value = self.expression()?;
        self.expect_symbol(")")?;
        Ok(Computed { value, source: self.source_since(start) })
    }

    /// `GENERATED ALWAYS | BY DEFAULT AS IDENTITY [(options)]`.
    fn identity(&mut self) -> Result<Identity> {
        self.expect_keyword("GENERATED")?;
        let always = self.identity_kind()?;
        self.expect_keywords(&["AS", "IDENTITY"])?;
        let mut identity = Identity { always, start: None, increment: None };
        if self.eat_symbol("(") {
            loop {
                if self.eat_keyword("INCREMENT") {
                    self.eat_keyword("BY");
                    once(&mut identity.increment, self.signed_long()?, "INCREMENT BY")?;
                } else {
                    self.expect_keywords(&["START", "WITH"])?;
                    once(&mut identity.start, self.bigint()?, "START WITH")?;
                }
                if self.eat_symbol(")") {
                    break;
                }
            }
        }
        Ok(identity)
    }

    /// `ALWAYS | BY DEFAULT`: whether ALWAYS.
    pub(super) fn identity_kind(&mut self) -> Result<bool> {
        if self.eat_keyword("ALWAYS") {
            return Ok(true);
        }
        self.expect_keywords(&["BY", "DEFAULT"])?;
        Ok(false)
    }

    /// `[DEFAULT value]`.
    pub(super) fn default_keyword_clause(&mut self) -> Result<Option<DefaultValue>> {
        if self.at_keyword("DEFAULT") { self.default_clause().map(Some) } else { Ok(None) }
    }

    /// `[DEFAULT value | = value]`.
    pub(in crate::parser) fn default_clause_opt(&mut self) -> Result<Option<DefaultValue>> {
        if self.at_symbol("=") { self.default_clause().map(Some) } else { self.default_keyword_clause() }
    }

    /// `DEFAULT value`, `= value`.
    pub(in crate::parser) fn default_clause(&mut self) -> Result<DefaultValue> {
        let start = self.source_start();
        if !self.eat_symbol("=") {
            self.expect_keyword("DEFAULT")?;
        }
        let value = self.default_value()?;
        Ok(DefaultValue { value, source: self.source_since(start) })
    }

    // Constraints.

    fn constraint_name(&mut self) -> Result<Option<Name>> {
        if self.eat_keyword("CONSTRAINT") { self.name().map(Some) } else { Ok(None) }
    }

    fn column_constraint(&mut self) -> Result<ColumnConstraint> {
        let position = self.position();
        let name = self.constraint_name()?;
        let kind = match self.keyword().unwrap_or_default() {
            "NOT" => {
                self.expect_keywords(&["NOT", "NULL"])?;
                ColumnConstraintKind::NotNull
            }
            "CHECK" => ColumnConstraintKind::Check(self.check()?),
            "REFERENCES" => ColumnConstraintKind::References(self.references()?),
            "UNIQUE" => {
                self.take();
                ColumnConstraintKind::Unique(self.constraint_index()?)
            }
            _ => {
                self.expect_keywords(&["PRIMARY", "KEY"])?;
                ColumnConstraintKind::PrimaryKey(self.constraint_index()?)
            }
        };
        Ok(ColumnConstraint { name, kind, position })
    }

    pub(super) fn table_constraint(&mut self) -> Result<TableConstraint> {
        let position = self.position();
        let name = self.constraint_name()?;
        let kind = match self.keyword().unwrap_or_default() {
            "CHECK" => TableConstraintKind::Check(self.check()?),
            "UNIQUE" => {
                self.take();
                let columns = self.parenthesised_list(Self::name)?;
                TableConstraintKind::Unique { columns, index: self.constraint_index()? }
            }
            "FOREIGN" => {
                self.expect_keywords(&["FOREIGN", "KEY"])?;
                let columns = self.parenthesised_list(Self::name)?;
                TableConstraintKind::ForeignKey { columns, references: self.references()? }
            }
            _ => {
                self.expect_keywords(&["PRIMARY", "KEY"])?;
                let columns = self.parenthesised_list(Self::name)?;
                TableConstraintKind::PrimaryKey { columns, index: self.constraint_index()? }
            }
        };
        Ok(TableConstraint { name, kind, position })
    }

    /// `CHECK (condition)` with its source.
    pub(in crate::parser) fn check(&mut self) -> Result<Check> {
        let start = self.source_start();
        self.expect_keyword("CHECK")?;
        self.expect_symbol("(")?;
        let condition = self.expression()?;
        self.expect_symbol(")")?;
        Ok(Check { condition, source: self.source_since(start) })
    }

    /// `[USING [ASC | DESC] INDEX name]`.
    fn constraint_index(&mut self) -> Result<ConstraintIndex> {
        if !self.eat_keyword("USING") {
            return Ok(ConstraintIndex::default());
        }
        let descending = self.descending();
        self.expect_keyword("INDEX")?;
        Ok(ConstraintIndex { name: Some(self.name()?), descending })
    }

    /// `REFERENCES table [(columns)] [ON UPDATE ...] [ON DELETE ...] [USING INDEX ...]`.
    fn references(&mut self) -> Result<References> {
        self.expect_keyword("REFERENCES")?;
        let table = self.name()?;
        let columns = self.optional_names()?;
        let (mut on_update, mut on_delete) = (None, None);
        while self.eat_keyword("ON") {
            let place = if self.at_keyword("UPDATE") && on_update.is_none() {
                &mut on_update
            } else if self.at_keyword("DELETE") && on_delete.is_none() {
                &mut on_delete
            } else {
                return Err(self.unexpected());
            };
            self.take();
            *place = Some(self.referential_action()?);
        }
        Ok(References { table, columns, on_update, on_delete, index: self.constraint_index()? })
    }

    fn referential_action(&mut self) -> Result<ReferentialAction> {
        if self.eat_keyword("CASCADE") {
            return Ok(ReferentialAction::Cascade);
        }
        if self.eat_keyword("NO") {
            self.expect_keyword("ACTION")?;
            return Ok(ReferentialAction::NoAction);
        }
        self.expect_keyword("SET")?;
        if self.eat_keyword("DEFAULT") {
            return Ok(ReferentialAction::SetDefault);
        }
        self.expect_keyword("NULL")?;
        Ok(ReferentialAction::SetNull)
    }
}
