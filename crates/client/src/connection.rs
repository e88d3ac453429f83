//! A database attached through a server: transactions, statements, rows.

use farbird_types::{Error, Result, Value, isc};
use farbird_wire::clumplet::{ClumpletWriter, dpb};
use farbird_wire::counters::Counters;
use farbird_wire::info::{Continuation, InfoReader, Section, StatementInformation, database, sql};
use farbird_wire::packet::{
    Attach, BufferLength, Execute2, Information, Reply, Request, Response, StatementText,
};
use farbird_wire::protocol::{Handle, ProtocolVersion};

use crate::connect;
use crate::conversation::Ticket;
use crate::cursor::{Cursor, Rows};
use crate::error;
use crate::inline_blobs::InlineBlobs;
use crate::link::{Link, checked};
use crate::login::Login;
use crate::options::{ConnectOptions, CreateOptions, Location};
use crate::releases::{Release, Releases};
use crate::statement::{Counts, Statement};
use crate::transaction::{Isolation, Transaction, TransactionOptions};

/// What prepare is asked about a statement.
const PREPARE_ITEMS: &[u8] = &[
    sql::STMT_TYPE,
    sql::STMT_FLAGS,
    sql::SELECT,
    sql::DESCRIBE_VARS,
    sql::SQLDA_SEQ,
    sql::TYPE,
    sql::SUB_TYPE,
    sql::SCALE,
    sql::LENGTH,
    sql::FIELD,
    sql::RELATION,
    sql::ALIAS,
    sql::DESCRIBE_END,
    sql::BIND,
    sql::DESCRIBE_VARS,
    sql::SQLDA_SEQ,
    sql::TYPE,
    sql::SUB_TYPE,
    sql::SCALE,
    sql::LENGTH,
    sql::DESCRIBE_END,
];
/// What each variable of a truncated description is asked.
const VARIABLE_ITEMS: &[u8] = &[
    sql::DESCRIBE_VARS,
    sql::SQLDA_SEQ,
    sql::TYPE,
    sql::SUB_TYPE,
    sql::SCALE,
    sql::LENGTH,
    sql::FIELD,
    sql::RELATION,
    sql::ALIAS,
    sql::DESCRIBE_END,
];
/// Room for a description.
const DESCRIPTION_BYTES: BufferLength = BufferLength(32_000);
const SQL_DIALECT: u16 = 3;

/// A connection with its database.
///
/// Dropped, it is closed without a word; [`Connection::close`] takes leave.
#[derive(Debug)]
pub struct Connection {
    pub(crate) link: Link,
    pub(crate) inline_blobs: InlineBlobs,
    pub(crate) releases: Releases,
    inline_blob_bytes: u32,
    /// The start, under way, of what the next [`Connection::execute_and_commit`] runs in.
    next_transaction: Option<Ticket>,
}

impl Connection {
    /// Connects and attaches a database: `host/port:database`.
    ///
    /// # Round trips
    /// Four, or three if the line is not encrypted.
    ///
    /// # Errors
    /// `isc_network_error` if nobody answers, `isc_login` for a wrong password, what the server says of the database.
    pub fn attach(database: &str, options: &ConnectOptions) -> Result<Connection> {
        let location = Location::parse(database)?;
        Connection::open(&location, options, |file, parameters| {
            Request::Attach(Attach { database: Handle::NONE, file, parameters: parameters.into_bytes() })
        })
    }

    /// Connects, creates a database and attaches it.
    ///
    /// # Round trips
    /// As [`Connection::attach`].
    ///
    /// # Errors
    /// As [`Connection::attach`]; `isc_db_or_file_exists` if there is one and `overwrite` is not set.
    pub fn create(database: &str, create: &CreateOptions, options: &ConnectOptions) -> Result<Connection> {
        let location = Location::parse(database)?;
        Connection::open(&location, options, |file, mut parameters| {
            parameters.text(dpb::SET_DB_CHARSET, &create.character_set);
            parameters.integer(dpb::SET_DB_SQL_DIALECT, i32::from(SQL_DIALECT));
            parameters.bytes(dpb::OVERWRITE, &[u8::from(create.overwrite)]);
            if let Some(bytes) = create.page_size {
                parameters.bytes(dpb::PAGE_SIZE, &bytes.to_le_bytes());
            }
            if let Some(forced) = create.forced_writes {
                parameters.bytes(dpb::FORCE_WRITE, &[u8::from(forced)]);
            }
            Request::Create(Attach { database: Handle::NONE, file, parameters: parameters.into_bytes() })
        })
    }

