//! Descriptions of statements, shared by the programs of an edge.
//!
//! The key holds everything that a description depends on and an edge can see. What it cannot see, definitions that change, the origin
//! tells; and it compares: no statement is executed at the server that is described otherwise than the program was told.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use farbird_wire::info::{InfoReader, sql, statement_type};
use farbird_wire::message::MessageFormat;
use farbird_wire::packet::{Response, StatementText};
use farbird_wire::protocol::{Handle, ProtocolVersion};

use crate::message::{Fingerprint, Question, Relation};
use crate::purity;
use crate::quick_hash::QuickMap;
use crate::speculation;

/// Memory of an entry beside its text and description, about.
const ENTRY_BYTES: usize = 400;

/// What a description depends on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    /// The database, as the origin names it.
    pub(super) database: u32,
    /// Protocol version, user, role, character set, dialect and whatever else the attachment was made with.
    pub(super) context: Arc<[u8]>,
    /// Dialect, flags and room for the answer.
    pub(super) numbers: (u16, u16, u32),
    pub(super) items: Vec<u8>,
    pub(super) sql: Vec<u8>,
}

impl Key {
    pub(super) fn new(database: u32, context: Arc<[u8]>, text: &StatementText) -> Key {
        Key {
            database,
            context,
            numbers: (text.dialect, text.flags, text.buffer_length.0),
            items: text.items.clone(),
            sql: text.sql.clone(),
        }
    }
}

/// What kind of statement it is, as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A query, by its text too.
    Query,
    /// INSERT, UPDATE, DELETE, EXECUTE PROCEDURE and what gives rows but is no query.
    Change,
    /// SELECT ... FOR UPDATE.
    ForUpdate,
    /// DDL.
    Definition,
    /// What changes the session, or nobody knows what.
    Other,
}

/// Format of rows, with the BLR that describes it.
#[derive(Debug)]
pub(super) struct Shape {
    pub(super) blr: Vec<u8>,
    pub(super) format: Arc<MessageFormat>,
}

/// A prepared statement, described.
#[derive(Debug)]
pub(super) struct Described {
    /// Object field and data of the reply to op_prepare_statement.
    pub(super) object: u16,
    pub(super) data: Vec<u8>,
    pub(super) fingerprint: Fingerprint,
    pub(super) text: StatementText,
    pub(super) kind: Kind,
    /// Whether the text calls nothing that could change something.
    pub(super) looks_pure: bool,
    /// Whether the text asks for nothing that changes by itself.
    pub(super) looks_timeless: bool,
    /// Whether executing it may open a cursor.
    pub(super) has_cursor: bool,
    /// Whether it changes rows and gives none.
    pub(super) is_write: bool,
    /// Whether it may lock rows.
    locks: bool,
    learned: Mutex<Learned>,
}

/// What is found out about a statement after it was described.
#[derive(Debug, Default)]
struct Learned {
    reads: Option<Arc<[Relation]>>,
    /// How programs fetch its rows.
    shape: Option<Arc<Shape>>,
    /// Replies to op_info_sql, by items and room.
    information: HashMap<(Vec<u8>, u32), Response>,
    /// What programs ask right after an execution.
    question: Option<Question>,
    /// How it was last run by those who learn.
    run_as: Option<RunAs>,
}

/// A statement as speculation knows it.
#[derive(Debug, Clone)]
pub(super) struct RunAs {
    file: Arc<[u8]>,
    version: ProtocolVersion,
    pub(super) statement: speculation::StatementText,
    /// Its op_prepare_statement.
    pub(super) prepare: Arc<[u8]>,
}

/// Replies to op_info_sql that are kept for one statement.
const INFORMATION_MAX: usize = 8;

