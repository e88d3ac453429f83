//! Ending attachments and cancelling statements, by DELETE of the monitoring tables: who may is the server's decision.

use std::time::{Duration, Instant};

use farbird_client::TransactionOptions;
use farbird_client::blocking::Connection;
use farbird_types::{Error, Value};

/// How long an attachment may take to end: it rolls back what it has done.
const ENDING_MAX: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// The attachment is to end.
    Kill,
    /// Its statement is.
    Cancel,
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The attachment is gone.
    Ended,
    /// The statement has been told to end.
    Cancelled,
    /// There is no such attachment, or it is not this user's to see.
    NoAttachment,
    /// It is the attachment that asks.
    Own,
    /// It runs nothing.
    NothingRuns,
    /// It has been told to end, and has not yet.
    StillThere,
}

impl Outcome {
    pub(crate) fn is_done(self) -> bool {
        matches!(self, Outcome::Ended | Outcome::Cancelled)
    }

    /// Its name in JSON.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Outcome::Ended => "ended",
            Outcome::Cancelled => "cancelled",
            Outcome::NoAttachment => "no attachment",
            Outcome::Own => "own attachment",
            Outcome::NothingRuns => "nothing runs",
            Outcome::StillThere => "still there",
        }
    }

    pub(crate) fn words(self, attachment: u64) -> String {
        match self {
            Outcome::Ended => {
                format!("attachment {attachment} has ended; what it had not committed is rolled back")
            }
            Outcome::Cancelled => format!("the statement of attachment {attachment} was told to end"),
            Outcome::NoAttachment => {
                format!(
                    "there is no attachment {attachment}, or this user may not see it: farbird admin attachments"
                )
            }
            Outcome::Own => format!("attachment {attachment} is the one that asks"),
            Outcome::NothingRuns => format!("attachment {attachment} runs nothing"),
            Outcome::StillThere => {
                format!("attachment {attachment} was told to end and is still rolling back; look again later")
            }
        }
    }

    pub(crate) fn json(self, attachment: u64) -> serde_json::Value {
        serde_json::json!({ "attachment": attachment, "done": self.is_done(), "outcome": self.name() })
    }
}

/// Ends an attachment and waits until it is gone, or cancels what it runs.
///
/// # Errors
/// What the server says.
pub(crate) fn end(connection: &Connection, wanted: Wanted, attachment: u64) -> Result<Outcome, Error> {
    let Ok(id) = i64::try_from(attachment) else { return Ok(Outcome::NoAttachment) };
    if count(connection, "select count(*) from rdb$database where current_connection = ?", id)? > 0 {
        return Ok(Outcome::Own);
    }
    if !is_there(connection, id)? {
        return Ok(Outcome::NoAttachment);
    }
    let (running, delete) = match wanted {
        Wanted::Kill => (None, "delete from mon$attachments where mon$attachment_id = ?"),
        Wanted::Cancel => (
            Some("select count(*) from mon$statements where mon$attachment_id = ? and mon$state = 1"),
            "delete from mon$statements where mon$attachment_id = ? and mon$state = 1",
        ),
    };
    if let Some(running) = running
        && count(connection, running, id)? == 0
    {
        return Ok(Outcome::NothingRuns);
    }
    let transaction = connection.begin(&TransactionOptions::default())?;
    let statement = connection.prepare(&transaction, delete)?;
    connection.execute(&transaction, &statement, &[Value::integer(id)])?;
    connection.commit(transaction)?;
    if wanted == Wanted::Cancel {
        return Ok(Outcome::Cancelled);
    }
    let begun = Instant::now();
    while is_there(connection, id)? {
        if begun.elapsed() > ENDING_MAX {
            return Ok(Outcome::StillThere);
        }
        std::thread::sleep(LOOK_EVERY);
    }
    Ok(Outcome::Ended)
}

fn is_there(connection: &Connection, id: i64) -> Result<bool, Error> {
    Ok(count(connection, "select count(*) from mon$attachments where mon$attachment_id = ?", id)? > 0)
}

/// A number that a query about an attachment gives.
fn count(connection: &Connection, sql: &str, id: i64) -> Result<i64, Error> {
    let transaction = connection.begin(&TransactionOptions::default())?;
    let statement = connection.prepare(&transaction, sql)?;
    let mut found = 0;
    for row in connection.query(&transaction, &statement, &[Value::integer(id)])? {
        found = row?.get::<i64>(0)?;
    }
    connection.commit(transaction)?;
    Ok(found)
}
