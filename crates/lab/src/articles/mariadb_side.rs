//! MariaDB beside: the same rows through its own client program, which must be installed.
//!
//! A driver crate for it would bring two dozen others for one experiment. The program keeps its connection, is fed with
//! statements through a pipe, and hands on rows as they come (`--quick`), a line for each.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::customers::{self, Dialect};
use super::{Observer, go_on};
use crate::{Failure, Result};

/// The names of the program, newest first.
const PROGRAMS: [&str; 2] = ["mariadb", "mysql"];
const DEFAULT_PORT: u16 = 3306;

/// A MariaDB server, with a database made for the experiments.
pub struct MariaDbServer {
    program: &'static str,
    address: (String, u16),
    user: String,
    password: String,
    database: String,
    /// `MariaDB 10.11.19`.
    pub name: String,
}

impl MariaDbServer {
    /// Makes a database on the server of `url`: `mariadb://user:password@host:port`, of which password and port may be
    /// missing.
    ///
    /// # Errors
    /// That the client program is missing; what the server says.
    pub fn create(url: &str) -> Result<MariaDbServer> {
        let usage = || Failure::Other(format!("{url} is not mariadb://user:password@host:port"));
        let rest =
            url.strip_prefix("mariadb://").or_else(|| url.strip_prefix("mysql://")).ok_or_else(usage)?;
        let (user, host) = rest.trim_end_matches('/').rsplit_once('@').ok_or_else(usage)?;
        let (user, password) = user.split_once(':').unwrap_or((user, ""));
        let (host, port) = match host.rsplit_once(':') {
            Some((host, port)) => (host, port.parse().map_err(|_| usage())?),
            None => (host, DEFAULT_PORT),
        };
        let is_there = |program: &&str| Command::new(program).arg("--version").output().is_ok();
        let program = PROGRAMS.into_iter().find(is_there);
        let program = program.ok_or_else(|| {
            Failure::Other("MariaDB's client program, mariadb, is not installed".to_owned())
        })?;
        let mut server = MariaDbServer {
            program,
            address: (host.to_owned(), port),
            user: user.to_owned(),
            password: password.to_owned(),
            database: String::new(),
            name: String::new(),
        };
        let version = server.run("select version()", None)?;
        let number = version.split('-').next().unwrap_or_default().trim();
        let system = if version.contains("MariaDB") { "MariaDB" } else { "MySQL" };
        server.name = format!("{system} {number}");
        let database = format!("farbird_articles_{}", std::process::id());
        server.run(&format!("create database {database} character set utf8mb4"), None)?;
        server.database = database;
        Ok(server)
    }

    /// Host and port, for a line to it.
    pub(super) fn address(&self) -> &(String, u16) {
        &self.address
    }

    fn client(&self, (host, port): &(String, u16)) -> Command {
        let mut command = Command::new(self.program);
        command.args(["--no-defaults", "--protocol=tcp", "--batch", "--skip-column-names", "--quick"]);
        command.args(["--unbuffered", "--local-infile=1", "--default-character-set=utf8mb4"]);
        command.args(["-h", host, "-P", &port.to_string(), "-u", &self.user]);
        if !self.database.is_empty() {
            command.args(["-D", &self.database]);
        }
        command.env("MYSQL_PWD", &self.password);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs statements; `input` is what they read from the program's standard input. Gives what they print.
    fn run(&self, sql: &str, input: Option<&[u8]>) -> Result<String> {
        let mut child = self.client(&self.address).args(["-e", sql]).spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(input.unwrap_or_default())?;
        }
        let mut printed = String::new();
        if let Some(stdout) = &mut child.stdout {
            stdout.read_to_string(&mut printed)?;
        }
        finish(child)?;
        Ok(printed)
    }

    pub(super) fn load_customers(
        &mut self,
        table: &str,
        rows: u64,
        half_null: bool,
        observer: &mut dyn Observer,
    ) -> Result<()> {
        self.run(&customers::create_table(table, Dialect::MariaDb), None)?;
        let mut lines = String::new();
        for index in 0..rows {
            for (column, field) in customers::row(index, half_null).iter().enumerate() {
                if column > 0 {
                    lines.push('\t');
                }
                field.write_copy(&mut lines);
            }
            lines.push('\n');
            observer.advance(1);
            go_on(observer)?;
        }
        self.run(&format!("load data local infile '/dev/stdin' into table {table}"), Some(lines.as_bytes()))?;
        let loaded = self.run(&format!("select count(*) from {table}"), None)?;
        match loaded.trim() == rows.to_string() {
            true => Ok(()),
            false => Err(Failure::Other(format!("{} of {rows} rows were loaded", loaded.trim()))),
        }
    }

    pub(super) fn load_numbers(&mut self, table: &str, rows: u64) -> Result<()> {
        let sql = format!(
            "create table {table} (a integer); insert into {table} with recursive s as \
             (select 1 as n union all select n + 1 from s where n < {rows}) select n from s"
        );
        self.run(&format!("set max_recursive_iterations = {}; {sql}", u32::MAX), None)?;
        Ok(())
    }

    /// Reads so many rows of a query over a line to this address; gives how many there were, with `numbers` the sum of
    /// their one column, and how long it took from sending the query to the last row.
    pub(super) fn read_rows(
        &self,
        address: &(String, u16),
        sql: &str,
        most: u64,
        numbers: bool,
        observer: &mut dyn Observer,
    ) -> Result<(u64, i64, Duration)> {
        let mut child = self.client(address).spawn()?;
        let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Failure::Other("the client program has no pipes".to_owned()));
        };
        let mut rows = BufReader::with_capacity(1 << 16, stdout);
        let mut row = Vec::new();
        // Once it answers it is connected.
        writeln!(stdin, "select 1;")?;
        stdin.flush()?;
        rows.read_until(b'\n', &mut row)?;
        let start = Instant::now();
        writeln!(stdin, "{sql};")?;
        drop(stdin);
        let (mut count, mut sum) = (0, 0);
        while count < most {
            row.clear();
            if rows.read_until(b'\n', &mut row)? == 0 {
                break;
            }
            if numbers {
                let number =
                    std::str::from_utf8(&row).ok().and_then(|text| text.trim_end().parse::<i64>().ok());
                sum += number.ok_or_else(|| Failure::Other("a row is no number".to_owned()))?;
            }
            count += 1;
            if count % 1_024 == 0 {
                observer.advance(1_024);
                go_on(observer)?;
            }
        }
        let elapsed = start.elapsed();
        observer.advance(count % 1_024);
        if count < most {
            finish(child)?;
        } else {
            // As the others it is left in the middle, if there are more.
            child.kill()?;
            child.wait()?;
        }
        Ok((count, sum, elapsed))
    }

    /// Drops the database.
    ///
    /// # Errors
    /// What the server says.
    pub fn remove(self) -> Result<()> {
        self.run(&format!("drop database {}", self.database), None).map(|_| ())
    }
}

/// Waits for the program's end.
fn finish(child: Child) -> Result<()> {
    let output = child.wait_with_output()?;
    match output.status.success() {
        true => Ok(()),
        false => Err(Failure::Other(String::from_utf8_lossy(&output.stderr).trim().to_owned())),
    }
}
