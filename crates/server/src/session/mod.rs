//! One attached database: requests in, replies out.
//!
//! | file | subject |
//! |---|---|
//! | `worker` | the connection's work from its first packet on |
//! | `attach_parameters` | what a DPB or SPB says |
//! | `maintenance` | what a DPB asks to be done with the whole database |
//! | `output` | replies on their way out |
//! | `objects` | handles |
//! | `statements`, `cursors`, `batches` | statements, their rows, batches |
//! | `requests` | BLR requests and their messages |
//! | `transactions`, `tpb` | transactions, and the blocks that say how they are to be |
//! | `blobs`, `arrays` | BLOBs by handle, slices of arrays |
//! | `events` | events: the second connection, waits |
//! | `information` | the information calls |
//! | `convert` | values between the engine's types and the client's |

mod arrays;
mod attach_parameters;
mod batches;
mod blobs;
pub(crate) mod convert;
mod crossing;
mod cursors;
mod events;
mod information;
pub(crate) mod maintenance;
mod objects;
pub(crate) mod output;
mod requests;
mod statements;
mod tpb;
mod traced;
mod transactions;
pub(crate) mod waiting;
pub(crate) mod worker;

use std::sync::Arc;

use farbird_engine::attachment::Attachment;
use farbird_engine::session::trace::Event;
use farbird_types::{CharacterSet, Error, Result, isc};
use farbird_wire::packet::{Reply, Request, Response};
use farbird_wire::status::StatusVector;
use farbird_wire::xdr::DecodeError;

use crate::auxiliary::EventsPort;
use crate::connection_input::Taken;
use crate::counts::Counts;
use events::Events;
use objects::Objects;
use output::Output;

/// What information calls tell about the line.
#[derive(Debug, Clone, Default)]
pub(crate) struct ConnectionFacts {
    pub(crate) host: String,
    pub(crate) encrypted: bool,
    pub(crate) compressed: bool,
    pub(crate) cipher: &'static str,
    /// Whether the client's system is macOS, whose socket addresses are others.
    pub(crate) is_macos: bool,
}

/// One attached database of a connection.
pub(crate) struct Session {
    events_port: EventsPort,
    /// `None` once it is detached.
    attachment: Option<Attachment>,
    /// Why it is detached, if its client did not ask for that.
    ended: Option<Error>,
    objects: Objects,
    events: Option<Events>,
    output: Output,
    /// Whether packets may be deferred.
    lazy: bool,
    character_set: CharacterSet,
    /// Largest BLOB that may travel beside its row; 0 for none.
    inline_blob_bytes_max: u32,
    line: ConnectionFacts,
    /// A detach was refused: see [`Session::detach`].
    shut_down: bool,
    /// Whether it was attached before its program asked for that, which it has not done yet.
    is_ahead: bool,
    /// What the server has done.
    counts: Arc<Counts>,
}

/// What becomes of a reply.
enum Answer {
    /// Send it now.
    Now(Response),
    /// Hold it until something else is sent (wire-protocol.md, 8.3).
    Held(Response),
    /// The request has written its own replies.
    Written,
    /// There is no reply.
    None,
    /// Answer, and end the conversation.
    Last(Response),
}

impl Session {
    /// A session over an attachment.
    #[expect(clippy::too_many_arguments, reason = "what a connection knows by then, each of its own kind")]
    pub(crate) fn new(
        events_port: EventsPort,
        attachment: Attachment,
        output: Output,
        lazy: bool,
        inline_blob_bytes_max: u32,
        line: ConnectionFacts,
        is_ahead: bool,
        counts: Arc<Counts>,
    ) -> Session {
        let character_set = attachment.session().options.character_set;
        Session {
            events_port,
            attachment: Some(attachment),
            ended: None,
            objects: Objects::default(),
            events: None,
            output,
            lazy,
            character_set,
            inline_blob_bytes_max,
            line,
            shut_down: false,
            is_ahead,
            counts,
        }
    }

    /// Whether it was attached before its program asked for that, which it has not done yet.
    pub(crate) fn is_ahead(&self) -> bool {
        self.is_ahead
    }

    /// The way out.
    pub(crate) fn output_mut(&mut self) -> &mut Output {
        &mut self.output
    }

    /// Detaches; what is left is the way out.
    pub(crate) fn into_output(self) -> Output {
        self.output
    }

