//! The server as a client meets it: every test talks to a server in this process over a socket.

#[path = "../common/mod.rs"]
mod common;

mod arrays;
mod attach;
mod batches;
mod bindings;
mod blobs;
mod column_fetches;
mod counters;
mod events;
mod fairness;
mod files;
mod inline_blobs;
mod interrupts;
mod login;
mod maintenance;
mod mappings;
mod nbackup;
mod privileges;
mod robustness;
mod scrolling;
mod services;
mod statements;
mod stops;
mod traces;
mod two_phase;
mod working_day;
