//! The service that backs a database up (isc_action_svc_backup), and what it shares with the one that restores ([`super::restore`]).
//!
//! They run on a thread of their own; the client asks for what they say. A backup goes to a file of the server or to the
//! client (`stdout`); files of the server are where databases may be. The server's end stops them, as does DELETE of a backup's
//! attachment from MON$ATTACHMENTS (a restore has none).
//! Source: FirebirdSQL/firebird doc/README.services_extension; wire-protocol.md, 11.5.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::sync::Arc;

use farbird_engine::attachment::Attachment;
use farbird_engine::backup::{
    BackupProgress, BackupStage, BackupSummary, CancelFlag, ChosenTables, back_up_database, pending_backup,
};
use farbird_engine::session::Tool;
use farbird_types::{Error, Result, isc};
use farbird_wire::clumplet::{StartItem, StartValue, spb};

use super::access::attach;
use super::pipe::{Pipe, PipeMessages, PipeOutput};
use super::step_times::StepTimes;
use super::task::{Running, run};
use super::text;
use crate::handshake::Identity;
use crate::shared::Shared;

/// Names of files that are the client's own.
pub(super) const STDOUT: &str = "stdout";
/// As Firebird names the service.
const BACKUP: &str = "Backup Database";
/// Bytes gathered before they go to a file.
pub(super) const FILE_BUFFER_BYTES: usize = 1 << 20;
/// Bytes gathered before they go to the client.
pub(super) const CLIENT_BUFFER_BYTES: usize = 32 << 10;

/// What the client asked for.
#[derive(Debug, Default)]
pub(super) struct Arguments {
    pub(super) database: String,
    pub(super) file: String,
    /// Further files, of a backup that is split.
    pub(super) more_files: Vec<String>,
    /// Bits of isc_spb_options.
    pub(super) options: u32,
    pub(super) verbose: bool,
    /// A restored database is to be read only.
    pub(super) read_only: bool,
    /// The page size that a restored database is to report.
    pub(super) page_size: Option<u32>,
    /// Patterns of tables whose rows are left out, and of those whose rows are taken.
    pub(super) skipped: Option<String>,
    pub(super) included: Option<String>,
    /// The times that stand before each line of a verbose one.
    pub(super) times: Option<StepTimes>,
    /// The role in which it is done, if gbak's command line says one.
    pub(super) role: Option<String>,
}

impl Arguments {
    /// Whether a bit of isc_spb_options is set. Those that nobody asks for speak of what does not exist here: checksums to be ignored,
    /// shadows, garbage, transaction sizes, page reserves.
    pub(super) fn has(&self, option: u32) -> bool {
        self.options & option != 0
    }

    /// The tables whose rows are meant.
    ///
    /// # Errors
    /// `isc_invalid_similar_pattern`.
    pub(super) fn tables(&self) -> Result<ChosenTables> {
        match self.has(u32::from(spb::backup::METADATA_ONLY)) {
            true => Ok(ChosenTables::none()),
            false => ChosenTables::by_patterns(self.skipped.as_deref(), self.included.as_deref()),
        }
    }

    /// The items of a service's block.
    pub(super) fn of(items: &[StartItem]) -> Result<Arguments> {
        let missing = || Error::new(isc::BAD_SPB_FORM);
        let mut arguments = Arguments::default();
        for item in items {
            match (item.tag, &item.value) {
                (spb::OPTIONS, StartValue::Integer(bits)) => arguments.options |= bits.cast_unsigned(),
                (spb::VERBOSE, _) | (spb::VERBINT, _) => arguments.verbose = true,
                (spb::restore::ACCESS_MODE, StartValue::Byte(mode)) => {
                    arguments.read_only = match *mode {
                        spb::restore::AM_READONLY => true,
                        spb::restore::AM_READWRITE => false,
                        _ => return Err(missing()),
                    };
                }
                (spb::restore::PAGE_SIZE, StartValue::Integer(bytes)) => {
                    arguments.page_size = Some(u32::try_from(*bytes).map_err(|_| missing())?);
                }
                (spb::restore::REPLICA_MODE, StartValue::Byte(mode)) if *mode != spb::restore::RM_NONE => {
                    return Err(unsupported("a replica"));
                }
                (spb::backup::LENGTH | spb::restore::LENGTH, _) => {
                    return Err(unsupported("more than one file"));
                }
                (spb::restore::FIX_FSS_DATA | spb::restore::FIX_FSS_METADATA, _) => {
                    return Err(unsupported("mending texts of other character sets"));
                }
                (spb::backup::SKIP_DATA, StartValue::Text(pattern)) => {
                    arguments.skipped = Some(String::from_utf8_lossy(pattern).into_owned());
                }
                (spb::backup::INCLUDE_DATA, StartValue::Text(pattern)) => {
                    arguments.included = Some(String::from_utf8_lossy(pattern).into_owned());
                }
                // Of a restore it has the same number.
                (spb::backup::STAT, StartValue::Text(letters)) => {
                    arguments.times = Some(StepTimes::parse(&String::from_utf8_lossy(letters))?);
                }
                (spb::backup::KEYHOLDER | spb::backup::KEYNAME | spb::backup::CRYPT, _) => {
                    return Err(unsupported("encryption"));
                }
                _ => {}
            }
        }
        if items.iter().filter(|item| item.tag == spb::DBNAME).count() > 1 {
            return Err(unsupported("more than one file"));
        }
        arguments.database = text(items, spb::DBNAME).ok_or_else(missing)?;
        let mut files = items.iter().filter(|item| item.tag == spb::backup::FILE);
        let mut next_file = || text(std::slice::from_ref(files.next()?), spb::backup::FILE);
        arguments.file = next_file().ok_or_else(missing)?;
        arguments.more_files = std::iter::from_fn(next_file).collect();
        Ok(arguments)
    }
}

