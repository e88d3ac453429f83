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
//! - One is made at a time. What fails is logged, stands in metrics and FARBIRD$BACKUPS, and is tried again: a folder that cannot be used and
//!   a name that leads to no database, too.
//! - A database is known by its GUID: it is opened once to read it, and again when another file lies in its place.
//! - A moment later than now, from a clock that was ahead, counts as none: it stops no backups.
//! - The end of the server stops what runs; nothing incomplete is left behind.

pub(crate) mod schedule;
mod shelf;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use farbird_engine::attachment::Attachment;
use farbird_engine::backup::{ChosenTables, back_up_database, pending_backup, verify};
use farbird_engine::session::backups::{BackupCounts, BackupEntry, BackupState};
use farbird_engine::session::clock::now_us;
use farbird_engine::users::{NoUsers, UserDirectory};
use farbird_types::{Error, Result, isc};

use crate::location::SECURITY_DATABASE;
use crate::security::own_options;
use crate::shared::Shared;
use schedule::{ALL_DATABASES, BackupSchedule};
use shelf::{Found, List, Shelf};

/// How often it is looked whether one is due.
const LOOK_EVERY: Duration = Duration::from_secs(5);
const BUFFER_BYTES: usize = 1 << 20;

/// What has happened to one database's backups since the server's start.
#[derive(Default)]
struct Record {
    counts: BackupCounts,
    /// When the latest attempt has failed, unless one has succeeded since.
    failed: Option<(i64, String)>,
    /// The file that was looked at, and its database's GUID, once that is known.
    seen: Option<FileIdentity>,
    guid: Option<String>,
    /// The list as it was read last, and where its files lie.
    list: List,
    folder: PathBuf,
}

/// What tells a file from another one that is put in its place. Numbers of files are used again: so the moment of its making, too.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FileIdentity {
    created: Option<SystemTime>,
    #[cfg(unix)]
    number: (u64, u64),
}

impl FileIdentity {
    /// `None`: there is no such file, or it cannot be looked at.
    fn of(path: &Path) -> Option<FileIdentity> {
        let facts = fs::metadata(path).ok()?;
        Some(FileIdentity {
            created: facts.created().ok(),
            #[cfg(unix)]
            number: {
                use std::os::unix::fs::MetadataExt;
                (facts.dev(), facts.ino())
            },
        })
    }
}

/// A database that a schedule backs up.
struct Subject<'s> {
    schedule: &'s BackupSchedule,
    /// As clients call it.
    name: String,
    /// Its file; the name once more where that leads to none now.
    path: PathBuf,
    /// Why it leads to none.
    unresolved: Option<Error>,
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
    let mut known = BTreeSet::new();
    for schedule in &shared.config.backups {
        let subjects = subjects_of(shared, schedule);
        known.extend(subjects.iter().map(|subject| (subject.path.clone(), schedule.name.clone())));
        let folder = folder_of(shared, schedule);
        for subject in subjects {
            if *shared.stopping.borrow() {
                return;
            }
            let record = records.entry((subject.path.clone(), schedule.name.clone())).or_default();
            attend(shared, &subject, &folder, record);
        }
    }
    records.retain(|key, _| known.contains(key));
    shared.engine.backups().retain(|path, schedule| known.contains(&(path.to_owned(), schedule.to_owned())));
}

/// Makes a backup of one database if it is due, and notes how things are.
fn attend(shared: &Arc<Shared>, subject: &Subject<'_>, folder: &Folder, record: &mut Record) {
    let now = now_us();
    let seen = subject.unresolved.is_none().then(|| FileIdentity::of(&subject.path)).flatten();
    if record.seen != seen {
        // Another file: what was known is of the one before.
        (record.seen, record.guid, record.failed, record.list) = (seen, None, None, List::default());
    }
    let shelf = match shelf_of(shared, subject, folder, record, now) {
        Ok(shelf) => shelf,
        Err(why) => {
            if record.next(subject, now) <= now {
                fail(subject, record, now, &why);
            }
            record.list.lose_sight();
            return note(shared, subject, record, Next::Due(record.next(subject, now)));
        }
    };
    let read = match shelf.read() {
        Ok(list) => {
            record.list = list;
            Ok(())
        }
        Err(error) => {
            record.list.lose_sight();
            Err(error)
        }
    };
    if record.next(subject, now) <= now {
        match read {
            Ok(()) => make_now(shared, subject, &shelf, record, now),
            Err(error) => fail(subject, record, now, &error.to_string()),
        }
    }
    note(shared, subject, record, Next::Due(record.next(subject, now_us())));
}

