//! Random tables that refer to each other and to themselves, with random actions; random statements; and a model that says
//! what must come of them. Afterwards `farbird check` finds nothing.
//!
//! `FARBIRD_SEED` chooses the schemas and statements.

mod ddl_support;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use ddl_support::TestDatabase;

/// Tables, named T0, T1, ...
const TABLES: usize = 3;
/// Rows of each at the beginning, at most.
const ROWS_MAX: u64 = 6;
/// Schemas that are tried.
const SCHEMAS: u64 = 25;
/// Statements on each.
const STATEMENTS: usize = 25;

/// Numbers that look random (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    Restrict,
    Cascade,
    SetNull,
    SetDefault,
}

impl Action {
    const ALL: [Action; 5] =
        [Action::Restrict, Action::Cascade, Action::Cascade, Action::SetNull, Action::SetDefault];

    fn written(self) -> &'static str {
        match self {
            Action::Restrict => "no action",
            Action::Cascade => "cascade",
            Action::SetNull => "set null",
            Action::SetDefault => "set default",
        }
    }
}

/// What columns F and G default to.
const DEFAULTS: [Option<i64>; 2] = [Some(1), None];
/// The columns: the key, two references, and one that nothing refers to.
const KEY: usize = 0;
const VALUE: usize = 3;
const COLUMNS: [&str; 4] = ["K", "F", "G", "V"];

/// A foreign key on one column.
#[derive(Debug, Clone, Copy)]
struct Reference {
    child: usize,
    column: usize,
    parent: usize,
    on_update: Action,
    on_delete: Action,
}

type Row = [Option<i64>; 4];

/// The rules, as Firebird's documentation and its answers to `scripts/cascades-*.sql` have them.
#[derive(Debug, Clone)]
struct Model {
    references: Vec<Reference>,
    /// By row number.
    tables: Vec<BTreeMap<u64, Row>>,
    next_row: u64,
}

/// A statement that must fail.
#[derive(Debug)]
struct Refused;

type Outcome = Result<(), Refused>;

impl Model {
    fn has_key(&self, table: usize, key: Option<i64>) -> bool {
        self.tables[table].values().any(|row| row[KEY] == key)
    }

    fn check_unique(&self, table: usize, number: u64, key: Option<i64>) -> Outcome {
        let taken = self.tables[table].iter().any(|(other, row)| *other != number && row[KEY] == key);
        if taken || key.is_none() { Err(Refused) } else { Ok(()) }
    }

    fn check_parents(&self, table: usize, old: Option<Row>, new: Row) -> Outcome {
        let refers = |reference: &&Reference| {
            reference.child == table
                && new[reference.column].is_some()
                && old.is_none_or(|old| old[reference.column] != new[reference.column])
        };
        let sound = self
            .references
            .iter()
            .filter(refers)
            .all(|reference| self.has_key(reference.parent, new[reference.column]));
        if sound { Ok(()) } else { Err(Refused) }
    }

    fn insert(&mut self, table: usize, row: Row) -> Outcome {
        let number = self.next_row;
        self.next_row += 1;
        self.check_unique(table, number, row[KEY])?;
        self.tables[table].insert(number, row);
        self.check_parents(table, None, row)
    }

    /// Replaces a row that the statement has read as `read`. What cascades have made of its references since is kept.
    fn update(&mut self, table: usize, number: u64, read: Row, mut new: Row) -> Outcome {
        let Some(now) = self.tables[table].get(&number).copied() else { return Ok(()) };
        for column in self.references.iter().filter(|one| one.child == table).map(|one| one.column) {
            if new[column] == read[column] {
                new[column] = now[column];
            }
        }
        self.check_unique(table, number, new[KEY])?;
        self.tables[table].insert(number, new);
        self.check_parents(table, Some(now), new)?;
        if new[KEY] == now[KEY] {
            return Ok(());
        }
        self.key_gone(table, now[KEY], Some(new[KEY]))
    }

    fn delete(&mut self, table: usize, number: u64) -> Outcome {
        let Some(now) = self.tables[table].remove(&number) else { return Ok(()) };
        self.key_gone(table, now[KEY], None)
    }

