//! EXECUTE PROCEDURE, and calls of local routines.

use std::sync::{Arc, OnceLock};

use farbird_catalog::Routine;
use farbird_expression::{ExecutionContext, ProcedureRows};
use farbird_types::{Error, Result, Value};

use crate::compiled::compiled_procedure;
use crate::execution::Execution;
use crate::routine::{CompiledRoutine, Procedure};
use crate::trace::CallFrame;
use crate::traced;

impl Execution {
    /// EXECUTE PROCEDURE; gives the outputs.
    pub(super) fn call_procedure_with(
        declaring: &Arc<CompiledRoutine>,
        procedure: &Procedure,
        inputs: Vec<Value>,
        context: &mut ExecutionContext<'_>,
    ) -> Result<Vec<Value>> {
        match procedure {
            Procedure::Stored(stored, known) => {
                let compiled = stored_procedure(stored, known, context)?;
                traced::procedure(stored, inputs, context, |inputs, context| {
                    Execution::of(&compiled, inputs, context)?.finish(context)
                })
            }
            Procedure::Local(number) => call_local(declaring, *number, inputs, context),
        }
    }
}

fn stored_procedure(
    stored: &Routine,
    known: &OnceLock<Arc<CompiledRoutine>>,
    context: &ExecutionContext<'_>,
) -> Result<Arc<CompiledRoutine>> {
    if let Some(known) = known.get() {
        return Ok(Arc::clone(known));
    }
    let catalog = context.transaction.current_catalog();
    let compiled = compiled_procedure(&catalog, stored)?;
    Ok(Arc::clone(known.get_or_init(|| compiled)))
}

/// Calls a local routine: the variables around it are copied in, and out again when it is done.
pub(super) fn call_local(
    declaring: &Arc<CompiledRoutine>,
    number: usize,
    inputs: Vec<Value>,
    context: &mut ExecutionContext<'_>,
) -> Result<Vec<Value>> {
    let routine = Arc::clone(declaring.local(number)?);
    let mut execution = Execution::of_local(&routine, declaring, inputs, context)?;
    let row = execution.finish(context)?;
    execution.give_shared(context);
    Ok(row)
}

/// The rows of a local procedure in FROM.
///
/// # Errors
/// Those of its inputs.
pub(super) fn open_local(
    number: usize,
    inputs: Vec<Value>,
    context: &mut ExecutionContext<'_>,
) -> Result<Box<dyn ProcedureRows>> {
    let declaring = CallFrame::running(context).map(|frame| Arc::clone(&frame.declaring));
    let declaring = declaring.ok_or_else(|| Error::internal("a local procedure outside its routine"))?;
    let routine = Arc::clone(declaring.local(number)?);
    Ok(Box::new(LocalRows(Execution::of_local(&routine, &declaring, inputs, context)?)))
}

/// A local procedure that is running in FROM. For each row it takes the variables around it as they are, and gives them back as it has
/// left them.
struct LocalRows(Execution);

impl ProcedureRows for LocalRows {
    fn next(&mut self, context: &mut ExecutionContext<'_>) -> Result<Option<Vec<Value>>> {
        self.0.take_shared(context);
        let row = self.0.resume(context)?;
        self.0.give_shared(context);
        Ok(row)
    }
}
