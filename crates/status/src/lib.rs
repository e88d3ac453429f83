//! Pages that show how a process is, served to browsers, and the text that Prometheus reads.
//!
//! | file | subject |
//! |---|---|
//! | `address` | where a page is served |
//! | `http` | requests and responses, and who is refused |
//! | `page`, `parts.css`, `parts.js` | a page of one file, what it may do, and what all pages have |
//! | `metrics` | the text that Prometheus reads |
//!
//! Who shows something is a [`Site`]: it answers requests that were found to be in order. Uses none of the other crates; knows nothing of
//! what is shown.
#![forbid(unsafe_code)]

mod address;
mod http;
pub mod metrics;
mod page;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use address::StatusAddress;
pub use http::{Lane, Method, Names, Request, Response, Site, serve};
pub use page::Page;
