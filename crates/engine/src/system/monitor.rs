//! Rows about the live server: MON$ tables.
//!
//! Administrators see everybody's attachments, others their own, and may stop them by DELETE. What was counted of pages and
//! records is in `counters`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use farbird_types::{Error, Result, TimestampTz, Value, ZoneId, isc};

use crate::api::Isolation;
use crate::budget::{Resource, Usage};
use crate::catalog::Relation;
use crate::catalog::SystemPrivilege;
use crate::clock;
use crate::expression::ExecutionContext;
use crate::session::{Session, StatementState, StopReason};
use crate::system::row_set::RowSet;

/// Major and minor version of the on-disk structure that tools take for Firebird 5's.
const ODS_VERSION: (i64, i64) = (13, 1);

/// MON$STAT_GROUP, with the first statistics id of each group.
pub(super) const DATABASE_GROUP: i64 = 0;
pub(super) const ATTACHMENT_GROUP: i64 = 1;
pub(super) const TRANSACTION_GROUP: i64 = 2;
pub(super) const STATEMENT_GROUP: i64 = 3;

/// MON$STAT_ID: an INTEGER; the groups have a range of numbers each.
pub(super) fn stat_id(group: i64, number: u64) -> i64 {
    const IDS_PER_GROUP: u64 = 500_000_000;
    group * 500_000_000 + i64::try_from(number % IDS_PER_GROUP).unwrap_or(0)
}

pub(super) fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

pub(super) fn database(rows: &mut RowSet<'_, '_, '_>) {
    let catalog = Arc::clone(&rows.catalog);
    let database = rows.context.database;
    let statistics = database.store.statistics();
    let properties = &catalog.database;
    let created = TimestampTz {
        utc: clock::timestamp_of_us(properties.created_us),
        zone: rows.context.cast.session_zone,
    };
    let next_attachment = sessions(rows).iter().map(|session| session.id).max().unwrap_or(0) + 1;
    let page_size = i64::from(properties.page_size).max(1);
    let file_bytes = std::fs::metadata(&database.path).map_or(0, |file| number(file.len()));
    let path = shown_path(rows);
    rows.row()
        .text("MON$DATABASE_NAME", &path)
        .number("MON$PAGE_SIZE", properties.page_size)
        .number("MON$ODS_MAJOR", ODS_VERSION.0)
        .number("MON$ODS_MINOR", ODS_VERSION.1)
        .number("MON$OLDEST_TRANSACTION", number(statistics.oldest_transaction.0))
        .number("MON$OLDEST_ACTIVE", number(statistics.oldest_active.0))
        .number("MON$OLDEST_SNAPSHOT", number(statistics.oldest_snapshot.0))
        .number("MON$NEXT_TRANSACTION", number(statistics.next_transaction.0))
        .number("MON$PAGE_BUFFERS", number(database.page_buffers(properties.page_size.into())))
        .number("MON$SQL_DIALECT", properties.dialect)
        .number("MON$SHUTDOWN_MODE", properties.shutdown.number())
        .number("MON$SWEEP_INTERVAL", properties.sweep_interval)
        .flag("MON$READ_ONLY", properties.read_only)
        .number("MON$FORCED_WRITES", 1)
        .number("MON$RESERVE_SPACE", 1)
        .timestamp("MON$CREATION_DATE", created)
        .number("MON$PAGES", file_bytes / page_size)
        .number("MON$STAT_ID", stat_id(DATABASE_GROUP, 1))
        .number("MON$BACKUP_STATE", 0)
        .number("MON$CRYPT_PAGE", 0)
        .text("MON$OWNER", &properties.owner)
        .text("MON$SEC_DATABASE", "Default")
        .number("MON$CRYPT_STATE", 0)
        .text("MON$GUID", &properties.guid)
        .text("MON$FILE_ID", &properties.guid.replace(['{', '}', '-'], ""))
        .number("MON$NEXT_ATTACHMENT", number(next_attachment))
        .number("MON$NEXT_STATEMENT", 0)
        .number("MON$REPLICA_MODE", 0);
}