    /// First all cascades, then the question whether anything refers to the key still.
    fn key_gone(&mut self, table: usize, old: Option<i64>, new: Option<Option<i64>>) -> Outcome {
        let references: Vec<Reference> =
            self.references.iter().filter(|one| one.parent == table).copied().collect();
        for reference in &references {
            let Reference { child, column, .. } = *reference;
            let action = if new.is_some() { reference.on_update } else { reference.on_delete };
            if action == Action::Restrict {
                continue;
            }
            let found: Vec<(u64, Row)> = self.tables[child]
                .iter()
                .filter(|(_, row)| row[column] == old)
                .map(|(number, row)| (*number, *row))
                .collect();
            for (number, row) in found {
                let mut changed = row;
                changed[column] = match (action, new) {
                    (Action::Cascade, None) => {
                        self.delete(child, number)?;
                        continue;
                    }
                    (Action::Cascade, Some(new)) => new,
                    (Action::SetDefault, _) => DEFAULTS[column - 1],
                    (Action::SetNull | Action::Restrict, _) => None,
                };
                self.update(child, number, row, changed)?;
            }
        }
        let refers = |one: &Reference| self.tables[one.child].values().any(|row| row[one.column] == old);
        if references.iter().any(refers) { Err(Refused) } else { Ok(()) }
    }

    fn rows_where(&self, table: usize, condition: Condition) -> Vec<(u64, Row)> {
        let found = self.tables[table].iter().filter(|(_, row)| condition.holds(row));
        found.map(|(number, row)| (*number, *row)).collect()
    }

    fn run(&mut self, statement: &Statement) -> Outcome {
        let mut changed = self.clone();
        changed.apply(statement)?;
        *self = changed;
        Ok(())
    }

