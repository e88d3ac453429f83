//! Statements by their first words, and those that change rows.

use super::cursor::Parser;
use crate::ast::{
    AssignedValue, Assignment, BlockParameter, ChangedRows, ChangedTable, Delete, ExecuteBlock, Explain,
    Insert, InsertSource, Merge, MergeAction, MergeClause, MergeRows, Name, Overriding, ParameterDeclaration,
    Returning, Statement, StatementKind, Target, Update, UpdateOrInsert,
};
use farbird_types::Result;

impl Parser<'_> {
    /// Any statement.
    pub(super) fn statement(&mut self) -> Result<StatementKind> {
        match self.keyword().unwrap_or_default() {
            "SELECT" | "WITH" => Ok(StatementKind::Select(Box::new(self.select_statement()?))),
            "INSERT" => Ok(StatementKind::Insert(Box::new(self.insert()?))),
            "UPDATE" => self.update_statement(),
            "DELETE" => Ok(StatementKind::Delete(Box::new(self.delete()?))),
            "MERGE" => Ok(StatementKind::Merge(Box::new(self.merge()?))),
            "EXECUTE" => self.execute_statement_kind(),
            "COMMIT" | "ROLLBACK" | "SAVEPOINT" | "RELEASE" => {
                Ok(StatementKind::Transaction(Box::new(self.transaction_statement()?)))
            }
            "SET" => self.set_statement(),
            "ALTER" if self.keyword_ahead(1, "SESSION") => {
                Ok(StatementKind::Session(Box::new(self.session_statement()?)))
            }
            _ if self.at_word("EXPLAIN") => Ok(StatementKind::Explain(Box::new(self.explain()?))),
            _ if self.at_symbol("(") => Ok(StatementKind::Select(Box::new(self.select_statement()?))),
            _ => Ok(StatementKind::Ddl(Box::new(self.ddl_statement()?))),
        }
    }

    /// EXPLAIN and ANALYZE are no keywords: tables may be called so.
    fn explain(&mut self) -> Result<Explain> {
        self.take();
        let analyze = self.at_word("ANALYZE");
        if analyze {
            self.take();
        }
        let is_explained = match self.keyword() {
            Some("SELECT" | "WITH" | "INSERT" | "UPDATE" | "DELETE" | "MERGE" | "EXECUTE") => true,
            _ => self.at_symbol("("),
        };
        if !is_explained {
            return Err(self.unexpected());
        }
        let kind = self.statement()?;
        Ok(Explain {
            analyze,
            statement: Statement { kind, parameter_count: self.parameter_count(), warnings: None },
        })
    }

    /// UPDATE, or UPDATE OR INSERT.
    fn update_statement(&mut self) -> Result<StatementKind> {
        if self.keyword_ahead(1, "OR") {
            return Ok(StatementKind::UpdateOrInsert(Box::new(self.update_or_insert()?)));
        }
        Ok(StatementKind::Update(Box::new(self.update()?)))
    }

    fn execute_statement_kind(&mut self) -> Result<StatementKind> {
        if self.keyword_ahead(1, "BLOCK") {
            return Ok(StatementKind::ExecuteBlock(Box::new(self.execute_block()?)));
        }
        Ok(StatementKind::ExecuteProcedure(Box::new(self.execute_procedure()?)))
    }

    /// Statements that begin with SET belong to three families.
    fn set_statement(&mut self) -> Result<StatementKind> {
        if self.keyword_ahead(1, "TRANSACTION") {
            return Ok(StatementKind::Transaction(Box::new(self.transaction_statement()?)));
        }
        if self.keyword_ahead(1, "GENERATOR") || self.keyword_ahead(1, "STATISTICS") {
            return Ok(StatementKind::Ddl(Box::new(self.ddl_statement()?)));
        }
        Ok(StatementKind::Session(Box::new(self.session_statement()?)))
    }

    // INSERT.

    pub(super) fn insert(&mut self) -> Result<Insert> {
        let position = self.position();
        self.expect_keywords(&["INSERT", "INTO"])?;
        let table = ChangedTable { name: self.name()?, alias: None };
        if self.eat_keyword("DEFAULT") {
            self.expect_keyword("VALUES")?;
            let source = InsertSource::DefaultValues;
            let returning = self.returning()?;
            return Ok(Insert { table, columns: None, overriding: None, source, returning, position });
        }
        let columns = self.insert_columns()?;
        let overriding = self.overriding()?;
        let source = if self.at_keyword("VALUES") {
            InsertSource::Values(self.values()?)
        } else {
            InsertSource::Query(Box::new(self.query()?))
        };
        Ok(Insert { table, columns, overriding, source, returning: self.returning()?, position })
    }

    /// `[(column, ...)]`; a query in parentheses is none.
    fn insert_columns(&mut self) -> Result<Option<Vec<Name>>> {
        let query_follows =
            self.symbol_ahead(1, "(") || self.keyword_ahead(1, "SELECT") || self.keyword_ahead(1, "WITH");
        if !self.at_symbol("(") || query_follows {
            return Ok(None);
        }
        self.parenthesised_list(|parser| parser.qualified_name().map(|(_, name)| name)).map(Some)
    }

    fn overriding(&mut self) -> Result<Option<Overriding>> {
        if !self.eat_keyword("OVERRIDING") {
            return Ok(None);
        }
        let overriding = if self.eat_keyword("USER") {
            Overriding::UserValue
        } else {
            self.expect_keyword("SYSTEM")?;
            Overriding::SystemValue
        };
        self.expect_keyword("VALUE")?;
        Ok(Some(overriding))
    }

    /// `VALUES (value, ...)`.
    fn values(&mut self) -> Result<Vec<AssignedValue>> {
        self.expect_keyword("VALUES")?;
        self.parenthesised_list(Self::assigned_value)
    }

    fn assigned_value(&mut self) -> Result<AssignedValue> {
        let position = self.position();
        if self.eat_keyword("DEFAULT") {
            return Ok(AssignedValue::Default(position));
        }
        self.expression().map(AssignedValue::Expression)
    }

    fn returning(&mut self) -> Result<Option<Returning>> {
        if !self.eat_keyword("RETURNING") {
            return Ok(None);
        }
        let items = self.select_items()?;
        let into = if self.eat_keyword("INTO") { self.targets()? } else { Vec::new() };
        Ok(Some(Returning { items, into }))
    }

    /// Variables that values go to.
    pub(super) fn targets(&mut self) -> Result<Vec<Target>> {
        self.comma_list(Self::target)
    }

    /// `[:][qualifier.]name`.
    pub(super) fn target(&mut self) -> Result<Target> {
        let position = self.position();
        let colon = self.eat_symbol(":");
        let (qualifier, mut name) = self.qualified_name()?;
        // Errors point to the colon.
        if colon && qualifier.is_none() {
            name.position = position;
        }
        Ok(Target { qualifier, name, colon })
    }

    // UPDATE.

    pub(super) fn update(&mut self) -> Result<Update> {
        let position = self.position();
        self.expect_keyword("UPDATE")?;
        let table = self.changed_table()?;
        self.expect_keyword("SET")?;
        let assignments = self.assignments()?;
        let rows = self.changed_rows()?;
        let (mut plan, mut order_by, mut limit, mut skip_locked) = (None, Vec::new(), None, false);
        if !matches!(rows, ChangedRows::CurrentOf(_)) {
            plan = self.plan()?;
            order_by = self.order_by()?;
            limit = self.rows()?;
            skip_locked = self.eat_keywords(&["SKIP", "LOCKED"]);
        }
        let returning = self.returning()?;
        Ok(Update { table, assignments, rows, plan, order_by, limit, skip_locked, returning, position })
    }

    /// `table [[AS] alias]`.
    fn changed_table(&mut self) -> Result<ChangedTable> {
        let name = self.name()?;
        Ok(ChangedTable { name, alias: self.alias()? })
    }

    /// `column = value, ...`.
    fn assignments(&mut self) -> Result<Vec<Assignment>> {
        self.comma_list(|parser| {
            let (qualifier, name) = parser.qualified_name()?;
            parser.expect_symbol("=")?;
            let value = parser.assigned_value()?;
            Ok(Assignment { target: Target { qualifier, name, colon: false }, value })
        })
    }

    /// `[WHERE condition | WHERE CURRENT OF cursor]`.
    fn changed_rows(&mut self) -> Result<ChangedRows> {
        if !self.eat_keyword("WHERE") {
            return Ok(ChangedRows::All);
        }
        if self.eat_keyword("CURRENT") {
            self.expect_keyword("OF")?;
            return Ok(ChangedRows::CurrentOf(self.name()?));
        }
        self.expression().map(ChangedRows::Where)
    }

    pub(super) fn update_or_insert(&mut self) -> Result<UpdateOrInsert> {
        let position = self.position();
        self.expect_keywords(&["UPDATE", "OR", "INSERT", "INTO"])?;
        let table = ChangedTable { name: self.name()?, alias: None };
        let columns = self.insert_columns()?;
        let overriding = self.overriding()?;
        let values = self.values()?;
        let matching = if self.eat_keyword("MATCHING") {
            self.parenthesised_list(|parser| parser.qualified_name().map(|(_, name)| name))?
        } else {
            Vec::new()
        };
        let plan = self.plan()?;
        let order_by = self.order_by()?;
        let limit = self.rows()?;
        let returning = self.returning()?;
        Ok(UpdateOrInsert {
            table,
            columns,
            overriding,
            values,
            matching,
            plan,
            order_by,
            limit,
            returning,
            position,
        })
    }

    pub(super) fn delete(&mut self) -> Result<Delete> {
        let position = self.position();
        self.expect_keywords(&["DELETE", "FROM"])?;
        let table = self.changed_table()?;
        let rows = self.changed_rows()?;
        let (mut plan, mut order_by, mut limit, mut skip_locked) = (None, Vec::new(), None, false);
        if !matches!(rows, ChangedRows::CurrentOf(_)) {
            plan = self.plan()?;
            order_by = self.order_by()?;
            limit = self.rows()?;
            skip_locked = self.eat_keywords(&["SKIP", "LOCKED"]);
        }
        let returning = self.returning()?;
        Ok(Delete { table, rows, plan, order_by, limit, skip_locked, returning, position })
    }

    // MERGE.

    pub(super) fn merge(&mut self) -> Result<Merge> {
        let position = self.position();
        self.expect_keywords(&["MERGE", "INTO"])?;
        let target = self.changed_table()?;
        self.expect_keyword("USING")?;
        let source = self.table_reference()?;
        self.expect_keyword("ON")?;
        let condition = self.expression()?;
        let mut clauses = Vec::new();
        while clauses.is_empty() || self.at_keyword("WHEN") {
            clauses.push(self.merge_clause()?);
        }
        let plan = self.plan()?;
        let order_by = self.order_by()?;
        let returning = self.returning()?;
        Ok(Merge { target, source, condition, clauses, plan, order_by, returning, position })
    }

    fn merge_clause(&mut self) -> Result<MergeClause> {
        let position = self.position();
        self.expect_keyword("WHEN")?;
        let rows = self.merge_rows()?;
        let condition = if self.eat_keyword("AND") { Some(self.expression()?) } else { None };
        self.expect_keyword("THEN")?;
        let action = if rows == MergeRows::NotMatchedByTarget {
            self.expect_keyword("INSERT")?;
            let columns = self.insert_columns()?;
            let overriding = self.overriding()?;
            MergeAction::Insert { columns, overriding, values: self.values()? }
        } else if self.eat_keyword("DELETE") {
            MergeAction::Delete
        } else {
            self.expect_keywords(&["UPDATE", "SET"])?;
            MergeAction::Update(self.assignments()?)
        };
        Ok(MergeClause { rows, condition, action, position })
    }

    /// `MATCHED`, `NOT MATCHED [BY TARGET | BY SOURCE]`.
    fn merge_rows(&mut self) -> Result<MergeRows> {
        if self.eat_keyword("MATCHED") {
            return Ok(MergeRows::Matched);
        }
        self.expect_keywords(&["NOT", "MATCHED"])?;
        if !self.eat_keyword("BY") || self.eat_keyword("TARGET") {
            return Ok(MergeRows::NotMatchedByTarget);
        }
        self.expect_keyword("SOURCE")?;
        Ok(MergeRows::NotMatchedBySource)
    }

    // EXECUTE BLOCK.

    fn execute_block(&mut self) -> Result<ExecuteBlock> {
        let position = self.position();
        self.expect_keywords(&["EXECUTE", "BLOCK"])?;
        let parameters =
            if self.at_symbol("(") { self.parenthesised_list(Self::block_parameter)? } else { Vec::new() };
        let returns = self.output_parameters()?;
        self.expect_keyword("AS")?;
        Ok(ExecuteBlock { parameters, returns, body: self.routine_body()?, position })
    }

    fn block_parameter(&mut self) -> Result<BlockParameter> {
        let parameter = self.typed_name()?;
        self.expect_symbol("=")?;
        let declaration = ParameterDeclaration { parameter, default: None };
        Ok(BlockParameter { declaration, parameter: self.parameter()? })
    }
}
