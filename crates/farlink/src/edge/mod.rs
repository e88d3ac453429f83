//! The edge: the machine beside the program.
//!
//! A [`Program`] is one program's connection: Firebird's protocol on one side, messages on the other. What programs of one edge share
//! stands in its [`Site`]. Both do no I/O; times are handed in.

mod limits;
mod program;
mod site;

pub use limits::Limits;
pub use program::Program;
pub use site::Site;
