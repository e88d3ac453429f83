//! What an attachment keeps of a request and of its instances; they run in [`super::run`].

use std::collections::BTreeMap;
use std::sync::Arc;

use farbird_types::{ColumnType, Error, Result, Value, isc};

use super::program::Program;
use crate::api::{Rows, StatementHandle, TransactionHandle};
use crate::attachment::blob_text::for_old_programs;
use crate::budget::{Account, Charge};

/// A compiled request and its instances.
pub(crate) struct RequestSlot {
    pub(super) program: Arc<Program>,
    /// By their numbers.
    pub(super) instances: BTreeMap<u16, Instance>,
    /// What it takes while it is there.
    pub(super) _memory: Charge,
}

/// An instance.
pub(super) struct Instance {
    pub(super) transaction: TransactionHandle,
    pub(super) state: State,
    /// The messages' values, in the order of their declaration.
    pub(super) messages: Vec<Vec<Value>>,
    /// By the number of their query.
    pub(super) statements: Vec<Running>,
    /// What was met ahead of the client.
    pub(super) failed: Option<Error>,
    /// What its messages and loops take while it is there.
    pub(super) _memory: Charge,
}

/// How far an instance has come.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum State {
    Ended,
    /// At this step.
    At(usize),
    /// A message waits to be taken; then it goes on at this step.
    Sending(u8, usize),
    /// It waits for one of these messages, and goes on at the step that belongs to it.
    Receiving(Vec<(u8, usize)>),
}

/// What an instance waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Waiting {
    Ended,
    Sending(u8),
    Receiving(Vec<u8>),
}

/// A statement of an instance.
#[derive(Default)]
pub(super) struct Running {
    /// Once it is prepared.
    pub(super) prepared: Option<PreparedQuery>,
    pub(super) rows: Rows,
    /// The row in `rows` that the loop is at, and the first one that it has not come to.
    pub(super) next: usize,
    /// Nothing comes behind `rows`, or this failure.
    pub(super) after: Option<Result<()>>,
    /// What made the row different that the loop is at, if only different ones are wanted.
    pub(super) kind: Option<Vec<Value>>,
}

/// A statement of an instance that is prepared.
pub(super) struct PreparedQuery {
    pub(super) handle: StatementHandle,
    pub(super) parameters: Vec<ColumnType>,
    pub(super) width: usize,
    /// Most rows that are taken at a time.
    pub(super) rows_max: usize,
    /// What so many rows take.
    pub(super) _memory: Charge,
}

impl Instance {
    /// An instance that has not begun.
    ///
    /// # Errors
    /// `isc_virmemexh`.
    pub(super) fn new(program: &Program, budget: &Arc<Account>) -> Result<Instance> {
        let memory = budget.charge(program.instance_bytes(size_of::<Running>()))?;
        Ok(Instance {
            transaction: TransactionHandle(0),
            state: State::Ended,
            messages: program.messages.iter().map(|message| vec![Value::Null; message.items.len()]).collect(),
            statements: program.queries.iter().map(|_| Running::default()).collect(),
            failed: None,
            _memory: memory,
        })
    }

    /// What it waits for.
    pub(super) fn waiting(&self) -> Waiting {
        match &self.state {
            State::Ended | State::At(_) => Waiting::Ended,
            State::Sending(message, _) => Waiting::Sending(*message),
            State::Receiving(choices) => {
                Waiting::Receiving(choices.iter().map(|(message, _)| *message).collect())
            }
        }
    }

    /// Takes a message that it waits for.
    pub(super) fn take(&mut self, program: &Program, message: u8, values: Vec<Value>) -> Result<()> {
        let out_of_order = || Error::new(isc::REQ_SYNC);
        let State::Receiving(choices) = &self.state else { return Err(out_of_order()) };
        let (_, step) = choices.iter().find(|(number, _)| *number == message).ok_or_else(out_of_order)?;
        let step = *step;
        let index = program.message(message).ok_or_else(out_of_order)?;
        let own = self.messages.get_mut(index).ok_or_else(out_of_order)?;
        if own.len() != values.len() {
            return Err(out_of_order());
        }
        *own = values;
        self.state = State::At(step);
        Ok(())
    }

    /// Hands out the message that waits to be taken.
    pub(super) fn give(&mut self, program: &Program, message: u8) -> Result<Vec<Value>> {
        let out_of_order = || Error::new(isc::REQ_SYNC);
        match self.state {
            State::Sending(number, step) if number == message => {
                self.state = State::At(step);
                let index = program.message(message).ok_or_else(out_of_order)?;
                let values = self.messages.get(index).ok_or_else(out_of_order)?;
                Ok(values
                    .iter()
                    .map(|value| match value {
                        Value::Blob(id) => Value::Blob(for_old_programs(*id)),
                        other => other.clone(),
                    })
                    .collect())
            }
            _ => Err(out_of_order()),
        }
    }

    /// Puts a value into an item of a message.
    pub(super) fn assign(&mut self, program: &Program, target: farbird_blr::Parameter, value: Value) {
        let index = program.message(target.message);
        let Some(values) = index.and_then(|index| self.messages.get_mut(index)) else { return };
        let flag = target.null_flag.and_then(|item| values.get_mut(usize::from(item)));
        if let Some(flag) = flag {
            *flag = Value::Integer { unscaled: -i64::from(value.is_null()), scale: 0 };
        }
        if let Some(item) = values.get_mut(usize::from(target.item)) {
            *item = value;
        }
    }
}