impl Described {
    pub(super) fn new(text: StatementText, response: &Response) -> Described {
        let shown = String::from_utf8_lossy(&text.sql);
        let word = first_word(&shown);
        let kind = kind(&response.data, &word);
        Described {
            object: response.object.0,
            data: response.data.clone(),
            fingerprint: Fingerprint::of(&response.data),
            kind,
            has_cursor: statement_type_of(&response.data)
                .is_none_or(|kind| matches!(kind, statement_type::SELECT | statement_type::SELECT_FOR_UPD)),
            is_write: is_write_of_text(&word)
                && matches!(
                    statement_type_of(&response.data),
                    Some(statement_type::INSERT | statement_type::UPDATE | statement_type::DELETE)
                ),
            looks_pure: kind == Kind::Query && purity::changes_nothing(&shown, &word),
            looks_timeless: purity::is_timeless(&shown),
            locks: has_word(&shown, "lock"),
            learned: Mutex::default(),
            text,
        }
    }

    /// Whether its rows may be pushed: it is a query, and whether it is fetched changes nothing that anybody sees.
    pub(super) fn is_pushable(&self) -> bool {
        self.kind == Kind::Query && !self.locks
    }

    fn learned(&self) -> std::sync::MutexGuard<'_, Learned> {
        self.learned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What it reads, if that is known to be all that it does.
    pub(super) fn reads(&self) -> Option<Arc<[Relation]>> {
        self.learned().reads.clone()
    }

    pub(super) fn set_reads(&self, reads: Option<&[Relation]>) {
        self.learned().reads = reads.map(Arc::from);
    }

    pub(super) fn shape(&self) -> Option<Arc<Shape>> {
        self.learned().shape.clone()
    }

    pub(super) fn set_shape(&self, shape: Arc<Shape>) {
        self.learned().shape = Some(shape);
    }

    /// The reply to op_info_sql that was given to the same question before.
    pub(super) fn information(&self, items: &[u8], room: u32) -> Option<Response> {
        self.learned().information.get(&(items.to_vec(), room)).cloned()
    }

    pub(super) fn keep_information(&self, items: Vec<u8>, room: u32, response: Response) {
        let information = &mut self.learned().information;
        if information.len() < INFORMATION_MAX {
            information.insert((items, room), response);
        }
    }

    /// What programs ask right after an execution: how many rows it has changed, usually.
    pub(super) fn question(&self) -> Option<Question> {
        self.learned().question.clone()
    }

    pub(super) fn set_question(&self, question: Question) {
        self.learned().question = Some(question);
    }

    /// Takes over what was found out about another statement of the same shape: it reads the same relations, whatever it compares with, and
    /// programs are expected to use it alike.
    pub(super) fn learn_from(&self, alike: &Described) {
        let (reads, shape, question) = (alike.reads(), alike.shape(), alike.question());
        let mut learned = self.learned();
        (learned.reads, learned.shape, learned.question) = (reads, shape, question);
    }

    /// The text, for people.
    pub(super) fn shown(&self) -> Cow<'_, str> {
        // Nearly all are valid, which is seen at a glance; what is not is mended slowly.
        match str::from_utf8(&self.text.sql) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => String::from_utf8_lossy(&self.text.sql),
        }
    }

    /// What speculation must know of it as a statement of this database, for a program that speaks this version: made once.
    pub(super) fn run_as(
        &self,
        file: &[u8],
        version: ProtocolVersion,
        prepare: impl FnOnce(&StatementText) -> Vec<u8>,
    ) -> RunAs {
        let mut learned = self.learned();
        if let Some(known) =
            learned.run_as.as_ref().filter(|known| *known.file == *file && known.version == version)
        {
            return known.clone();
        }
        let mut text = self.text.clone();
        // The origin prepares it in a transaction of its choice, under a handle of its own.
        (text.transaction, text.statement) = (Handle::NONE, Handle::NONE);
        let made = RunAs {
            file: file.into(),
            version,
            statement: speculation::StatementText::new(file, &text.sql),
            prepare: prepare(&text).into(),
        };
        learned.run_as = Some(made.clone());
        made
    }
}

/// Whether the answer to op_info_sql is the same as long as the statement is.
pub(super) fn is_stable_information(items: &[u8]) -> bool {
    let mut rest = items;
    while let Some((item, behind)) = rest.split_first() {
        rest = match *item {
            sql::SQLDA_START => {
                let Some((length, value)) = behind.split_first() else { return false };
                value.get(usize::from(*length)..).unwrap_or_default()
            }
            sql::RECORDS | sql::BATCH_FETCH | sql::STMT_TIMEOUT_USER | sql::STMT_TIMEOUT_RUN => return false,
            1
            | sql::SELECT..=sql::ALIAS
            | sql::STMT_TYPE
            | sql::GET_PLAN
            | sql::RELATION_ALIAS
            | sql::EXPLAIN_PLAN
            | sql::STMT_FLAGS
            | sql::RELATION_SCHEMA => behind,
            _ => return false,
        };
    }
    true
}

