//! Rows for those who watch a database: FARBIRD$FIGURES, FARBIRD$LOCKS, FARBIRD$LOCK_WAITS, FARBIRD$TRANSACTIONS, FARBIRD$BACKUPS,
//! RDB$BACKUP_HISTORY.
//!
//! Numbers about the whole database are for everybody. Who holds or waits for what is shown to administrators, and to others as far as
//! their own attachments are concerned; no values of rows are. Backups are for administrators of the database.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use farbird_store::backup::guid_text;
use farbird_store::{AwaitedLock, LockLevel, RelationId as StoreRelation, SweepState, TransactionId};
use farbird_types::{Result, TimestampTz};

use crate::catalog::SystemPrivilege;
use crate::clock;
use crate::system::monitor::sessions;
use crate::system::row_set::RowSet;

fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// FARBIRD$FIGURES: what the database has done since it was opened, and how it is, by names.
pub(super) fn figures(rows: &mut RowSet<'_, '_, '_>) {
    let database = rows.context.database;
    let figures = database.store.figures();
    let statistics = database.store.statistics();
    let file_bytes = std::fs::metadata(&database.path).map_or(0, |file| file.len());
    let cache_bytes = u64::try_from(database.store.options().cache_bytes).unwrap_or(u64::MAX);
    let micros = |times: &farbird_store::Times| u64::try_from(times.sum.as_micros()).unwrap_or(u64::MAX);
    let attachments = database.attachments.lock().len() as u64;
    let sweep = figures.sweep;
    for (name, value) in [
        ("ATTACHMENTS", attachments),
        ("TRANSACTIONS", statistics.active.len() as u64),
        ("LAST_COMMIT", statistics.last_commit.0),
        ("COMMITS", figures.commits),
        ("COMMIT_BATCHES", figures.commit_batches),
        ("FAILED_WRITES", figures.failed_writes),
        ("UPDATE_CONFLICTS", figures.update_conflicts),
        ("LOCK_WAITS", figures.locks.waits),
        ("LOCK_CONFLICTS", figures.locks.conflicts),
        ("LOCK_TIMEOUTS", figures.locks.timeouts),
        ("DEADLOCKS", figures.locks.deadlocks),
        ("FILE_BYTES", file_bytes),
        ("CACHE_BYTES_MAX", cache_bytes),
        ("PAGE_READS", figures.file.reads),
        ("PAGE_READ_BYTES", figures.file.read_bytes),
        ("PAGE_WRITES", figures.file.writes),
        ("PAGE_WRITTEN_BYTES", figures.file.written_bytes),
        ("PAGE_SYNCS", figures.file.page_syncs.count()),
        ("PAGE_SYNC_MICROSECONDS", micros(&figures.file.page_syncs)),
        ("LOG_BYTES", figures.file.log_bytes),
        ("LOG_SYNCS", figures.file.log_syncs.count()),
        ("LOG_SYNC_MICROSECONDS", micros(&figures.file.log_syncs)),
        ("BLOCK_CACHE_HITS", figures.block_cache.hits),
        ("BLOCK_CACHE_MISSES", figures.block_cache.misses),
        ("BLOCK_CACHE_BLOCKS", figures.block_cache.blocks),
        ("BLOCK_CACHE_UNPACKED_BYTES", figures.block_cache.unpacked_bytes),
        ("BLOCKS_READ", figures.blocks_read),
        ("BLOCKS_SKIPPED", figures.blocks_skipped),
        ("SWEEP_WORKING", u64::from(sweep.state == SweepState::Working)),
        ("SWEEP_FAILING", u64::from(sweep.state == SweepState::Failing)),
        ("SWEEP_HORIZON", sweep.horizon.0),
        ("SWEEP_BEHIND_COMMITS", statistics.last_commit.0.saturating_sub(sweep.horizon.0)),
        ("SWEEP_STEPS", sweep.steps),
        ("SWEEP_ROUNDS", sweep.rounds),
        ("SWEEP_FAILURES", sweep.failures),
    ] {
        rows.row().text("FARBIRD$NAME", name).number("FARBIRD$VALUE", number(value));
    }
}

