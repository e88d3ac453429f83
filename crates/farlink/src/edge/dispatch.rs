//! Which request is whose affair.

use std::sync::Arc;

use farbird_types::isc;
use farbird_wire::packet::{Execute, Information, Reply, Request, Response};
use farbird_wire::protocol::{Handle, cancel};

use super::Program;
use super::attachment::{Attachment, Auxiliary, Purpose};
use super::bond::leaves_no_trace;
use super::counters::Saved;
use super::effect::Effect;
use super::information;
use super::objects::Object;
use super::program::Answer;
use crate::message::Ask;

impl Program {
    /// Takes a request.
    pub(super) fn request(&mut self, mut request: Request) {
        for handle in handles(&mut request).into_iter().flatten() {
            *handle = self.objects.resolve(*handle);
        }
        self.recorder.came(&request, self.now);
        let is_attached =
            self.attachment.as_ref().is_some_and(|attachment| attachment.purpose == Purpose::Database);
        match request {
            // What was asked before is answered first.
            Request::Disconnect => self.answers.push_back(Answer::End),
            Request::Dummy => {
                let mut packets = Vec::new();
                Reply::Dummy.encode(self.version(), &mut packets);
                self.answers.push_back(Answer::Ready { packets, is_lazy: false });
            }
            Request::Connect(connect) => self.connect(connect),
            _ if !self.login.is_agreed() => self.end(),
            Request::Cancel { kind } => self.cancel(kind),
            Request::AbortAuxConnection => self.quietly(&request, 0),
            Request::ContinueAuthentication(_)
            | Request::TrustedAuthentication(_)
            | Request::CryptKeyCallback(_) => self.authenticate(&request),
            Request::Crypt { plugin, .. } => self.encrypt(&plugin),
            Request::Attach(ref attach) | Request::Create(ref attach) => {
                let attach = attach.clone();
                self.attach(&request, attach, Purpose::Database);
            }
            Request::ServiceAttach(ref attach) => {
                let attach = attach.clone();
                self.attach(&request, attach, Purpose::Service);
            }
            Request::ServiceDetach(_) => self.detach(&request),
            request if is_attached => self.work_request(request),
            request => {
                self.leave_ahead();
                self.relay(&request, 0, None);
            }
        }
    }

    /// op_cancel, which has no answer.
    pub(super) fn cancel(&mut self, kind: u16) {
        // Another session would allow it.
        if kind == cancel::DISABLE {
            self.tie();
        }
        self.ask(Ask::Cancel { kind });
    }

