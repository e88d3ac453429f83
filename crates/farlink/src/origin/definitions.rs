//! What the names in a query stand for, before a server that does not say what a query reads.
//!
//! The text of a query may call nothing and yet name a view that does, a column that is computed by a function, or a procedure as if it were a
//! table. So the catalogue is asked: a query only reads if none of the names in its text, and in the sources of what they stand
//! for, is a procedure, a function that somebody has made or an external table, and all of these sources call nothing and give the same each time. A source that is not
//! there, or is longer than [`SOURCE_CHARACTERS_MAX`], counts as one that does more. So does every query if transactions have triggers.
//!
//! It is asked in a transaction of its own, since one of the program's may see the catalogue as it was, while the server prepares statements
//! by what it is now. That transaction reads only and is committed with the answer; of requests that must not meet it
//! (op_detach, definitions) `advance` takes care. One look-up at a time is under way; each asks once for the names in the text,
//! and once more for each level of views: at most [`ROUNDS_MAX`] times, for [`NAMES_MAX`] names.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, LazyLock};

use farbird_types::Value;
use farbird_types::query_text::names;
use farbird_wire::message::{MessageForm, MessageFormat, MessageType};
use farbird_wire::packet::StatementText;
use farbird_wire::protocol::Handle;

use crate::message::{Fingerprint, RequestId};
use crate::purity::{changes_nothing, is_plain_expression, is_plain_query};
use crate::speculation::rows::walk;

/// Longest source of a view or of a computed column.
const SOURCE_CHARACTERS_MAX: usize = 8_000;
/// Most names of a query and of what it reads.
const NAMES_MAX: usize = 400;
/// Most levels of views.
const ROUNDS_MAX: u32 = 16;

/// A row of the answer: what was found, and its source.
pub(super) static ROW: LazyLock<Arc<MessageFormat>> = LazyLock::new(|| {
    let source = MessageType::Varying { length: SOURCE_BYTES_MAX, charset: Some(OCTETS) };
    Arc::new(MessageFormat::from_columns([MessageType::Long { scale: 0 }, source]))
});
/// Number of the character set OCTETS.
const OCTETS: u16 = 1;
/// A source that is one character too long, each of up to four bytes, would not fit a VARCHAR: what has so many bytes is refused.
const SOURCE_BYTES_MAX: u16 = 32_000;

/// What the first column of a row says.
mod found {
    pub(super) const VIEW: i64 = 1;
    pub(super) const COMPUTED_COLUMN: i64 = 2;
    /// A procedure, or a function that somebody has made, perhaps by the name of a built-in one.
    pub(super) const ROUTINE: i64 = 3;
    pub(super) const EXTERNAL_TABLE: i64 = 4;
    pub(super) const TRANSACTION_TRIGGER: i64 = 5;
}

/// The text of a query whose definitions are to be looked up.
pub(super) type Query = String;

/// Who waits for what is found.
#[derive(Debug)]
pub(super) enum Asker {
    /// The edge, of one of its statements; `told`: the reply to the program's op_prepare_statement, which waits.
    Edge { statement: u16, described: Fingerprint, told: Option<(RequestId, Vec<u8>)> },
    /// The runner, of the statement with this number.
    Ahead(u32),
}

/// Why a request was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DefinitionStep {
    Begin,
    Allocate,
    Prepare,
    Execute,
    Fetch,
}

/// One look-up.
#[derive(Debug)]
pub(super) struct LookUp {
    pub(super) query: Query,
    pub(super) asker: Asker,
    /// Names that are asked for now, and all that were.
    pub(super) names: Vec<String>,
    known: BTreeSet<String>,
    rounds: u32,
    pub(super) transaction: Option<Handle>,
    pub(super) statement: Option<Handle>,
    pub(super) has_failed: bool,
    pub(super) found_triggers: bool,
}

/// What a conversation looks up.
#[derive(Debug, Default)]
pub(super) struct Definitions {
    /// The first is under way.
    pub(super) look_ups: VecDeque<LookUp>,
    /// What was found of texts, for those that the edge describes from its cache again and again.
    pub(super) known: HashMap<Query, bool>,
    believes: bool,
    /// Whether transactions have triggers: then nothing is looked up, for looking up would run them.
    pub(super) has_triggers: bool,
}

impl Definitions {
    /// From here on texts are believed.
    pub(super) fn believe(&mut self) {
        self.believes = true;
    }

    pub(super) fn believes(&self) -> bool {
        self.believes
    }

    pub(super) fn is_asking(&self) -> bool {
        !self.look_ups.is_empty()
    }