/// Whose transactions are whose, and which of them may be seen.
struct Owners {
    attachments: HashMap<u64, u64>,
    visible: HashSet<u64>,
    all: bool,
}

impl Owners {
    fn of(rows: &RowSet<'_, '_, '_>) -> Owners {
        let all = rows.context.actor().has(&rows.catalog, SystemPrivilege::MonitorAnyAttachment);
        let visible = sessions(rows).iter().map(|session| session.id).collect();
        let mut attachments = HashMap::new();
        for session in rows.context.database.attachments.lock().values() {
            attachments.extend(session.activity.lock().transactions.keys().map(|id| (*id, session.id)));
        }
        Owners { attachments, visible, all }
    }

    /// The attachment of a transaction; none if that is in limbo.
    fn attachment(&self, transaction: TransactionId) -> Option<i64> {
        self.attachments.get(&transaction.0).map(|id| number(*id))
    }

    fn may_see(&self, transaction: TransactionId) -> bool {
        let own = self.attachments.get(&transaction.0);
        self.all || own.is_some_and(|attachment| self.visible.contains(attachment))
    }
}

/// The names of relations by the store's numbers.
fn relation_names(rows: &RowSet<'_, '_, '_>) -> HashMap<StoreRelation, String> {
    let relations = rows.catalog.relations.values();
    relations.map(|relation| (StoreRelation(relation.id.0), relation.name.clone())).collect()
}

fn level_name(level: LockLevel) -> &'static str {
    match level {
        LockLevel::SharedRead => "SHARED READ",
        LockLevel::ProtectedRead => "PROTECTED READ",
        LockLevel::SharedWrite => "SHARED WRITE",
        LockLevel::ProtectedWrite => "PROTECTED WRITE",
        LockLevel::Exclusive => "EXCLUSIVE",
    }
}

/// FARBIRD$LOCKS: a row for each transaction and each relation that it has locked, or some rows of it.
pub(super) fn locks(rows: &mut RowSet<'_, '_, '_>) {
    let (owners, names) = (Owners::of(rows), relation_names(rows));
    for lock in rows.context.database.store.held_locks() {
        if !owners.may_see(lock.transaction) {
            continue;
        }
        rows.row()
            .number("FARBIRD$TRANSACTION_ID", number(lock.transaction.0))
            .optional_number("FARBIRD$ATTACHMENT_ID", owners.attachment(lock.transaction))
            .optional_text("FARBIRD$RELATION_NAME", names.get(&lock.relation))
            .optional_text("FARBIRD$LEVEL", lock.level.map(level_name))
            .number("FARBIRD$ROWS", number(lock.rows));
    }
}

/// FARBIRD$LOCK_WAITS: a row for each transaction that waits and each one that it waits for.
pub(super) fn lock_waits(rows: &mut RowSet<'_, '_, '_>) {
    let (owners, names) = (Owners::of(rows), relation_names(rows));
    for wait in rows.context.database.store.lock_waits() {
        let (awaited, relation) = match wait.awaited {
            AwaitedLock::Row(relation, _) => ("ROW", Some(relation)),
            AwaitedLock::Relation(relation) => ("TABLE", Some(relation)),
            AwaitedLock::Definition => ("DEFINITION", None),
            AwaitedLock::End => ("TRANSACTION", None),
        };
        let waited_ms = u64::try_from(wait.waited.as_millis()).unwrap_or(u64::MAX);
        for holder in wait.holders {
            if !owners.may_see(wait.transaction) && !owners.may_see(holder) {
                continue;
            }
            rows.row()
                .number("FARBIRD$TRANSACTION_ID", number(wait.transaction.0))
                .optional_number("FARBIRD$ATTACHMENT_ID", owners.attachment(wait.transaction))
                .number("FARBIRD$HOLDER_TRANSACTION_ID", number(holder.0))
                .optional_number("FARBIRD$HOLDER_ATTACHMENT_ID", owners.attachment(holder))
                .text("FARBIRD$AWAITED", awaited)
                .optional_text("FARBIRD$RELATION_NAME", relation.and_then(|relation| names.get(&relation)))
                .number("FARBIRD$WAITED_MS", number(waited_ms));
        }
    }
}

