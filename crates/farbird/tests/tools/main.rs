//! The tools as people use them: `farbird sql`, `farbird import` and `farbird export`, on files and on servers.
//!
//! FARBIRD_TEST_FIREBIRD names Firebirds to be asked too, as `FOLDER,USER,PASSWORD`: a place for databases, such as
//! `localhost/3050:/tmp`.

mod exchange;
mod harness;
mod shell;
