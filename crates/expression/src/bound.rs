//! Expressions that stand for themselves, each in a frame of its own: conditions and values of PSQL, defaults, CHECKs.

use std::sync::Arc;

use farbird_types::{ColumnType, Error, Result, Value, convert, isc};

use crate::context::{ExecutionContext, Frame};
use crate::frame_size::FrameSize;
use crate::tree::{BoundExpression, DomainConstraint, Expression};
use crate::whole::Input;
use crate::whole_compile::program_of;

impl DomainConstraint {
    /// Fails unless a value is allowed.
    ///
    /// # Errors
    /// `isc_not_valid_for` with what was done (CAST) and the value; those of the CHECK.
    pub fn verify(&self, value: &Value, context: &mut ExecutionContext<'_>) -> Result<()> {
        let fails = match (&self.check, value) {
            (_, Value::Null) if self.not_null => true,
            (Some(check), value) => check.truth_on(std::slice::from_ref(value), context)? == Some(false),
            (None, _) => false,
        };
        if !fails {
            return Ok(());
        }
        let shown = match value {
            Value::Null => "*** null ***".to_owned(),
            value => convert::to_display_text(value),
        };
        Err(Error::new(isc::NOT_VALID_FOR).with("CAST").with(shown))
    }
}

impl BoundExpression {
    /// An expression in a frame of its own, with the type of its values.
    pub fn new(expression: Expression, column_type: ColumnType, frame: FrameSize) -> BoundExpression {
        let program = program_of(&expression).map(Arc::new);
        BoundExpression { expression: Arc::new(expression), column_type, frame, program }
    }

    /// Its value, on no row.
    ///
    /// # Errors
    /// Those of the expression.
    pub fn evaluate(&self, context: &mut ExecutionContext<'_>) -> Result<Value> {
        self.evaluate_on(&[], context)
    }

    /// Its value on a row (whose layout the binder was told).
    ///
    /// # Errors
    /// Those of the expression.
    pub fn evaluate_on(&self, row: &[Value], context: &mut ExecutionContext<'_>) -> Result<Value> {
        if let Some(program) = &self.program
            && let Some(value) = program.value(input(row, context))
        {
            return Ok(value);
        }
        self.in_frame(context, |expression, context| expression.evaluate(row, context))
    }

    /// Its truth on no row: `None` is UNKNOWN.
    ///
    /// # Errors
    /// Those of the expression.
    pub fn truth(&self, context: &mut ExecutionContext<'_>) -> Result<Option<bool>> {
        self.truth_on(&[], context)
    }

    /// Its truth on a row.
    ///
    /// # Errors
    /// Those of the expression.
    pub fn truth_on(&self, row: &[Value], context: &mut ExecutionContext<'_>) -> Result<Option<bool>> {
        if let Some(program) = &self.program
            && let Some(truth) = program.truth(input(row, context))
        {
            return Ok(Some(truth));
        }
        self.in_frame(context, |expression, context| expression.truth(row, context))
    }

    fn in_frame<T>(
        &self,
        context: &mut ExecutionContext<'_>,
        run: impl FnOnce(&Expression, &mut ExecutionContext<'_>) -> Result<T>,
    ) -> Result<T> {
        if self.frame.is_empty() {
            return run(&self.expression, context);
        }
        let outer = std::mem::replace(&mut context.frame, Frame::new(self.frame));
        let result = run(&self.expression, context);
        context.frame = outer;
        result
    }
}

/// What a program looks at.
#[inline]
fn input<'a>(row: &'a [Value], context: &'a mut ExecutionContext<'_>) -> Input<'a> {
    context.room.clear();
    Input { row, parameters: &context.parameters, room: &mut context.room }
}