/// The shelf of a database, once it and its folder can be reached. A database is not opened for this before a backup is due.
///
/// # Errors
/// What stands against it.
fn shelf_of(
    shared: &Arc<Shared>,
    subject: &Subject<'_>,
    folder: &Folder,
    record: &mut Record,
    now: i64,
) -> std::result::Result<Shelf, String> {
    if let Some(error) = &subject.unresolved {
        return Err(error.to_string());
    }
    let folder = folder.as_ref().map_err(Clone::clone)?;
    record.folder.clone_from(folder);
    let guid = match &record.guid {
        Some(guid) => guid.clone(),
        None if record.next(subject, now) <= now => {
            guid_of(shared, &subject.path).map_err(|error| error.to_string())?
        }
        None => return Err("the next attempt is not due".to_owned()),
    };
    let shelf = Shelf::new(folder, &subject.name, &guid, &subject.schedule.name, &subject.path);
    record.guid = Some(guid);
    Ok(shelf)
}

/// Makes a backup that is due.
fn make_now(shared: &Arc<Shared>, subject: &Subject<'_>, shelf: &Shelf, record: &mut Record, now: i64) {
    if record.list.latest_us.is_some_and(|at| at > now) {
        tracing::warn!(
            database = %subject.path.display(), schedule = subject.schedule.name,
            "the latest backup was begun later than now: a clock was ahead, and one is made now"
        );
    }
    note(shared, subject, record, Next::Running(now));
    match make(shared, subject.schedule, shelf, now) {
        Ok(list) => {
            record.counts.made += 1;
            record.failed = None;
            record.list = list;
        }
        Err(error) if *shared.stopping.borrow() => {
            tracing::info!(database = %subject.path.display(), %error, "a scheduled backup was given up");
        }
        Err(error) => {
            fail(subject, record, now, &error.to_string());
            if let Ok(list) = shelf.read() {
                record.list = list;
            }
        }
    }
}

impl Record {
    /// When the next attempt is due. A moment later than now, by a clock that was ahead, counts as none.
    fn next(&self, subject: &Subject<'_>, now: i64) -> i64 {
        let latest = self.list.latest_us.filter(|at| *at <= now);
        subject.schedule.when.next(latest, self.failed_before(now))
    }

    /// When the latest attempt has failed; one later than now, by a clock that was ahead, counts as none.
    fn failed_before(&self, now: i64) -> Option<i64> {
        self.failed.as_ref().map(|(at, _)| *at).filter(|at| *at <= now)
    }
}

