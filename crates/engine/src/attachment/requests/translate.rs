//! Record selections, values and conditions of a request to trees of SQL.
//!
//! Each context becomes an alias (`C` and its number). What a tree takes from outside, an item of a message or a field of
//! a loop around it, becomes a parameter: bare where a column beside it says its type, else cast to the type that it
//! has.

use std::collections::HashMap;
use std::sync::Arc;

use farbird_blr as blr;
use farbird_sql::ast;
use farbird_types::{CharacterSet, Error, ExactWidth, Result, SqlType, Text, Value, isc};

use super::program::{Query, QueryNumber, Source, unsupported};
use crate::catalog::{Catalog, Relation, RelationId, Routine};

/// What a context stands for.
#[derive(Clone)]
pub(super) enum Known {
    Relation(Arc<Relation>),
    Procedure(Arc<Routine>),
    /// Fields of groups, named by their numbers.
    Map,
}

#[derive(Clone)]
struct Place {
    known: Known,
    /// The statement in which it stands.
    home: QueryNumber,
    /// Whose alias it has.
    alias: blr::Context,
}

/// A statement in the making.
#[derive(Default)]
struct Draft {
    /// Whole, but for loops.
    kind: Option<ast::StatementKind>,
    /// A loop's query without its list.
    select: Option<Box<ast::SelectStatement>>,
    /// The list of a loop: what somebody has asked for.
    items: Vec<(blr::Field, ast::Expression)>,
    /// What makes the rows of a loop different, if only different ones are wanted.
    distinct: Vec<ast::Expression>,
    parameters: Vec<Source>,
    singular: bool,
}

/// Makes the statements of a request.
pub(super) struct Translator<'a> {
    catalog: Arc<Catalog>,
    character_set: CharacterSet,
    messages: &'a [blr::Message],
    contexts: HashMap<blr::Context, Place>,
    drafts: Vec<Draft>,
}

