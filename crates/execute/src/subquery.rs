//! Queries inside expressions.

use std::cmp::Ordering;
use std::collections::HashMap;

use farbird_budget::{Reservation, heap_bytes};
use farbird_expression::{
    ExecutionContext, RunningSubquery, Subqueries, Subquery, SubqueryKind, operator_holds,
};
use farbird_function::compare::compare_nullable;
use farbird_plan::planned;
use farbird_sql::ast::{ComparisonOperator, Quantifier};
use farbird_types::{Collation, Error, Result, SqlType, Value, convert, isc};

use crate::batch::{BATCH_ROWS_FIRST, Batch};
use crate::build::build_for;
use crate::operator::Operator;
use crate::row_codec::append_row;
use crate::value_set::{Membership, Pushed, ValueSet};

/// What a value that is kept takes beside its text, while the list of them grows.
const KEPT_VALUE_BYTES: usize = 160;

/// The operators of a subquery, and its result where that may be kept.
struct SubqueryState {
    operator: Box<dyn Operator>,
    batch: Batch,
    kept: Option<Kept>,
    results: Results,
}

/// The results of a subquery by the values that it took from the enclosing row. Given up where those hardly repeat.
#[derive(Default)]
struct Results {
    known: HashMap<Vec<u8>, Value>,
    /// How often a result was looked for, and found.
    asked: usize,
    hits: usize,
    /// What they are charged to.
    memory: Option<Reservation>,
    is_given_up: bool,
}

/// After so many results it is looked whether any was of use.
const RESULTS_TRIED: usize = 1_000;

/// One in so many must have been.
const RESULTS_USE: usize = 10;

impl Results {
    /// The values under which a result is kept; nothing if none are kept any more.
    fn key(&mut self, captured: &[(usize, Value)]) -> Option<Vec<u8>> {
        if self.is_given_up {
            return None;
        }
        self.asked += 1;
        if self.asked.is_multiple_of(RESULTS_TRIED) && self.hits * RESULTS_USE < self.asked {
            self.give_up();
            return None;
        }
        let mut key = Vec::new();
        captured.iter().for_each(|(_, value)| append_row(std::slice::from_ref(value), &mut key));
        Some(key)
    }

    fn keep(&mut self, key: Vec<u8>, result: &Value, context: &ExecutionContext<'_>) {
        if matches!(result, Value::Blob(_)) {
            return self.give_up();
        }
        let bytes = KEPT_VALUE_BYTES + key.len() + heap_bytes(result);
        let memory = self.memory.get_or_insert_with(|| context.budget.reserve());
        if memory.try_grow(bytes) {
            self.known.insert(key, result.clone());
        } else {
            self.give_up();
        }
    }

    fn give_up(&mut self) {
        self.known = HashMap::new();
        self.memory = None;
        self.is_given_up = true;
    }
}

/// What an invariant subquery gave.
enum Kept {
    /// The result of a scalar, EXISTS or SINGULAR subquery.
    Value(Value),
    /// The values of IN.
    Set(ValueSet),
    /// The values of another quantified one.
    Values(KeptValues),
    /// There was no memory to keep them: the query runs again for each row.
    TooMany,
}

/// The values of a quantified subquery, to be compared one by one.
struct KeptValues {
    values: Vec<Value>,
    /// What they are charged to: dropped with them.
    _memory: Reservation,
}

/// Runs subqueries by operators.
pub struct Operators;

impl Subqueries for Operators {
    fn start(&self, query: &Subquery, context: &ExecutionContext<'_>) -> Result<Box<dyn RunningSubquery>> {
        let planned = planned(query).ok_or_else(|| Error::internal("a subquery without a plan"))?;
        Ok(Box::new(SubqueryState {
            operator: build_for(context, &planned.node),
            batch: Batch::new(planned.node.width(), BATCH_ROWS_FIRST),
            kept: None,
            results: Results::default(),
        }))
    }
}

impl RunningSubquery for SubqueryState {
    /// Runs with values taken from the enclosing row, unless the result for the same values is known.
    fn value(
        &mut self,
        query: &Subquery,
        captured: Vec<(usize, Value)>,
        operand: &Value,
        context: &mut ExecutionContext<'_>,
    ) -> Result<Value> {
        let keeps = query.repeatable
            && !query.invariant
            && !captured.is_empty()
            && !matches!(query.kind, SubqueryKind::Quantified { .. })
            && !captured.iter().any(|(_, value)| matches!(value, Value::Blob(_)));
        let key = if keeps { self.results.key(&captured) } else { None };
        if let Some(known) = key.as_ref().and_then(|key| self.results.known.get(key)) {
            self.results.hits += 1;
            return Ok(known.clone());
        }
        for (register, value) in captured {
            context.frame.set_register(register, value);
        }
        let result = self.run(query, operand, context)?;
        if let Some(key) = key {
            self.results.keep(key, &result, context);
        }
        Ok(result)
    }
}

impl SubqueryState {
    fn run(
        &mut self,
        query: &Subquery,
        operand: &Value,
        context: &mut ExecutionContext<'_>,
    ) -> Result<Value> {
        match &query.kind {
            SubqueryKind::Quantified { operator, quantifier, collation, column, .. } => {
                let test =
                    Test { operand, operator: *operator, quantifier: *quantifier, collation: *collation };
                self.quantified(query, &test, column.as_ref(), context)
            }
            kind => {
                if let Some(Kept::Value(value)) = &self.kept {
                    return Ok(value.clone());
                }
                let value = self.one(kind, context)?;
                if query.invariant {
                    self.kept = Some(Kept::Value(value.clone()));
                }
                Ok(value)
            }
        }
    }