pub(super) fn unsupported(what: &str) -> Error {
    Error::new(isc::WISH_LIST).and(isc::RANDOM).with(format!("backup and restore: {what} is not supported"))
}

/// Starts a backup.
///
/// # Errors
/// What can be said at once: files that are not the user's to reach, a database that is not there, missing privileges.
pub(super) fn start_backup(
    shared: &Arc<Shared>,
    identity: &Identity,
    arguments: Arguments,
) -> Result<Running> {
    let tables = arguments.tables()?;
    let Arguments { database, file, verbose, times, more_files, .. } = arguments;
    if !more_files.is_empty() {
        return Err(unsupported("more than one file"));
    }
    let attachment = attach(shared, identity, &database, Tool::Gbak)?;
    attachment.check_may_read(&tables)?;
    if file == STDOUT {
        if verbose {
            let text = "a backup to the client cannot be verbose: its bytes take the place of lines";
            return Err(Error::new(isc::RANDOM).with(text));
        }
        return Ok(run(shared, BACKUP, true, attachment.interrupt(), move |pipe, interrupt| {
            let out = BufWriter::with_capacity(CLIENT_BUFFER_BYTES, PipeOutput(Arc::clone(pipe)));
            back_up(&attachment, &tables, out, &file, (&interrupt.cancel, None)).map(|_| ())
        }));
    }
    // As gbak does, but only a backup is ever overwritten; and by administrators, since it may be another's.
    let pending = shared.locations.resolve(&file).and_then(|target| pending_backup(&target, identity.admin));
    let mut pending = match pending {
        Err(error) if identity.admin => return Err(error),
        Err(_) => return Err(Error::new(isc::CONF_ACCESS_DENIED).with("backup file").with(file)),
        Ok(pending) => pending,
    };
    let out = BufWriter::with_capacity(FILE_BUFFER_BYTES, pending.create()?);
    Ok(run(shared, BACKUP, false, attachment.interrupt(), move |pipe, interrupt| {
        let mut messages = Messages::new(pipe, (verbose, times), "writing");
        let summary = back_up(&attachment, &tables, out, &file, (&interrupt.cancel, Some(&mut messages)))?;
        pending.publish()?;
        messages.finished(&summary);
        messages.left_out(&attachment.prepared_transactions());
        tracing::info!(database, file, rows = summary.rows, bytes = summary.bytes, "backed up");
        Ok(())
    }))
}

fn back_up(
    attachment: &Attachment,
    tables: &ChosenTables,
    out: impl Write,
    file: &str,
    (cancel, mut messages): (&Arc<CancelFlag>, Option<&mut Messages>),
) -> Result<BackupSummary> {
    back_up_database(attachment.database(), tables, out, file, cancel, &mut |progress| {
        if let Some(messages) = &mut messages {
            messages.tell(progress);
        }
    })
}

pub(super) fn open_backup(shared: &Shared, file: &str) -> Result<File> {
    let path: PathBuf = shared.locations.resolve(file)?;
    File::open(path).map_err(|error| {
        Error::new(isc::IO_ERROR)
            .with("open")
            .with(file)
            .and(isc::IO_OPEN_ERR)
            .and(isc::RANDOM)
            .with(error.to_string())
    })
}

/// What a verbose service says.
pub(super) struct Messages {
    out: PipeMessages,
    verbose: bool,
    times: Option<StepTimes>,
    /// What is done with tables.
    doing: &'static str,
    stage: Option<BackupStage>,
    object: String,
}

impl Messages {
    pub(super) fn new(
        pipe: &Arc<Pipe>,
        (verbose, times): (bool, Option<StepTimes>),
        doing: &'static str,
    ) -> Messages {
        let out = PipeMessages(Arc::clone(pipe));
        if let Some(times) = &times {
            out.line(&times.header());
        }
        Messages { out, verbose, times, doing, stage: None, object: String::new() }
    }

    /// Says a line, with its times.
    fn step(&mut self, line: &str) {
        let times = self.times.as_mut().map(StepTimes::next).unwrap_or_default();
        self.out.line(&format!("{times}{line}"));
    }

    /// Says what is begun.
    pub(super) fn tell(&mut self, progress: &BackupProgress<'_>) {
        if !self.verbose || (self.stage == Some(progress.stage) && self.object == progress.object) {
            return;
        }
        self.stage = Some(progress.stage);
        progress.object.clone_into(&mut self.object);
        match progress.stage {
            BackupStage::Rows => self.step(&format!("{} table {}", self.doing, progress.object)),
            BackupStage::Indexes => self.step(&format!("building index {}", progress.object)),
            BackupStage::Finishing => self.step("finishing"),
        }
    }

    /// Says something, verbose or not.
    pub(super) fn say(&self, line: &str) {
        self.out.line(line);
    }

    /// Says which transactions in limbo a backup is without, verbose or not: it is less than somebody may expect.
    fn left_out(&self, prepared: &[u64]) {
        if !prepared.is_empty() {
            let numbers: Vec<String> = prepared.iter().map(u64::to_string).collect();
            self.out.line(&format!("transactions in limbo are not in the backup: {}", numbers.join(", ")));
        }
    }

    pub(super) fn finished(&mut self, summary: &BackupSummary) {
        if self.verbose {
            let BackupSummary { relations, rows, blobs, bytes, .. } = summary;
            self.step(&format!("{relations} tables, {rows} rows, {blobs} blobs, {bytes} bytes of backup"));
        } else if self.times.is_some() {
            self.step("total statistics");
        }
    }
}
