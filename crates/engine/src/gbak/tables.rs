//! Tables as SQL, with their keys, checks and indexes, which come when the rows are there.

use farbird_gbak::attribute::{constraint, field, generator, index, reference, relation};
use farbird_gbak::{Record, RecordKind};

use super::schema::{RelationRecords, is_implicit};
use super::statements::{Definition, Statements, as_default, security};
use super::types;

/// RDB$RELATION_TYPE of temporary tables.
const PRESERVE_ROWS: i64 = 4;
const DELETE_ROWS: i64 = 5;

/// RDB$INDEX_INACTIVE of an index that gbak is going to activate.
const DEFERRED: i64 = 3;

/// Names that NOT NULL constraints have until the others are there, with the column behind.
pub(super) const NOT_NULL_PREFIX: &str = "GBAK$NOT_NULL_";

/// A column of CREATE TABLE.
#[derive(Debug, Clone)]
pub(super) struct ColumnSql {
    pub(super) name: String,
    pub(super) sql: String,
    pub(super) position: usize,
    pub(super) is_computed: bool,
}

/// What a table needs when its rows are there. Unique keys come first: others refer to them.
#[derive(Debug, Default)]
pub(super) struct Keys {
    pub(super) unique: Vec<Definition>,
    pub(super) indexes: Vec<Definition>,
    /// Indexes without entries: nothing is built for them.
    pub(super) inactive: Vec<Definition>,
    pub(super) foreign: Vec<Definition>,
    pub(super) checks: Vec<Definition>,
}

