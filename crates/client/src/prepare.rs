//! Preparing statements, and asking about them.

use std::sync::{MutexGuard, PoisonError};

use farbird_types::{Error, Result, isc};
use farbird_wire::info::{Continuation, Section, StatementInformation, sql};
use farbird_wire::packet::{Request, Response, StatementText};
use farbird_wire::protocol::Handle;

use crate::character_set;
use crate::connection::{Connection, INFORMATION_BYTES, information};
use crate::core::{Kind, Object, Question};
use crate::error;
use crate::statement::{Counts, Inner, Statement};
use crate::statement_cache::StatementCache;
use crate::transaction::Transaction;

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

/// Longest text of a statement before protocol 13, whose servers count its bytes in 16 bits.
const OLD_TEXT_BYTES_MAX: usize = 65_535;

/// A statement that is being prepared.
pub(crate) struct Preparing {
    pub(crate) object: Object,
    pub(crate) prepared: Question,
}

impl Connection {
    /// Prepares a statement.
    ///
    /// # Round trips
    /// One; one more for each 32,000 bytes of description of a very wide statement. With [`Tuning::deferred_prepare`] as
    /// [`Connection::prepare_deferred`].
    ///
    /// [`Tuning::deferred_prepare`]: crate::Tuning::deferred_prepare
    ///
    /// # Errors
    /// What the server says of the text.
    pub async fn prepare(&self, transaction: &Transaction, text: &str) -> Result<Statement> {
        if self.shared.tuning().deferred_prepare {
            return self.prepare_deferred(transaction, text).await;
        }
        let handle = transaction.handle(&self.shared).await?;
        let preparing = self.start_to_prepare(handle, text).await?;
        transaction.explain(self.prepared(preparing).await)
    }

    /// As [`Connection::prepare`], but a statement that was prepared for the same text before, and is not in use, is used
    /// again: the last [`Tuning::statement_cache`] of them are kept.
    ///
    /// [`Tuning::statement_cache`]: crate::Tuning::statement_cache
    ///
    /// # Round trips
    /// None if there is one; else as [`Connection::prepare`].
    ///
    /// # Errors
    /// What the server says of the text.
    pub async fn prepare_cached(&self, transaction: &Transaction, text: &str) -> Result<Statement> {
        if let Some(statement) = self.statements().take(text) {
            return Ok(statement);
        }
        let statement = self.prepare(transaction, text).await?;
        let put_out = self.statements().keep(text, &statement);
        // Outside of the lock: dropping it takes the lock of the core.
        drop(put_out);
        Ok(statement)
    }

    pub(crate) fn statements(&self) -> MutexGuard<'_, StatementCache> {
        // A panic inside leaves at worst a statement too many or too few.
        self.session.statements.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Prepares several statements.
    ///
    /// # Round trips
    /// One for all of them. With [`Tuning::deferred_prepare`] none.
    ///
    /// [`Tuning::deferred_prepare`]: crate::Tuning::deferred_prepare
    ///
    /// # Errors
    /// What the server says of the first text that it does not understand.
    pub async fn prepare_all(&self, transaction: &Transaction, texts: &[&str]) -> Result<Vec<Statement>> {
        if self.shared.tuning().deferred_prepare {
            let mut statements = Vec::with_capacity(texts.len());
            for text in texts {
                statements.push(self.prepare_deferred(transaction, text).await?);
            }
            return Ok(statements);
        }
        let handle = transaction.handle(&self.shared).await?;
        let mut preparing = Vec::with_capacity(texts.len());
        for text in texts {
            preparing.push(self.start_to_prepare(handle, text).await?);
        }
        let mut statements = Vec::with_capacity(preparing.len());
        for preparing in preparing {
            statements.push(transaction.explain(self.prepared(preparing).await)?);
        }
        Ok(statements)
    }

    /// Asks for a statement and its description.
    pub(crate) async fn start_to_prepare(&self, transaction: Handle, text: &str) -> Result<Preparing> {
        match self.shared.tuning().joins_prepare() {
            true => self.send_prepare(transaction, text),
            false => self.prepare_step_by_step(transaction, text).await,
        }
    }

    fn send_prepare(&self, transaction: Handle, text: &str) -> Result<Preparing> {
        let text = self.statement_text(transaction, Handle::LATEST, text, PREPARE_ITEMS)?;
        // Nothing may come between the two: the second names what the first made.
        let mut core = self.shared.lock();
        let allocate = core.send(&Request::AllocateStatement(Handle::NONE))?;
        let id = core.allocate(Kind::Statement, None, allocate);
        let prepared = core.ask(&Request::Prepare(text));
        drop(core);
        Ok(Preparing { object: self.shared.object(id), prepared: self.shared.question(prepared?) })
    }

