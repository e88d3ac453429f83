//! TPC-H: the standard's data, by the crate `tpchgen`, and its 22 queries with the values for validation.

use std::fmt::{Display, Write};

use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator, PartSuppGenerator,
    RegionGenerator, SupplierGenerator,
};
use tpchgen::q_and_a::QueryAndAnswer;
use tpchgen::text::TextPool;

use super::answer::{Answer, Tolerance};
use super::bench::{Bench, Loaded, Reference};
use super::side::{Dialect, Field, TableDefinition, Visitor};
use super::statements;
use crate::Result;

/// The name of the section.
pub const SECTION: &str = "tpch";
/// How many queries there are.
pub const QUERIES: u16 = 22;

/// What is done.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// 1 is a gigabyte: 6,001,215 rows of LINEITEM.
    pub scale: f64,
    /// Whether tables have their primary keys and nine ordinary indexes.
    pub has_indexes: bool,
    /// The numbers of the queries, in their order.
    pub queries: Vec<u16>,
}

const QUERY_FILE: &str = include_str!("../../data/tpch.sql");

/// The standard's tables (clause 1.4).
pub(super) const TABLES: [TableDefinition; 8] = [
    TableDefinition {
        name: "region",
        columns: &[("r_regionkey", "integer"), ("r_name", "char(25)"), ("r_comment", "varchar(152)")],
        primary_key: "r_regionkey",
        indexes: &[],
    },
    TableDefinition {
        name: "nation",
        columns: &[
            ("n_nationkey", "integer"),
            ("n_name", "char(25)"),
            ("n_regionkey", "integer"),
            ("n_comment", "varchar(152)"),
        ],
        primary_key: "n_nationkey",
        indexes: &["n_regionkey"],
    },
    TableDefinition {
        name: "part",
        columns: &[
            ("p_partkey", "integer"),
            ("p_name", "varchar(55)"),
            ("p_mfgr", "char(25)"),
            ("p_brand", "char(10)"),
            ("p_type", "varchar(25)"),
            ("p_size", "integer"),
            ("p_container", "char(10)"),
            ("p_retailprice", "numeric(15,2)"),
            ("p_comment", "varchar(23)"),
        ],
        primary_key: "p_partkey",
        indexes: &[],
    },
    TableDefinition {
        name: "supplier",
        columns: &[
            ("s_suppkey", "integer"),
            ("s_name", "char(25)"),
            ("s_address", "varchar(40)"),
            ("s_nationkey", "integer"),
            ("s_phone", "char(15)"),
            ("s_acctbal", "numeric(15,2)"),
            ("s_comment", "varchar(101)"),
        ],
        primary_key: "s_suppkey",
        indexes: &["s_nationkey"],
    },
    TableDefinition {
        name: "partsupp",
        columns: &[
            ("ps_partkey", "integer"),
            ("ps_suppkey", "integer"),
            ("ps_availqty", "integer"),
            ("ps_supplycost", "numeric(15,2)"),
            ("ps_comment", "varchar(199)"),
        ],
        primary_key: "ps_partkey, ps_suppkey",
        indexes: &["ps_suppkey"],
    },
    TableDefinition {
        name: "customer",
        columns: &[
            ("c_custkey", "integer"),
            ("c_name", "varchar(25)"),
            ("c_address", "varchar(40)"),
            ("c_nationkey", "integer"),
            ("c_phone", "char(15)"),
            ("c_acctbal", "numeric(15,2)"),
            ("c_mktsegment", "char(10)"),
            ("c_comment", "varchar(117)"),
        ],
        primary_key: "c_custkey",
        indexes: &["c_nationkey"],
    },
    TableDefinition {
        name: "orders",
        columns: &[
            ("o_orderkey", "integer"),
            ("o_custkey", "integer"),
            ("o_orderstatus", "char(1)"),
            ("o_totalprice", "numeric(15,2)"),
            ("o_orderdate", "date"),
            ("o_orderpriority", "char(15)"),
            ("o_clerk", "char(15)"),
            ("o_shippriority", "integer"),
            ("o_comment", "varchar(79)"),
        ],
        primary_key: "o_orderkey",
        indexes: &["o_custkey", "o_orderdate"],
    },
    TableDefinition {
        name: "lineitem",
        columns: &[
            ("l_orderkey", "integer"),
            ("l_partkey", "integer"),
            ("l_suppkey", "integer"),
            ("l_linenumber", "integer"),
            ("l_quantity", "numeric(15,2)"),
            ("l_extendedprice", "numeric(15,2)"),
            ("l_discount", "numeric(15,2)"),
            ("l_tax", "numeric(15,2)"),
            ("l_returnflag", "char(1)"),
            ("l_linestatus", "char(1)"),
            ("l_shipdate", "date"),
            ("l_commitdate", "date"),
            ("l_receiptdate", "date"),
            ("l_shipinstruct", "char(25)"),
            ("l_shipmode", "char(10)"),
            ("l_comment", "varchar(44)"),
        ],
        primary_key: "l_orderkey, l_linenumber",
        indexes: &["l_partkey", "l_suppkey", "l_shipdate"],
    },
];

