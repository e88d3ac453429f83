//! BLR requests: compiled programs that exchange messages with their client (op_compile and its relatives).
//!
//! | file | subject |
//! |---|---|
//! | `program` | what a request becomes |
//! | `compile` | its statements to instructions |
//! | `translate` | its selections, values and conditions to trees of SQL |
//! | `instance` | what is kept of a request and of its instances |
//! | `run` | an instance, running from one message to the next |
//!
//! A request is compiled once and has any number of instances (levels). Each runs in a transaction until it has to wait
//! for its client. The statements inside are statements of the attachment, prepared when they are first needed.
//!
//! Source: Firebird 5.0.4, src/jrd/exe.cpp (EXE_start, EXE_send, EXE_receive, EXE_unwind), src/jrd/jrd.cpp.

mod compile;
pub(super) mod instance;
mod program;
mod run;
mod translate;

use std::collections::BTreeMap;
use std::sync::Arc;

use farbird_types::{Error, Result, Value, isc};

use crate::api::{RequestFacts, RequestHandle, RequestState, TransactionHandle};
use crate::attachment::{Attachment, HANDLES_MAX};
use instance::{Instance, RequestSlot, Waiting};
use program::Program;

/// What a byte of BLR may become: a node of a tree, about as large as a token of SQL (`farbird_budget::prepared_bytes`).
const BLR_BYTE_BYTES: usize = 256;

/// Most instances of a request (Firebird's MAX_CLONES).
const INSTANCES_MAX: usize = 1000;

/// Where owners of tables are.
const RELATIONS: &str = "RDB$RELATIONS";

impl Attachment {
    /// Compiles a request.
    ///
    /// # Errors
    /// Those of [`farbird_blr::parse`]; `isc_relnotdef`, `isc_fldnotdef` for unknown names; `isc_wish_list` for what is not
    /// built.
    pub fn compile_request(&mut self, blr: &[u8]) -> Result<RequestHandle> {
        self.check_open()?;
        if self.requests.len() >= HANDLES_MAX {
            return Err(Error::new(isc::TOO_MANY_HANDLES));
        }
        let memory = self.session.budget.charge(blr.len().saturating_mul(BLR_BYTE_BYTES))?;
        let request = farbird_blr::parse(blr)?;
        self.make_stored_table(&request.body)?;
        let program = compile::compile(&self.database().catalog(), &self.session, request)?;
        let handle = RequestHandle(self.new_handle());
        let slot = RequestSlot { program: Arc::new(program), instances: BTreeMap::new(), _memory: memory };
        self.requests.insert(handle, slot);
        Ok(handle)
    }

    /// Starts an instance, from its beginning if it is running, and runs it until it waits for its client.
    ///
    /// # Errors
    /// `isc_req_max_clones_exceeded`; `isc_virmemexh` for a new instance; what its statements fail with: it has then ended.
    pub fn start_request(
        &mut self,
        request: RequestHandle,
        level: u16,
        transaction: TransactionHandle,
    ) -> Result<()> {
        self.check_open()?;
        self.transaction(transaction)?;
        let slot = self.requests.get_mut(&request).ok_or_else(bad_handle)?;
        let program = Arc::clone(&slot.program);
        if self.restoring.is_some() && program.modifies(RELATIONS) {
            self.note_owners_told(transaction);
        }
        let slot = self.requests.get_mut(&request).ok_or_else(bad_handle)?;
        let mut instance = match slot.instances.remove(&level) {
            Some(instance) => instance,
            None if slot.instances.len() >= INSTANCES_MAX => {
                return Err(Error::new(isc::REQ_MAX_CLONES_EXCEEDED));
            }
            None => Instance::new(&program, &self.session.budget)?,
        };
        instance.begin(self, &program, transaction);
        self.run_instance(request, level, &program, instance)
    }

