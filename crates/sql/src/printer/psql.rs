//! PSQL.

use super::Printer;
use crate::ast::{
    Block, Declaration, DeclarationKind, ExecuteStatement, FetchScroll, ForSelect, HandlerCondition, Name,
    PsqlStatement, PsqlStatementKind, RaiseException, RoutineBody, StatementParameter, StatementTransaction,
    TypedName,
};

impl Printer {
    pub(super) fn routine_body(&mut self, body: &RoutineBody) {
        for declaration in &body.declarations {
            self.declaration(declaration);
            self.line();
        }
        self.block(&body.block);
    }

    pub(super) fn typed_name(&mut self, declared: &TypedName) {
        self.name(&declared.name).data_type(&declared.data_type);
        self.word_if(declared.not_null, "NOT NULL").name_after("COLLATE", declared.collation.as_ref());
    }

    fn declaration(&mut self, declaration: &Declaration) {
        self.word("DECLARE");
        match &declaration.kind {
            DeclarationKind::Variable { variable, initial } => {
                self.typed_name(variable);
                self.expression_after("=", initial.as_ref());
                self.tight(";");
            }
            DeclarationKind::Cursor { name, scroll, query } => {
                self.name(name).word_if(*scroll, "SCROLL").word("CURSOR FOR (").select_statement(query);
                self.tight(");");
            }
            DeclarationKind::Procedure { signature, body } => {
                self.word("PROCEDURE").procedure_signature(signature);
                self.sub_routine_body(body.as_deref());
            }
            DeclarationKind::Function { signature, body } => {
                self.word("FUNCTION").function_signature(signature);
                self.sub_routine_body(body.as_deref());
            }
        }
    }

    fn sub_routine_body(&mut self, body: Option<&RoutineBody>) {
        match body {
            Some(body) => self.word("AS").line().routine_body(body),
            None => {
                self.tight(";");
            }
        }
    }

    fn block(&mut self, block: &Block) {
        self.word("BEGIN");
        self.level += 1;
        for statement in &block.statements {
            self.line().psql_statement(statement);
        }
        for handler in &block.handlers {
            self.line().word("WHEN").list(&handler.conditions, Self::handler_condition);
            self.word("DO").inner_statement(&handler.action);
        }
        self.level -= 1;
        self.line().word("END");
    }

    fn handler_condition(&mut self, condition: &HandlerCondition) {
        match condition {
            HandlerCondition::Any => self.word("ANY"),
            HandlerCondition::GdsCode(name) => self.word("GDSCODE").name(name),
            HandlerCondition::SqlCode(code) => self.word("SQLCODE").number(code),
            HandlerCondition::SqlState(state) => self.word("SQLSTATE").quoted(state),
            HandlerCondition::Exception(name) => self.word("EXCEPTION").name(name),
        };
    }

    /// A statement on a line of its own, a level deeper; a block stays at its level.
    fn inner_statement(&mut self, statement: &PsqlStatement) {
        if matches!(statement.kind, PsqlStatementKind::Block(_)) {
            self.line().psql_statement(statement);
            return;
        }
        self.level += 1;
        self.line().psql_statement(statement);
        self.level -= 1;
    }

    fn psql_statement(&mut self, statement: &PsqlStatement) {
        if !self.compound_statement(&statement.kind) {
            self.simple_statement(&statement.kind);
            self.tight(";");
        }
    }

    /// Prints a statement that contains statements; false if it is none.
    fn compound_statement(&mut self, kind: &PsqlStatementKind) -> bool {
        match kind {
            PsqlStatementKind::Block(block) => self.block(block),
            PsqlStatementKind::If { condition, then, otherwise } => {
                self.word("IF (").expression(condition);
                self.tight(")").word("THEN").inner_statement(then);
                if let Some(otherwise) = otherwise {
                    self.line().word("ELSE").inner_statement(otherwise);
                }
            }
            PsqlStatementKind::While { label, condition, body } => {
                self.label(label.as_ref());
                self.word("WHILE (").expression(condition);
                self.tight(")").word("DO").inner_statement(body);
            }
            PsqlStatementKind::ForSelect(select) => self.for_select(select),
            PsqlStatementKind::ForExecuteStatement { label, statement, body } => {
                self.label(label.as_ref());
                self.word("FOR").execute_statement(statement);
                self.word("DO").inner_statement(body);
            }
            PsqlStatementKind::AutonomousTransaction(body) => {
                self.word("IN AUTONOMOUS TRANSACTION DO").inner_statement(body);
            }
            _ => return false,
        }
        true
    }

    fn label(&mut self, label: Option<&Name>) {
        if let Some(label) = label {
            self.name(label).tight(": ");
        }
    }

    fn for_select(&mut self, select: &ForSelect) {
        self.label(select.label.as_ref());
        self.word("FOR").select_statement(&select.query);
        self.targets("INTO", &select.into);
        self.name_after("AS CURSOR", select.cursor.as_ref());
        self.word("DO").inner_statement(&select.body);
    }