impl<'a> Translator<'a> {
    pub(super) fn new(
        catalog: Arc<Catalog>,
        character_set: CharacterSet,
        messages: &'a [blr::Message],
    ) -> Translator<'a> {
        Translator { catalog, character_set, messages, contexts: HashMap::new(), drafts: Vec::new() }
    }

    /// The statements, when nobody asks for columns any more.
    pub(super) fn finish(self) -> Result<Vec<Query>> {
        self.drafts.into_iter().map(Draft::finish).collect()
    }

    pub(super) fn begin_query(&mut self) -> QueryNumber {
        self.drafts.push(Draft::default());
        self.drafts.len() - 1
    }

    pub(super) fn end_query(&mut self, number: QueryNumber, kind: ast::StatementKind) {
        if let Some(draft) = self.drafts.get_mut(number) {
            draft.kind = Some(kind);
        }
    }

    /// Makes a query a loop.
    pub(super) fn loop_over(
        &mut self,
        number: QueryNumber,
        select: ast::SelectStatement,
        selection: &blr::Selection,
    ) -> Result<()> {
        let distinct =
            selection.distinct.iter().map(|value| self.value(value, number)).collect::<Result<_>>()?;
        if let Some(draft) = self.drafts.get_mut(number) {
            draft.select = Some(Box::new(select));
            draft.distinct = distinct;
            draft.singular = selection.singular;
        }
        Ok(())
    }

    /// A query of one value.
    pub(super) fn value_query(&mut self, value: &blr::Expression) -> Result<QueryNumber> {
        let number = self.begin_query();
        let value = self.value(value, number)?;
        self.end_value_query(number, value);
        Ok(number)
    }

    /// A query that gives 1 if a condition is true, else 0.
    pub(super) fn condition_query(&mut self, condition: &blr::Condition) -> Result<QueryNumber> {
        let number = self.begin_query();
        let when = self.condition(condition, number)?;
        let case = ast::Case {
            operand: None,
            branches: vec![ast::CaseBranch { when, then: integer(1) }],
            otherwise: Some(integer(0)),
        };
        self.end_value_query(number, column(ast::ExpressionKind::Case(Box::new(case))));
        Ok(number)
    }

    fn end_value_query(&mut self, number: QueryNumber, value: ast::Expression) {
        let from = ast::NamedTable { name: name("RDB$DATABASE").into(), arguments: None, alias: None };
        let select =
            ast::Select { items: vec![item(value)], ..blank_select(vec![ast::TableReference::Named(from)]) };
        let query = query_of(ast::QueryBody::Select(Box::new(select)));
        self.end_query(number, ast::StatementKind::Select(Box::new(select_statement(query))));
    }

    // Names.

    pub(super) fn know(&mut self, context: blr::Context, known: Known, home: QueryNumber) {
        self.contexts.insert(context, Place { known, home, alias: context });
    }

    /// A context for the record of another one.
    pub(super) fn know_again(&mut self, context: blr::Context, of: blr::Context) -> Result<()> {
        let place = self.place(of)?.clone();
        self.contexts.insert(context, place);
        Ok(())
    }

    fn place(&self, context: blr::Context) -> Result<&Place> {
        self.contexts.get(&context).ok_or_else(|| Error::new(isc::INVALID_BLR).with(0).and(isc::CTXNOTDEF))
    }

    /// The relation of a record.
    pub(super) fn record(&self, context: blr::Context) -> Result<Arc<Relation>> {
        match &self.place(context)?.known {
            Known::Relation(relation) => Ok(Arc::clone(relation)),
            _ => Err(unsupported("a change of what is no record of a table")),
        }
    }

    pub(super) fn relation(&self, wanted: &blr::RelationName) -> Result<Arc<Relation>> {
        let found = match wanted {
            blr::RelationName::Name(name) => self.catalog.relation(name),
            blr::RelationName::Id(id) => self.catalog.relation_by_id(RelationId(u32::from(*id))),
        };
        let shown = || match wanted {
            blr::RelationName::Name(name) => name.clone(),
            blr::RelationName::Id(id) => format!("id {id}"),
        };
        found.cloned().ok_or_else(|| Error::new(isc::RELNOTDEF).with(shown()))
    }

    /// The name of a field that is a column.
    pub(super) fn column_name(&self, field: &blr::Field) -> Result<String> {
        let place = self.place(field.context)?;
        let undefined = |shown: String, of: &str| Error::new(isc::FLDNOTDEF).with(shown).with(of);
        match (&place.known, &field.name) {
            (Known::Relation(relation), blr::FieldName::Name(wanted)) => {
                match relation.columns.iter().any(|column| column.name == *wanted) {
                    true => Ok(wanted.clone()),
                    false => Err(undefined(wanted.clone(), &relation.name)),
                }
            }
            (Known::Relation(relation), blr::FieldName::Id(id)) => relation
                .columns
                .iter()
                .find(|column| column.field_id == *id)
                .map(|column| column.name.clone())
                .ok_or_else(|| undefined(format!("id {id}"), &relation.name)),
            (Known::Procedure(procedure), blr::FieldName::Name(wanted)) => {
                match procedure.outputs.iter().any(|output| output.name == *wanted) {
                    true => Ok(wanted.clone()),
                    false => Err(undefined(wanted.clone(), &procedure.name)),
                }
            }
            (Known::Procedure(procedure), blr::FieldName::Id(id)) => procedure
                .outputs
                .get(usize::from(*id))
                .map(|output| output.name.clone())
                .ok_or_else(|| undefined(format!("id {id}"), &procedure.name)),
            (Known::Map, blr::FieldName::Id(id)) => Ok(map_name(*id)),
            (_, blr::FieldName::Name(wanted)) => Err(undefined(wanted.clone(), "")),
            (_, blr::FieldName::DbKey | blr::FieldName::RecordVersion) => {
                Err(unsupported("the key of what is no record of a table"))
            }
        }
    }

    /// A field in the statement where its context stands.
    fn own_field(&self, field: &blr::Field) -> Result<ast::Expression> {
        let qualifier = Some(alias(self.place(field.context)?.alias));
        let kind = match field.name {
            blr::FieldName::DbKey => {
                ast::ExpressionKind::RecordKey { qualifier, kind: ast::RecordKeyKind::DbKey }
            }
            blr::FieldName::RecordVersion => {
                ast::ExpressionKind::RecordKey { qualifier, kind: ast::RecordKeyKind::RecordVersion }
            }
            _ => ast::ExpressionKind::Column { qualifier, name: name(&self.column_name(field)?) },
        };
        Ok(column(kind))
    }

    /// A field of a loop, as a column of its rows.
    pub(super) fn outer_field(&mut self, field: &blr::Field) -> Result<Source> {
        let place = self.place(field.context)?;
        let home = place.home;
        let field = blr::Field { context: place.alias, name: field.name.clone() };
        let value = self.own_field(&field)?;
        let draft = self.drafts.get_mut(home).filter(|draft| draft.select.is_some());
        let draft = draft.ok_or_else(|| unsupported("a field of a record that no loop is at"))?;
        let known = draft.items.iter().position(|(known, _)| *known == field);
        let index = known.unwrap_or_else(|| {
            draft.items.push((field, value));
            draft.items.len() - 1
        });
        Ok(Source::Column(home, index))
    }

    // Selections.

    /// The query of a selection, without its list.
    pub(super) fn select_of(
        &mut self,
        selection: &blr::Selection,
        home: QueryNumber,
    ) -> Result<ast::SelectStatement> {
        let query = self.selected(selection, home, Vec::new())?;
        let with_lock = selection.lock.then_some(ast::WithLock { skip_locked: false });
        Ok(ast::SelectStatement { with_lock, ..select_statement(query) })
    }

    fn selected(
        &mut self,
        selection: &blr::Selection,
        home: QueryNumber,
        items: Vec<ast::SelectItem>,
    ) -> Result<ast::Query> {
        let (from, condition) = match selection.join {
            blr::Join::Inner => {
                let from = selection
                    .sources
                    .iter()
                    .map(|source| self.source_of(source, home))
                    .collect::<Result<Vec<_>>>()?;
                let condition = selection.condition.as_ref().map(|condition| self.condition(condition, home));
                (from, condition.transpose()?)
            }
            _ => (vec![self.joined(selection, home, true)?], None),
        };
        let number = |translator: &mut Self, value: &Option<blr::Expression>| {
            value.as_ref().map(|value| translator.bare(value, home)).transpose()
        };
        let first = number(self, &selection.first)?;
        let skip = number(self, &selection.skip)?;
        let order_by = selection
            .order
            .iter()
            .map(|order| {
                Ok(ast::OrderItem {
                    value: self.value(&order.value, home)?,
                    descending: order.descending,
                    nulls: order.nulls_first.map(|first| match first {
                        true => ast::NullsOrder::First,
                        false => ast::NullsOrder::Last,
                    }),
                })
            })
            .collect::<Result<_>>()?;
        let select = ast::Select { first, skip, items, condition, ..blank_select(from) };
        Ok(ast::Query { order_by, ..query_of(ast::QueryBody::Select(Box::new(select))) })
    }

    fn source_of(&mut self, source: &blr::RecordSource, home: QueryNumber) -> Result<ast::TableReference> {
        Ok(match source {
            blr::RecordSource::Relation(relation) => {
                let known = self.relation(&relation.name)?;
                self.know(relation.context, Known::Relation(Arc::clone(&known)), home);
                named(&known.name, None, relation.context)
            }
            blr::RecordSource::Procedure { name: wanted, context, arguments } => {
                let procedure = self.catalog.procedures.get(wanted).cloned();
                let procedure = procedure.ok_or_else(|| Error::new(isc::PRCNOTDEF).with(wanted.as_str()))?;
                let arguments =
                    arguments.iter().map(|value| self.value(value, home)).collect::<Result<_>>()?;
                self.know(*context, Known::Procedure(procedure), home);
                named(wanted, Some(arguments), *context)
            }
            blr::RecordSource::Selection(selection) => self.joined(selection, home, false)?,
            blr::RecordSource::Aggregate(groups) => self.groups(groups, home)?,
        })
    }

    /// The sources of a selection as one of a FROM: those of a whole query, whose other clauses are the query's, or those
    /// of a selection inside it, which has no place for them.
    fn joined(
        &mut self,
        selection: &blr::Selection,
        home: QueryNumber,
        is_whole: bool,
    ) -> Result<ast::TableReference> {
        let is_plain = selection.order.is_empty()
            && !changes_records(selection)
            && !selection.singular
            && !selection.lock;
        if !is_plain && !is_whole || selection.condition.is_some() && selection.sources.len() == 1 {
            return Err(unsupported(
                "a selection with an order, a limit or a condition of one source inside another",
            ));
        }
        let mut sources = selection.sources.iter();
        let first = sources.next().ok_or_else(|| Error::new(isc::INVALID_BLR).with(0))?;
        let mut left = self.source_of(first, home)?;
        let last = selection.sources.len().saturating_sub(2);
        for (index, source) in sources.enumerate() {
            let right = self.source_of(source, home)?;
            let on = selection.condition.as_ref().filter(|_| index == last);
            let on = on.map(|condition| self.condition(condition, home)).transpose()?;
            let kind = match (selection.join, &on) {
                (blr::Join::Inner, None) => ast::JoinKind::Cross,
                (blr::Join::Inner, Some(_)) => ast::JoinKind::Inner,
                (blr::Join::Left, _) => ast::JoinKind::Left,
                (blr::Join::Right, _) => ast::JoinKind::Right,
                (blr::Join::Full, _) => ast::JoinKind::Full,
            };
            let condition = on.map_or(ast::JoinCondition::None, ast::JoinCondition::On);
            let position = ast::Position::default();
            left = ast::TableReference::Join(Box::new(ast::Join { left, right, kind, condition, position }));
        }
        Ok(left)
    }

    fn groups(&mut self, groups: &blr::Aggregate, home: QueryNumber) -> Result<ast::TableReference> {
        check_all_records(&groups.source)?;
        let mut query = self.selected(&groups.source, home, Vec::new())?;
        let group_by =
            groups.group_by.iter().map(|value| self.value(value, home)).collect::<Result<Vec<_>>>()?;
        let items = groups
            .map
            .iter()
            .map(|(number, value)| {
                let alias = Some(name(&map_name(*number)));
                Ok(ast::SelectItem::Expression { value: self.value(value, home)?, alias })
            })
            .collect::<Result<Vec<_>>>()?;
        if let ast::QueryBody::Select(select) = &mut query.body {
            select.items = items;
            select.group_by = group_by;
        }
        self.know(groups.context, Known::Map, home);
        Ok(ast::TableReference::Derived(Box::new(ast::DerivedTable {
            lateral: false,
            query,
            alias: Some(alias(groups.context)),
            columns: Vec::new(),
            position: ast::Position::default(),
        })))
    }

    // Values.

    /// A value that is assigned to a column, which says its type.
    pub(super) fn assigned(&mut self, value: &blr::Expression, home: QueryNumber) -> Result<ast::Expression> {
        self.bare(value, home)
    }

    /// A value beside something that says its type: parameters stand without a cast.
    fn bare(&mut self, value: &blr::Expression, home: QueryNumber) -> Result<ast::Expression> {
        match self.parameter_source(value, home)? {
            Some((source, _)) => Ok(self.parameter(source, home)),
            None => self.value(value, home),
        }
    }

    /// Where a value comes from that stands outside the statement, and its type if that is known.
    fn parameter_source(
        &mut self,
        value: &blr::Expression,
        home: QueryNumber,
    ) -> Result<Option<(Source, Option<blr::Item>)>> {
        Ok(match value {
            blr::Expression::Parameter(parameter) => {
                let message = self.messages.iter().find(|message| message.number == parameter.message);
                let item = message.and_then(|message| message.items.get(usize::from(parameter.item)));
                Some((Source::Parameter(*parameter), item.copied()))
            }
            blr::Expression::Field(field) if self.place(field.context)?.home != home => {
                Some((self.outer_field(field)?, self.field_type(field)?))
            }
            blr::Expression::Literal { item, value } if literal(value).is_none() => {
                Some((Source::Constant(self.constant(item, value)), Some(*item)))
            }
            _ => None,
        })
    }

    fn field_type(&self, field: &blr::Field) -> Result<Option<blr::Item>> {
        let Known::Relation(relation) = &self.place(field.context)?.known else { return Ok(None) };
        let sql_type = match field.name {
            blr::FieldName::DbKey => SqlType::char(8, CharacterSet::OCTETS),
            blr::FieldName::RecordVersion => return Ok(None),
            _ => {
                let wanted = self.column_name(field)?;
                match relation.columns.iter().find(|column| column.name == wanted) {
                    Some(column) => column.sql_type,
                    None => return Ok(None),
                }
            }
        };
        Ok(Some(blr::Item { sql_type, of_attachment: false }))
    }

    /// A constant as the engine has it.
    pub(super) fn constant(&self, item: &blr::Item, value: &Value) -> Value {
        match value {
            Value::Text(text) if item.of_attachment => {
                Value::Text(Text::new(text.bytes(), self.character_set))
            }
            other => other.clone(),
        }
    }

    fn parameter(&mut self, source: Source, home: QueryNumber) -> ast::Expression {
        let number = self.drafts.get_mut(home).map_or(0, |draft| {
            draft.parameters.push(source);
            draft.parameters.len() - 1
        });
        column(ast::ExpressionKind::Parameter(u32::try_from(number).unwrap_or(u32::MAX)))
    }

    /// A value that says its own type.
    fn value(&mut self, value: &blr::Expression, home: QueryNumber) -> Result<ast::Expression> {
        if let Some((source, item)) = self.parameter_source(value, home)? {
            let item = item.ok_or_else(|| unsupported("a field of no known type outside its loop"))?;
            let parameter = self.parameter(source, home);
            return self.cast(parameter, &item);
        }
        Ok(match value {
            blr::Expression::Null => column(ast::ExpressionKind::Literal(ast::Literal::Null)),
            blr::Expression::Literal { value, .. } => {
                literal(value).ok_or_else(|| unsupported("a constant"))?
            }
            blr::Expression::Field(field) => self.own_field(field)?,
            blr::Expression::Parameter(_) => return Err(unsupported("a parameter")),
            blr::Expression::Binary(operator, left, right) => column(ast::ExpressionKind::Binary {
                left: Box::new(self.value(left, home)?),
                operator: match operator {
                    blr::Binary::Add => ast::BinaryOperator::Add,
                    blr::Binary::Subtract => ast::BinaryOperator::Subtract,
                    blr::Binary::Multiply => ast::BinaryOperator::Multiply,
                    blr::Binary::Divide => ast::BinaryOperator::Divide,
                    blr::Binary::Concatenate => ast::BinaryOperator::Concatenate,
                },
                right: Box::new(self.value(right, home)?),
            }),
            blr::Expression::Negate(operand) => column(ast::ExpressionKind::Unary {
                operator: ast::UnaryOperator::Minus,
                operand: Box::new(self.value(operand, home)?),
            }),
            blr::Expression::Cast(item, operand) => {
                let operand = self.value(operand, home)?;
                self.cast(operand, item)?
            }
            blr::Expression::If(condition, then, otherwise) => {
                let when = self.condition(condition, home)?;
                let branches = vec![ast::CaseBranch { when, then: self.value(then, home)? }];
                let otherwise = Some(self.value(otherwise, home)?);
                column(ast::ExpressionKind::Case(Box::new(ast::Case { operand: None, branches, otherwise })))
            }
            blr::Expression::Generator(sequence, step) => column(ast::ExpressionKind::Sequence {
                name: name(sequence),
                step: Some(Box::new(self.value(step, home)?)),
            }),
            blr::Expression::From(selection, value, default) => {
                if selection.singular || !selection.distinct.is_empty() && selection.skip.is_some() {
                    return Err(unsupported("a value of a record that is the only or a different one"));
                }
                let mut query = self.selected(selection, home, Vec::new())?;
                let value = self.value(value, home)?;
                if let ast::QueryBody::Select(select) = &mut query.body {
                    select.items = vec![item(value)];
                    select.first.get_or_insert_with(|| integer(1));
                }
                let found = column(ast::ExpressionKind::Subquery(Box::new(query)));
                match default {
                    None => found,
                    Some(default) => call("COALESCE", vec![found, self.value(default, home)?]),
                }
            }
            blr::Expression::Statistic(statistic, selection, value) => {
                check_all_records(selection)?;
                let mut query = self.selected(selection, home, Vec::new())?;
                let value = self.aggregate(*statistic, value.as_deref(), home)?;
                if let ast::QueryBody::Select(select) = &mut query.body {
                    select.items = vec![item(value)];
                }
                query.order_by.clear();
                column(ast::ExpressionKind::Subquery(Box::new(query)))
            }
            blr::Expression::Aggregate(statistic, value) => {
                self.aggregate(*statistic, value.as_deref(), home)?
            }
            blr::Expression::Call(function, arguments) => self.call(function, arguments, home)?,
        })
    }

    fn aggregate(
        &mut self,
        statistic: blr::Statistic,
        value: Option<&blr::Expression>,
        home: QueryNumber,
    ) -> Result<ast::Expression> {
        let function = match statistic {
            blr::Statistic::Count => "COUNT",
            blr::Statistic::Average => "AVG",
            blr::Statistic::Maximum => "MAX",
            blr::Statistic::Minimum => "MIN",
            blr::Statistic::Total => "SUM",
        };
        let arguments = match value {
            None => ast::AggregateArguments::Star,
            Some(value) => ast::AggregateArguments::List(vec![self.value(value, home)?]),
        };
        Ok(column(ast::ExpressionKind::Aggregate(Box::new(ast::AggregateCall {
            function: name(function),
            distinct: false,
            arguments,
            within_group: Vec::new(),
            filter: None,
        }))))
    }

    fn call(
        &mut self,
        function: &blr::Function,
        arguments: &[blr::Expression],
        home: QueryNumber,
    ) -> Result<ast::Expression> {
        let mut values =
            arguments.iter().map(|value| self.value(value, home)).collect::<Result<Vec<_>>>()?.into_iter();
        let mut next = || values.next().map(Box::new).ok_or_else(|| unsupported("a call without arguments"));
        let context = |variable| Ok(column(ast::ExpressionKind::ContextVariable(variable)));
        match function {
            blr::Function::User => context(ast::ContextVariable::CurrentUser),
            blr::Function::Role => context(ast::ContextVariable::CurrentRole),
            blr::Function::Connection => context(ast::ContextVariable::CurrentConnection),
            blr::Function::Transaction => context(ast::ContextVariable::CurrentTransaction),
            blr::Function::CurrentDate => context(ast::ContextVariable::CurrentDate),
            blr::Function::CurrentTime => context(ast::ContextVariable::LocalTime { precision: 0 }),
            blr::Function::CurrentTimestamp => context(ast::ContextVariable::LocalTimestamp { precision: 3 }),
            blr::Function::Substring => {
                let (operand, start, length) = (next()?, next()?, next()?);
                let start = Box::new(column(ast::ExpressionKind::Binary {
                    left: start,
                    operator: ast::BinaryOperator::Add,
                    right: Box::new(integer(1)),
                }));
                Ok(column(ast::ExpressionKind::Substring { operand, start, length: Some(length) }))
            }
            blr::Function::Trim(side) => {
                let operand = next()?;
                let what = values.next().map(Box::new);
                let side = match side {
                    blr::TrimSide::Both => ast::TrimSide::Both,
                    blr::TrimSide::Leading => ast::TrimSide::Leading,
                    blr::TrimSide::Trailing => ast::TrimSide::Trailing,
                };
                Ok(column(ast::ExpressionKind::Trim { side, what, operand }))
            }
            blr::Function::Extract(part) => {
                const PARTS: [ast::DatePart; 10] = [
                    ast::DatePart::Year,
                    ast::DatePart::Month,
                    ast::DatePart::Day,
                    ast::DatePart::Hour,
                    ast::DatePart::Minute,
                    ast::DatePart::Second,
                    ast::DatePart::Weekday,
                    ast::DatePart::Yearday,
                    ast::DatePart::Millisecond,
                    ast::DatePart::Week,
                ];
                let part = PARTS.get(usize::from(*part)).ok_or_else(|| unsupported("a part of a date"))?;
                Ok(column(ast::ExpressionKind::Extract { part: *part, operand: next()? }))
            }
            blr::Function::Upper => Ok(call("UPPER", values.collect())),
            blr::Function::Lower => Ok(call("LOWER", values.collect())),
            blr::Function::Coalesce => Ok(call("COALESCE", values.collect())),
            blr::Function::Length(blr::Length::Bits) => Ok(call("BIT_LENGTH", values.collect())),
            blr::Function::Length(blr::Length::Characters) => Ok(call("CHAR_LENGTH", values.collect())),
            blr::Function::Length(blr::Length::Bytes) => Ok(call("OCTET_LENGTH", values.collect())),
            blr::Function::Named(function) => Ok(call(function, values.collect())),
        }
    }

    fn cast(&self, operand: ast::Expression, item: &blr::Item) -> Result<ast::Expression> {
        let kind = self.data_type(item)?;
        let target = Box::new(ast::DataType { kind, array: Vec::new(), position: ast::Position::default() });
        Ok(column(ast::ExpressionKind::Cast { operand: Box::new(operand), target, format: None }))
    }

    fn data_type(&self, item: &blr::Item) -> Result<ast::DataTypeKind> {
        Ok(match item.sql_type {
            SqlType::Boolean => ast::DataTypeKind::Boolean,
            SqlType::Exact { width, scale, .. } => match (width, u8::try_from(-i16::from(scale))) {
                (ExactWidth::Short, Ok(0)) => ast::DataTypeKind::Smallint,
                (ExactWidth::Long, Ok(0)) => ast::DataTypeKind::Integer,
                (ExactWidth::Int64, Ok(0)) => ast::DataTypeKind::Bigint,
                (ExactWidth::Int128, Ok(0)) => ast::DataTypeKind::Int128,
                (ExactWidth::Short, Ok(scale)) => {
                    ast::DataTypeKind::Numeric { precision: 4.max(scale), scale }
                }
                (ExactWidth::Long, Ok(scale)) => {
                    ast::DataTypeKind::Numeric { precision: 9.max(scale), scale }
                }
                (ExactWidth::Int64, Ok(scale)) => {
                    ast::DataTypeKind::Numeric { precision: 18.max(scale), scale }
                }
                (ExactWidth::Int128, Ok(scale)) => {
                    ast::DataTypeKind::Numeric { precision: 38.max(scale), scale }
                }
                (_, Err(_)) => return Err(unsupported("a number of a positive scale")),
            },
            SqlType::Float => ast::DataTypeKind::Float,
            SqlType::Double => ast::DataTypeKind::Double,
            SqlType::DecFloat16 => ast::DataTypeKind::DecFloat16,
            SqlType::DecFloat34 => ast::DataTypeKind::DecFloat34,
            SqlType::Date => ast::DataTypeKind::Date,
            SqlType::Time => ast::DataTypeKind::Time,
            SqlType::Timestamp => ast::DataTypeKind::Timestamp,
            SqlType::TimeTz => ast::DataTypeKind::TimeTz,
            SqlType::TimestampTz => ast::DataTypeKind::TimestampTz,
            SqlType::Text(text) => {
                let (length, character_set) = match item.of_attachment {
                    true => (
                        text.length_chars / u32::from(self.character_set.bytes_per_character()).max(1),
                        self.character_set,
                    ),
                    false => (text.length_chars, text.character_set),
                };
                let length = length.max(1);
                let character_set = Some(name(character_set.name()));
                match text.varying {
                    true => ast::DataTypeKind::Varchar { length, character_set },
                    false => ast::DataTypeKind::Char { length, character_set },
                }
            }
            SqlType::Blob { subtype, character_set, .. } => ast::DataTypeKind::Blob {
                subtype: Some(ast::BlobSubtype::Number(subtype)),
                segment_size: None,
                character_set: (subtype == 1).then(|| name(character_set.name())),
            },
            SqlType::Null | SqlType::Array => return Err(unsupported("a value of no type")),
        })
    }

    // Conditions.

    fn condition(&mut self, condition: &blr::Condition, home: QueryNumber) -> Result<ast::Expression> {
        Ok(match condition {
            blr::Condition::Compare(operator, left, right) => self.compare(*operator, left, right, home)?,
            blr::Condition::Between(operand, low, high) => {
                let operand = Box::new(self.value(operand, home)?);
                let (low, high) = (Box::new(self.bare(low, home)?), Box::new(self.bare(high, home)?));
                column(ast::ExpressionKind::Between { operand, low, high, negated: false })
            }
            blr::Condition::Like(operand, pattern, escape) => {
                let operand = Box::new(self.value(operand, home)?);
                let pattern = Box::new(self.value(pattern, home)?);
                let escape =
                    escape.as_ref().map(|escape| self.value(escape, home).map(Box::new)).transpose()?;
                column(ast::ExpressionKind::Like { operand, pattern, escape, negated: false })
            }
            blr::Condition::Matching(operand, pattern, definitions) => {
                let operand = Box::new(self.value(operand, home)?);
                let pattern = similar_pattern(pattern, definitions.as_deref())
                    .ok_or_else(|| unsupported("a MATCHING of another kind than isql's"))?;
                let pattern = Box::new(text(pattern));
                let escape = Some(Box::new(text(PATTERN_ESCAPE.to_string())));
                column(ast::ExpressionKind::SimilarTo { operand, pattern, escape, negated: false })
            }
            blr::Condition::In(operand, list) => {
                let operand = Box::new(self.value(operand, home)?);
                let list = list.iter().map(|value| self.bare(value, home)).collect::<Result<_>>()?;
                column(ast::ExpressionKind::InList { operand, list, negated: false })
            }
            blr::Condition::Missing(operand) => {
                let operand = Box::new(self.value(operand, home)?);
                column(ast::ExpressionKind::IsNull { operand, negated: false })
            }
            blr::Condition::Any(selection) => {
                let query = self.selected(selection, home, vec![item(integer(1))])?;
                column(ast::ExpressionKind::Exists(Box::new(query)))
            }
            blr::Condition::Unique(selection) => {
                if !selection.distinct.is_empty() || selection.singular {
                    return Err(unsupported("the only one of different records"));
                }
                let query = self.selected(selection, home, vec![item(integer(1))])?;
                column(ast::ExpressionKind::Singular(Box::new(query)))
            }
            blr::Condition::And(..) => {
                let mut list = Vec::new();
                self.conjuncts(condition, home, &mut list)?;
                column(ast::ExpressionKind::And(list))
            }
            blr::Condition::Or(..) => {
                let mut list = Vec::new();
                self.disjuncts(condition, home, &mut list)?;
                column(ast::ExpressionKind::Or(list))
            }
            blr::Condition::Not(operand) => {
                column(ast::ExpressionKind::Not(Box::new(self.condition(operand, home)?)))
            }
        })
    }

    fn conjuncts(
        &mut self,
        condition: &blr::Condition,
        home: QueryNumber,
        list: &mut Vec<ast::Expression>,
    ) -> Result<()> {
        match condition {
            blr::Condition::And(left, right) => {
                self.conjuncts(left, home, list)?;
                self.conjuncts(right, home, list)
            }
            other => self.condition(other, home).map(|condition| list.push(condition)),
        }
    }

    fn disjuncts(
        &mut self,
        condition: &blr::Condition,
        home: QueryNumber,
        list: &mut Vec<ast::Expression>,
    ) -> Result<()> {
        match condition {
            blr::Condition::Or(left, right) => {
                self.disjuncts(left, home, list)?;
                self.disjuncts(right, home, list)
            }
            other => self.condition(other, home).map(|condition| list.push(condition)),
        }
    }

    fn compare(
        &mut self,
        operator: blr::Comparison,
        left: &blr::Expression,
        right: &blr::Expression,
        home: QueryNumber,
    ) -> Result<ast::Expression> {
        // A constant says too little of what it is compared with: that may be longer.
        let says_no_type = |translator: &mut Self, value: &blr::Expression| {
            Ok::<bool, Error>(match value {
                blr::Expression::Parameter(_) | blr::Expression::Literal { .. } => true,
                blr::Expression::Field(field) => translator.place(field.context)?.home != home,
                _ => false,
            })
        };
        let (left, right) = match says_no_type(self, left)? && says_no_type(self, right)? {
            true => (self.value(left, home)?, self.value(right, home)?),
            false => (self.bare(left, home)?, self.bare(right, home)?),
        };
        let plain = match operator {
            blr::Comparison::Equal => ast::ComparisonOperator::Equal,
            blr::Comparison::NotEqual => ast::ComparisonOperator::NotEqual,
            blr::Comparison::Greater => ast::ComparisonOperator::Greater,
            blr::Comparison::GreaterOrEqual => ast::ComparisonOperator::GreaterOrEqual,
            blr::Comparison::Less => ast::ComparisonOperator::Less,
            blr::Comparison::LessOrEqual => ast::ComparisonOperator::LessOrEqual,
            blr::Comparison::Equivalent => {
                let (left, right) = (Box::new(left), Box::new(right));
                return Ok(column(ast::ExpressionKind::Distinct { left, right, negated: true }));
            }
            blr::Comparison::Containing => {
                let (operand, part) = (Box::new(left), Box::new(right));
                return Ok(column(ast::ExpressionKind::Containing { operand, part, negated: false }));
            }
            blr::Comparison::Starting => {
                let (operand, prefix) = (Box::new(left), Box::new(right));
                return Ok(column(ast::ExpressionKind::StartingWith { operand, prefix, negated: false }));
            }
        };
        Ok(comparison(plain, left, right))
    }
}

