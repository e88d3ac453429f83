//! Statements of PSQL that guide the others: blocks, conditions, loops, handlers, exceptions.

use farbird_blr::{Code, code};
use farbird_sql::ast::{
    Block, ForSelect, Handler, HandlerCondition, Name, PsqlStatement, PsqlStatementKind, RaiseException,
    SelectStatement, StatementKind, Target,
};

use crate::compiler::Compiler;
use crate::failure::{Made, placed, unsupported};
use crate::frame::{BODY, Kind, variable};
use crate::piece::{assignment, block};
use crate::routine::cursor;
use crate::selected::Selected;
use crate::value::operation;
use farbird_types::{Text, Value};

impl Compiler<'_> {
    /// BEGIN ... END.
    pub(crate) fn block(&mut self, it: &Block) -> Made<Code> {
        self.nested(|compiler| compiler.block_inside(it))
    }

    fn block_inside(&mut self, it: &Block) -> Made<Code> {
        let has_handlers = usize::from(!it.handlers.is_empty());
        self.frame()?.handlers += has_handlers;
        let made = self.handled(it);
        self.frame()?.handlers -= has_handlers;
        made
    }

    fn handled(&mut self, it: &Block) -> Made<Code> {
        let statements = it.statements.iter().map(|it| self.statement(it)).collect::<Made<Vec<_>>>()?;
        // Where a handler may catch what happens in it, a block is undone as a whole.
        let is_undone = self.frame()?.handlers > 0;
        if statements.is_empty() && it.handlers.is_empty() {
            return Ok(block(&[]));
        }
        let mut made = Code::of(&[if is_undone { code::BLOCK } else { code::BEGIN }]);
        made.piece(&block(&statements));
        for handler in &it.handlers {
            self.handler(&mut made, handler)?;
        }
        made.byte(code::END);
        Ok(made)
    }

    fn handler(&mut self, made: &mut Code, handler: &Handler) -> Made<()> {
        made.byte(code::ERROR_HANDLER);
        placed(made.long_count(handler.conditions.len()))?;
        for condition in &handler.conditions {
            match condition {
                HandlerCondition::Any => drop(made.byte(code::CONDITION_ANY)),
                HandlerCondition::GdsCode(name) => {
                    placed(made.byte(code::ABORT_GDS_CODE).name(name.as_str()))?;
                }
                HandlerCondition::SqlCode(number) => {
                    made.byte(code::CONDITION_SQL_CODE).word(number.cast_unsigned());
                }
                HandlerCondition::SqlState(state) => {
                    placed(made.byte(code::CONDITION_SQL_STATE).name(state))?;
                }
                HandlerCondition::Exception(name) => {
                    placed(made.byte(code::CONDITION_EXCEPTION).name(name.as_str()))?;
                }
            }
        }
        let action = self.statement(&handler.action)?;
        made.piece(&action);
        Ok(())
    }

    /// A statement.
    pub(crate) fn statement(&mut self, it: &PsqlStatement) -> Made<Code> {
        self.nested(|compiler| compiler.statement_inside(&it.kind))
    }

    fn statement_inside(&mut self, kind: &PsqlStatementKind) -> Made<Code> {
        match kind {
            PsqlStatementKind::Block(block) => self.block(block),
            PsqlStatementKind::Assignment { target, value } => {
                let value = self.code(value)?;
                Ok(assignment(&value, &self.target(target)?))
            }
            PsqlStatementKind::If { condition, then, otherwise } => {
                let mut made = Code::of(&[code::IF]);
                made.piece(&self.condition(condition)?).piece(&self.statement(then)?);
                match otherwise {
                    Some(otherwise) => drop(made.piece(&self.statement(otherwise)?)),
                    None => drop(made.byte(code::END)),
                }
                Ok(made)
            }
            PsqlStatementKind::While { label, condition, body } => {
                let condition = self.condition(condition)?;
                self.in_loop(label.as_ref(), |it, number| {
                    let mut made = Code::of(&[code::LABEL, number, code::LOOP, code::BEGIN, code::IF]);
                    made.piece(&condition).piece(&it.statement(body)?);
                    made.more(&[code::LEAVE, number, code::END]);
                    Ok(made)
                })
            }
            PsqlStatementKind::ForSelect(statement) => self.for_select(statement),
            PsqlStatementKind::SelectInto { query, into } => self.select_into(query, into),
            PsqlStatementKind::ForExecuteStatement { label, statement, body } => {
                self.in_loop(label.as_ref(), |it, number| {
                    let body = it.statement(body)?;
                    let mut made = Code::of(&[code::LABEL, number]);
                    made.piece(&it.execute_statement(statement, Some(&body))?);
                    Ok(made)
                })
            }
            PsqlStatementKind::Leave(label) => {
                let label = self.frame()?.label(label.as_ref())?;
                Ok(Code::of(&[code::LEAVE, label]))
            }
            PsqlStatementKind::Continue(label) => {
                let label = self.frame()?.label(label.as_ref())?;
                Ok(Code::of(&[code::CONTINUE_LOOP, label]))
            }
            PsqlStatementKind::Exit => Ok(Code::of(&[code::LEAVE, BODY])),
            PsqlStatementKind::Suspend => {
                let send = self.send(true)?;
                Ok(block(&[send, Code::of(&[code::STALL])]))
            }
            PsqlStatementKind::Return(value) => {
                if self.frame()?.kind != Kind::Function {
                    return unsupported("RETURN outside of a function");
                }
                let value = self.code(value)?;
                let assign = assignment(&value, &variable(0));
                let send = self.send(false)?;
                Ok(block(&[assign, send, Code::of(&[code::LEAVE, BODY])]))
            }
            PsqlStatementKind::Exception(raised) => {
                let made = self.raise(raised.as_deref())?;
                self.guarded(made)
            }
            PsqlStatementKind::PostEvent(name) => {
                let mut made = Code::of(&[code::POST]);
                made.piece(&self.code(name)?);
                Ok(made)
            }
            PsqlStatementKind::Open(cursor) => self.cursor_statement(code::CURSOR_OPEN, cursor),
            PsqlStatementKind::Close(cursor) => self.cursor_statement(code::CURSOR_CLOSE, cursor),
            PsqlStatementKind::Fetch { cursor, scroll, into } => self.fetch(cursor, scroll.as_ref(), into),
            PsqlStatementKind::ExecuteStatement(statement) => {
                let made = self.execute_statement(statement, None)?;
                self.guarded(made)
            }
            PsqlStatementKind::ExecuteProcedure(call) => self.execute_procedure(call),
            PsqlStatementKind::AutonomousTransaction(body) => {
                let mut made = Code::of(&[code::AUTONOMOUS_TRANSACTION, 0]);
                made.piece(&self.statement(body)?);
                Ok(made)
            }
            PsqlStatementKind::Insert(insert) => {
                let made = self.insert(insert)?;
                self.guarded(made)
            }
            PsqlStatementKind::Update(update) => {
                let made = self.update(update)?;
                self.guarded(made)
            }
            PsqlStatementKind::Delete(delete) => {
                let made = self.delete(delete)?;
                self.guarded(made)
            }
            PsqlStatementKind::UpdateOrInsert(statement) => {
                let made = self.update_or_insert(statement)?;
                self.guarded(made)
            }
            PsqlStatementKind::Merge(merge) => {
                let made = self.merge(merge)?;
                self.guarded(made)
            }
            PsqlStatementKind::Call(value) => {
                let value = self.code(value)?;
                Ok(assignment(&value, &Code::of(&[code::NULL])))
            }
            PsqlStatementKind::Session(statement) => {
                let text = Value::Text(Text::utf8(&StatementKind::Session(statement.clone()).to_string()));
                Ok(operation(&[code::EXECUTE_SQL], &[&placed(Code::constant(&text))?]))
            }
        }
    }

    /// Where a handler may catch it, a statement is undone alone.
    fn guarded(&mut self, made: Code) -> Made<Code> {
        if self.frame()?.handlers == 0 {
            return Ok(made);
        }
        let (start, end) = (Code::of(&[code::START_SAVEPOINT]), Code::of(&[code::END_SAVEPOINT]));
        Ok(block(&[start, made, end]))
    }

    /// Compiles a loop, whose label is handed over.
    fn in_loop(
        &mut self,
        label: Option<&Name>,
        make: impl FnOnce(&mut Self, u8) -> Made<Code>,
    ) -> Made<Code> {
        let number = self.frame()?.enter_loop(label)?;
        let made = make(self, number);
        self.frame()?.leave_loop();
        made
    }

    /// Where a value goes.
    pub(crate) fn target(&mut self, target: &Target) -> Made<Code> {
        if target.qualifier.is_none()
            && let Some(found) = self.variable(None, &target.name)
        {
            return Ok(found.code);
        }
        match self.column(target.qualifier.as_ref(), target.name.as_str())? {
            Some(found) => Ok(found.code),
            None => unsupported(format!("the variable {}", target.name)),
        }
    }

    /// Assignments of a query's columns.
    fn into(&mut self, selected: &Selected, into: &[Target]) -> Made<Vec<Code>> {
        let pairs = selected.columns.iter().zip(into);
        let assignments =
            pairs.map(|(column, target)| Ok(assignment(&column.value.code, &self.target(target)?)));
        assignments.collect()
    }

    fn select_into(&mut self, query: &SelectStatement, into: &[Target]) -> Made<Code> {
        let selected = self.statement_query(query)?;
        let assignments = self.into(&selected, into)?;
        let mut made = Code::of(&[code::FOR, code::SINGULAR]);
        made.piece(&selected.records).piece(&block(&assignments));
        Ok(made)
    }

    fn for_select(&mut self, statement: &ForSelect) -> Made<Code> {
        let selected = self.statement_query(&statement.query)?;
        let mut pieces = self.into(&selected, &statement.into)?;
        let cursors = self.frame()?.cursors.len();
        let mut made = selected.records.clone();
        if let Some(name) = &statement.cursor {
            let cursor = cursor(name.as_str(), None, selected)?;
            self.frame()?.cursors.push(cursor);
        }
        let made = self.in_loop(statement.label.as_ref(), |it, number| {
            pieces.push(it.statement(&statement.body)?);
            let mut whole = Code::of(&[code::LABEL, number, code::FOR]);
            whole.piece(&std::mem::take(&mut made)).piece(&block(&pieces));
            Ok(whole)
        })?;
        self.frame()?.cursors.truncate(cursors);
        Ok(made)
    }

    fn raise(&mut self, raised: Option<&RaiseException>) -> Made<Code> {
        let Some(raised) = raised else { return Ok(Code::of(&[code::ABORT, code::ABORT_AGAIN])) };
        let name = raised.name.as_str();
        let mut made = Code::of(&[code::ABORT]);
        if let Some(message) = &raised.message {
            placed(made.byte(code::ABORT_EXCEPTION_MESSAGE).name(name))?;
            made.piece(&self.code(message)?);
        } else if !raised.arguments.is_empty() {
            placed(made.byte(code::ABORT_EXCEPTION_PARAMETERS).name(name))?;
            placed(made.long_count(raised.arguments.len()))?;
            for argument in &raised.arguments {
                made.piece(&self.code(argument)?);
            }
        } else {
            placed(made.byte(code::CONDITION_EXCEPTION).name(name))?;
        }
        Ok(made)
    }
}
