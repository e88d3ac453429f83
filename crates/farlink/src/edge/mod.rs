//! The edge: the machine beside the program.
//!
//! A [`Program`] is one program's connection: Firebird's protocol on one side, messages on the other. What programs of one edge share
//! stands in its [`Site`]. Both do no I/O; times are handed in.
//!
//! Whatever the edge cannot answer for certain is relayed, and answered by the server. Answers leave in the order of the requests.
//!
//! | file | subject |
//! |---|---|
//! | `program` | the face; requests in, answers out in their order |
//! | `order`, `waiting` | whose turn it is; requests whose turn it is not yet |
//! | `login` | everything up to the attachment: layers, keys, what statements' descriptions depend on |
//! | `attachment`, `greeting` | how far a login is, what is attached; how programs begin |
//! | `dispatch` | which request is whose affair |
//! | `replies`, `effect` | what replies of the server change here |
//! | `statements` | prepare, execute, fetch, free |
//! | `ahead`, `held` | executions answered by what was run ahead ([`crate::speculation`]) |
//! | `questions` | what programs ask about statements |
//! | `auxiliary` | the second connection, on which events come |
//! | `transactions` | begin and end |
//! | `writes` | writes that are answered before they are done |
//! | `blobs` | reading and writing BLOBs |
//! | `attach_ahead`, `usual` | attaching before the program asks, as programs like it have |
//! | `again`, `bond` | attaching again when the session is over, and who may |
//! | `outcome` | what became of a commit whose answer was lost |
//! | `objects` | handles |
//! | `cursors` | pushed rows |
//! | `blob_contents` | contents of a BLOB, and reading in them |
//! | `spill` | rows and BLOBs that have no room in memory |
//! | `statement_cache` | descriptions of statements |
//! | `text_shape` | what a text alone tells of its description |
//! | `information` | questions whose answers cannot change |
//! | `record` | what a program did lately, for a status page |
//! | `counters`, `limits`, `site` | what was counted, what may be taken, what is shared |

mod again;
mod ahead;
mod attach_ahead;
mod attachment;
mod auxiliary;
mod blob_contents;
mod blobs;
mod bond;
mod counters;
mod cursors;
mod dispatch;
mod effect;
mod greeting;
mod held;
mod information;
mod limits;
mod login;
mod objects;
mod order;
mod outcome;
mod program;
mod questions;
mod record;
mod replies;
mod site;
mod spill;
mod statement_cache;
mod statements;
mod text_shape;
mod transactions;
mod usual;
mod waiting;
mod writes;

#[cfg(test)]
mod tests;

pub use counters::{Counters, Saved, TextCounters};
pub use limits::Limits;
pub use program::Program;
pub use record::{AnsweredBy, ENTRIES_MAX, Entry, Record, Standing, Sums, Verb};
pub use site::{Memory, Site};
pub use spill::{SpillPlace, SpillStore, Spilled};
