//! A database attached through a server: attaching, taking leave, transactions, questions about the database.
//!
//! What is done with statements is in [`crate::prepare`] and [`crate::execute`], BLOBs in [`crate::blob`].

use std::ops::Deref;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};

use farbird_types::{CharacterSet, Error, Result, isc};
use farbird_wire::clumplet::{ClumpletWriter, dpb};
use farbird_wire::counters::Counters;
use farbird_wire::info::{InfoReader, InfoWriter, common, database};
use farbird_wire::packet::{Attach, BufferLength, Information, Request, Response};
use farbird_wire::protocol::{Handle, ProtocolVersion};

use crate::character_set;
use crate::connect;
use crate::core::{FlightRecord, Question, Shared};
use crate::error;
use crate::login::Login;
use crate::machine;
use crate::options::{ConnectOptions, CreateOptions};
use crate::statement_cache::StatementCache;
use crate::transaction::Transaction;
use crate::transaction_options::TransactionOptions;

/// Room for an answer of information.
pub(crate) const INFORMATION_BYTES: BufferLength = BufferLength(32_000);

/// A connection with its database. Clones of it are the same connection.
///
/// All calls take `&self`, and any number of them may be under way: what is asked while others wait leaves together.
/// When the connection and everything that was made on it are dropped, it is closed without a word;
/// [`Connection::close`] takes leave.
#[derive(Debug, Clone)]
pub struct Connection {
    pub(crate) shared: Shared,
    pub(crate) session: Arc<Session>,
}

/// What a connection knows besides its core.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) inline_blob_bytes: u32,
    pub(crate) character_set: CharacterSet,
    /// SQL dialect of the texts that are sent.
    pub(crate) dialect: AtomicU8,
    pub(crate) statements: Mutex<StatementCache>,
}

impl Connection {
    /// Attaches a database on a connection whose bytes are moved by a driver of the caller's: see [`crate::core`].
    /// `database` is the path or alias, as the server knows it.
    ///
    /// # Round trips
    /// Four, or two if the line is not encrypted; one more for each authentication plugin that the server does not know.
    ///
    /// # Errors
    /// `isc_login` for a wrong password, what the server says of the database.
    pub async fn attach_over(
        shared: &Shared,
        database: &str,
        options: &ConnectOptions,
    ) -> Result<Connection> {
        Connection::connect_over(shared, database, options).await?.attached().await
    }

    /// As [`Connection::attach_over`], but gives the connection as soon as the attach is on its way: see [`Connector`].
    ///
    /// # Round trips
    /// Three, or two if the line is not encrypted.
    ///
    /// # Errors
    /// `isc_login` for a wrong password. What the server says of the database comes with [`Connector::attached`].
    pub async fn connect_over(
        shared: &Shared,
        database: &str,
        options: &ConnectOptions,
    ) -> Result<Connector> {
        Connection::open(shared, database, options, |file, parameters| {
            Request::Attach(Attach { database: Handle::NONE, file, parameters: parameters.into_bytes() })
        })
        .await
    }

    /// Creates a database and attaches it, otherwise as [`Connection::attach_over`].
    ///
    /// # Round trips
    /// As [`Connection::attach_over`].
    ///
    /// # Errors
    /// As [`Connection::attach_over`]; `isc_db_or_file_exists` if there is one and `overwrite` is not set.
    pub async fn create_over(
        shared: &Shared,
        database: &str,
        create: &CreateOptions,
        options: &ConnectOptions,
    ) -> Result<Connection> {
        Connection::open(shared, database, options, |file, mut parameters| {
            parameters.text(dpb::SET_DB_CHARSET, &create.character_set);
            parameters
                .integer(dpb::SET_DB_SQL_DIALECT, i32::from(database_dialect(options.attach.dialect())));
            parameters.bytes(dpb::OVERWRITE, &[u8::from(create.overwrite)]);
            if let Some(bytes) = create.page_size {
                parameters.bytes(dpb::PAGE_SIZE, &bytes.to_le_bytes());
            }
            if let Some(forced) = create.forced_writes {
                parameters.bytes(dpb::FORCE_WRITE, &[u8::from(forced)]);
            }
            Request::Create(Attach { database: Handle::NONE, file, parameters: parameters.into_bytes() })
        })
        .await?
        .attached()
        .await
    }