    fn simple_statement(&mut self, kind: &PsqlStatementKind) {
        match kind {
            PsqlStatementKind::Assignment { target, value } => {
                self.target(target);
                self.word("=").expression(value);
            }
            PsqlStatementKind::Leave(label) => {
                self.word("LEAVE").optional_name(label.as_ref());
            }
            PsqlStatementKind::Continue(label) => {
                self.word("CONTINUE").optional_name(label.as_ref());
            }
            PsqlStatementKind::Exit => {
                self.word("EXIT");
            }
            PsqlStatementKind::Suspend => {
                self.word("SUSPEND");
            }
            PsqlStatementKind::Return(value) => self.word("RETURN").expression(value),
            PsqlStatementKind::Exception(raise) => self.raise(raise.as_deref()),
            PsqlStatementKind::PostEvent(name) => self.word("POST_EVENT").expression(name),
            PsqlStatementKind::Open(cursor) => {
                self.word("OPEN").name(cursor);
            }
            PsqlStatementKind::Close(cursor) => {
                self.word("CLOSE").name(cursor);
            }
            PsqlStatementKind::Fetch { cursor, scroll, into } => {
                self.word("FETCH").fetch_scroll(scroll.as_ref());
                self.name(cursor).targets("INTO", into);
            }
            PsqlStatementKind::ExecuteStatement(statement) => self.execute_statement(statement),
            PsqlStatementKind::ExecuteProcedure(execute) => self.execute_procedure(execute),
            PsqlStatementKind::SelectInto { query, into } => {
                self.select_statement(query);
                self.targets("INTO", into);
            }
            PsqlStatementKind::Insert(insert) => self.insert(insert),
            PsqlStatementKind::Update(update) => self.update(update),
            PsqlStatementKind::Delete(delete) => self.delete(delete),
            PsqlStatementKind::UpdateOrInsert(upsert) => self.update_or_insert(upsert),
            PsqlStatementKind::Merge(merge) => self.merge(merge),
            PsqlStatementKind::Call(call) => self.expression(call),
            PsqlStatementKind::Session(session) => self.session(session),
            PsqlStatementKind::Block(_)
            | PsqlStatementKind::If { .. }
            | PsqlStatementKind::While { .. }
            | PsqlStatementKind::ForSelect(_)
            | PsqlStatementKind::ForExecuteStatement { .. }
            | PsqlStatementKind::AutonomousTransaction(_) => {}
        }
    }

    fn optional_name(&mut self, name: Option<&Name>) {
        if let Some(name) = name {
            self.name(name);
        }
    }

    fn raise(&mut self, raise: Option<&RaiseException>) {
        self.word("EXCEPTION");
        if let Some(raise) = raise {
            self.name(&raise.name);
            if let Some(message) = &raise.message {
                self.expression(message);
            }
            if !raise.arguments.is_empty() {
                self.word("USING").parentheses(&raise.arguments, Self::expression);
            }
        }
    }

    fn fetch_scroll(&mut self, scroll: Option<&FetchScroll>) {
        match scroll {
            None => return,
            Some(FetchScroll::Next) => {
                self.word("NEXT");
            }
            Some(FetchScroll::Prior) => {
                self.word("PRIOR");
            }
            Some(FetchScroll::First) => {
                self.word("FIRST");
            }
            Some(FetchScroll::Last) => {
                self.word("LAST");
            }
            Some(FetchScroll::Absolute(distance)) => self.expression_after("ABSOLUTE", Some(distance)),
            Some(FetchScroll::Relative(distance)) => self.expression_after("RELATIVE", Some(distance)),
        }
        self.word("FROM");
    }

    fn execute_statement(&mut self, statement: &ExecuteStatement) {
        self.word("EXECUTE STATEMENT");
        if statement.parameters.is_empty() {
            self.expression(&statement.sql);
        } else {
            self.word("(").expression(&statement.sql);
            self.tight(")").parentheses(&statement.parameters, Self::statement_parameter);
        }
        self.expression_after("ON EXTERNAL", statement.data_source.as_ref());
        self.expression_after("AS USER", statement.user.as_ref());
        self.expression_after("PASSWORD", statement.password.as_ref());
        self.expression_after("ROLE", statement.role.as_ref());
        match statement.transaction {
            Some(StatementTransaction::Autonomous) => {
                self.word("WITH AUTONOMOUS TRANSACTION");
            }
            Some(StatementTransaction::Common) => {
                self.word("WITH COMMON TRANSACTION");
            }
            None => {}
        }
        self.word_if(statement.caller_privileges, "WITH CALLER PRIVILEGES");
        self.targets("INTO", &statement.into);
    }

    fn statement_parameter(&mut self, parameter: &StatementParameter) {
        if let Some(name) = &parameter.name {
            self.word_if(parameter.excess, "EXCESS").name(name).word(":=");
        }
        self.expression(&parameter.value);
    }
}