/// The kind of statement that a description names, if it does.
fn statement_type_of(data: &[u8]) -> Option<u8> {
    let mut items = InfoReader::sql(data).map_while(Result::ok);
    let told = items.find(|item| item.item == sql::STMT_TYPE).and_then(|item| item.integer());
    told.and_then(|told| u8::try_from(told).ok())
}

fn kind(data: &[u8], word: &str) -> Kind {
    let is_query = matches!(word, "select" | "with");
    match statement_type_of(data) {
        Some(statement_type::SELECT) if is_query => Kind::Query,
        Some(statement_type::SELECT) => Kind::Change,
        Some(statement_type::SELECT_FOR_UPD) => Kind::ForUpdate,
        Some(statement_type::DDL) => Kind::Definition,
        Some(
            statement_type::INSERT
            | statement_type::UPDATE
            | statement_type::DELETE
            | statement_type::EXEC_PROCEDURE,
        ) => Kind::Change,
        Some(_) => Kind::Other,
        // Not asked for. FOR UPDATE may stand anywhere behind.
        None => kind_of_text(word),
    }
}

/// The kind of a statement of which only the first word is known.
pub(super) fn kind_of_text(word: &str) -> Kind {
    match word {
        "insert" | "update" | "delete" | "merge" | "execute" | "select" | "with" => Kind::Change,
        "create" | "alter" | "drop" | "recreate" | "grant" | "revoke" | "comment" | "declare" => {
            Kind::Definition
        }
        _ => Kind::Other,
    }
}

/// Whether a statement that begins with this word changes rows of a table.
pub(super) fn is_write_of_text(word: &str) -> bool {
    matches!(word, "insert" | "update" | "delete" | "merge")
}

/// The first word of a text, in small letters; empty if it cannot be told.
pub(super) fn first_word(text: &str) -> String {
    word_and_rest(text).0
}

/// The first two words of a text, in small letters; empty if they cannot be told.
pub(super) fn first_two_words(text: &str) -> [String; 2] {
    let (first, rest) = word_and_rest(text);
    [first, first_word(rest)]
}

/// The word that a text begins with behind comments, in small letters, and what comes behind it.
fn word_and_rest(text: &str) -> (String, &str) {
    let mut rest = text.trim_start();
    loop {
        rest = if let Some(comment) = rest.strip_prefix("--") {
            comment.split_once('\n').map_or("", |(_, behind)| behind)
        } else if let Some(comment) = rest.strip_prefix("/*") {
            comment.split_once("*/").map_or("", |(_, behind)| behind)
        } else {
            break;
        }
        .trim_start();
    }
    let end = rest.find(|letter: char| !letter.is_ascii_alphabetic()).unwrap_or(rest.len());
    let (word, rest) = rest.split_at_checked(end).unwrap_or((rest, ""));
    (word.to_ascii_lowercase(), rest)
}

/// Whether a text is ALTER SESSION ..., which servers describe as they describe definitions.
pub(super) fn is_about_session(text: &str) -> bool {
    first_two_words(text) == ["alter", "session"]
}

fn has_word(text: &str, word: &str) -> bool {
    text.split(|letter: char| !(letter.is_alphanumeric() || matches!(letter, '_' | '$')))
        .any(|part| part.eq_ignore_ascii_case(word))
}

#[derive(Debug)]
struct Entry {
    described: Arc<Described>,
    bytes: usize,
    used: u64,
}

/// The cache.
#[derive(Debug, Default)]
pub(super) struct StatementCache {
    entries: QuickMap<Key, Entry>,
    bytes: usize,
    clock: u64,
}

impl StatementCache {
    pub(super) fn find(&mut self, key: &Key) -> Option<Arc<Described>> {
        self.clock += 1;
        let entry = self.entries.get_mut(key)?;
        entry.used = self.clock;
        Some(Arc::clone(&entry.described))
    }

