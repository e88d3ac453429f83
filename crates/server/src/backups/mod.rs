//! Backups that the server makes by itself: when they are due, how they are made and checked, and what is known of them.
//!
//! | file | subject |
//! |---|---|
//! | `schedule` | settings, and when the next one is due |
//! | `shelf` | files, the list of them, and which of them go |
//!
//! # Promises
//! - A backup gets its name when it is whole, on the disk, and was read again and found sound. Old ones go only behind that: whatever
//!   fails, a full disk too, leaves them where they are.
//! - One is made at a time. What fails is logged, stands in metrics and FARBIRD$BACKUPS, and is tried again.
//! - The end of the server stops what runs; nothing incomplete is left behind.

pub(crate) mod schedule;
mod shelf;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use farbird_engine::backup::{back_up_database, pending_backup, verify};
use farbird_engine::session::backups::{BackupCounts, BackupEntry, BackupState};
use farbird_engine::session::clock::now_us;
use farbird_engine::users::{NoUsers, UserDirectory};
use farbird_types::{Error, Result, isc};

use crate::location::SECURITY_DATABASE;
use crate::security::own_options;
use crate::shared::Shared;
use schedule::{ALL_DATABASES, BackupSchedule};
use shelf::{Kept, Shelf};

/// How often it is looked whether one is due.
const LOOK_EVERY: Duration = Duration::from_secs(5);
const BUFFER_BYTES: usize = 1 << 20;

/// What has happened to one database's backups since the server's start.
#[derive(Default)]
struct Record {
    counts: BackupCounts,
    /// When the latest attempt has failed, unless one has succeeded since.
    failed: Option<(i64, String)>,
}

/// Makes backups when they are due, until the server ends.
pub(crate) async fn run(shared: Arc<Shared>) {
    let mut stopping = shared.stopping.clone();
    let mut records: BTreeMap<(PathBuf, String), Record> = BTreeMap::new();
    loop {
        let turn = {
            let shared = Arc::clone(&shared);
            tokio::task::spawn_blocking(move || {
                turn(&shared, &mut records);
                records
            })
        };
        match turn.await {
            Ok(kept) => records = kept,
            Err(error) => {
                tracing::error!(%error, "scheduled backups broke; they begin anew");
                records = BTreeMap::new();
            }
        }
        tokio::select! {
            () = tokio::time::sleep(LOOK_EVERY) => {}
            _ = stopping.wait_for(|stopping| *stopping) => return,
        }
    }
}

/// Makes all backups that are due.
fn turn(shared: &Arc<Shared>, records: &mut BTreeMap<(PathBuf, String), Record>) {
    for schedule in &shared.config.backups {
        let folder = match folder_of(shared, schedule) {
            Ok(folder) => folder,
            Err(error) => {
                tracing::error!(schedule = schedule.name, %error, "the folder of the backups cannot be used");
                continue;
            }
        };
        for (name, database) in databases_of(shared, schedule) {
            if *shared.stopping.borrow() {
                return;
            }
            let shelf = Shelf::new(&folder, &name, &schedule.name, &database);
            let record = records.entry((database, schedule.name.clone())).or_default();
            attend(shared, schedule, &shelf, record);
        }
    }
}

/// Makes a backup of one database if it is due, and notes how things are.
fn attend(shared: &Arc<Shared>, schedule: &BackupSchedule, shelf: &Shelf, record: &mut Record) {
    let kept = shelf.read();
    let latest = kept.as_ref().ok().and_then(|kept| kept.last()).map(|kept| kept.at_us);
    let failed = record.failed.as_ref().map(|(at, _)| *at);
    let next = schedule.when.next(latest, failed);
    let now = now_us();
    let kept = match kept {
        _ if next > now => kept.unwrap_or_default(),
        Err(error) => {
            fail(shelf, record, now, &error.to_string());
            Vec::new()
        }
        Ok(kept) => {
            note(shared, shelf, record, &kept, Next::Running(now));
            match make(shared, schedule, shelf, now) {
                Ok(kept) => {
                    record.counts.made += 1;
                    record.failed = None;
                    kept
                }
                Err(error) if *shared.stopping.borrow() => {
                    tracing::info!(database = %shelf.database().display(), %error, "a scheduled backup was given up");
                    kept
                }
                Err(error) => {
                    fail(shelf, record, now, &error.to_string());
                    shelf.read().unwrap_or(kept)
                }
            }
        }
    };
    let latest = kept.last().map(|kept| kept.at_us);
    let next = schedule.when.next(latest, record.failed.as_ref().map(|(at, _)| *at));
    note(shared, shelf, record, &kept, Next::Due(next));
}

fn fail(shelf: &Shelf, record: &mut Record, at: i64, why: &str) {
    tracing::error!(
        database = %shelf.database().display(), schedule = shelf.schedule(), error = why, "a scheduled backup has failed"
    );
    record.counts.failed += 1;
    record.failed = Some((at, why.to_owned()));
}

/// What comes next.
enum Next {
    Running(i64),
    Due(i64),
}

