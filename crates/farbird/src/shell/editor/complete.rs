//! Completion of keywords, of names from the catalog, and of the shell's commands.

use std::collections::BTreeMap;

use farbird_types::convert::to_display_text;
use farbird_types::{Error, Value};
use reedline::{Completer, Span, Suggestion};

use super::Context;
use super::scan::{PieceKind, is_of_name, pieces};
use crate::session::Session;
use crate::shell::{help, show};

/// Most names of each kind that are kept.
const NAMES_MAX: usize = 20_000;

/// Tables, views and procedures with their columns, in the order of their names.
const COLUMNS: &str =
    "select first 20000 trim(rdb$relation_name), trim(rdb$field_name) from rdb$relation_fields
    where coalesce(rdb$system_flag, 0) = 0 or rdb$relation_name starting with 'RDB$'
    order by 1, rdb$field_position";
/// Everything else that has a name: its kind and its name.
const OTHERS: &str =
    "select 'P', trim(rdb$procedure_name) from rdb$procedures where coalesce(rdb$system_flag, 0) = 0
    union all select 'F', trim(rdb$function_name) from rdb$functions where coalesce(rdb$system_flag, 0) = 0
    union all select 'O', trim(rdb$generator_name) from rdb$generators where coalesce(rdb$system_flag, 0) = 0
    union all select 'O', trim(rdb$trigger_name) from rdb$triggers where coalesce(rdb$system_flag, 0) = 0
    union all select 'O', trim(rdb$index_name) from rdb$indices where coalesce(rdb$system_flag, 0) = 0
    union all select 'O', trim(rdb$exception_name) from rdb$exceptions where coalesce(rdb$system_flag, 0) = 0
    union all select 'O', trim(rdb$role_name) from rdb$roles where coalesce(rdb$system_flag, 0) = 0
    union all select 'O', trim(rdb$field_name) from rdb$fields
        where coalesce(rdb$system_flag, 0) = 0 and rdb$field_name not starting with 'RDB$'";

/// Names from the catalog.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::shell) struct Names {
    /// Columns by table.
    relations: BTreeMap<String, Vec<String>>,
    procedures: Vec<String>,
    functions: Vec<String>,
    others: Vec<String>,
}

impl Names {
    /// Asks the catalog: two queries.
    ///
    /// # Errors
    /// What the database says.
    pub(in crate::shell) fn read(session: &mut dyn Session) -> Result<Names, Error> {
        let mut names = Names::default();
        let text = |value: Option<&Value>| value.map(to_display_text).unwrap_or_default();
        for row in session.look_up(COLUMNS, &[])?.iter().take(NAMES_MAX) {
            names.relations.entry(text(row.first())).or_default().push(text(row.get(1)));
        }
        for row in session.look_up(OTHERS, &[])?.iter().take(NAMES_MAX) {
            let list = match text(row.first()).trim() {
                "P" => &mut names.procedures,
                "F" => &mut names.functions,
                _ => &mut names.others,
            };
            list.push(text(row.get(1)));
        }
        Ok(names)
    }
}

/// Completes SQL and the shell's commands.
pub(super) struct SqlCompleter(pub(super) Context);

impl Completer for SqlCompleter {
    fn complete(&mut self, line: &str, position: usize) -> Vec<Suggestion> {
        let Some(before) = line.get(..position) else { return Vec::new() };
        let start = before.rfind(|c: char| !is_of_name(c) && c != '\\').map_or(0, |at| {
            at + before.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8)
        });
        let (context, word) = before.split_at_checked(start).unwrap_or((before, ""));
        let whole = self.0.line.lock().clone();
        let line = if whole.starts_with(line) { whole.as_str() } else { line };
        let names = self.0.names.lock();
        let mut found = candidates(context, word, line, &names);
        found.retain(|candidate| starts_with(&candidate.text, word));
        let lower = word.chars().any(char::is_lowercase) || (word.is_empty() && is_lower(line));
        let mut suggestions: Vec<Suggestion> = found
            .into_iter()
            .map(|candidate| Suggestion {
                value: candidate.written(lower),
                description: candidate.note,
                span: Span::new(start, position),
                append_whitespace: candidate.kind == CandidateKind::Keyword,
                ..Suggestion::default()
            })
            .collect();
        let mut seen = std::collections::HashSet::new();
        suggestions.retain(|suggestion| seen.insert(suggestion.value.to_uppercase()));
        suggestions
    }
}

/// Whether a statement is mostly written in lower case.
fn is_lower(line: &str) -> bool {
    line.chars().any(char::is_lowercase)
}

