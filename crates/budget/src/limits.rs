//! The limits, which may change while statements run, and the errors of those who meet them.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use farbird_types::{Error, isc};
use parking_lot::RwLock;

use super::{Level, Resource};

const MIB: u64 = 1 << 20;

/// How much statements may take; bytes. `u64::MAX` is no limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Memory of one statement.
    pub statement_memory: u64,
    /// Memory of all statements together.
    pub server_memory: u64,
    /// Temporary space of one statement.
    pub statement_temporary: u64,
    /// Temporary space of all statements together.
    pub server_temporary: u64,
    /// Where temporary files are made.
    pub temporary_folder: PathBuf,
    /// How many threads one statement may use, its own included; at least 1. While other connections work it has fewer, so that all
    /// that work have no more together, or none beside their own.
    pub parallel_workers: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            statement_memory: 256 * MIB,
            server_memory: 2_048 * MIB,
            statement_temporary: 8_192 * MIB,
            server_temporary: 32_768 * MIB,
            temporary_folder: std::env::temp_dir(),
            parallel_workers: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

/// The limits of a server, shared by all its levels.
#[derive(Debug)]
pub(super) struct SharedLimits {
    statement_memory: AtomicU64,
    server_memory: AtomicU64,
    statement_temporary: AtomicU64,
    server_temporary: AtomicU64,
    temporary_folder: RwLock<PathBuf>,
    parallel_workers: AtomicUsize,
    /// Threads that help statements now.
    helping: AtomicUsize,
    /// Connections that do their clients' work now.
    working: AtomicUsize,
}

impl SharedLimits {
    pub(super) fn new(limits: Limits) -> SharedLimits {
        SharedLimits {
            statement_memory: AtomicU64::new(limits.statement_memory),
            server_memory: AtomicU64::new(limits.server_memory),
            statement_temporary: AtomicU64::new(limits.statement_temporary),
            server_temporary: AtomicU64::new(limits.server_temporary),
            temporary_folder: RwLock::new(limits.temporary_folder),
            parallel_workers: AtomicUsize::new(limits.parallel_workers),
            helping: AtomicUsize::new(0),
            working: AtomicUsize::new(0),
        }
    }

    pub(super) fn set(&self, limits: Limits) {
        self.statement_memory.store(limits.statement_memory, Ordering::Relaxed);
        self.server_memory.store(limits.server_memory, Ordering::Relaxed);
        self.statement_temporary.store(limits.statement_temporary, Ordering::Relaxed);
        self.server_temporary.store(limits.server_temporary, Ordering::Relaxed);
        *self.temporary_folder.write() = limits.temporary_folder;
        self.parallel_workers.store(limits.parallel_workers, Ordering::Relaxed);
    }

    pub(super) fn all(&self) -> Limits {
        Limits {
            statement_memory: self.of(Level::Statement, Resource::Memory),
            server_memory: self.of(Level::Server, Resource::Memory),
            statement_temporary: self.of(Level::Statement, Resource::Temporary),
            server_temporary: self.of(Level::Server, Resource::Temporary),
            temporary_folder: self.temporary_folder(),
            parallel_workers: self.parallel_workers(),
        }
    }

    pub(super) fn parallel_workers(&self) -> usize {
        self.parallel_workers.load(Ordering::Relaxed)
    }

    /// Counts one more thread that helps, if there may be one.
    pub(super) fn begin_helping(&self) -> bool {
        let most = self.parallel_workers().saturating_sub(self.working());
        let more = |helping| (helping < most).then_some(helping + 1);
        self.helping.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    /// Whether there are more threads at work than there may be, those that help among them.
    pub(super) fn is_crowded(&self) -> bool {
        self.working() + self.helping.load(Ordering::Relaxed) > self.parallel_workers()
    }

    /// How many threads do clients' work: the one that asks is always among them.
    fn working(&self) -> usize {
        self.working.load(Ordering::Relaxed).max(1)
    }

    /// Counts one more connection that works.
    pub(super) fn begin_working(&self) {
        self.working.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts one less.
    pub(super) fn end_working(&self) {
        self.working.fetch_sub(1, Ordering::Relaxed);
    }

    /// Counts one less that helps.
    pub(super) fn end_helping(&self) {
        self.helping.fetch_sub(1, Ordering::Relaxed);
    }

    pub(super) fn of(&self, level: Level, resource: Resource) -> u64 {
        let limit = match (level, resource) {
            (Level::Statement, Resource::Memory) => &self.statement_memory,
            (Level::Server, Resource::Memory) => &self.server_memory,
            (Level::Statement, Resource::Temporary) => &self.statement_temporary,
            (Level::Server, Resource::Temporary) => &self.server_temporary,
        };
        limit.load(Ordering::Relaxed)
    }

    pub(super) fn temporary_folder(&self) -> PathBuf {
        self.temporary_folder.read().clone()
    }

    /// The error of who meets a limit. Firebird has no limits of this kind: the codes are those of memory and disks
    /// that are used up, the text names the setting.
    pub(super) fn exceeded(&self, level: Level, resource: Resource) -> Error {
        let (code, what) = match resource {
            Resource::Memory => (isc::VIRMEMEXH, "memory"),
            Resource::Temporary => (isc::OUT_OF_TEMP_SPACE, "temporary space"),
        };
        let (whose, setting) = match (level, resource) {
            (Level::Statement, Resource::Memory) => ("of a statement", "statement-memory-mib"),
            (Level::Server, Resource::Memory) => ("of all statements of the server", "server-memory-mib"),
            (Level::Statement, Resource::Temporary) => ("of a statement", "statement-temporary-mib"),
            (Level::Server, Resource::Temporary) => {
                ("of all statements of the server", "server-temporary-mib")
            }
        };
        let limit = shown(self.of(level, resource));
        Error::new(code)
            .and(isc::RANDOM)
            .with(format!("the {what} {whose} is limited to {limit} ({setting})"))
    }
}

fn shown(bytes: u64) -> String {
    match bytes {
        bytes if bytes >= MIB && bytes.is_multiple_of(MIB) => format!("{} MiB", bytes / MIB),
        bytes => format!("{bytes} bytes"),
    }
}
