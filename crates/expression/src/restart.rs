//! Whether what a client asked for runs again beca

/// How often a statement runs again; then the conflict is an error. Firebird's number.
const RESTARTS_MAX: usize = 10;

/// What becomes of a statement that wants a row which others have changed since its view was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Restart {
    /// It gets the conflict: it is in an autonomous transaction, has given rows already, or has begun again too often.
    #[default]
    Never,
    /// It can run again.
    Possible,
    /// It is going to: all that runs ends with the conflict, which nobody handles.
    Wanted,
}

impl Restart {
    /// What a statement may do that has begun again so often.
    pub fn after(restarts: usize) -> Restart {
        if restarts < RESTARTS_MAX { Restart::Possible } else { Restart::Never }
    }
}
