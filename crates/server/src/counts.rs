//! What a server has done since its start: relaxed counters, which nobody waits for. `metrics` tells them.

use std::sync::atomic::{AtomicU64, Ordering};

use farbird_types::{Error, isc};

/// What a server has done since its start.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Connections that were accepted.
    pub(crate) connections: Counter,
    /// Of them, those that have ended.
    pub(crate) connections_ended: Counter,
    /// Connections that were turned away, there being as many as there may be.
    pub(crate) connections_refused: Counter,
    /// Users who were let in.
    pub(crate) logins: Counter,
    /// Logins that were refused.
    pub(crate) logins_refused: Counter,
    /// Databases attached or created.
    pub(crate) attaches: Counter,
    /// Databases that could not be.
    pub(crate) attaches_failed: Counter,
    /// Statements and batches executed, those that have failed included.
    pub(crate) statements: Counter,
    /// Errors that clients were told in their sessions, by [`ErrorKind`].
    errors: [Counter; ErrorKind::ALL.len()],
}

/// A number that only grows.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    /// One more.
    pub(crate) fn count(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// How many there were.
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// What kind of error it is, as far as an administrator does something else about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorKind {
    /// Others came first: deadlocks, update conflicts, lock timeouts.
    Conflict,
    /// A key, a check, a NOT NULL.
    Constraint,
    /// The statement was cancelled, or its session was ended.
    Cancelled,
    /// It took too long.
    Timeout,
    /// It may not be done by this user.
    Privilege,
    /// Memory, temporary space or disk are used up, or the disk has failed.
    Resource,
    /// The file is damaged.
    Corruption,
    /// A statement that cannot be understood, and all else.
    Other,
}

impl ErrorKind {
    /// All of them, in the order of their numbers.
    pub(crate) const ALL: [ErrorKind; 8] = [
        ErrorKind::Conflict,
        ErrorKind::Constraint,
        ErrorKind::Cancelled,
        ErrorKind::Timeout,
        ErrorKind::Privilege,
        ErrorKind::Resource,
        ErrorKind::Corruption,
        ErrorKind::Other,
    ];

    /// Its name in metrics.
    pub(crate) fn name(self) -> &'static str {
        match self {
            ErrorKind::Conflict => "conflict",
            ErrorKind::Constraint => "constraint",
            ErrorKind::Cancelled => "cancelled",
            ErrorKind::Timeout => "timeout",
            ErrorKind::Privilege => "privilege",
            ErrorKind::Resource => "resource",
            ErrorKind::Corruption => "corruption",
            ErrorKind::Other => "other",
        }
    }

    fn of(error: &Error) -> ErrorKind {
        let has = |codes: &[u32]| codes.iter().any(|code| error.has(*code));
        if error.is_timed_out() {
            ErrorKind::Timeout
        } else if error.is_cancelled() {
            ErrorKind::Cancelled
        } else if error.is_conflict() {
            ErrorKind::Conflict
        } else if error.is_constraint_violation() {
            ErrorKind::Constraint
        } else if has(&[isc::NO_PRIV, isc::MISS_PRVLG, isc::ADM_TASK_DENIED]) {
            ErrorKind::Privilege
        } else if has(&[isc::DB_CORRUPT]) {
            ErrorKind::Corruption
        } else if has(&[isc::VIRMEMEXH, isc::OUT_OF_TEMP_SPACE, isc::IO_ERROR]) {
            ErrorKind::Resource
        } else {
            ErrorKind::Other
        }
    }
}

impl Counts {
    /// A client is told of an error.
    pub(crate) fn failed(&self, error: &Error) {
        if let Some(counter) = self.errors.get(ErrorKind::of(error) as usize) {
            counter.count();
        }
    }

    /// Errors by their kinds.
    pub(crate) fn errors(&self) -> impl Iterator<Item = (ErrorKind, u64)> + '_ {
        ErrorKind::ALL.into_iter().zip(self.errors.iter().map(Counter::get))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_told_apart_by_what_is_to_be_done() {
        let counts = Counts::default();
        for code in [isc::DEADLOCK, isc::UNIQUE_KEY_VIOLATION, isc::NO_PRIV, isc::DSQL_ERROR, isc::VIRMEMEXH]
        {
            counts.failed(&Error::new(code));
        }
        let seen: Vec<_> =
            counts.errors().filter(|(_, count)| *count > 0).map(|(kind, _)| kind.name()).collect();
        assert_eq!(seen, ["conflict", "constraint", "privilege", "resource", "other"]);
        for (place, kind) in ErrorKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, place);
        }
    }
}