    /// A request about the attached database.
    fn work_request(&mut self, request: Request) {
        if !leaves_no_trace(&request) {
            self.tie();
        }
        match request {
            Request::Detach(_) => self.detach(&request),
            Request::StartTransaction { database, tpb } => self.start_transaction(database, tpb),
            Request::Commit(handle) | Request::Rollback(handle) => {
                self.finish_transaction(&request, handle, false);
            }
            Request::CommitRetaining(handle) | Request::RollbackRetaining(handle) => {
                self.finish_transaction(&request, handle, true);
            }
            Request::PrepareTransaction(handle)
            | Request::PrepareTransaction2 { transaction: handle, .. } => {
                self.prepare_transaction(&request, handle.0);
            }
            Request::Reconnect { .. } => self.make(&request, |handle| Effect::Reconnected { handle }),

            Request::AllocateStatement(_) => self.allocate_statement(&request),
            Request::Prepare(text) => self.prepare(text),
            Request::StatementInformation(information) => self.statement_information(information),
            Request::Execute(mut execute) => {
                describe_parameters(&mut execute);
                self.execute(execute);
            }
            Request::Execute2(mut execute2) => {
                describe_parameters(&mut execute2.execute);
                let execute = &execute2;
                let (statement, transaction) = (execute.execute.statement.0, execute.execute.transaction.0);
                let known = self.objects.statement(statement);
                let described = known.and_then(|statement| statement.described.clone());
                self.execute_at_server(
                    Request::Execute2(execute2),
                    statement,
                    transaction,
                    described.as_ref(),
                );
            }
            Request::ExecuteImmediate(_) | Request::ExecuteImmediate2(_) => {
                self.execute_immediately(request);
            }
            Request::Fetch(fetch) => self.fetch(fetch),
            Request::SetCursor { statement, .. } => self.set_cursor(&request, statement.0),
            Request::FreeStatement { statement, option } => {
                self.free_statement(&request, statement, option);
            }

            Request::OpenBlob { .. }
            | Request::OpenBlob2(_)
            | Request::CreateBlob { .. }
            | Request::CreateBlob2(_) => self.blob_request(&request),
            Request::GetSegment(ref segment) => {
                let handle = segment.blob;
                self.use_blob(request, handle);
            }
            Request::SeekBlob { blob, .. } => self.use_blob(request, blob),
            Request::BlobInformation(ref information) => {
                let handle = information.object;
                self.use_blob(request, handle);
            }
            Request::PutSegment(ref segment) | Request::BatchSegments(ref segment) => {
                let (handle, bytes) = (segment.blob, segment.data.len());
                self.write_blob(request, handle, bytes);
            }
            Request::CloseBlob(handle) | Request::CancelBlob(handle) => self.close_blob(request, handle),

            Request::ConnectRequest { .. } => {
                // The one that it had ends at the server. Nobody is to close it from here, or that would meet the new one.
                self.auxiliary = Auxiliary::None;
                self.relay(&request, 0, Some(Effect::Auxiliary));
            }
            Request::DatabaseInformation(information) => self.database_information(information),
            Request::TransactionInformation(information) => self.transaction_information(information),
            Request::Compile { ref blr, .. } => {
                let blr = blr.clone();
                self.make(&request, |handle| Effect::Compiled { handle, blr });
            }
            Request::Release(handle) => {
                self.objects.remove(handle.0);
                self.quietly(&request, 0);
                self.answer_lazily(Response::success(), Some(Saved::Free));
            }
            // An array is not pushed with its row; reading it changes nothing.
            Request::GetSlice(_) => self.relay(&request, 0, None),
            request => self.relay_change(&request),
        }
    }

    /// A request that nothing is known about but its transaction, which it may change something in.
    fn relay_change(&mut self, request: &Request) {
        let transaction = match request {
            Request::Start(call) | Request::StartAndReceive(call) => call.transaction,
            Request::StartAndSend(send) | Request::StartSendAndReceive(send) => send.call.transaction,
            Request::Transact(transact) => transact.transaction,
            Request::Ddl { transaction, .. } => {
                self.redefined(transaction.0);
                *transaction
            }
            Request::BatchExecute { transaction, .. } => *transaction,
            Request::PutSlice(slice) => slice.transaction,
            _ => Handle::NONE,
        };
        self.wrote(transaction.0);
        self.relay(request, 0, None);
    }

    /// A request that makes something.
    fn make(&mut self, request: &Request, effect: impl FnOnce(u16) -> Effect) {
        let Some(handle) = self.objects.insert(Object::Other) else {
            return self.refuse(isc::TOO_MANY_HANDLES);
        };
        self.objects.set_latest(Some(handle));
        self.relay(request, handle, Some(effect(handle)));
    }

    /// Nobody waits for it, unless something would be rolled back.
    fn detach(&mut self, request: &Request) {
        if self.has_changes() {
            return self.relay(request, 0, Some(Effect::Detached));
        }
        self.quietly(request, 0);
        self.attachment = None;
        self.answer(Response::success(), Some(Saved::Detach));
    }

    fn database_information(&mut self, information: Information) {
        let key = match &self.attachment {
            Some(Attachment { database: Some(database), context, .. })
                if information::is_constant(&information.items) =>
            {
                Some(information::Key {
                    database: *database,
                    context: Arc::clone(context),
                    items: information.items.clone(),
                    room: information.buffer_length.0,
                })
            }
            _ => None,
        };
        if let Some(response) = key.as_ref().and_then(|key| self.site.find_information(key)) {
            return self.answer(response, Some(Saved::Information));
        }
        if let Some(key) = key {
            let effect = Some(Effect::Information { key: Box::new(key) });
            return self.relay(&Request::DatabaseInformation(information), 0, effect);
        }
        let stays = information::is_constant_of_attachment(&information.items);
        let kept = self.attachment.as_ref().filter(|_| stays).map(|attachment| &attachment.information);
        if let Some(response) = kept.and_then(|kept| kept.find(&information)) {
            return self.answer(response, Some(Saved::Information));
        }
        let effect = stays.then(|| self.to_be_kept(0, &information));
        self.relay(&Request::DatabaseInformation(information), 0, effect);
    }

