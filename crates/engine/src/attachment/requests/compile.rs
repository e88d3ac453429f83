//! Statements of a request to instructions.

use std::sync::Arc;

use farbird_blr as blr;
use farbird_sql::ast;
use farbird_types::{Error, Result, isc};

use super::program::{Instruction, Program, QueryNumber, Source, SystemChange, unsupported};
use super::translate::{Known, Translator, column, comparison, name};
use crate::catalog::{Catalog, Relation, RelationKind};
use crate::session::Session;

/// In no statement.
const NOWHERE: QueryNumber = QueryNumber::MAX;

/// Compiles a request.
///
/// # Errors
/// `isc_relnotdef`, `isc_fldnotdef2`, `isc_prcnotdef` for names that are unknown; `isc_wish_list` for what is not built.
pub(super) fn compile(catalog: &Arc<Catalog>, session: &Session, request: blr::Request) -> Result<Program> {
    let mut compiler = Compiler {
        translator: Translator::new(Arc::clone(catalog), session.options.character_set, &request.messages),
        instructions: Vec::new(),
        labels: Vec::new(),
        changes_rows: false,
        restores: session.restored.lock().is_some(),
    };
    compiler.statement(&request.body)?;
    let Compiler { translator, instructions, changes_rows, .. } = compiler;
    let queries = translator.finish()?;
    Ok(Program { messages: request.messages, instructions, queries, changes_rows })
}

struct Compiler<'a> {
    translator: Translator<'a>,
    instructions: Vec<Instruction>,
    /// Labels of the statements around, with the jumps that leave them.
    labels: Vec<(u8, Vec<usize>)>,
    changes_rows: bool,
    /// Whether gbak restores a database: it stores into system tables.
    restores: bool,
}

