//! MIN and MAX.

use std::cmp::Ordering;

use farbird_types::{Collation, ColumnType, Result, Value, compare};

use super::{argument_type, nullable};
use crate::execute::context::ExecutionContext;
use crate::function::Accumulator;
use crate::function::result_type::text_kind;

pub(super) fn result(_: &'static str, arguments: &[ColumnType]) -> Result<ColumnType> {
    nullable(*argument_type(arguments))
}

pub(super) fn start_min(_: &[ColumnType], result: &ColumnType) -> Box<dyn Accumulator> {
    start(result, Ordering::Less)
}

pub(super) fn start_max(_: &[ColumnType], result: &ColumnType) -> Box<dyn Accumulator> {
    start(result, Ordering::Greater)
}

fn start(result: &ColumnType, wanted: Ordering) -> Box<dyn Accumulator> {
    Box::new(Extreme { best: Value::Null, wanted, collation: text_kind(&result.sql_type).1 })
}

struct Extreme {
    best: Value,
    wanted: Ordering,
    collation: Collation,
}

impl Accumulator for Extreme {
    fn add(&mut self, _: &mut ExecutionContext<'_>, arguments: &[Value]) -> Result<()> {
        let value = match arguments.first() {
            None | Some(Value::Null) => return Ok(()),
            Some(value) => value,
        };
        if self.best.is_null() || compare::compare(value, &self.best, self.collation)? == self.wanted {
            self.best = value.clone();
        }
        Ok(())
    }

    fn result(&self, _: &mut ExecutionContext<'_>) -> Result<Value> {
        Ok(self.best.clone())
    }
}
