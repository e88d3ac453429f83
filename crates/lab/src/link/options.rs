//! What a link is like, as text and as values: the same for the link inside the process and for the kernel's.
//!
//! # Promises
//! Units are always said (`200ms`, `35mbit`, `1%`); what is not understood is refused, with the forms that are.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Longest delay and jitter: beyond it a link is not slow but broken.
const DELAY_MAX: Duration = Duration::from_secs(60);
/// Least bytes that a queue or a window holds: some segments, or nothing would move.
const BUFFER_BYTES_MIN: usize = 64 * 1024;
/// Most bytes of a queue or a window.
const BUFFER_BYTES_MAX: usize = 1024 * 1024 * 1024;

/// Text that says no link.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not {expected}")]
pub struct OptionError {
    text: String,
    expected: &'static str,
}

impl OptionError {
    fn new(text: &str, expected: &'static str) -> OptionError {
        OptionError { text: text.to_owned(), expected }
    }
}

/// A link between two places: what happens to what a client sends (`up`) and to what it gets (`down`).
///
/// As text: `rtt=200ms,rate=35mbit,loss=1%,jitter=2ms,queue=1mb,window=4mb,seed=1`, each at most once, any of them;
/// `up.` or `down.` in front of `delay`, `rate`, `loss`, `jitter` and `queue` means that direction only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinkOptions {
    /// From the client to the server.
    pub up: PathOptions,
    /// From the server to the client.
    pub down: PathOptions,
    /// Most bytes of a connection under way in one direction: what the smaller of the sender's and the receiver's
    /// buffers holds. Linux lets the sender's grow to 4 MiB.
    pub window: usize,
    /// Chooses what is lost and what is late: the same seed, the same bytes.
    pub seed: u64,
}

impl Default for LinkOptions {
    fn default() -> LinkOptions {
        let path = PathOptions::default();
        LinkOptions { up: path.clone(), down: path, window: 4 * 1024 * 1024, seed: 1 }
    }
}

/// One direction of a link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PathOptions {
    /// From one end to the other, without what the bandwidth adds.
    pub delay: Duration,
    /// Bits a second, headers of packets included; `None` is without limit. All connections share it.
    pub rate: Option<Rate>,
    /// How many of the segments are lost.
    pub loss: Share,
    /// Each burst is late by up to so much, evenly spread; none overtakes another.
    pub jitter: Duration,
    /// Most bytes that wait for the line. In the process a sender waits when there are more; in the kernel packets are
    /// dropped, as routers do.
    pub queue: usize,
}

impl Default for PathOptions {
    fn default() -> PathOptions {
        PathOptions {
            delay: Duration::ZERO,
            rate: None,
            loss: Share::NONE,
            jitter: Duration::ZERO,
            // A second of 35 Mbit/s.
            queue: 4 * 1024 * 1024,
        }
    }
}

impl LinkOptions {
    /// A link with so long a round trip, the same in both directions.
    pub fn with_round_trip(round_trip: Duration) -> LinkOptions {
        let mut options = LinkOptions::default();
        options.both(|path| path.delay = round_trip / 2);
        options
    }

    /// The same with a bandwidth in each direction.
    #[must_use]
    pub fn with_rate(mut self, rate: Option<Rate>) -> LinkOptions {
        self.both(|path| path.rate = rate);
        self
    }

    /// Changes both directions.
    pub fn both(&mut self, mut change: impl FnMut(&mut PathOptions)) {
        change(&mut self.up);
        change(&mut self.down);
    }

    /// Delay there and back.
    pub fn round_trip(&self) -> Duration {
        self.up.delay + self.down.delay
    }

    /// Changes what `text` names: see [`LinkOptions`].
    ///
    /// # Errors
    /// An unknown name or a value that is not understood.
    pub fn change(&mut self, text: &str) -> Result<(), OptionError> {
        for item in text.split(',').map(str::trim).filter(|item| !item.is_empty()) {
            let (name, value) = item
                .split_once('=')
                .ok_or_else(|| OptionError::new(item, "NAME=VALUE, such as rtt=200ms or rate=35mbit"))?;
            self.set(name.trim(), value.trim())?;
        }
        Ok(())
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), OptionError> {
        match name {
            "rtt" => {
                let delay = parse_delay(value)? / 2;
                self.both(|path| path.delay = delay);
            }
            "window" => self.window = parse_bytes(value)?,
            "seed" => {
                self.seed = value.parse().map_err(|_| OptionError::new(value, "a number, such as seed=1"))?;
            }
            _ => match name.split_once('.') {
                Some(("up", name)) => self.up.set(name, value)?,
                Some(("down", name)) => self.down.set(name, value)?,
                _ => {
                    self.up.set(name, value)?;
                    self.down.set(name, value)?;
                }
            },
        }
        Ok(())
    }
}