    async fn open(
        shared: &Shared,
        database: &str,
        options: &ConnectOptions,
        request: impl FnOnce(Vec<u8>, ClumpletWriter) -> Request,
    ) -> Result<Connector> {
        let character_set = character_set::by_name(&options.character_set)?;
        let login = connect::log_in(shared, database, options).await?;
        shared.lock().set_character_set(character_set);
        let parameters = attach_parameters(options, character_set, login.as_ref());
        let request = request(database.as_bytes().to_vec(), parameters);
        let attach = match login {
            None => Some(shared.ask_to_attach(&request)?),
            // What is sent behind it would be taken for a part of the login.
            Some(login) => {
                connect::attach(shared, Some(login), &request).await?;
                None
            }
        };
        let tuning = shared.tuning();
        let session = Arc::new(Session {
            inline_blob_bytes: if tuning.inline_blobs { options.inline_blob_bytes } else { 0 },
            character_set,
            dialect: AtomicU8::new(options.attach.dialect()),
            statements: Mutex::new(StatementCache::new(tuning.statement_cache)),
        });
        Ok(Connector { connection: Connection { shared: shared.clone(), session }, attach })
    }

    /// Takes leave. Transactions that run are rolled back by the server. Whatever else is asked on this connection then
    /// fails.
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says.
    pub async fn close(self) -> Result<()> {
        self.response(&Request::Detach(Handle::NONE)).await?;
        self.leave();
        Ok(())
    }

    /// Drops the database and takes leave.
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// `isc_obj_in_use` while others are attached.
    pub async fn drop_database(self) -> Result<()> {
        self.response(&Request::DropDatabase(Handle::NONE)).await?;
        self.leave();
        Ok(())
    }

    /// Says so. A server that has answered may have closed the connection already.
    fn leave(&self) {
        if self.shared.send(&Request::Disconnect).is_ok() {
            self.shared.lock().flush();
        }
    }

    /// The low-level face of this connection, for drivers and tests.
    pub fn shared(&self) -> &Shared {
        &self.shared
    }

    /// The character set in which texts travel: that of [`ConnectOptions::character_set`].
    pub fn character_set(&self) -> CharacterSet {
        self.session.character_set
    }

    /// The SQL dialect of the texts that are prepared and executed.
    pub fn dialect(&self) -> u8 {
        self.session.dialect.load(Ordering::Relaxed)
    }

    /// Has texts that are prepared or executed from now on be of this SQL dialect: 1, 2, or 3. Statements that are prepared already stay
    /// what they are. The first dialect is that of [`AttachOptions::dialect`](crate::AttachOptions::dialect).
    ///
    /// # Round trips
    /// None.
    ///
    /// # Errors
    /// `isc_random` for a dialect that there is not.
    pub fn set_dialect(&self, dialect: u8) -> Result<()> {
        if !(1..=3).contains(&dialect) {
            let words = format!("there is no SQL dialect {dialect}: 1, 2 and 3 are known");
            return Err(Error::new(isc::RANDOM).with(words));
        }
        self.session.dialect.store(dialect, Ordering::Relaxed);
        // What is kept for its text was prepared in another dialect.
        let put_out = self.statements().clear();
        // Outside of the lock: dropping them takes the lock of the core.
        drop(put_out);
        Ok(())
    }

    /// The protocol in use.
    pub fn version(&self) -> ProtocolVersion {
        self.shared.version()
    }

