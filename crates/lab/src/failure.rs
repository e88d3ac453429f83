//! Why an experiment could not go on.

/// Why a database could not do its work, or an experiment was left.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// What Firebird or Farbird says.
    #[error("{}", .0.message())]
    Firebird(farbird_types::Error),
    /// What PostgreSQL says.
    #[error("{}", postgres_message(.0))]
    Postgres(#[from] postgres::Error),
    /// Files.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// It was ended because it took so long.
    #[error("took longer than {} s", .0.as_secs_f64())]
    TimedOut(std::time::Duration),
    /// The user wants no more.
    #[error("interrupted")]
    Interrupted,
    /// Anything else.
    #[error("{0}")]
    Other(String),
}

impl From<farbird_types::Error> for Failure {
    fn from(error: farbird_types::Error) -> Failure {
        Failure::Firebird(error)
    }
}

fn postgres_message(error: &postgres::Error) -> String {
    // The server's own words stand in the source; the error itself says only "db error".
    match error.as_db_error() {
        Some(told) => told.message().to_owned(),
        None => error.to_string(),
    }
}

/// Result of a piece of an experiment.
pub type Result<T> = std::result::Result<T, Failure>;