impl Compiler<'_> {
    fn statement(&mut self, statement: &blr::Statement) -> Result<()> {
        match statement {
            blr::Statement::Block(statements) => statements.iter().try_for_each(|one| self.statement(one)),
            blr::Statement::For { source, body } => {
                let query = self.translator.open_loop(source)?;
                self.instructions.push(Instruction::Open(query));
                let next = self.instructions.len();
                self.instructions.push(Instruction::Next(query, 0));
                self.statement(body)?;
                self.instructions.push(Instruction::Jump(next));
                self.land(next);
                Ok(())
            }
            blr::Statement::Send { message, body } => {
                self.statement(body)?;
                self.instructions.push(Instruction::Send(*message));
                Ok(())
            }
            blr::Statement::Receive { message, body } => {
                let place = self.instructions.len() + 1;
                self.instructions.push(Instruction::Receive(vec![(*message, place)]));
                self.statement(body)
            }
            blr::Statement::Select(choices) => self.select(choices),
            blr::Statement::Assign { value: blr::Expression::Generator(name, increment), target }
                if self.restores =>
            {
                let increment = self.translator.source(increment)?;
                let name = name.clone();
                self.restore(SystemChange::AddToSequence { name: name.clone(), increment });
                if let blr::Target::Parameter(parameter) = target {
                    self.instructions.push(Instruction::Assign(Source::Sequence(name), *parameter));
                }
                Ok(())
            }
            blr::Statement::Assign { value, target: blr::Target::Parameter(parameter) } => {
                let source = self.translator.source(value)?;
                self.instructions.push(Instruction::Assign(source, *parameter));
                Ok(())
            }
            blr::Statement::Assign { target: blr::Target::Field(_), .. } => {
                Err(unsupported("an assignment to a field of a record that is not being stored or modified"))
            }
            blr::Statement::Assign { target: blr::Target::Variable(_), .. } => Err(unsupported("a variable")),
            blr::Statement::If { condition, then, otherwise } => {
                let query = self.translator.condition_query(condition)?;
                let branch = self.instructions.len();
                self.instructions.push(Instruction::JumpUnless(query, 0));
                self.statement(then)?;
                let Some(otherwise) = otherwise else {
                    self.land(branch);
                    return Ok(());
                };
                let end = self.instructions.len();
                self.instructions.push(Instruction::Jump(0));
                self.land(branch);
                self.statement(otherwise)?;
                self.land(end);
                Ok(())
            }
            blr::Statement::Loop(body) => {
                let start = self.instructions.len();
                self.statement(body)?;
                self.instructions.push(Instruction::Jump(start));
                Ok(())
            }
            blr::Statement::Label(label, body) => {
                self.labels.push((*label, Vec::new()));
                self.statement(body)?;
                for jump in self.labels.pop().into_iter().flat_map(|(_, jumps)| jumps) {
                    self.land(jump);
                }
                Ok(())
            }
            blr::Statement::Leave(label) => {
                let jump = self.instructions.len();
                self.instructions.push(Instruction::Jump(0));
                match self.labels.iter_mut().rev().find(|(known, _)| known == label) {
                    Some((_, jumps)) => jumps.push(jump),
                    None => return Err(Error::new(isc::INVALID_BLR).with(0)),
                }
                Ok(())
            }
            blr::Statement::Store { relation, overriding, body } => self.store(relation, *overriding, body),
            blr::Statement::Modify { from, to, body } => self.modify(*from, *to, body),
            blr::Statement::Erase(context) => self.erase(*context),
        }
    }

    /// Makes a jump lead to what comes next.
    fn land(&mut self, jump: usize) {
        let here = self.instructions.len();
        match self.instructions.get_mut(jump) {
            Some(Instruction::Jump(to) | Instruction::Next(_, to) | Instruction::JumpUnless(_, to)) => {
                *to = here
            }
            _ => debug_assert!(false, "only jumps land"),
        }
    }

    fn select(&mut self, choices: &[(u8, blr::Statement)]) -> Result<()> {
        let receive = self.instructions.len();
        self.instructions.push(Instruction::Receive(Vec::new()));
        let mut places = Vec::with_capacity(choices.len());
        let mut ends = Vec::with_capacity(choices.len());
        for (message, body) in choices {
            places.push((*message, self.instructions.len()));
            self.statement(body)?;
            ends.push(self.instructions.len());
            self.instructions.push(Instruction::Jump(0));
        }
        ends.into_iter().for_each(|end| self.land(end));
        if let Some(Instruction::Receive(known)) = self.instructions.get_mut(receive) {
            *known = places;
        }
        Ok(())
    }

    fn change(&mut self, query: QueryNumber) {
        self.changes_rows = true;
        self.instructions.push(Instruction::Change(query));
    }

    fn store(
        &mut self,
        relation: &blr::Relation,
        overriding: Option<blr::Overriding>,
        body: &blr::Statement,
    ) -> Result<()> {
        let stored = self.translator.relation(&relation.name)?;
        if self.restores_into(&stored) {
            self.translator.know(relation.context, Known::Relation(Arc::clone(&stored)), NOWHERE);
            let values = self.places(&stored, body, relation.context)?;
            self.restore(SystemChange::Store { relation: stored, values });
            return Ok(());
        }
        let query = self.translator.begin_query();
        self.translator.know(relation.context, Known::Relation(Arc::clone(&stored)), query);
        let mut columns = Vec::new();
        let mut values = Vec::new();
        for (field, value) in assignments(body, relation.context)? {
            columns.push(name(&self.translator.column_name(field)?));
            values.push(ast::AssignedValue::Expression(self.translator.assigned(value, query)?));
        }
        let (columns, source) = match columns.is_empty() {
            true => (None, ast::InsertSource::DefaultValues),
            false => (Some(columns), ast::InsertSource::Values(values)),
        };
        let insert = ast::Insert {
            table: ast::ChangedTable { name: name(&stored.name), alias: None },
            columns,
            overriding: overriding.map(|it| match it {
                blr::Overriding::User => ast::Overriding::UserValue,
                blr::Overriding::System => ast::Overriding::SystemValue,
            }),
            source,
            returning: None,
            position: ast::Position::default(),
        };
        self.translator.end_query(query, ast::StatementKind::Insert(Box::new(insert)));
        self.change(query);
        Ok(())
    }

    fn modify(&mut self, from: blr::Context, to: blr::Context, body: &blr::Statement) -> Result<()> {
        let relation = self.translator.record(from)?;
        self.translator.know_again(to, from)?;
        if self.restores_into(&relation) {
            let key = self.key_of(from)?;
            let values = self.places(&relation, body, to)?;
            self.restore(SystemChange::Modify { relation, key, values });
            return Ok(());
        }
        let query = self.translator.begin_query();
        let mut changes = Vec::new();
        for (field, value) in assignments(body, to)? {
            let target = ast::Target {
                qualifier: None,
                name: name(&self.translator.column_name(field)?),
                colon: false,
            };
            let value = ast::AssignedValue::Expression(self.translator.assigned(value, query)?);
            changes.push(ast::Assignment { target, value });
        }
        let rows = ast::ChangedRows::Where(self.is_record(from, query)?);
        if changes.is_empty() {
            return Err(unsupported("a modification of no field"));
        }
        let update = ast::Update {
            table: ast::ChangedTable { name: name(&relation.name), alias: None },
            assignments: changes,
            rows,
            plan: None,
            order_by: Vec::new(),
            limit: None,
            skip_locked: false,
            returning: None,
            position: ast::Position::default(),
        };
        self.translator.end_query(query, ast::StatementKind::Update(Box::new(update)));
        self.change(query);
        Ok(())
    }

    fn erase(&mut self, context: blr::Context) -> Result<()> {
        let relation = self.translator.record(context)?;
        if self.restores_into(&relation) {
            let key = self.key_of(context)?;
            self.restore(SystemChange::Erase { relation, key });
            return Ok(());
        }
        let query = self.translator.begin_query();
        let rows = ast::ChangedRows::Where(self.is_record(context, query)?);
        let delete = ast::Delete {
            table: ast::ChangedTable { name: name(&relation.name), alias: None },
            rows,
            plan: None,
            order_by: Vec::new(),
            limit: None,
            skip_locked: false,
            returning: None,
            position: ast::Position::default(),
        };
        self.translator.end_query(query, ast::StatementKind::Delete(Box::new(delete)));
        self.change(query);
        Ok(())
    }

    fn restores_into(&self, relation: &Relation) -> bool {
        self.restores && relation.kind == RelationKind::System
    }

    fn restore(&mut self, change: SystemChange) {
        self.changes_rows = true;
        self.instructions.push(Instruction::Restore(change));
    }

    /// The key of the record that a loop is at.
    fn key_of(&mut self, context: blr::Context) -> Result<Source> {
        self.translator.outer_field(&blr::Field { context, name: blr::FieldName::DbKey })
    }

    /// What is assigned to the fields of a record, by the places of their columns.
    fn places(
        &mut self,
        relation: &Relation,
        body: &blr::Statement,
        context: blr::Context,
    ) -> Result<Vec<(usize, Source)>> {
        let mut places = Vec::new();
        for (field, value) in assignments(body, context)? {
            let name = self.translator.column_name(field)?;
            let place = relation.columns.iter().position(|column| column.name == name);
            let place = place.ok_or_else(|| Error::internal("a field that was found is no column"))?;
            places.push((place, self.translator.source(value)?));
        }
        Ok(places)
    }

    /// The record that a loop is at, by its key.
    fn is_record(&mut self, context: blr::Context, query: QueryNumber) -> Result<ast::Expression> {
        let key = blr::Field { context, name: blr::FieldName::DbKey };
        let wanted = self.translator.assigned(&blr::Expression::Field(key), query)?;
        let own = ast::ExpressionKind::RecordKey { qualifier: None, kind: ast::RecordKeyKind::DbKey };
        Ok(comparison(ast::ComparisonOperator::Equal, column(own), wanted))
    }
}

