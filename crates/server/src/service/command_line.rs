//! The command line that gbak hands to the services manager when it runs there (-service): its own arguments instead of
//! the items of a service's block.
//!
//! Each argument stands between two bytes FF, with a space between arguments (recorded from gbak 3.0). Switches begin with
//! a hyphen and may be cut short; a backup names the database and then the file, a restore the file and then the database.

use farbird_types::{Error, Result, isc};
use farbird_wire::clumplet::spb;

use super::backup::{Arguments, unsupported};
use super::step_times::StepTimes;

/// Around an argument.
const QUOTE: u8 = 0xFF;

/// What a switch means here.
#[derive(Clone, Copy)]
enum Meaning {
    /// Nothing: there is no such thing here, or it is always so.
    None,
    /// As `None`, with a value behind it.
    Value,
    Verbose,
    VerboseValue,
    /// Letters of times follow.
    Times,
    PageSize,
    /// READ_ONLY or READ_WRITE follows.
    Mode,
    Create,
    Replace,
    /// Create, or replace if OVERWRITE follows.
    Recreate,
    /// An option, as a bit of isc_spb_options.
    Bit(u32),
    SkipData,
    IncludeData,
    Role,
    Unsupported,
}

/// Switches, with the number of letters that must be there. Where one is the beginning of another the longer comes first.
/// Source: gbak -?.
const SWITCHES: [(&str, usize, Meaning); 47] = [
    ("BUFFERS", 2, Meaning::Value),
    ("BACKUP_DATABASE", 1, Meaning::None),
    ("CONVERT", 2, Meaning::None),
    ("CRYPT", 3, Meaning::Unsupported),
    ("CREATE_DATABASE", 1, Meaning::Create),
    ("REPLACE_DATABASE", 3, Meaning::Replace),
    ("ROLE", 2, Meaning::Role),
    ("RECREATE_DATABASE", 1, Meaning::Recreate),
    ("VERBINT", 5, Meaning::VerboseValue),
    ("VERIFY", 1, Meaning::Verbose),
    ("VERBOSE", 1, Meaning::Verbose),
    ("PARALLEL", 3, Meaning::Value),
    ("PASSWORD", 3, Meaning::Value),
    ("PAGE_SIZE", 1, Meaning::PageSize),
    ("DIRECT_IO", 1, Meaning::None),
    ("EXPAND", 1, Meaning::None),
    ("GARBAGE_COLLECT", 1, Meaning::None),
    ("FACTOR", 2, Meaning::Value),
    ("FETCH_PASSWORD", 2, Meaning::Value),
    ("FIX_FSS_DATA", 9, Meaning::Unsupported),
    ("FIX_FSS_METADATA", 9, Meaning::Unsupported),
    ("KEYHOLDER", 4, Meaning::Unsupported),
    ("KEYNAME", 4, Meaning::Unsupported),
    ("KILL", 1, Meaning::None),
    ("LIMBO", 1, Meaning::None),
    ("MODE", 2, Meaning::Mode),
    ("METADATA", 1, Meaning::Bit(spb::backup::METADATA_ONLY as u32)),
    ("META_DATA", 1, Meaning::Bit(spb::backup::METADATA_ONLY as u32)),
    ("INCLUDE_DATA", 3, Meaning::IncludeData),
    ("INACTIVE", 1, Meaning::Bit(spb::restore::DEACTIVATE_IDX)),
    ("IGNORE", 2, Meaning::None),
    ("NODBTRIGGERS", 3, Meaning::None),
    ("NT", 2, Meaning::None),
    ("NO_VALIDITY", 1, Meaning::Bit(spb::restore::NO_VALIDITY)),
    ("OLD_DESCRIPTIONS", 2, Meaning::None),
    ("ONE_AT_A_TIME", 1, Meaning::None),
    ("SKIP_DATA", 2, Meaning::SkipData),
    ("SERVICE", 2, Meaning::Value),
    ("STATISTICS", 2, Meaning::Times),
    ("TRANSPORTABLE", 1, Meaning::None),
    ("TRUSTED", 3, Meaning::None),
    ("USE_ALL_SPACE", 2, Meaning::None),
    ("USER", 4, Meaning::Value),
    ("REPLICA", 5, Meaning::Unsupported),
    ("ZIP", 3, Meaning::None),
    ("Y", 1, Meaning::Value),
    ("Z", 1, Meaning::None),
];

/// The arguments of a command line.
fn split(line: &[u8]) -> Vec<String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    // Between two quotes there is an argument, behind them the space before the next one.
    line.split(|byte| *byte == QUOTE).skip(1).step_by(2).map(text).collect()
}