    fn open(
        location: &Location,
        options: &ConnectOptions,
        request: impl FnOnce(Vec<u8>, ClumpletWriter) -> Request,
    ) -> Result<Connection> {
        let Location { host, port, database } = location;
        let (mut link, login) = connect::log_in(host, *port, database, options)?;
        let parameters = attach_parameters(options, login.as_ref());
        let request = request(database.clone().into_bytes(), parameters);
        connect::attach(&mut link, login, &request)?;
        Ok(Connection {
            link,
            inline_blobs: InlineBlobs::default(),
            releases: Releases::default(),
            inline_blob_bytes: options.inline_blob_bytes,
            next_transaction: None,
        })
    }

    /// Takes leave. Transactions that run are rolled back by the server.
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says.
    pub fn close(mut self) -> Result<()> {
        self.finish_autocommit()?;
        self.ask(&Request::Detach(Handle::NONE))?;
        self.leave()
    }

    /// Drops the database and takes leave.
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// `isc_obj_in_use` while others are attached.
    pub fn drop_database(mut self) -> Result<()> {
        self.finish_autocommit()?;
        self.ask(&Request::DropDatabase(Handle::NONE))?;
        self.leave()
    }

    fn leave(&mut self) -> Result<()> {
        self.link.send_and_forget(&Request::Disconnect)?;
        self.link.flush()
    }

    /// The protocol in use.
    pub fn version(&self) -> ProtocolVersion {
        self.link.conversation_ref().version()
    }

    /// Packets, bytes and round trips since the first byte.
    pub fn counters(&self) -> &Counters {
        self.link.conversation_ref().counters()
    }

    /// The server's version as it tells it, such as `LI-V4.0.5.3140 Firebird 4.0`.
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says.
    pub fn server_version(&mut self) -> Result<String> {
        let reply = self.database_information(&[database::FIREBIRD_VERSION])?;
        let item = InfoReader::new(&reply).next().transpose().map_err(|error| error::broken(&error))?;
        // Behind a count come texts behind their lengths; the first is the engine's.
        let text = item.and_then(|item| {
            let length = usize::from(*item.value.get(1)?);
            item.value.get(2..2 + length)
        });
        Ok(text.map(|text| String::from_utf8_lossy(text).into_owned()).unwrap_or_default())
    }

    /// Asks about the database: items of `isc_info_*`, answered as `farbird_wire::info::InfoReader` reads it.
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says.
    pub fn database_information(&mut self, items: &[u8]) -> Result<Vec<u8>> {
        let request = Request::DatabaseInformation(information(Handle::NONE, items.to_vec()));
        Ok(self.ask(&request)?.data)
    }

    /// Whether the server is there.
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// It is not.
    pub fn ping(&mut self) -> Result<()> {
        self.ask(&Request::Ping).map(|_| ())
    }

    /// Starts a transaction.
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says.
    pub fn begin(&mut self, options: &TransactionOptions) -> Result<Transaction> {
        let request = start_request(options);
        let response = self.ask(&request)?;
        Ok(Transaction::new(response.object, &self.releases))
    }

    /// Commits.
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says; the transaction is then rolled back.
    pub fn commit(&mut self, transaction: Transaction) -> Result<()> {
        self.ask(&Request::Commit(transaction.handle()))?;
        self.inline_blobs.forget(transaction.handle());
        transaction.forget();
        Ok(())
    }

    /// Rolls back. (A transaction that is dropped is rolled back as well, without waiting.)
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says.
    pub fn rollback(&mut self, transaction: Transaction) -> Result<()> {
        self.ask(&Request::Rollback(transaction.handle()))?;
        self.inline_blobs.forget(transaction.handle());
        transaction.forget();
        Ok(())
    }