/// DELETE of a row of MON$ATTACHMENTS ends that session, of MON$STATEMENTS cancels what its attachment runs: at once,
/// whatever becomes of the transaction. One's own session is not affected. `row` is by slot.
///
/// Source: Firebird 5.0.4 as observed.
///
/// # Errors
/// `read_only` for the other tables.
pub(crate) fn stop(context: &ExecutionContext<'_>, relation: &Relation, row: &[Value]) -> Result<()> {
    let ends_session = match relation.name.as_str() {
        "MON$ATTACHMENTS" => true,
        "MON$STATEMENTS" => false,
        _ => return Err(Error::new(isc::READ_ONLY)),
    };
    let slot = relation.column("MON$ATTACHMENT_ID").map(|column| usize::from(column.field_id));
    let Some(Value::Integer { unscaled, .. }) = slot.and_then(|slot| row.get(slot)) else { return Ok(()) };
    let session = context.database.attachments.lock().get(&unscaled.unsigned_abs()).cloned();
    let Some(session) = session.filter(|session| session.id != context.session.id) else { return Ok(()) };
    let interrupt = &session.interrupt;
    let told = |what: &str| {
        tracing::info!(by = context.session.options.user, attachment = session.id, "told to stop {what}");
    };
    // Should what runs end meanwhile, it is not what runs next that is cancelled.
    let execution = interrupt.execution();
    if ends_session {
        told("its session");
        interrupt.raise(StopReason::AttachmentClosed);
    } else if session.is_running() {
        told("its statement");
        interrupt.cancel_execution(execution);
    }
    Ok(())
}

fn shown_path(rows: &RowSet<'_, '_, '_>) -> String {
    let is_administrator = rows.context.actor().is_administrator(&rows.catalog);
    rows.context.database.shown_path(is_administrator)
}

/// The attachments that may be seen.
pub(super) fn sessions(rows: &RowSet<'_, '_, '_>) -> Vec<Arc<Session>> {
    let actor = rows.context.actor();
    let all = actor.has(&rows.catalog, SystemPrivilege::MonitorAnyAttachment);
    let attachments = rows.context.database.attachments.lock();
    attachments.values().filter(|session| all || session.options.user == actor.user).cloned().collect()
}

pub(super) fn attachments(rows: &mut RowSet<'_, '_, '_>) {
    let name = shown_path(rows);
    let zone = rows.context.now.zone;
    for session in sessions(rows) {
        let client = &session.options.client;
        let settings = session.settings.lock().clone();
        let optional = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        rows.row()
            .number("MON$ATTACHMENT_ID", number(session.id))
            .number("MON$SERVER_PID", std::process::id())
            .flag("MON$STATE", session.is_running())
            .text("MON$ATTACHMENT_NAME", &name)
            .text("MON$USER", &session.options.user)
            .text("MON$ROLE", settings.role.as_deref().unwrap_or("NONE"))
            .optional_text("MON$REMOTE_PROTOCOL", optional(&client.protocol))
            .optional_text("MON$REMOTE_ADDRESS", optional(&client.address))
            .optional_number("MON$REMOTE_PID", settings.process_id)
            .number("MON$CHARACTER_SET_ID", session.options.character_set.0)
            .timestamp("MON$TIMESTAMP", session.attached_at)
            .number("MON$GARBAGE_COLLECTION", 1)
            .optional_text("MON$REMOTE_PROCESS", optional(&client.process_name))
            .number("MON$STAT_ID", stat_id(ATTACHMENT_GROUP, session.id))
            .optional_text("MON$CLIENT_VERSION", optional(&client.client_version))
            .optional_text("MON$REMOTE_VERSION", optional(&client.remote_version))
            .optional_text("MON$REMOTE_HOST", optional(&client.host))
            .optional_text("MON$REMOTE_OS_USER", optional(&client.os_user))
            .optional_text("MON$AUTH_METHOD", optional(&client.authentication))
            .number("MON$SYSTEM_FLAG", 0)
            .number("MON$IDLE_TIMEOUT", session.interrupt.idle.seconds())
            .optional_timestamp("MON$IDLE_TIMER", idle_until(&session, zone))
            .number("MON$STATEMENT_TIMEOUT", milliseconds(settings.statement_timeout))
            .boolean("MON$WIRE_COMPRESSED", Some(client.wire_compressed))
            .boolean("MON$WIRE_ENCRYPTED", Some(!client.wire_crypt.is_empty()))
            .optional_text("MON$WIRE_CRYPT_PLUGIN", optional(&client.wire_crypt))
            .text("MON$SESSION_TIMEZONE", &settings.time_zone.to_string())
            .number("MON$PARALLEL_WORKERS", i64::try_from(session.parallel_workers()).unwrap_or(i64::MAX));
    }
}

