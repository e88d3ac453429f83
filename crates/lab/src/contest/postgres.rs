//! PostgreSQL.

use std::time::{Duration, Instant};

use postgres::{Client, Config, NoTls, Statement};

use super::side::{
    About, Committer, Dialect, Failure, LoadWay, LoadedRow, PointReader, Result, Session, Side,
};

/// A PostgreSQL server, with a database made for the contest.
pub struct PostgresSide {
    /// Connection to the database that was named, from which ours is made and dropped.
    maintenance: Client,
    config: Config,
    name: String,
    client: Client,
}

impl PostgresSide {
    /// Makes a database beside the one that `url` names (`postgres://user@host/database`).
    ///
    /// # Errors
    /// [`Failure`].
    pub fn create(url: &str) -> Result<PostgresSide> {
        let mut config: Config = url.parse()?;
        let mut maintenance = config.connect(NoTls)?;
        let name = format!("farbird_bench_{}", std::process::id());
        maintenance.batch_execute(&format!("create database {name}"))?;
        config.dbname(&name);
        let client = config.connect(NoTls)?;
        Ok(PostgresSide { maintenance, config, name, client })
    }

    fn setting(&mut self, name: &str) -> Result<String> {
        Ok(self.client.query_one("select current_setting($1)", &[&name])?.try_get(0)?)
    }
}

impl Side for PostgresSide {
    fn about(&mut self) -> Result<About> {
        let version = self.setting("server_version")?;
        let (fsync, commit) = (self.setting("fsync")?, self.setting("synchronous_commit")?);
        let waits = match fsync == "on" && commit != "off" {
            true => "each commit waits for the disk",
            false => "COMMITS DO NOT WAIT FOR THE DISK",
        };
        let durability = format!("fsync {fsync}, synchronous_commit {commit}: {waits}");
        Ok(About { version: format!("PostgreSQL {version}"), durability })
    }

    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    fn run(&mut self, sql: &str) -> Result<()> {
        Ok(self.client.batch_execute(sql)?)
    }

    fn integer(&mut self, sql: &str) -> Result<i64> {
        // A sum of integers is a numeric here, which needs its own library: let the server make it a bigint.
        let sql = format!("select cast(n as bigint) from ({sql}) as q (n)");
        Ok(self.client.query_one(&sql, &[])?.try_get(0)?)
    }

    fn bytes_on_disk(&mut self) -> Result<u64> {
        let bytes = self.integer(
            "select coalesce(sum(pg_total_relation_size(oid)), 0) from pg_class \
             where relkind = 'r' and relnamespace = 'public'::regnamespace",
        )?;
        Ok(u64::try_from(bytes).unwrap_or_default())
    }

    fn settle(&mut self) -> Result<()> {
        self.run("vacuum analyze")
    }

    fn connect(&self) -> Result<Box<dyn Session>> {
        Ok(Box::new(PostgresSession { client: self.config.connect(NoTls)? }))
    }

    fn remove(self: Box<Self>) -> Result<()> {
        let PostgresSide { mut maintenance, client, name, .. } = *self;
        client.close()?;
        Ok(maintenance.batch_execute(&format!("drop database {name} with (force)"))?)
    }
}

struct PostgresSession {
    client: Client,
}

impl PostgresSession {
    /// Firebird's `?` are `$1`, `$2` ... here.
    fn prepare(&mut self, sql: &str) -> Result<Statement> {
        let mut text = String::new();
        let mut parts = sql.split('?');
        text.push_str(parts.next().unwrap_or_default());
        for (number, part) in (1..).zip(parts) {
            text.push_str(&format!("${number}{part}"));
        }
        Ok(self.client.prepare(&text)?)
    }
}

impl Session for PostgresSession {
    fn point_reader<'s>(&'s mut self, sql: &str) -> Result<PointReader<'s>> {
        let statement = self.prepare(sql)?;
        Ok(Box::new(move |id| Ok(self.client.query_one(&statement, &[&id])?.try_get(0)?)))
    }

    fn committer<'s>(&'s mut self, sql: &str) -> Result<Committer<'s>> {
        let statement = self.prepare(sql)?;
        Ok(Box::new(move |first, second| match self.client.execute(&statement, &[&first, &second])? {
            1 => Ok(()),
            other => Err(Failure::Other(format!("an INSERT of one row inserted {other}"))),
        }))
    }

    fn load(&mut self, sql: &str, rows: i32, way: LoadWay) -> Result<Option<Duration>> {
        if way == LoadWay::Batch {
            return Ok(None);
        }
        let statement = self.prepare(sql)?;
        let start = Instant::now();
        let mut transaction = self.client.transaction()?;
        for id in 0..rows {
            let LoadedRow { id, name, amount } = LoadedRow::new(id);
            transaction.execute(&statement, &[&id, &name, &amount])?;
        }
        transaction.commit()?;
        Ok(Some(start.elapsed()))
    }
}
