//! The core as operations and drivers hold it, and what operations wait on.
//!
//! Promises: the lock is held for moments and never across an await. Whatever future is dropped in the middle, the
//! connection stays in step: an answer nobody asks for any more is passed over, an object nobody holds is released.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use farbird_types::{Error, Result};
use farbird_wire::packet::{Reply, Request, Response};
use farbird_wire::protocol::{Handle, ProtocolVersion};

use super::conversation::{Received, Ticket};
use super::{Core, Kind, ObjectId};
use crate::error;
use crate::tuning::Tuning;

/// A connection as its users hold it: operations run over it. When the last clone is dropped the connection is
/// abandoned, and its driver closes it.
#[derive(Debug, Clone)]
pub struct Shared(Arc<Owner>);

#[derive(Debug)]
struct Owner {
    driven: Driven,
    tuning: Tuning,
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.driven.lock().abandon_all();
    }
}

/// A connection as its driver holds it.
#[derive(Debug, Clone)]
pub struct Driven(Arc<Mutex<Core>>);

impl Driven {
    /// The core, for a moment.
    pub fn lock(&self) -> MutexGuard<'_, Core> {
        // A panic inside leaves a connection that may be out of step; its requests and answers are still told apart, and
        // everything else is checked on use.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared {
    /// A connection that has not begun.
    pub fn new(tuning: Tuning) -> Shared {
        let driven = Driven(Arc::new(Mutex::new(Core::new(tuning.clone()))));
        Shared(Arc::new(Owner { driven, tuning }))
    }

    /// What a driver needs.
    pub fn driven(&self) -> Driven {
        self.0.driven.clone()
    }

    /// The core, for a moment.
    pub fn lock(&self) -> MutexGuard<'_, Core> {
        self.0.driven.lock()
    }

    /// How the connection is tuned.
    pub fn tuning(&self) -> &Tuning {
        &self.0.tuning
    }

    pub(crate) fn is(&self, other: &Shared) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    pub(crate) fn version(&self) -> ProtocolVersion {
        self.lock().version()
    }

    /// Queues a request whose answer will be asked for.
    pub(crate) fn ask(&self, request: &Request) -> Result<Question> {
        let ticket = self.lock().ask(request)?;
        Ok(self.question(ticket))
    }

    /// Queues the attach.
    pub(crate) fn ask_to_attach(&self, request: &Request) -> Result<Question> {
        let mut core = self.lock();
        let ticket = core.ask(request)?;
        core.attaches(ticket);
        drop(core);
        Ok(self.question(ticket))
    }

    /// Queues a request whose answer is of no interest.
    pub(crate) fn send(&self, request: &Request) -> Result<()> {
        self.lock().send(request).map(|_| ())
    }

    /// The question of a ticket that has a mailbox.
    pub(crate) fn question(&self, ticket: Ticket) -> Question {
        Question { shared: self.clone(), ticket, is_complete: false }
    }

    /// Asks and waits for the response.
    pub(crate) async fn response(&self, request: &Request) -> Result<Response> {
        self.ask(request)?.response().await
    }

    /// The response that a reply is.
    pub(crate) fn response_of(&self, reply: Reply) -> Result<Response> {
        match reply {
            Reply::Response(response) => checked(response),
            _ => Err(self.lock().fail(error::unexpected("a request"))),
        }
    }

    /// Asks for an object; the answer comes to the question.
    pub(crate) fn ask_for(
        &self,
        kind: Kind,
        within: Option<&ObjectRef>,
        request: &Request,
    ) -> Result<(Object, Question)> {
        let mut core = self.lock();
        let ticket = core.ask(request)?;
        let id = core.allocate(kind, within.map(|object| object.id), ticket);
        drop(core);
        Ok((self.object(id), self.question(ticket)))
    }

    /// Asks for an object; that it was refused shows when it is used.
    pub(crate) fn send_for(&self, kind: Kind, request: &Request) -> Result<Object> {
        let mut core = self.lock();
        let ticket = core.send(request)?;
        let id = core.allocate(kind, None, ticket);
        drop(core);
        Ok(self.object(id))
    }

    /// The object of this name, which is the caller's from now on.
    pub(crate) fn object(&self, id: ObjectId) -> Object {
        Object(ObjectRef { shared: self.clone(), id })
    }

    /// Waits until a question has been answered to its end; whoever is interested in the answer gets it.
    pub(crate) async fn settled(&self, ticket: Ticket) -> Result<()> {
        Settled { shared: self, ticket }.await
    }

    /// Waits until what is queued has become short enough to add to it.
    pub(crate) async fn room(&self) -> Result<()> {
        Room(self).await
    }
}

/// Waits for what comes next in answer to a question with a mailbox.
///
/// # Errors
/// The failure by which the connection was lost.
pub fn answered(shared: &Shared, ticket: Ticket) -> impl Future<Output = Result<Received>> {
    let packet = Packet { shared, ticket, is_waiting: false };
    async { packet.await.map(|(received, _)| received) }
}

struct Packet<'s> {
    shared: &'s Shared,
    ticket: Ticket,
    is_waiting: bool,
}

