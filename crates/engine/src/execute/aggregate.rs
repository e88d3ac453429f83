//! GROUP BY and aggregates.
//!
//! Groups are kept in memory in the order of their keys (in which Firebird hands them out too). When there are too
//! many, rows of further groups are sorted by key, in files if need be, and grouped as they are read.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use farbird_types::key::KeyPart;
use farbird_types::{Collation, Result, Value, compare};

use crate::execute::batch::{BATCH_ROWS_MAX, Batch};
use crate::execute::context::ExecutionContext;
use crate::execute::operator::{Operator, build};
use crate::execute::sort::append_key;
use crate::execute::spill::{Sorted, Sorter};
use crate::expression::evaluate::evaluate_all;
use crate::function::Accumulator;
use crate::plan::{Aggregate, AggregateCall};

/// Most groups that are kept in memory.
const GROUPS_MAX: usize = 200_000;

/// Groups rows.
pub(crate) struct AggregateOperator {
    aggregate: Arc<Aggregate>,
    input: Box<dyn Operator>,
    groups: std::collections::btree_map::IntoIter<Vec<u8>, Group>,
    /// The next group of those in memory.
    head: Option<(Vec<u8>, Group)>,
    /// Rows of groups that had no place in memory.
    overflow: Sorted,
    /// The first row of the next group of those.
    overflow_head: Option<(Vec<u8>, Vec<Value>)>,
    filled: bool,
}

/// One group.
struct Group {
    keys: Vec<Value>,
    calls: Vec<RunningCall>,
}

/// One aggregate of one group.
pub(crate) struct RunningCall {
    accumulator: Box<dyn Accumulator>,
    /// Arguments seen, for DISTINCT.
    seen: Option<HashSet<Vec<u8>>>,
}

impl RunningCall {
    pub(crate) fn start(call: &AggregateCall) -> RunningCall {
        RunningCall {
            accumulator: (call.function.start)(&call.argument_types, &call.result),
            seen: call.distinct.then(HashSet::new),
        }
    }

    /// Takes a row.
    pub(crate) fn add(
        &mut self,
        call: &AggregateCall,
        row: &[Value],
        context: &mut ExecutionContext<'_>,
    ) -> Result<()> {
        if let Some(filter) = &call.filter
            && filter.truth(row, context)? != Some(true)
        {
            return Ok(());
        }
        let arguments = evaluate_all(&call.arguments, row, context)?;
        if let Some(seen) = &mut self.seen {
            let mut key = Vec::new();
            for (argument, argument_type) in arguments.iter().zip(&call.argument_types).take(1) {
                let collation = crate::bind::data_type::collation_of(&argument_type.sql_type);
                compare::equality_key(argument, collation, &mut key);
            }
            if !seen.insert(key) {
                return Ok(());
            }
        }
        self.accumulator.add(context, &arguments)
    }

    pub(crate) fn result(&self, context: &mut ExecutionContext<'_>) -> Result<Value> {
        self.accumulator.result(context)
    }
}

impl Group {
    fn start(aggregate: &Aggregate, keys: Vec<Value>) -> Group {
        Group { keys, calls: aggregate.calls.iter().map(RunningCall::start).collect() }
    }

    fn add(
        &mut self,
        aggregate: &Aggregate,
        row: &[Value],
        context: &mut ExecutionContext<'_>,
    ) -> Result<()> {
        for (running, call) in self.calls.iter_mut().zip(&aggregate.calls) {
            running.add(call, row, context)?;
        }
        Ok(())
    }

    fn finish(self, context: &mut ExecutionContext<'_>) -> Result<Vec<Value>> {
        let mut row = self.keys;
        for call in &self.calls {
            row.push(call.result(context)?);
        }
        Ok(row)
    }
}

impl AggregateOperator {
    pub(crate) fn new(aggregate: &Arc<Aggregate>) -> AggregateOperator {
        AggregateOperator {
            input: build(&aggregate.input),
            groups: BTreeMap::new().into_iter(),
            head: None,
            overflow: Sorted::empty(),
            overflow_head: None,
            filled: false,
            aggregate: aggregate.clone(),
        }
    }

