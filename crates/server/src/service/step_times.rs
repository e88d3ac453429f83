//! How long the steps of a backup or a restore take, before each line of a verbose one: gbak's `-statistics`.

use std::time::{Duration, Instant};

use farbird_types::{Error, Result, isc};

/// The times that were asked for.
#[derive(Debug, Clone)]
pub(super) struct StepTimes {
    /// Since the beginning.
    total: bool,
    /// Since the line before.
    delta: bool,
    begun: Instant,
    last: Instant,
}

impl StepTimes {
    /// From gbak's letters: T for the time since the beginning, D for that since the line before.
    ///
    /// # Errors
    /// `isc_wish_list` for R and W, page reads and writes, which are not counted for one service; `isc_bad_spb_form` for other letters.
    pub(super) fn parse(letters: &str) -> Result<StepTimes> {
        let now = Instant::now();
        let mut times = StepTimes { total: false, delta: false, begun: now, last: now };
        for letter in letters.chars() {
            match letter.to_ascii_uppercase() {
                'T' => times.total = true,
                'D' => times.delta = true,
                'R' | 'W' => {
                    let why = "-statistics of page reads (R) or writes (W) is not supported";
                    return Err(Error::new(isc::WISH_LIST).and(isc::RANDOM).with(why));
                }
                _ => return Err(Error::new(isc::BAD_SPB_FORM)),
            }
        }
        Ok(times)
    }

    /// The names of the columns.
    pub(super) fn header(&self) -> String {
        let total = if self.total { "time     " } else { "" };
        let delta = if self.delta { "delta  " } else { "" };
        format!("{total}{delta}")
    }

    /// The columns of the next line.
    pub(super) fn next(&mut self) -> String {
        let now = Instant::now();
        let (total, delta) = (now - self.begun, now - self.last);
        self.last = now;
        self.shown(total, delta)
    }

    fn shown(&self, total: Duration, delta: Duration) -> String {
        let mut shown = String::new();
        if self.total {
            shown += &format!("{:4}.{:03} ", total.as_secs(), total.subsec_millis());
        }
        if self.delta {
            shown += &format!("{:2}.{:03} ", delta.as_secs(), delta.subsec_millis());
        }
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_under_their_names() {
        let (total, delta) = (Duration::from_millis(61_005), Duration::from_millis(1_250));
        for (letters, header, columns) in [
            ("td", "time     delta  ", "  61.005  1.250 "),
            ("D", "delta  ", " 1.250 "),
            ("T", "time     ", "  61.005 "),
        ] {
            let times = StepTimes::parse(letters).unwrap();
            assert_eq!((times.header().as_str(), times.shown(total, delta).as_str()), (header, columns));
        }
        assert!(StepTimes::parse("TR").unwrap_err().has(isc::WISH_LIST));
        assert!(StepTimes::parse("X").unwrap_err().has(isc::BAD_SPB_FORM));
    }
}
