//! The texts of what has happened, as Firebird 5.0.4's text plugin writes them.
//!
//! A password behind the word PASSWORD is not shown, whoever watches. What a record needs is put together only where somebody wants it.

use std::borrow::Cow;
use std::fmt::Write;
use std::time::Duration;

use farbird_store::{PageCounters, RecordCounter, RecordCounters};
use farbird_types::Error;

use super::parameter::{TracedParameter, cut, write_parameters};
use super::settings::{Event, Settings};
use super::tracer::Tracer;
use crate::parameters::{Isolation, TransactionParameters};

/// How something has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It was done.
    Done,
    /// It has failed.
    Failed,
}

impl Outcome {
    /// How a result has come out.
    pub fn of<T, E>(result: &Result<T, E>) -> Outcome {
        if result.is_ok() { Outcome::Done } else { Outcome::Failed }
    }

    fn action(self, name: &str) -> Cow<'_, str> {
        match self {
            Outcome::Done => name.into(),
            Outcome::Failed => format!("FAILED {name}").into(),
        }
    }
}

/// A transaction.
#[derive(Debug, Clone)]
pub struct TracedTransaction {
    /// Its number.
    pub id: u64,
    /// The number that it began with, before it was retained.
    pub initial_id: u64,
    /// Its parameters.
    pub parameters: TransactionParameters,
}

impl TracedTransaction {
    fn write(&self, text: &mut String) -> std::fmt::Result {
        write!(text, "\t\t(TRA_{}, ", self.id)?;
        if self.initial_id != self.id {
            write!(text, "INIT_{}, ", self.initial_id)?;
        }
        text.push_str(match self.parameters.isolation {
            Isolation::TableStability => "CONSISTENCY",
            Isolation::Snapshot => "CONCURRENCY",
            Isolation::ReadCommitted => "READ_COMMITTED | READ_CONSISTENCY",
        });
        match self.parameters.lock_timeout {
            None => text.push_str(" | WAIT"),
            Some(timeout) if timeout.is_zero() => text.push_str(" | NOWAIT"),
            Some(timeout) => write!(text, " | WAIT {}", timeout.as_secs())?,
        }
        text.push_str(if self.parameters.read_only { " | READ_ONLY)\n" } else { " | READ_WRITE)\n" });
        Ok(())
    }
}

/// A statement.
#[derive(Debug, Clone, Copy)]
pub struct TracedStatement<'a> {
    /// MON$STATEMENT_ID; `None` of one that was not prepared, or is a definition or about transactions.
    pub id: Option<u64>,
    /// Its text.
    pub sql: &'a str,
    /// Its plan, or nothing.
    pub plan: &'a str,
    /// Its plan in the explained form, or nothing.
    pub explained_plan: &'a str,
}

impl TracedStatement<'_> {
    fn write(&self, text: &mut String, settings: &Settings) -> std::fmt::Result {
        text.push('\n');
        if let Some(id) = self.id {
            writeln!(text, "Statement {id}:")?;
        }
        let sql = cut(without_passwords(self.sql).into_owned(), settings.sql_bytes_max);
        writeln!(text, "{:->79}\n{sql}", "")?;
        let plan = if settings.explained_plan { self.explained_plan } else { self.plan };
        match plan.trim_matches('\n') {
            plan if settings.plan && !plan.is_empty() => writeln!(text, "{:^>79}\n{plan}", ""),
            _ => Ok(()),
        }
    }
}

/// A trigger.
#[derive(Debug, Clone, Copy)]
pub struct TracedTrigger<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its table, if it has one.
    pub relation: Option<&'a str>,
    /// `BEFORE INSERT`, `ON CONNECT`.
    pub moment: &'a str,
}

/// What something has taken and done.
#[derive(Debug, Clone, Default)]
pub struct Work {
    /// How long.
    pub elapsed: Duration,
    /// Rows that it gave.
    pub rows: u64,
    /// What was done with pages.
    pub pages: PageCounters,
    /// What was done with the rows of tables, in the order of their numbers.
    pub tables: Vec<TableWork>,
}

/// What was done with the rows of a table.
#[derive(Debug, Clone)]
pub struct TableWork {
    /// Its name.
    pub name: String,
    /// How many rows.
    pub counters: RecordCounters,
}

/// Counters of a table, in the order of their columns.
const SHOWN_COUNTERS: [RecordCounter; 8] = [
    RecordCounter::SeqReads,
    RecordCounter::IdxReads,
    RecordCounter::Updates,
    RecordCounter::Inserts,
    RecordCounter::Deletes,
    RecordCounter::Backouts,
    RecordCounter::Purges,
    RecordCounter::Expunges,
];