fn starts_with(text: &str, word: &str) -> bool {
    let mut characters = text.chars();
    word.chars()
        .all(|wanted| characters.next().is_some_and(|found| found.to_uppercase().eq(wanted.to_uppercase())))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CandidateKind {
    Keyword,
    Name,
    /// A command, as it is.
    Command,
}

struct Candidate {
    text: String,
    kind: CandidateKind,
    note: Option<String>,
}

impl Candidate {
    fn new(text: &str, kind: CandidateKind, note: Option<&str>) -> Candidate {
        Candidate { text: text.to_owned(), kind, note: note.map(str::to_owned) }
    }

    /// As it is written in a statement: quoted if it has to be, else in the case of what was typed.
    fn written(&self, lower: bool) -> String {
        let is_plain = |text: &str| {
            text.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || matches!(c, '_' | '$'))
                && text.starts_with(|c: char| c.is_ascii_uppercase())
        };
        match self.kind {
            CandidateKind::Command => self.text.clone(),
            CandidateKind::Name if !is_plain(&self.text) => {
                format!("\"{}\"", self.text.replace('"', "\"\""))
            }
            _ if lower => self.text.to_lowercase(),
            _ => self.text.clone(),
        }
    }
}

/// What may stand behind a context, the likeliest first.
fn candidates(context: &str, word: &str, line: &str, names: &Names) -> Vec<Candidate> {
    let words: Vec<String> = pieces(context)
        .filter(|(kind, piece)| *kind != PieceKind::Comment && !piece.trim().is_empty())
        .map(|(_, piece)| piece.to_uppercase())
        .collect();
    let last: Vec<&str> = words.iter().rev().map(String::as_str).collect();
    let name = |list: &mut Vec<Candidate>, text: &str, note: &str| {
        list.push(Candidate::new(text, CandidateKind::Name, Some(note)));
    };
    let mut found = Vec::new();
    if word.starts_with('\\') && words.is_empty() {
        return SHORT_FORMS
            .iter()
            .map(|(text, note)| Candidate::new(text, CandidateKind::Command, Some(note)))
            .collect();
    }
    if let [".", qualifier, ..] = last.as_slice() {
        for column in columns_of(qualifier, line, names) {
            name(&mut found, column, "column");
        }
        return found;
    }
    match last.as_slice() {
        ["SHOW"] => {
            let words = show::words().chain(SHOW_WORDS.iter().copied());
            return words.map(|word| Candidate::new(word, CandidateKind::Keyword, None)).collect();
        }
        ["HELP"] => {
            return help::topics().map(|word| Candidate::new(word, CandidateKind::Keyword, None)).collect();
        }
        [_, "SHOW"] | [_, "\\"] => add_all(&mut found, names),
        ["PROCEDURE", "EXECUTE", ..] => {
            names.procedures.iter().for_each(|text| name(&mut found, text, "procedure"));
        }
        ["FROM" | "JOIN" | "INTO" | "UPDATE" | "TABLE" | "ON" | "REFERENCES" | "VIEW", ..] => {
            names.relations.keys().for_each(|text| name(&mut found, text, "table"));
            names.procedures.iter().for_each(|text| name(&mut found, text, "procedure"));
        }
        _ => {}
    }
    if words.is_empty() {
        return STATEMENTS.iter().map(|word| Candidate::new(word, CandidateKind::Keyword, None)).collect();
    }
    // Columns of the tables that the statement names (before it names any: of all), then keywords, then the rest.
    let mut tables = tables_of(line, names);
    if tables.is_empty() && !word.is_empty() {
        tables =
            names.relations.keys().map(String::as_str).filter(|table| !table.starts_with("RDB$")).collect();
    }
    for table in tables {
        for column in names.relations.get(table).into_iter().flatten() {
            name(&mut found, column, table);
        }
    }
    if !word.is_empty() {
        found.extend(farbird_sql::keywords().map(|word| Candidate::new(word, CandidateKind::Keyword, None)));
        add_all(&mut found, names);
    }
    found
}

fn add_all(found: &mut Vec<Candidate>, names: &Names) {
    let lists: [(&mut dyn Iterator<Item = &String>, &str); 4] = [
        (&mut names.relations.keys(), "table"),
        (&mut names.procedures.iter(), "procedure"),
        (&mut names.functions.iter(), "function"),
        (&mut names.others.iter(), "name"),
    ];
    for (list, note) in lists {
        found.extend(list.map(|text| Candidate::new(text, CandidateKind::Name, Some(note))));
    }
}

/// The tables that a statement names.
fn tables_of<'n>(line: &str, names: &'n Names) -> Vec<&'n str> {
    let mut found = Vec::new();
    for (kind, piece) in pieces(line) {
        let table = match kind {
            PieceKind::Word => names.relations.get_key_value(piece.to_uppercase().as_str()),
            PieceKind::QuotedName => names.relations.get_key_value(piece.trim_matches('"')),
            _ => None,
        };
        if let Some((table, _)) = table
            && !found.contains(&table.as_str())
        {
            found.push(table.as_str());
        }
    }
    found
}