impl Translator<'_> {
    /// Begins a loop over a selection, whose columns are what is asked for later.
    fn open_loop(&mut self, selection: &blr::Selection) -> Result<QueryNumber> {
        let query = self.begin_query();
        let select = self.select_of(selection, query)?;
        self.loop_over(query, select, selection)?;
        Ok(query)
    }

    /// Where the value of an expression comes from, at the place where the request stands.
    fn source(&mut self, expression: &blr::Expression) -> Result<Source> {
        Ok(match expression {
            blr::Expression::Null => Source::Constant(farbird_types::Value::Null),
            blr::Expression::Literal { item, value } => Source::Constant(self.constant(item, value)),
            blr::Expression::Parameter(parameter) => Source::Parameter(*parameter),
            blr::Expression::Field(field) => self.outer_field(field)?,
            other => Source::Query(self.value_query(other)?),
        })
    }
}

/// The fields of a record that a statement gives values, and which.
fn assignments(body: &blr::Statement, context: blr::Context) -> Result<Vec<(&blr::Field, &blr::Expression)>> {
    let mut found = Vec::new();
    gather(body, context, &mut found)?;
    Ok(found)
}

fn gather<'a>(
    body: &'a blr::Statement,
    context: blr::Context,
    found: &mut Vec<(&'a blr::Field, &'a blr::Expression)>,
) -> Result<()> {
    match body {
        blr::Statement::Block(statements) => {
            statements.iter().try_for_each(|one| gather(one, context, found))
        }
        blr::Statement::Assign { value, target: blr::Target::Field(field) } if field.context == context => {
            found.push((field, value));
            Ok(())
        }
        _ => Err(unsupported("anything but assignments where a record is stored or modified")),
    }
}
