//! PostgreSQL beside: the same rows through the driver that Rust programs use.

use std::io::Write;

use postgres::fallible_iterator::FallibleIterator;
use postgres::{Client, Config, NoTls};

use super::customers::{self, Dialect};
use super::{Observer, go_on};
use crate::Result;

/// A PostgreSQL server, with a database made for the experiments.
pub struct PostgresServer {
    /// Connection to the database that was named, from which ours is made and dropped.
    maintenance: Client,
    config: Config,
    database: String,
    /// `PostgreSQL 15.18`.
    pub name: String,
}

impl PostgresServer {
    /// Makes a database beside the one that `url` names (`postgres://user@host/database`).
    ///
    /// # Errors
    /// What the server says.
    pub fn create(url: &str) -> Result<PostgresServer> {
        let mut config: Config = url.parse()?;
        let mut maintenance = config.connect(NoTls)?;
        let version: String =
            maintenance.query_one("select current_setting('server_version')", &[])?.try_get(0)?;
        let number = version.split(' ').next().unwrap_or_default();
        let name = format!("PostgreSQL {number}");
        let database = format!("farbird_articles_{}", std::process::id());
        maintenance.batch_execute(&format!("create database {database}"))?;
        config.dbname(&database);
        Ok(PostgresServer { maintenance, config, database, name })
    }

    /// Host and port, for a line to it.
    pub(super) fn address(&self) -> (String, u16) {
        let host = self.config.get_hosts().first().map_or_else(
            || "127.0.0.1".to_owned(),
            |host| match host {
                postgres::config::Host::Tcp(name) => name.clone(),
                // A socket of the file system has no line: the server listens beside it.
                #[cfg(unix)]
                postgres::config::Host::Unix(_) => "127.0.0.1".to_owned(),
            },
        );
        (host, self.config.get_ports().first().copied().unwrap_or(5432))
    }

    /// Connects through an address; `None`: as the URL said.
    pub(super) fn connect(&self, address: Option<(String, u16)>) -> Result<Client> {
        let Some((host, port)) = address else { return Ok(self.config.connect(NoTls)?) };
        let mut config = Config::new();
        config.host(&host).port(port).dbname(&self.database);
        if let Some(user) = self.config.get_user() {
            config.user(user);
        }
        if let Some(password) = self.config.get_password() {
            config.password(password);
        }
        Ok(config.connect(NoTls)?)
    }

    pub(super) fn load_customers(
        &mut self,
        table: &str,
        rows: u64,
        half_null: bool,
        observer: &mut dyn Observer,
    ) -> Result<()> {
        let mut client = self.connect(None)?;
        client.batch_execute(&customers::create_table(table, Dialect::Postgres))?;
        let mut copy = client.copy_in(&format!("COPY {table} FROM STDIN"))?;
        let mut line = String::new();
        for index in 0..rows {
            line.clear();
            for (column, field) in customers::row(index, half_null).iter().enumerate() {
                if column > 0 {
                    line.push('\t');
                }
                field.write_copy(&mut line);
            }
            line.push('\n');
            copy.write_all(line.as_bytes())?;
            observer.advance(1);
            go_on(observer)?;
        }
        copy.finish()?;
        Ok(client.batch_execute("vacuum analyze")?)
    }

    pub(super) fn load_numbers(&mut self, table: &str, rows: u64) -> Result<()> {
        let mut client = self.connect(None)?;
        let sql = format!(
            "create table {table} (a integer); insert into {table} select n from generate_series(1, {rows}) as s (n)"
        );
        client.batch_execute(&sql)?;
        Ok(client.batch_execute("vacuum analyze")?)
    }

    /// Drops the database.
    ///
    /// # Errors
    /// What the server says.
    pub fn remove(mut self) -> Result<()> {
        let database = &self.database;
        Ok(self.maintenance.batch_execute(&format!("drop database {database} with (force)"))?)
    }
}

/// Reads so many rows of a query; gives how many there were, and with `numbers` the sum of their one column.
pub(super) fn read_rows(
    client: &mut Client,
    sql: &str,
    most: u64,
    numbers: bool,
    observer: &mut dyn Observer,
) -> Result<(u64, i64)> {
    let statement = client.prepare(sql)?;
    let mut rows = client.query_raw(&statement, std::iter::empty::<i32>())?;
    let (mut count, mut sum) = (0, 0);
    while count < most
        && let Some(row) = rows.next()?
    {
        if numbers {
            sum += i64::from(row.try_get::<_, i32>(0)?);
        }
        count += 1;
        if count % 1_024 == 0 {
            observer.advance(1_024);
            go_on(observer)?;
        }
    }
    observer.advance(count % 1_024);
    Ok((count, sum))
}