impl Draft {
    fn finish(self) -> Result<Query> {
        let Draft { kind, select, items, distinct, parameters, singular } = self;
        let Some(mut select) = select else {
            let kind = kind.ok_or_else(|| Error::new(isc::INVALID_BLR).with(0))?;
            return Ok(Query::new(kind, parameters, singular));
        };
        let mut values: Vec<ast::Expression> = items.into_iter().map(|(_, value)| value).collect();
        // Other columns are those of any row of the kind: rows come in the order of what makes them different, for the
        // loop to pass over those that repeat it.
        let needs_order = !distinct.is_empty() && values.iter().any(|value| !distinct.contains(value));
        let is_distinct = !distinct.is_empty() && !needs_order;
        if needs_order && is_limited(&select.query) {
            return Err(unsupported("a limit of records that are different by some of their fields"));
        }
        if needs_order && select.query.order_by.iter().any(|order| !distinct.contains(&order.value)) {
            return Err(unsupported("an order by what does not make records different"));
        }
        let mut different_by = Vec::with_capacity(distinct.len());
        for value in distinct {
            let known = values.iter().position(|known| *known == value);
            different_by.push(known.unwrap_or(values.len()));
            if needs_order && select.query.order_by.iter().all(|order| order.value != value) {
                let value = value.clone();
                select.query.order_by.push(ast::OrderItem { value, descending: false, nulls: None });
            }
            if known.is_none() {
                values.push(value);
            }
        }
        if values.is_empty() {
            values.push(integer(1));
        }
        if let ast::QueryBody::Select(body) = &mut select.query.body {
            body.distinct = is_distinct;
            body.items = values.into_iter().map(item).collect();
        }
        let query = Query::new(ast::StatementKind::Select(select), parameters, singular);
        Ok(Query { different_by: if needs_order { different_by } else { Vec::new() }, ..query })
    }
}