impl Work {
    fn is_shown(&self, settings: &Settings) -> bool {
        self.elapsed.as_millis() >= u128::from(settings.threshold_ms)
    }

    fn write(&self, text: &mut String, settings: &Settings) -> std::fmt::Result {
        write!(text, "{:7} ms", self.elapsed.as_millis())?;
        let PageCounters { reads, writes, fetches, marks } = self.pages;
        for (count, what) in
            [(reads, "read(s)"), (writes, "write(s)"), (fetches, "fetch(es)"), (marks, "mark(s)")]
        {
            if count > 0 {
                write!(text, ", {count} {what}")?;
            }
        }
        text.push('\n');
        if !settings.performance || self.tables.is_empty() {
            return Ok(());
        }
        let names = self.tables.iter().map(|table| table.name.chars().count());
        let width = names.max().unwrap_or(0).max(32);
        writeln!(
            text,
            "\n{:width$}   Natural     Index    Update    Insert    Delete   Backout     Purge   Expunge",
            "Table"
        )?;
        writeln!(text, "{:*>1$}", "", width + 80)?;
        for TableWork { name, counters } in &self.tables {
            write!(text, "{name:width$}")?;
            for counter in SHOWN_COUNTERS {
                match counters.get(counter) {
                    0 => write!(text, "{:10}", "")?,
                    count => write!(text, "{count:10}")?,
                }
            }
            text.push('\n');
        }
        Ok(())
    }
}

/// What a statement, a routine or a trigger belongs to.
type Within<'a> = Option<&'a TracedTransaction>;

impl Tracer {
    /// An attachment has begun or ended: `ATTACH_DATABASE`.
    pub fn connection(&self, action: &str) {
        self.tell(Event::Connection, action, |_, _, _| true);
    }

    /// A transaction has begun.
    pub fn transaction_started(&self, transaction: &TracedTransaction) {
        self.told(Event::Transaction, "START_TRANSACTION", Some(transaction), |_, _| Ok(true));
    }

    /// A transaction has ended, or goes on under a new number: `COMMIT_RETAINING`.
    pub fn transaction_ended(
        &self,
        action: &str,
        transaction: &TracedTransaction,
        goes_on_as: Option<u64>,
        work: &Work,
        outcome: Outcome,
    ) {
        self.told(Event::Transaction, &outcome.action(action), Some(transaction), |text, settings| {
            if let Some(id) = goes_on_as {
                writeln!(text, "\tNew number {id}")?;
            }
            work.write(text, settings).map(|()| true)
        });
    }

    /// A statement was prepared, or could not be.
    pub fn prepared(
        &self,
        statement: TracedStatement<'_>,
        within: Within<'_>,
        elapsed: Duration,
        outcome: Outcome,
    ) {
        self.tell_of(Event::Prepare, &outcome.action("PREPARE_STATEMENT"), statement, within, |text, _| {
            writeln!(text, "{:7} ms", elapsed.as_millis()).map(|()| true)
        });
    }

    /// A cursor was closed, or a statement forgotten: `CLOSE_CURSOR`, `FREE_STATEMENT`.
    pub fn freed(&self, action: &str, statement: TracedStatement<'_>) {
        self.tell_of(Event::Free, action, statement, None, |_, _| Ok(true));
    }

    /// A statement begins to run.
    pub fn statement_started(
        &self,
        statement: TracedStatement<'_>,
        within: Within<'_>,
        inputs: &[TracedParameter],
    ) {
        let action = "EXECUTE_STATEMENT_START";
        self.tell_of(Event::StatementStart, action, statement, within, |text, settings| {
            write_inputs(text, inputs, settings);
            Ok(true)
        });
    }

    /// A statement has run.
    pub fn statement_finished(
        &self,
        statement: TracedStatement<'_>,
        within: Within<'_>,
        inputs: &[TracedParameter],
        work: &Work,
        outcome: Outcome,
    ) {
        let action = outcome.action("EXECUTE_STATEMENT_FINISH");
        self.tell_of(Event::StatementFinish, &action, statement, within, |text, settings| {
            write_inputs(text, inputs, settings);
            writeln!(text, "{} records fetched", work.rows)?;
            work.write(text, settings)?;
            Ok(work.is_shown(settings))
        });
    }

    /// A stored procedure begins.
    pub fn procedure_started(&self, name: &str, within: &TracedTransaction, inputs: &[TracedParameter]) {
        self.told(Event::ProcedureStart, "EXECUTE_PROCEDURE_START", Some(within), |text, settings| {
            writeln!(text, "\nProcedure {name}:")?;
            write_inputs(text, inputs, settings);
            Ok(true)
        });
    }

