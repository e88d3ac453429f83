//! Why rows could not be changed.

use farbird_store::StoreError;
use farbird_types::Error;

/// Why a row could not be changed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Others changed the row while the statement ran: what the client asked for may run again under a new view. The status says
    /// so to those who do not.
    Restart(Error),
    /// Anything else.
    Error(Error),
}

impl Failure {
    /// What it tells those who do not run again.
    pub(crate) fn into_error(self) -> Error {
        match self {
            Failure::Restart(error) | Failure::Error(error) => error,
        }
    }
}

/// What changing a row leads to.
pub(crate) type Change<T> = std::result::Result<T, Failure>;

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Error(error)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        match error {
            StoreError::StatementRestart { .. } => Failure::Restart(error.into()),
            other => Failure::Error(other.into()),
        }
    }
}
