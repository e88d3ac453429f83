//! The service that checks tables while others work with them (isc_action_svc_validate).
//!
//! The check reads one snapshot of each table and takes no lock, so it never waits for one: the lock timeout of its arguments is
//! never needed. Unlike in Firebird only those may ask for it who may repair the database.
//! Source: what Firebird 5.0.4 answers; wire-protocol.md, 11.5 (isc_spb_val_).

use std::sync::Arc;

use farbird_engine::check::{CheckedTable, DatabaseReport};
use farbird_engine::clock;
use farbird_engine::maintenance::Maintenance;
use farbird_engine::pattern::NamePattern;
use farbird_engine::session::Interrupt;
use farbird_types::{Error, Result, isc};
use farbird_wire::clumplet::spb::{self, validate};
use farbird_wire::clumplet::{StartItem, StartValue};

use super::access::maintain_as;
use super::pipe::{Pipe, PipeOutput};
use super::task::{Running, run};
use super::text;
use crate::handshake::Identity;
use crate::shared::Shared;

/// As Firebird names the service.
const NAME: &str = "Validate Database";

/// What is to be checked, by patterns of names.
#[derive(Debug, Default)]
struct Wanted {
    tables: Option<NamePattern>,
    but_tables: Option<NamePattern>,
    indexes: Option<NamePattern>,
    but_indexes: Option<NamePattern>,
}

impl Wanted {
    fn of(items: &[StartItem]) -> Result<Wanted> {
        let mut wanted = Wanted::default();
        for item in items {
            let place = match item.tag {
                validate::TAB_INCL => &mut wanted.tables,
                validate::TAB_EXCL => &mut wanted.but_tables,
                validate::IDX_INCL => &mut wanted.indexes,
                validate::IDX_EXCL => &mut wanted.but_indexes,
                validate::LOCK_TIMEOUT | spb::DBNAME => continue,
                _ => return Err(bad_form()),
            };
            let StartValue::Text(pattern) = &item.value else { return Err(bad_form()) };
            *place = Some(NamePattern::new(&String::from_utf8_lossy(pattern), false)?);
        }
        Ok(wanted)
    }

    /// The table with those of its indexes that are wanted; `None` if it is not.
    fn of_table(&self, mut table: CheckedTable, interrupt: &Interrupt) -> Result<Option<CheckedTable>> {
        if !is_wanted(&self.tables, &self.but_tables, &table.name, interrupt)? {
            return Ok(None);
        }
        let mut indexes = Vec::new();
        for index in table.indexes {
            if is_wanted(&self.indexes, &self.but_indexes, &index, interrupt)? {
                indexes.push(index);
            }
        }
        table.indexes = indexes;
        Ok(Some(table))
    }
}

fn is_wanted(
    only: &Option<NamePattern>,
    without: &Option<NamePattern>,
    name: &str,
    interrupt: &Interrupt,
) -> Result<bool> {
    let matches = |pattern: &Option<NamePattern>| {
        pattern.as_ref().map(|pattern| pattern.matches(name, interrupt)).transpose()
    };
    Ok(matches(only)?.unwrap_or(true) && !matches(without)?.unwrap_or(false))
}

/// Starts the check.
///
/// # Errors
/// `isc_bad_spb_form`; `isc_invalid_similar_pattern`.
pub(super) fn start(shared: &Arc<Shared>, identity: &Identity, items: &[StartItem]) -> Result<Running> {
    let database = text(items, spb::DBNAME).ok_or_else(bad_form)?;
    let wanted = Wanted::of(items)?;
    let (server, identity) = (Arc::clone(shared), identity.clone());
    Ok(run(shared, NAME, true, Arc::new(Interrupt::new()), move |pipe, interrupt| {
        let nothing = Maintenance::default();
        let attachment = maintain_as(&server, &identity, &database, &nothing, false, interrupt)?;
        let tables = attachment.tables_to_check()?;
        say(pipe, "Validation started")?;
        say_nothing(pipe)?;
        for table in tables {
            interrupt.check()?;
            let Some(table) = wanted.of_table(table, interrupt)? else { continue };
            let CheckedTable { name, id, indexes } = &table;
            say(pipe, &format!("Relation {id} ({name})"))?;
            for (number, index) in indexes.iter().enumerate() {
                say(pipe, &format!("Index {} ({index})", number + 1))?;
            }
            conclude(pipe, &table, &attachment.check_table(&table)?)?;
            say_nothing(pipe)?;
        }
        say(pipe, "Validation finished")
    }))
}

/// Says what was found in a table.
fn conclude(pipe: &Arc<Pipe>, table: &CheckedTable, report: &DatabaseReport) -> Result<()> {
    let CheckedTable { name, id, .. } = table;
    for damage in &report.damages {
        say(pipe, &format!("Error: {}: {}", damage.place, damage.what))?;
    }
    let errors = report.damages.len() as u64 + report.counts.more_findings;
    match errors {
        0 => say(pipe, &format!("Relation {id} ({name}) is ok")),
        errors => say(pipe, &format!("Relation {id} ({name}) : {errors} ERRORS found")),
    }
}

/// Says a line with the time before it.
fn say(pipe: &Arc<Pipe>, what: &str) -> Result<()> {
    let (hour, minute, second, fraction) = clock::utc().time.parts();
    write(pipe, &format!("{hour:02}:{minute:02}:{second:02}.{:02} {what}\n", fraction / 100))
}

fn say_nothing(pipe: &Arc<Pipe>) -> Result<()> {
    write(pipe, "\n")
}

fn write(pipe: &Arc<Pipe>, text: &str) -> Result<()> {
    // It fails when nobody asks for the rest.
    std::io::Write::write_all(&mut PipeOutput(Arc::clone(pipe)), text.as_bytes())
        .map_err(|_| Error::new(isc::CANCELLED))
}

fn bad_form() -> Error {
    Error::new(isc::BAD_SPB_FORM)
}
