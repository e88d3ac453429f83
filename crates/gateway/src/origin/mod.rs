//! The origin: the task beside the server.

mod knowledge;

pub use knowledge::{Introduction, IssuedTicket, Knowledge, News};