/// When a session that is idle now has been idle for too long.
fn idle_until(session: &Session, zone: ZoneId) -> Option<TimestampTz> {
    let now = clock::now(zone);
    let left = session.interrupt.idle.ends_at()?.saturating_duration_since(Instant::now());
    Some(TimestampTz { utc: clock::later(now.utc, left), zone: now.zone })
}

fn milliseconds(timeout: Option<Duration>) -> i64 {
    timeout.map_or(0, |timeout| i64::try_from(timeout.as_millis()).unwrap_or(i64::MAX))
}

/// MON$ISOLATION_MODE.
fn isolation_mode(isolation: Isolation) -> i64 {
    match isolation {
        Isolation::TableStability => 0,
        Isolation::Snapshot => 1,
        Isolation::ReadCommitted => 4,
    }
}

pub(super) fn transactions(rows: &mut RowSet<'_, '_, '_>) {
    let statistics = rows.context.database.store.statistics();
    for session in sessions(rows) {
        let activity = session.activity.lock().clone();
        for (id, transaction) in &activity.transactions {
            let running = activity.statements.values().any(|statement| {
                statement.transaction() == Some(*id) && statement.state() == StatementState::Active
            });
            let in_store = statistics.active.iter().find(|active| active.id.0 == *id);
            let parameters = &transaction.parameters;
            let lock_timeout = parameters
                .lock_timeout
                .map_or(-1, |timeout| i64::try_from(timeout.as_secs()).unwrap_or(i64::from(i16::MAX)));
            rows.row()
                .number("MON$TRANSACTION_ID", number(*id))
                .number("MON$ATTACHMENT_ID", number(session.id))
                .flag("MON$STATE", running)
                .timestamp("MON$TIMESTAMP", transaction.started_at)
                .number("MON$TOP_TRANSACTION", number(*id))
                .number("MON$OLDEST_TRANSACTION", number(statistics.oldest_transaction.0))
                .number("MON$OLDEST_ACTIVE", number(in_store.map_or(*id, |active| active.oldest_active.0)))
                .number("MON$ISOLATION_MODE", isolation_mode(parameters.isolation))
                .number("MON$LOCK_TIMEOUT", lock_timeout)
                .flag("MON$READ_ONLY", parameters.read_only)
                .flag("MON$AUTO_COMMIT", parameters.auto_commit)
                .flag("MON$AUTO_UNDO", !parameters.no_auto_undo)
                .number("MON$STAT_ID", stat_id(TRANSACTION_GROUP, *id));
        }
    }
}

pub(super) fn statements(rows: &mut RowSet<'_, '_, '_>) {
    for session in sessions(rows) {
        let activity = session.activity.lock().clone();
        for (id, statement) in &activity.statements {
            rows.row()
                .number("MON$STATEMENT_ID", number(*id))
                .number("MON$ATTACHMENT_ID", number(session.id))
                .number("MON$STATE", statement.state() as u8)
                .blob("MON$SQL_TEXT", Some(&statement.sql))
                .number("MON$STAT_ID", stat_id(STATEMENT_GROUP, *id))
                .number("MON$STATEMENT_TIMEOUT", statement.timeout_ms())
                .number("MON$COMPILED_STATEMENT_ID", number(*id));
            if let Some(since) = statement.running_since() {
                rows.optional_number("MON$TRANSACTION_ID", statement.transaction().map(number))
                    .timestamp("MON$TIMESTAMP", since);
            }
            if let Some(timer) = statement.timer() {
                rows.timestamp("MON$STATEMENT_TIMER", timer);
            }
            if !statement.explained_plan.is_empty() {
                rows.blob("MON$EXPLAINED_PLAN", Some(&statement.explained_plan));
            }
        }
    }
}