    /// Keeps a description; gives how many others had to go.
    pub(super) fn insert(&mut self, key: Key, described: Arc<Described>, bytes_max: usize) -> u64 {
        // In the key, in the description, and twice for speculation.
        let bytes = 4 * (key.sql.len() + key.items.len()) + described.data.len() + ENTRY_BYTES;
        if bytes > bytes_max {
            return 0;
        }
        self.clock += 1;
        let entry = Entry { described, bytes, used: self.clock };
        self.bytes += bytes;
        if let Some(before) = self.entries.insert(key, entry) {
            self.bytes -= before.bytes;
        }
        let mut gone = 0;
        while self.bytes > bytes_max {
            let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.used).map(|(key, _)| key.clone());
            let Some(entry) = oldest.and_then(|key| self.entries.remove(&key)) else { break };
            self.bytes -= entry.bytes;
            gone += 1;
        }
        gone
    }

    pub(super) fn remove(&mut self, key: &Key) {
        if let Some(entry) = self.entries.remove(key) {
            self.bytes -= entry.bytes;
        }
    }

    /// Forgets the descriptions of a database, or of all; gives how many there were.
    pub(super) fn invalidate(&mut self, database: Option<u32>) -> u64 {
        let before = self.entries.len();
        self.entries.retain(|key, _| database.is_some_and(|database| key.database != database));
        self.bytes = self.entries.values().map(|entry| entry.bytes).sum();
        (before - self.entries.len()) as u64
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farbird_wire::packet::BufferLength;
    use farbird_wire::protocol::Handle;

    fn text(sql: &str) -> StatementText {
        StatementText {
            transaction: Handle(1),
            statement: Handle(2),
            dialect: 3,
            sql: sql.as_bytes().to_vec(),
            items: vec![21],
            buffer_length: BufferLength(100),
            flags: 0,
        }
    }

    fn described(sql: &str, kind: u8) -> Described {
        let data = vec![21, 4, 0, kind, 0, 0, 0, 1];
        Described::new(text(sql), &Response::data(Handle(0), data))
    }

    #[test]
    fn the_kind_is_told_by_description_and_text() {
        let of = |sql, kind| described(sql, kind).kind;
        assert_eq!(of("/* a */ -- b\n select 1 from t", 1), Kind::Query);
        assert_eq!(of("with a as (select 1 from t) select * from a", 1), Kind::Query);
        assert_eq!(of("update t set a = 1 returning b", 1), Kind::Change);
        assert_eq!(of("select 1 from t for update", 12), Kind::ForUpdate);
        assert_eq!(of("create table t (a int)", 5), Kind::Definition);
        assert_eq!(of("set transaction", 9), Kind::Other);
        assert!(described("select a from t", 1).looks_pure);
        assert!(!described("select gen_id(g, 1) from t", 1).looks_pure);
        assert!(!described("select a from t with lock", 1).is_pushable());
    }

    #[test]
    fn what_was_used_longest_ago_goes_first() {
        let mut cache = StatementCache::default();
        let key = |sql: &str| Key::new(1, Arc::from(&b"x"[..]), &text(sql));
        let room = 3 * (ENTRY_BYTES + 20);
        for sql in ["a", "b", "c"] {
            assert_eq!(cache.insert(key(sql), Arc::new(described(sql, 1)), room), 0);
        }
        assert!(cache.find(&key("a")).is_some());
        assert_eq!(cache.insert(key("d"), Arc::new(described("d", 1)), room), 1);
        assert!(cache.find(&key("a")).is_some() && cache.find(&key("b")).is_none());
        assert!(cache.bytes() <= room);
        assert_eq!((cache.invalidate(Some(2)), cache.invalidate(Some(1)), cache.bytes()), (0, 3, 0));
    }

    #[test]
    fn what_changes_is_asked_each_time() {
        assert!(is_stable_information(&[21, 4, 7, 9, 11, 8, 1]));
        assert!(is_stable_information(&[20, 2, 5, 0, 4, 7]));
        assert!(!is_stable_information(&[23]));
        assert!(!is_stable_information(&[21, 200]));
    }
}
