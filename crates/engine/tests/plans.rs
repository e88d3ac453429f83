//! Plans under given statistics: `tests/plans/*.sql` beside `*.out`, which holds the chosen plans.
//!
//! A script begins with DDL; `*.statistics` says what the planner shall believe of the tables, however empty they are. Run with
//! `UPDATE_GOLDENFILES=1` to record again; the review is the diff.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use farbird_catalog::Catalog;
use farbird_catalog::statistics::{Statistics, StatisticsSource};
use farbird_engine::api::{
    AttachOptions, ClientDescription, CreateDatabaseOptions, ExecuteOptions, TransactionParameters,
};
use farbird_engine::attachment::Attachment;
use farbird_engine::engine::Engine;
use farbird_engine::users::NoUsers;
use farbird_plan::bind::{Environment, NoVariables, bind_statement};
use farbird_store::{ColumnStatistics, IndexId, IndexStatistics, RelationId, RelationStatistics};
use farbird_types::{CastContext, CharacterSet, SqlType, Value, convert};

/// Figures from a file.
struct Given(HashMap<u32, Arc<RelationStatistics>>);

impl StatisticsSource for Given {
    fn relation(&self, relation: RelationId) -> Option<Arc<RelationStatistics>> {
        self.0.get(&relation.0).cloned()
    }
}

impl Given {
    /// Reads lines `TABLE ROWS`, each followed by indented ones: `COLUMN DISTINCT LEAST GREATEST CORRELATION`, with `-` for
    /// what is not known, and `index NAME DISTINCT...`.
    fn read(text: &str, catalog: &Catalog) -> Given {
        let mut tables: HashMap<u32, RelationStatistics> = HashMap::new();
        let mut relation = None;
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let words: Vec<&str> = line.split_whitespace().collect();
            if !line.starts_with(' ') {
                let found = catalog.relations.get(words[0]).expect("a table");
                let rows = words[1].parse().expect("a number of rows");
                let columns = vec![ColumnStatistics::default(); usize::from(found.next_field_id)];
                let statistics = RelationStatistics { rows, columns, ..RelationStatistics::default() };
                tables.insert(found.id.0, statistics);
                relation = Some(found);
                continue;
            }
            let relation = relation.expect("a table before its columns");
            let statistics = tables.get_mut(&relation.id.0).expect("the table is known");
            if words[0] == "index" {
                let index = relation.index(words[1]).unwrap_or_else(|| panic!("an index {}", words[1]));
                let distinct = words[2..].iter().map(|word| word.parse().expect("a number")).collect();
                let (id, entries) = (IndexId(index.id.0), statistics.rows);
                statistics.indexes.push(IndexStatistics { id, entries, distinct });
                continue;
            }
            let column = relation.column(words[0]).unwrap_or_else(|| panic!("a column {}", words[0]));
            statistics.columns[usize::from(column.field_id)] = ColumnStatistics {
                distinct: words[1].parse().expect("a number"),
                least: value(words[2], &column.sql_type),
                greatest: value(words[3], &column.sql_type),
                correlation: words[4].parse().expect("a number"),
                ..ColumnStatistics::default()
            };
        }
        Given(tables.into_iter().map(|(id, statistics)| (id, Arc::new(statistics))).collect())
    }
}

fn value(word: &str, sql_type: &SqlType) -> Option<Value> {
    (word != "-").then(|| convert::cast(&Value::text(word), sql_type, &CastContext::UTC).expect("a value"))
}

fn database(folder: &Path) -> Attachment {
    let engine = Engine::new(farbird_engine::StoreOptions::default());
    let options = AttachOptions {
        user: String::from("SYSDBA"),
        role: None,
        character_set: CharacterSet::UTF8,
        dialect: 3,
        time_zone: None,
        no_database_triggers: false,
        client: ClientDescription::default(),
    };
    let create = CreateDatabaseOptions {
        default_character_set: CharacterSet::UTF8,
        page_size: 8192,
        overwrite: true,
        dialect: 3,
    };
    engine
        .create_database(&folder.join("plans.fbd"), &create, options, Arc::new(NoUsers))
        .expect("a fresh database")
}

fn run(attachment: &mut Attachment, sql: &str) {
    let transaction = attachment.start_transaction(TransactionParameters::default()).expect("a transaction");
    let statement = attachment.allocate_statement().expect("a statement");
    attachment.prepare(statement, Some(transaction), sql, 3).expect("a statement that is right");
    attachment
        .execute(statement, Some(transaction), Vec::new(), ExecuteOptions::default())
        .expect("a statement that runs");
    attachment.drop_statement(statement).expect("the statement is known");
    attachment.commit(transaction).expect("a commit");
}

fn environment(attachment: &Attachment, statistics: Option<&str>) -> Environment {
    let mut catalog = Catalog::clone(&attachment.database().catalog());
    if let Some(text) = statistics {
        catalog.statistics = Statistics::from_source(Arc::new(Given::read(text, &catalog)));
    }
    Environment {
        catalog: Arc::new(catalog),
        character_set: CharacterSet::UTF8,
        dialect: 3,
        first_rows: false,
        package: None,
    }
}

fn plan(environment: &Environment, sql: &str) -> String {
    let parsed = farbird_sql::parse_statement(sql, &farbird_sql::ParseOptions::default()).expect("SQL");
    bind_statement(environment, &parsed, &NoVariables).expect("a plan").explained_plan
}

fn check(name: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/plans");
    let read = |kind: &str| std::fs::read_to_string(folder.join(format!("{name}.{kind}"))).expect("a file");
    let temporary = tempfile::tempdir().expect("a temporary folder");
    let mut attachment = database(temporary.path());
    let script = read("sql");
    let (ddl, queries): (Vec<_>, Vec<_>) = farbird_sql::split_script(&script)
        .map(|statement| statement.text)
        .partition(|text| text.starts_with("create"));
    ddl.into_iter().for_each(|sql| run(&mut attachment, sql));
    let environment = environment(&attachment, Some(&read("statistics")));
    let mut out = String::new();
    for query in queries {
        writeln!(out, "> {query}\n{}\n", plan(&environment, query)).expect("a string takes everything");
    }
    let record = folder.join(format!("{name}.out"));
    if std::env::var_os("UPDATE_GOLDENFILES").is_some() {
        std::fs::write(&record, out).expect("the record can be written");
        return;
    }
    let expected = std::fs::read_to_string(&record).expect("the record is there");
    for (expected, found) in expected.split("\n\n").zip(out.split("\n\n")) {
        assert_eq!(found, expected, "another plan than recorded");
    }
    assert_eq!(out, expected);
}

#[test]
fn reports_over_large_tables() {
    check("reports");
}

/// A planner that looked at every order of thirty tables would not come back.
#[test]
fn thirty_tables_are_planned() {
    let temporary = tempfile::tempdir().expect("a temporary folder");
    let mut attachment = database(temporary.path());
    run(&mut attachment, "create table t (id integer not null primary key, parent integer)");
    let environment =
        environment(&attachment, Some("T 100000\n ID 100000 1 100000 1.0\n PARENT 1000 1 1000 0.0\n"));
    let mut sql = String::from("select count(*) from t t0");
    for number in 1..30 {
        write!(sql, " join t t{number} on t{number}.id = t{}.parent", number - 1).expect("a string");
    }
    let plan = plan(&environment, &sql);
    assert_eq!(plan.matches("Table \"T\" as").count(), 30, "{plan}");
}
