//! The service that restores a database (isc_action_svc_restore) from Farbird's own backups and from those of Firebird's gbak.
//!
//! It runs as that which backs up ([`super::backup`]). A backup comes from a file of the server, one of gbak's from several if it is split, or
//! from the client (`stdin`). What a backup of gbak's has that the database cannot take is said, verbose or not.
//! Source: FirebirdSQL/firebird doc/README.services_extension; wire-protocol.md, 11.5.

use std::io::{BufReader, Read};
use std::sync::Arc;

use farbird_engine::backup::{BackupSummary, RestoreOptions, Restored};
use farbird_engine::gbak::{Volumes, is_gbak};
use farbird_engine::session::Interrupt;
use farbird_types::{Error, Result, isc};
use farbird_wire::clumplet::spb;

use super::access::check_may_create;
use super::backup::{Arguments, FILE_BUFFER_BYTES, Messages, open_backup, unsupported};
use super::pipe::PipeInput;
use super::task::{Running, run};
use crate::handshake::Identity;
use crate::shared::Shared;

/// The name of a file that is the client's own.
const STDIN: &str = "stdin";
/// As Firebird names the service.
const RESTORE: &str = "Restore Database";
/// The code of gbak's message that a database is in the way and takes a switch to be replaced (its facility is 12).
const GBAK_DB_EXISTS: u32 = 336_330_766;

/// What gbak puts before what it warns of.
const WARNING: &str = "WARNING: ";

/// What a backup is read from.
type Input = Box<dyn Read + Send>;

/// Starts a restore.
///
/// # Errors
/// What can be said at once: files that are not the user's to reach or that cannot be opened; `isc_no_priv` for users who may not create
/// databases.
pub(super) fn start_restore(
    shared: &Arc<Shared>,
    identity: &Identity,
    arguments: Arguments,
) -> Result<Running> {
    let options = RestoreOptions {
        replace: arguments.has(spb::restore::REPLACE),
        read_only: arguments.read_only,
        page_size: arguments.page_size,
        tables: arguments.tables()?,
        inactive_indexes: arguments.has(spb::restore::DEACTIVATE_IDX),
        no_validity: arguments.has(spb::restore::NO_VALIDITY),
    };
    let Arguments { database, file, more_files, verbose, times, .. } = arguments;
    check_may_create(shared, identity, &database, options.replace)?;
    let target = shared.locations.resolve(&database)?;
    let from_client = file == STDIN;
    let mut files = Vec::new();
    if !from_client {
        files.push((file.clone(), open(shared, &file)?));
    }
    if !more_files.is_empty() && !looks_as_if_by_gbak(&mut files)? {
        return Err(unsupported("more than one file"));
    }
    for file in more_files {
        let opened = open(shared, &file)?;
        files.push((file, opened));
    }
    let engine = Arc::clone(&shared.engine);
    Ok(run(shared, RESTORE, from_client, Arc::new(Interrupt::new()), move |pipe, interrupt| {
        if from_client {
            files.push((file.clone(), Box::new(PipeInput(Arc::clone(pipe)))));
        }
        let mut messages = Messages::new(pipe, (verbose, times), "restoring");
        // What gbak says then comes first: it names the switch that is missing.
        let in_the_way = |error: Error| match error.has(isc::DB_OR_FILE_EXISTS) {
            true => Error::new(GBAK_DB_EXISTS).with(database.as_str()).and_all(error),
            false => error,
        };
        let cancel = &interrupt.cancel;
        let restored = if looks_as_if_by_gbak(&mut files)? {
            let files = files.into_iter().map(|(name, input)| (name, input as Box<dyn Read>));
            let volumes = Volumes::open(files.collect())
                .map_err(|fault| Error::new(isc::RANDOM).with(fault.to_string()))?;
            let restored = engine.restore_gbak(volumes, &file, &target, &options, cancel, &mut |progress| {
                messages.tell(progress);
            });
            let summary = restored.map_err(in_the_way)?;
            Restored { summary: BackupSummary::from(&summary), differences: summary.differences }
        } else {
            let input = files
                .into_iter()
                .map(|(_, input)| input)
                .next()
                .unwrap_or_else(|| Box::new(std::io::empty()));
            let restored = engine.restore(input, &file, &target, &options, cancel, &mut |progress| {
                messages.tell(progress);
            });
            restored.map_err(in_the_way)?
        };
        let Restored { summary, differences } = restored;
        differences.iter().for_each(|it| messages.say(&format!("{WARNING}{}: {}", it.object, it.reason)));
        if options.inactive_indexes {
            messages.say("indexes are inactive, but for those of keys: there are no inactive keys");
        }
        messages.finished(&summary);
        tracing::info!(database, file, rows = summary.rows, bytes = summary.bytes, "restored");
        Ok(())
    }))
}

fn open(shared: &Shared, file: &str) -> Result<Input> {
    Ok(Box::new(BufReader::with_capacity(FILE_BUFFER_BYTES, open_backup(shared, file)?)))
}

/// Whether the first of these begins as a file of gbak's does. What is looked at is read again.
fn looks_as_if_by_gbak(files: &mut [(String, Input)]) -> Result<bool> {
    let Some((name, input)) = files.first_mut() else { return Ok(false) };
    let looked_at = std::mem::replace(input, Box::new(std::io::empty()));
    let (is_gbak, again) = is_gbak(looked_at);
    *input = Box::new(again);
    is_gbak.map_err(|error| {
        let why = Error::new(isc::IO_ERROR).with("read").with(name.as_str()).and(isc::IO_READ_ERR);
        why.and(isc::RANDOM).with(error.to_string())
    })
}
