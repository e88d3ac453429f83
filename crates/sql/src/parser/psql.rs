//! PSQL: declarations, blocks, control of flow, cursors.

use super::cursor::Parser;
use crate::ast::{
    Block, Declaration, DeclarationKind, Expression, ExpressionKind, FetchScroll, ForSelect, Handler,
    HandlerCondition, Name, Position, PsqlStatement, PsqlStatementKind, RaiseException, Returning,
    RoutineBody, SelectItem,
};
use crate::error;
use farbird_types::Result;

impl Parser<'_> {
    /// Declarations and a block.
    pub(super) fn routine_body(&mut self) -> Result<RoutineBody> {
        let outer = self.enter()?;
        let start = self.source_start();
        let mut declarations = Vec::new();
        // Forward declarations come before all others.
        let mut forward = true;
        while self.at_keyword("DECLARE") {
            let declaration = self.declaration(forward)?;
            forward &= declaration.is_forward();
            declarations.push(declaration);
        }
        let block = self.block()?;
        let source = self.source_since(start);
        self.leave(outer);
        Ok(RoutineBody { declarations, block, source })
    }

    /// One declaration; it may be one of a routine whose body comes later.
    fn declaration(&mut self, forward: bool) -> Result<Declaration> {
        let position = self.position();
        self.expect_keyword("DECLARE")?;
        let kind = if self.at_keyword("PROCEDURE") {
            return self.declared_procedure(position, forward);
        } else if self.at_keyword("FUNCTION") {
            return self.declared_function(position, forward);
        } else {
            self.eat_keyword("VARIABLE");
            self.declared_variable_or_cursor()?
        };
        self.expect_symbol(";")?;
        Ok(Declaration { kind, position })
    }

    fn declared_procedure(&mut self, position: crate::ast::Position, forward: bool) -> Result<Declaration> {
        self.take();
        let signature = Box::new(self.procedure_signature()?);
        let body = self.sub_routine_body(forward)?;
        Ok(Declaration { kind: DeclarationKind::Procedure { signature, body }, position })
    }

    fn declared_function(&mut self, position: crate::ast::Position, forward: bool) -> Result<Declaration> {
        self.take();
        let signature = Box::new(self.function_signature()?);
        let body = self.sub_routine_body(forward)?;
        Ok(Declaration { kind: DeclarationKind::Function { signature, body }, position })
    }

    /// `AS body`, or the semicolon of a forward declaration.
    fn sub_routine_body(&mut self, forward: bool) -> Result<Option<Box<RoutineBody>>> {
        if forward && self.eat_symbol(";") {
            return Ok(None);
        }
        self.expect_keyword("AS")?;
        Ok(Some(Box::new(self.routine_body()?)))
    }

    fn declared_variable_or_cursor(&mut self) -> Result<DeclarationKind> {
        let is_cursor = self.keyword_ahead(1, "CURSOR")
            || self.keyword_ahead(1, "SCROLL")
            || self.keyword_ahead(1, "NO") && self.keyword_ahead(2, "SCROLL");
        if !is_cursor {
            let variable = Box::new(self.typed_name()?);
            let initial = self.default_clause_opt()?.map(|default| default.value);
            return Ok(DeclarationKind::Variable { variable, initial });
        }
        let name = self.name()?;
        let scroll = !self.eat_keyword("NO") && self.at_keyword("SCROLL");
        self.eat_keyword("SCROLL");
        self.expect_keywords(&["CURSOR", "FOR"])?;
        self.expect_symbol("(")?;
        let query = Box::new(self.select_statement()?);
        self.expect_symbol(")")?;
        Ok(DeclarationKind::Cursor { name, scroll, query })
    }

    /// `BEGIN statements handlers END`.
    fn block(&mut self) -> Result<Block> {
        let position = self.position();
        self.expect_keyword("BEGIN")?;
        let mut statements = Vec::new();
        while !self.at_any_keyword(&["END", "WHEN"]) {
            statements.push(self.psql_statement()?);
        }
        let mut handlers = Vec::new();
        if !statements.is_empty() {
            while self.at_keyword("WHEN") {
                handlers.push(self.handler()?);
            }
        }
        let end = self.position();
        self.expect_keyword("END")?;
        Ok(Block { statements, handlers, position, end })
    }

    fn handler(&mut self) -> Result<Handler> {
        let position = self.position();
        self.expect_keyword("WHEN")?;
        let conditions = self.comma_list(Self::handler_condition)?;
        self.expect_keyword("DO")?;
        Ok(Handler { conditions, action: self.psql_statement()?, position })
    }

    fn handler_condition(&mut self) -> Result<HandlerCondition> {
        if self.eat_keyword("ANY") {
            Ok(HandlerCondition::Any)
        } else if self.eat_keyword("SQLCODE") {
            Ok(HandlerCondition::SqlCode(self.signed_short()?))
        } else if self.eat_keyword("SQLSTATE") {
            Ok(HandlerCondition::SqlState(self.text()?))
        } else if self.eat_keyword("GDSCODE") {
            Ok(HandlerCondition::GdsCode(self.name()?))
        } else {
            self.expect_keyword("EXCEPTION")?;
            Ok(HandlerCondition::Exception(self.name()?))
        }
    }

    /// A statement with its semicolon, if it takes one.
    pub(super) fn psql_statement(&mut self) -> Result<PsqlStatement> {
        let outer = self.enter()?;
        let position = self.position();
        let kind = match self.compound_statement()? {
            Some(kind) => kind,
            None => {
                let kind = self.simple_statement()?;
                self.expect_symbol(";")?;
                kind
            }
        };
        self.leave(outer);
        Ok(PsqlStatement { kind, position })
    }

    fn boxed_statement(&mut self) -> Result<Box<PsqlStatement>> {
        self.psql_statement().map(Box::new)
    }

    // Statements that contain statements.

    fn compound_statement(&mut self) -> Result<Option<PsqlStatementKind>> {
        let kind = match self.keyword().unwrap_or_default() {
            "BEGIN" => PsqlStatementKind::Block(Box::new(self.block()?)),
            "IF" if self.symbol_ahead(1, "(") => self.if_statement()?,
            "WHILE" => self.while_loop(None)?,
            "FOR" => self.for_loop(None)?,
            "IN" => {
                self.expect_keywords(&["IN", "AUTONOMOUS", "TRANSACTION", "DO"])?;
                PsqlStatementKind::AutonomousTransaction(self.boxed_statement()?)
            }
            _ if self.at_name() && self.symbol_ahead(1, ":") => self.labelled_loop()?,
            _ => return Ok(None),
        };
        Ok(Some(kind))
    }

    fn labelled_loop(&mut self) -> Result<PsqlStatementKind> {
        let label = Some(self.name()?);
        self.expect_symbol(":")?;
        if self.at_keyword("WHILE") { self.while_loop(label) } else { self.for_loop(label) }
    }

    fn if_statement(&mut self) -> Result<PsqlStatementKind> {
        self.take();
        let condition = self.parenthesised_condition()?;
        self.expect_keyword("THEN")?;
        let then = self.boxed_statement()?;
        let otherwise = if self.eat_keyword("ELSE") { Some(self.boxed_statement()?) } else { None };
        Ok(PsqlStatementKind::If { condition, then, otherwise })
    }

    fn parenthesised_condition(&mut self) -> Result<Expression> {
        self.expect_symbol("(")?;
        let condition = self.expression()?;
        self.expect_symbol(")")?;
        Ok(condition)
    }

    fn while_loop(&mut self, label: Option<Name>) -> Result<PsqlStatementKind> {
        self.take();
        let condition = self.parenthesised_condition()?;
        self.expect_keyword("DO")?;
        Ok(PsqlStatementKind::While { label, condition, body: self.boxed_statement()? })
    }

    fn for_loop(&mut self, label: Option<Name>) -> Result<PsqlStatementKind> {
        self.expect_keyword("FOR")?;
        if self.at_keyword("EXECUTE") {
            let statement = Box::new(self.execute_statement()?);
            if statement.into.is_empty() {
                return Err(self.unexpected());
            }
            self.expect_keyword("DO")?;
            let body = self.boxed_statement()?;
            return Ok(PsqlStatementKind::ForExecuteStatement { label, statement, body });
        }
        let query = self.select_statement()?;
        let into = if self.eat_keyword("INTO") { self.targets()? } else { Vec::new() };
        let cursor = if into.is_empty() || self.at_keyword("AS") {
            self.expect_keywords(&["AS", "CURSOR"])?;
            Some(self.name()?)
        } else {
            None
        };
        self.expect_keyword("DO")?;
        let body = self.psql_statement()?;
        Ok(PsqlStatementKind::ForSelect(Box::new(ForSelect { label, query, into, cursor, body })))
    }

    // Statements that end with a semicolon.

    fn simple_statement(&mut self) -> Result<PsqlStatementKind> {
        // Many of these words are not reserved: before `=` they are variables.
        if self.at_name() && (self.symbol_ahead(1, "=") || self.symbol_ahead(1, ".")) {
            return self.assignment_or_call();
        }
        match self.keyword().unwrap_or_default() {
            "SUSPEND" => self.take_statement(PsqlStatementKind::Suspend),
            "EXIT" => self.take_statement(PsqlStatementKind::Exit),
            "BREAK" => self.take_statement(PsqlStatementKind::Leave(None)),
            "LEAVE" => {
                self.take();
                self.optional_name().map(PsqlStatementKind::Leave)
            }
            "CONTINUE" => {
                self.take();
                self.optional_name().map(PsqlStatementKind::Continue)
            }
            "RETURN" => {
                self.take();
                self.expression().map(PsqlStatementKind::Return)
            }
            "EXCEPTION" => self.raise(),
            "POST_EVENT" => {
                self.take();
                self.expression().map(PsqlStatementKind::PostEvent)
            }
            "OPEN" => {
                self.take();
                self.name().map(PsqlStatementKind::Open)
            }
            "CLOSE" => {
                self.take();
                self.name().map(PsqlStatementKind::Close)
            }
            "FETCH" => self.fetch(),
            "SELECT" | "WITH" => self.select_into(),
            "INSERT" | "UPDATE" | "DELETE" | "MERGE" => self.changing_statement(),
            "EXECUTE" if self.keyword_ahead(1, "PROCEDURE") => {
                Ok(PsqlStatementKind::ExecuteProcedure(Box::new(self.execute_procedure()?)))
            }
            "EXECUTE" => Ok(PsqlStatementKind::ExecuteStatement(Box::new(self.execute_statement()?))),
            "SET" => Ok(PsqlStatementKind::Session(Box::new(self.session_statement()?))),
            "ALTER" if self.keyword_ahead(1, "SESSION") => {
                Ok(PsqlStatementKind::Session(Box::new(self.session_statement()?)))
            }
            _ => self.assignment_or_call(),
        }
    }

    /// INSERT, UPDATE, DELETE, UPDATE OR INSERT, MERGE: what they return must go somewhere.
    fn changing_statement(&mut self) -> Result<PsqlStatementKind> {
        let (kind, returning) = match self.keyword().unwrap_or_default() {
            "INSERT" => {
                let insert = self.insert()?;
                let place = open_end(insert.returning.as_ref());
                (PsqlStatementKind::Insert(Box::new(insert)), place)
            }
            "UPDATE" if self.keyword_ahead(1, "OR") => {
                let statement = self.update_or_insert()?;
                let place = open_end(statement.returning.as_ref());
                (PsqlStatementKind::UpdateOrInsert(Box::new(statement)), place)
            }
            "UPDATE" => {
                let update = self.update()?;
                let place = open_end(update.returning.as_ref());
                (PsqlStatementKind::Update(Box::new(update)), place)
            }
            "DELETE" => {
                let delete = self.delete()?;
                let place = open_end(delete.returning.as_ref());
                (PsqlStatementKind::Delete(Box::new(delete)), place)
            }
            _ => {
                let merge = self.merge()?;
                let place = open_end(merge.returning.as_ref());
                (PsqlStatementKind::Merge(Box::new(merge)), place)
            }
        };
        match returning {
            Some(position) => Err(error::command_end(position)),
            None => Ok(kind),
        }
    }

    fn take_statement(&mut self, kind: PsqlStatementKind) -> Result<PsqlStatementKind> {
        self.take();
        Ok(kind)
    }

    fn optional_name(&mut self) -> Result<Option<Name>> {
        if self.at_name() { self.name().map(Some) } else { Ok(None) }
    }

    /// `[:]variable = value`, or the call of a function.
    fn assignment_or_call(&mut self) -> Result<PsqlStatementKind> {
        let is_call = self.symbol_ahead(1, "(") || self.symbol_ahead(1, ".") && self.symbol_ahead(3, "(");
        if is_call && !self.at_symbol(":") {
            let unexpected = self.unexpected();
            let call = self.function_value()?;
            return match call.kind {
                ExpressionKind::Function(_) | ExpressionKind::KeywordFunction(_) => {
                    Ok(PsqlStatementKind::Call(call))
                }
                _ => Err(unexpected),
            };
        }
        let target = self.target()?;
        self.expect_symbol("=")?;
        Ok(PsqlStatementKind::Assignment { target, value: self.expression()? })
    }

    fn raise(&mut self) -> Result<PsqlStatementKind> {
        self.take();
        if !self.at_name() {
            return Ok(PsqlStatementKind::Exception(None));
        }
        let name = self.name()?;
        let mut raise = RaiseException { name, message: None, arguments: Vec::new() };
        if self.eat_keyword("USING") {
            raise.arguments = self.parenthesised_list(Self::expression)?;
        } else if !self.at_symbol(";") {
            raise.message = Some(self.expression()?);
        }
        Ok(PsqlStatementKind::Exception(Some(Box::new(raise))))
    }

    /// A query of one row; INTO is what makes it a statement.
    fn select_into(&mut self) -> Result<PsqlStatementKind> {
        let query = Box::new(self.select_statement()?);
        self.expect_keyword("INTO")?;
        Ok(PsqlStatementKind::SelectInto { query, into: self.targets()? })
    }

    /// `FETCH [scroll FROM] cursor [INTO targets]`.
    fn fetch(&mut self) -> Result<PsqlStatementKind> {
        self.take();
        let scroll = self.fetch_scroll()?;
        let cursor = self.name()?;
        let into = if self.eat_keyword("INTO") { self.targets()? } else { Vec::new() };
        Ok(PsqlStatementKind::Fetch { cursor, scroll, into })
    }

    fn fetch_scroll(&mut self) -> Result<Option<FetchScroll>> {
        let with_from = self.keyword_ahead(1, "FROM");
        let scroll = match self.keyword().unwrap_or_default() {
            "NEXT" if with_from => FetchScroll::Next,
            "PRIOR" if with_from => FetchScroll::Prior,
            "FIRST" if with_from => FetchScroll::First,
            "LAST" if with_from => FetchScroll::Last,
            "ABSOLUTE" | "RELATIVE" if !self.symbol_ahead(1, ";") && !self.keyword_ahead(1, "INTO") => {
                return self.fetch_distance().map(Some);
            }
            _ => return Ok(None),
        };
        self.take();
        self.expect_keyword("FROM")?;
        Ok(Some(scroll))
    }

    fn fetch_distance(&mut self) -> Result<FetchScroll> {
        let absolute = self.eat_keyword("ABSOLUTE");
        if !absolute {
            self.expect_keyword("RELATIVE")?;
        }
        let distance = self.expression()?;
        self.expect_keyword("FROM")?;
        Ok(if absolute { FetchScroll::Absolute(distance) } else { FetchScroll::Relative(distance) })
    }
}

/// Where RETURNING begins that has no INTO.
fn open_end(returning: Option<&Returning>) -> Option<Position> {
    let returning = returning.filter(|returning| returning.into.is_empty())?;
    Some(match returning.items.first()? {
        SelectItem::Star(position) => *position,
        SelectItem::QualifiedStar(name) => name.position,
        SelectItem::Expression { value, .. } => value.position,
    })
}