    /// The flights so far: what left together, when, and when its answers came. None unless
    /// [`Tuning::timeline_flights`](crate::Tuning::timeline_flights) asks for them.
    pub fn flights(&self) -> Vec<FlightRecord> {
        self.shared.lock().flights().to_vec()
    }

    /// Packets, bytes and round trips since the first byte.
    pub fn counters(&self) -> Counters {
        *self.shared.lock().counters()
    }

    /// Bytes of answers that are here and that nobody has taken: rows read ahead. See
    /// [`Core::held_bytes`](crate::core::Core::held_bytes).
    pub fn held_bytes(&self) -> usize {
        self.shared.lock().held_bytes()
    }

    /// The server's version as it tells it, such as `LI-V4.0.5.3140 Firebird 4.0`.
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says.
    pub async fn server_version(&self) -> Result<String> {
        let reply = self.database_information(&[database::FIREBIRD_VERSION]).await?;
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
    /// The wire statistics (`fb_info_wire_*`, 150 to 158) are this side's own: as Firebird's client does, they are answered
    /// here, before whatever the server answers, and numbers beyond 31 bits have eight bytes.
    ///
    /// # Round trips
    /// One; none if only wire statistics are asked for.
    ///
    /// # Errors
    /// What the server says.
    pub async fn database_information(&self, items: &[u8]) -> Result<Vec<u8>> {
        let (own, rest) = self.wire_statistics(items);
        if rest.is_empty() {
            return Ok(own.finish());
        }
        let request = Request::DatabaseInformation(information(Handle::NONE, rest));
        let answered = self.response(&request).await?.data;
        let mut reply = own.finish();
        reply.pop();
        reply.extend_from_slice(&answered);
        Ok(reply)
    }

    /// The items that are answered here, and those that are left for the server: none if there is nothing else to ask.
    fn wire_statistics(&self, items: &[u8]) -> (InfoWriter, Vec<u8>) {
        let mut own = InfoWriter::new(INFORMATION_BYTES);
        let counts = self.counters().items();
        let end = items.iter().position(|item| *item == common::END).unwrap_or(items.len());
        let (asked, closing) = items.split_at(end);
        let mut rest = Vec::new();
        for item in asked {
            match counts.iter().find(|(known, _)| known == item) {
                Some((_, count)) => own.integer(*item, i64::try_from(*count).unwrap_or(i64::MAX)),
                None => rest.push(*item),
            }
        }
        if !rest.is_empty() || asked.is_empty() {
            rest.extend_from_slice(closing);
        }
        (own, rest)
    }

    /// Whether the server is there.
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// It is not.
    pub async fn ping(&self) -> Result<()> {
        if !self.version().has_plugins() {
            return self.database_information(&[database::ODS_VERSION]).await.map(|_| ());
        }
        self.response(&Request::Ping).await.map(|_| ())
    }

    /// Starts a transaction, which begins (and takes its snapshot) when its start reaches the server: with the first
    /// request that waits for an answer. If the server refuses it, that is told by the first call that uses it.
    ///
    /// # Round trips
    /// None: its start travels with the first request that uses it. One with [`Tuning::predict_handles`] off.
    ///
    /// [`Tuning::predict_handles`]: crate::Tuning::predict_handles
    ///
    /// # Errors
    /// The connection is lost.
    pub async fn begin(&self, options: &TransactionOptions) -> Result<Transaction> {
        let transaction = Transaction::start(&self.shared, options)?;
        if !self.shared.tuning().predict_handles {
            transaction.handle(&self.shared).await?;
        }
        Ok(transaction)
    }

    /// Commits.
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says; the transaction is then rolled back.
    pub async fn commit(&self, transaction: Transaction) -> Result<()> {
        self.commit_held(&transaction).await
    }

    /// Commits a transaction that somebody else may hold, too.
    pub(crate) async fn commit_held(&self, transaction: &Transaction) -> Result<()> {
        let request = Request::Commit(transaction.handle(&self.shared).await?);
        let ended = transaction.object().ask_to_end(&request)?;
        transaction.explain(ended.response().await).map(|_| ())
    }

    /// Rolls back. (A transaction that is dropped is rolled back as well, without waiting.)
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says.
    pub async fn rollback(&self, transaction: Transaction) -> Result<()> {
        let request = Request::Rollback(transaction.handle(&self.shared).await?);
        let ended = transaction.object().ask_to_end(&request)?;
        transaction.explain(ended.response().await).map(|_| ())
    }

    /// Commits and goes on in the same transaction, which keeps its cursors.
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says.
    pub async fn commit_retaining(&self, transaction: &Transaction) -> Result<()> {
        let request = Request::CommitRetaining(transaction.handle(&self.shared).await?);
        transaction.explain(self.response(&request).await).map(|_| ())
    }

    /// Undoes what the transaction has done and goes on in it.
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says.
    pub async fn rollback_retaining(&self, transaction: &Transaction) -> Result<()> {
        let request = Request::RollbackRetaining(transaction.handle(&self.shared).await?);
        transaction.explain(self.response(&request).await).map(|_| ())
    }

    /// Asks and waits.
    pub(crate) async fn response(&self, request: &Request) -> Result<Response> {
        self.shared.response(request).await
    }
}

/// A connection whose attach is on its way. It is a [`Connection`] already: what is begun, prepared and asked on it leaves
/// with the attach, so that a program's first work costs no round trip of its own.
///
/// If the server refuses the attach, everything asked behind it fails with the reason for that.
#[derive(Debug)]
pub struct Connector {
    connection: Connection,
    attach: Option<Question>,
}

impl Connector {
    /// Waits until the database is attached.
    ///
    /// # Round trips
    /// One, together with everything that was asked in the meantime; none if an answer to that has come.
    ///
    /// # Errors
    /// What the server says of the database.
    pub async fn attached(self) -> Result<Connection> {
        if let Some(attach) = self.attach {
            attach.response().await?;
        }
        Ok(self.connection)
    }
}

impl Deref for Connector {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.connection
    }
}

