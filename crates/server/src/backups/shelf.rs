//! The backups of one database by one schedule: their files, the list of them, and which of them go.
//!
//! # Promises
//! - Only files that stand in the list, and are as they were when they were written (size and time of the last change), are ever
//!   deleted; only behind a backup that is whole, was checked and stands in the list.
//! - The list is replaced as a whole. A crash between a backup and its entry leaves a file that stays until somebody removes it.
//!
//! The list is a text beside the backups, `DATABASE.SCHEDULE.backups`: a line with the database, then a line for each backup, oldest
//! first; parts are separated by tabs.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use farbird_engine::session::clock::timestamp_of_us;

/// Begins each list.
const HEAD: &str = "farbird backups 1";
/// Longest list that is read: more than any number of backups that may be kept.
const LIST_BYTES_MAX: u64 = 16 << 20;

/// Where the backups of one database by one schedule lie.
#[derive(Debug, Clone)]
pub(super) struct Shelf {
    folder: PathBuf,
    /// The database's name as part of files' names.
    name: String,
    schedule: String,
    database: PathBuf,
}

/// A backup that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Kept {
    /// The file's name in the folder.
    pub(super) file: String,
    /// When it was begun, in microseconds since 1970, UTC.
    pub(super) at_us: i64,
    pub(super) bytes: u64,
    pub(super) rows: u64,
    pub(super) duration_ms: u64,
    /// When the file was changed last, in nanoseconds since 1970.
    modified_ns: u128,
}

impl Shelf {
    /// The shelf of a database that clients call `name`.
    pub(super) fn new(folder: &Path, name: &str, schedule: &str, database: &Path) -> Shelf {
        let plain = |letter: char| {
            if letter.is_alphanumeric() || matches!(letter, '.' | '-' | '_') { letter } else { '_' }
        };
        Shelf {
            folder: folder.to_owned(),
            name: name.chars().map(plain).collect(),
            schedule: schedule.to_owned(),
            database: database.to_owned(),
        }
    }

    /// The database's file.
    pub(super) fn database(&self) -> &Path {
        &self.database
    }

    /// The schedule's name.
    pub(super) fn schedule(&self) -> &str {
        &self.schedule
    }

    /// A backup of this shelf.
    pub(super) fn path(&self, file: &str) -> PathBuf {
        self.folder.join(file)
    }

    /// The name of a backup that is begun now.
    pub(super) fn file_name(&self, at_us: i64) -> String {
        let moment = timestamp_of_us(at_us);
        let ((year, month, day), (hour, minute, second, _)) =
            (moment.date.year_month_day(), moment.time.parts());
        format!(
            "{}.{}.{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z.fbb",
            self.name, self.schedule
        )
    }

    fn list_path(&self) -> PathBuf {
        self.folder.join(format!("{}.{}.backups", self.name, self.schedule))
    }

    /// The backups that the list has and that are there, oldest first.
    ///
    /// # Errors
    /// The list cannot be read, is none, or is another database's.
    pub(super) fn read(&self) -> io::Result<Vec<Kept>> {
        let path = self.list_path();
        match fs::metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
            Ok(facts) if facts.len() > LIST_BYTES_MAX => return Err(self.wrong("it is too long")),
            Ok(_) => {}
        }
        let text = fs::read_to_string(&path)?;
        let mut lines = text.lines();
        let head = format!("{HEAD}\t{}", self.database.display());
        match lines.next() {
            Some(first) if first == head => {}
            Some(first) if first.starts_with(HEAD) => return Err(self.wrong("it is of another database")),
            _ => return Err(self.wrong("it is no list of backups")),
        }
        let kept = lines.map(|line| Kept::parse(line).ok_or_else(|| self.wrong("a line is damaged")));
        let mut kept = kept.collect::<io::Result<Vec<Kept>>>()?;
        kept.retain(|kept| self.is_as_written(kept));
        Ok(kept)
    }

    fn wrong(&self, what: &str) -> io::Error {
        let path = self.list_path();
        io::Error::new(
            io::ErrorKind::InvalidData,
            format!("{}: {what}; move it away to begin another one", path.display()),
        )
    }

    /// Whether a backup's file is there, and is the one that was written.
    fn is_as_written(&self, kept: &Kept) -> bool {
        let facts = fs::symlink_metadata(self.path(&kept.file));
        facts.is_ok_and(|facts| {
            facts.is_file() && facts.len() == kept.bytes && modified_ns(&facts) == kept.modified_ns
        })
    }

    /// Adds a backup to the list, then deletes the oldest ones until `keep` are left; gives those.
    ///
    /// # Errors
    /// The list cannot be written: then nothing is deleted.
    pub(super) fn add(
        &self,
        file: &str,
        at_us: i64,
        rows: u64,
        duration_ms: u64,
        keep: usize,
    ) -> io::Result<Vec<Kept>> {
        let facts = fs::symlink_metadata(self.path(file))?;
        let (bytes, modified_ns) = (facts.len(), modified_ns(&facts));
        let mut kept = self.read()?;
        kept.push(Kept { file: file.to_owned(), at_us, bytes, rows, duration_ms, modified_ns });
        self.write(&kept)?;
        let surplus = kept.len().saturating_sub(keep);
        let mut gone = 0;
        for old in kept.iter().take(surplus) {
            match fs::remove_file(self.path(&old.file)) {
                Ok(()) => tracing::info!(file = %self.path(&old.file).display(), "an old backup was deleted"),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    tracing::warn!(file = %self.path(&old.file).display(), %error, "an old backup cannot be deleted");
                    break;
                }
            }
            gone += 1;
        }
        kept.drain(..gone);
        if gone > 0 {
            self.write(&kept)?;
        }
        Ok(kept)
    }

    fn write(&self, kept: &[Kept]) -> io::Result<()> {
        let mut text = format!("{HEAD}\t{}\n", self.database.display());
        for kept in kept {
            text.push_str(&kept.line());
            text.push('\n');
        }
        let (path, pending) = (self.list_path(), self.list_path().with_extension("backups.incomplete"));
        let mut file = File::create(&pending)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&pending, &path)?;
        File::open(&self.folder)?.sync_all()
    }
}