    /// Waits for the statement's handle before preparing it, as clients before 2.1 did.
    async fn prepare_step_by_step(&self, transaction: Handle, text: &str) -> Result<Preparing> {
        let request = Request::AllocateStatement(Handle::NONE);
        let (object, allocated) = self.shared.ask_for(Kind::Statement, None, &request)?;
        let statement = allocated.response().await?.object;
        let text = self.statement_text(transaction, statement, text, PREPARE_ITEMS)?;
        Ok(Preparing { object, prepared: self.shared.ask(&Request::Prepare(text))? })
    }

    /// What became of it.
    async fn prepared(&self, preparing: Preparing) -> Result<Statement> {
        let Preparing { object, prepared } = preparing;
        let response = prepared.response().await.map_err(|error| object.explain(error))?;
        let description = self.description(&object, &response).await?;
        Ok(Statement::new(object, description))
    }

    /// What the answer to prepare says of a statement.
    pub(crate) async fn description(&self, statement: &Object, prepared: &Response) -> Result<Inner> {
        let information = self.read_description(statement, &prepared.data).await?;
        Inner::new(prepared.object.0, information, self.version(), self.session.character_set)
    }

    async fn read_description(&self, statement: &Object, data: &[u8]) -> Result<StatementInformation> {
        let mut description = StatementInformation::default();
        let read = |description: &mut StatementInformation, data: &[u8]| {
            description.read(data).map_err(|error| error::broken(&error))
        };
        let mut missing = read(&mut description, data)?;
        let mut last = None;
        while let Some(from) = missing {
            if last == Some(from) {
                return Err(
                    Error::new(isc::RANDOM).with("a column's description is longer than 32,000 bytes")
                );
            }
            last = Some(from);
            let items = information(statement.handle().await?, continuation_items(from));
            let more = self.response(&Request::StatementInformation(items)).await?;
            missing = read(&mut description, &more.data)?;
            // What is described comes in the order of the sections: behind the columns the parameters.
            if missing.is_none() && from.section == Section::Outputs {
                let from = Continuation { section: Section::Inputs, from: 1 };
                missing = description.inputs.is_empty().then_some(from).filter(|_| last != Some(from));
            }
        }
        Ok(description)
    }

    /// How many rows the last execution of a statement touched.
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says.
    pub async fn counts(&self, statement: &Statement) -> Result<Counts> {
        let reply = self.statement_information(statement, &[sql::RECORDS]).await?;
        Ok(reply.records.unwrap_or_default().into())
    }

    /// The access plan of a statement, as `SET PLAN` shows it.
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says.
    pub async fn plan(&self, statement: &Statement) -> Result<String> {
        let reply = self.statement_information(statement, &[sql::GET_PLAN]).await?;
        let plan = reply.plan.unwrap_or_default();
        Ok(character_set::decode(self.session.character_set, &plan).trim().to_owned())
    }

    async fn statement_information(
        &self,
        statement: &Statement,
        items: &[u8],
    ) -> Result<StatementInformation> {
        let handle = statement.handle(&self.shared).await?;
        let request = Request::StatementInformation(information(handle, items.to_vec()));
        let response = match self.response(&request).await {
            Ok(response) => response,
            Err(error) => {
                // That the text was refused explains it.
                self.describe(statement).await?;
                return Err(error);
            }
        };
        let mut description = StatementInformation::default();
        description.read(&response.data).map_err(|error| error::broken(&error))?;
        Ok(description)
    }
}

impl Connection {
    /// A text to be prepared or executed; `items` are asked about it.
    ///
    /// # Errors
    /// `isc_transliteration_failed` for a character that the connection's character set has not; `isc_imp_exc` for a text
    /// that is longer than the protocol can tell.
    pub(crate) fn statement_text(
        &self,
        transaction: Handle,
        statement: Handle,
        text: &str,
        items: &[u8],
    ) -> Result<StatementText> {
        let sql = character_set::encode(self.session.character_set, text)?;
        if sql.len() > OLD_TEXT_BYTES_MAX && !self.version().has_plugins() {
            return Err(Error::new(isc::IMP_EXC).and(isc::BLKTOOBIG).and(isc::RANDOM).with(format!(
                "a statement of {} bytes is too long for this server: before protocol 13 (Firebird 3) it may have \
                 {OLD_TEXT_BYTES_MAX}",
                sql.len()
            )));
        }
        Ok(StatementText {
            transaction,
            statement,
            dialect: self.dialect().into(),
            sql,
            items: items.to_vec(),
            buffer_length: INFORMATION_BYTES,
            flags: 0,
        })
    }
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
