//! The service that tells figures of a database (isc_action_svc_db_stats), in the form of gstat.
//!
//! The header has Firebird's lines with what is so here. Of tables and indexes those lines are told whose figures exist here;
//! pages, their fill, versions and fragments do not.
//! Source: what Firebird 5.0.4 answers; wire-protocol.md, 11.5 (isc_spb_sts_).

use std::io::Write;
use std::sync::Arc;

use farbird_engine::attachment::Attachment;
use farbird_engine::clock;
use farbird_engine::figures::{DatabaseFigures, IndexFigures, TableFigures};
use farbird_engine::maintenance::{Maintenance, ShutdownMode};
use farbird_engine::session::Interrupt;
use farbird_types::{Error, Result, Timestamp, isc};
use farbird_wire::clumplet::spb::{self, statistics};
use farbird_wire::clumplet::{StartItem, StartValue};

use super::access::maintain_as;
use super::pipe::PipeOutput;
use super::task::{Running, run};
use super::text;
use crate::handshake::Identity;
use crate::session::maintenance::refused;
use crate::shared::Shared;

/// As Firebird names the service.
const NAME: &str = "Database Stats";
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
/// The days of the week from that of day 0 (17 November 1858) on.
const DAYS: [&str; 7] = ["Wed", "Thu", "Fri", "Sat", "Sun", "Mon", "Tue"];

/// What is to be told.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Wanted {
    /// Tables.
    data: bool,
    /// Indexes.
    indexes: bool,
    /// How many rows there are, and how long.
    records: bool,
    /// When the database was made is left out.
    no_creation: bool,
    /// These tables only; all if there are none.
    tables: Vec<String>,
}

impl Wanted {
    fn of(items: &[StartItem]) -> Result<Wanted> {
        let mut bits = 0;
        let mut tables = Vec::new();
        for item in items {
            match (item.tag, &item.value) {
                (spb::DBNAME, _) => {}
                (spb::OPTIONS, StartValue::Integer(options)) => bits |= options.cast_unsigned(),
                (statistics::TABLE, StartValue::Text(names)) => {
                    let names = String::from_utf8_lossy(names);
                    tables.extend(names.split_whitespace().map(|name| name.trim_matches('"').to_owned()));
                }
                (spb::COMMAND_LINE, _) => {
                    return Err(refused("gstat's command line; its options have items"));
                }
                _ => return Err(Error::new(isc::BAD_SPB_FORM)),
            }
        }
        let has = |bit: u8| bits & u32::from(bit) != 0;
        if bits & statistics::ENCRYPTION != 0 {
            return Err(refused("figures about encryption; there is none"));
        }
        if has(statistics::SYS_RELATIONS) {
            return Err(refused("figures of system tables; they are not stored"));
        }
        let records = has(statistics::RECORD_VERSIONS);
        let data = has(statistics::DATA_PAGES) || records;
        let indexes = has(statistics::IDX_PAGES);
        let header_only = has(statistics::HDR_PAGES) || has(statistics::DB_LOG);
        // Tables are named to be told of.
        let everything = !(data || indexes || header_only && tables.is_empty());
        Ok(Wanted {
            data: data || everything,
            indexes: indexes || everything,
            records,
            no_creation: has(statistics::NOCREATION),
            tables,
        })
    }
}

/// Starts to tell.
///
/// # Errors
/// `isc_bad_spb_form`, and `isc_wish_list` for what there is nothing to tell of.
pub(super) fn start(shared: &Arc<Shared>, identity: &Identity, items: &[StartItem]) -> Result<Running> {
    let database = text(items, spb::DBNAME).ok_or_else(|| Error::new(isc::BAD_SPB_FORM))?;
    let wanted = Wanted::of(items)?;
    let (server, identity) = (Arc::clone(shared), identity.clone());
    Ok(run(shared, NAME, true, Arc::new(Interrupt::new()), move |pipe, interrupt| {
        let nothing = Maintenance::default();
        let attachment = maintain_as(&server, &identity, &database, &nothing, false, interrupt)?;
        let figures = attachment.database_figures()?;
        let mut out = PipeOutput(Arc::clone(pipe));
        let told = tell(&attachment, &figures, &wanted, &mut out);
        told.map_err(|failure| match failure {
            Failure::Engine(error) => error,
            Failure::Client => Error::new(isc::CANCELLED),
        })
    }))
}

/// Why something is not told to its end.
enum Failure {
    Engine(Error),
    /// Nobody asks for the rest.
    Client,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Engine(error)
    }
}

impl From<std::io::Error> for Failure {
    fn from(_: std::io::Error) -> Failure {
        Failure::Client
    }
}

fn tell(
    attachment: &Attachment,
    figures: &DatabaseFigures,
    wanted: &Wanted,
    out: &mut impl Write,
) -> std::result::Result<(), Failure> {
    let path = attachment.shown_path();
    writeln!(out, "\nDatabase \"{path}\"\nGstat execution time {}\n", date_and_time(clock::utc()))?;
    let header = header(figures, wanted.no_creation);
    out.write_all(header.as_bytes())?;
    if wanted.data || wanted.indexes {
        writeln!(out, "\n\nDatabase file sequence:\nFile {path} is the only file\n")?;
        writeln!(out, "Analyzing database pages ...")?;
        let tables = attachment.stored_tables();
        if let Some(unknown) = wanted.tables.iter().find(|name| !tables.contains(name)) {
            return Err(Error::new(isc::RANDOM).with(format!("table \"{unknown}\" not found")).into());
        }
        for name in tables.iter().filter(|name| wanted.tables.is_empty() || wanted.tables.contains(name)) {
            if let Some(table) = attachment.table_figures(name)? {
                out.write_all(table_text(&table, wanted).as_bytes())?;
            }
        }
    }
    writeln!(out, "Gstat completion time {}\n", date_and_time(clock::utc()))?;
    Ok(())
}

