//! The way to PSQL: stored functions and selectable procedures, as statements need them.

pub(crate) use crate::psql::{ProcedureRows, call_function, call_local_function};
