//! What trace sessions are told of failing requests, and of attaches that fail.

use farbird_engine::api::AttachOptions;
use farbird_engine::session::Interrupt;
use farbird_engine::session::trace::{Event, Tracer, Traces, Watched};
use farbird_types::Error;
use farbird_wire::packet::Request;
use std::path::Path;
use std::sync::Arc;

/// The call of Firebird's API that a request is of, as it names it where it tells of errors.
pub(super) fn call_of(request: &Request) -> &'static str {
    match request {
        Request::Prepare(_) => "JStatement::prepare",
        Request::Execute(_) | Request::Execute2(_) => "JStatement::execute",
        Request::ExecuteImmediate(_) | Request::ExecuteImmediate2(_) => "JAttachment::execute",
        Request::Fetch(_) | Request::FetchScroll(_) => "JResultSet::fetchNext",
        Request::FreeStatement { .. } => "JStatement::free",
        Request::SetCursor { .. } => "JStatement::setCursorName",
        Request::StartTransaction { .. } => "JAttachment::startTransaction",
        Request::Commit(_) => "JTransaction::commit",
        Request::Rollback(_) => "JTransaction::rollback",
        Request::CommitRetaining(_) => "JTransaction::commitRetaining",
        Request::RollbackRetaining(_) => "JTransaction::rollbackRetaining",
        Request::PrepareTransaction(_) | Request::PrepareTransaction2 { .. } => "JTransaction::prepare",
        Request::Reconnect { .. } => "JAttachment::reconnectTransaction",
        Request::CreateBlob { .. } | Request::CreateBlob2(_) => "JAttachment::createBlob",
        Request::OpenBlob { .. } | Request::OpenBlob2(_) => "JAttachment::openBlob",
        Request::GetSegment(_) => "JBlob::getSegment",
        Request::PutSegment(_) | Request::BatchSegments(_) => "JBlob::putSegment",
        Request::SeekBlob { .. } => "JBlob::seek",
        Request::CloseBlob(_) => "JBlob::close",
        Request::CancelBlob(_) => "JBlob::cancel",
        Request::GetSlice(_) => "JAttachment::getSlice",
        Request::PutSlice(_) => "JAttachment::putSlice",
        Request::DatabaseInformation(_) => "JAttachment::getInfo",
        Request::BatchCreate(_) => "JStatement::createBatch",
        Request::BatchMessages(_) => "JBatch::add",
        Request::BatchExecute { .. } => "JBatch::execute",
        Request::Detach(_) => "JAttachment::detach",
        Request::DropDatabase(_) => "JAttachment::dropDatabase",
        Request::Compile { .. } => "JAttachment::compileRequest",
        Request::Start(_) | Request::StartAndReceive(_) => "JRequest::start",
        Request::StartAndSend(_) | Request::StartSendAndReceive(_) => "JRequest::startAndSend",
        Request::Send(_) => "JRequest::send",
        Request::Receive(_) => "JRequest::receive",
        Request::QueueEvents(_) => "JAttachment::queEvents",
        _ => "JAttachment",
    }
}

/// Tells of an attach that has failed, to administrators and to the user.
pub(super) fn tell_failed_attach(
    traces: &Arc<Traces>,
    path: &Path,
    options: &AttachOptions,
    creates: bool,
    error: &Error,
) {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let watched = Watched::attachment(0, path.display().to_string(), name, String::new(), options);
    let tracer = Tracer::new(Arc::clone(traces), watched, Arc::new(Interrupt::new()));
    if tracer.wants(Event::Connection) {
        tracer.connection(if creates { "FAILED CREATE_DATABASE" } else { "FAILED ATTACH_DATABASE" });
    }
    if tracer.wants(Event::Error) {
        tracer.error(if creates { "JProvider::createDatabase" } else { "JProvider::attachDatabase" }, error);
    }
    tracer.end();
}
