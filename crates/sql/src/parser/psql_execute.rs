//! EXECUTE STATEMENT and EXECUTE PROCEDURE.

use super::cursor::Parser;
use super::transaction::once;
use crate::ast::{
    ExecuteProcedure, ExecuteStatement, Expression, ExpressionKind, StatementParameter, StatementTransaction,
    Target,
};
use crate::error;
use farbird_types::Result;

impl Parser<'_> {
    /// EXECUTE STATEMENT with its inputs, options and targets.
    pub(super) fn execute_statement(&mut self) -> Result<ExecuteStatement> {
        self.expect_keywords(&["EXECUTE", "STATEMENT"])?;
        let (sql, parameters) = self.statement_text()?;
        let mut statement = ExecuteStatement {
            sql,
            parameters,
            data_source: None,
            user: None,
            password: None,
            role: None,
            transaction: None,
            caller_privileges: false,
            into: Vec::new(),
        };
        while self.execute_option(&mut statement)? {}
        if self.eat_keyword("INTO") {
            statement.into = self.targets()?;
        }
        Ok(statement)
    }

    /// The text, and its inputs: they follow a text in parentheses only.
    fn statement_text(&mut self) -> Result<(Expression, Vec<StatementParameter>)> {
        if !self.at_symbol("(") {
            return Ok((self.expression()?, Vec::new()));
        }
        let text = self.parenthesised_value()?;
        if self.at_symbol("(") {
            return Ok((text, self.parenthesised_list(Self::statement_parameter)?));
        }
        Ok((self.expression_after(text)?, Vec::new()))
    }

    /// `[[EXCESS] name :=] value`.
    fn statement_parameter(&mut self) -> Result<StatementParameter> {
        let excess = self.at_keyword("EXCESS") && self.symbol_ahead(2, ":=");
        if excess {
            self.take();
        }
        let name = if self.symbol_ahead(1, ":=") {
            let name = self.name()?;
            self.take();
            Some(name)
        } else {
            None
        };
        Ok(StatementParameter { name, excess, value: self.expression()? })
    }

    /// One option; false if there is no further one.
    fn execute_option(&mut self, statement: &mut ExecuteStatement) -> Result<bool> {
        if self.eat_keyword("ON") {
            self.expect_keyword("EXTERNAL")?;
            if self.at_keyword("DATA") && self.keyword_ahead(1, "SOURCE") {
                self.expect_keywords(&["DATA", "SOURCE"])?;
            }
            let value = self.expression()?;
            once(&mut statement.data_source, value, "EXTERNAL DATA SOURCE")?;
        } else if self.at_keyword("AS") && self.keyword_ahead(1, "USER") {
            self.expect_keywords(&["AS", "USER"])?;
            let value = self.expression()?;
            once(&mut statement.user, value, "USER")?;
        } else if self.eat_keyword("PASSWORD") {
            let value = self.expression()?;
            once(&mut statement.password, value, "PASSWORD")?;
        } else if self.eat_keyword("ROLE") {
            let value = self.expression()?;
            once(&mut statement.role, value, "ROLE")?;
        } else if self.eat_keyword("WITH") {
            self.execute_with(statement)?;
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// AUTONOMOUS TRANSACTION, COMMON TRANSACTION, CALLER PRIVILEGES.
    fn execute_with(&mut self, statement: &mut ExecuteStatement) -> Result<()> {
        if self.eat_keyword("CALLER") {
            if std::mem::replace(&mut statement.caller_privileges, true) {
                return Err(error::duplicate_clause("CALLER PRIVILEGES"));
            }
            return self.expect_keyword("PRIVILEGES");
        }
        let transaction = if self.eat_keyword("AUTONOMOUS") {
            StatementTransaction::Autonomous
        } else {
            self.expect_keyword("COMMON")?;
            StatementTransaction::Common
        };
        self.expect_keyword("TRANSACTION")?;
        once(&mut statement.transaction, transaction, "TRANSACTION")
    }

    /// EXECUTE PROCEDURE.
    pub(super) fn execute_procedure(&mut self) -> Result<ExecuteProcedure> {
        let position = self.position();
        self.expect_keywords(&["EXECUTE", "PROCEDURE"])?;
        let name = self.object_name()?;
        let arguments = self.procedure_arguments()?;
        let returning_values = self.returning_values()?;
        Ok(ExecuteProcedure { name, arguments, returning_values, position })
    }

    /// Values, with or without parentheses around all of them. A parenthesis at the beginning may belong to the first
    /// value alone, which shows only behind its partner.
    fn procedure_arguments(&mut self) -> Result<Vec<Expression>> {
        let none_follow = self.at_any_keyword(&["RETURNING_VALUES", "AS"])
            || self.at_symbol(";")
            || matches!(self.peek(), crate::lexer::TokenKind::End);
        if none_follow {
            return Ok(Vec::new());
        }
        if !self.at_symbol("(") {
            return self.expressions();
        }
        let position = self.position();
        self.take();
        let first = match self.inside_parentheses()? {
            super::expression::Parenthesised::Query(query) => {
                Expression::new(ExpressionKind::Subquery(Box::new(query)), position)
            }
            super::expression::Parenthesised::Expression(value) => value,
        };
        let mut arguments = vec![first];
        while self.eat_symbol(",") {
            arguments.push(self.expression()?);
        }
        self.expect_symbol(")")?;
        if let [_] = arguments.as_slice() {
            if let Some(first) = arguments.pop() {
                arguments.push(self.expression_after(first)?);
            }
            while self.eat_symbol(",") {
                arguments.push(self.expression()?);
            }
        }
        Ok(arguments)
    }

    /// `[RETURNING_VALUES targets]`, in parentheses or not.
    fn returning_values(&mut self) -> Result<Vec<Target>> {
        if !self.eat_keyword("RETURNING_VALUES") {
            return Ok(Vec::new());
        }
        if self.at_symbol("(") { self.parenthesised_list(Self::target) } else { self.targets() }
    }
}