impl Statements<'_> {
    /// The columns of a table.
    pub(super) fn columns(self, table: &RelationRecords) -> Vec<ColumnSql> {
        let mut columns = Vec::new();
        let place = self.schema.relation_place(&table.name).unwrap_or_default();
        for (position, record) in table.columns().into_iter().enumerate() {
            let name = record.name(field::NAME).unwrap_or_default();
            let (sql, is_computed) = self.column(&name, record, (place, position));
            columns.push(ColumnSql { name, sql, position: position + 1, is_computed });
        }
        columns
    }

    fn column(self, name: &str, record: &Record, (table, position): (usize, usize)) -> (String, bool) {
        let source = record.name(field::SOURCE).unwrap_or_default();
        let domain = self.schema.domain_of(record);
        let own = domain.filter(|_| is_implicit(&source));
        let mut sql = format!("{} ", self.name(name));
        match own {
            Some(own) => {
                let declared = types::declared(self.schema, own);
                sql.push_str(&declared.unwrap_or_else(|| "a type that is not supported".into()))
            }
            None => sql.push_str(&self.name(&source)),
        }
        let computed = own.and_then(|it| it.source(field::COMPUTED_SOURCE2, Some(field::COMPUTED_SOURCE)));
        if let Some(computed) = computed {
            sql.push_str(&format!(" COMPUTED BY {}", in_parentheses(&computed)));
            return (sql, true);
        }
        if let Some(kind) = record.number(field::IDENTITY_TYPE) {
            let always = if kind == 0 { "ALWAYS" } else { "BY DEFAULT" };
            sql.push_str(&format!(" GENERATED {always} AS IDENTITY"));
            let generator = self.schema.identity_generator(record);
            let said = |attribute| generator.and_then(|it| it.number(attribute)).filter(|it| *it != 0);
            let start = said(generator::INIT_VAL).map(|it| format!("START WITH {it}"));
            let increment = said(generator::ID_INCREMENT).map(|it| format!("INCREMENT BY {it}"));
            let said: Vec<String> = start.into_iter().chain(increment).collect();
            if !said.is_empty() {
                sql.push_str(&format!(" ({})", said.join(" ")));
            }
        }
        let default = record.source(field::DEFAULT_SOURCE, None);
        let default = default.or_else(|| own.and_then(|it| it.source(field::DEFAULT_SOURCE, None)));
        if let Some(default) = default {
            sql.push_str(&format!(" {}", as_default(&default)));
        }
        let not_null = |record: &Record| record.number(field::NULL_FLAG).is_some_and(|it| it != 0);
        // An identity column is NOT NULL anyway.
        let is_identity = record.number(field::IDENTITY_TYPE).is_some();
        if !is_identity && (not_null(record) || own.is_some_and(not_null)) {
            // Named, so that the names of the constraints that come later are free.
            let name = self.name(&format!("{NOT_NULL_PREFIX}{table}_{position}"));
            sql.push_str(&format!(" CONSTRAINT {name} NOT NULL"));
        }
        let said = record.number(field::COLLATION_ID);
        let collation = match (own, domain) {
            (Some(own), _) => types::collation(self.schema, said, own),
            (None, Some(domain)) => said
                .filter(|said| Some(*said) != domain.number(field::COLLATION_ID))
                .and_then(|said| types::collation(self.schema, Some(said), domain)),
            (None, None) => None,
        };
        if let Some(collation) = collation {
            sql.push_str(&format!(" COLLATE {}", self.name(&collation)));
        }
        (sql, false)
    }

    /// CREATE TABLE, of these columns.
    pub(super) fn table(self, table: &RelationRecords, columns: &[ColumnSql]) -> Definition {
        let list: Vec<&str> = columns.iter().map(|column| column.sql.as_str()).collect();
        let (temporary, rows) = match table.record.number(relation::TYPE) {
            Some(PRESERVE_ROWS) => ("GLOBAL TEMPORARY ", " ON COMMIT PRESERVE ROWS"),
            Some(DELETE_ROWS) => ("GLOBAL TEMPORARY ", " ON COMMIT DELETE ROWS"),
            _ => ("", ""),
        };
        let file = table.record.name(relation::EXT_FILE_NAME).filter(|_| table.is_external());
        let file = file.map(|it| format!(" EXTERNAL FILE '{}'", it.replace('\'', "''"))).unwrap_or_default();
        let sql = format!(
            "CREATE {temporary}TABLE {}{file} ({}){rows}{}",
            self.name(&table.name),
            list.join(", "),
            security(&table.record, relation::SQL_SECURITY, relation::SQL_SECURITY_DEPRECATED),
        );
        Definition::new(format!("table {}", table.name), sql)
    }

    /// Keys, checks and indexes of a table; `all_inactive` those that are no keys.
    pub(super) fn keys(self, table: &RelationRecords, all_inactive: bool) -> Keys {
        let mut keys = Keys::default();
        let mut of_constraints = Vec::new();
        for record in self.schema.constraints_of(&table.name) {
            let name = record.name(constraint::NAME).unwrap_or_default();
            let index_name = record.name(constraint::INDEX).unwrap_or_default();
            let found = table.indexes.iter().find(|it| it.name(index::NAME).as_deref() == Some(&index_name));
            let object = format!("constraint {name} of table {}", table.name);
            let add = format!("ALTER TABLE {} ADD CONSTRAINT {}", self.name(&table.name), self.name(&name));
            match record.name(constraint::TYPE).unwrap_or_default().as_str() {
                kind @ ("PRIMARY KEY" | "UNIQUE") => {
                    let columns = found.map(columns_of).unwrap_or_default();
                    let using = found.map(|it| self.using(it)).unwrap_or_default();
                    let sql =
                        format!("{add} {kind} ({}){using}", self.names(columns.iter().map(String::as_str)));
                    keys.unique.push(Definition::new(object, sql));
                    of_constraints.push(index_name);
                }
                "FOREIGN KEY" => {
                    let sql = found.and_then(|it| self.foreign_key(&name, it));
                    keys.foreign.push(Definition::new(object, format!("{add} {}", sql.unwrap_or_default())));
                    of_constraints.push(index_name);
                }
                "CHECK" => {
                    let source = self.schema.check_source(&name).unwrap_or_default();
                    keys.checks.push(Definition::new(object, format!("{add} {source}")));
                }
                // NOT NULL belongs to its column.
                _ => {}
            }
        }
        for record in &table.indexes {
            let name = record.name(index::NAME).unwrap_or_default();
            if of_constraints.contains(&name) {
                continue;
            }
            let was_inactive = !matches!(record.number(index::INACTIVE), None | Some(0 | DEFERRED));
            let inactive = was_inactive || all_inactive;
            let indexes = if inactive { &mut keys.inactive } else { &mut keys.indexes };
            indexes.push(self.index(table, &name, record, inactive));
        }
        keys
    }

    fn using(self, record: &Record) -> String {
        let name = record.name(index::NAME).unwrap_or_default();
        let descending = if is_descending(record) { "DESCENDING " } else { "" };
        format!(" USING {descending}INDEX {}", self.name(&name))
    }

    fn foreign_key(self, name: &str, own: &Record) -> Option<String> {
        let reference = self.schema.named(RecordKind::Reference, name)?;
        let referenced = self.schema.constraint(&reference.name(reference::UNIQUE_CONST_NAME)?)?;
        let (table, unique) = self.schema.index(&referenced.name(constraint::INDEX)?)?;
        let (columns, others) = (columns_of(own), columns_of(unique));
        let action = |word: &str, attribute| match reference.name(attribute).as_deref() {
            None | Some("" | "RESTRICT") => String::new(),
            Some(action) => format!(" ON {word} {action}"),
        };
        Some(format!(
            "FOREIGN KEY ({}) REFERENCES {} ({}){}{}{}",
            self.names(columns.iter().map(String::as_str)),
            self.name(&table.name),
            self.names(others.iter().map(String::as_str)),
            action("UPDATE", reference::UPDATE_RULE),
            action("DELETE", reference::DELETE_RULE),
            self.using(own),
        ))
    }

    pub(super) fn index(
        self,
        table: &RelationRecords,
        name: &str,
        record: &Record,
        inactive: bool,
    ) -> Definition {
        let object = format!("index {name} of table {}", table.name);
        let unique = if record.number(index::UNIQUE_FLAG).is_some_and(|it| it != 0) { "UNIQUE " } else { "" };
        let descending = if is_descending(record) { "DESCENDING " } else { "" };
        let keys = match record.source(index::EXPRESSION_SOURCE, None) {
            Some(expression) => format!("COMPUTED BY {}", in_parentheses(&expression)),
            None => format!("({})", self.names(columns_of(record).iter().map(String::as_str))),
        };
        let condition = match record.source(index::CONDITION_SOURCE, None) {
            None => String::new(),
            Some(source)
                if source.trim_start().get(..5).is_some_and(|it| it.eq_ignore_ascii_case("WHERE")) =>
            {
                format!(" {source}")
            }
            Some(source) => format!(" WHERE {source}"),
        };
        let on = self.name(&table.name);
        let inactive = if inactive { " INACTIVE" } else { "" };
        let name = self.name(name);
        let sql = format!("CREATE {unique}{descending}INDEX {name}{inactive} ON {on} {keys}{condition}");
        Definition::new(object, sql)
    }
}

/// The columns of an index, in order.
pub(super) fn columns_of(record: &Record) -> Vec<String> {
    record
        .all(index::FIELD_NAME)
        .map(|bytes| String::from_utf8_lossy(bytes).trim_end_matches([' ', '\0']).to_owned())
        .collect()
}

fn is_descending(record: &Record) -> bool {
    record.number(index::TYPE) == Some(1)
}

/// An expression with parentheses around all of it.
fn in_parentheses(source: &str) -> String {
    let source = source.trim();
    let (mut depth, mut quote) = (0i64, None);
    for (place, letter) in source.char_indices() {
        match (quote, letter) {
            (Some(open), _) if open == letter => quote = None,
            (None, '\'' | '"') => quote = Some(letter),
            (None, '(') => depth += 1,
            (None, ')') => depth -= 1,
            _ => {}
        }
        let is_last = place + letter.len_utf8() == source.len();
        if depth == 0 && !is_last {
            return format!("({source})");
        }
    }
    source.to_owned()
}
