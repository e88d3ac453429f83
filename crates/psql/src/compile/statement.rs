//! Statements: control flow, handlers, assignments, calls.

use std::sync::OnceLock;

use farbird_catalog::ObjectKind;
use farbird_plan::bind::{self, Access, AccessPrivilege};
use farbird_sql::ast::{self, PsqlStatementKind};
use farbird_types::{ColumnType, Error, Result, isc};

use super::compiler::{Compiler, Construct, Inputs, execute_access, inputs_of, procedure_mismatch};
use super::scope::sql_error;
use crate::compile::compiler::misplaced;
use crate::condition;
use crate::routine::{
    Condition, Handler, HandlerTable, Instruction, Procedure, ProcedureCall, Raise, RoutineKind,
};
use crate::session_settings;

/// Most arguments of EXCEPTION ... USING.
const EXCEPTION_ARGUMENTS_MAX: usize = 9;

impl Compiler<'_> {
    pub(super) fn statement(&mut self, statement: &ast::PsqlStatement) -> Result<()> {
        self.position = statement.position;
        let environment = self.environment;
        match &statement.kind {
            PsqlStatementKind::Block(block) => self.block(block),
            PsqlStatementKind::Assignment { target, value } => self.assignment(target, value),
            PsqlStatementKind::If { condition, then, otherwise } => {
                self.conditional(condition, then, otherwise.as_deref())
            }
            PsqlStatementKind::While { label, condition, body } => {
                self.while_loop(label.as_ref(), condition, body)
            }
            PsqlStatementKind::ForSelect(statement) => self.for_select(statement),
            PsqlStatementKind::ForExecuteStatement { label, statement, body } => {
                self.for_execute_statement(label.as_ref(), statement, body)
            }
            PsqlStatementKind::Leave(label) => self.leave(label.as_ref()),
            PsqlStatementKind::Continue(label) => self.continue_loop(label.as_ref()),
            PsqlStatementKind::Exit => {
                self.exit();
                Ok(())
            }
            PsqlStatementKind::Suspend => self.suspend(),
            PsqlStatementKind::Return(value) => self.return_value(value),
            PsqlStatementKind::Exception(None) => {
                self.emit(Instruction::RaiseAgain);
                Ok(())
            }
            PsqlStatementKind::Exception(Some(raise)) => self.raise(raise),
            PsqlStatementKind::PostEvent(name) => {
                let name = self.expression(name, None)?;
                self.emit(Instruction::PostEvent(name));
                Ok(())
            }
            PsqlStatementKind::Open(cursor) => self.open_cursor(cursor),
            PsqlStatementKind::Fetch { cursor, scroll, into } => self.fetch(cursor, scroll.as_ref(), into),
            PsqlStatementKind::Close(cursor) => self.close_cursor(cursor),
            PsqlStatementKind::ExecuteStatement(statement) => {
                let dynamic = self.dynamic(statement)?;
                self.changes = true;
                self.executes_texts = true;
                self.emit(Instruction::ExecuteStatement(Box::new(dynamic)));
                Ok(())
            }
            PsqlStatementKind::ExecuteProcedure(call) => self.execute_procedure(call),
            PsqlStatementKind::AutonomousTransaction(body) => self.autonomous(body),
            PsqlStatementKind::SelectInto { query, into } => self.select_into(query, into),
            PsqlStatementKind::Insert(insert) => {
                let bound = bind::bind_insert(environment, insert, &self.scope)?;
                self.modify(bound, insert.returning.as_ref(), None)
            }
            PsqlStatementKind::Update(update) => {
                let bound = bind::bind_update(environment, update, &self.scope)?;
                self.modify(bound, update.returning.as_ref(), self.current_row(&update.table, &update.rows))
            }
            PsqlStatementKind::Delete(delete) => {
                let bound = bind::bind_delete(environment, delete, &self.scope)?;
                self.modify(bound, delete.returning.as_ref(), self.current_row(&delete.table, &delete.rows))
            }
            PsqlStatementKind::UpdateOrInsert(statement) => {
                let bound = bind::bind_update_or_insert(environment, statement, &self.scope)?;
                self.modify(bound, statement.returning.as_ref(), None)
            }
            PsqlStatementKind::Merge(merge) => {
                let bound = bind::bind_merge(environment, merge, &self.scope)?;
                self.modify(bound, merge.returning.as_ref(), None)
            }
            PsqlStatementKind::Call(value) => {
                let value = self.expression(value, None)?;
                let slot = self.slot();
                self.emit(Instruction::Assign { value, slot });
                Ok(())
            }
            PsqlStatementKind::Session(statement) => {
                session_settings::check_names(statement)?;
                self.emit(Instruction::ChangeSession(statement.clone()));
                Ok(())
            }
        }
    }

    /// BEGIN ... END. Inside a block with handlers each block is undone by itself when an error leaves it.
    pub(super) fn block(&mut self, block: &ast::Block) -> Result<()> {
        self.position = block.position;
        let undone_alone = self.handler_depth > 0;
        if undone_alone {
            self.emit(Instruction::EnterBlock);
            self.constructs.push(Construct::Block);
        }
        if block.handlers.is_empty() {
            block.statements.iter().try_for_each(|statement| self.statement(statement))?;
        } else {
            self.handler_depth += 1;
            self.handled_block(block)?;
            self.handler_depth -= 1;
        }
        if undone_alone {
            self.constructs.pop();
            self.position = block.end;
            self.emit(Instruction::LeaveBlock);
        }
        Ok(())
    }

    /// The statements of a block and its handlers.
    fn handled_block(&mut self, block: &ast::Block) -> Result<()> {
        let table = self.handlers.len();
        self.handlers.push(HandlerTable { handlers: Vec::new() });
        self.emit(Instruction::EnterHandlers(table));
        self.constructs.push(Construct::Handlers);
        for statement in &block.statements {
            self.statement(statement)?;
        }
        self.constructs.pop();
        self.position = block.end;
        self.emit(Instruction::LeaveHandlers);
        let mut ends = vec![self.emit(Instruction::Jump(0))];
        for handler in &block.handlers {
            self.position = handler.position;
            let conditions = handler
                .conditions
                .iter()
                .map(|condition| self.condition_of(condition))
                .collect::<Result<_>>()?;
            let target = self.here();
            if let Some(table) = self.handlers.get_mut(table) {
                table.handlers.push(Handler { conditions, target });
            }
            self.constructs.push(Construct::Handling);
            self.statement(&handler.action)?;
            self.constructs.pop();
            self.emit(Instruction::EndHandler);
            ends.push(self.emit(Instruction::Jump(0)));
        }
        for jump in ends {
            self.land(jump);
        }
        Ok(())
    }

    fn condition_of(&self, condition: &ast::HandlerCondition) -> Result<Condition> {
        Ok(match condition {
            ast::HandlerCondition::Any => Condition::Any,
            ast::HandlerCondition::GdsCode(name) => {
                let code = condition::code_of_symbol(name.as_str()).ok_or_else(|| {
                    invalid_request().and(isc::CODNOTDEF).with(name.as_str().to_lowercase())
                })?;
                Condition::GdsCode(code)
            }
            ast::HandlerCondition::SqlCode(code) => Condition::SqlCode(*code),
            ast::HandlerCondition::SqlState(state) => Condition::SqlState(state.clone()),
            ast::HandlerCondition::Exception(name) => Condition::Exception(self.exception(name)?.number),
        })
    }

    fn assignment(&mut self, target: &ast::Target, value: &ast::Expression) -> Result<()> {
        let known = self.scope.target(target)?;
        let value = self.expression(value, Some(&known.variable.column_type.sql_type))?;
        let slot = known.variable.slot;
        self.emit(match known.constraint {
            Some(constraint) => Instruction::AssignChecked { value, slot, constraint },
            None => Instruction::Assign { value, slot },
        });
        Ok(())
    }

    fn conditional(
        &mut self,
        condition: &ast::Expression,
        then: &ast::PsqlStatement,
        otherwise: Option<&ast::PsqlStatement>,
    ) -> Result<()> {
        let condition = self.condition(condition)?;
        let skip = self.emit(Instruction::JumpUnless { condition, target: 0 });
        self.statement(then)?;
        match otherwise {
            None => self.land(skip),
            Some(otherwise) => {
                let end = self.emit(Instruction::Jump(0));
                self.land(skip);
                self.statement(otherwise)?;
                self.land(end);
            }
        }
        Ok(())
    }

    fn while_loop(
        &mut self,
        label: Option<&ast::Name>,
        condition: &ast::Expression,
        body: &ast::PsqlStatement,
    ) -> Result<()> {
        let position = self.position;
        let condition = self.condition(condition)?;
        let again = self.check_cursors();
        let next = self.emit(Instruction::JumpUnless { condition, target: 0 });
        self.begin_loop(label, None, again)?;
        self.statement(body)?;
        self.position = position;
        self.emit(Instruction::Jump(again));
        self.land(next);
        self.end_loop();
        Ok(())
    }

    /// What follows is inside of a loop, whose label no loop around it has.
    pub(super) fn begin_loop(
        &mut self,
        label: Option<&ast::Name>,
        cursor: Option<usize>,
        next: usize,
    ) -> Result<()> {
        let label = label.map(|label| label.text.clone());
        if let Some(name) = &label
            && self
                .constructs
                .iter()
                .any(|outer| matches!(outer, Construct::Loop { label, .. } if label.as_ref() == Some(name)))
        {
            return Err(invalid_label(name, "already exists"));
        }
        self.constructs.push(Construct::Loop { label, cursor, next, leaves: Vec::new() });
        Ok(())
    }

    /// The loop that LEAVE or CONTINUE means: by label, or the innermost.
    fn find_loop(&self, label: Option<&ast::Name>, word: &str) -> Result<usize> {
        let wanted = label.map(ast::Name::as_str);
        let found = self.constructs.iter().rposition(|construct| match construct {
            Construct::Loop { label, .. } => wanted.is_none() || label.as_deref() == wanted,
            _ => false,
        });
        let is_in_loop = self.constructs.iter().any(|construct| matches!(construct, Construct::Loop { .. }));
        match (found, wanted) {
            (Some(found), _) => Ok(found),
            (None, Some(label)) if is_in_loop => Err(invalid_label(label, "is not found")),
            (None, _) => Err(misplaced(word)),
        }
    }

    /// Closes what stands on the stack of constructs above `depth`, innermost first. The stack itself stays: the
    /// statements that follow are still inside.
    fn close_down_to(&mut self, depth: usize) {
        for index in (depth..self.constructs.len()).rev() {
            let instruction = match self.constructs.get(index) {
                Some(Construct::Loop { cursor: Some(cursor), .. }) => {
                    Instruction::CloseLoop { cursor: *cursor }
                }
                Some(Construct::Block) => Instruction::LeaveBlock,
                Some(Construct::Handlers) => Instruction::LeaveHandlers,
                Some(Construct::Handling) => Instruction::EndHandler,
                Some(Construct::Autonomous) => Instruction::EndAutonomous,
                Some(Construct::Loop { cursor: None, .. }) | None => continue,
            };
            self.emit(instruction);
        }
    }

    fn leave(&mut self, label: Option<&ast::Name>) -> Result<()> {
        let target = self.find_loop(label, "BREAK/LEAVE")?;
        self.close_down_to(target);
        let jump = self.emit(Instruction::Jump(0));
        if let Some(Construct::Loop { leaves, .. }) = self.constructs.get_mut(target) {
            leaves.push(jump);
        }
        Ok(())
    }

    fn continue_loop(&mut self, label: Option<&ast::Name>) -> Result<()> {
        let target = self.find_loop(label, "CONTINUE")?;
        self.close_down_to(target + 1);
        if let Some(Construct::Loop { next, .. }) = self.constructs.get(target) {
            let next = *next;
            self.emit(Instruction::Jump(next));
        }
        Ok(())
    }

    fn exit(&mut self) {
        self.close_down_to(0);
        let jump = self.emit(Instruction::Jump(0));
        self.exits.push(jump);
    }

    fn suspend(&mut self) -> Result<()> {
        match self.kind {
            RoutineKind::Block | RoutineKind::Procedure | RoutineKind::LocalProcedure => {}
            _ => return Err(misplaced("SUSPEND")),
        }
        if self.outputs.is_empty() && !self.may_suspend_nothing {
            return Err(sql_error(-104).and(isc::SUSPEND_WITHOUT_RETURNS));
        }
        if self.constructs.iter().any(|construct| matches!(construct, Construct::Autonomous)) {
            return Err(sql_error(-901).and(isc::DSQL_UNSUPPORTED_IN_AUTO_TRANS).with("SUSPEND"));
        }
        self.suspends = true;
        self.emit(Instruction::Suspend);
        Ok(())
    }

    fn return_value(&mut self, value: &ast::Expression) -> Result<()> {
        let Some((slot, column_type, constraint)) = self.result else { return Err(misplaced("RETURN")) };
        let value = self.expression(value, Some(&column_type.sql_type))?;
        self.emit(match constraint {
            Some(constraint) => Instruction::AssignChecked { value, slot, constraint },
            None => Instruction::Assign { value, slot },
        });
        self.exit();
        Ok(())
    }

    fn exception(&self, name: &ast::Name) -> Result<Raise> {
        let definition = self
            .environment
            .catalog
            .exceptions
            .get(name.as_str())
            .ok_or_else(|| invalid_request().and(isc::XCPNOTDEF).with(name.as_str()))?;
        Ok(Raise {
            number: i32::try_from(definition.number).unwrap_or(i32::MAX),
            name: definition.name.clone(),
            message: definition.message.clone(),
            replacement: None,
            arguments: Vec::new(),
        })
    }

    fn raise(&mut self, statement: &ast::RaiseException) -> Result<()> {
        let given = statement.arguments.len();
        if given > EXCEPTION_ARGUMENTS_MAX {
            let number = |count: usize| i32::try_from(count).unwrap_or(i32::MAX);
            return Err(Error::new(isc::DSQL_MAX_EXCEPTION_ARGUMENTS)
                .with(number(given))
                .with(number(EXCEPTION_ARGUMENTS_MAX)));
        }
        let mut raise = self.exception(&statement.name)?;
        self.accesses.push(Access::of(ObjectKind::Exception, &raise.name, AccessPrivilege::Usage));
        raise.replacement =
            statement.message.as_ref().map(|message| self.expression(message, None)).transpose()?;
        raise.arguments = statement
            .arguments
            .iter()
            .map(|argument| self.expression(argument, None))
            .collect::<Result<_>>()?;
        self.emit(Instruction::Raise(Box::new(raise)));
        Ok(())
    }

    fn execute_procedure(&mut self, call: &ast::ExecuteProcedure) -> Result<()> {
        let local = match &call.name.package {
            None => self.scope.procedure(call.name.name.as_str()).cloned(),
            Some(_) => None,
        };
        let (procedure, inputs, outputs) = match local {
            Some(local) => {
                let inputs = Inputs { types: local.inputs, required: local.required };
                (Procedure::Local(local.number), inputs, local.outputs)
            }
            None => {
                let stored = self.stored_procedure(&call.name)?;
                self.accesses.push(execute_access(&stored));
                let inputs = inputs_of(&stored);
                let outputs = stored
                    .outputs
                    .iter()
                    .map(|output| ColumnType { sql_type: output.sql_type, nullable: !output.not_null })
                    .collect();
                (Procedure::Stored(stored, OnceLock::new()), inputs, outputs)
            }
        };
        let arguments = self.call_arguments(&call.arguments, &inputs, procedure_mismatch(&call.name))?;
        if call.returning_values.len() != outputs.len() {
            return Err(Error::new(isc::DSQL_ERROR)
                .and(isc::PRC_OUT_PARAM_MISMATCH)
                .with(call.name.to_string()));
        }
        let targets = self.stores(&outputs, &call.returning_values)?;
        self.changes = true;
        self.emit(Instruction::CallProcedure(Box::new(ProcedureCall { procedure, arguments, targets })));
        Ok(())
    }

    fn autonomous(&mut self, body: &ast::PsqlStatement) -> Result<()> {
        let position = self.position;
        self.emit(Instruction::Autonomous);
        self.constructs.push(Construct::Autonomous);
        self.statement(body)?;
        self.constructs.pop();
        self.position = position;
        self.emit(Instruction::EndAutonomous);
        Ok(())
    }
}

/// A label that cannot be where it is.
fn invalid_label(label: &str, what: &str) -> Error {
    sql_error(-104).and(isc::DSQL_COMMAND_ERR).and(isc::DSQL_INVALID_LABEL).with(label).with(what)
}

/// Names that only the running engine knows in Firebird: its status begins with the place in the BLR.
fn invalid_request() -> Error {
    // A place as it could be: drivers take zero for the end of the status and one for its next code, and miss what is wrong.
    Error::new(isc::INVALID_BLR).with(2)
}
