//! What the parts of running plans have done: for EXPLAIN ANALYZE and RDB$PROFILER. Whoever does not ask for it has no [`Measurements`] in its
//! context, and nothing is measured.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use farbird_budget::{Resource, StatementBudget};
use farbird_session::profile::Span;
use parking_lot::Mutex;

/// What the parts of the plans of a statement have done, and of everything that it has called.
#[derive(Debug)]
pub struct Measurements {
    budget: Arc<StatementBudget>,
    parts: Mutex<HashMap<usize, Arc<Measured>>>,
}

/// What one part has done.
#[derive(Debug)]
pub struct Measured {
    figures: Mutex<Figures>,
    budget: Arc<StatementBudget>,
}

/// What a part has done in all its runs together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Figures {
    /// How often it was opened.
    pub loops: u64,
    /// Rows that it handed out.
    pub rows: u64,
    /// Time spent in it, and in what it asked for rows.
    pub time: Duration,
    /// Most memory that it had at a time, in bytes, without what it asked for rows.
    pub memory_peak: u64,
    /// What it wrote to temporary files, in bytes.
    pub spilled: u64,
    /// Of a table that is scanned: what of it was looked at.
    pub scanned: Option<Scanned>,
    /// Of that time: what it took to be opened.
    pub opened: Span,
    /// How often it was asked for a row, and what that took; where rows come in batches each counts with its share.
    pub fetched: Span,
}

/// What a scan by columns has looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Scanned {
    /// Rows that were looked at.
    pub rows: u64,
    /// Blocks of rows that were read.
    pub blocks_read: u64,
    /// Blocks that were passed over: what is known of them says that no row of theirs is wanted.
    pub blocks_skipped: u64,
    /// Rows that met all conditions and were dropped, since the join above has no such key.
    pub without_partner: u64,
}

impl Measurements {
    /// Nothing done yet. All that is taken is taken of this budget.
    pub fn new(budget: &Arc<StatementBudget>) -> Measurements {
        Measurements { budget: budget.part(), parts: Mutex::default() }
    }

    /// What the statement as a whole is to be charged to.
    pub fn budget(&self) -> &Arc<StatementBudget> {
        &self.budget
    }

    /// A part of a plan, by a number that no other one has while the plan lives: its address.
    pub fn part(&self, number: usize) -> Arc<Measured> {
        let new = || Arc::new(Measured { figures: Mutex::default(), budget: self.budget.part() });
        Arc::clone(self.parts.lock().entry(number).or_insert_with(new))
    }

    /// What a part has done since this was asked last; nothing if it never ran.
    pub fn take(&self, number: usize) -> Option<Figures> {
        self.parts.lock().get(&number).map(|part| std::mem::take(&mut *part.figures.lock()))
    }

    /// What a part has done; nothing if it never ran.
    pub fn figures(&self, number: usize) -> Option<Figures> {
        self.parts.lock().get(&number).map(|part| part.figures())
    }
}

impl Measured {
    /// What it is to be charged to while it runs.
    pub fn budget(&self) -> &Arc<StatementBudget> {
        &self.budget
    }

    /// Takes note of something that it has done.
    pub fn note(&self, note: impl FnOnce(&mut Figures)) {
        note(&mut self.figures.lock());
    }

    fn figures(&self) -> Figures {
        Figures {
            memory_peak: self.budget.usage(Resource::Memory).peak,
            spilled: self.budget.taken_in_all(Resource::Temporary),
            ..*self.figures.lock()
        }
    }
}
