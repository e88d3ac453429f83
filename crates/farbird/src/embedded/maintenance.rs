//! What keeps a database well: sweeping, checking, backing up and bringing back.

use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::Path;

use farbird_engine::backup::{
    BackupSummary, CancelFlag, ChosenTables, RestoreOptions, back_up_database, pending_backup,
};
use farbird_engine::check::{DatabaseReport, check_open_database};
use farbird_types::{Error as Status, isc};

use super::database::Database;
use super::error::{Error, Result};
use super::options::{canonical, engine};

/// Steps of the sweep between two looks at whether it found anything to do.
const SWEEP_STEPS: usize = 64;
/// Bytes of a backup read or written at a time.
const BUFFER_BYTES: usize = 1 << 20;

impl Database {
    /// Packs rows into blocks and removes versions that nobody sees any more, now rather than in the background.
    ///
    /// # Errors
    /// Of reading and writing the file.
    pub fn sweep(&self) -> Result<()> {
        let database = self.engine_database();
        while database.store.sweep(SWEEP_STEPS).map_err(|error| database.status(error))? > 0 {}
        Ok(())
    }

    /// Reads everything there is, with its checksums, and compares what rows, indexes and BLOBs say of each other. Others
    /// may go on working. What is damaged is told with the names of tables and indexes.
    ///
    /// ```
    /// # fn main() -> farbird::Result<()> {
    /// # let db = farbird::Database::in_memory()?;
    /// let report = db.check()?;
    /// assert!(report.is_sound(), "{:?}", report.damages);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the check cannot go on. What is damaged is in the report.
    pub fn check(&self) -> Result<DatabaseReport> {
        Ok(check_open_database(self.engine_database(), &CancelFlag::new())?)
    }

    /// Writes a backup of the database as it is now, while others work. The file has its name only when it is whole.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use farbird::Database;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let (backup, restored) = (folder.path().join("app.fbdk"), folder.path().join("restored.fbd"));
    /// # let db = Database::in_memory()?;
    /// db.connect()?.execute("create table t (a int)", ())?;
    /// db.backup(&backup)?;
    ///
    /// let db = Database::restore(&backup, &restored)?;
    /// assert_eq!(db.connect()?.query_one::<i64>("select count(*) from t", ())?, 0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If there is a file of this name; of reading and writing.
    pub fn backup(&self, target: impl AsRef<Path>) -> Result<BackupSummary> {
        let target = target.as_ref();
        let name = target.display().to_string();
        let mut pending = pending_backup(target, false)?;
        let mut out = BufWriter::with_capacity(BUFFER_BYTES, pending.create()?);
        let summary = back_up_database(
            self.engine_database(),
            &ChosenTables::default(),
            &mut out,
            &name,
            &CancelFlag::new(),
            &mut |_| {},
        )?;
        out.flush().map_err(|error| io_error("write", &name, isc::IO_WRITE_ERR, &error))?;
        pending.publish()?;
        Ok(summary)
    }

    /// Makes a database of a backup, and opens it. The file has its name only when it is whole.
    ///
    /// # Errors
    /// If there is a file of this name, if the backup is damaged or none, and of reading and writing.
    pub fn restore(backup: impl AsRef<Path>, target: impl AsRef<Path>) -> Result<Database> {
        let name = backup.as_ref().display().to_string();
        let input = File::open(&backup).map_err(|error| io_error("open", &name, isc::IO_OPEN_ERR, &error))?;
        let input = BufReader::with_capacity(BUFFER_BYTES, input);
        let target = canonical(target.as_ref());
        engine().restore(
            input,
            &name,
            &target,
            &RestoreOptions::default(),
            &CancelFlag::new(),
            &mut |_| {},
        )?;
        Database::open(target)
    }
}

fn io_error(operation: &str, file: &str, detail: u32, error: &std::io::Error) -> Error {
    let status = Status::new(isc::IO_ERROR).with(operation).with(file).and(detail);
    status.and(isc::RANDOM).with(error.to_string()).into()
}