    /// Detaches if somebody else has ended the session: its transactions are rolled back, and what its client asks for
    /// next is refused.
    pub(crate) fn detach_if_ended(&mut self) {
        if let Some(attachment) = self.attachment.take_if(|attachment| attachment.interrupt().is_closing()) {
            self.ended = Some(attachment.interrupt().error());
            self.objects = Objects::default();
            self.events = None;
        }
    }

    /// Answers one request. Gives false when the conversation has ended.
    pub(crate) fn handle(&mut self, taken: Taken) -> bool {
        if let Some(attachment) = &self.attachment {
            attachment.wake();
        }
        let goes_on = self.handle_awake(taken);
        if let Some(attachment) = &self.attachment {
            attachment.rest();
        }
        goes_on
    }

    fn handle_awake(&mut self, taken: Taken) -> bool {
        let Taken { request, more, next_is_quick } = taken;
        if matches!(request, Request::Disconnect) {
            return false;
        }
        let executes = matches!(
            request,
            Request::Execute(_)
                | Request::Execute2(_)
                | Request::ExecuteImmediate(_)
                | Request::ExecuteImmediate2(_)
                | Request::BatchExecute { .. }
        );
        if executes {
            self.counts.statements.count();
        }
        let call = traced::call_of(&request);
        let answer = self.answer(request, more).unwrap_or_else(|error| {
            self.counts.failed(&error);
            self.tell_error(call, &error);
            if error.has(isc::SHUTDOWN) || error.has(isc::ATT_SHUTDOWN) {
                Answer::Last(self.failure(&error))
            } else {
                Answer::Now(self.failure(&error))
            }
        });
        match answer {
            Answer::Now(response) => {
                self.output.reply(&Reply::Response(response));
                if !next_is_quick {
                    self.output.flush();
                }
            }
            Answer::Held(response) => {
                self.output.reply(&Reply::Response(response));
                if !self.lazy {
                    self.output.flush();
                }
            }
            Answer::Written => self.output.flush(),
            Answer::None => {}
            Answer::Last(response) => {
                self.output.reply(&Reply::Response(response));
                self.output.close();
                return false;
            }
        }
        true
    }

    /// Tells trace sessions of a request that has failed.
    fn tell_error(&self, call: &str, error: &Error) {
        if let Some(attachment) = &self.attachment
            && attachment.session().tracer.wants(Event::Error)
        {
            attachment.session().tracer.error(call, error);
        }
    }

