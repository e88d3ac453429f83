//! Statements of PSQL that run others: EXECUTE PROCEDURE, EXECUTE STATEMENT, cursors.

use farbird_blr::{Code, code};
use farbird_sql::ast::{
    ExecuteProcedure, ExecuteStatement, Expression, FetchScroll, Name, StatementTransaction, Target,
};

use crate::compiler::Compiler;
use crate::failure::{Made, Unsupported, placed, unsupported};
use crate::frame::Cursor;
use crate::piece::{assignment, block};

impl Compiler<'_> {
    /// EXECUTE PROCEDURE.
    pub(crate) fn execute_procedure(&mut self, call: &ExecuteProcedure) -> Made<Code> {
        let name = call.name.name.as_str();
        let package = call.name.package.as_ref().map(Name::as_str);
        let own = package.is_none() && self.frame()?.outputs_of(name).is_some();
        let mut made = if own {
            Code::of(&[code::EXECUTE_SUBPROCEDURE])
        } else {
            let found = self.catalog.procedure_named(package, name, self.package);
            let found = found.map_err(|error| Unsupported(error.to_string()))?;
            match found {
                Some(found) => match &found.package {
                    Some(package) => {
                        let mut made = Code::of(&[code::EXECUTE_PACKAGED_PROCEDURE]);
                        placed(made.name(package))?;
                        made
                    }
                    None => Code::of(&[code::EXECUTE_PROCEDURE]),
                },
                None => return unsupported(format!("the procedure {name}")),
            }
        };
        placed(made.name(name))?;
        self.arguments(&mut made, &call.arguments)?;
        placed(made.long_count(call.returning_values.len()))?;
        for target in &call.returning_values {
            made.piece(&self.target(target)?);
        }
        Ok(made)
    }

    /// EXECUTE STATEMENT; with what is done for each row.
    pub(crate) fn execute_statement(
        &mut self,
        statement: &ExecuteStatement,
        body: Option<&Code>,
    ) -> Made<Code> {
        let sql = self.code(&statement.sql)?;
        let results = statement.into.iter().map(|it| self.target(it)).collect::<Made<Vec<_>>>()?;
        let is_plain = statement.parameters.is_empty()
            && statement.data_source.is_none()
            && statement.user.is_none()
            && statement.password.is_none()
            && statement.role.is_none()
            && statement.transaction.is_none()
            && !statement.caller_privileges;
        if is_plain {
            return plain_statement(&sql, &results, body);
        }
        let mut made = Code::of(&[code::EXECUTE_STATEMENT]);
        if !statement.parameters.is_empty() {
            placed(made.byte(code::STATEMENT_INPUTS).long_count(statement.parameters.len()))?;
        }
        if !results.is_empty() {
            placed(made.byte(code::STATEMENT_OUTPUTS).long_count(results.len()))?;
        }
        made.byte(code::STATEMENT_SQL).piece(&sql);
        if let Some(body) = body {
            made.byte(code::STATEMENT_BLOCK).piece(body);
        }
        let options = [
            (code::STATEMENT_DATA_SOURCE, &statement.data_source),
            (code::STATEMENT_USER, &statement.user),
            (code::STATEMENT_PASSWORD, &statement.password),
            (code::STATEMENT_ROLE, &statement.role),
        ];
        for (mark, option) in options {
            if let Some(option) = option {
                made.byte(mark).piece(&self.code(option)?);
            }
        }
        match statement.transaction {
            Some(StatementTransaction::Autonomous) => drop(made.more(&[code::STATEMENT_TRANSACTION, 1])),
            Some(StatementTransaction::Common) => drop(made.more(&[code::STATEMENT_TRANSACTION, 2])),
            None => {}
        }
        if statement.caller_privileges {
            made.byte(code::STATEMENT_CALLER_PRIVILEGES);
        }
        self.statement_inputs(&mut made, statement)?;
        if !results.is_empty() {
            made.byte(code::STATEMENT_RESULTS);
            for result in &results {
                made.piece(result);
            }
        }
        made.byte(code::END);
        Ok(made)
    }

    fn statement_inputs(&mut self, made: &mut Code, statement: &ExecuteStatement) -> Made<()> {
        let Some(first) = statement.parameters.first() else { return Ok(()) };
        let is_named = first.name.is_some();
        made.byte(if is_named { code::STATEMENT_NAMED_VALUES } else { code::STATEMENT_VALUES });
        let mut excess = Vec::new();
        for (place, parameter) in statement.parameters.iter().enumerate() {
            if let Some(name) = &parameter.name {
                placed(made.name(name.as_str()))?;
            }
            if parameter.excess {
                excess.push(place);
            }
            made.piece(&self.code(&parameter.value)?);
        }
        if !excess.is_empty() {
            placed(made.byte(code::STATEMENT_EXCESS).long_count(excess.len()))?;
            for place in excess {
                placed(made.long_count(place))?;
            }
        }
        Ok(())
    }

    fn declared_cursor(&mut self, name: &Name) -> Made<Cursor> {
        let found = self.frame()?.cursors.iter().rev().find(|it| it.name == name.text).cloned();
        match found {
            Some(cursor) => Ok(cursor),
            None => unsupported(format!("the cursor {name}")),
        }
    }

    /// OPEN and CLOSE.
    pub(crate) fn cursor_statement(&mut self, operation: u8, name: &Name) -> Made<Code> {
        let number = placed(self.declared_cursor(name)?.number)?;
        let mut made = Code::of(&[code::CURSOR_STATEMENT, operation]);
        made.word(number);
        Ok(made)
    }

    /// FETCH.
    pub(crate) fn fetch(&mut self, name: &Name, scroll: Option<&FetchScroll>, into: &[Target]) -> Made<Code> {
        let cursor = self.declared_cursor(name)?;
        let operation = if scroll.is_some() { code::CURSOR_FETCH_SCROLL } else { code::CURSOR_FETCH };
        let mut made = self.cursor_statement(operation, name)?;
        if let Some(scroll) = scroll {
            let (direction, place): (u8, Option<&Expression>) = match scroll {
                FetchScroll::Next => (0, None),
                FetchScroll::Prior => (1, None),
                FetchScroll::First => (2, None),
                FetchScroll::Last => (3, None),
                FetchScroll::Absolute(place) => (4, Some(place)),
                FetchScroll::Relative(place) => (5, Some(place)),
            };
            made.byte(direction);
            match place {
                Some(place) => drop(made.piece(&self.code(place)?)),
                None => drop(made.byte(code::NULL)),
            }
        }
        let pairs = cursor.fetched.iter().zip(into);
        let assignments = pairs.map(|(value, target)| Ok(assignment(value, &self.target(target)?)));
        let assignments = assignments.collect::<Made<Vec<_>>>()?;
        made.piece(&block(&assignments));
        Ok(made)
    }
}

/// EXECUTE STATEMENT of nothing but a text.
fn plain_statement(sql: &Code, results: &[Code], body: Option<&Code>) -> Made<Code> {
    if results.is_empty() {
        let mut made = Code::of(&[code::EXECUTE_SQL]);
        made.piece(sql);
        return Ok(made);
    }
    let mut made = Code::of(&[code::EXECUTE_INTO]);
    placed(made.long_count(results.len()))?.piece(sql);
    match body {
        Some(body) => drop(made.byte(0).piece(body)),
        None => drop(made.byte(1)),
    }
    for result in results {
        made.piece(result);
    }
    Ok(made)
}
