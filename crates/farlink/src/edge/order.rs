//! Whose turn it is.
//!
//! A program may ask on before it has its answers. What it asked is taken in its order, with these exceptions: what ends a cursor waits until
//! the fetches before it are answered, what makes an object waits until it is known which handles are free, and op_cancel overtakes
//! everything, as at a server.

use farbird_wire::packet::{Execute2, ExecuteImmediate2, Request, StatementText};

use super::Program;
use super::effect::Effect;
use super::program::Answer;
use super::statement_cache::{Kind, first_word};

/// Whether a statement ends a transaction, or what was done in it.
fn ends_transaction(text: &str) -> bool {
    matches!(first_word(text).as_str(), "commit" | "rollback")
}

/// Whether a request makes something that has a handle.
fn makes_object(request: &Request) -> bool {
    matches!(
        request,
        Request::StartTransaction { .. }
            | Request::Reconnect { .. }
            | Request::AllocateStatement(_)
            | Request::OpenBlob { .. }
            | Request::OpenBlob2(_)
            | Request::CreateBlob { .. }
            | Request::CreateBlob2(_)
            | Request::Compile { .. }
    )
}

impl Program {
    /// Whether a request waits for the answers to others before it.
    pub(super) fn must_wait(&self, request: &Request) -> bool {
        self.ends_awaited_rows(request) || self.awaits_handles(request)
    }

    /// Whether it is not known yet which handles there are for a request: a program may have foreseen them, as those of a server that takes one
    /// request after the other.
    fn awaits_handles(&self, request: &Request) -> bool {
        self.answers.iter().any(|answer| match answer {
            Answer::Asked { effect: Some(Effect::Ended { .. }), packets: None, .. } => makes_object(request),
            // SET TRANSACTION.
            Answer::Asked { effect: Some(Effect::Executed { made: 1.., .. }), packets: None, .. } => true,
            _ => false,
        })
    }

    /// Looks through what has come while nothing is taken: an op_cancel among it is for what runs now.
    pub(super) fn take_cancels(&mut self) {
        let is_attached = self.attachment.is_some() && self.attaching_again.is_none();
        while is_attached && !self.ended && self.waiting.has_room() && !self.waiting.changes_layers() {
            let before = self.decoder.unread().len();
            // What cannot be understood is met again when its turn comes.
            let Ok(Some(request)) = self.decoder.next_request() else { return };
            match request {
                Request::Cancel { kind } => {
                    self.count_request();
                    self.cancel(kind);
                }
                request => self.waiting.push(request, before - self.decoder.unread().len()),
            }
        }
    }

    /// Whether a request ends a cursor of which a fetch is not answered, at one kind of server or another: a server takes one after the
    /// other, and so the program has the rows that it has asked for before.
    fn ends_awaited_rows(&self, request: &Request) -> bool {
        let mut awaited = self.answers.iter().filter_map(|answer| match answer {
            Answer::Fetch { statement, .. } => Some(*statement),
            _ => None,
        });
        let mut in_transaction = |handle: u16| {
            awaited.any(|statement| {
                let statement = self.objects.statement_ref(statement);
                statement.is_some_and(|statement| statement.cursor.transaction() == Some(handle))
            })
        };
        match request {
            Request::Detach(_) => awaited.next().is_some(),
            Request::FreeStatement { statement: handle, .. }
            | Request::Prepare(StatementText { statement: handle, .. }) => {
                let handle = self.objects.resolve(*handle).0;
                awaited.any(|statement| statement == handle)
            }
            Request::Commit(handle)
            | Request::Rollback(handle)
            | Request::RollbackRetaining(handle)
            | Request::PrepareTransaction(handle)
            | Request::PrepareTransaction2 { transaction: handle, .. } => {
                in_transaction(self.objects.resolve(*handle).0)
            }
            // COMMIT and ROLLBACK are statements too.
            Request::ExecuteImmediate(text) | Request::ExecuteImmediate2(ExecuteImmediate2 { text, .. }) => {
                ends_transaction(&String::from_utf8_lossy(&text.sql))
                    && in_transaction(self.objects.resolve(text.transaction).0)
            }
            Request::Execute(execute) | Request::Execute2(Execute2 { execute, .. }) => {
                let statement = self.objects.statement_ref(self.objects.resolve(execute.statement).0);
                let described = statement.and_then(|statement| statement.described.as_ref());
                described.is_some_and(|described| {
                    described.kind == Kind::Other && ends_transaction(&described.shown())
                }) && in_transaction(self.objects.resolve(execute.transaction).0)
            }
            _ => false,
        }
    }
}