/// The dialect of a database that a client of this dialect creates: there are no databases of dialect 2.
fn database_dialect(client: u8) -> u8 {
    if client == 1 { 1 } else { 3 }
}

/// What an attach tells of the client.
fn attach_parameters(
    options: &ConnectOptions,
    character_set: CharacterSet,
    login: Option<&Login<'_>>,
) -> ClumpletWriter {
    // Values beyond 255 bytes, such as long paths of programs and keys, need the second version.
    // Servers before Firebird 3 do not know it.
    let is_old = login.is_some_and(Login::is_before_plugins);
    let mut items = if is_old { ClumpletWriter::dpb() } else { ClumpletWriter::wide_dpb() };
    items.text(dpb::LC_CTYPE, character_set.name()).flag(dpb::UTF8_FILENAME);
    options.attach.write(&mut items);
    items.text(dpb::USER_NAME, &options.user);
    if let Some(role) = &options.role {
        items.text(dpb::SQL_ROLE_NAME, role);
    }
    items.bytes(dpb::PROCESS_ID, &std::process::id().to_le_bytes());
    items.text(dpb::PROCESS_NAME, &options.program);
    for (tag, text) in [(dpb::OS_USER, machine::user()), (dpb::HOST_NAME, machine::host())] {
        if !text.is_empty() {
            items.text(tag, &text);
        }
    }
    items.text(dpb::CLIENT_VERSION, concat!("farbird-client ", env!("CARGO_PKG_VERSION")));
    if let Some(login) = login {
        login.attach_items(&mut items);
    }
    items
}

/// A question about an object.
pub(crate) fn information(object: Handle, items: Vec<u8>) -> Information {
    Information { object, incarnation: 0, items, buffer_length: INFORMATION_BYTES }
}
