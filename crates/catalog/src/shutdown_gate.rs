//! What may not begin while somebody shuts the database down and waits for others to leave.
//!
//! How far a database is shut down stands in its properties ([`crate::ShutdownMode`]); this is only the time before.

use std::sync::atomic::{AtomicU8, Ordering};

/// What a shutdown that waits keeps from beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Denied {
    /// Nothing.
    Nothing = 0,
    /// Attachments.
    Attachments = 1,
    /// Transactions, and so attachments.
    Transactions = 2,
}

/// Lets attachments and transactions begin, or not.
#[derive(Debug, Default)]
pub struct ShutdownGate {
    denied: AtomicU8,
}

impl ShutdownGate {
    /// Whoever begins something looks at the gate after having made it known.
    pub fn deny(&self, what: Denied) {
        self.denied.store(what as u8, Ordering::SeqCst);
    }

    /// Whether somebody may attach.
    pub fn admits_attachments(&self) -> bool {
        self.denied.load(Ordering::SeqCst) == Denied::Nothing as u8
    }

    /// Whether a transaction may begin.
    pub fn admits_transactions(&self) -> bool {
        self.denied.load(Ordering::Relaxed) < Denied::Transactions as u8
    }
}