impl FromStr for LinkOptions {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<LinkOptions, OptionError> {
        let mut options = LinkOptions::default();
        options.change(text)?;
        Ok(options)
    }
}

impl PathOptions {
    /// Changes what `text` names (`delay`, `rate`, `loss`, `jitter`, `queue`), as `rate=35mbit,loss=1%`.
    ///
    /// # Errors
    /// An unknown name or a value that is not understood.
    pub fn change(&mut self, text: &str) -> Result<(), OptionError> {
        for item in text.split(',').map(str::trim).filter(|item| !item.is_empty()) {
            let (name, value) = item
                .split_once('=')
                .ok_or_else(|| OptionError::new(item, "NAME=VALUE, such as delay=10ms or rate=35mbit"))?;
            self.set(name.trim(), value.trim())?;
        }
        Ok(())
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), OptionError> {
        match name {
            "delay" => self.delay = parse_delay(value)?,
            "rate" => self.rate = parse_rate(value)?,
            "loss" => self.loss = value.parse()?,
            "jitter" => self.jitter = parse_delay(value)?,
            "queue" => self.queue = parse_bytes(value)?,
            _ => {
                return Err(OptionError::new(
                    name,
                    "an option of a link: rtt, delay, rate, loss, jitter, queue, window or seed",
                ));
            }
        }
        Ok(())
    }

    /// How long the line is busy with so many bytes.
    pub(crate) fn line_time(&self, bytes: usize) -> Duration {
        self.rate.map_or(Duration::ZERO, |rate| rate.time_of(bytes))
    }
}

impl fmt::Display for LinkOptions {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "round trip {:?}", self.round_trip())?;
        if self.up == self.down {
            return self.up.write_more(out);
        }
        for (name, path) in [("up", &self.up), ("down", &self.down)] {
            write!(out, "; {name} {:?}", path.delay)?;
            path.write_more(out)?;
        }
        Ok(())
    }
}

impl PathOptions {
    fn write_more(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(rate) = self.rate {
            write!(out, ", {rate}")?;
        }
        if self.loss != Share::NONE {
            write!(out, ", {} lost", self.loss)?;
        }
        if !self.jitter.is_zero() {
            write!(out, ", late by up to {:?}", self.jitter)?;
        }
        Ok(())
    }
}

/// Bits a second. As text `35mbit`, `1gbit`, `64kbit`, `1000bit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Rate(u64);

impl Rate {
    /// So many bits a second; `None` for 0, at which nothing would ever arrive.
    pub fn bits_per_second(bits: u64) -> Option<Rate> {
        (bits > 0).then_some(Rate(bits))
    }

    /// So many million bits a second, at least 1.
    pub fn mbit(millions: u32) -> Rate {
        Rate(u64::from(millions.max(1)) * 1_000_000)
    }

    /// Bits a second.
    pub fn bits(self) -> u64 {
        self.0
    }

    /// How long so many bytes take.
    pub fn time_of(self, bytes: usize) -> Duration {
        let nanoseconds = bytes as u128 * 8 * 1_000_000_000 / u128::from(self.0);
        Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
    }

    /// How many bytes pass in so long.
    pub fn bytes_in(self, time: Duration) -> usize {
        let bytes = time.as_nanos() * u128::from(self.0) / 8 / 1_000_000_000;
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }
}

impl FromStr for Rate {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Rate, OptionError> {
        let wrong = || OptionError::new(text, "a bandwidth, such as 35mbit, 1gbit or 64kbit");
        let (number, unit) = number_and_unit(text).ok_or_else(wrong)?;
        let unit = match unit {
            "bit" => 1.0,
            "kbit" => 1e3,
            "mbit" => 1e6,
            "gbit" => 1e9,
            _ => return Err(wrong()),
        };
        let bits = number * unit;
        if !(1.0..=1e13).contains(&bits) {
            return Err(wrong());
        }
        // Below 2^53: exact.
        Ok(Rate(bits as u64))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            bits if bits % 1_000_000_000 == 0 => write!(out, "{} Gbit/s", bits / 1_000_000_000),
            bits if bits % 1_000_000 == 0 => write!(out, "{} Mbit/s", bits / 1_000_000),
            bits => write!(out, "{} kbit/s", bits as f64 / 1e3),
        }
    }
}

/// A share from 0 to less than 1. As text `1%` or `0.5%`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
pub struct Share(f64);

impl Share {
    /// Nothing.
    pub const NONE: Share = Share(0.0);

    /// So many of a hundred: at least 0, at most 90.
    pub fn percent(percent: f64) -> Option<Share> {
        (0.0..=90.0).contains(&percent).then_some(Share(percent / 100.0))
    }

    /// As a number from 0 to 1.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl FromStr for Share {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Share, OptionError> {
        let wrong = || OptionError::new(text, "a share from 0% to 90%, such as 1%");
        let number = text.strip_suffix('%').ok_or_else(wrong)?.trim_end();
        number.parse().ok().and_then(Share::percent).ok_or_else(wrong)
    }
}

