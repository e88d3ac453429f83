//! A pool of asynchronous connections: [deadpool](https://docs.rs/deadpool)'s, with feature `deadpool`.
//!
//! ```no_run
//! use farbird_client::pool::{Manager, Pool};
//! use farbird_client::{ConnectOptions, TransactionOptions};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let manager = Manager::new("db.example.com:/data/app.fdb", ConnectOptions::new("SYSDBA", "masterkey"));
//! let pool = Pool::builder(manager).max_size(8).build()?;
//!
//! let connection = pool.get().await?;
//! let transaction = connection.begin(&TransactionOptions::default()).await?;
//! let statement = connection.prepare_cached(&transaction, "select name from customer where id = ?").await?;
//! let names: Vec<(String,)> = connection.query_as(&transaction, &statement, (7,)).await?;
//! connection.commit(transaction).await?;
//! // Dropped, it goes back into the pool, with its prepared statements.
//! # drop((statement, names));
//! # Ok(())
//! # }
//! ```
//!
//! # Round trips
//! | | |
//! |---|---|
//! | a connection from the pool | none; one with [`RecyclingMethod::Verified`] and [`RecyclingMethod::Clean`] |
//! | a new one | those of [`Connection::attach`] |
//! | giving it back | none: a transaction that was not ended is rolled back at once, without waiting |
//!
//! What else becomes of what a user leaves: see [`Connection::recycle`]. Drop transactions, statements and cursors before
//! the connection, or with it: of a connection that comes back while they live, the pool hands out none.
//!
//! # How many
//! One connection of this crate serves any number of tasks, and what they ask together shares round trips; but its
//! server does one thing after the other. A pool is for work that is to run side by side on the server, and for transactions that
//! must not wait for the queries of others.
//!
//! # Bounds
//! Waiting for a connection, making one and recycling one take as long as they take, unless the pool has `Timeouts`
//! (`wait_timeout`, `create_timeout`, `recycle_timeout` of its builder, with `runtime(Runtime::Tokio1)`).

use deadpool::managed::{Metrics, RecycleError, RecycleResult};
use farbird_types::{Error, Result};

pub use deadpool;
pub use deadpool::Runtime;

use crate::connection::Connection;
use crate::options::ConnectOptions;
pub use crate::recycle::RecyclingMethod;

/// A pool of connections with one database.
pub type Pool = deadpool::managed::Pool<Manager>;
/// A connection that goes back into its pool when it is dropped. It is used as a [`Connection`].
pub type Object = deadpool::managed::Object<Manager>;
/// Why there is no connection.
pub type PoolError = deadpool::managed::PoolError<Error>;

/// Makes the connections of a [`Pool`], and looks after them.
#[derive(Debug, Clone)]
pub struct Manager {
    database: String,
    options: ConnectOptions,
    method: RecyclingMethod,
}

impl Manager {
    /// Connections with this database: `host/port:database`. [`Tuning::rollback_at_once`] is switched on.
    ///
    /// [`Tuning::rollback_at_once`]: crate::Tuning::rollback_at_once
    pub fn new(database: impl Into<String>, mut options: ConnectOptions) -> Manager {
        options.tuning.rollback_at_once = true;
        Manager { database: database.into(), options, method: RecyclingMethod::default() }
    }

    /// How it is made sure that a connection can be handed out again; [`RecyclingMethod::Fast`] otherwise.
    #[must_use]
    pub fn recycling(self, method: RecyclingMethod) -> Manager {
        Manager { method, ..self }
    }
}

impl deadpool::managed::Manager for Manager {
    type Type = Connection;
    type Error = Error;

    async fn create(&self) -> Result<Connection> {
        let connection = Connection::attach(&self.database, &self.options).await?;
        self.method.check(connection.version()).map(|()| connection)
    }

    async fn recycle(&self, connection: &mut Connection, _: &Metrics) -> RecycleResult<Error> {
        connection.recycle(self.method).await.map_err(RecycleError::Backend)
    }
}
