//! The services that make incremental backups and restore them (isc_action_svc_nbak, isc_action_svc_nrest).
//!
//! Levels, GUIDs and the history are those of Firebird's nbackup; files are Farbird's (docs/backup.md), are where databases may be, and are
//! never overwritten. A backup to the client (`stdout`) is in the history once all of it was handed over.
//! Source: Firebird 5 src/utilities/nbackup and fbsvcmgr, by what they say and do.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::sync::Arc;

use farbird_engine::attachment::Attachment;
use farbird_engine::backup::{
    BackupSince, ChainFile, ChosenTables, HistoryKept, Increment, RestoreOptions, back_up_increment,
    clean_history, pending_backup,
};
use farbird_engine::session::{Interrupt, Tool};
use farbird_types::{Error, Result, isc};
use farbird_wire::clumplet::{StartItem, StartValue, spb};

use super::access::{attach, check_may_create};
use super::backup::{CLIENT_BUFFER_BYTES, FILE_BUFFER_BYTES, STDOUT, open_backup};
use super::pipe::{Pipe, PipeMessages, PipeOutput};
use super::task::{Running, run};
use super::text;
use crate::handshake::Identity;
use crate::shared::Shared;

/// As Firebird names the services.
const BACKUP: &str = "Incremental Backup Database";
const RESTORE: &str = "Incremental Restore Database";

/// nbackup_err_createbk: a backup file cannot be made. File.
const CANNOT_CREATE: u32 = 337_117_230;
/// nbackup_err_openbk: a backup file cannot be read. File.
const CANNOT_OPEN: u32 = 337_117_229;
/// nbackup_err_createdb: a database cannot be made. File.
const CANNOT_CREATE_DATABASE: u32 = 337_117_228;
/// nbackup_switchd_parameter: direct input and output are on or off. What was said.
const DIRECT_IS_ON_OR_OFF: u32 = 337_117_255;
/// nbackup_clean_hist_misuse: the history is cleaned by backups only.
const CLEANED_BY_BACKUPS: u32 = 337_117_269;
/// nbackup_clean_hist_missed: what to keep of the history, and no word of cleaning it.
const NOT_TO_BE_CLEANED: u32 = 337_117_270;
/// nbackup_keep_hist_missed: the history is to be cleaned, and no word of what to keep.
const NOTHING_KEPT: u32 = 337_117_271;
/// nbackup_second_keep_switch: both days and rows are to be kept.
const KEPT_TWICE: u32 = 337_117_272;

/// What the client asked for.
struct Arguments {
    database: String,
    files: Vec<String>,
    since: BackupSince,
    kept: Option<HistoryKept>,
}

impl Arguments {
    fn of(items: &[StartItem]) -> Result<Arguments> {
        let missing = || Error::new(isc::BAD_SPB_FORM);
        let (mut since, mut cleaned, mut kept) = (BackupSince::Level(0), false, Vec::new());
        let mut files = Vec::new();
        for item in items {
            match (item.tag, &item.value) {
                (spb::nbackup::FILE, StartValue::Text(file)) => files.push(as_text(file)?),
                (spb::nbackup::LEVEL, StartValue::Integer(level)) => {
                    since = BackupSince::Level(u8::try_from(*level).map_err(|_| missing())?);
                }
                (spb::nbackup::GUID, StartValue::Text(guid)) => since = BackupSince::Guid(as_text(guid)?),
                // How the system's cache is passed by is the store's own affair.
                (spb::nbackup::DIRECT, StartValue::Text(direct)) => check_on_or_off(direct)?,
                (spb::nbackup::CLEAN_HISTORY, _) => cleaned = true,
                (spb::nbackup::KEEP_DAYS, StartValue::Integer(days)) => {
                    kept.push(HistoryKept::Days(positive(*days)?));
                }
                (spb::nbackup::KEEP_ROWS, StartValue::Integer(rows)) => {
                    kept.push(HistoryKept::Rows(positive(*rows)?));
                }
                (spb::OPTIONS, StartValue::Integer(bits)) => refuse_options(*bits)?,
                _ => {}
            }
        }
        let kept = match (cleaned, kept.as_slice()) {
            (_, [_, _, ..]) => return Err(Error::new(KEPT_TWICE)),
            (true, []) => return Err(Error::new(NOTHING_KEPT)),
            (false, [_]) => return Err(Error::new(NOT_TO_BE_CLEANED)),
            (_, kept) => kept.first().copied(),
        };
        let database = text(items, spb::DBNAME).ok_or_else(missing)?;
        if files.is_empty() {
            return Err(missing());
        }
        Ok(Arguments { database, files, since, kept })
    }
}

fn check_on_or_off(text: &[u8]) -> Result<()> {
    match [&b"ON"[..], b"OFF"].iter().any(|known| text.eq_ignore_ascii_case(known)) {
        true => Ok(()),
        false => Err(Error::new(DIRECT_IS_ON_OR_OFF).with(as_text(text)?)),
    }
}

fn as_text(bytes: &[u8]) -> Result<String> {
    String::from_utf8(bytes.to_vec()).map_err(|_| Error::new(isc::BAD_SPB_FORM))
}

fn positive(number: i32) -> Result<u32> {
    u32::try_from(number).ok().filter(|number| *number > 0).ok_or_else(|| Error::new(isc::BAD_SPB_FORM))
}