/// Whether a selection gives other records than those that its sources and its condition make.
fn changes_records(selection: &blr::Selection) -> bool {
    !selection.distinct.is_empty() || selection.first.is_some() || selection.skip.is_some()
}

/// Refuses a selection under an aggregate unless it is over all of its records: a list of aggregates has its DISTINCT and
/// its limits behind them.
///
/// # Errors
/// `isc_wish_list`.
fn check_all_records(selection: &blr::Selection) -> Result<()> {
    match changes_records(selection) || selection.singular {
        true => Err(unsupported("an aggregate over different, the first or the only records")),
        false => Ok(()),
    }
}

/// Whether a query has FIRST or SKIP.
fn is_limited(query: &ast::Query) -> bool {
    matches!(&query.body, ast::QueryBody::Select(select) if select.first.is_some() || select.skip.is_some())
}

const PATTERN_ESCAPE: char = '\\';

/// What MATCHING looks for as a pattern of SIMILAR TO. A definition, `c=meaning`, says what a character of the pattern stands
/// for: characters, classes in brackets and `?` for any character, each perhaps with `*` for any number of it. What is not
/// defined stands for itself. `None` for anything else: patterns that are no constants, quotes, negations, flags.
///
/// Source: Firebird 5.0.4, src/jrd/Collation.cpp, SleuthMatcher.
fn similar_pattern(pattern: &blr::Expression, definitions: Option<&blr::Expression>) -> Option<String> {
    let constant = |value: &blr::Expression| match value {
        blr::Expression::Literal { value: Value::Text(text), .. } if text.bytes().is_ascii() => {
            Some(String::from_utf8_lossy(text.bytes()).into_owned())
        }
        _ => None,
    };
    let pattern = constant(pattern)?;
    let Some(definitions) = definitions else {
        return Some(pattern.chars().map(|c| if c == '*' { "%".to_owned() } else { meant(c) }).collect());
    };
    let definitions = constant(definitions)?;
    let definitions: Vec<(char, String)> = definitions
        .split(',')
        .map(|definition| {
            let (defined, meaning) = definition.split_once('=')?;
            let mut defined = defined.chars();
            let (Some(defined), None) = (defined.next(), defined.next()) else { return None };
            Some((defined, similar_meaning(meaning)?))
        })
        .collect::<Option<_>>()?;
    let mut similar = String::new();
    for c in pattern.chars() {
        match definitions.iter().find(|(defined, _)| *defined == c) {
            Some((_, meaning)) => similar.push_str(meaning),
            None if c == '?' => similar.push_str("\\?"),
            None => similar.push_str(&meant(c)),
        }
    }
    Some(similar)
}