    fn fill(&mut self, context: &mut ExecutionContext<'_>) -> Result<()> {
        let aggregate = self.aggregate.clone();
        let mut groups: BTreeMap<Vec<u8>, Group> = BTreeMap::new();
        let mut overflow = Sorter::new(false);
        if aggregate.keys.is_empty() {
            // Without GROUP BY there is one group, even of no rows.
            groups.insert(Vec::new(), Group::start(&aggregate, Vec::new()));
        }
        let mut batch = Batch::new(aggregate.input.width(), BATCH_ROWS_MAX);
        let mut key = Vec::new();
        while self.input.next(context, &mut batch)? {
            for index in 0..batch.len() {
                key.clear();
                let keys = self.keys_of(batch.row(index), &mut key, context)?;
                if let Some(group) = groups.get_mut(&key) {
                    group.add(&aggregate, batch.row(index), context)?;
                } else if groups.len() < GROUPS_MAX {
                    let mut group = Group::start(&aggregate, keys);
                    group.add(&aggregate, batch.row(index), context)?;
                    groups.insert(key.clone(), group);
                } else {
                    overflow.push(key.clone(), batch.take_row(index))?;
                }
            }
        }
        self.groups = groups.into_iter();
        self.head = self.groups.next();
        self.overflow = overflow.finish()?;
        self.overflow_head = self.overflow.next()?;
        self.filled = true;
        Ok(())
    }

    fn keys_of(
        &self,
        row: &[Value],
        key: &mut Vec<u8>,
        context: &mut ExecutionContext<'_>,
    ) -> Result<Vec<Value>> {
        let mut keys = Vec::with_capacity(self.aggregate.keys.len());
        for part in &self.aggregate.keys {
            let value = part.value.evaluate(row, context)?;
            append_key(&value, &ordered_by(part.collation), key)?;
            keys.push(value);
        }
        Ok(keys)
    }

    /// The next group in the order of the keys. Groups in memory and those of the overflow have no key in common.
    fn next_group(&mut self, context: &mut ExecutionContext<'_>) -> Result<Option<Vec<Value>>> {
        let from_memory = match (&self.head, &self.overflow_head) {
            (None, None) => return Ok(None),
            (Some((memory, _)), Some((overflow, _))) => memory < overflow,
            (memory, _) => memory.is_some(),
        };
        if from_memory {
            let next = self.groups.next();
            return match std::mem::replace(&mut self.head, next) {
                Some((_, group)) => group.finish(context).map(Some),
                None => Ok(None),
            };
        }
        let aggregate = self.aggregate.clone();
        let Some((key, row)) = self.overflow_head.take() else { return Ok(None) };
        let mut bytes = Vec::new();
        let mut group = Group::start(&aggregate, self.keys_of(&row, &mut bytes, context)?);
        group.add(&aggregate, &row, context)?;
        loop {
            self.overflow_head = self.overflow.next()?;
            match &self.overflow_head {
                Some((next_key, row)) if *next_key == key => group.add(&aggregate, row, context)?,
                _ => return group.finish(context).map(Some),
            }
        }
    }
}

fn ordered_by(collation: Collation) -> KeyPart {
    KeyPart { collation, ..KeyPart::default() }
}

impl Operator for AggregateOperator {
    fn open(&mut self, context: &mut ExecutionContext<'_>) -> Result<()> {
        self.filled = false;
        self.input.open(context)
    }

    fn next(&mut self, context: &mut ExecutionContext<'_>, batch: &mut Batch) -> Result<bool> {
        batch.reset(self.aggregate.keys.len() + self.aggregate.calls.len());
        if !self.filled {
            self.fill(context)?;
        }
        while !batch.is_full() {
            let Some(row) = self.next_group(context)? else { break };
            batch.push(row);
        }
        Ok(!batch.is_empty())
    }
}