    fn answer(&mut self, request: Request, more: bool) -> Result<Answer> {
        if let Some(error) = self.ended.as_ref().filter(|_| !matches!(request, Request::Detach(_))) {
            return Err(error.clone());
        }
        if self.shut_down && !matches!(request, Request::Detach(_)) {
            return Ok(self.refuse_after_detach(&request));
        }
        // The reply to an execute may wait if the client has already said what it wants next.
        let unless_more = |response| if more { Answer::Held(response) } else { Answer::Now(response) };
        Ok(match request {
            Request::AllocateStatement(_) => Answer::Held(self.allocate_statement()?),
            Request::Prepare(text) => Answer::Now(self.prepare(&text)?),
            Request::Execute(execute) => unless_more(self.execute(&execute)?),
            Request::Execute2(execute) => unless_more(self.execute2(&execute)?),
            Request::ExecuteImmediate(text) => Answer::Now(self.execute_immediate(&text)?),
            Request::ExecuteImmediate2(execute) => Answer::Now(self.execute_immediate2(&execute)?),
            Request::Fetch(fetch) => {
                self.fetch(&fetch)?;
                Answer::Written
            }
            Request::FetchScroll(fetch) => {
                self.fetch_scroll(&fetch)?;
                Answer::Written
            }
            Request::FreeStatement { statement, option } => {
                Answer::Held(self.free_statement(statement, option)?)
            }
            Request::SetCursor { statement, name, kind: _ } => {
                Answer::Now(self.set_cursor_name(statement, &name)?)
            }

            Request::StartTransaction { tpb, .. } => Answer::Now(self.start_transaction(&tpb)?),
            Request::Commit(transaction) => Answer::Now(self.commit(transaction)?),
            Request::Rollback(transaction) => Answer::Now(self.rollback(transaction)?),
            Request::PrepareTransaction(transaction) => {
                Answer::Now(self.prepare_transaction(transaction, &[])?)
            }
            Request::PrepareTransaction2 { transaction, message } => {
                Answer::Now(self.prepare_transaction(transaction, &message)?)
            }
            Request::Reconnect { transaction_id, .. } => Answer::Now(self.reconnect(&transaction_id)?),
            Request::CommitRetaining(transaction) => Answer::Now(self.commit_retaining(transaction)?),
            Request::RollbackRetaining(transaction) => Answer::Now(self.rollback_retaining(transaction)?),

            Request::CreateBlob { transaction, .. } => Answer::Now(self.create_blob(transaction, &[])?),
            Request::CreateBlob2(open) => Answer::Now(self.create_blob(open.transaction, &open.bpb)?),
            Request::OpenBlob { transaction, blob } => Answer::Now(self.open_blob(transaction, blob, &[])?),
            Request::OpenBlob2(open) => {
                Answer::Now(self.open_blob(open.transaction, open.blob, &open.bpb)?)
            }
            Request::GetSegment(segment) => Answer::Now(self.get_segments(&segment)?),
            Request::PutSegment(segment) => Answer::Now(self.put_segment(&segment)?),
            Request::BatchSegments(segments) => Answer::Now(self.put_segments(&segments)?),
            Request::SeekBlob { blob, mode, offset } => Answer::Now(self.seek_blob(blob, mode, offset)?),
            Request::CloseBlob(blob) => Answer::Now(self.close_blob(blob, false)?),
            Request::CancelBlob(blob) => Answer::Now(self.close_blob(blob, true)?),

            Request::GetSlice(slice) => {
                self.get_slice(&slice)?;
                Answer::Written
            }
            Request::PutSlice(slice) => Answer::Now(self.put_slice(&slice)?),

            Request::DatabaseInformation(information) => {
                Answer::Now(self.database_information(&information)?)
            }
            Request::TransactionInformation(information) => {
                Answer::Now(self.transaction_information(&information)?)
            }
            Request::BlobInformation(information) => Answer::Now(self.blob_information(&information)?),
            Request::StatementInformation(information) => {
                Answer::Now(self.statement_information_call(&information)?)
            }
            Request::CursorInformation(information) => Answer::Now(self.cursor_information(&information)?),
            Request::BatchInformation(information) => Answer::Now(self.batch_information(&information)?),

            Request::BatchCreate(create) => Answer::Held(self.batch_create(&create)?),
            Request::BatchMessages(messages) => Answer::Held(self.batch_messages(&messages)?),
            Request::BatchExecute { statement, transaction } => {
                let completion = self.batch_execute(statement, transaction)?;
                self.output.reply(&Reply::BatchCompletion(completion));
                Answer::Written
            }
            Request::BatchRelease(statement) => Answer::Held(self.batch_release(statement)?),
            Request::BatchCancel(statement) => Answer::Now(self.batch_cancel(statement)?),
            Request::BatchSync | Request::Ping => {
                self.attachment()?;
                Answer::Now(Response::success())
            }
            Request::BatchRegisterBlob { statement, existing, batch_id } => {
                Answer::Held(self.batch_register_blob(statement, existing, batch_id)?)
            }
            Request::BatchBlobStream(stream) => Answer::Held(self.batch_blobs(&stream)?),
            Request::BatchSetBpb { statement, bpb } => Answer::Held(self.batch_set_bpb(statement, &bpb)?),

            Request::Detach(_) => Answer::Now(self.detach()?),
            Request::DropDatabase(_) => self.drop_database()?,

            Request::Compile { blr, .. } => Answer::Now(self.compile_request(&blr)?),
            Request::Start(call) => Answer::Now(self.start_request(&call)?),
            Request::StartAndSend(send) => Answer::Now(self.start_request_and_send(&send)?),
            Request::StartAndReceive(call) => {
                self.start_request(&call)?;
                self.receive_after_start(&call)?;
                Answer::Written
            }
            Request::StartSendAndReceive(send) => {
                self.start_request_and_send(&send)?;
                self.receive_after_start(&send.call)?;
                Answer::Written
            }
            Request::Send(send) => Answer::Now(self.send_to_request(&send)?),
            Request::Receive(call) => {
                self.receive_from_request(&call)?;
                Answer::Written
            }
            Request::Unwind(request) => Answer::Now(self.unwind_request(request)?),
            Request::Release(request) => Answer::Held(self.release_request(request)?),
            Request::RequestInformation(information) => Answer::Now(self.request_information(&information)?),

            Request::ConnectRequest { .. } => Answer::Now(self.connect_request()?),
            Request::QueueEvents(events) => Answer::Now(self.queue_events(&events)?),
            Request::CancelEvents { id, .. } => Answer::Now(self.cancel_events(id)?),
            Request::AbortAuxConnection => {
                self.events = None;
                Answer::None
            }
            Request::Cancel { .. } | Request::Disconnect | Request::Dummy => Answer::None,
            // Requests of one message each way (op_transact), replication: not built yet.
            _ => return Err(Error::new(isc::WISH_LIST)),
        })
    }

