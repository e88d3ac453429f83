//! COUNT, REGR_COUNT: rows whose arguments are all there.

use farbird_types::{ColumnType, Result, SqlType, Value};

use crate::execute::context::ExecutionContext;
use crate::function::Accumulator;

pub(super) fn result(_: &'static str, _: &[ColumnType]) -> Result<ColumnType> {
    Ok(ColumnType { sql_type: SqlType::BIGINT, nullable: false })
}

pub(super) fn start(_: &[ColumnType], _: &ColumnType) -> Box<dyn Accumulator> {
    Box::new(Count(0))
}

struct Count(i64);

impl Accumulator for Count {
    fn add(&mut self, _: &mut ExecutionContext<'_>, arguments: &[Value]) -> Result<()> {
        if !arguments.iter().any(Value::is_null) {
            self.0 = self.0.saturating_add(1);
        }
        Ok(())
    }

    fn result(&self, _: &mut ExecutionContext<'_>) -> Result<Value> {
        Ok(Value::integer(self.0))
    }
}
