//! Joins of many tables over made-up skewed data, after "How Good Are Query Optimizers, Really?" (Leis and others, 2015): films,
//! people, companies and keywords as in the Join Order Benchmark's schema, with names of our own.
//!
//! Few films have most of the people, keywords and facts (Zipf), and what belongs together is correlated: companies of one
//! country make films of few kinds, keywords go with kinds. An optimizer that assumes that values are spread evenly and
//! independently takes the wrong order.

use super::bench::{Bench, Loaded};
use super::side::{Dialect, Field, TableDefinition, Visitor};
use super::statements;
use crate::Result;
use crate::random::{Random, fraction, mixed};

/// The name of the section.
pub const SECTION: &str = "joins";

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// Rows of the table of films; all tables together have about 23 times as many.
    pub films: u64,
    /// Whether tables have primary keys, and indexes of their foreign keys.
    pub has_indexes: bool,
}

const QUERY_FILE: &str = include_str!("../../data/joins.sql");

const TABLES: [TableDefinition; 12] = [
    TableDefinition {
        name: "film_kind",
        columns: &[("id", "integer"), ("kind", "varchar(20)")],
        primary_key: "id",
        indexes: &[],
    },
    TableDefinition {
        name: "company_kind",
        columns: &[("id", "integer"), ("kind", "varchar(20)")],
        primary_key: "id",
        indexes: &[],
    },
    TableDefinition {
        name: "role",
        columns: &[("id", "integer"), ("name", "varchar(20)")],
        primary_key: "id",
        indexes: &[],
    },
    TableDefinition {
        name: "fact_kind",
        columns: &[("id", "integer"), ("name", "varchar(20)")],
        primary_key: "id",
        indexes: &[],
    },
    TableDefinition {
        name: "film",
        columns: &[
            ("id", "integer"),
            ("kind_id", "integer"),
            ("production_year", "integer"),
            ("title", "varchar(60)"),
        ],
        primary_key: "id",
        indexes: &["kind_id"],
    },
    TableDefinition {
        name: "company",
        columns: &[("id", "integer"), ("country", "varchar(4)"), ("name", "varchar(60)")],
        primary_key: "id",
        indexes: &[],
    },
    TableDefinition {
        name: "keyword",
        columns: &[("id", "integer"), ("word", "varchar(40)")],
        primary_key: "id",
        indexes: &[],
    },
    TableDefinition {
        name: "person",
        columns: &[("id", "integer"), ("gender", "varchar(1)"), ("name", "varchar(60)")],
        primary_key: "id",
        indexes: &[],
    },
    TableDefinition {
        name: "film_company",
        columns: &[
            ("id", "integer"),
            ("fc_film", "integer"),
            ("fc_company", "integer"),
            ("fc_kind", "integer"),
            ("note", "varchar(40)"),
        ],
        primary_key: "id",
        indexes: &["fc_film", "fc_company"],
    },
    TableDefinition {
        name: "film_keyword",
        columns: &[("id", "integer"), ("fk_film", "integer"), ("fk_keyword", "integer")],
        primary_key: "id",
        indexes: &["fk_film", "fk_keyword"],
    },
    TableDefinition {
        name: "film_person",
        columns: &[
            ("id", "integer"),
            ("fp_film", "integer"),
            ("fp_person", "integer"),
            ("fp_role", "integer"),
            ("place", "integer"),
        ],
        primary_key: "id",
        indexes: &["fp_film", "fp_person"],
    },
    TableDefinition {
        name: "film_fact",
        columns: &[
            ("id", "integer"),
            ("ff_film", "integer"),
            ("ff_kind", "integer"),
            ("fact", "varchar(40)"),
        ],
        primary_key: "id",
        indexes: &["ff_film"],
    },
];

const FILM_KINDS: [&str; 7] = ["movie", "episode", "tv series", "video", "tv movie", "video game", "short"];
const COMPANY_KINDS: [&str; 4] = ["production", "distribution", "effects", "miscellaneous"];
const ROLES: [&str; 12] = [
    "actor",
    "actress",
    "producer",
    "writer",
    "cinematographer",
    "composer",
    "costume designer",
    "director",
    "editor",
    "guest",
    "designer",
    "crew",
];
const COUNTRIES: [&str; 10] = ["us", "gb", "de", "fr", "jp", "it", "ca", "es", "se", "cz"];
const WORDS: [&str; 16] = [
    "love", "murder", "sequel", "hero", "revenge", "night", "war", "family", "ghost", "robot", "river",
    "money", "dance", "winter", "secret", "train",
];

/// Loads the tables and asks the queries.
///
/// # Errors
/// A side cannot load its tables; the user wants no more.
pub fn run(bench: &mut Bench<'_>, plan: Plan) -> Result<()> {
    let tables: Vec<Loaded<'_>> = TABLES
        .iter()
        .map(|definition| {
            let row_count = row_count(definition.name, plan.films);
            Loaded {
                definition,
                row_count,
                rows: Box::new(move |visit| {
                    (1..=row_count).try_for_each(|id| row(definition.name, id, plan.films, visit))
                }),
            }
        })
        .collect();
    bench.load(SECTION, &tables, plan.has_indexes, &Dialect::ALL)?;
    for query in statements::parse(QUERY_FILE) {
        bench.measure(SECTION, &query, &[], None)?;
    }
    Ok(())
}

fn row_count(table: &str, films: u64) -> u64 {
    match table {
        "film_kind" => FILM_KINDS.len() as u64,
        "company_kind" => COMPANY_KINDS.len() as u64,
        "role" => ROLES.len() as u64,
        "fact_kind" => 40,
        "film" => films,
        "company" | "keyword" => (films / 5).max(1),
        "person" | "film_company" => films * 2,
        "film_keyword" => films * 4,
        "film_fact" => films * 6,
        _ => films * 8,
    }
}

