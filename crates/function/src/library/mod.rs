//! Functions of the libraries that came with Firebird up to version 3: what DECLARE EXTERNAL FUNCTION names by its ENTRY_POINT.
//!
//! No foreign code is loaded: those of `ib_udf`, `fbudf` and of the example `udflib` are here, under their entry points and with what
//! they answered there, wrong answers included; texts are bytes to them. Others cannot be called.
//!
//! | file | library |
//! |---|---|
//! | `entry` | what they have in common |
//! | `ib_udf` | mathematics and texts |
//! | `fbudf` | NULL, dates, rounding, BLOBs |
//! | `udflib` | the example of InterBase |
//!
//! Source: the answers of Firebird 3.0.11 with its libraries.

mod entry;
mod fbudf;
mod ib_udf;
mod udflib;

pub use entry::{Entry, EntryBody};

/// The entry point of a library; `module` as in MODULE_NAME, with or without a folder and an ending.
pub fn lookup(module: &str, entry_point: &str) -> Option<&'static Entry> {
    let file = module.rsplit(['/', '\\']).next().unwrap_or(module);
    let name = file.split('.').next().unwrap_or(file);
    let entries = match name.to_ascii_lowercase().as_str() {
        "ib_udf" | "ib_udf2" => ib_udf::ENTRIES,
        "fbudf" => fbudf::ENTRIES,
        "udflib" => udflib::ENTRIES,
        _ => return None,
    };
    entries.iter().find(|entry| entry.name == entry_point)
}
