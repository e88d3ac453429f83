//! The levels above a statement: server, database, attachment.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use farbird_types::Result;

use super::limits::SharedLimits;
use super::{Level, Limits, Resource};

/// Counts what the statements below it have taken. The server's own, the one without a parent, has limits.
#[derive(Debug)]
pub struct Account {
    parent: Option<Arc<Account>>,
    pub(super) limits: Arc<SharedLimits>,
    memory: Gauge,
    temporary: Gauge,
}

/// What is taken of a resource, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Now.
    pub used: u64,
    /// Most at any time.
    pub peak: u64,
}

#[derive(Debug, Default)]
struct Gauge {
    used: AtomicU64,
    peak: AtomicU64,
}

/// What an attachment may always have of prepared statements and the like, however little the server has left: it must be
/// possible to look around, and to stop others.
const ALWAYS_BYTES: u64 = 1 << 20;

/// What is kept beyond one run of a statement, charged to an account; given back when it is dropped.
#[derive(Debug)]
pub struct Charge {
    account: Arc<Account>,
    bytes: u64,
}

/// A thread that helps a statement: one of as many as those who work leave processors for.
#[derive(Debug)]
pub struct HelpingThread {
    limits: Arc<SharedLimits>,
}

/// A connection that does its client's work.
#[derive(Debug)]
pub struct Working {
    limits: Arc<SharedLimits>,
}

impl Drop for Working {
    fn drop(&mut self) {
        self.limits.end_working();
    }
}

impl Drop for HelpingThread {
    fn drop(&mut self) {
        self.limits.end_helping();
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.account.give_back(Resource::Memory, self.bytes);
    }
}

impl Account {
    /// A server's account.
    pub fn server(limits: Limits) -> Arc<Account> {
        Account::below(None, Arc::new(SharedLimits::new(limits)))
    }

    /// An account below this one: whatever it counts, this one counts too.
    pub fn open(self: &Arc<Self>) -> Arc<Account> {
        Account::below(Some(Arc::clone(self)), Arc::clone(&self.limits))
    }

    fn below(parent: Option<Arc<Account>>, limits: Arc<SharedLimits>) -> Arc<Account> {
        Arc::new(Account { parent, limits, memory: Gauge::default(), temporary: Gauge::default() })
    }

    /// Charges memory that is not of one running statement: all of it, and at once.
    ///
    /// # Errors
    /// `virmemexh` past the limit of a statement or of the server.
    pub fn charge(self: &Arc<Self>, bytes: usize) -> Result<Charge> {
        let bytes = bytes as u64;
        if bytes > self.limits.of(Level::Statement, Resource::Memory) {
            return Err(self.limits.exceeded(Level::Statement, Resource::Memory));
        }
        match self.usage(Resource::Memory).used.saturating_add(bytes) <= ALWAYS_BYTES {
            true => self.add(bytes),
            false => self.take(Resource::Memory, bytes)?,
        }
        Ok(Charge { account: Arc::clone(self), bytes })
    }

    /// What its statements have taken.
    pub fn usage(&self, resource: Resource) -> Usage {
        let gauge = self.gauge(resource);
        Usage { used: gauge.used.load(Ordering::Relaxed), peak: gauge.peak.load(Ordering::Relaxed) }
    }

    /// The limits of its server.
    pub fn limits(&self) -> Limits {
        self.limits.all()
    }

    /// Changes the limits of its server. Statements that have more already keep it, and get no more.
    pub fn set_limits(&self, limits: Limits) {
        self.limits.set(limits);
    }

    /// How many threads a statement of its server may use, its own included.
    pub fn parallel_workers(&self) -> usize {
        self.limits.parallel_workers()
    }

    /// Notes that a connection does its client's work, as long as what is given lives: others have fewer threads to help them.
    pub fn begin_working(&self) -> Working {
        self.limits.begin_working();
        Working { limits: Arc::clone(&self.limits) }
    }

    /// Whether threads that help should rest, since others have work to do.
    pub fn is_crowded(&self) -> bool {
        self.limits.is_crowded()
    }

    /// A place for one more thread that helps a statement, if there is one.
    pub fn helping_thread(&self) -> Option<HelpingThread> {
        self.limits.begin_helping().then(|| HelpingThread { limits: Arc::clone(&self.limits) })
    }

    /// What is left of a resource to all statements of the server.
    pub(super) fn left(&self, resource: Resource) -> u64 {
        match &self.parent {
            Some(parent) => parent.left(resource),
            None => {
                let used = self.gauge(resource).used.load(Ordering::Relaxed);
                self.limits.of(Level::Server, resource).saturating_sub(used)
            }
        }
    }

    /// Takes so much.
    ///
    /// # Errors
    /// Past the server's limit; nothing is taken then.
    pub(super) fn take(&self, resource: Resource, bytes: u64) -> Result<()> {
        let gauge = self.gauge(resource);
        let used = gauge.used.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        let taken = match &self.parent {
            Some(parent) => parent.take(resource, bytes),
            None if used > self.limits.of(Level::Server, resource) => {
                Err(self.limits.exceeded(Level::Server, resource))
            }
            None => Ok(()),
        };
        match taken {
            Ok(()) => gauge.peak.fetch_max(used, Ordering::Relaxed),
            Err(_) => gauge.used.fetch_sub(bytes, Ordering::Relaxed),
        };
        taken
    }

    /// Counts so much more memory, whatever the limits are.
    fn add(&self, bytes: u64) {
        let used = self.memory.used.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        self.memory.peak.fetch_max(used, Ordering::Relaxed);
        if let Some(parent) = &self.parent {
            parent.add(bytes);
        }
    }

    /// Gives so much back.
    pub(super) fn give_back(&self, resource: Resource, bytes: u64) {
        self.gauge(resource).used.fetch_sub(bytes, Ordering::Relaxed);
        if let Some(parent) = &self.parent {
            parent.give_back(resource, bytes);
        }
    }

    fn gauge(&self, resource: Resource) -> &Gauge {
        match resource {
            Resource::Memory => &self.memory,
            Resource::Temporary => &self.temporary,
        }
    }
}