    fn to_be_kept(&self, transaction: u16, asked: &Information) -> Effect {
        Effect::Kept { transaction, asked: Box::new(asked.clone()), by: self.requests }
    }

    fn transaction_information(&mut self, information: Information) {
        let handle = information.object.0;
        let stays = information::is_constant_of_transaction(&information.items);
        // One that the server commits by itself goes on with another number after each statement.
        let known = self.objects.transaction(handle).filter(|transaction| stays && !transaction.is_opaque);
        let kept = known.map(|transaction| &transaction.information);
        let (is_known, found) = (kept.is_some(), kept.and_then(|kept| kept.find(&information)));
        if let Some(response) = found {
            return self.answer(response, Some(Saved::Information));
        }
        let effect = is_known.then(|| self.to_be_kept(handle, &information));
        self.relay(&Request::TransactionInformation(information), 0, effect);
    }
}

/// Adds the BLR of its parameters to an op_execute that relies on an earlier one: that may have been answered here, and nobody
/// else has seen it.
fn describe_parameters(execute: &mut Execute) {
    if let Some(message) = execute.message.as_ref().filter(|_| execute.input_blr.is_empty()) {
        execute.input_blr = message.format().to_blr();
    }
}

/// The handles in a request that may be "the latest".
fn handles(request: &mut Request) -> [Option<&mut Handle>; 2] {
    match request {
        Request::Commit(handle)
        | Request::Rollback(handle)
        | Request::CommitRetaining(handle)
        | Request::RollbackRetaining(handle)
        | Request::PrepareTransaction(handle)
        | Request::PrepareTransaction2 { transaction: handle, .. }
        | Request::Unwind(handle)
        | Request::Release(handle)
        | Request::CloseBlob(handle)
        | Request::CancelBlob(handle)
        | Request::SeekBlob { blob: handle, .. }
        | Request::CreateBlob { transaction: handle, .. }
        | Request::OpenBlob { transaction: handle, .. }
        | Request::FreeStatement { statement: handle, .. }
        | Request::SetCursor { statement: handle, .. }
        | Request::BatchRelease(handle)
        | Request::BatchCancel(handle)
        | Request::BatchRegisterBlob { statement: handle, .. }
        | Request::BatchSetBpb { statement: handle, .. }
        | Request::Ddl { transaction: handle, .. } => [Some(handle), None],
        Request::CreateBlob2(open) | Request::OpenBlob2(open) => [Some(&mut open.transaction), None],
        Request::GetSegment(segment) | Request::PutSegment(segment) | Request::BatchSegments(segment) => {
            [Some(&mut segment.blob), None]
        }
        Request::RequestInformation(information)
        | Request::TransactionInformation(information)
        | Request::BlobInformation(information)
        | Request::StatementInformation(information)
        | Request::BatchInformation(information)
        | Request::CursorInformation(information) => [Some(&mut information.object), None],
        Request::Prepare(text) => [Some(&mut text.statement), Some(&mut text.transaction)],
        Request::ExecuteImmediate(text) => [Some(&mut text.transaction), None],
        Request::ExecuteImmediate2(execute) => [Some(&mut execute.text.transaction), None],
        Request::Execute(execute) => [Some(&mut execute.statement), Some(&mut execute.transaction)],
        Request::Execute2(execute) => {
            [Some(&mut execute.execute.statement), Some(&mut execute.execute.transaction)]
        }
        Request::Fetch(fetch) => [Some(&mut fetch.statement), None],
        Request::FetchScroll(scroll) => [Some(&mut scroll.fetch.statement), None],
        Request::BatchExecute { statement, transaction } => [Some(statement), Some(transaction)],
        Request::BatchCreate(batch) => [Some(&mut batch.statement), None],
        Request::GetSlice(slice) | Request::PutSlice(slice) => [Some(&mut slice.transaction), None],
        Request::Start(call) | Request::StartAndReceive(call) => {
            [Some(&mut call.request), Some(&mut call.transaction)]
        }
        _ => [None, None],
    }
}
