//! When backups are made: what settings say, and when the next one is due. Reads no clock.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use farbird_engine::session::clock::timestamp_of_us;
use farbird_types::temporal::{localize, to_local};
use farbird_types::{Date, Time, Timestamp, TimestampTz, ZoneId};
use serde::Deserialize;

/// Backups kept, unless it is said.
const KEEP: u32 = 7;
/// No more are: each is looked at when one is made.
const KEEP_MAX: u32 = 10_000;
/// Longest time between two, in minutes: a year.
const EVERY_MINUTES_MAX: u32 = 366 * 24 * 60;
/// Longest name of a schedule: it is part of the names of files.
const NAME_CHARACTERS_MAX: usize = 40;
/// How long after a failure the next attempt is made, at the latest.
const RETRY_US: i64 = 15 * 60 * 1_000_000;
/// What stands for all databases of the data folder.
pub(crate) const ALL_DATABASES: &str = "*";

/// A schedule as it is set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackupSchedule {
    /// Its name.
    pub name: String,
    /// Databases as clients name them; `*`: all in the data folder.
    pub databases: Vec<String>,
    /// Whether the users are backed up, too: the security database.
    pub users: bool,
    /// Where backups lie; relative to the data folder.
    pub folder: PathBuf,
    /// When they are made.
    pub when: When,
    /// How many are kept of each database.
    pub keep: usize,
}

/// When backups are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Each day when the clocks of a zone show this time.
    Daily {
        /// The time.
        at: Time,
        /// The zone.
        zone: ZoneId,
    },
    /// Again and again.
    Every(Duration),
}

/// A schedule as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct RawSchedule {
    #[serde(default)]
    databases: Vec<String>,
    #[serde(default)]
    users: bool,
    folder: Option<PathBuf>,
    at: Option<String>,
    time_zone: Option<String>,
    every_minutes: Option<u32>,
    keep: Option<u32>,
}

/// Checks the schedules of a settings file.
///
/// # Errors
/// What is wrong, with the schedule's name.
pub(crate) fn check(raw: BTreeMap<String, RawSchedule>) -> Result<Vec<BackupSchedule>, String> {
    raw.into_iter()
        .map(|(name, raw)| raw.check(&name).map_err(|why| format!("[backups.{name}]: {why}")))
        .collect()
}

impl RawSchedule {
    fn check(self, name: &str) -> Result<BackupSchedule, String> {
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
        if name.is_empty() || name.len() > NAME_CHARACTERS_MAX || !name.chars().all(is_plain) {
            return Err(format!("a name has 1 to {NAME_CHARACTERS_MAX} letters, digits, - and _"));
        }
        if self.databases.is_empty() && !self.users {
            return Err(
                "databases is missing: names as clients use them, or \"*\" for all in the data folder"
                    .to_owned(),
            );
        }
        let unique: BTreeSet<String> = self.databases.iter().map(|name| name.to_lowercase()).collect();
        if unique.len() < self.databases.len() {
            return Err("databases names one twice".to_owned());
        }
        let folder = self.folder.ok_or("folder is missing: where the backups are to lie")?;
        let when = match (self.at, self.every_minutes) {
            (Some(at), None) => {
                let zone = self.time_zone.as_deref().map_or(Ok(ZoneId::GMT), ZoneId::parse);
                let zone = zone.map_err(|error| format!("time-zone: {error}"))?;
                When::Daily { at: time_of_day(&at).ok_or("at is no time of day as \"02:30\"")?, zone }
            }
            (None, Some(_)) if self.time_zone.is_some() => return Err("time-zone belongs to at".to_owned()),
            (None, Some(minutes)) if (1..=EVERY_MINUTES_MAX).contains(&minutes) => {
                When::Every(Duration::from_secs(u64::from(minutes) * 60))
            }
            (None, Some(minutes)) => {
                return Err(format!("every-minutes: {minutes} is not from 1 to {EVERY_MINUTES_MAX}"));
            }
            _ => return Err("one of at and every-minutes says when".to_owned()),
        };
        let keep = self.keep.unwrap_or(KEEP);
        if !(1..=KEEP_MAX).contains(&keep) {
            return Err(format!("keep: {keep} is not from 1 to {KEEP_MAX}"));
        }
        Ok(BackupSchedule {
            name: name.to_owned(),
            databases: self.databases,
            users: self.users,
            folder,
            when,
            keep: keep as usize,
        })
    }
}

/// `02:30`.
fn time_of_day(text: &str) -> Option<Time> {
    let (hour, minute) = text.split_once(':')?;
    let number = |text: &str| (text.len() == 2).then(|| text.parse::<u32>().ok()).flatten();
    Time::from_parts(number(hour)?, number(minute)?, 0, 0)
}

impl When {
    /// When the next backup is due, in microseconds since 1970, UTC, if the latest was begun at `latest` and an attempt behind it has
    /// failed at `failed`. The first one is due at once.
    pub(crate) fn next(self, latest: Option<i64>, failed: Option<i64>) -> i64 {
        let Some(latest) = latest else { return failed.map_or(i64::MIN, |failed| failed + RETRY_US) };
        let due = self.due_after(latest);
        match failed.filter(|failed| *failed >= due) {
            Some(failed) => self.due_after(failed).min(failed + RETRY_US),
            None => due,
        }
    }

