//! How deeply routines that call each other may be nested.

use farbird_types::{Error, Result, isc};

use crate::context::ExecutionContext;
use crate::stack::{StackSegment, on_new_stack};

/// How deeply procedures, functions, triggers and EXECUTE STATEMENT may be nested (Firebird: MAX_CLONES).
pub const DEPTH_MAX: u32 = 1_000;

/// Runs one level deeper: a cascade that the engine itself sets off, which takes its turn among routines that call each
/// other.
///
/// # Errors
/// Those of `run`; `req_max_clones_exceeded` if that is too deep; `exception_stack_overflow`.
pub fn nested<T: Send>(
    context: &mut ExecutionContext<'_>,
    run: impl FnOnce(&mut ExecutionContext<'_>) -> Result<T> + Send,
) -> Result<T> {
    if context.depth >= DEPTH_MAX {
        return Err(Error::new(isc::REQ_MAX_CLONES_EXCEEDED));
    }
    let outer = context.routine.stack;
    let segment = *context.routine.stack.get_or_insert_with(StackSegment::foreign);
    context.depth += 1;
    let result = if segment.is_used_up() {
        on_new_stack(|segment| {
            context.routine.stack = Some(segment);
            run(context)
        })
    } else {
        run(context)
    };
    context.depth -= 1;
    context.routine.stack = outer;
    result
}