/// The columns of a table, or of the table that has an alias in the statement.
fn columns_of<'n>(qualifier: &str, line: &str, names: &'n Names) -> &'n [String] {
    let bare = qualifier.trim_matches('"');
    if let Some(columns) = names.relations.get(bare) {
        return columns;
    }
    let words: Vec<String> = pieces(line)
        .filter(|(_, piece)| !piece.trim().is_empty())
        .map(|(_, piece)| piece.trim_matches('"').to_uppercase())
        .collect();
    for (index, word) in words.iter().enumerate() {
        if *word != bare.to_uppercase() || index == 0 {
            continue;
        }
        let behind = |back: usize| index.checked_sub(back).and_then(|at| words.get(at));
        let table = match behind(1).map(String::as_str) {
            Some("AS") => behind(2),
            _ => behind(1),
        };
        if let Some(columns) = table.and_then(|table| names.relations.get(table)) {
            return columns;
        }
    }
    &[]
}

/// Words that begin statements.
const STATEMENTS: &[&str] = &[
    "SELECT",
    "INSERT",
    "UPDATE",
    "DELETE",
    "MERGE",
    "WITH",
    "EXECUTE",
    "CREATE",
    "ALTER",
    "DROP",
    "RECREATE",
    "GRANT",
    "REVOKE",
    "COMMENT",
    "COMMIT",
    "ROLLBACK",
    "SAVEPOINT",
    "RELEASE",
    "SET",
    "SHOW",
    "HELP",
    "EXPLAIN",
    "INPUT",
    "OUTPUT",
    "EXIT",
    "QUIT",
];

/// What SHOW understands beside the plain lists.
const SHOW_WORDS: &[&str] = &[
    "TABLE",
    "VIEW",
    "INDEXES",
    "PROCEDURE",
    "FUNCTION",
    "TRIGGERS",
    "TRIGGER",
    "SEQUENCES",
    "GENERATORS",
    "DOMAINS",
    "DOMAIN",
    "DATABASE",
    "VERSION",
    "SQL DIALECT",
];

/// The short forms.
const SHORT_FORMS: &[(&str, &str)] = &[
    ("\\?", "help"),
    ("\\d", "tables and views, or what a name is"),
    ("\\c", "another database"),
    ("\\bind", "parameters of the next statement"),
    ("\\gdesc", "columns and parameters of a statement"),
    ("\\echo", "print a line"),
    ("\\!", "a command of the operating system"),
    ("\\dt", "tables"),
    ("\\dg", "roles"),
    ("\\dx", "packages"),
    ("\\dE", "exceptions"),
    ("\\dv", "views"),
    ("\\di", "indexes"),
    ("\\ds", "sequences"),
    ("\\dp", "procedures"),
    ("\\df", "functions"),
    ("\\dy", "triggers"),
    ("\\dD", "domains"),
    ("\\du", "users"),
    ("\\z", "grants"),
    ("\\l", "the database"),
    ("\\x", "a line per column"),
    ("\\f", "format"),
    ("\\timing", "how long it takes"),
    ("\\wire", "what goes over the wire"),
    ("\\i", "run a script"),
    ("\\o", "results go to a file"),
    ("\\null", "what stands for NULL"),
    ("\\pager", "long results through a pager"),
    ("\\conninfo", "where you are"),
    ("\\set", "all settings"),
    ("\\q", "commit and leave"),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// What is offered at the `|`.
    fn completed(typed: &str) -> Vec<String> {
        let context = Context::default();
        let columns = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        context.set_names(Names {
            relations: BTreeMap::from([
                ("PEOPLE".to_owned(), columns(&["ID", "FULL_NAME", "Mixed"])),
                ("PETS".to_owned(), columns(&["ID", "OWNER_ID"])),
            ]),
            procedures: vec!["PAY".to_owned()],
            functions: Vec::new(),
            others: vec!["PET_SEQ".to_owned()],
        });
        let (before, behind) = typed.split_once('|').unwrap_or((typed, ""));
        *context.line.lock() = format!("{before}{behind}");
        let suggestions = SqlCompleter(context).complete(before, before.len());
        suggestions.into_iter().map(|suggestion| suggestion.value).collect()
    }

    #[test]
    fn names_fit_their_places() {
        assert_eq!(completed("select * from pe"), ["people", "pets", "percent_rank", "pet_seq"]);
        assert_eq!(completed("SELECT * FROM PEO"), ["PEOPLE"]);
        assert_eq!(completed("select p."), Vec::<String>::new());
        assert_eq!(completed("select p.| from people p"), ["id", "full_name", "\"Mixed\""]);
        assert_eq!(completed("select * from people p where p."), ["id", "full_name", "\"Mixed\""]);
        assert_eq!(completed("select * from people as p where p.f"), ["full_name"]);
        assert_eq!(completed("select pets.o"), ["owner_id"]);
        assert_eq!(completed("select full_n"), ["full_name"]);
        assert_eq!(completed("execute procedure p").first().map(String::as_str), Some("pay"));
        assert_eq!(completed("select * from pets where ow"), ["owner_id"]);
    }

    #[test]
    fn commands_and_keywords_are_completed_too() {
        assert_eq!(completed("sel"), ["select"]);
        assert_eq!(completed("\\ti"), ["\\timing"]);
        assert_eq!(completed("show seq"), ["sequences"]);
        assert!(completed("\\d peo").contains(&"people".to_owned()));
    }
}
