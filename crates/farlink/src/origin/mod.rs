//! The origin: the machine beside the server.
//!
//! A [`Conversation`] is one program's conversation with the server, in Firebird's protocol on one side and in messages on the other.
//! It does no I/O; times are handed in. Its owner carries the bytes between it and a connection to the server that belongs to it alone.
//!
//! | file | subject |
//! |---|---|
//! | `conversation` | the face, and what a conversation keeps |
//! | `asks` | what the edge asks, and the order in which it goes to the server |
//! | `requests` | requests on their way to the server |
//! | `replies` | what the server answers |
//! | `work` | what waits to be sent, and what was sent |
//! | `objects` | handles of the edge and of the server |
//! | `line` | the bytes to and from the server: layers, packets |
//! | `connect` | op_connect and what answers it |
//! | `auxiliary` | the second connection, on which events come |
//! | `own_login`, `logging_in` | a login that the origin performs itself |
//! | `translate` | replies in the edge's handles |
//! | `statements` | statements that are prepared when they are first needed |
//! | `cursors`, `pushed_cursor` | rows pushed as they come |
//! | `blobs`, `blob_reading` | BLOBs pushed before their rows, or by themselves |
//! | `ahead`, `ahead_state` | statements run ahead for the rows of cursors |
//! | `definitions`, `looking_up` | what a query's names stand for, before a server that does not say what it reads |
//! | `writes` | writes that the edge has answered as done |
//! | `private` | what a Farbird server tells an origin beside Firebird's protocol |

mod ahead;
mod ahead_state;
mod asks;
mod attaching_ahead;
mod auxiliary;
mod blob_reading;
mod blobs;
mod connect;
mod conversation;
mod cursors;
mod definitions;
mod limits;
mod line;
mod logging_in;
mod looking_up;
mod objects;
mod own_login;
pub mod private;
mod pushed_cursor;
mod replies;
mod requests;
mod statements;
#[cfg(test)]
mod tests;
mod translate;
mod work;
mod writes;

pub use connect::user_of;
pub use conversation::Conversation;
pub use limits::Limits;
pub use own_login::{Credentials, RANDOM_BYTES, login_of};
pub use work::AuxiliaryStep;