/// Understands gbak's command line.
///
/// # Errors
/// `isc_bad_spb_form` if a name is missing; `isc_wish_list` for switches that have no meaning here but would matter.
pub(super) fn parse(line: &[u8], restores: bool) -> Result<Arguments> {
    let mut arguments = Arguments::default();
    let mut names = Vec::new();
    let mut words = split(line).into_iter().peekable();
    while let Some(word) = words.next() {
        let Some(switch) = word.strip_prefix('-') else {
            names.push(word);
            continue;
        };
        let switch = switch.to_uppercase();
        let found = SWITCHES
            .iter()
            .find(|(name, letters, _)| name.starts_with(&switch) && switch.len() >= *letters)
            .map_or(Meaning::Unsupported, |(_, _, meaning)| *meaning);
        match found {
            Meaning::None => {}
            Meaning::Value => drop(words.next()),
            Meaning::Verbose => arguments.verbose = true,
            Meaning::VerboseValue => {
                arguments.verbose = true;
                words.next();
            }
            Meaning::Times => {
                let letters = words.next().ok_or_else(|| Error::new(isc::BAD_SPB_FORM))?;
                arguments.times = Some(StepTimes::parse(&letters)?);
            }
            Meaning::PageSize => {
                let size = words.next().and_then(|size| size.parse().ok());
                arguments.page_size = Some(size.ok_or_else(|| Error::new(isc::BAD_SPB_FORM))?);
            }
            Meaning::Mode => {
                arguments.read_only = match words.next().map(|mode| mode.to_uppercase()).as_deref() {
                    Some("READ_ONLY") => true,
                    Some("READ_WRITE") => false,
                    _ => return Err(Error::new(isc::BAD_SPB_FORM)),
                };
            }
            Meaning::Create => arguments.options |= spb::restore::CREATE,
            Meaning::Replace => arguments.options |= spb::restore::REPLACE,
            Meaning::Recreate => {
                let overwrite =
                    |word: &String| !word.is_empty() && "OVERWRITE".starts_with(&word.to_uppercase());
                arguments.options |= match words.next_if(overwrite) {
                    Some(_) => spb::restore::REPLACE,
                    None => spb::restore::CREATE,
                };
            }
            Meaning::Bit(bit) => arguments.options |= bit,
            Meaning::SkipData | Meaning::IncludeData | Meaning::Role => {
                let said = Some(words.next().ok_or_else(|| Error::new(isc::BAD_SPB_FORM))?);
                match found {
                    Meaning::SkipData => arguments.skipped = said,
                    Meaning::IncludeData => arguments.included = said,
                    _ => arguments.role = said,
                }
            }
            Meaning::Unsupported => return Err(unsupported(&format!("gbak -{switch}"))),
        }
    }
    let mut names = names.into_iter();
    let (Some(first), Some(second), None) = (names.next(), names.next(), names.next()) else {
        return Err(Error::new(isc::BAD_SPB_FORM));
    };
    (arguments.database, arguments.file) = if restores { (second, first) } else { (first, second) };
    Ok(arguments)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(words: &[&str]) -> Vec<u8> {
        words
            .iter()
            .map(|word| [&[QUOTE], word.as_bytes(), &[QUOTE]].concat())
            .collect::<Vec<_>>()
            .join(&b' ')
    }

    #[test]
    fn names_may_hold_spaces_and_come_in_gbaks_order() {
        let backup = parse(&line(&["-b", "-v", "-g", "/my data/app.fbd", "app.fbb"]), false).unwrap();
        assert_eq!((backup.database.as_str(), backup.file.as_str()), ("/my data/app.fbd", "app.fbb"));
        assert!(backup.verbose);
        let restore = parse(&line(&["-c", "-page_size", "8192", "stdin", "new.fbd"]), true).unwrap();
        assert_eq!((restore.database.as_str(), restore.file.as_str()), ("new.fbd", "stdin"));
        assert_eq!((restore.options, restore.verbose), (spb::restore::CREATE, false));
        assert_eq!((restore.page_size, restore.read_only), (Some(8192), false));
        let words = ["-rep", "-mo", "read_only", "-t", "-st", "td", "app.fbb", "new.fbd"];
        let restore = parse(&line(&words), true).unwrap();
        assert!(restore.read_only && restore.times.is_some());
        assert!(parse(&line(&["-b", "-st", "w", "d", "f"]), false).unwrap_err().has(isc::WISH_LIST));
    }

    #[test]
    fn what_replaces_is_told_from_what_creates() {
        let options = |words: &[&str]| parse(&line(words), true).map(|arguments| arguments.options).unwrap();
        assert_eq!(options(&["-rep", "f", "d"]), spb::restore::REPLACE);
        assert_eq!(options(&["-r", "f", "d"]), spb::restore::CREATE);
        assert_eq!(options(&["-R", "o", "f", "d"]), spb::restore::REPLACE);
        assert_eq!(options(&["-recreate", "overwrite", "f", "d"]), spb::restore::REPLACE);
    }

    #[test]
    fn rows_and_constraints_may_be_left_out() {
        let restore = parse(&line(&["-c", "-i", "-n", "-skip_d", "LOG%", "f", "d"]), true).unwrap();
        assert_eq!(
            restore.options,
            spb::restore::CREATE | spb::restore::DEACTIVATE_IDX | spb::restore::NO_VALIDITY
        );
        assert_eq!((restore.skipped.as_deref(), restore.included), (Some("LOG%"), None));
        let backup = parse(&line(&["-b", "-m", "-role", "R", "-inc", "A|B", "d", "f"]), false).unwrap();
        assert_eq!(backup.role.as_deref(), Some("R"));
        assert!(backup.has(u32::from(spb::backup::METADATA_ONLY)));
        assert_eq!(backup.included.as_deref(), Some("A|B"));
    }

    #[test]
    fn what_is_missing_or_would_matter_is_refused() {
        for words in [
            &["-b", "only.fbd"][..],
            &["-b", "a", "b", "c"],
            &["-b", "-crypt", "a", "b"],
            &["-c", "a", "b", "-skip_data"],
            &["-c", "-what", "a", "b"],
            &["-c", "-mode", "maybe", "a", "b"],
            &[],
        ] {
            assert!(parse(&line(words), false).is_err(), "{words:?}");
        }
        assert!(parse(&[QUOTE, b'-'], false).is_err());
    }
}