fn fail(subject: &Subject<'_>, record: &mut Record, at: i64, why: &str) {
    tracing::error!(
        database = %subject.path.display(), schedule = subject.schedule.name, error = why, "a scheduled backup has failed"
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
fn note(shared: &Shared, subject: &Subject<'_>, record: &mut Record, next: Next) {
    let list = &record.list;
    let newest = list.kept().next_back();
    record.counts.kept = list.kept().count() as u64;
    record.counts.latest_us = list.latest_us;
    record.counts.latest_bytes = newest.map(|kept| kept.bytes);
    record.counts.latest_duration_ms = newest.map(|kept| kept.duration_ms);
    let entry = |state, at_us| BackupEntry {
        schedule: subject.schedule.name.clone(),
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
    entries.extend(list.backups.iter().rev().map(|(kept, found)| BackupEntry {
        file: Some(record.folder.join(&kept.file)),
        bytes: Some(kept.bytes),
        rows: Some(kept.rows),
        duration_ms: Some(kept.duration_ms),
        ..entry(state_of(*found), Some(kept.at_us))
    }));
    shared.engine.backups().set(&subject.path, &subject.schedule.name, entries, record.counts.clone());
}

fn state_of(found: Found) -> BackupState {
    match found {
        Found::Kept => BackupState::Kept,
        Found::Missing => BackupState::Missing,
        Found::Changed => BackupState::Changed,
        Found::Unreadable => BackupState::Unreadable,
    }
}

/// Opens a database as the server itself.
fn attach(shared: &Arc<Shared>, database: &Path) -> Result<Attachment> {
    let is_security = database == shared.locations.data().join(SECURITY_DATABASE);
    let users: Arc<dyn UserDirectory> = match is_security {
        true => Arc::new(NoUsers),
        false => Arc::clone(&shared.security) as Arc<dyn UserDirectory>,
    };
    shared.engine.attach(database, own_options(), users)
}

fn guid_of(shared: &Arc<Shared>, database: &Path) -> Result<String> {
    Ok(attach(shared, database)?.database().catalog().database.guid.clone())
}

/// Makes one backup, checks it, and deletes what is older than those that are to be kept; gives the list.
fn make(shared: &Arc<Shared>, schedule: &BackupSchedule, shelf: &Shelf, at_us: i64) -> Result<List> {
    let begun = Instant::now();
    let file = shelf.file_name(at_us);
    let target = shelf.path(&file);
    let shown = target.display().to_string();
    let attachment = attach(shared, shelf.database())?;
    if attachment.database().catalog().database.guid != shelf.guid() {
        return Err(io_error(&shown, &std::io::Error::other("another database has taken the file's place")));
    }
    let interrupt = attachment.interrupt();
    let _registered = shared.services.register(&interrupt);
    let mut pending = pending_backup(&target, false)?;
    let made = (|| {
        let out = pending.create()?;
        let mut out = BufWriter::with_capacity(BUFFER_BYTES, out);
        back_up_database(
            attachment.database(),
            &ChosenTables::default(),
            &mut out,
            &shown,
            &interrupt.cancel,
            &mut |_| {},
        )?;
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
    let list = shelf.add(&file, at_us, summary.rows, duration_ms, schedule.keep);
    list.map_err(|error| io_error(&shown, &error))
}

fn io_error(file: &str, error: &std::io::Error) -> Error {
    Error::new(isc::IO_ERROR)
        .with("write")
        .with(file)
        .and(isc::IO_WRITE_ERR)
        .and(isc::RANDOM)
        .with(error.to_string())
}

/// The folder of a schedule's backups, or why it cannot be used.
type Folder = std::result::Result<PathBuf, String>;

/// The folder of a schedule's backups, made if it is not there: for the server's user alone.
fn folder_of(shared: &Shared, schedule: &BackupSchedule) -> Folder {
    let folder = shared.locations.data().join(&schedule.folder);
    let made = (|| {
        if !folder.is_dir() {
            fs::create_dir_all(&folder)?;
            #[cfg(unix)]
            fs::set_permissions(&folder, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
        }
        folder.canonicalize()
    })();
    made.map_err(|error| format!("the folder {} cannot be used: {error}", folder.display()))
}

/// The databases of a schedule. One whose name leads to no file is there, too: it is not backed up, which somebody must be told.
fn subjects_of<'s>(shared: &Shared, schedule: &'s BackupSchedule) -> Vec<Subject<'s>> {
    let mut found: BTreeMap<PathBuf, (String, Option<Error>)> = BTreeMap::new();
    for name in &schedule.databases {
        if name == ALL_DATABASES {
            let all = databases_in(shared.locations.data()).into_iter();
            found.extend(all.map(|(path, name)| (path, (name, None))));
            continue;
        }
        match shared.locations.resolve(name) {
            Ok(path) => found.insert(path, (name.clone(), None)),
            Err(error) => found.insert(PathBuf::from(name), (name.clone(), Some(error))),
        };
    }
    let security = shared.locations.data().join(SECURITY_DATABASE);
    found.remove(&security);
    if schedule.users {
        found.insert(security, (SECURITY_DATABASE.to_owned(), None));
    }
    let subject = |(path, (name, unresolved))| Subject { schedule, name, path, unresolved };
    found.into_iter().map(subject).collect()
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
