//! What was done with rows and pages: MON$RECORD_STATS, MON$TABLE_STATS, MON$IO_STATS, and what drivers ask an attachment for.
//!
//! Each of the database, the attachments that may be seen, their transactions and their statements has a statistics id and a
//! row of its own; each table that it has touched has another row, under a number of its own that MON$TABLE_STATS leads to.

use std::collections::BTreeSet;
use std::sync::Arc;

use farbird_store::{Counted, PageCounters, RecordCounter, RecordCounters, Tally};

use super::monitor::{
    ATTACHMENT_GROUP, DATABASE_GROUP, STATEMENT_GROUP, TRANSACTION_GROUP, number, sessions, stat_id,
};
use crate::catalog::RelationId;
use crate::database::Database;
use crate::session::{Activity, Session, StatementActivity, StatementState};
use crate::system::row_set::RowSet;

/// The counters of MON$RECORD_STATS.
const RECORD_COLUMNS: [(&str, RecordCounter); 11] = [
    ("MON$RECORD_SEQ_READS", RecordCounter::SeqReads),
    ("MON$RECORD_IDX_READS", RecordCounter::IdxReads),
    ("MON$RECORD_INSERTS", RecordCounter::Inserts),
    ("MON$RECORD_UPDATES", RecordCounter::Updates),
    ("MON$RECORD_DELETES", RecordCounter::Deletes),
    ("MON$RECORD_BACKOUTS", RecordCounter::Backouts),
    ("MON$RECORD_PURGES", RecordCounter::Purges),
    ("MON$RECORD_EXPUNGES", RecordCounter::Expunges),
    ("MON$RECORD_LOCKS", RecordCounter::Locks),
    ("MON$RECORD_WAITS", RecordCounter::Waits),
    ("MON$RECORD_CONFLICTS", RecordCounter::Conflicts),
];

/// Columns of MON$RECORD_STATS about what there is not here: rows have no chains of versions that readers follow, no fragments, and are
/// read once.
const NOTHING_TO_COUNT: [&str; 4] =
    ["MON$BACKVERSION_READS", "MON$FRAGMENT_READS", "MON$RECORD_RPT_READS", "MON$RECORD_IMGC"];

/// What one of those has done who have a statistics id.
struct Figures {
    group: i64,
    id: i64,
    counted: Counted,
}

/// What an attachment has done by now, in transactions that have ended and in those that run.
pub(crate) fn of_session(session: &Session) -> Counted {
    let mut counted = session.tally.counted();
    for transaction in session.activity.lock().transactions.values() {
        counted.add_all(&transaction.tally.counted());
    }
    counted
}

/// What all attachments to a database have done, those that have ended too.
fn of_everybody(database: &Database) -> Counted {
    let mut whole = database.tally.counted();
    let everybody: Vec<Arc<Session>> = database.attachments.lock().values().cloned().collect();
    for session in everybody {
        whole.add_all(&of_session(&session));
    }
    whole
}

/// What was done with the pages of a database since it was opened: reads and writes by the background too.
pub(crate) fn pages_of(database: &Database) -> PageCounters {
    with_file(database, &of_everybody(database))
}

/// What attachments have done with pages, with all reads and writes of the file.
fn with_file(database: &Database, counted: &Counted) -> PageCounters {
    let file = database.store.figures().file;
    PageCounters { reads: file.reads, writes: file.writes + file.log_syncs.count(), ..counted.pages() }
}

/// What a statement has done by now.
fn of_statement(statement: &StatementActivity, activity: &Activity) -> Counted {
    let mut counted = statement.counted.lock().clone();
    let running = Some(statement).filter(|statement| statement.state() == StatementState::Active);
    let transaction = running.and_then(|running| activity.transactions.get(&running.transaction()?));
    if let Some(transaction) = transaction {
        counted.add_all(&transaction.tally.counted_in_run());
    }
    counted
}