/// Loads the tables and asks the queries.
///
/// # Errors
/// A side cannot load its tables; the user wants no more. What a side makes of a query is in its figure.
pub fn run(bench: &mut Bench<'_>, plan: &Plan) -> Result<()> {
    let scale = plan.scale;
    let tables: Vec<Loaded<'_>> = TABLES
        .iter()
        .map(|definition| Loaded {
            definition,
            row_count: row_count(definition.name, scale),
            rows: Box::new(move |visit| rows(definition.name, scale, visit)),
        })
        .collect();
    // Or its making would count as loading of the side that comes first.
    TextPool::get_or_init_default();
    bench.load(SECTION, &tables, plan.has_indexes, &Dialect::ALL)?;
    let variables = [("fraction", format!("{:.9}", 0.0001 / scale))];
    for number in &plan.queries {
        let queries = statements::parse(QUERY_FILE);
        if let Some(query) = queries.get(usize::from(*number).saturating_sub(1)) {
            bench.measure(SECTION, query, &variables, standard_answer(*number, scale))?;
        }
    }
    Ok(())
}

/// The answer that the standard prints for scale 1, as far as the crate has it whole: the keys of Q11 are cut after four characters.
fn standard_answer(number: u16, scale: f64) -> Option<Reference> {
    if number == 11 {
        return None;
    }
    let known = QueryAndAnswer::new(i32::from(number), scale).ok()?;
    let mut answer = Answer::default();
    for line in known.answer().trim().lines().skip(1) {
        answer.push(line.split('|').map(|cell| Some(printed(cell).to_owned())));
    }
    // It is rounded to cents.
    Some(Reference { answer, tolerance: Tolerance { relative: 1e-7, absolute: 0.0051 } })
}

/// What is printed in a cell: numbers stand on its right, texts begin on its left, if with blanks of their own.
fn printed(cell: &str) -> &str {
    let is_number = cell.trim().bytes().all(|byte| byte.is_ascii_digit() || b"+-.".contains(&byte));
    if is_number { cell.trim() } else { cell.trim_end() }
}

/// Rows of a table, for progress: LINEITEM's are about so many.
fn row_count(table: &str, scale: f64) -> u64 {
    let of_scale = |rows: f64| (rows * scale) as u64;
    match table {
        "region" => 5,
        "nation" => 25,
        "part" => of_scale(200_000.0),
        "supplier" => of_scale(10_000.0),
        "partsupp" => of_scale(800_000.0),
        "customer" => of_scale(150_000.0),
        "orders" => of_scale(1_500_000.0),
        _ => of_scale(6_001_215.0),
    }
}

/// Days from Firebird's first one to that of Unix.
const UNIX_EPOCH: i32 = 40_587;

/// Gives the rows of a table.
pub(super) fn rows(table: &str, scale: f64, visit: &mut Visitor<'_>) -> Result<()> {
    use Field::{Date, Integer, Money, Text};
    let [mut first, mut second, mut third] = [String::new(), String::new(), String::new()];
    match table {
        "region" => {
            for row in RegionGenerator::new(scale, 1, 1).iter() {
                visit(&[Integer(row.r_regionkey), Text(row.r_name), Text(row.r_comment)])?;
            }
        }
        "nation" => {
            for row in NationGenerator::new(scale, 1, 1).iter() {
                let (key, region) = (Integer(row.n_nationkey), Integer(row.n_regionkey));
                visit(&[key, Text(row.n_name), region, Text(row.n_comment)])?;
            }
        }
        "part" => {
            for row in PartGenerator::new(scale, 1, 1).iter() {
                visit(&[
                    Integer(row.p_partkey),
                    Text(written(&row.p_name, &mut first)),
                    Text(written(&row.p_mfgr, &mut second)),
                    Text(written(&row.p_brand, &mut third)),
                    Text(row.p_type),
                    Integer(i64::from(row.p_size)),
                    Text(row.p_container),
                    Money(row.p_retailprice.into_inner()),
                    Text(row.p_comment),
                ])?;
            }
        }
        "supplier" => {
            for row in SupplierGenerator::new(scale, 1, 1).iter() {
                visit(&[
                    Integer(row.s_suppkey),
                    Text(written(&row.s_name, &mut first)),
                    Text(written(&row.s_address, &mut second)),
                    Integer(row.s_nationkey),
                    Text(written(&row.s_phone, &mut third)),
                    Money(row.s_acctbal.into_inner()),
                    Text(&row.s_comment),
                ])?;
            }
        }
        "partsupp" => {
            for row in PartSuppGenerator::new(scale, 1, 1).iter() {
                visit(&[
                    Integer(row.ps_partkey),
                    Integer(row.ps_suppkey),
                    Integer(i64::from(row.ps_availqty)),
                    Money(row.ps_supplycost.into_inner()),
                    Text(row.ps_comment),
                ])?;
            }
        }
        "customer" => {
            for row in CustomerGenerator::new(scale, 1, 1).iter() {
                visit(&[
                    Integer(row.c_custkey),
                    Text(written(&row.c_name, &mut first)),
                    Text(written(&row.c_address, &mut second)),
                    Integer(row.c_nationkey),
                    Text(written(&row.c_phone, &mut third)),
                    Money(row.c_acctbal.into_inner()),
                    Text(row.c_mktsegment),
                    Text(row.c_comment),
                ])?;
            }
        }
        "orders" => {
            for row in OrderGenerator::new(scale, 1, 1).iter() {
                visit(&[
                    Integer(row.o_orderkey),
                    Integer(row.o_custkey),
                    Text(row.o_orderstatus.as_str()),
                    Money(row.o_totalprice.into_inner()),
                    Date(row.o_orderdate.to_unix_epoch() + UNIX_EPOCH),
                    Text(row.o_orderpriority),
                    Text(written(&row.o_clerk, &mut first)),
                    Integer(i64::from(row.o_shippriority)),
                    Text(row.o_comment),
                ])?;
            }
        }
        _ => {
            for row in LineItemGenerator::new(scale, 1, 1).iter() {
                visit(&[
                    Integer(row.l_orderkey),
                    Integer(row.l_partkey),
                    Integer(row.l_suppkey),
                    Integer(i64::from(row.l_linenumber)),
                    Money(row.l_quantity * 100),
                    Money(row.l_extendedprice.into_inner()),
                    Money(row.l_discount.into_inner()),
                    Money(row.l_tax.into_inner()),
                    Text(row.l_returnflag),
                    Text(row.l_linestatus),
                    Date(row.l_shipdate.to_unix_epoch() + UNIX_EPOCH),
                    Date(row.l_commitdate.to_unix_epoch() + UNIX_EPOCH),
                    Date(row.l_receiptdate.to_unix_epoch() + UNIX_EPOCH),
                    Text(row.l_shipinstruct),
                    Text(row.l_shipmode),
                    Text(row.l_comment),
                ])?;
            }
        }
    }
    Ok(())
}