    /// A stored procedure has ended.
    pub fn procedure_finished(
        &self,
        name: &str,
        within: &TracedTransaction,
        inputs: &[TracedParameter],
        work: &Work,
        outcome: Outcome,
    ) {
        let action = outcome.action("EXECUTE_PROCEDURE_FINISH");
        self.told(Event::ProcedureFinish, &action, Some(within), |text, settings| {
            writeln!(text, "\nProcedure {name}:")?;
            write_inputs(text, inputs, settings);
            if work.rows > 0 {
                writeln!(text, "{} records fetched", work.rows)?;
            }
            work.write(text, settings)?;
            Ok(work.is_shown(settings))
        });
    }

    /// A stored function begins.
    pub fn function_started(&self, name: &str, within: &TracedTransaction, inputs: &[TracedParameter]) {
        self.told(Event::FunctionStart, "EXECUTE_FUNCTION_START", Some(within), |text, settings| {
            writeln!(text, "\nFunction {name}:")?;
            write_inputs(text, inputs, settings);
            Ok(true)
        });
    }

    /// A stored function has ended; `result` is what it has given, unless it has failed.
    pub fn function_finished(
        &self,
        name: &str,
        within: &TracedTransaction,
        inputs: &[TracedParameter],
        result: Option<&TracedParameter>,
        work: &Work,
    ) {
        let outcome = if result.is_some() { Outcome::Done } else { Outcome::Failed };
        let action = outcome.action("EXECUTE_FUNCTION_FINISH");
        self.told(Event::FunctionFinish, &action, Some(within), |text, settings| {
            writeln!(text, "\nFunction {name}:")?;
            write_inputs(text, inputs, settings);
            if let Some(result) = result {
                text.push_str("returns:\n");
                write_parameters(text, std::slice::from_ref(result), settings);
                text.push('\n');
            }
            work.write(text, settings)?;
            Ok(work.is_shown(settings))
        });
    }

    /// A trigger begins.
    pub fn trigger_started(&self, trigger: TracedTrigger<'_>, within: &TracedTransaction) {
        self.told(Event::TriggerStart, "EXECUTE_TRIGGER_START", Some(within), |text, _| {
            trigger.write(text).map(|()| true)
        });
    }

    /// A trigger has ended.
    pub fn trigger_finished(
        &self,
        trigger: TracedTrigger<'_>,
        within: &TracedTransaction,
        work: &Work,
        outcome: Outcome,
    ) {
        let action = outcome.action("EXECUTE_TRIGGER_FINISH");
        self.told(Event::TriggerFinish, &action, Some(within), |text, settings| {
            trigger.write(text)?;
            work.write(text, settings)?;
            Ok(work.is_shown(settings))
        });
    }

    /// A context variable was set.
    pub fn context_set(&self, namespace: &str, name: &str, value: Option<&str>, within: &TracedTransaction) {
        self.told(Event::Context, "SET_CONTEXT", Some(within), |text, _| {
            match value {
                Some(value) => writeln!(text, "[{namespace}] {name} = \"{value}\""),
                None => writeln!(text, "[{namespace}] {name} = NULL"),
            }
            .map(|()| true)
        });
    }

    /// A call of the API has failed: `JStatement::prepare`.
    pub fn error(&self, call: &str, error: &Error) {
        self.told(Event::Error, &format!("ERROR AT {call}"), None, |text, settings| {
            for item in error.items() {
                writeln!(text, "{:9} : {}", item.gds_code, item.message())?;
            }
            Ok(settings.admits_error(error))
        });
    }

    /// A connection to the services has begun or ended: `ATTACH_SERVICE`.
    pub fn service_connection(&self, action: &str) {
        self.told(Event::Service, action, None, |_, _| Ok(true));
    }

    /// A service was started, or could not be.
    pub fn service_started(&self, service: &str, switches: &str, outcome: Outcome) {
        self.tell(Event::Service, &outcome.action("START_SERVICE"), |text, settings, interrupt| {
            text.push_str(&format!("\t\"{service}\"\n"));
            if !switches.is_empty() {
                text.push_str(&format!("\t{switches}\n"));
            }
            settings.admits(service, interrupt)
        });
    }

    /// A service was asked for something.
    pub fn service_asked(&self, service: &str, sent: &[String], wanted: &[&str], outcome: Outcome) {
        self.tell(Event::ServiceQuery, &outcome.action("QUERY_SERVICE"), |text, settings, interrupt| {
            let portion = |text: &mut String, head: &str, lines: &mut dyn Iterator<Item = &str>| {
                let mut lines = lines.peekable();
                if lines.peek().is_some() {
                    text.push_str(head);
                }
                lines.for_each(|line| text.push_str(&format!("\n\t\t {line}")));
            };
            if !service.is_empty() {
                text.push_str(&format!("\t\"{service}\"\n"));
            }
            portion(text, "\t Send portion of the query:", &mut sent.iter().map(String::as_str));
            portion(text, "\t Receive portion of the query:", &mut wanted.iter().copied());
            text.push('\n');
            settings.shows(Event::Service) && settings.admits(service, interrupt)
        });
    }

