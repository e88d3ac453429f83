//! A database in ten lines: `cargo run --example ten_lines`.

fn main() -> farbird::Result<()> {
    let connection = farbird::Database::open_or_create("app.fbd")?.connect()?;
    connection.execute("recreate table person (id int primary key, name varchar(40))", ())?;
    let mut insert = connection.prepare("insert into person values (?, ?)")?;
    for (id, name) in [(1, "Ada"), (2, "Grace"), (3, "Edsger")] {
        insert.execute(&connection, (id, name))?;
    }
    for row in connection.query("select id, name from person where id > ?", (1,))? {
        println!("{}", row?.get::<String>("NAME")?);
    }
    Ok(())
}
