//! Statements that are prepared without waiting for what the server says of them.
//!
//! Promises: nothing is executed before its description that could give a row whose form is not known, or end a
//! transaction: the text tells, and where it does not the description is waited for.

use std::sync::{Mutex, OnceLock, PoisonError};

use farbird_types::Result;
use farbird_wire::packet::Response;

use crate::connection::Connection;
use crate::core::conversation::Ticket;
use crate::core::{ObjectRef, Question};
use crate::error;
use crate::prepare::Preparing;
use crate::statement::{Inner, Statement};
use crate::transaction::Transaction;

/// What a statement may be executed as before the server has described it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Text {
    /// A query.
    Query,
    /// Something that gives no row.
    Plain,
    /// The server has to say.
    Unclear,
}

impl Text {
    fn of(text: &str) -> Text {
        let word = first_word(text).to_ascii_lowercase();
        match &*word {
            "select" | "with" => Text::Query,
            "insert" | "update" | "delete" | "merge" if !mentions_returning(text) => Text::Plain,
            _ => Text::Unclear,
        }
    }
}

/// The first word behind blanks and comments; empty if there is none.
fn first_word(text: &str) -> &str {
    let mut rest = text.trim_start();
    loop {
        let behind = if let Some(comment) = rest.strip_prefix("--") {
            comment.split_once('\n')
        } else if let Some(comment) = rest.strip_prefix("/*") {
            comment.split_once("*/")
        } else {
            let end = rest.find(|letter: char| !letter.is_ascii_alphabetic()).unwrap_or(rest.len());
            return rest.get(..end).unwrap_or_default();
        };
        match behind {
            Some((_, behind)) => rest = behind.trim_start(),
            None => return "",
        }
    }
}

/// Whether the word stands anywhere, be it in a comment or a literal: that costs no more than a round trip.
fn mentions_returning(text: &str) -> bool {
    text.to_ascii_lowercase().contains("returning")
}

/// What the server has still to say of a statement.
#[derive(Debug)]
pub(crate) struct Deferred {
    text: Text,
    /// The transaction in which it is prepared.
    transaction: ObjectRef,
    ticket: Ticket,
    /// The prepare, until its answer is taken.
    prepared: Mutex<Option<Question>>,
    /// The answer.
    response: OnceLock<Result<Response>>,
    description: OnceLock<Inner>,
}

impl Deferred {
    pub(crate) fn new(transaction: &Transaction, text: &str, prepared: Question) -> Deferred {
        Deferred {
            text: Text::of(text),
            transaction: ObjectRef::clone(transaction.object()),
            ticket: prepared.ticket(),
            prepared: Mutex::new(Some(prepared)),
            response: OnceLock::new(),
            description: OnceLock::new(),
        }
    }

    pub(crate) fn is_query(&self) -> bool {
        self.text == Text::Query
    }

    pub(crate) fn description(&self) -> Option<&Inner> {
        self.description.get()
    }

    /// Whether the server is known to have refused the text.
    pub(crate) fn has_failed(&self) -> bool {
        matches!(self.response.get(), Some(Err(_)))
    }

    /// The answer, if it is here.
    fn answer(&self) -> Option<&Result<Response>> {
        if self.response.get().is_none() {
            let mut prepared = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
            let answer = prepared.as_mut().and_then(Question::try_response)?;
            *prepared = None;
            // Whoever holds the lock sets it, so it cannot be set yet.
            let _ = self.response.set(answer);
        }
        self.response.get()
    }
}

impl Connection {
    /// Prepares a statement without waiting for what the server says of it. This is another contract than that of
    /// [`Connection::prepare`]:
    ///
    /// - An error in the text is told by the first call that executes the statement, or by [`Connection::describe`].
    ///   The statement stays unusable then.
    /// - Until then the statement has neither parameters nor columns to show: see [`Statement::is_described`].
    /// - Parameters of executions before the description is here travel in their own types, and the server converts them.
    ///   So it is the server that complains of values that do not suit, and of another number of them.
    ///
    /// An INSERT, UPDATE, DELETE or MERGE without RETURNING leaves in the flight of its prepare. A query does, too, but its
    /// rows can be asked for when the description is here: [`Connection::query_typed`] does not need that. Everything else
    /// (RETURNING, EXECUTE, DDL) waits for the description before it is executed.
    ///
    /// # Round trips
    /// None: it travels with the first execution, which takes one; one more for statements of which the description has to
    /// be known before they are executed, and before the first row of a query. With [`Tuning::predict_handles`] off
    /// executing waits for the prepare in any case.
    ///
    /// [`Tuning::predict_handles`]: crate::Tuning::predict_handles
    ///
    /// # Errors
    /// The connection is lost.
    pub async fn prepare_deferred(&self, transaction: &Transaction, text: &str) -> Result<Statement> {
        let handle = transaction.handle(&self.shared).await?;
        let Preparing { object, prepared } = self.start_to_prepare(handle, text).await?;
        Ok(Statement::deferred(
            object,
            Deferred::new(transaction, text, prepared),
            self.session.character_set,
        ))
    }

    /// Waits until the server has described a statement that was prepared by [`Connection::prepare_deferred`].
    ///
    /// # Round trips
    /// One; none once it is described.
    ///
    /// # Cancel safety
    /// A future that is dropped changes nothing.
    ///
    /// # Errors
    /// What the server says of the text.
    pub async fn describe(&self, statement: &Statement) -> Result<()> {
        let Some(deferred) = statement.deferral().filter(|_| !statement.is_described()) else {
            return Ok(());
        };
        // Several tasks may wait for the same.
        if deferred.answer().is_none() {
            self.shared.settled(deferred.ticket).await?;
        }
        let response = match deferred.answer() {
            Some(Ok(response)) => response,
            Some(Err(error)) => {
                let error = deferred.transaction.explain(error.clone());
                return Err(statement.object().explain(error));
            }
            None => return Err(self.shared.lock().fail(error::unexpected("op_prepare_statement"))),
        };
        let description = self.description(statement.object(), response).await?;
        // Another task may have been quicker, with the same.
        let _ = deferred.description.set(description);
        Ok(())
    }

    /// Waits for the description of a statement unless it can be executed without.
    pub(crate) async fn describe_unless_plain(&self, statement: &Statement) -> Result<()> {
        match statement.deferral() {
            Some(deferred) if deferred.text == Text::Unclear => self.describe(statement).await,
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_tells_what_can_be_executed_unseen() {
        for (text, expected) in [
            ("select 1 from t", Text::Query),
            ("\n -- comment\n /* another\n */ WITH a as (select 1) select 2", Text::Query),
            ("Insert into t values (?)", Text::Plain),
            ("merge into t", Text::Plain),
            ("insert into t values (?) Returning id", Text::Unclear),
            ("update t set a = 'returning'", Text::Unclear),
            ("execute procedure p", Text::Unclear),
            ("commit", Text::Unclear),
            ("selective", Text::Unclear),
            ("-- select", Text::Unclear),
            ("/* select", Text::Unclear),
            ("", Text::Unclear),
        ] {
            assert_eq!(Text::of(text), expected, "{text}");
        }
    }
}