/// The header page, as gstat prints it. What Firebird keeps there and there is not here is 0.
fn header(figures: &DatabaseFigures, no_creation: bool) -> String {
    let store = &figures.store;
    let mut lines = vec![
        "Database header page information:".to_owned(),
        "\tFlags\t\t\t0".to_owned(),
        format!("\tGeneration\t\t{}", store.last_commit.0),
        "\tSystem Change Number\t0".to_owned(),
        format!("\tPage size\t\t{}", figures.page_size),
        "\tODS version\t\t13.1".to_owned(),
        format!("\tOldest transaction\t{}", store.oldest_transaction.0),
        format!("\tOldest active\t\t{}", store.oldest_active.0),
        format!("\tOldest snapshot\t\t{}", store.oldest_snapshot.0),
        format!("\tNext transaction\t{}", store.next_transaction.0),
        "\tSequence number\t\t0".to_owned(),
        format!("\tNext attachment ID\t{}", figures.next_attachment),
        format!("\tImplementation\t\tHW={} little-endian OS=Linux CC=gcc", HARDWARE),
        "\tShadow count\t\t0".to_owned(),
        "\tPage buffers\t\t0".to_owned(),
        "\tNext header page\t0".to_owned(),
        format!("\tDatabase dialect\t{}", figures.dialect),
    ];
    if !no_creation {
        lines.push(format!("\tCreation date\t\t{}", creation_date(figures.created)));
    }
    lines.push(format!("\tAttributes\t\t{}", attributes(figures)));
    lines.push("\n    Variable header data:".to_owned());
    lines.push(format!("\tDatabase GUID:\t{}", figures.guid));
    lines.push(format!("\tSweep interval:\t\t{}", figures.sweep_interval));
    lines.push("\t*END*\n".to_owned());
    lines.join("\n")
}

/// The processor, as Firebird calls it.
const HARDWARE: &str = if cfg!(target_arch = "aarch64") { "ARM64" } else { "AMD/Intel/x64" };

fn attributes(figures: &DatabaseFigures) -> String {
    let shutdown = match figures.shutdown {
        ShutdownMode::Normal => None,
        ShutdownMode::Multi => Some("multi-user maintenance"),
        ShutdownMode::Single => Some("single-user maintenance"),
        ShutdownMode::Full => Some("full shutdown"),
    };
    let read_only = figures.read_only.then_some("read only");
    let all: Vec<&str> = [Some("force write"), shutdown, read_only].into_iter().flatten().collect();
    all.join(", ")
}

fn table_text(table: &TableFigures, wanted: &Wanted) -> String {
    let TableFigures { name, id, formats, rows, row_bytes, blocks, bytes, indexes } = table;
    let mut text = format!("{name} ({id})\n");
    if wanted.data {
        if wanted.records {
            text += &format!("    Total formats: {formats}\n");
            text += &format!("    Average record length: {row_bytes:.2}, total records: {rows}\n");
        }
        text += &format!("    Row blocks: {blocks}\n    Table size: {bytes} bytes\n");
    }
    text.push('\n');
    if wanted.indexes {
        for (number, IndexFigures { name, entries, distinct, bytes }) in indexes.iter().enumerate() {
            let duplicates = entries.saturating_sub(*distinct);
            text += &format!("    Index {name} ({number})\n");
            text += &format!("\tNodes: {entries}, total dup: {duplicates}\n\tIndex size: {bytes} bytes\n\n");
        }
    }
    text
}

/// `Nov 23, 2026 14:13:29`
fn creation_date(moment: Timestamp) -> String {
    let (year, month, day) = moment.date.year_month_day();
    format!("{} {day}, {year} {}", month_name(month), time_of_day(moment))
}

/// `Mon Nov 23 14:13:33 2026`
fn date_and_time(moment: Timestamp) -> String {
    let (year, month, day) = moment.date.year_month_day();
    let week_day =
        usize::try_from(moment.date.0.rem_euclid(7)).ok().and_then(|day| DAYS.get(day)).unwrap_or(&"");
    format!("{week_day} {} {day:2} {} {year}", month_name(month), time_of_day(moment))
}

fn month_name(month: u32) -> &'static str {
    usize::try_from(month).ok().and_then(|month| MONTHS.get(month.checked_sub(1)?)).unwrap_or(&"")
}

fn time_of_day(moment: Timestamp) -> String {
    let (hour, minute, second, _) = moment.time.parts();
    format!("{hour:02}:{minute:02}:{second:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_written_as_c_writes_them() {
        let day = farbird_types::Date::from_year_month_day(2026, 11, 3).unwrap();
        let moment = Timestamp { date: day, time: farbird_types::Time::from_parts(4, 5, 6, 0).unwrap() };
        assert_eq!(date_and_time(moment), "Tue Nov  3 04:05:06 2026");
        assert_eq!(creation_date(moment), "Nov 3, 2026 04:05:06");
    }

    #[test]
    fn without_options_tables_and_indexes_are_told_and_with_the_header_alone_neither() {
        let options = |bits| [StartItem { tag: spb::OPTIONS, value: StartValue::Integer(bits) }];
        let of =
            |bits| Wanted::of(&options(bits)).map(|wanted| (wanted.data, wanted.indexes, wanted.records));
        assert_eq!(of(0), Ok((true, true, false)));
        assert_eq!(of(4), Ok((false, false, false)));
        assert_eq!(of(8), Ok((false, true, false)));
        assert_eq!(of(32), Ok((true, false, true)));
        assert!(of(256).is_err());
    }
}