    /// Hands an instance a message: a value for each item. It then runs until it waits for its client again.
    ///
    /// # Errors
    /// `isc_req_sync` if it does not wait for that message; what its statements fail with.
    pub fn send_to_request(
        &mut self,
        request: RequestHandle,
        level: u16,
        message: u8,
        values: Vec<Value>,
    ) -> Result<()> {
        self.check_open()?;
        let (program, mut instance) = self.take_instance(request, level)?;
        let taken = instance.proceed(self, &program).and_then(|()| instance.take(&program, message, values));
        match taken {
            Ok(()) => self.run_instance(request, level, &program, instance),
            Err(error) => {
                self.put_instance(request, level, instance);
                Err(error)
            }
        }
    }

    /// The message that an instance hands out: a value for each item. It then runs until it waits for its client again;
    /// a failure on the way is kept for whoever asks next.
    ///
    /// # Errors
    /// `isc_req_sync` if it does not hand out that message; what its statements fail with.
    pub fn receive_from_request(
        &mut self,
        request: RequestHandle,
        level: u16,
        message: u8,
    ) -> Result<Vec<Value>> {
        self.check_open()?;
        let (program, mut instance) = self.take_instance(request, level)?;
        let given = instance.proceed(self, &program).and_then(|()| instance.give(&program, message));
        if given.is_ok() {
            instance.look_ahead(self, &program);
        }
        self.put_instance(request, level, instance);
        given
    }

    /// Whether an instance hands out a message of this number.
    pub fn hands_out(&self, request: RequestHandle, level: u16, message: u8) -> bool {
        let instance = self.requests.get(&request).and_then(|slot| slot.instances.get(&level));
        instance.is_some_and(|instance| instance.waiting() == Waiting::Sending(message))
    }

    /// Ends an instance; nothing happens if it has ended.
    ///
    /// # Errors
    /// `isc_bad_req_handle`.
    pub fn unwind_request(&mut self, request: RequestHandle, level: u16) -> Result<()> {
        let slot = self.requests.get_mut(&request).ok_or_else(bad_handle)?;
        if let Some(mut instance) = slot.instances.remove(&level) {
            instance.end(self);
            self.put_instance(request, level, instance);
        }
        Ok(())
    }

    /// Forgets a request.
    ///
    /// # Errors
    /// `isc_bad_req_handle`.
    pub fn release_request(&mut self, request: RequestHandle) -> Result<()> {
        let slot = self.requests.remove(&request).ok_or_else(bad_handle)?;
        slot.instances.into_values().for_each(|instance| instance.release(self));
        Ok(())
    }

    /// Facts about an instance.
    ///
    /// # Errors
    /// `isc_bad_req_handle`.
    pub fn request_facts(&mut self, request: RequestHandle, level: u16) -> Result<RequestFacts> {
        let slot = self.requests.get(&request).ok_or_else(bad_handle)?;
        let instance = slot.instances.get(&level);
        let state = match instance.map_or(Waiting::Ended, Instance::waiting) {
            Waiting::Ended => RequestState::Inactive,
            Waiting::Sending(message) => RequestState::Sending(message),
            Waiting::Receiving(messages) => RequestState::Receiving(messages),
        };
        let counts = instance.map(|instance| instance.counts(self)).unwrap_or_default();
        Ok(RequestFacts { state, counts })
    }

    fn run_instance(
        &mut self,
        request: RequestHandle,
        level: u16,
        program: &Program,
        mut instance: Instance,
    ) -> Result<()> {
        let outcome = instance.run(self, program);
        self.put_instance(request, level, instance);
        outcome
    }

    fn take_instance(&mut self, request: RequestHandle, level: u16) -> Result<(Arc<Program>, Instance)> {
        let slot = self.requests.get_mut(&request).ok_or_else(bad_handle)?;
        let instance = slot.instances.remove(&level).ok_or_else(|| Error::new(isc::REQ_SYNC))?;
        Ok((Arc::clone(&slot.program), instance))
    }

    fn put_instance(&mut self, request: RequestHandle, level: u16, instance: Instance) {
        if let Some(slot) = self.requests.get_mut(&request) {
            slot.instances.insert(level, instance);
        }
    }
}

fn bad_handle() -> Error {
    Error::new(isc::BAD_REQ_HANDLE)
}
