//! A report: for each table its columns and its indices, by queries nested in a query.
//!
//! The inner queries of one table are asked for together, so that a table costs one round trip and not two; a statement is
//! prepared once.

mod common;

use farbird_client::Result;

fn main() -> Result<()> {
    let connection = common::attach()?;
    let transaction = connection.begin(&Default::default())?;
    let texts = [
        "select trim(rdb$relation_name) from rdb$relations where rdb$system_flag = 1 order by 1",
        "select trim(rdb$field_name) from rdb$relation_fields where rdb$relation_name = ? order by rdb$field_position",
        "select trim(rdb$index_name) from rdb$indices where rdb$relation_name = ? order by 1",
    ];
    let statements = connection.prepare_all(&transaction, &texts)?;
    let [tables, columns, indices] = &statements[..] else { unreachable!("as many as texts") };
    for table in connection.query(&transaction, tables, ())? {
        let table = table?;
        let name: &str = table.get(0)?;
        // Neither waits: the first row of either brings the rows of both.
        let columns = connection.query(&transaction, columns, (name,))?;
        let indices = connection.query(&transaction, indices, (name,))?;
        println!("{name}");
        for column in columns {
            println!("    {}", column?.get::<&str>(0)?);
        }
        for index in indices {
            println!("    index {}", index?.get::<&str>(0)?);
        }
    }
    connection.commit(transaction)?;
    println!("{} round trips", connection.counters().round_trips);
    connection.close()
}