/// FARBIRD$TRANSACTIONS: as of which commit running transactions read, and for which of them the sweep keeps old versions.
pub(super) fn transactions(rows: &mut RowSet<'_, '_, '_>) {
    let owners = Owners::of(rows);
    let store = &rows.context.database.store;
    let (statistics, horizon) = (store.statistics(), store.figures().sweep.horizon);
    for active in statistics.active {
        if !owners.may_see(active.id) {
            continue;
        }
        let since = statistics.last_commit.0.saturating_sub(active.snapshot.0);
        rows.row()
            .number("FARBIRD$TRANSACTION_ID", number(active.id.0))
            .optional_number("FARBIRD$ATTACHMENT_ID", owners.attachment(active.id))
            .number("FARBIRD$SNAPSHOT", number(active.snapshot.0))
            .number("FARBIRD$COMMITS_SINCE", number(since))
            .boolean("FARBIRD$HOLDS_SWEEP", Some(since > 0 && active.snapshot == horizon));
    }
}

/// RDB$BACKUP_HISTORY: the incremental backups that were made, oldest first. Who may read the table is a matter of privileges.
///
/// # Errors
/// From reading.
pub(super) fn backup_history(rows: &mut RowSet<'_, '_, '_>) -> Result<()> {
    let zone = rows.context.session.settings.lock().time_zone;
    for backup in rows.context.database.store.backup_history()? {
        let at = TimestampTz { utc: clock::timestamp_of_us(backup.time_us), zone };
        // As in Firebird, a backup that builds on one that was named by its GUID has no level.
        let level = (!backup.is_since_guid).then_some(i64::from(backup.level));
        rows.row()
            .number("RDB$BACKUP_ID", number(backup.id))
            .timestamp("RDB$TIMESTAMP", at)
            .optional_number("RDB$BACKUP_LEVEL", level)
            .text("RDB$GUID", &guid_text(&backup.guid))
            .number("RDB$SCN", number(backup.commit.0))
            .text("RDB$FILE_NAME", &backup.file);
    }
    Ok(())
}

/// FARBIRD$BACKUPS: the backups of this database that its server makes by itself, the newest first, and what has gone wrong.
pub(super) fn backups(rows: &mut RowSet<'_, '_, '_>) {
    let catalog = Arc::clone(&rows.catalog);
    let database = rows.context.database;
    let Some(book) = database.backups.get().filter(|_| rows.context.actor().is_administrator(&catalog))
    else {
        return;
    };
    let zone = rows.context.session.settings.lock().time_zone;
    for entry in book.of(&database.path) {
        let at = entry.at_us.map(|at| TimestampTz { utc: clock::timestamp_of_us(at), zone });
        rows.row()
            .text("FARBIRD$SCHEDULE", &entry.schedule)
            .text("FARBIRD$STATE", entry.state.name())
            .optional_text("FARBIRD$FILE_NAME", entry.file.as_ref().map(|file| file.display().to_string()))
            .optional_number("FARBIRD$BYTES", entry.bytes.map(number))
            .optional_number("FARBIRD$ROWS", entry.rows.map(number))
            .optional_number("FARBIRD$DURATION_MS", entry.duration_ms.map(number))
            .optional_text("FARBIRD$MESSAGE", entry.message);
        if let Some(at) = at {
            rows.timestamp("FARBIRD$MADE_AT", at);
        }
    }
}
