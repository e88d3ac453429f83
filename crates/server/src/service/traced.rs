//! What trace sessions are told of a connection to the services manager.
//!
//! Names and texts are those of Firebird 5.0.4's records. Of a service's arguments only the database is told: others may be passwords.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use farbird_engine::session::Interrupt;
use farbird_engine::session::trace::{Tracer, Traces, Watched};
use farbird_wire::clumplet::spb::{action, info};
use farbird_wire::clumplet::{ClumpletReader, StartItem, StartValue, spb};

use super::text;
use crate::handshake::Identity;

/// Connections to the services so far.
static CONNECTIONS: AtomicU64 = AtomicU64::new(0);

/// A number for a connection, and the tracer that tells of it.
pub(super) fn tracer(
    traces: &Arc<Traces>,
    identity: &Identity,
    peer: SocketAddr,
    attach_block: &[u8],
) -> (u64, Tracer) {
    let number = CONNECTIONS.fetch_add(1, Ordering::Relaxed) + 1;
    let protocol = if peer.is_ipv4() { "TCPv4" } else { "TCPv6" };
    let mut client = format!("{protocol}:{}/{}", peer.ip(), peer.port());
    let (mut program, mut process) = (String::new(), 0);
    if let Ok(items) = ClumpletReader::spb_attach(attach_block) {
        for item in items.flatten() {
            match item.tag {
                spb::PROCESS_NAME => program = String::from_utf8_lossy(item.data).into_owned(),
                spb::PROCESS_ID => {
                    process =
                        item.data.iter().rev().take(4).fold(0u32, |id, byte| id << 8 | u32::from(*byte));
                }
                _ => {}
            }
        }
    }
    if !program.is_empty() {
        client += &format!(", {program}:{process}");
    }
    let watched = Watched::Service { number, user: identity.user.clone(), client };
    (number, Tracer::new(Arc::clone(traces), watched, Arc::new(Interrupt::new())))
}

/// The name of a service.
pub(super) fn name_of(service: u8) -> &'static str {
    match service {
        action::BACKUP => "Backup Database",
        action::RESTORE => "Restore Database",
        action::REPAIR => "Repair Database",
        action::ADD_USER => "Add User",
        action::DELETE_USER => "Delete User",
        action::MODIFY_USER => "Modify User",
        action::DISPLAY_USER | action::DISPLAY_USER_ADM => "Display User",
        action::PROPERTIES => "Database Properties",
        action::DB_STATS => "Database Stats",
        action::GET_FB_LOG => "Get Log File",
        action::NBAK => "Incremental Backup Database",
        action::NREST => "Incremental Restore Database",
        action::NFIX => "Fixup Database after FS Copy",
        action::TRACE_START => "Start Trace Session",
        action::TRACE_STOP => "Stop Trace Session",
        action::TRACE_SUSPEND => "Suspend Trace Session",
        action::TRACE_RESUME => "Resume Trace Session",
        action::TRACE_LIST => "List Trace Sessions",
        action::SET_MAPPING => "Set Domain Admins Mapping to RDB$ADMIN",
        action::DROP_MAPPING => "Drop Domain Admins Mapping to RDB$ADMIN",
        action::VALIDATE => "Validate Database",
        _ => "Unknown",
    }
}

/// What is told of a service's arguments.
pub(super) fn switches(items: &[StartItem]) -> String {
    text(items, spb::DBNAME).unwrap_or_default()
}

/// What is told of what was sent with a question.
pub(super) fn sent(items: &[StartItem]) -> Vec<String> {
    let told = items.iter().filter_map(|item| match (&item.value, item.tag) {
        (StartValue::Text(bytes), info::TIMEOUT) => {
            let seconds = bytes.iter().rev().take(4).fold(0u32, |value, byte| value << 8 | u32::from(*byte));
            Some(format!("set timeout: {seconds}"))
        }
        (StartValue::Text(bytes), info::LINE) => Some(format!("send line: {} bytes", bytes.len())),
        _ => None,
    });
    told.collect()
}

/// What is told of what was asked for.
pub(super) fn wanted(items: &[u8]) -> Vec<&'static str> {
    let words = |item: &u8| match *item {
        info::SVR_DB_INFO => Some("retrieve number of attachments and databases"),
        info::GET_ENV => Some("retrieve the setting of $FIREBIRD"),
        info::GET_ENV_LOCK => Some("retrieve the setting of $FIREBIRD_LOCK"),
        info::GET_ENV_MSG => Some("retrieve the setting of $FIREBIRD_MSG"),
        info::VERSION => Some("retrieve the version of the service manager"),
        info::CAPABILITIES => Some("retrieve a bitmask representing the server's capabilities"),
        info::SERVER_VERSION => Some("retrieve the version of the server engine"),
        info::IMPLEMENTATION => Some("retrieve the implementation of the Firebird server"),
        info::USER_DBPATH => Some("retrieve the path to the security database in use by the server"),
        info::LINE => Some("retrieve 1 line of service output per call"),
        info::TO_EOF => Some("retrieve as much of the server output as will fit in the supplied buffer"),
        info::LIMBO_TRANS => Some("retrieve the limbo transactions"),
        info::GET_USERS => Some("retrieve the user information"),
        info::STDIN => Some("retrieve the size of data to send to the server"),
        _ => None,
    };
    items.iter().take_while(|item| **item != super::END).filter_map(words).collect()
}
