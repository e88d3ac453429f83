//! What a conversation holds for statements that are run ahead.

use std::collections::VecDeque;
use std::time::Duration;

use farbird_wire::message::MessageForm;
use farbird_wire::packet::StatementText;
use farbird_wire::protocol::Handle;

use crate::message::{Cursor, Fingerprint, Relation};
use crate::quick_hash::QuickMap;
use crate::speculation::{self, Isolation, Runner, RunnerLimits};

/// Why a request of the runner was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AheadStep {
    /// The origin's own transaction begins.
    Begin,
    /// A statement is made; its number.
    Allocate(u32),
    /// It is prepared.
    Prepare(u32),
    /// What does it read?
    Reads(u32),
    /// Where are the commits?
    Commit,
    /// The oldest run is executed.
    Execute,
    /// What the server says about it before a row is fetched.
    Opened,
    /// Its rows.
    Fetch,
    /// What the server says about it behind its last row.
    Ended,
}

/// A transaction of the origin's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Own {
    None,
    Coming,
    At(Handle),
    /// It could not be begun.
    Failed,
}

/// A statement of the runner.
#[derive(Debug)]
pub(super) enum Statement {
    /// It is being made and prepared; the text, and what it must be described as.
    Coming { text: Box<StatementText>, described: Fingerprint, at: Handle },
    /// It can be executed.
    Ready { at: Handle, reads: Vec<Relation> },
    /// It failed, is described otherwise or does more than read; its handle, if it has one.
    Useless { at: Handle },
}

/// A run that has been sent.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) work: speculation::Work,
    pub(super) result: speculation::Ahead,
    pub(super) is_whole: bool,
    pub(super) has_failed: bool,
}

/// What a conversation holds for statements that are run ahead.
#[derive(Debug)]
pub(super) struct AheadState {
    pub(super) runner: Option<Runner>,
    pub(super) limits: RunnerLimits,
    /// Asks of the edge so far.
    pub(super) asked: u32,
    /// How the program's transactions see others' changes.
    pub(super) isolations: QuickMap<u16, Isolation>,
    pub(super) statements: QuickMap<u32, Statement>,
    /// Numbers of statements by their op_prepare_statement.
    pub(super) numbers: QuickMap<Vec<u8>, u32>,
    pub(super) next_number: u32,
    pub(super) own: Own,
    /// What was sent and is not answered.
    pub(super) under_way: usize,
    pub(super) running: VecDeque<Running>,
    /// What waits for its statement or its transaction.
    pub(super) pending: Option<speculation::Work>,
    /// Since when the server is at what was sent first and is not answered.
    pub(super) busy_since: Duration,
}

impl AheadState {
    pub(super) fn new(limits: RunnerLimits) -> AheadState {
        AheadState {
            runner: None,
            limits,
            asked: 0,
            isolations: QuickMap::default(),
            statements: QuickMap::default(),
            numbers: QuickMap::default(),
            next_number: 0,
            own: Own::None,
            under_way: 0,
            running: VecDeque::new(),
            pending: None,
            busy_since: Duration::ZERO,
        }
    }

    /// The edge has asked something.
    pub(super) fn count_ask(&mut self) {
        self.asked = self.asked.saturating_add(1);
    }

    /// For which cursor a request was sent, if for one.
    pub(super) fn outer(&self, step: AheadStep) -> Option<Cursor> {
        match step {
            AheadStep::Begin => None,
            AheadStep::Allocate(_) | AheadStep::Prepare(_) | AheadStep::Reads(_) => {
                self.pending.as_ref().map(|work| work.outer)
            }
            AheadStep::Commit
            | AheadStep::Execute
            | AheadStep::Opened
            | AheadStep::Fetch
            | AheadStep::Ended => self.running.front().map(|running| running.work.outer),
        }
    }

    pub(super) fn runner(&mut self, form: MessageForm) -> &mut Runner {
        let limits = self.limits;
        self.runner.get_or_insert_with(|| Runner::new(limits, form))
    }
}