    /// Commits and goes on in the same transaction, which keeps its cursors.
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says.
    pub fn commit_retaining(&mut self, transaction: &Transaction) -> Result<()> {
        self.ask(&Request::CommitRetaining(transaction.handle())).map(|_| ())
    }

    /// Prepares a statement.
    ///
    /// # Round trips
    /// One; one more for each 32,000 bytes of description of a very wide statement.
    ///
    /// # Errors
    /// What the server says of the text.
    pub fn prepare(&mut self, transaction: &Transaction, text: &str) -> Result<Statement> {
        self.send_releases()?;
        let allocate = self.link.send(&Request::AllocateStatement(Handle::NONE))?;
        let prepare = self.link.send(&Request::Prepare(statement_text(
            transaction,
            Handle::LATEST,
            text,
            PREPARE_ITEMS,
        )))?;
        let (allocated, prepared) = (self.link.response(allocate), self.link.response(prepare));
        let handle = allocated?.object;
        match prepared.and_then(|response| self.describe(handle, &response)) {
            Ok(statement) => Ok(statement),
            Err(error) => {
                let option = farbird_wire::protocol::free_statement::DROP;
                self.releases.add(Request::FreeStatement { statement: handle, option });
                Err(error)
            }
        }
    }

    fn describe(&mut self, handle: Handle, response: &Response) -> Result<Statement> {
        let mut description = StatementInformation::default();
        let read = |description: &mut StatementInformation, data: &[u8]| {
            description.read(data).map_err(|error| error::broken(&error))
        };
        let mut missing = read(&mut description, &response.data)?;
        let mut last = None;
        while let Some(from) = missing {
            if last == Some(from) {
                return Err(
                    Error::new(isc::RANDOM).with("a column's description is longer than 32,000 bytes")
                );
            }
            last = Some(from);
            let request = Request::StatementInformation(information(handle, continuation_items(from)));
            let more = self.ask(&request)?;
            missing = read(&mut description, &more.data)?;
            // What is described comes in the order of the sections: behind the columns the parameters.
            if missing.is_none() && from.section == Section::Outputs {
                let from = Continuation { section: Section::Inputs, from: 1 };
                missing = description.inputs.is_empty().then_some(from).filter(|_| last != Some(from));
            }
        }
        Statement::new(handle, response.object.0, description, self.version(), &self.releases)
    }

    /// Runs a statement without parameters and without rows, such as DDL.
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says.
    pub fn run(&mut self, transaction: &Transaction, text: &str) -> Result<()> {
        let request = Request::ExecuteImmediate(statement_text(transaction, Handle::NONE, text, &[]));
        self.ask(&request).map(|_| ())
    }

    /// Executes a prepared statement to its end. Gives the row of statements that give one (EXECUTE PROCEDURE,
    /// RETURNING); of a query the first one.
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says; `isc_dsql_sqlda_err` for values that are not as many as the parameters.
    pub fn execute(
        &mut self,
        transaction: &Transaction,
        statement: &Statement,
        parameters: &[Value],
    ) -> Result<Option<Vec<Value>>> {
        if statement.has_cursor() {
            let mut cursor = self.open_cursor(transaction, statement, parameters)?;
            return self.fetch(&mut cursor);
        }
        self.send_releases()?;
        let ticket = self.send_execute(transaction.handle(), statement, parameters)?;
        self.executed(ticket, transaction.handle())
    }

    /// Queues op_execute, or op_execute2 if there is a row to come.
    pub(crate) fn send_execute(
        &mut self,
        transaction: Handle,
        statement: &Statement,
        parameters: &[Value],
    ) -> Result<Ticket> {
        let execute = statement.execute(transaction, parameters, self.version(), self.inline_blob_bytes)?;
        if statement.columns().is_empty() || statement.has_cursor() {
            self.link.send(&Request::Execute(execute))
        } else {
            self.link.send(&Request::Execute2(Execute2 { execute, output: statement.output() }))
        }
    }

