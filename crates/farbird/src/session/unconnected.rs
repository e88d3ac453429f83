//! The session of a shell that is connected to nothing yet.

use std::collections::BTreeMap;

use farbird::{Dialect, TableCounts};
use farbird_types::{Error, Value, isc};

use super::{Canceller, Description, Failure, Load, Ran, Session, Sink, WireCounters};

/// Refuses all statements, and says how to connect.
pub(crate) struct Unconnected;

fn refusal() -> Error {
    Error::new(isc::RANDOM)
        .with("there is no database: CONNECT 'file or host:name'; or CREATE DATABASE 'file or host:name';")
}

impl Session for Unconnected {
    fn run(
        &mut self,
        _sql: &str,
        _bound: &[Option<String>],
        _count: bool,
        _sink: &mut dyn Sink,
    ) -> Result<Ran, Failure> {
        Err(refusal().into())
    }

    fn look_up(&mut self, _sql: &str, _parameters: &[Value]) -> Result<Vec<Vec<Value>>, Error> {
        Err(refusal())
    }

    fn describe(&mut self, _sql: &str) -> Result<Description, Error> {
        Err(refusal())
    }

    fn load(
        &mut self,
        _sql: &str,
        _rows_per_commit: Option<u64>,
        _source: &mut dyn Load,
    ) -> Result<(), Failure> {
        Err(refusal().into())
    }

    fn commit(&mut self) -> Result<(), Error> {
        Ok(())
    }

    fn rollback(&mut self) -> Result<(), Error> {
        Ok(())
    }

    fn is_in_transaction(&self) -> bool {
        false
    }

    fn commit_definitions(&mut self, _at_once: bool) {}

    fn set_dialect(&mut self, _dialect: Dialect) {}

    fn canceller(&self) -> Canceller {
        Box::new(|| {})
    }

    fn forget_cancel(&mut self) {}

    fn table_counts(&mut self) -> Result<BTreeMap<u32, TableCounts>, Error> {
        Ok(BTreeMap::new())
    }

    fn counters(&self) -> Option<WireCounters> {
        None
    }

    fn about(&mut self) -> Result<Vec<(&'static str, String)>, Error> {
        Ok(vec![("Database", "none: CONNECT or CREATE DATABASE".to_owned())])
    }
}
