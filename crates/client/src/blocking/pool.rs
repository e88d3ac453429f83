//! A pool of blocking connections: [r2d2](https://docs.rs/r2d2)'s, with feature `r2d2`.
//!
//! ```no_run
//! use farbird_client::blocking::pool::{Manager, Pool};
//! use farbird_client::{ConnectOptions, TransactionOptions};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let manager = Manager::new("db.example.com:/data/app.fdb", ConnectOptions::new("SYSDBA", "masterkey"));
//! let pool = Pool::builder().max_size(8).build(manager)?;
//!
//! let connection = pool.get()?;
//! let transaction = connection.begin(&TransactionOptions::default())?;
//! let statement = connection.prepare_cached(&transaction, "select name from customer where id = ?")?;
//! let names: Vec<(String,)> = connection.query_as(&transaction, &statement, (7,))?;
//! connection.commit(transaction)?;
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
//! | a new one | those of [`Connection::attach`]; the pool makes them on threads of its own |
//! | giving it back | none: a transaction that was not ended is rolled back at once, without waiting |
//!
//! What else becomes of what a user leaves: see [`crate::Connection::recycle`]. Drop transactions, statements and cursors
//! before the connection, or with it: of a connection that comes back while they live, the pool hands out none. This and
//! all the rest is done when a connection is handed out, so leave r2d2's `test_on_check_out` on: it costs no round trip.

use farbird_types::{Error, Result};

pub use r2d2;

use super::connection::Connection;
use crate::options::ConnectOptions;
pub use crate::recycle::RecyclingMethod;

/// A pool of connections with one database.
pub type Pool = r2d2::Pool<Manager>;
/// A connection that goes back into its pool when it is dropped. It is used as a [`Connection`].
pub type PooledConnection = r2d2::PooledConnection<Manager>;

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

impl r2d2::ManageConnection for Manager {
    type Connection = Connection;
    type Error = Error;

    fn connect(&self) -> Result<Connection> {
        let connection = Connection::attach(&self.database, &self.options)?;
        self.method.check(connection.version()).map(|()| connection)
    }

    fn is_valid(&self, connection: &mut Connection) -> Result<()> {
        connection.recycle(self.method)
    }

    /// The connection comes back: what is rolled back leaves now, as it may lie here for long.
    fn has_broken(&self, connection: &mut Connection) -> bool {
        connection.look();
        connection.failure().is_some()
    }
}
