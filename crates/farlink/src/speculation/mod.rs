//! Speculation: the loop that runs a statement for each row of another one costs one flight and not a trip for each row.
//!
//! | module | at | what it does |
//! |---|---|---|
//! | [`Learner`] | edge | watches one program: which rows its parameters come from |
//! | [`Rules`] | edge | what all programs of an edge have taught it; saved and loaded |
//! | [`Results`] | edge | what was run ahead, and when it may be given ([`View`]) |
//! | [`Speculator`] | edge | the three of them, as [`crate::edge::Program`] uses them |
//! | [`Runner`] | origin | runs statements ahead for the rows of cursors, inside a budget |
//! | [`conversion`], [`rows`] | both | values of rows as parameters |
//!
//! Promises: an answer is one that asking now could have given ([`View::allows`]); what wrong rules cost is bounded ([`Rules`]); whatever
//! program or peer do, memory stays within [`Limits`]. Sans-IO; times are handed in.

pub mod conversion;
mod learner;
mod limits;
mod results;
pub mod rows;
mod rules;
mod runner;
mod speculator;
mod stake;

pub use learner::{Executed, Learner, Seen};
pub use limits::{Limits, Tally};
pub use results::{Answer, Found, Gone, Isolation, Key, Results, Sight, View};
pub use rules::{Facts, Given, Loop, NotLoaded, Rules, StatementText, bound};
pub use runner::{Ahead, Ran, Runner, RunnerLimits, Work};
pub use speculator::{Awaited, Database, Execute, Speculator, Verdict};
pub use stake::{Budget, RunnerCounts};

#[cfg(test)]
mod tests;