    /// Tells of something within a transaction.
    fn told(
        &self,
        event: Event,
        action: &str,
        within: Within<'_>,
        mut write: impl FnMut(&mut String, &Settings) -> Result<bool, std::fmt::Error>,
    ) {
        self.tell(event, action, |text, settings, _| {
            let transaction = within.map_or(Ok(()), |transaction| transaction.write(text));
            transaction.and_then(|()| write(text, settings)).unwrap_or(false)
        });
    }

    /// Tells of a statement, where its text is admitted.
    fn tell_of(
        &self,
        event: Event,
        action: &str,
        statement: TracedStatement<'_>,
        within: Within<'_>,
        mut write: impl FnMut(&mut String, &Settings) -> Result<bool, std::fmt::Error>,
    ) {
        self.tell(event, action, |text, settings, interrupt| {
            if !settings.admits(statement.sql, interrupt) {
                return false;
            }
            let transaction = within.map_or(Ok(()), |transaction| transaction.write(text));
            let head = transaction.and_then(|()| statement.write(text, settings));
            head.and_then(|()| write(text, settings)).unwrap_or(false)
        });
    }
}

impl TracedTrigger<'_> {
    fn write(&self, text: &mut String) -> std::fmt::Result {
        let TracedTrigger { name, relation, moment } = self;
        match relation {
            Some(relation) => writeln!(text, "\nTrigger {name} FOR {relation} ({moment}):"),
            None => writeln!(text, "\nTrigger {name} ({moment}):"),
        }
    }
}

fn write_inputs(text: &mut String, inputs: &[TracedParameter], settings: &Settings) {
    if !inputs.is_empty() {
        text.push('\n');
        write_parameters(text, inputs, settings);
        text.push('\n');
    }
}

/// A statement's text with `'***'` in place of each literal behind the word PASSWORD.
fn without_passwords(sql: &str) -> Cow<'_, str> {
    const WORD: &str = "PASSWORD";
    let bytes = sql.as_bytes();
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$';
    let mut masked = String::new();
    let mut told = 0;
    let mut at = 0;
    while let Some(found) = bytes
        .get(at..)
        .unwrap_or_default()
        .windows(WORD.len())
        .position(|window| window.eq_ignore_ascii_case(WORD.as_bytes()))
    {
        let (begins, ends) = (at + found, at + found + WORD.len());
        at = ends;
        let before = begins.checked_sub(1).and_then(|before| bytes.get(before));
        let rest = bytes.get(ends..).unwrap_or_default();
        let blanks = rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        if before.is_some_and(|byte| is_word(*byte)) || rest.get(blanks) != Some(&b'\'') {
            continue;
        }
        let literal = ends + blanks;
        let end = end_of_literal(bytes, literal);
        masked.push_str(sql.get(told..literal).unwrap_or_default());
        masked.push_str("'***'");
        (told, at) = (end, end);
    }
    match told {
        0 => Cow::Borrowed(sql),
        _ => {
            masked.push_str(sql.get(told..).unwrap_or_default());
            Cow::Owned(masked)
        }
    }
}

/// Behind the quote that ends a literal; two quotes stand for one in it. The end of the text if it has none.
fn end_of_literal(bytes: &[u8], literal: usize) -> usize {
    let mut at = literal + 1;
    while let Some(byte) = bytes.get(at) {
        at += 1;
        if *byte == b'\'' {
            match bytes.get(at) {
                Some(b'\'') => at += 1,
                _ => return at,
            }
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_shown() {
        for (sql, shown) in [
            ("create user A password 'x''y' firstname 'z'", "create user A password '***' firstname 'z'"),
            ("ALTER USER A SET PASSWORD\n 'ü'", "ALTER USER A SET PASSWORD\n '***'"),
            (
                "execute statement 's' on external 'd' as user 'u' password 'p' role 'r'; password 'q",
                "execute statement 's' on external 'd' as user 'u' password '***' role 'r'; password '***'",
            ),
            (
                "select PASSWORD from T where MYPASSWORD 'x' and PASSWORD = 'y'",
                "select PASSWORD from T where MYPASSWORD 'x' and PASSWORD = 'y'",
            ),
        ] {
            assert_eq!(without_passwords(sql), shown);
        }
    }
}