impl fmt::Display for Share {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}%", self.0 * 100.0)
    }
}

/// A delay: `200ms`, `1.5s`, `250us`; `0` needs no unit.
///
/// # Errors
/// Another form, less than nothing, or more than a minute.
pub fn parse_delay(text: &str) -> Result<Duration, OptionError> {
    let wrong = || OptionError::new(text, "a delay, such as 200ms, 1.5s or 250us, of at most 60s");
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let (number, unit) = number_and_unit(text).ok_or_else(wrong)?;
    let unit = match unit {
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        _ => return Err(wrong()),
    };
    let delay = Duration::try_from_secs_f64(number * unit).map_err(|_| wrong())?;
    if delay > DELAY_MAX { Err(wrong()) } else { Ok(delay) }
}

/// A bandwidth, or `unlimited`.
///
/// # Errors
/// As [`Rate::from_str`].
pub fn parse_rate(text: &str) -> Result<Option<Rate>, OptionError> {
    if text == "unlimited" { Ok(None) } else { text.parse().map(Some) }
}

/// A number of bytes from 64 KiB to 1 GiB: `256kb`, `4mb` (of 1,024).
///
/// # Errors
/// Another form, or too few or too many bytes.
pub fn parse_bytes(text: &str) -> Result<usize, OptionError> {
    let wrong = || OptionError::new(text, "a size from 64kb to 1gb, such as 256kb or 4mb");
    let (number, unit) = number_and_unit(text).ok_or_else(wrong)?;
    let unit = match unit {
        "b" => 1.0,
        "kb" => 1024.0,
        "mb" => 1024.0 * 1024.0,
        "gb" => 1024.0 * 1024.0 * 1024.0,
        _ => return Err(wrong()),
    };
    let bytes = number * unit;
    if !(BUFFER_BYTES_MIN as f64..=BUFFER_BYTES_MAX as f64).contains(&bytes) {
        return Err(wrong());
    }
    Ok(bytes as usize)
}

/// Splits `1.5ms` in number and unit.
fn number_and_unit(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|character: char| !character.is_ascii_digit() && character != '.')?;
    let (number, unit) = text.split_at(end);
    Some((number.parse().ok()?, unit.trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_with_units_is_understood() {
        assert_eq!(parse_delay("200ms").unwrap(), Duration::from_millis(200));
        assert_eq!(parse_delay("1.5s").unwrap(), Duration::from_millis(1500));
        assert_eq!(parse_delay("250us").unwrap(), Duration::from_micros(250));
        assert_eq!("35mbit".parse::<Rate>().unwrap(), Rate::mbit(35));
        assert_eq!("1gbit".parse::<Rate>().unwrap().bits(), 1_000_000_000);
        assert_eq!("1%".parse::<Share>().unwrap().get(), 0.01);
        assert_eq!(parse_bytes("256kb").unwrap(), 256 * 1024);
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for delay in ["200", "ms", "-1ms", "2h", "61s", "", "1..5s"] {
            assert!(parse_delay(delay).is_err(), "{delay}");
        }
        for rate in ["35", "0mbit", "mbit", "35mb", "99999gbit"] {
            assert!(rate.parse::<Rate>().is_err(), "{rate}");
        }
        for share in ["1", "-1%", "91%", "NaN%", "%"] {
            assert!(share.parse::<Share>().is_err(), "{share}");
        }
        for link in ["200ms", "speed=3", "up.rtt=3ms", "left.rate=3mbit", "rate=3", "seed=x"] {
            assert!(link.parse::<LinkOptions>().is_err(), "{link}");
        }
    }

    #[test]
    fn a_whole_link_stands_in_one_line() {
        let link: LinkOptions =
            "rtt=200ms, rate=35mbit, up.rate=5mbit, down.loss=1%, seed=7".parse().unwrap();
        assert_eq!(link.round_trip(), Duration::from_millis(200));
        assert_eq!(link.up.rate, Some(Rate::mbit(5)));
        assert_eq!(link.down.rate, Some(Rate::mbit(35)));
        assert_eq!((link.up.loss, link.down.loss.get()), (Share::NONE, 0.01));
        assert_eq!(link.seed, 7);
        let shown = link.to_string();
        assert_eq!(shown, "round trip 200ms; up 100ms, 5 Mbit/s; down 100ms, 35 Mbit/s, 1% lost");
    }

    #[test]
    fn a_rate_turns_bytes_into_time_and_back() {
        let rate = Rate::mbit(8);
        assert_eq!(rate.time_of(1_000_000), Duration::from_secs(1));
        assert_eq!(rate.bytes_in(Duration::from_millis(500)), 500_000);
    }
}