    /// Detaches, unless transactions are open. As in Firebird that attachment is then shut down, so that a program which
    /// has lost count of its transactions cannot go on; a second detach, or the end of the connection, rolls them back.
    ///
    /// # Errors
    /// `isc_open_trans` with their number; `isc_bad_db_handle` if nothing is attached.
    fn detach(&mut self) -> Result<Response> {
        let attachment = self.attachment()?;
        let open = attachment.transaction_count();
        if open > 0 && !std::mem::replace(&mut self.shut_down, true) {
            return Err(Error::new(isc::OPEN_TRANS).with(i32::try_from(open).unwrap_or(i32::MAX)));
        }
        self.shut_down = false;
        self.objects = Objects::default();
        self.events = None;
        self.attachment.take().map_or(Ok(()), Attachment::detach)?;
        Ok(Response::success())
    }

    /// What everything but another detach is answered after a detach that was refused.
    fn refuse_after_detach(&mut self, request: &Request) -> Answer {
        match request {
            Request::AbortAuxConnection | Request::Cancel { .. } | Request::Dummy => Answer::None,
            _ => Answer::Now(self.failure(&Error::new(isc::ATT_SHUTDOWN))),
        }
    }

    fn drop_database(&mut self) -> Result<Answer> {
        let Some(attachment) = self.attachment.take() else { return Err(Error::new(isc::BAD_DB_HANDLE)) };
        match attachment.drop_database() {
            Ok(()) => {
                self.objects = Objects::default();
                self.events = None;
                Ok(Answer::Now(Response::success()))
            }
            Err((attachment, error)) => {
                self.attachment = Some(*attachment);
                Err(error)
            }
        }
    }

    fn attachment(&mut self) -> Result<&mut Attachment> {
        self.attachment.as_mut().ok_or_else(|| Error::new(isc::BAD_DB_HANDLE))
    }

    /// Whether the client has asked for something else meanwhile.
    fn is_input_waiting(&self) -> bool {
        self.output.is_input_waiting()
    }

    /// A failure, with its texts in the client's character set.
    fn failure(&self, error: &Error) -> Response {
        let hidden = self.attachment.as_ref().and_then(|attachment| {
            let (full, shown) = (attachment.database().shown_path(true), attachment.shown_path());
            (full != shown).then(|| error.clone().with_texts(|text| text.replace(&full, &shown)))
        });
        let error = hidden.as_ref().unwrap_or(error);
        let encode = |text: &str| match self.character_set.encode(text) {
            Ok(bytes) => bytes.into_owned(),
            Err(_) => text.chars().map(|c| if c.is_ascii() { c as u8 } else { b'?' }).collect(),
        };
        Response { status: StatusVector::from_error_with(error, encode), ..Response::success() }
    }

    /// Text of a client, which is in the connection's character set.
    fn decode_text(&self, bytes: &[u8]) -> Result<String> {
        if matches!(self.character_set, CharacterSet::NONE | CharacterSet::OCTETS) {
            // No character set said: UTF-8 if it is that; else the bytes stand for themselves, so that they come
            // back as they came.
            return Ok(match std::str::from_utf8(bytes) {
                Ok(text) => text.to_owned(),
                Err(_) => bytes.iter().map(|byte| char::from(*byte)).collect(),
            });
        }
        Ok(self.character_set.decode(bytes)?.into_owned())
    }
}

/// A message that its own decoder has accepted and that cannot be read all the same.
fn undecodable(error: DecodeError) -> Error {
    Error::new(isc::RANDOM).with(error.to_string())
}
