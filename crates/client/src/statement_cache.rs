//! Statements that are kept prepared, by their texts: the least recently used one makes room.
//!
//! Promises: no more than so many are kept; one that is in use is not given out a second time, since a statement has one
//! cursor.

use std::collections::VecDeque;

use crate::statement::Statement;

/// The statements of one connection.
#[derive(Debug)]
pub(crate) struct StatementCache {
    count_max: usize,
    /// The most recently used at the end.
    statements: VecDeque<(String, Statement)>,
}

impl StatementCache {
    pub(crate) fn new(count_max: usize) -> StatementCache {
        StatementCache { count_max, statements: VecDeque::new() }
    }

    /// A statement of this text that nobody uses.
    pub(crate) fn take(&mut self, text: &str) -> Option<Statement> {
        let is_wanted = |statement: &Statement| !statement.is_shared() && !statement.is_refused();
        let position =
            self.statements.iter().position(|(known, statement)| known == text && is_wanted(statement))?;
        let entry = self.statements.remove(position)?;
        let statement = entry.1.clone();
        self.statements.push_back(entry);
        Some(statement)
    }

    /// How many are kept that nobody uses.
    pub(crate) fn idle(&self) -> usize {
        self.statements.iter().filter(|(_, statement)| !statement.is_shared()).count()
    }

    /// Keeps none any more; gives those that were kept.
    pub(crate) fn clear(&mut self) -> VecDeque<(String, Statement)> {
        std::mem::take(&mut self.statements)
    }

    /// Keeps a statement; gives the one that has to make room.
    pub(crate) fn keep(&mut self, text: &str, statement: &Statement) -> Option<(String, Statement)> {
        if self.count_max == 0 {
            return None;
        }
        let is_full = self.statements.len() >= self.count_max;
        let put_out = if is_full { self.statements.pop_front() } else { None };
        self.statements.push_back((text.to_owned(), statement.clone()));
        put_out
    }
}
