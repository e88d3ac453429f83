//! How programs attach that begin alike: an op_attach without what is each one's own.

use std::time::Duration;

use farbird_wire::clumplet::{Clumplet, ClumpletReader, ClumpletWriter, dpb};
use farbird_wire::negotiation::UserIdentification;
use farbird_wire::packet::{Attach, Connect};

use super::greeting::Greeting;
use crate::message::{AttachedAhead, RequestId};

/// What tells how a program will attach.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Usual {
    greeting: Option<Greeting>,
    user: Option<Vec<u8>>,
    host: Vec<u8>,
    host_user: Vec<u8>,
    file: Vec<u8>,
}

impl Usual {
    pub(super) fn new(greeting: Option<&Greeting>, connect: &Connect, user: &UserIdentification) -> Usual {
        Usual {
            greeting: greeting.cloned(),
            user: user.login.clone(),
            host: user.host.clone(),
            host_user: user.user.clone(),
            file: connect.file.clone(),
        }
    }
}

/// What is attached ahead of a program, or is being.
#[derive(Debug)]
pub(super) struct AttachAhead {
    pub(super) id: RequestId,
    pub(super) attach: Attach,
    /// What became of it, once that is known.
    pub(super) outcome: Option<Option<AttachedAhead>>,
    /// The site's count of changed definitions and users when it was asked for.
    pub(super) changes: u64,
    /// When it is given up.
    pub(super) until: Duration,
}

/// An op_attach without what is each program's own, and without passwords.
pub(super) fn usual(attach: &Attach) -> Option<Attach> {
    without(attach, |item| item.tag == dpb::PROCESS_ID || is_proof(item))
}

/// An op_attach without passwords and the like.
pub(super) fn without_proof(attach: &Attach) -> Option<Attach> {
    without(attach, is_proof)
}

fn without(attach: &Attach, is_left_out: impl Fn(&Clumplet<'_>) -> bool) -> Option<Attach> {
    let is_wide = attach.parameters.first() == Some(&dpb::VERSION2);
    let mut writer = if is_wide { ClumpletWriter::wide_dpb() } else { ClumpletWriter::dpb() };
    for item in ClumpletReader::dpb(&attach.parameters).ok()? {
        let item = item.ok()?;
        if !is_left_out(&item) {
            writer.bytes(item.tag, item.data);
        }
    }
    Some(Attach { parameters: writer.into_bytes(), ..attach.clone() })
}

/// What proves who a program is: a server that knows that already does not look at it.
fn is_proof(item: &Clumplet<'_>) -> bool {
    matches!(
        item.tag,
        dpb::PASSWORD
            | dpb::PASSWORD_ENC
            | dpb::SPECIFIC_AUTH_DATA
            | dpb::AUTH_PLUGIN_LIST
            | dpb::AUTH_PLUGIN_NAME
    )
}

/// Whether a role is asked for: a server attaches without it if the user may not take it.
pub(super) fn has_role(attach: &Attach) -> bool {
    let items = ClumpletReader::dpb(&attach.parameters).into_iter().flatten().map_while(Result::ok);
    items.filter(|item| item.tag == dpb::SQL_ROLE_NAME).any(|item| !item.data.is_empty())
}

/// The number of a program's process, as the server would read it.
pub(super) fn process_id(attach: &Attach) -> Option<i32> {
    let items = ClumpletReader::dpb(&attach.parameters).ok()?.map_while(Result::ok);
    let last = items.filter(|item| item.tag == dpb::PROCESS_ID).last()?;
    last.integer().and_then(|number| i32::try_from(number).ok())
}