fn modified_ns(facts: &fs::Metadata) -> u128 {
    let since = facts.modified().unwrap_or(SystemTime::UNIX_EPOCH).duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos())
}

impl Kept {
    fn line(&self) -> String {
        let Kept { file, at_us, bytes, rows, duration_ms, modified_ns } = self;
        format!("{file}\t{at_us}\t{bytes}\t{rows}\t{duration_ms}\t{modified_ns}")
    }

    fn parse(line: &str) -> Option<Kept> {
        let mut parts = line.split('\t');
        let file = parts.next().filter(|file| is_plain_name(file))?.to_owned();
        let kept = Kept {
            file,
            at_us: parts.next()?.parse().ok()?,
            bytes: parts.next()?.parse().ok()?,
            rows: parts.next()?.parse().ok()?,
            duration_ms: parts.next()?.parse().ok()?,
            modified_ns: parts.next()?.parse().ok()?,
        };
        parts.next().is_none().then_some(kept)
    }
}

/// Whether it is the name of a file in the folder and leads nowhere else.
fn is_plain_name(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    matches!((parts.next(), parts.next()), (Some(std::path::Component::Normal(_)), None))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shelf(folder: &Path) -> Shelf {
        Shelf::new(folder, "app.fbd", "nightly", Path::new("/data/app.fbd"))
    }

    fn made(shelf: &Shelf, number: i64, keep: usize) -> Vec<Kept> {
        let at = 1_700_000_000_000_000 + number * 1_000_000;
        let file = shelf.file_name(at);
        fs::write(shelf.path(&file), vec![b'x'; 10 + number as usize]).unwrap();
        shelf.add(&file, at, 1, 2, keep).unwrap()
    }

    #[test]
    fn as_many_are_kept_as_were_asked_for_and_the_oldest_go() {
        let folder = tempfile::tempdir().unwrap();
        let shelf = shelf(folder.path());
        assert_eq!(shelf.read().unwrap(), []);
        for number in 0..5 {
            made(&shelf, number, 3);
        }
        let kept = shelf.read().unwrap();
        assert_eq!(kept.iter().map(|kept| kept.bytes).collect::<Vec<_>>(), [12, 13, 14]);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 4, "three backups and the list");
        assert_eq!(shelf.file_name(1_700_000_000_000_000), "app.fbd.nightly.20231114T221320Z.fbb");
    }

    #[test]
    fn what_it_did_not_write_stays() {
        let folder = tempfile::tempdir().unwrap();
        let shelf = shelf(folder.path());
        let foreign = folder.path().join("app.fbd.nightly.20200101T000000Z.fbb");
        fs::write(&foreign, "somebody else's").unwrap();
        let first = made(&shelf, 0, 1).remove(0);
        // Somebody has put something else in the place of the first one.
        fs::write(shelf.path(&first.file), "changed by hand").unwrap();
        made(&shelf, 1, 1);
        made(&shelf, 2, 1);
        assert!(foreign.exists() && shelf.path(&first.file).exists());
        assert_eq!(shelf.read().unwrap().len(), 1);
    }

    #[test]
    fn a_list_that_is_another_databases_or_none_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let own = shelf(folder.path());
        made(&own, 0, 3);
        let other = Shelf::new(folder.path(), "app.fbd", "nightly", Path::new("/elsewhere/app.fbd"));
        assert!(other.read().unwrap_err().to_string().contains("another database"));
        for hostile in ["", "nonsense", "farbird backups 1\t/data/app.fbd\n../../etc/passwd\t1\t1\t1\t1\t1"] {
            fs::write(own.list_path(), hostile).unwrap();
            assert!(own.read().is_err(), "{hostile}");
        }
    }
}