    fn one(&mut self, kind: &SubqueryKind, context: &mut ExecutionContext<'_>) -> Result<Value> {
        // One row decides EXISTS; a second one spoils the others.
        self.batch.set_limit(if matches!(kind, SubqueryKind::Exists) { 1 } else { 2 });
        self.operator.open(context)?;
        let mut rows = 0;
        let mut first = Value::Null;
        while rows < 2 && self.operator.next(context, &mut self.batch)? {
            if rows == 0 {
                first = self.batch.row(0).first().cloned().unwrap_or_default();
            }
            rows += self.batch.len();
            if matches!(kind, SubqueryKind::Exists) {
                break;
            }
        }
        match kind {
            SubqueryKind::Exists => Ok(Value::Boolean(rows > 0)),
            SubqueryKind::Singular => Ok(Value::Boolean(rows == 1)),
            _ if rows > 1 => Err(Error::new(isc::SING_SELECT_ERR)),
            _ => Ok(first),
        }
    }

    fn quantified(
        &mut self,
        query: &Subquery,
        test: &Test<'_>,
        column: Option<&SqlType>,
        context: &mut ExecutionContext<'_>,
    ) -> Result<Value> {
        let looks_up = test.operator == ComparisonOperator::Equal && test.quantifier == Quantifier::Any;
        if query.invariant && self.kept.is_none() {
            self.kept = match looks_up {
                true => self.collect_set(test.collation, column, context)?,
                false => None,
            };
            if self.kept.is_none() {
                self.kept = Some(self.collect(column, context)?);
            }
        }
        let mut verdict = Verdict::default();
        if let Some(Kept::Set(set)) = &self.kept {
            match set.contains(test.operand) {
                Membership::Among => verdict.decided = true,
                Membership::NotAmong { unknown } => verdict.unknown = unknown,
                Membership::Incomparable => {
                    self.kept = Some(self.collect(column, context)?);
                    return self.quantified(query, test, column, context);
                }
            }
            return Ok(test.result(&verdict));
        }
        if let Some(Kept::Values(kept)) = &self.kept {
            for value in &kept.values {
                context.check_interrupt()?;
                if test.decides(value, &mut verdict, context)? {
                    break;
                }
            }
            return Ok(test.result(&verdict));
        }
        self.batch.set_limit(BATCH_ROWS_FIRST);
        self.operator.open(context)?;
        'rows: while self.operator.next(context, &mut self.batch)? {
            for row in self.batch.rows() {
                if test.decides(row.first().unwrap_or(&Value::Null), &mut verdict, context)? {
                    break 'rows;
                }
            }
        }
        Ok(test.result(&verdict))
    }

    /// Keeps the values as a set; nothing if they make none.
    fn collect_set(
        &mut self,
        collation: Collation,
        column: Option<&SqlType>,
        context: &mut ExecutionContext<'_>,
    ) -> Result<Option<Kept>> {
        let mut set = ValueSet::new(collation, context.budget.reserve());
        self.batch.set_limit(usize::MAX);
        self.operator.open(context)?;
        while self.operator.next(context, &mut self.batch)? {
            for row in self.batch.rows() {
                let value = row.first().cloned().unwrap_or_default();
                match set.push(&converted(value, column, context)?) {
                    Pushed::Added => {}
                    Pushed::Misfit => return Ok(None),
                    Pushed::NoRoom => return Ok(Some(Kept::TooMany)),
                }
            }
        }
        set.finish();
        Ok(Some(Kept::Set(set)))
    }

    /// Keeps the values, as those of type `column` if they are to be converted.
    fn collect(&mut self, column: Option<&SqlType>, context: &mut ExecutionContext<'_>) -> Result<Kept> {
        let mut values = Vec::new();
        let mut memory = context.budget.reserve();
        self.batch.set_limit(usize::MAX);
        self.operator.open(context)?;
        while self.operator.next(context, &mut self.batch)? {
            for row in self.batch.rows() {
                let value = converted(row.first().cloned().unwrap_or_default(), column, context)?;
                if !memory.try_grow(KEPT_VALUE_BYTES + heap_bytes(&value)) {
                    return Ok(Kept::TooMany);
                }
                values.push(value);
            }
        }
        Ok(Kept::Values(KeptValues { values, _memory: memory }))
    }
}

/// A value as one of type `column`, if it is to be converted.
fn converted(value: Value, column: Option<&SqlType>, context: &ExecutionContext<'_>) -> Result<Value> {
    match column {
        Some(sql_type) => convert::cast(&value, sql_type, &context.cast),
        None => Ok(value),
    }
}

/// A quantified comparison of one operand.
struct Test<'a> {
    operand: &'a Value,
    operator: ComparisonOperator,
    quantifier: Quantifier,
    collation: Collation,
}

/// What is known so far.
#[derive(Default)]
struct Verdict {
    decided: bool,
    unknown: bool,
}

impl Test<'_> {
    /// Looks at one more value; true if the rest does not matter.
    fn decides(
        &self,
        value: &Value,
        verdict: &mut Verdict,
        context: &mut ExecutionContext<'_>,
    ) -> Result<bool> {
        let order: Option<Ordering> = compare_nullable(self.operand, value, self.collation, context)?;
        match order.map(|order| operator_holds(self.operator, order)) {
            None => verdict.unknown = true,
            Some(holds) => verdict.decided = holds == (self.quantifier == Quantifier::Any),
        }
        Ok(verdict.decided)
    }

    fn result(&self, verdict: &Verdict) -> Value {
        let any = self.quantifier == Quantifier::Any;
        match verdict {
            Verdict { decided: true, .. } => Value::Boolean(any),
            Verdict { unknown: true, .. } => Value::Null,
            _ => Value::Boolean(!any),
        }
    }
}
