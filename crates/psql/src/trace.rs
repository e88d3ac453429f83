//! Where an error came from.
//!
//! The item `isc_stack_trace` holds a line per frame, the innermost first. It is added where an error leaves the
//! instruction that raised it, before any handler sees it; an error that is raised again gets another one, unless it
//! has the same already: a text that executes itself is told once, not once a level.

use std::any::Any;
use std::fmt::Write;
use std::sync::Arc;

use farbird_catalog::privileges::Grantee;
use farbird_expression::ExecutionContext;
use farbird_types::error::StatusArgument;
use farbird_types::{Error, isc};

use crate::routine::{CompiledRoutine, RoutineKind};

/// Longest stack in one item, in bytes (Firebird: MAX_STACK_TRACE).
const STACK_TRACE_BYTES_MAX: usize = 2_048;

/// A running frame as its callees see it: what runs, where it stands, who called it.
pub(super) struct CallFrame {
    /// What runs.
    pub(super) routine: Arc<CompiledRoutine>,
    /// The routine whose local functions and procedures it can call: itself, or the one that declares it.
    pub(super) declaring: Arc<CompiledRoutine>,
    /// The instruction that has called, once one has: where what runs stands is in the context.
    pub(super) instruction: usize,
    /// Who called it.
    pub(super) caller: Option<Box<CallFrame>>,
}

impl CallFrame {
    /// What runs in a context.
    pub(super) fn running<'c>(context: &'c ExecutionContext<'_>) -> Option<&'c CallFrame> {
        context.routine.call.as_ref()?.downcast_ref()
    }

    /// Takes what runs out of a context, as the caller of what is to run there.
    pub(super) fn take(context: &mut ExecutionContext<'_>) -> Option<Box<CallFrame>> {
        let mut caller = context.routine.call.take()?.downcast::<CallFrame>().ok()?;
        caller.instruction = context.routine.instruction;
        Some(caller)
    }

    /// Who called what has run: it runs again.
    pub(super) fn caller(call: Option<Box<dyn Any + Send>>) -> Option<Box<dyn Any + Send>> {
        let caller = call?.downcast::<CallFrame>().ok()?.caller?;
        Some(caller)
    }

    /// As whom privileges are granted to what runs; none for a block.
    pub(super) fn grantee(&self) -> Option<Grantee<'_>> {
        // A local routine has those of the routine around it.
        self.declaring.grantee()
    }
}

/// The error with the stack of the running frames added.
pub(super) fn with_stack(error: Error, context: &ExecutionContext<'_>) -> Error {
    with_stack_under(String::new(), error, context)
}

/// The error with a stack whose innermost line is a routine that has not begun to run: its inputs were refused.
pub(super) fn with_entry_stack(
    error: Error,
    routine: &CompiledRoutine,
    context: &ExecutionContext<'_>,
) -> Error {
    with_stack_under(line_without_place(routine), error, context)
}

/// The line of a routine that is nowhere in its text: it has not begun to run, or has none that anybody knows.
fn line_without_place(routine: &CompiledRoutine) -> String {
    let name = &routine.name;
    match routine.kind {
        RoutineKind::Block | RoutineKind::Statement => String::new(),
        RoutineKind::Procedure => format!("At procedure '{name}'"),
        RoutineKind::Function => format!("At function '{name}'"),
        RoutineKind::Trigger => format!("At trigger '{name}'"),
        RoutineKind::LocalProcedure => format!("At sub procedure '{name}'"),
        RoutineKind::LocalFunction => format!("At sub function '{name}'"),
    }
}

/// The error with a stack whose innermost line is a system trigger, unless it tells already where it came from.
pub(super) fn with_system_trigger(name: &str, error: Error, context: &ExecutionContext<'_>) -> Error {
    if has_stack(&error) {
        return error;
    }
    with_stack_under(format!("At trigger '{name}'"), error, context)
}

fn with_stack_under(innermost: String, error: Error, context: &ExecutionContext<'_>) -> Error {
    let mut stack = innermost;
    let mut frame = CallFrame::running(context);
    let mut instruction = context.routine.instruction;
    while let Some(current) = frame {
        let position = current.routine.position(instruction);
        frame = current.caller.as_deref();
        instruction = frame.map_or(0, |caller| caller.instruction);
        if current.routine.kind == RoutineKind::Statement {
            continue;
        }
        let line = position.line;
        let column = position.column;
        if !stack.is_empty() {
            stack.push('\n');
        }
        let name = &current.routine.name;
        if current.routine.is_system {
            stack.push_str(&line_without_place(&current.routine));
            continue;
        }
        let written = match current.routine.kind {
            RoutineKind::Block | RoutineKind::Statement => {
                write!(stack, "At block line: {line}, col: {column}")
            }
            RoutineKind::Procedure => write!(stack, "At procedure '{name}' line: {line}, col: {column}"),
            RoutineKind::Function => write!(stack, "At function '{name}' line: {line}, col: {column}"),
            RoutineKind::Trigger => write!(stack, "At trigger '{name}' line: {line}, col: {column}"),
            RoutineKind::LocalProcedure => {
                write!(stack, "At sub procedure '{name}' line: {line}, col: {column}")
            }
            RoutineKind::LocalFunction => {
                write!(stack, "At sub function '{name}' line: {line}, col: {column}")
            }
        };
        debug_assert!(written.is_ok(), "writing to a string cannot fail");
        if stack.len() > STACK_TRACE_BYTES_MAX {
            break;
        }
    }
    if stack.is_empty() {
        return error;
    }
    if stack.len() > STACK_TRACE_BYTES_MAX {
        const ELLIPSIS: &str = "...";
        cut(&mut stack, STACK_TRACE_BYTES_MAX - ELLIPSIS.len());
        stack.push_str(ELLIPSIS);
    }
    let stack = StatusArgument::Text(stack);
    let is_told = error
        .items()
        .iter()
        .any(|item| item.gds_code == isc::STACK_TRACE && item.arguments.first() == Some(&stack));
    if is_told { error } else { error.and(isc::STACK_TRACE).with(stack) }
}

/// Whether an error already tells where it came from: the last thing that it says is a stack.
pub(super) fn has_stack(error: &Error) -> bool {
    error.items().last().is_some_and(|item| item.gds_code == isc::STACK_TRACE)
}

/// Cuts a text to so many bytes, at the end of a character.
pub(super) fn cut(text: &mut String, bytes_max: usize) {
    let mut end = text.len().min(bytes_max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
}