/// Everybody's figures who may be seen, and those of the database, which have everybody's.
fn figures(rows: &RowSet<'_, '_, '_>) -> Vec<Figures> {
    // Others hand over what they count now and then.
    rows.context.transaction.store.hand_over_counts();
    let whole = of_everybody(rows.context.database);
    let mut figures = vec![Figures { group: DATABASE_GROUP, id: stat_id(DATABASE_GROUP, 1), counted: whole }];
    let mut add = |group, id, counted| figures.push(Figures { group, id: stat_id(group, id), counted });
    for session in sessions(rows) {
        add(ATTACHMENT_GROUP, session.id, of_session(&session));
        let activity = session.activity.lock().clone();
        for (id, transaction) in &activity.transactions {
            add(TRANSACTION_GROUP, *id, Tally::counted(&transaction.tally));
        }
        for (id, statement) in &activity.statements {
            add(STATEMENT_GROUP, *id, of_statement(statement, &activity));
        }
    }
    figures
}

/// A table that somebody has touched.
struct TableFigures {
    /// The number that leads from MON$TABLE_STATS to MON$RECORD_STATS.
    record_id: i64,
    name: String,
    counters: RecordCounters,
}

/// Gives numbers to the tables of those who have a statistics id: the same ones each time as long as nothing is added before.
#[derive(Default)]
struct RecordIds(BTreeSet<i64>);

impl RecordIds {
    /// The tables that somebody has touched, of those that are there.
    fn tables_of(&mut self, figures: &Figures, rows: &RowSet<'_, '_, '_>) -> Vec<TableFigures> {
        let relations = figures.counted.relations().into_iter();
        let named = relations.filter_map(|(relation, counters)| {
            let known = rows.catalog.relation_by_id(RelationId(relation.0))?;
            let record_id = self.id_of(figures.id, relation.0);
            Some(TableFigures { record_id, name: known.name.clone(), counters })
        });
        named.collect()
    }

    /// Negative numbers: statistics ids are positive ones.
    fn id_of(&mut self, stat_id: i64, relation: u32) -> i64 {
        const IDS: u64 = 1 << 31;
        // The multiplier is that of Fibonacci hashing: numbers side by side go far apart.
        let key = stat_id.cast_unsigned() << 20 ^ u64::from(relation);
        let mut place = key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33;
        loop {
            let id = -1 - i64::try_from(place).unwrap_or(0);
            if self.0.insert(id) {
                return id;
            }
            place = (place + 1) % IDS;
        }
    }
}

fn record_row(rows: &mut RowSet<'_, '_, '_>, group: i64, id: i64, counters: &RecordCounters) {
    rows.row().number("MON$STAT_ID", id).number("MON$STAT_GROUP", group);
    for (column, counter) in RECORD_COLUMNS {
        rows.number(column, number(counters.get(counter)));
    }
    for column in NOTHING_TO_COUNT {
        rows.number(column, 0);
    }
}

/// MON$RECORD_STATS.
pub(super) fn records(rows: &mut RowSet<'_, '_, '_>) {
    let mut ids = RecordIds::default();
    for figures in figures(rows) {
        record_row(rows, figures.group, figures.id, &figures.counted.total());
        for table in ids.tables_of(&figures, rows) {
            record_row(rows, figures.group, table.record_id, &table.counters);
        }
    }
}

/// MON$TABLE_STATS.
pub(super) fn tables(rows: &mut RowSet<'_, '_, '_>) {
    let mut ids = RecordIds::default();
    for figures in figures(rows) {
        for table in ids.tables_of(&figures, rows) {
            rows.row()
                .number("MON$STAT_ID", figures.id)
                .number("MON$STAT_GROUP", figures.group)
                .text("MON$TABLE_NAME", &table.name)
                .number("MON$RECORD_STAT_ID", table.record_id);
        }
    }
}

/// MON$IO_STATS.
pub(super) fn pages(rows: &mut RowSet<'_, '_, '_>) {
    for figures in figures(rows) {
        let pages = match figures.group {
            DATABASE_GROUP => with_file(rows.context.database, &figures.counted),
            _ => figures.counted.pages(),
        };
        rows.row()
            .number("MON$STAT_ID", figures.id)
            .number("MON$STAT_GROUP", figures.group)
            .number("MON$PAGE_READS", number(pages.reads))
            .number("MON$PAGE_WRITES", number(pages.writes))
            .number("MON$PAGE_FETCHES", number(pages.fetches))
            .number("MON$PAGE_MARKS", number(pages.marks));
    }
}