/// The text of a generated value, in a buffer.
fn written<'b>(value: &impl Display, buffer: &'b mut String) -> &'b str {
    buffer.clear();
    // Writing to a String cannot fail.
    let _ = write!(buffer, "{value}");
    buffer
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows, and the sum of all integers and hundredths.
    fn counted(table: &str, scale: f64) -> (usize, i64) {
        let (mut count, mut sum) = (0, 0);
        let visited = rows(table, scale, &mut |row| {
            count += 1;
            sum += row
                .iter()
                .map(|field| match field {
                    Field::Integer(number) | Field::Money(number) => *number,
                    Field::Text(_) | Field::Date(_) => 0,
                })
                .sum::<i64>();
            Ok(())
        });
        visited.expect("rows");
        (count, sum)
    }

    #[test]
    fn tables_have_as_many_rows_as_the_standard_says() {
        let wanted = [
            ("region", 5),
            ("nation", 25),
            ("part", 2_000),
            ("supplier", 100),
            ("partsupp", 8_000),
            ("customer", 1_500),
            ("orders", 15_000),
            ("lineitem", 60_175),
        ];
        for (table, count) in wanted {
            assert_eq!(counted(table, 0.01).0, count, "{table}");
        }
    }

    #[test]
    fn rows_have_a_field_for_each_column() {
        for table in &TABLES {
            let visited = rows(table.name, 0.01, &mut |row| {
                assert_eq!(row.len(), table.columns.len(), "{}", table.name);
                Ok(())
            });
            visited.expect("rows");
        }
        let indexes: usize = TABLES.iter().map(|table| table.indexes.len()).sum();
        assert_eq!(indexes, 9);
    }

    #[test]
    fn there_are_all_queries_and_the_standard_knows_their_answers() {
        let queries = statements::parse(QUERY_FILE);
        assert_eq!(queries.len(), usize::from(QUERIES));
        for (number, query) in (1..).zip(&queries) {
            assert_eq!(query.name, format!("Q{number}"));
            match standard_answer(number, 1.0) {
                Some(reference) => assert!(!reference.answer.is_empty(), "Q{number}"),
                None => assert_eq!(number, 11),
            }
            assert!(standard_answer(number, 0.1).is_none());
        }
    }

    #[test]
    fn printed_answers_keep_the_blanks_of_texts_and_not_those_before_numbers() {
        let answer = standard_answer(2, 1.0).unwrap().answer;
        let rows: Vec<_> = answer.rows().map(<[Option<String>]>::to_vec).collect();
        let row = rows.iter().find(|row| row[1].as_deref() == Some("Supplier#000001013")).unwrap();
        assert_eq!(row[3].as_deref(), Some("125988"));
        assert!(row[7].as_deref().unwrap().starts_with(" busily bold"), "{row:?}");
        assert!(standard_answer(11, 1.0).is_none() && standard_answer(2, 0.1).is_none());
    }
}
