//! The backups of one database by one schedule: their files, the list of them, and which of them go.
//!
//! # Promises
//! - Only files that stand in the list, and are as they were when they were written (size and time of the last change), are ever
//!   deleted; only behind a backup that is whole, was checked and stands in the list.
//! - Names of files and the list have the database's GUID: two servers whose databases have the same name may share a folder.
//! - The list is replaced as a whole. A crash between a backup and its entry leaves a file that stays until somebody removes it.
//! - When the latest success was is known without the files: one that somebody has moved away is not made again before its time.
//!
//! The list is a text beside the backups, `DATABASE.ID.SCHEDULE.backups` (ID: the beginning of the GUID): a line with the database, a
//! line with the moment of the latest success, then a line for each backup, oldest first; parts are separated by tabs. Names are encoded
//! as in URLs, so that different databases have different lists and a name has no line breaks.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use farbird_engine::session::clock::timestamp_of_us;

/// Begins each list.
const HEAD: &str = "farbird backups";
/// Begins its second line.
const LATEST: &str = "latest";
/// Characters of a GUID that are part of files' names.
const ID_CHARACTERS: usize = 8;
/// Longest list that is read: more than any number of backups that may be kept.
const LIST_BYTES_MAX: u64 = 16 << 20;

/// Where the backups of one database by one schedule lie.
#[derive(Debug, Clone)]
pub(super) struct Shelf {
    folder: PathBuf,
    /// The database's name as part of files' names.
    name: String,
    /// The GUID's beginning.
    id: String,
    guid: String,
    schedule: String,
    database: PathBuf,
}

/// How the file of a backup is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// As it was written.
    Kept,
    /// It is not there.
    Missing,
    /// Something else is in its place: somebody has changed it.
    Changed,
    /// Nobody knows: the folder or the disk cannot be read.
    Unreadable,
}

/// What the list says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct List {
    /// When the latest backup that was made was begun, wherever it is now; in microseconds since 1970, UTC.
    pub(super) latest_us: Option<i64>,
    /// Backups, oldest first, and how their files are found.
    pub(super) backups: Vec<(Kept, Found)>,
}

impl List {
    /// The backups that are as they were written, oldest first.
    pub(super) fn kept(&self) -> impl DoubleEndedIterator<Item = &Kept> {
        self.backups.iter().filter(|(_, found)| *found == Found::Kept).map(|(kept, _)| kept)
    }

    /// The list cannot be read any more: nobody knows how the backups are.
    pub(super) fn lose_sight(&mut self) {
        self.backups.iter_mut().for_each(|(_, found)| *found = Found::Unreadable);
    }
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
    pub(super) fn new(folder: &Path, name: &str, guid: &str, schedule: &str, database: &Path) -> Shelf {
        let id = guid.chars().filter(char::is_ascii_alphanumeric).take(ID_CHARACTERS);
        Shelf {
            folder: folder.to_owned(),
            name: encoded(name.as_bytes(), is_plain_in_names),
            id: id.map(|letter| letter.to_ascii_lowercase()).collect(),
            guid: guid.to_owned(),
            schedule: schedule.to_owned(),
            database: database.to_owned(),
        }
    }

    /// The database's GUID.
    pub(super) fn guid(&self) -> &str {
        &self.guid
    }