/// Writes down how things are, for those who ask.
fn note(shared: &Shared, shelf: &Shelf, record: &mut Record, kept: &[Kept], next: Next) {
    let newest = kept.last();
    record.counts.kept = kept.len() as u64;
    record.counts.latest_us = newest.map(|kept| kept.at_us);
    record.counts.latest_bytes = newest.map(|kept| kept.bytes);
    record.counts.latest_duration_ms = newest.map(|kept| kept.duration_ms);
    let entry = |state, at_us| BackupEntry {
        schedule: shelf.schedule().to_owned(),
        state,
        at_us,
        file: None,
        bytes: None,
        rows: None,
        duration_ms: None,
        message: None,
    };
    let mut entries = vec![match next {
        Next::Running(at) => entry(BackupState::Running, Some(at)),
        Next::Due(at) => entry(BackupState::Due, Some(at).filter(|at| *at != i64::MIN)),
    }];
    if let Some((at, why)) = &record.failed {
        entries.push(BackupEntry { message: Some(why.clone()), ..entry(BackupState::Failed, Some(*at)) });
    }
    entries.extend(kept.iter().rev().map(|kept| BackupEntry {
        file: Some(shelf.path(&kept.file)),
        bytes: Some(kept.bytes),
        rows: Some(kept.rows),
        duration_ms: Some(kept.duration_ms),
        ..entry(BackupState::Kept, Some(kept.at_us))
    }));
    shared.engine.backups().set(shelf.database(), shelf.schedule(), entries, record.counts.clone());
}

/// Makes one backup, checks it, and deletes what is older than those that are to be kept; gives those.
fn make(shared: &Arc<Shared>, schedule: &BackupSchedule, shelf: &Shelf, at_us: i64) -> Result<Vec<Kept>> {
    let begun = Instant::now();
    let file = shelf.file_name(at_us);
    let target = shelf.path(&file);
    let shown = target.display().to_string();
    let is_security = shelf.database() == shared.locations.data().join(SECURITY_DATABASE);
    let users: Arc<dyn UserDirectory> = match is_security {
        true => Arc::new(NoUsers),
        false => Arc::clone(&shared.security) as Arc<dyn UserDirectory>,
    };
    let attachment = shared.engine.attach(shelf.database(), own_options(), users)?;
    let interrupt = attachment.interrupt();
    let _registered = shared.services.register(&interrupt);
    let mut pending = pending_backup(&target, false)?;
    let made = (|| {
        let out = pending.create()?;
        let mut out = BufWriter::with_capacity(BUFFER_BYTES, out);
        back_up_database(attachment.database(), &mut out, &shown, &interrupt.cancel, &mut |_| {})?;
        out.flush().map_err(|error| io_error(&shown, &error))?;
        drop(out);
        let made = File::open(pending.path()).map_err(|error| io_error(&shown, &error))?;
        verify(BufReader::with_capacity(BUFFER_BYTES, made), &shown, &interrupt.cancel, &mut |_| {})
    })();
    let summary = made.map_err(|error| if interrupt.is_closing() { interrupt.error() } else { error })?;
    pending.publish()?;
    let duration_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    tracing::info!(
        database = %shelf.database().display(), file = shown, rows = summary.rows, bytes = summary.bytes, duration_ms,
        "backed up by schedule {}", schedule.name
    );
    let kept = shelf.add(&file, at_us, summary.rows, duration_ms, schedule.keep);
    kept.map_err(|error| io_error(&shown, &error))
}

fn io_error(file: &str, error: &std::io::Error) -> Error {
    Error::new(isc::IO_ERROR)
        .with("write")
        .with(file)
        .and(isc::IO_WRITE_ERR)
        .and(isc::RANDOM)
        .with(error.to_string())
}

/// The folder of a schedule's backups, made if it is not there: for the server's user alone.
fn folder_of(shared: &Shared, schedule: &BackupSchedule) -> std::io::Result<PathBuf> {
    let folder = shared.locations.data().join(&schedule.folder);
    if !folder.is_dir() {
        fs::create_dir_all(&folder)?;
        #[cfg(unix)]
        fs::set_permissions(&folder, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
    }
    folder.canonicalize()
}

/// The databases of a schedule: how they are called, and their files.
fn databases_of(shared: &Shared, schedule: &BackupSchedule) -> Vec<(String, PathBuf)> {
    let mut databases: BTreeMap<PathBuf, String> = BTreeMap::new();
    for name in &schedule.databases {
        if name == ALL_DATABASES {
            databases.extend(databases_in(shared.locations.data()));
            continue;
        }
        match shared.locations.resolve(name) {
            Ok(path) => {
                databases.insert(path, name.clone());
            }
            Err(error) => {
                tracing::error!(schedule = schedule.name, database = name, %error, "there is no such database to back up");
            }
        }
    }
    let security = shared.locations.data().join(SECURITY_DATABASE);
    databases.remove(&security);
    if schedule.users {
        databases.insert(security, SECURITY_DATABASE.to_owned());
    }
    databases.into_iter().map(|(path, name)| (name, path)).collect()
}

/// The databases that lie in a folder itself.
fn databases_in(folder: &Path) -> Vec<(PathBuf, String)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    files
        .filter(|file| farbird_engine::is_database(&file.path()))
        .map(|file| (file.path(), file.file_name().to_string_lossy().into_owned()))
        .collect()
}