    /// Waits for the end of an execute; gives its row.
    pub(crate) fn executed(&mut self, ticket: Ticket, transaction: Handle) -> Result<Option<Vec<Value>>> {
        let mut row = None;
        loop {
            match self.link.next(ticket)? {
                Reply::InlineBlob(blob) => self.inline_blobs.keep(transaction, blob),
                Reply::SqlResponse(response) => {
                    let values = response.message.map(|message| message.values()).transpose();
                    row = values.map_err(|error| error::broken(&error))?;
                }
                Reply::Response(response) => return checked(response).map(|_| row),
                _ => return Err(error::unexpected("op_execute")),
            }
        }
    }

    /// Executes a statement in a transaction of its own and commits it: the execute, the commit and the start of the
    /// next such transaction travel together. Those transactions are READ COMMITTED.
    ///
    /// # Round trips
    /// One; the first time two.
    ///
    /// # Errors
    /// What the server says, of the statement (nothing is then changed) or of the commit.
    pub fn execute_and_commit(
        &mut self,
        statement: &Statement,
        parameters: &[Value],
    ) -> Result<Option<Vec<Value>>> {
        let options =
            TransactionOptions { isolation: Isolation::ReadCommitted, ..TransactionOptions::default() };
        let transaction = match self.started_transaction()? {
            Some(transaction) => transaction,
            None => self.begin(&options)?,
        };
        self.send_releases()?;
        let execute = self.send_execute(transaction.handle(), statement, parameters)?;
        let commit = self.link.send(&Request::Commit(transaction.handle()))?;
        self.next_transaction = Some(self.link.send(&start_request(&options))?);
        let row = self.executed(execute, transaction.handle());
        self.inline_blobs.forget(transaction.handle());
        self.link.response(commit)?;
        transaction.forget();
        row
    }

    /// The transaction that was started in advance.
    fn started_transaction(&mut self) -> Result<Option<Transaction>> {
        let Some(start) = self.next_transaction.take() else { return Ok(None) };
        let response = self.link.response(start)?;
        Ok(Some(Transaction::new(response.object, &self.releases)))
    }

    /// Ends the transaction that was started in advance.
    fn finish_autocommit(&mut self) -> Result<()> {
        let transaction = self.started_transaction()?;
        drop(transaction);
        self.send_releases()
    }

    /// Executes a query and opens its cursor, asking for the first rows at once. Several cursors may be open; fetch
    /// from them in any order.
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says.
    pub fn open_cursor(
        &mut self,
        transaction: &Transaction,
        statement: &Statement,
        parameters: &[Value],
    ) -> Result<Cursor> {
        self.send_releases()?;
        let execute = self.send_execute(transaction.handle(), statement, parameters)?;
        let mut cursor = Cursor::new(transaction.handle(), statement, self.version(), &self.releases);
        cursor.ask(&mut self.link)?;
        match self.link.response(execute) {
            Ok(_) => Ok(cursor),
            Err(error) => {
                cursor.was_not_opened();
                Err(error)
            }
        }
    }

    /// The next row of a cursor; `None` at its end.
    ///
    /// # Round trips
    /// None while rows read ahead are there; one per batch (up to 1,000 rows) if the reader is faster than the line.
    ///
    /// # Errors
    /// What the server says; rows before the failure have been given.
    pub fn fetch(&mut self, cursor: &mut Cursor) -> Result<Option<Vec<Value>>> {
        cursor.next_row(&mut self.link, &mut self.inline_blobs)
    }