    /// The database's file.
    pub(super) fn database(&self) -> &Path {
        &self.database
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
            "{}.{}.{}.{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z.fbb",
            self.name, self.id, self.schedule
        )
    }

    fn list_path(&self) -> PathBuf {
        self.folder.join(format!("{}.{}.{}.backups", self.name, self.id, self.schedule))
    }

    /// The list's first line.
    fn head(&self) -> String {
        let path = encoded(self.database.as_os_str().as_encoded_bytes(), |byte| {
            byte == b'/' || is_plain_in_names(byte)
        });
        format!("{HEAD}\t{}\t{path}", self.guid)
    }

    /// What the list says; nothing if there is none.
    ///
    /// # Errors
    /// The list cannot be read, is none, or is another database's.
    pub(super) fn read(&self) -> io::Result<List> {
        let path = self.list_path();
        match fs::metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(List::default()),
            Err(error) => return Err(error),
            Ok(facts) if facts.len() > LIST_BYTES_MAX => return Err(self.wrong("it is too long")),
            Ok(_) => {}
        }
        let text = fs::read_to_string(&path)?;
        let mut lines = text.lines();
        match lines.next() {
            Some(first) if first == self.head() => {}
            Some(first) if first.starts_with(HEAD) => return Err(self.wrong("it is of another database")),
            _ => return Err(self.wrong("it is no list of backups")),
        }
        let latest =
            lines.next().and_then(|line| line.strip_prefix(LATEST)?.strip_prefix('\t')?.parse().ok());
        let latest_us = Some(latest.ok_or_else(|| self.wrong("its second line is damaged"))?);
        let backups = lines.map(|line| {
            let kept = Kept::parse(line).ok_or_else(|| self.wrong("a line is damaged"))?;
            let found = self.find(&kept);
            Ok((kept, found))
        });
        Ok(List { latest_us, backups: backups.collect::<io::Result<_>>()? })
    }

    fn wrong(&self, what: &str) -> io::Error {
        let path = self.list_path();
        io::Error::new(
            io::ErrorKind::InvalidData,
            format!("{}: {what}; move it away to begin another one", path.display()),
        )
    }

    /// How a backup's file is found.
    fn find(&self, kept: &Kept) -> Found {
        match fs::symlink_metadata(self.path(&kept.file)) {
            Ok(facts) => {
                let is_as_written =
                    facts.is_file() && facts.len() == kept.bytes && modified_ns(&facts) == kept.modified_ns;
                if is_as_written { Found::Kept } else { Found::Changed }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Found::Missing,
            Err(_) => Found::Unreadable,
        }
    }

    /// Adds a backup to the list, then deletes the oldest ones until `keep` are left; gives the list. Entries whose files are gone or
    /// changed leave it: those files are somebody else's now. One that cannot be read stays, and counts.
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
    ) -> io::Result<List> {
        let facts = fs::symlink_metadata(self.path(file))?;
        let (bytes, modified_ns) = (facts.len(), modified_ns(&facts));
        let mut list = self.read()?;
        list.backups.retain(|(old, found)| {
            let shown = self.path(&old.file);
            match found {
                Found::Kept | Found::Unreadable => return true,
                Found::Missing => tracing::warn!(file = %shown.display(), "a backup is not there any more"),
                Found::Changed => {
                    tracing::warn!(file = %shown.display(), "a backup was changed by somebody: it stays")
                }
            }
            false
        });
        list.latest_us = Some(at_us);
        let kept = Kept { file: file.to_owned(), at_us, bytes, rows, duration_ms, modified_ns };
        list.backups.push((kept, Found::Kept));
        self.write(&list)?;
        let surplus = list.backups.len().saturating_sub(keep);
        let mut gone = 0;
        for (old, found) in list.backups.iter().take(surplus) {
            let path = self.path(&old.file);
            if *found == Found::Unreadable {
                tracing::warn!(file = %path.display(), "an old backup cannot be read, and is not deleted");
                break;
            }
            match fs::remove_file(&path) {
                Ok(()) => tracing::info!(file = %path.display(), "an old backup was deleted"),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    tracing::warn!(file = %path.display(), %error, "an old backup cannot be deleted");
                    break;
                }
            }
            gone += 1;
        }
        list.backups.drain(..gone);
        if gone > 0 {
            self.write(&list)?;
        }
        Ok(list)
    }

    fn write(&self, list: &List) -> io::Result<()> {
        let mut text = format!("{}\n{LATEST}\t{}\n", self.head(), list.latest_us.unwrap_or_default());
        for (kept, _) in &list.backups {
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

/// What stands in names of files as it is; `%` does not.
fn is_plain_in_names(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_')
}

/// Bytes as a text of one line from which they can be told again: `%20` for what is not plain.
fn encoded(bytes: &[u8], is_plain: impl Fn(u8) -> bool) -> String {
    let mut text = String::with_capacity(bytes.len());
    for byte in bytes {
        match is_plain(*byte) {
            true => text.push(char::from(*byte)),
            false => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
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

    const GUID: &str = "{5A3C9F10-0000-4000-8000-000000000001}";
    const OTHER_GUID: &str = "{77777777-0000-4000-8000-000000000002}";
    const BEGUN: i64 = 1_700_000_000_000_000;

    fn shelf(folder: &Path) -> Shelf {
        Shelf::new(folder, "app.fbd", GUID, "nightly", Path::new("/data/app.fbd"))
    }

    fn made(shelf: &Shelf, number: i64, keep: usize) -> List {
        let at = BEGUN + number * 1_000_000;
        let file = shelf.file_name(at);
        fs::write(shelf.path(&file), vec![b'x'; 10 + number as usize]).unwrap();
        shelf.add(&file, at, 1, 2, keep).unwrap()
    }

    fn found(shelf: &Shelf) -> Vec<Found> {
        shelf.read().unwrap().backups.into_iter().map(|(_, found)| found).collect()
    }

    #[test]
    fn as_many_are_kept_as_were_asked_for_and_the_oldest_go() {
        let folder = tempfile::tempdir().unwrap();
        let shelf = shelf(folder.path());
        assert_eq!(shelf.read().unwrap(), List::default());
        for number in 0..5 {
            made(&shelf, number, 3);
        }
        let list = shelf.read().unwrap();
        assert_eq!(list.kept().map(|kept| kept.bytes).collect::<Vec<_>>(), [12, 13, 14]);
        assert_eq!(list.latest_us, Some(BEGUN + 4_000_000));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 4, "three backups and the list");
        assert_eq!(shelf.file_name(BEGUN), "app.fbd.5a3c9f10.nightly.20231114T221320Z.fbb");
    }

    #[test]
    fn what_it_did_not_write_stays() {
        let folder = tempfile::tempdir().unwrap();
        let shelf = shelf(folder.path());
        let foreign = folder.path().join("app.fbd.5a3c9f10.nightly.20200101T000000Z.fbb");
        fs::write(&foreign, "somebody else's").unwrap();
        let first = made(&shelf, 0, 1).backups.remove(0).0;
        // Somebody has put something else in the place of the first one.
        fs::write(shelf.path(&first.file), "changed by hand").unwrap();
        assert_eq!(found(&shelf), [Found::Changed]);
        made(&shelf, 1, 1);
        made(&shelf, 2, 1);
        assert!(foreign.exists() && shelf.path(&first.file).exists());
        assert_eq!(found(&shelf), [Found::Kept]);
    }

    #[test]
    fn one_that_was_moved_away_is_missing_and_was_made_all_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let shelf = shelf(folder.path());
        let only = made(&shelf, 0, 3).backups.remove(0).0;
        fs::rename(shelf.path(&only.file), folder.path().join("elsewhere")).unwrap();
        assert_eq!(found(&shelf), [Found::Missing]);
        assert_eq!(shelf.read().unwrap().latest_us, Some(BEGUN));
        made(&shelf, 1, 3);
        assert_eq!(found(&shelf), [Found::Kept]);
    }

    #[test]
    fn servers_with_databases_of_one_name_and_path_share_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (
            shelf(folder.path()),
            Shelf::new(folder.path(), "app.fbd", OTHER_GUID, "nightly", Path::new("/data/app.fbd")),
        );
        made(&one, 0, 1);
        assert_eq!(other.read().unwrap(), List::default());
        made(&other, 0, 1);
        made(&other, 1, 1);
        assert_eq!((found(&one), found(&other)), (vec![Found::Kept], vec![Found::Kept]));
    }

    #[test]
    fn each_name_has_a_list_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let names =
            ["app db.fbd", "app_db.fbd", "app%20db.fbd", "app\ndb.fbd", "sub/db.fbd", "sub_db.fbd", "é.fbd"];
        let of =
            |name: &str| Shelf::new(folder.path(), name, GUID, "nightly", &Path::new("/data").join(name));
        for name in names {
            assert_eq!(of(name).read().unwrap(), List::default(), "{name}");
            made(&of(name), 0, 1);
        }
        for name in names {
            assert_eq!(found(&of(name)), [Found::Kept], "{name}");
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2 * names.len());
    }

    #[test]
    fn a_list_that_is_another_databases_or_none_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let own = shelf(folder.path());
        made(&own, 0, 3);
        // A copy of the file has the same GUID.
        let other = Shelf::new(folder.path(), "app.fbd", GUID, "nightly", Path::new("/elsewhere/app.fbd"));
        assert!(other.read().unwrap_err().to_string().contains("another database"));
        let head = own.head();
        for hostile in [
            String::new(),
            "nonsense".to_owned(),
            head.clone(),
            format!("{head}\nlatest\tsoon\n"),
            format!("{head}\nlatest\t1\n../../etc/passwd\t1\t1\t1\t1\t1"),
        ] {
            fs::write(own.list_path(), &hostile).unwrap();
            assert!(own.read().is_err(), "{hostile}");
        }
    }
}