    fn due_after(self, moment: i64) -> i64 {
        match self {
            When::Every(time) => moment.saturating_add(i64::try_from(time.as_micros()).unwrap_or(i64::MAX)),
            When::Daily { at, zone } => {
                let Date(today) = to_local(TimestampTz { utc: timestamp_of_us(moment), zone }).date;
                let days = today.saturating_sub(1)..=today.saturating_add(2);
                days.map(|day| us_of(localize(Timestamp { date: Date(day), time: at }, zone).utc))
                    .find(|due| *due > moment)
                    .unwrap_or(i64::MAX)
            }
        }
    }
}

/// The reverse of [`timestamp_of_us`].
fn us_of(moment: Timestamp) -> i64 {
    /// 1970-01-01, in ten-thousandths of a second since 1858-11-17.
    const EPOCH_TICKS: i64 = 40_587 * 864_000_000;
    (moment.ticks() - EPOCH_TICKS).saturating_mul(100)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<BackupSchedule, String> {
        let raw: RawSchedule = toml::from_str(text).map_err(|error| error.to_string())?;
        raw.check("nightly")
    }

    fn us(text: &str) -> i64 {
        let part = |from: usize, to: usize| text[from..to].parse::<u32>().unwrap();
        let date = Date::from_year_month_day(text[..4].parse().unwrap(), part(5, 7), part(8, 10)).unwrap();
        us_of(Timestamp { date, time: Time::from_parts(part(11, 13), part(14, 16), 0, 0).unwrap() })
    }

    fn shown(us: i64) -> String {
        let moment = timestamp_of_us(us);
        let ((year, month, day), (hour, minute, ..)) = (moment.date.year_month_day(), moment.time.parts());
        format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}")
    }

    #[test]
    fn what_cannot_be_done_is_refused() {
        assert!(parse("databases = ['a']\nfolder = 'b'\nat = '02:30'").is_ok());
        assert!(parse("users = true\nfolder = 'b'\nevery-minutes = 5").is_ok());
        for (text, why) in [
            ("folder = 'b'\nat = '02:30'", "databases is missing"),
            ("databases = ['a', 'A']\nfolder = 'b'\nat = '02:30'", "twice"),
            ("databases = ['a']\nat = '02:30'", "folder is missing"),
            ("databases = ['a']\nfolder = 'b'", "one of at"),
            ("databases = ['a']\nfolder = 'b'\nat = '02:30'\nevery-minutes = 5", "one of at"),
            ("databases = ['a']\nfolder = 'b'\nat = '25:00'", "no time of day"),
            ("databases = ['a']\nfolder = 'b'\nat = '2:30'", "no time of day"),
            ("databases = ['a']\nfolder = 'b'\nat = '02:30'\ntime-zone = 'Mars/Olympus'", "time-zone"),
            ("databases = ['a']\nfolder = 'b'\nevery-minutes = 0", "every-minutes"),
            ("databases = ['a']\nfolder = 'b'\nat = '02:30'\nkeep = 0", "keep"),
            ("databases = ['a']\nfolder = 'b'\nat = '02:30'\nkep = 1", "kep"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn a_daily_backup_follows_the_clocks_of_its_zone() {
        let zone = ZoneId::parse("Europe/Prague").unwrap();
        let daily = When::Daily { at: time_of_day("02:30").unwrap(), zone };
        let next = |latest: &str| shown(daily.next(Some(us(latest)), None));
        assert_eq!(next("2026-01-10 12:00"), "2026-01-11 01:30");
        assert_eq!(next("2026-07-10 00:29"), "2026-07-10 00:30");
        assert_eq!(next("2026-07-10 00:30"), "2026-07-11 00:30");
        // The night in which there is no 02:30: an hour later.
        assert_eq!(next("2026-03-28 12:00"), "2026-03-29 01:30");
        // The server was down for a while: one is due at once, and only one.
        assert_eq!(next("2026-01-01 12:00"), "2026-01-02 01:30");
        assert_eq!(next("2026-01-09 08:00"), "2026-01-10 01:30");
    }

    #[test]
    fn the_first_is_due_at_once_and_a_failure_is_tried_again_soon() {
        let hourly = When::Every(Duration::from_secs(3_600));
        assert_eq!(hourly.next(None, None), i64::MIN);
        let latest = us("2026-01-10 12:00");
        assert_eq!(shown(hourly.next(Some(latest), None)), "2026-01-10 13:00");
        let failed = us("2026-01-10 13:00");
        assert_eq!(shown(hourly.next(Some(latest), Some(failed))), "2026-01-10 13:15");
        assert_eq!(shown(hourly.next(None, Some(failed))), "2026-01-10 13:15");
        let often = When::Every(Duration::from_secs(60));
        assert_eq!(shown(often.next(Some(latest), Some(failed))), "2026-01-10 13:01");
    }
}