    /// Executes a query; gives its rows one by one.
    ///
    /// # Round trips
    /// As [`Connection::open_cursor`] and [`Connection::fetch`].
    ///
    /// # Errors
    /// What the server says.
    pub fn query(
        &mut self,
        transaction: &Transaction,
        statement: &Statement,
        parameters: &[Value],
    ) -> Result<Rows<'_>> {
        let cursor = self.open_cursor(transaction, statement, parameters)?;
        Ok(Rows { connection: self, cursor })
    }

    /// Prepares a query without parameters and gives all its rows.
    ///
    /// # Round trips
    /// Two for few rows.
    ///
    /// # Errors
    /// What the server says.
    pub fn query_all(&mut self, transaction: &Transaction, text: &str) -> Result<Vec<Vec<Value>>> {
        let statement = self.prepare(transaction, text)?;
        self.query(transaction, &statement, &[])?.collect()
    }

    /// How many rows the last execution of a statement touched.
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says.
    pub fn counts(&mut self, statement: &Statement) -> Result<Counts> {
        let reply = self.statement_information(statement, &[sql::RECORDS])?;
        Ok(reply.records.unwrap_or_default().into())
    }

    /// The access plan of a statement, as `SET PLAN` shows it.
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says.
    pub fn plan(&mut self, statement: &Statement) -> Result<String> {
        let reply = self.statement_information(statement, &[sql::GET_PLAN])?;
        let plan = reply.plan.unwrap_or_default();
        Ok(String::from_utf8_lossy(&plan).trim().to_owned())
    }

    fn statement_information(&mut self, statement: &Statement, items: &[u8]) -> Result<StatementInformation> {
        let request = Request::StatementInformation(information(statement.handle(), items.to_vec()));
        let response = self.ask(&request)?;
        let mut description = StatementInformation::default();
        description.read(&response.data).map_err(|error| error::broken(&error))?;
        Ok(description)
    }

    /// Asks and waits, telling the server what was dropped before.
    pub(crate) fn ask(&mut self, request: &Request) -> Result<Response> {
        self.send_releases()?;
        self.link.ask(request)
    }

    /// Queues what was dropped.
    pub(crate) fn send_releases(&mut self) -> Result<()> {
        for release in self.releases.take() {
            match release {
                Release::Request(request) => {
                    if let Request::Rollback(transaction) = request {
                        self.inline_blobs.forget(transaction);
                    }
                    self.link.send_and_forget(&request)?;
                }
                Release::Abandon(ticket) => self.link.abandon(ticket),
            }
        }
        Ok(())
    }
}

/// What an attach tells of the client.
fn attach_parameters(options: &ConnectOptions, login: Option<&Login<'_>>) -> ClumpletWriter {
    // Values beyond 255 bytes, such as long paths of programs and keys, need the second version.
    let mut items = ClumpletWriter::wide_dpb();
    items.text(dpb::LC_CTYPE, "UTF8").flag(dpb::UTF8_FILENAME);
    items.bytes(dpb::SQL_DIALECT, &[3]);
    items.text(dpb::USER_NAME, &options.user);
    if let Some(role) = &options.role {
        items.text(dpb::SQL_ROLE_NAME, role);
    }
    items.bytes(dpb::PROCESS_ID, &std::process::id().to_le_bytes());
    items.text(dpb::PROCESS_NAME, &options.program);
    items.text(dpb::CLIENT_VERSION, concat!("farbird-client ", env!("CARGO_PKG_VERSION")));
    if let Some(login) = login {
        login.attach_items(&mut items);
    }
    items
}

fn start_request(options: &TransactionOptions) -> Request {
    Request::StartTransaction { database: Handle::NONE, tpb: options.to_tpb() }
}

fn statement_text(transaction: &Transaction, statement: Handle, text: &str, items: &[u8]) -> StatementText {
    StatementText {
        transaction: transaction.handle(),
        statement,
        dialect: SQL_DIALECT,
        sql: text.as_bytes().to_vec(),
        items: items.to_vec(),
        buffer_length: DESCRIPTION_BYTES,
        flags: 0,
    }
}

fn information(object: Handle, items: Vec<u8>) -> Information {
    Information { object, incarnation: 0, items, buffer_length: DESCRIPTION_BYTES }
}

/// Items that go on with a truncated description.
fn continuation_items(from: Continuation) -> Vec<u8> {
    let section = match from.section {
        Section::Inputs => sql::BIND,
        Section::Outputs => sql::SELECT,
    };
    let [low, high, ..] = from.from.to_le_bytes();
    [&[section, sql::SQLDA_START, 2, low, high], VARIABLE_ITEMS].concat()
}