    /// The text of a statement if it is a query that might only read, and what it names is to be looked up.
    pub(super) fn query(&self, text: &StatementText) -> Option<Query> {
        let query = std::str::from_utf8(&text.sql).ok().filter(|_| !self.believes && !self.has_triggers)?;
        let word = query.trim_start().get(..4).filter(|word| word.eq_ignore_ascii_case("with"));
        let first_word = if word.is_some() { "with" } else { "select" };
        changes_nothing(query, first_word).then(|| query.to_owned())
    }
}

/// What a round has found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Further names are to be looked up.
    Names,
    /// The query only reads.
    Plain,
    /// It may do more.
    More,
}

impl LookUp {
    pub(super) fn new(query: Query, asker: Asker) -> LookUp {
        LookUp {
            query,
            asker,
            names: Vec::new(),
            known: BTreeSet::new(),
            rounds: 0,
            transaction: None,
            statement: None,
            has_failed: false,
            found_triggers: false,
        }
    }

    /// Adds what a text names to what is asked for; false if that cannot be told, or is too much.
    pub(super) fn add_names_of(&mut self, text: &str) -> bool {
        let Some(names) = names(text) else { return false };
        for name in names {
            // What is longer than names can be is none.
            if name.len() <= 63
                && !name.starts_with(|first: char| first.is_ascii_digit())
                && self.known.insert(name.clone())
            {
                self.names.push(name);
            }
        }
        self.known.len() <= NAMES_MAX
    }

    /// Understands the rows of a round: op_fetch_response packets.
    pub(super) fn understand(&mut self, packets: &[u8], form: MessageForm) -> Found {
        self.names.clear();
        self.rounds += 1;
        let mut is_plain = self.rounds <= ROUNDS_MAX;
        walk(packets, &ROW, form, |row| {
            is_plain &= self.takes(&row);
            true
        });
        match (is_plain, self.names.is_empty()) {
            (false, _) => Found::More,
            (true, false) => Found::Names,
            (true, true) => Found::Plain,
        }
    }

    /// Takes one thing that was found: gives whether it only reads, as far as its source shows.
    fn takes(&mut self, row: &[Value]) -> bool {
        let [Value::Integer { unscaled, .. }, source] = row else { return false };
        self.found_triggers |= *unscaled == found::TRANSACTION_TRIGGER;
        let Value::Text(source) = source else { return false };
        let Ok(source) = std::str::from_utf8(source.bytes()) else { return false };
        let is_plain = match *unscaled {
            found::VIEW => is_plain_query(source),
            found::COMPUTED_COLUMN => is_plain_expression(source),
            _ => false,
        };
        is_plain && source.chars().count() <= SOURCE_CHARACTERS_MAX && self.add_names_of(source)
    }
}

/// Asks what the names stand for: views and computed columns with their sources, and what may do more, without one.
pub(super) fn catalogue_query(names: &[String]) -> String {
    let list =
        names.iter().map(|name| format!("'{}'", name.replace('\'', "''"))).collect::<Vec<_>>().join(",");
    let source = |column: &str| {
        format!(
            "cast(substring({column} from 1 for {}) as varchar({SOURCE_BYTES_MAX}) character set octets)",
            SOURCE_CHARACTERS_MAX + 1
        )
    };
    let (view, computed) = (source("r.rdb$view_source"), source("f.rdb$computed_source"));
    format!(
        "select {VIEW}, {view} from rdb$relations r \
           where r.rdb$view_blr is not null and r.rdb$relation_name in ({list}) \
         union all select {COMPUTED_COLUMN}, {computed} from rdb$relations r \
           join rdb$relation_fields c on c.rdb$relation_name = r.rdb$relation_name \
           join rdb$fields f on f.rdb$field_name = c.rdb$field_source \
           where r.rdb$view_blr is null and f.rdb$computed_blr is not null and r.rdb$relation_name in ({list}) \
         union all select {ROUTINE}, null from rdb$procedures p where p.rdb$procedure_name in ({list}) \
         union all select {ROUTINE}, null from rdb$functions f \
           where coalesce(f.rdb$system_flag, 0) = 0 and f.rdb$function_name in ({list}) \
         union all select {EXTERNAL_TABLE}, null from rdb$relations r \
           where r.rdb$external_file is not null and r.rdb$relation_name in ({list}) \
         union all select {TRANSACTION_TRIGGER}, null from rdb$triggers t where t.rdb$trigger_type in (8194, 8195, 8196) \
           and coalesce(t.rdb$trigger_inactive, 0) = 0",
        VIEW = found::VIEW,
        COMPUTED_COLUMN = found::COMPUTED_COLUMN,
        ROUTINE = found::ROUTINE,
        EXTERNAL_TABLE = found::EXTERNAL_TABLE,
        TRANSACTION_TRIGGER = found::TRANSACTION_TRIGGER,
    )
}
