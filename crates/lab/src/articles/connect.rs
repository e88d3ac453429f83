//! `connect`: from nothing to the first row of a query, as a program begins that is started for one question.

use std::time::Instant;

use serde::Serialize;

use super::session::Session;
use super::{FlightRecord, Preset, Server, Settings, WireFigure, milliseconds};
use crate::link::LinkOptions;
use crate::{Failure, Result};

/// One row, of a table that every database has.
const QUERY: &str = "select rdb$relation_id from rdb$database";

/// What came of a run. Times are in milliseconds since the first byte.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ConnectFigure {
    /// The server.
    pub server: String,
    /// Number of the protocol in use.
    pub protocol: u16,
    /// The client generation.
    pub preset: Preset,
    /// Whether the link was to be encrypted.
    pub is_encrypted: bool,
    /// Time of a round trip of the emulated link.
    pub round_trip_ms: f64,
    /// Until the database was attached; with the `farbird` client: until the attach was on its way.
    pub attached_ms: f64,
    /// Until the first row was here.
    pub first_row_ms: f64,
    /// What went over the wire until the database was attached.
    pub wire_attached: WireFigure,
    /// What went over the wire until the first row was here.
    pub wire_first_row: WireFigure,
    /// The first flights, from connecting on.
    #[serde(skip)]
    pub flights: Vec<FlightRecord>,
}

/// Connects once and reads a row.
///
/// # Errors
/// What the server says.
pub fn measure(server: &Server, link: &LinkOptions, settings: &Settings) -> Result<ConnectFigure> {
    let start = Instant::now();
    let mut session = Session::attach(server, link, settings)?;
    let attached = start.elapsed();
    let wire_attached = WireFigure::between(&Default::default(), &session.counters());
    session.begin()?;
    // This project's client can ask for rows of known types before it has seen a description, with the attach.
    let mut cursor = match settings.preset {
        Preset::Farbird => session.open_number(QUERY)?,
        _ => session.open(&session.prepare(QUERY)?, &[])?,
    };
    if cursor.next().transpose()?.is_none() {
        return Err(Failure::Other("RDB$DATABASE has no row".to_owned()));
    }
    let first_row = start.elapsed();
    let wire_first_row = WireFigure::between(&Default::default(), &session.counters());
    let (protocol, flights) = (session.protocol(), session.flights());
    drop(cursor);
    session.close()?;
    Ok(ConnectFigure {
        server: server.name.clone(),
        protocol,
        preset: settings.preset,
        is_encrypted: settings.encrypt,
        round_trip_ms: milliseconds(link.round_trip()),
        attached_ms: milliseconds(attached),
        first_row_ms: milliseconds(first_row),
        wire_attached,
        wire_first_row,
        flights,
    })
}