/// A number from 1 to `count`, by Zipf's law: half of all are among the first square root of them.
fn skewed(random: &mut Random, count: u64) -> u64 {
    let value = ((count + 1) as f64).powf(fraction(random.next())) as u64;
    value.clamp(1, count)
}

/// The kind of a film, which much else goes with.
fn kind_of(film: u64) -> u64 {
    skewed(&mut Random(mixed(film)), FILM_KINDS.len() as u64)
}

/// Scatters ids, so that what is frequent does not stand together.
fn scattered(id: u64, count: u64) -> u64 {
    // A prime that no table's number of rows is a multiple of, in practice.
    (id * 7_919) % count + 1
}

fn one_of<'t>(texts: &[&'t str], number: u64) -> &'t str {
    texts.get(number as usize % texts.len().max(1)).copied().unwrap_or_default()
}

/// Gives the row of an id, the same in every run.
fn row(table: &str, id: u64, films: u64, visit: &mut Visitor<'_>) -> Result<()> {
    use Field::Text;
    let number = |number: u64| Field::Integer(i64::try_from(number).unwrap_or(i64::MAX));
    let random = &mut Random(mixed(id ^ (table.len() as u64) << 40));
    let of = |table: &str| row_count(table, films);
    let key = number(id);
    match table {
        "film_kind" => visit(&[key, Text(one_of(&FILM_KINDS, id - 1))]),
        "company_kind" => visit(&[key, Text(one_of(&COMPANY_KINDS, id - 1))]),
        "role" => visit(&[key, Text(one_of(&ROLES, id - 1))]),
        "fact_kind" => visit(&[key, Text(&format!("fact {id:02}"))]),
        "film" => {
            let year = 2_026 - skewed(random, 120);
            let title = format!("The {} of the {} {id}", random.pick(&WORDS), random.pick(&WORDS));
            visit(&[key, number(kind_of(id)), number(year), Text(&title)])
        }
        "company" => {
            let country = one_of(&COUNTRIES, skewed(random, COUNTRIES.len() as u64) - 1);
            visit(&[key, Text(country), Text(&format!("{} Pictures {id}", random.pick(&WORDS)))])
        }
        "keyword" => visit(&[key, Text(&format!("{}-{id}", one_of(&WORDS, id)))]),
        "person" => {
            let gender = one_of(&["m", "f", "m", "f", "m", "-"], random.next());
            visit(&[key, Text(gender), Text(&format!("{} Person {id}", random.pick(&WORDS)))])
        }
        "film_company" => {
            let film = scattered(skewed(random, films), films);
            // Films of one kind are made by few companies.
            let company = (skewed(random, of("company")) * 7 + kind_of(film)) % of("company") + 1;
            let note = one_of(&["(worldwide)", "(presents)", "(co-production)", ""], random.next());
            let kind = number(skewed(random, 4));
            visit(&[key, number(film), number(company), kind, Text(note)])
        }
        "film_keyword" => {
            let film = scattered(skewed(random, films), films);
            let word = (skewed(random, of("keyword")) * 7 + kind_of(film)) % of("keyword") + 1;
            visit(&[key, number(film), number(word)])
        }
        "film_fact" => {
            let film = scattered(id, films);
            let kind = skewed(random, of("fact_kind"));
            let fact = format!("{} {}", one_of(&WORDS, kind), random.below(100));
            visit(&[key, number(film), number(kind), Text(&fact)])
        }
        _ => {
            let film = scattered(skewed(random, films), films);
            let person = scattered(skewed(random, of("person")), of("person"));
            let (role, place) = (skewed(random, ROLES.len() as u64), skewed(random, 50));
            visit(&[key, number(film), number(person), number(role), number(place)])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn integers(table: &str, films: u64) -> Vec<Vec<i64>> {
        let mut rows = Vec::new();
        for id in 1..=row_count(table, films) {
            let visited = row(table, id, films, &mut |row| {
                let numbers = row.iter().filter_map(|field| match field {
                    Field::Integer(number) => Some(*number),
                    _ => None,
                });
                rows.push(numbers.collect());
                Ok(())
            });
            visited.expect("a row");
        }
        rows
    }

    #[test]
    fn rows_have_a_field_for_each_column_and_name_rows_that_there_are() {
        let films = 200;
        for table in &TABLES {
            let visited = row(table.name, 3, films, &mut |row| {
                assert_eq!(row.len(), table.columns.len(), "{}", table.name);
                Ok(())
            });
            visited.expect("a row");
        }
        for (table, of) in [
            ("film_company", ["film", "company", "company_kind"].as_slice()),
            ("film_keyword", &["film", "keyword"]),
            ("film_person", &["film", "person", "role"]),
            ("film_fact", &["film", "fact_kind"]),
        ] {
            for row in integers(table, films) {
                for (value, named) in row.iter().skip(1).zip(of) {
                    assert!((1..=row_count(named, films) as i64).contains(value), "{table}: {row:?}");
                }
            }
        }
    }

    #[test]
    fn few_films_have_many_of_the_people() {
        let films = 1_000;
        let mut counts = vec![0_u32; films as usize + 1];
        for row in integers("film_person", films) {
            counts[row[1] as usize] += 1;
        }
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let first: u32 = counts.iter().take(32).sum();
        assert!(first > 3_000, "32 films have {first} of 8,000");
    }

    #[test]
    fn queries_join_many_tables() {
        let queries = statements::parse(QUERY_FILE);
        assert!(queries.len() >= 15);
    }
}