/// A meaning as a pattern of SIMILAR TO.
fn similar_meaning(meaning: &str) -> Option<String> {
    let mut similar = String::new();
    let mut rest = meaning.chars();
    while let Some(c) = rest.next() {
        match c {
            '[' => {
                let class: String = rest.by_ref().take_while(|c| *c != ']').collect();
                let is_plain =
                    !class.is_empty() && class.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
                if !is_plain {
                    return None;
                }
                similar.push('[');
                similar.push_str(&class);
                similar.push(']');
            }
            '*' if !similar.is_empty() => similar.push('*'),
            '@' | '~' | '+' | '-' | '(' | ')' | ']' | '*' => return None,
            c => similar.push_str(&meant(c)),
        }
    }
    Some(similar)
}

/// A character of a pattern that stands for itself, but `?`, which stands for any.
fn meant(c: char) -> String {
    match c {
        '?' => "_".to_owned(),
        c if c == PATTERN_ESCAPE || "[]()|^-+*%_{}".contains(c) => format!("{PATTERN_ESCAPE}{c}"),
        c => c.to_string(),
    }
}

fn text(value: String) -> ast::Expression {
    column(ast::ExpressionKind::Literal(ast::Literal::String { value, character_set: None }))
}

/// A constant in a text, if it can be written there for certain.
fn literal(value: &Value) -> Option<ast::Expression> {
    let literal = match value {
        Value::Integer { unscaled, scale: 0 } => return Some(integer(*unscaled)),
        Value::Text(text) if text.bytes().iter().all(|byte| (b' '..=b'~').contains(byte)) => {
            let value = String::from_utf8_lossy(text.bytes()).into_owned();
            ast::Literal::String { value, character_set: None }
        }
        Value::Boolean(truth) => ast::Literal::Boolean(*truth),
        _ => return None,
    };
    Some(column(ast::ExpressionKind::Literal(literal)))
}

