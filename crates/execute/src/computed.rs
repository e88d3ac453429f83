//! Expressions computed on rows that operators exchange by columns: by a program where that is possible, else row by row.

use farbird_expression::{ExecutionContext, Expression};
use farbird_types::{Error, Result, Value};
use farbird_vector::{Column, Vectors, truth};

use crate::vector::{ColumnKind, Program, Rows};

/// An expression, with what it is computed by since its operator was opened.
#[derive(Debug, Clone)]
pub(crate) struct Computed {
    expression: Expression,
    /// The columns that it looks at.
    columns: Vec<usize>,
    /// For columns of these kinds.
    program: Option<(Vec<ColumnKind>, Option<Program>)>,
}

/// Values of the first rows, up to the first for which the expression fails.
pub(crate) struct UpToError<T> {
    pub(crate) values: T,
    /// How many rows that are.
    pub(crate) rows: usize,
    /// What the next row fails with.
    pub(crate) error: Option<Error>,
}

impl Computed {
    pub(crate) fn new(expression: Expression) -> Computed {
        let mut columns = Vec::new();
        expression.for_each_column(&mut |position| columns.push(position));
        columns.sort_unstable();
        columns.dedup();
        Computed { expression, columns, program: None }
    }

    /// The columns that it looks at, ascending.
    pub(crate) fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// The expression.
    pub(crate) fn expression(&self) -> &Expression {
        &self.expression
    }

    /// Registers and parameters may have changed.
    pub(crate) fn reset(&mut self) {
        self.program = None;
    }

    /// Its values.
    pub(crate) fn values<'a>(
        &mut self,
        rows: &'a Vectors,
        context: &mut ExecutionContext<'_>,
    ) -> UpToError<Column<'a>> {
        let program = self.compiled(rows, Program::value, context);
        if let Some(program) = program
            && let Ok(values) = program.run(&Rows::of(rows), context)
        {
            return UpToError { values, rows: rows.len(), error: None };
        }
        let mut values = Vec::with_capacity(rows.len());
        let error = self.by_rows(rows, context, |expression, row, context| {
            values.push(expression.evaluate(row, context)?);
            Ok(())
        });
        UpToError { rows: values.len(), values: Column::of_values(values), error }
    }

    /// Its truths, as in [`farbird_vector::truth`]; `None` if a row may fail.
    pub(crate) fn truths(&mut self, rows: &Vectors, context: &mut ExecutionContext<'_>) -> Option<Vec<u8>> {
        let program = self.compiled(rows, Program::condition, context)?;
        program.truths(&Rows::of(rows), context).ok()
    }

    /// As [`Computed::truths`], row by row: for rows that may fail.
    pub(crate) fn truths_by_rows(
        &self,
        rows: &Vectors,
        context: &mut ExecutionContext<'_>,
    ) -> UpToError<Vec<u8>> {
        let mut truths = Vec::with_capacity(rows.len());
        let error = self.by_rows(rows, context, |expression, row, context| {
            truths.push(truth::of_known(expression.truth(row, context)?));
            Ok(())
        });
        UpToError { rows: truths.len(), values: truths, error }
    }

    fn compiled(
        &mut self,
        rows: &Vectors,
        compile: impl FnOnce(&Expression, &[ColumnKind], &mut ExecutionContext<'_>) -> Option<Program>,
        context: &mut ExecutionContext<'_>,
    ) -> Option<&Program> {
        let kinds = ColumnKind::of_vectors(rows);
        if self.program.as_ref().is_none_or(|(compiled, _)| *compiled != kinds) {
            let program = compile(&self.expression, &kinds, context);
            self.program = Some((kinds, program));
        }
        self.program.as_ref()?.1.as_ref()
    }

    /// Calls `take` with each row until it fails; gives the error.
    fn by_rows(
        &self,
        rows: &Vectors,
        context: &mut ExecutionContext<'_>,
        mut take: impl FnMut(&Expression, &[Value], &mut ExecutionContext<'_>) -> Result<()>,
    ) -> Option<Error> {
        let mut values = vec![Value::Null; rows.width()];
        for row in 0..rows.len() {
            for position in &self.columns {
                if let Some(value) = values.get_mut(*position) {
                    *value = rows.value(row, *position);
                }
            }
            let taken = context.check_interrupt().and_then(|()| take(&self.expression, &values, context));
            if let Err(error) = taken {
                return Some(error);
            }
        }
        None
    }
}
