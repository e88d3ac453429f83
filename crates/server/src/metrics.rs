//! What Prometheus is told of a server and its open databases. The table of names is in docs/monitoring.md, and a test compares them.
//!
//! A database's counters begin with 0 when it is opened: it is closed when nobody is attached. Its label is the name by which clients may
//! attach to it.

use std::path::Path;

use farbird_engine::budget::Resource;
use farbird_engine::store_figures::{StoreFigures, SweepState, TIME_BOUNDS, Times};
use farbird_status::metrics::{Histogram, Labels, Metrics};

use crate::shared::Shared;

/// One open database.
struct DatabaseFigures {
    name: String,
    attachments: u64,
    transactions: u64,
    oldest_transaction_seconds: f64,
    file_bytes: u64,
    commits_behind: u64,
    store: StoreFigures,
}

/// The text for Prometheus.
pub(crate) fn text(shared: &Shared) -> String {
    let mut metrics = Metrics::new("farbird");
    tell_server(shared, &mut metrics);
    let databases = databases(shared);
    tell_databases(&databases, &mut metrics);
    tell_histograms(&databases, &mut metrics);
    tell_backups(shared, &mut metrics);
    metrics.text()
}

fn tell_server(shared: &Shared, metrics: &mut Metrics) {
    let counts = &shared.counts;
    let version = [("version", env!("CARGO_PKG_VERSION"))];
    metrics.family("build_info", "gauge", "The server's version; always 1.", &[(&version, 1.0)]);
    metrics.gauge(
        "uptime_seconds",
        "How long the server has been running.",
        shared.started.elapsed().as_secs_f64(),
    );
    let open = counts.connections.get().saturating_sub(counts.connections_ended.get());
    metrics.gauge("connections", "Connections that are open.", open as f64);
    metrics.gauge("connections_max", "Connections that there may be.", shared.config.connections_max as f64);
    metrics.counter("connections_total", "Connections that were accepted.", counts.connections.get());
    let help = "Connections that were turned away, there being as many as there may be.";
    metrics.counter("connections_refused_total", help, counts.connections_refused.get());
    metrics.counter("logins_total", "Users who were let in.", counts.logins.get());
    let help = "Logins refused: wrong passwords, unknown or inactive users.";
    metrics.counter("logins_refused_total", help, counts.logins_refused.get());
    metrics.counter("attaches_total", "Databases attached or created by clients.", counts.attaches.get());
    let help = "Attempts of users who were let in to attach or create a database that have failed.";
    metrics.counter("attaches_failed_total", help, counts.attaches_failed.get());
    let help = "Statements and batches that clients have executed, those that failed included.";
    metrics.counter("statements_total", help, counts.statements.get());
    let errors: Vec<_> =
        counts.errors().map(|(kind, count)| ([("kind", kind.name())], count as f64)).collect();
    let errors: Vec<(Labels<'_>, f64)> =
        errors.iter().map(|(labels, count)| (labels.as_slice(), *count)).collect();
    metrics.family("errors_total", "counter", "Errors that clients were told in their sessions.", &errors);
    let budget = shared.engine.budget();
    for (name, resource, help) in [
        ("statement_memory_bytes", Resource::Memory, "Memory that all statements together have taken."),
        ("temporary_bytes", Resource::Temporary, "Temporary space that all statements together have taken."),
    ] {
        metrics.gauge(name, help, budget.usage(resource).used as f64);
    }
}

/// What is known of each open database, the server's own left out.
fn databases(shared: &Shared) -> Vec<DatabaseFigures> {
    let mut databases = Vec::new();
    shared.engine.with_open_databases(|path, database| {
        let Some(name) = shared.locations.name_of(path) else { return };
        let statistics = database.store.statistics();
        let oldest = statistics.active.iter().filter_map(|active| active.started.elapsed().ok()).max();
        let store = database.store.figures();
        databases.push(DatabaseFigures {
            name,
            attachments: database.attachments.lock().len() as u64,
            transactions: statistics.active.len() as u64,
            oldest_transaction_seconds: oldest.map_or(0.0, |age| age.as_secs_f64()),
            file_bytes: std::fs::metadata(path).map_or(0, |file| file.len()),
            commits_behind: statistics.last_commit.0.saturating_sub(store.sweep.horizon.0),
            store,
        });
    });
    databases.sort_by(|one, other| one.name.cmp(&other.name));
    databases
}

/// A metric of each database: its name, its kind, its help, and what it is.
type DatabaseMetric = (&'static str, &'static str, &'static str, fn(&DatabaseFigures) -> f64);

const DATABASE_METRICS: [DatabaseMetric; 23] = [
    ("attachments", "gauge", "Attachments to the database.", |one| one.attachments as f64),
    ("transactions", "gauge", "Transactions that run in it.", |one| one.transactions as f64),
    ("oldest_transaction_seconds", "gauge", "Age of the oldest transaction that runs.", |one| {
        one.oldest_transaction_seconds
    }),
    ("size_bytes", "gauge", "Size of its file.", |one| one.file_bytes as f64),
    ("commits_total", "counter", "Commits that have changed something.", |one| one.store.commits as f64),
    (
        "commit_writes_total",
        "counter",
        "Durable writes that took them: fewer, where several went together.",
        |one| one.store.commit_batches as f64,
    ),
    ("failed_writes_total", "counter", "Writes to the file that have failed.", |one| {
        one.store.failed_writes as f64
    }),
    (
        "update_conflicts_total",
        "counter",
        "Changes refused since others had committed changes of the same rows.",
        |one| one.store.update_conflicts as f64,
    ),
    ("lock_waits_total", "counter", "Waits for the locks of others.", |one| one.store.locks.waits as f64),
    ("lock_conflicts_total", "counter", "Refusals of those who do not wait for locks.", |one| {
        one.store.locks.conflicts as f64
    }),
    ("lock_timeouts_total", "counter", "Waits for locks that were given up.", |one| {
        one.store.locks.timeouts as f64
    }),
    ("deadlocks_total", "counter", "Circles of waits.", |one| one.store.locks.deadlocks as f64),
    ("page_reads_total", "counter", "Reads of the file: of pages that were not in memory.", |one| {
        one.store.file.reads as f64
    }),
    ("page_read_bytes_total", "counter", "Bytes of them.", |one| one.store.file.read_bytes as f64),
    ("page_written_bytes_total", "counter", "Bytes of pages written to the file.", |one| {
        one.store.file.written_bytes as f64
    }),
    ("log_bytes_total", "counter", "Bytes written to the commit log (WAL).", |one| {
        one.store.file.log_bytes as f64
    }),
    ("block_cache_hits_total", "counter", "Single rows whose row block was in memory.", |one| {
        one.store.block_cache.hits as f64
    }),
    ("block_cache_misses_total", "counter", "Single rows whose row block was not.", |one| {
        one.store.block_cache.misses as f64
    }),
    ("blocks_read_total", "counter", "Row blocks that scans have read.", |one| one.store.blocks_read as f64),
    ("blocks_skipped_total", "counter", "Row blocks that scans have passed over.", |one| {
        one.store.blocks_skipped as f64
    }),
    ("sweep_steps_total", "counter", "Steps of the sweep that were of use.", |one| {
        one.store.sweep.steps as f64
    }),
    ("sweep_failing", "gauge", "1 while the sweep pauses behind a failure.", |one| {
        f64::from(u8::from(one.store.sweep.state == SweepState::Failing))
    }),
    (
        "sweep_behind_commits",
        "gauge",
        "Commits newer than the oldest snapshot: the sweep keeps versions for it.",
        |one| one.commits_behind as f64,
    ),
];

fn tell_databases(databases: &[DatabaseFigures], metrics: &mut Metrics) {
    metrics.gauge("databases", "Databases that are open.", databases.len() as f64);
    for (name, kind, help, value) in DATABASE_METRICS {
        let labels: Vec<[(&str, &str); 1]> =
            databases.iter().map(|one| [("database", one.name.as_str())]).collect();
        let samples: Vec<(Labels<'_>, f64)> =
            labels.iter().zip(databases).map(|(labels, one)| (labels.as_slice(), value(one))).collect();
        metrics.family(&format!("database_{name}"), kind, help, &samples);
    }
}

fn tell_histograms(databases: &[DatabaseFigures], metrics: &mut Metrics) {
    let bounds = TIME_BOUNDS.map(|micros| micros as f64 / 1e6);
    type Value = fn(&DatabaseFigures) -> &Times;
    let histograms: [(&str, &str, Value); 2] = [
        (
            "database_log_sync_seconds",
            "How long writes to the commit log took until they were on the disk.",
            |one| &one.store.file.log_syncs,
        ),
        ("database_page_sync_seconds", "How long it took to bring pages to the disk (checkpoints).", |one| {
            &one.store.file.page_syncs
        }),
    ];
    for (name, help, times) in histograms {
        let samples: Vec<Histogram<'_>> = databases
            .iter()
            .map(|one| Histogram {
                labels: vec![("database", one.name.as_str())],
                bounds: &bounds,
                counts: &times(one).counts,
                sum: times(one).sum.as_secs_f64(),
            })
            .collect();
        metrics.histograms(name, help, &samples);
    }
}

/// A database's name as clients use it; of the users' database, which none attaches to, its file's. Never a path that clients do not know:
/// metrics are read without a login.
fn name_in_metrics(shared: &Shared, path: &Path) -> String {
    if path.is_relative() {
        // The name in a schedule of backups that leads to no file.
        return path.display().to_string();
    }
    let file = || path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    shared.locations.name_of(path).unwrap_or_else(file)
}

fn tell_backups(shared: &Shared, metrics: &mut Metrics) {
    let counts = shared.engine.backups().counts();
    let names: Vec<String> = counts.iter().map(|(path, _, _)| name_in_metrics(shared, path)).collect();
    let labels: Vec<[(&str, &str); 2]> = counts
        .iter()
        .zip(&names)
        .map(|((_, schedule, _), name)| [("database", name.as_str()), ("schedule", schedule.as_str())])
        .collect();
    type Value = fn(&farbird_engine::session::backups::BackupCounts) -> Option<f64>;
    let families: [(&str, &str, &str, Value); 6] = [
        ("backups_total", "counter", "Scheduled backups made and checked.", |one| Some(one.made as f64)),
        ("backups_failed_total", "counter", "Attempts at scheduled backups that have failed.", |one| {
            Some(one.failed as f64)
        }),
        ("backups_kept", "gauge", "Scheduled backups that are kept.", |one| Some(one.kept as f64)),
        (
            "backup_last_timestamp_seconds",
            "gauge",
            "When the latest backup that was made was begun, in seconds since 1970.",
            |one| one.latest_us.map(|at| at as f64 / 1e6),
        ),
        ("backup_last_bytes", "gauge", "Size of the newest backup.", |one| {
            one.latest_bytes.map(|bytes| bytes as f64)
        }),
        ("backup_last_duration_seconds", "gauge", "How long it took to make and check it.", |one| {
            one.latest_duration_ms.map(|time| time as f64 / 1e3)
        }),
    ];
    for (name, kind, help, value) in families {
        let samples: Vec<(Labels<'_>, f64)> = labels
            .iter()
            .zip(&counts)
            .filter_map(|(labels, (_, _, counts))| Some((labels.as_slice(), value(counts)?)))
            .collect();
        metrics.family(name, kind, help, &samples);
    }
}