impl Future for Packet<'_> {
    type Output = Result<(Received, bool)>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut core = self.shared.lock();
        if let Some(taken) = core.take(self.ticket) {
            drop(core);
            self.is_waiting = false;
            return Poll::Ready(Ok(taken));
        }
        if let Some(error) = core.failure() {
            return Poll::Ready(Err(error));
        }
        core.wait(self.ticket, context.waker());
        drop(core);
        self.is_waiting = true;
        Poll::Pending
    }
}

impl Drop for Packet<'_> {
    fn drop(&mut self) {
        if self.is_waiting {
            self.shared.lock().stop_waiting(self.ticket);
        }
    }
}

struct Settled<'s> {
    shared: &'s Shared,
    ticket: Ticket,
}

impl Future for Settled<'_> {
    type Output = Result<()>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut core = self.shared.lock();
        if core.is_settled(self.ticket) {
            return Poll::Ready(Ok(()));
        }
        if let Some(error) = core.failure() {
            return Poll::Ready(Err(error));
        }
        core.wait_settled(self.ticket, context.waker());
        Poll::Pending
    }
}

struct Room<'s>(&'s Shared);

impl Future for Room<'_> {
    type Output = Result<()>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut core = self.0.lock();
        match core.failure() {
            Some(error) => Poll::Ready(Err(error)),
            None if core.has_room() => Poll::Ready(Ok(())),
            None => {
                core.wait_for_room(context.waker());
                Poll::Pending
            }
        }
    }
}

/// A question whose answer is somebody's. Dropped, the answer is passed over.
#[derive(Debug)]
pub(crate) struct Question {
    shared: Shared,
    ticket: Ticket,
    is_complete: bool,
}

impl Question {
    /// Whether this was asked before the other.
    pub(crate) fn is_before(&self, other: &Question) -> bool {
        self.ticket < other.ticket
    }

    pub(crate) fn ticket(&self) -> Ticket {
        self.ticket
    }

    /// The answer, if it is here and a response.
    pub(crate) fn try_response(&mut self) -> Option<Result<Response>> {
        let (received, is_last) = self.shared.lock().take(self.ticket)?;
        self.is_complete |= is_last;
        Some(match received {
            Received::Packet(reply) => self.shared.response_of(reply),
            Received::Rows(_) => Err(self.shared.lock().fail(error::unexpected("a request"))),
        })
    }

    /// The next packet of the answer. Must not be called once the last was given.
    ///
    /// # Cancel safety
    /// A future that is dropped takes no packet with it.
    pub(crate) async fn next(&mut self) -> Result<Reply> {
        match self.next_received().await? {
            Received::Packet(reply) => Ok(reply),
            Received::Rows(_) => Err(self.shared.lock().fail(error::unexpected("a request"))),
        }
    }

    /// As [`Question::next`], for a question whose answer is rows.
    pub(crate) async fn next_received(&mut self) -> Result<Received> {
        let (received, is_last) =
            Packet { shared: &self.shared, ticket: self.ticket, is_waiting: false }.await?;
        self.is_complete |= is_last;
        Ok(received)
    }

    /// The answer, if it is a response.
    pub(crate) async fn response(mut self) -> Result<Response> {
        let reply = self.next().await?;
        self.shared.response_of(reply)
    }
}

impl Drop for Question {
    fn drop(&mut self) {
        if !self.is_complete {
            self.shared.lock().abandon(self.ticket);
        }
    }
}

/// Something on the server that is somebody's. Dropped, the server is told so with the next flight.
#[derive(Debug)]
pub(crate) struct Object(ObjectRef);

impl std::ops::Deref for Object {
    type Target = ObjectRef;

    fn deref(&self) -> &ObjectRef {
        &self.0
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        self.shared.lock().release(self.id);
    }
}

/// An object that is somebody else's. Once that one is dropped, it has ended.
#[derive(Debug, Clone)]
pub(crate) struct ObjectRef {
    shared: Shared,
    id: ObjectId,
}

impl ObjectRef {
    pub(crate) fn id(&self) -> ObjectId {
        self.id
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// The number by which requests name it.
    ///
    /// # Errors
    /// Why the server refused it; that it has ended.
    pub(crate) async fn handle(&self) -> Result<Handle> {
        let barrier = self.shared.lock().barrier();
        if let Some(ticket) = barrier {
            Settled { shared: &self.shared, ticket }.await?;
        }
        loop {
            let known = self.shared.lock().handle(self.id)?;
            match known {
                Ok(handle) => return Ok(handle),
                Err(ticket) => Settled { shared: &self.shared, ticket }.await?,
            }
        }
    }

    /// The reason behind an error: that the object was refused after requests had named it.
    pub(crate) fn explain(&self, error: Error) -> Error {
        self.shared.lock().refusal(self.id).unwrap_or(error)
    }

    /// The request of this question may end it.
    pub(crate) fn may_be_ended_by(&self, question: &Question) {
        self.shared.lock().may_end(self.id, question.ticket);
    }

    /// Asks for its end.
    pub(crate) fn ask_to_end(&self, request: &Request) -> Result<Question> {
        let mut core = self.shared.lock();
        let ticket = core.ask(request)?;
        core.ends(self.id, ticket);
        drop(core);
        Ok(self.shared.question(ticket))
    }
}

/// The response, or the error that it carries.
pub(crate) fn checked(response: Response) -> Result<Response> {
    match response.status.error() {
        Some(error) => Err(error),
        None => Ok(response),
    }
}