    fn apply(&mut self, statement: &Statement) -> Outcome {
        match *statement {
            Statement::Insert { table, row } => self.insert(table, row),
            Statement::Delete { table, condition } => self
                .rows_where(table, condition)
                .iter()
                .try_for_each(|(number, _)| self.delete(table, *number)),
            Statement::Update { table, column, change, condition } => {
                self.rows_where(table, condition).into_iter().try_for_each(|(number, read)| {
                    let mut new = read;
                    if column != VALUE {
                        new[column] = change.of(read[column]);
                    }
                    new[VALUE] = new[VALUE].map(|value| value + 1);
                    self.update(table, number, read, new)
                })
            }
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Condition {
    All,
    Above(usize, i64),
    Equals(usize, i64),
}

impl Condition {
    fn holds(self, row: &Row) -> bool {
        match self {
            Condition::All => true,
            Condition::Above(column, bound) => row[column].is_some_and(|value| value > bound),
            Condition::Equals(column, bound) => row[column] == Some(bound),
        }
    }

    fn written(self) -> String {
        // Without an index: in the order of the rows, as the model goes through them.
        match self {
            Condition::All => String::new(),
            Condition::Above(column, bound) => format!(" where {} + 0 > {bound}", COLUMNS[column]),
            Condition::Equals(column, bound) => format!(" where {} + 0 = {bound}", COLUMNS[column]),
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Change {
    Negate,
    Add(i64),
    To(Option<i64>),
}

impl Change {
    fn of(self, value: Option<i64>) -> Option<i64> {
        match self {
            Change::Negate => value.map(|value| -value),
            Change::Add(more) => value.map(|value| value + more),
            Change::To(value) => value,
        }
    }

    fn written(self, column: &str) -> String {
        match self {
            Change::Negate => format!("-{column}"),
            Change::Add(more) => format!("{column} + {more}"),
            Change::To(value) => literal(value),
        }
    }
}

fn literal(value: Option<i64>) -> String {
    value.map_or_else(|| "null".to_owned(), |value| value.to_string())
}

#[derive(Debug)]
enum Statement {
    Insert { table: usize, row: Row },
    Delete { table: usize, condition: Condition },
    Update { table: usize, column: usize, change: Change, condition: Condition },
}

impl Statement {
    fn random(random: &mut Random) -> Statement {
        let table = random.below(TABLES as u64) as usize;
        let some = |random: &mut Random| random.below(9) as i64 - 2;
        let condition = match random.below(5) {
            0 | 1 => Condition::All,
            2 | 3 => Condition::Above(random.one_of(&[KEY, KEY, 1, 2]), some(random)),
            _ => Condition::Equals(random.one_of(&[KEY, KEY, 1, 2]), some(random)),
        };
        match random.below(10) {
            0..=2 => {
                let reference =
                    |random: &mut Random| Some(some(random)).filter(|value| (1..5).contains(value));
                let row = [Some(some(random)), reference(random), reference(random), Some(0)];
                Statement::Insert { table, row }
            }
            3..=4 => Statement::Delete { table, condition },
            _ => {
                let change = match random.below(6) {
                    0..=2 => Change::Negate,
                    3..=4 => Change::Add(random.one_of(&[10, -10, 1])),
                    _ => Change::To(Some(some(random)).filter(|value| *value > 0)),
                };
                let column = random.one_of(&[KEY, KEY, KEY, 1, 2, VALUE]);
                Statement::Update { table, column, change, condition }
            }
        }
    }

    fn written(&self) -> String {
        match self {
            Statement::Insert { table, row } => {
                let values: Vec<String> = row.iter().map(|value| literal(*value)).collect();
                format!("insert into t{table} values ({})", values.join(", "))
            }
            Statement::Delete { table, condition } => format!("delete from t{table}{}", condition.written()),
            Statement::Update { table, column, change, condition } => {
                let name = COLUMNS[*column];
                let count = if *column == VALUE { "" } else { ", v = v + 1" };
                let change = match *column == VALUE {
                    true => "v + 1".to_owned(),
                    false => change.written(name),
                };
                format!("update t{table} set {name} = {change}{count}{}", condition.written())
            }
        }
    }
}

fn random_references(random: &mut Random) -> Vec<Reference> {
    let mut references = Vec::new();
    for child in 0..TABLES {
        for column in [1, 2] {
            // Keys that refer to their own table are the most interesting ones.
            let parent = if random.below(2) == 0 { child } else { random.below(TABLES as u64) as usize };
            let (on_update, on_delete) = (random.one_of(&Action::ALL), random.one_of(&Action::ALL));
            if random.below(6) > 0 {
                references.push(Reference { child, column, parent, on_update, on_delete });
            }
        }
    }
    references
}

fn play(seed: u64) {
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let references = random_references(&mut random);
    let mut model =
        Model { references: references.clone(), tables: vec![BTreeMap::new(); TABLES], next_row: 0 };
    let (database, mut session) = TestDatabase::create();
    let mut told = format!("FARBIRD_SEED={seed}\n");
    let mut define = |sql: String, session: &mut ddl_support::Session| {
        writeln!(told, "{sql};").expect("a string takes everything");
        session.execute(&sql);
        session.commit();
    };
    for table in 0..TABLES {
        let columns = "k int not null primary key, f int default 1, g int, v int";
        define(format!("create table t{table} ({columns})"), &mut session);
    }
    for (number, one) in references.iter().enumerate() {
        let (update, delete) = (one.on_update.written(), one.on_delete.written());
        let (child, column, parent) = (one.child, COLUMNS[one.column], one.parent);
        let key =
            format!("foreign key ({column}) references t{parent} on update {update} on delete {delete}");
        define(format!("alter table t{child} add constraint r{number} {key}"), &mut session);
    }
    for table in 0..TABLES {
        for key in 1..=random.below(ROWS_MAX) as i64 + 1 {
            let row = [Some(key), None, None, Some(0)];
            let statement = Statement::Insert { table, row };
            run_both(&statement, &mut model, &mut session, &mut told);
        }
    }
    for _ in 0..STATEMENTS {
        let statement = Statement::random(&mut random);
        run_both(&statement, &mut model, &mut session, &mut told);
        if random.below(8) == 0 {
            session.commit();
        }
    }
    session.commit();
    drop(session);
    let report = database.check();
    assert!(report.is_sound(), "{:?} after\n{told}", report.damages);
}

fn run_both(statement: &Statement, model: &mut Model, session: &mut ddl_support::Session, told: &mut String) {
    let sql = statement.written();
    let expected = model.run(statement);
    let found = session.run(&sql);
    writeln!(told, "{sql}; -- {}", if expected.is_ok() { "done" } else { "refused" })
        .expect("a string takes everything");
    assert_eq!(expected.is_ok(), found.is_ok(), "{found:?} after\n{told}");
    for (table, rows) in model.tables.iter().enumerate() {
        let mut rows: Vec<String> = rows
            .values()
            .map(|row| {
                let values: Vec<String> =
                    row.iter().map(|value| literal(*value).replace("null", "<null>")).collect();
                values.join("|")
            })
            .collect();
        rows.sort();
        let shown = |column| format!("coalesce(cast({column} as varchar(11)), '<null>')");
        let (f, g) = (shown("f"), shown("g"));
        let mut found = session.rows(&format!("select k, {f}, {g}, v from t{table}"));
        found.sort();
        assert_eq!(found, rows, "t{table} after\n{told}");
    }
}

#[test]
fn random_cascades_do_what_the_model_says_and_leave_nothing_dangling() {
    let given = std::env::var("FARBIRD_SEED").ok().and_then(|seed| seed.parse::<u64>().ok());
    match given {
        Some(seed) => play(seed),
        None => (1..=SCHEMAS).for_each(play),
    }
}