fn integer(value: i64) -> ast::Expression {
    let width = if i32::try_from(value).is_ok() { ExactWidth::Long } else { ExactWidth::Int64 };
    let magnitude = i128::from(value).abs();
    let literal = column(ast::ExpressionKind::Literal(ast::Literal::Integer { value: magnitude, width }));
    match value < 0 {
        false => literal,
        true => column(ast::ExpressionKind::Unary {
            operator: ast::UnaryOperator::Minus,
            operand: Box::new(literal),
        }),
    }
}

pub(super) fn comparison(
    operator: ast::ComparisonOperator,
    left: ast::Expression,
    right: ast::Expression,
) -> ast::Expression {
    let (left, right) = (Box::new(left), Box::new(right));
    column(ast::ExpressionKind::Comparison { left, operator, right })
}

/// An expression that stands in no text.
pub(super) fn column(kind: ast::ExpressionKind) -> ast::Expression {
    ast::Expression::new(kind, ast::Position::default())
}

pub(super) fn name(text: &str) -> ast::Name {
    ast::Name { quoted: true, ..ast::Name::new(text) }
}

fn alias(context: blr::Context) -> ast::Name {
    name(&format!("C{context}"))
}

fn map_name(number: u16) -> String {
    format!("F{number}")
}

fn call(function: &str, arguments: Vec<ast::Expression>) -> ast::Expression {
    let name = ast::Name::new(function).into();
    column(ast::ExpressionKind::Function(Box::new(ast::FunctionCall { name, arguments })))
}

fn item(value: ast::Expression) -> ast::SelectItem {
    ast::SelectItem::Expression { value, alias: None }
}

fn named(table: &str, arguments: Option<Vec<ast::Expression>>, context: blr::Context) -> ast::TableReference {
    ast::TableReference::Named(ast::NamedTable {
        name: name(table).into(),
        arguments,
        alias: Some(alias(context)),
    })
}

fn blank_select(from: Vec<ast::TableReference>) -> ast::Select {
    ast::Select {
        first: None,
        skip: None,
        distinct: false,
        items: Vec::new(),
        from,
        condition: None,
        group_by: Vec::new(),
        having: None,
        windows: Vec::new(),
        plan: None,
        position: ast::Position::default(),
    }
}

fn query_of(body: ast::QueryBody) -> ast::Query {
    ast::Query { with: None, body, order_by: Vec::new(), limit: None, position: ast::Position::default() }
}

fn select_statement(query: ast::Query) -> ast::SelectStatement {
    ast::SelectStatement { query, for_update: None, with_lock: None, optimize_for: None }
}
