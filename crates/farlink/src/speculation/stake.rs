//! What running ahead has taken and no program has used yet: time of the server and bytes of results, for each cursor and for a program.
//!
//! The edge says how many results were used ([`Ask::AheadCredit`](crate::message::Ask::AheadCredit)), not which: each gives back what those of
//! its cursor took on average. What a cursor leaves unused when it is over stays on the program's account. There each second that was of use
//! pays for one that was not, and time passes over the rest: so a program may guess wrong for ever, but not at length.

use std::time::Duration;

/// A second of the account is forgotten in so many.
const FORGOTTEN_IN: u32 = 60;

/// Why nothing more is run ahead until results are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Budget {
    /// The server's time for one cursor.
    CursorTime,
    /// The server's time for the program.
    ProgramTime,
    /// Bytes of the program's results.
    ProgramBytes,
}

impl Budget {
    /// All of them.
    pub const ALL: [Budget; 3] = [Budget::CursorTime, Budget::ProgramTime, Budget::ProgramBytes];

    /// Its name, for people and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Budget::CursorTime => "cursor_time",
            Budget::ProgramTime => "program_time",
            Budget::ProgramBytes => "program_bytes",
        }
    }
}

/// What was done at an origin to run statements ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RunnerCounts {
    /// Statements that were run and gave a result.
    pub ran: u64,
    /// Statements that gave none: they failed, took too long, or gave too much.
    pub failed: u64,
    /// The server's time for both.
    pub time: Duration,
    /// Of it, what cursors had left unused when they were over.
    pub unused: Duration,
    /// Times that it rested because a budget was used up, in the order of [`Budget::ALL`].
    pub spent: [u64; 3],
}

impl RunnerCounts {
    /// Adds what another has counted.
    pub fn add(&mut self, other: &RunnerCounts) {
        self.ran += other.ran;
        self.failed += other.failed;
        self.time = self.time.saturating_add(other.time);
        self.unused = self.unused.saturating_add(other.unused);
        for (sum, more) in self.spent.iter_mut().zip(other.spent) {
            *sum += more;
        }
    }

    pub(super) fn count_spent(&mut self, budget: Budget) {
        let counted = self.spent.iter_mut().zip(Budget::ALL).find(|(_, of)| *of == budget);
        if let Some((count, _)) = counted {
            *count += 1;
        }
    }
}

/// What was run ahead for a cursor and is not used, as far as the edge has said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Stake {
    results: u32,
    time: Duration,
    bytes: usize,
}

impl Stake {
    pub(super) fn time(&self) -> Duration {
        self.time
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The server was at it for so long.
    pub(super) fn took(&mut self, time: Duration) {
        self.time = self.time.saturating_add(time);
    }

    /// A result of so many bytes was sent.
    pub(super) fn sent(&mut self, bytes: usize) {
        self.results = self.results.saturating_add(1);
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// So many results were used. Gives the time that they took.
    pub(super) fn used(&mut self, results: u32) -> Duration {
        if results >= self.results {
            return std::mem::take(self).time;
        }
        let share = f64::from(results) / f64::from(self.results);
        let time = self.time.mul_f64(share);
        self.results -= results;
        self.time = self.time.saturating_sub(time);
        self.bytes -= (self.bytes as f64 * share) as usize;
        time
    }
}

/// What a program has left unused for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Account {
    unused: Duration,
    as_of: Duration,
}

impl Account {
    pub(super) fn unused(&self) -> Duration {
        self.unused
    }

    /// Time passes.
    pub(super) fn pass(&mut self, now: Duration) {
        let passed = now.saturating_sub(self.as_of);
        self.as_of = now;
        self.unused = self.unused.saturating_sub(passed / FORGOTTEN_IN);
    }

    /// Time was of no use.
    pub(super) fn lost(&mut self, time: Duration) {
        self.unused = self.unused.saturating_add(time);
    }

    /// Time was of use.
    pub(super) fn used(&mut self, time: Duration) {
        self.unused = self.unused.saturating_sub(time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn what_is_used_leaves_with_its_share() {
        let mut stake = Stake::default();
        for _ in 0..4 {
            stake.took(SECOND);
            stake.sent(100);
        }
        assert_eq!(stake.used(1), SECOND);
        assert_eq!((stake.time(), stake.bytes()), (3 * SECOND, 300));
        assert_eq!(stake.used(9), 3 * SECOND, "no more than there is");
        assert_eq!((stake, stake.used(1)), (Stake::default(), Duration::ZERO));
    }

    #[test]
    fn use_and_time_pay_for_what_was_of_no_use() {
        let mut account = Account::default();
        account.pass(100 * SECOND);
        account.lost(10 * SECOND);
        account.used(4 * SECOND);
        assert_eq!(account.unused(), 6 * SECOND);
        account.pass(220 * SECOND);
        assert_eq!(account.unused(), 4 * SECOND);
        account.pass(200 * SECOND);
        assert_eq!(account.unused(), 4 * SECOND, "a clock that goes back");
        account.used(40 * SECOND);
        assert_eq!(account.unused(), Duration::ZERO, "nothing is saved up");
    }
}
