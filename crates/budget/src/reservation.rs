//! Memory that somebody has, charged to a statement.

use std::sync::Arc;

use farbird_types::Result;

use super::{Resource, StatementBudget};

/// How much more than it needs a reservation takes at a time, at most.
const STEP_BYTES_MAX: u64 = 64 << 10;

/// What somebody who can spill may always have if there is any left, however little his share is: with less, spilling
/// would be all that he does.
const SHARE_BYTES_MIN: u64 = 64 << 10;

/// Most that joins take, and sorts of rows that come one by one, which can spill: more makes them no faster.
const SHARE_BYTES_MAX: u64 = 64 << 20;

/// Memory charged to a statement; given back when it is dropped.
#[derive(Debug)]
pub struct Reservation {
    budget: Arc<StatementBudget>,
    /// What it is asked to cover.
    used: u64,
    /// What the statement was charged.
    held: u64,
}

impl StatementBudget {
    /// Memory to be charged, nothing yet.
    #[inline]
    pub fn reserve(self: &Arc<Self>) -> Reservation {
        Reservation { budget: Arc::clone(self), used: 0, held: 0 }
    }
}

impl Reservation {
    /// Covers so much more.
    ///
    /// # Errors
    /// `virmemexh` past the limit of the statement or the server; nothing more is covered then.
    #[inline]
    pub fn grow(&mut self, bytes: usize) -> Result<()> {
        let used = self.used.saturating_add(bytes as u64);
        if used > self.held {
            self.take(used - self.held)?;
        }
        self.used = used;
        Ok(())
    }

    /// Covers so much more if its share allows that: for one who can spill what he has. Each such one gets up to half
    /// of what the others have left, so that several in one statement get along.
    #[inline]
    pub fn try_grow(&mut self, bytes: usize) -> bool {
        self.try_grow_up_to(SHARE_BYTES_MAX, bytes)
    }

    /// As [`Reservation::try_grow`], for one whom spilling costs more than a join: he gets all of that share, however large
    /// it is.
    #[inline]
    pub fn try_grow_to_share(&mut self, bytes: usize) -> bool {
        self.try_grow_up_to(u64::MAX, bytes)
    }

    #[inline]
    fn try_grow_up_to(&mut self, most: u64, bytes: usize) -> bool {
        let used = self.used.saturating_add(bytes as u64);
        if used > self.held {
            let share = self.budget.share(self.held).clamp(SHARE_BYTES_MIN, most);
            if used > share || self.take(used - self.held).is_err() {
                return false;
            }
        }
        self.used = used;
        true
    }

    /// Covers so much less.
    #[inline]
    pub fn shrink(&mut self, bytes: usize) {
        self.used = self.used.saturating_sub(bytes as u64);
        let surplus = self.held - self.used;
        if surplus > 2 * STEP_BYTES_MAX {
            self.give_back(surplus);
        }
    }

    /// Covers exactly so much.
    ///
    /// # Errors
    /// As [`Reservation::grow`].
    #[inline]
    pub fn resize(&mut self, bytes: usize) -> Result<()> {
        match (bytes as u64).checked_sub(self.used) {
            Some(more) => self.grow(usize::try_from(more).unwrap_or(usize::MAX)),
            None => {
                self.shrink(usize::try_from(self.used - bytes as u64).unwrap_or(usize::MAX));
                Ok(())
            }
        }
    }

    /// Covers nothing any more.
    pub fn clear(&mut self) {
        self.used = 0;
        self.give_back(self.held);
    }

    /// What it covers.
    #[inline]
    pub fn bytes(&self) -> usize {
        usize::try_from(self.used).unwrap_or(usize::MAX)
    }

    /// The statement that is charged.
    pub fn budget(&self) -> &Arc<StatementBudget> {
        &self.budget
    }

    /// Takes what is needed, with some more: as much as there is already, so that small ones stay small.
    fn take(&mut self, needed: u64) -> Result<()> {
        let step = needed.max(self.held.min(STEP_BYTES_MAX));
        let taken = match self.budget.take(Resource::Memory, step) {
            Err(_) if step > needed => self.budget.take(Resource::Memory, needed).map(|()| needed)?,
            result => result.map(|()| step)?,
        };
        self.held += taken;
        Ok(())
    }

    fn give_back(&mut self, bytes: u64) {
        if bytes > 0 {
            self.held -= bytes;
            self.budget.give_back(Resource::Memory, bytes);
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.give_back(self.held);
    }
}
