//! The farlink: a Firebird conversation over a long distance in as few round trips as information allows.
//!
//! A program and its Firebird driver stay as they are. The *edge* stands beside the program and speaks Firebird's protocol with it;
//! the *origin* stands beside the server and speaks Firebird's protocol with that. Between them travel [`message`]s on one
//! link per site, on which each program has a channel of its own.
//!
//! Promises: no I/O, no threads, no clock (times are handed in), no randomness but in tables' hashes. No bytes from any of the three sockets panic, reserve
//! memory by an unchecked length, or loop without a named bound. Uses `farbird_wire` and `farbird_types` only.
//!
//! | module | what it holds |
//! |---|---|
//! | [`edge`] | the machine beside the program |
//! | [`origin`] | the machine beside the server |
//! | [`message`] | what edge and origin tell each other |
//! | [`speculation`] | loops in one flight: what to run ahead, and when its results may be given |
//! | [`frame`] | what the bytes of a link are cut into |
//! | [`quick_hash`] | tables that are looked into for each request |
//! | [`link`] | messages to bytes and back: priorities, credits, compression, greeting, pings, sessions that outlive connections |

pub mod edge;
pub mod frame;
pub mod link;
pub mod message;
pub mod origin;
mod purity;
pub mod quick_hash;
pub mod speculation;