/// Triggers of the database do not fire in services anyway.
fn refuse_options(bits: i32) -> Result<()> {
    let refused = [
        (spb::nbackup::INPLACE, "restoring into a database that is there"),
        (spb::nbackup::SEQUENCE, "keeping the number of the replication"),
    ];
    match refused.iter().find(|(bit, _)| bits & i32::from(*bit) != 0) {
        Some((_, what)) => Err(super::backup::unsupported(what)),
        None => Ok(()),
    }
}

/// Starts an incremental backup.
///
/// # Errors
/// What can be said at once: files that are not the user's to reach or are there already, missing privileges.
pub(super) fn start_backup(
    shared: &Arc<Shared>,
    identity: &Identity,
    items: &[StartItem],
) -> Result<Running> {
    let Arguments { database, files, since, kept } = Arguments::of(items)?;
    let [file] =
        <[String; 1]>::try_from(files).map_err(|_| super::backup::unsupported("more than one file"))?;
    let attachment = attach(shared, identity, &database, Tool::Nbackup)?;
    if file == STDOUT {
        // The file goes to whoever asks, with all rows.
        attachment.check_may_read(&ChosenTables::default())?;
        return Ok(run(shared, BACKUP, true, attachment.interrupt(), move |pipe, interrupt| {
            let out = BufWriter::with_capacity(CLIENT_BUFFER_BYTES, PipeOutput(Arc::clone(pipe)));
            let made = write(&attachment, &since, out, &file, interrupt)?;
            finish(&attachment, made, kept)
        }));
    }
    let target = shared.locations.resolve(&file);
    let mut pending = target.and_then(|target| pending_backup(&target, false)).map_err(|error| {
        if identity.admin {
            Error::new(CANNOT_CREATE).with(file.as_str()).and_all(error)
        } else {
            Error::new(isc::CONF_ACCESS_DENIED).with("backup file").with(file.as_str())
        }
    })?;
    let out = BufWriter::with_capacity(FILE_BUFFER_BYTES, pending.create()?);
    Ok(run(shared, BACKUP, false, attachment.interrupt(), move |pipe, interrupt| {
        let made = write(&attachment, &since, out, &file, interrupt)?;
        pending.publish()?;
        tell(pipe, &made, &attachment);
        let (level, bytes) = (made.level(), made.summary.bytes);
        finish(&attachment, made, kept)?;
        tracing::info!(database, file, level, bytes, "backed up incrementally");
        Ok(())
    }))
}

fn write(
    attachment: &Attachment,
    since: &BackupSince,
    out: impl Write,
    file: &str,
    interrupt: &Arc<Interrupt>,
) -> Result<Increment> {
    back_up_increment(attachment.database(), since, out, file, &interrupt.cancel, &mut |_| {})
}

/// Enters a backup in the history, and cleans that.
fn finish(attachment: &Attachment, made: Increment, kept: Option<HistoryKept>) -> Result<()> {
    made.note(attachment.database())?;
    match kept {
        Some(kept) => clean_history(attachment.database(), kept).map(|_| ()),
        None => Ok(()),
    }
}

fn tell(pipe: &Arc<Pipe>, made: &Increment, attachment: &Attachment) {
    let out = PipeMessages(Arc::clone(pipe));
    out.line(&format!("level {} {}, {} bytes", made.level(), made.guid(), made.summary.bytes));
    let prepared = attachment.prepared_transactions();
    if !prepared.is_empty() {
        let numbers: Vec<String> = prepared.iter().map(u64::to_string).collect();
        out.line(&format!("transactions in limbo are not in the backup: {}", numbers.join(", ")));
    }
}

/// Starts the restore of a chain of files.
///
/// # Errors
/// As [`start_backup`]; `isc_no_priv` for users who may not create databases.
pub(super) fn start_restore(
    shared: &Arc<Shared>,
    identity: &Identity,
    items: &[StartItem],
) -> Result<Running> {
    if items.iter().any(|item| (spb::nbackup::CLEAN_HISTORY..=spb::nbackup::KEEP_ROWS).contains(&item.tag)) {
        return Err(Error::new(CLEANED_BY_BACKUPS));
    }
    let Arguments { database, files, .. } = Arguments::of(items)?;
    check_may_create(shared, identity, &database, false)?;
    let target = shared.locations.resolve(&database)?;
    let open = |file: &String| -> Result<ChainFile<File>> {
        let opened = open_backup(shared, file);
        let opened = opened.map_err(|error| Error::new(CANNOT_OPEN).with(file.as_str()).and_all(error))?;
        Ok(ChainFile { name: file.clone(), file: opened })
    };
    let chain = files.iter().map(open).collect::<Result<Vec<_>>>()?;
    let engine = Arc::clone(&shared.engine);
    Ok(run(shared, RESTORE, false, Arc::new(Interrupt::new()), move |_, interrupt| {
        // Nothing is replaced, in use or not.
        let in_the_way = |error: Error| match error.has(isc::DB_OR_FILE_EXISTS) || error.has(isc::OBJ_IN_USE)
        {
            true => Error::new(CANNOT_CREATE_DATABASE).with(database.as_str()).and_all(error),
            false => error,
        };
        let options = RestoreOptions::default();
        let summary = engine
            .restore_chain(chain, &target, &options, &interrupt.cancel, &mut |_| {})
            .map_err(in_the_way)?
            .summary;
        tracing::info!(database, rows = summary.rows, "restored from incremental backups");
        Ok(())
    }))
}