pub(super) fn compiled_statements(rows: &mut RowSet<'_, '_, '_>) {
    for session in sessions(rows) {
        let activity = session.activity.lock().clone();
        for (id, statement) in &activity.statements {
            rows.row()
                .number("MON$COMPILED_STATEMENT_ID", number(*id))
                .blob("MON$SQL_TEXT", Some(&statement.sql))
                .number("MON$STAT_ID", stat_id(STATEMENT_GROUP, *id));
            if !statement.explained_plan.is_empty() {
                rows.blob("MON$EXPLAINED_PLAN", Some(&statement.explained_plan));
            }
        }
    }
}

/// MON$MEMORY_USAGE: what statements have taken of their budgets. Whatever is allocated is used.
pub(super) fn memory_usage(rows: &mut RowSet<'_, '_, '_>) {
    for (group, id, usage) in usages(rows, Resource::Memory) {
        rows.row()
            .number("MON$STAT_ID", id)
            .number("MON$STAT_GROUP", group)
            .number("MON$MEMORY_USED", number(usage.used))
            .number("MON$MEMORY_ALLOCATED", number(usage.used))
            .number("MON$MAX_MEMORY_USED", number(usage.peak))
            .number("MON$MAX_MEMORY_ALLOCATED", number(usage.peak));
    }
}

/// FARBIRD$TEMPORARY_SPACE: what they have taken of temporary files, by the same statistics ids.
pub(super) fn temporary_space(rows: &mut RowSet<'_, '_, '_>) {
    for (group, id, usage) in usages(rows, Resource::Temporary) {
        rows.row()
            .number("FARBIRD$STAT_ID", id)
            .number("FARBIRD$STAT_GROUP", group)
            .number("FARBIRD$TEMPORARY_USED", number(usage.used))
            .number("FARBIRD$MAX_TEMPORARY_USED", number(usage.peak));
    }
}

/// Statistics groups and ids with what is taken there of a resource. Transactions keep nothing themselves.
fn usages(rows: &RowSet<'_, '_, '_>, resource: Resource) -> Vec<(i64, i64, Usage)> {
    let database = rows.context.database.budget.usage(resource);
    let mut usages = vec![(DATABASE_GROUP, stat_id(DATABASE_GROUP, 1), database)];
    for session in sessions(rows) {
        let activity = session.activity.lock();
        let id = stat_id(ATTACHMENT_GROUP, session.id);
        usages.push((ATTACHMENT_GROUP, id, session.budget.usage(resource)));
        usages.extend(activity.transactions.keys().map(|id| {
            let id = stat_id(TRANSACTION_GROUP, *id);
            (TRANSACTION_GROUP, id, Usage::default())
        }));
        usages.extend(activity.statements.iter().map(|(id, statement)| {
            let id = stat_id(STATEMENT_GROUP, *id);
            (STATEMENT_GROUP, id, statement.budget.usage(resource))
        }));
    }
    usages
}

pub(super) fn context_variables(rows: &mut RowSet<'_, '_, '_>) {
    let own = rows.context.session;
    let session_variables = own.context_variables.lock().clone();
    for (name, value) in session_variables {
        rows.row()
            .number("MON$ATTACHMENT_ID", number(own.id))
            .text("MON$VARIABLE_NAME", &name)
            .text("MON$VARIABLE_VALUE", &String::from_utf8_lossy(&value));
    }
    let transaction = rows.context.transaction;
    let transaction_variables = transaction.context_variables.lock().clone();
    for (name, value) in transaction_variables {
        rows.row()
            .number("MON$TRANSACTION_ID", number(transaction.store.id().0))
            .text("MON$VARIABLE_NAME", &name)
            .text("MON$VARIABLE_VALUE", &String::from_utf8_lossy(&value));
    }
}
