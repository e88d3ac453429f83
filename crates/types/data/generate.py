#!/usr/bin/env python3
"""Writes src/error/isc.rs from error-codes.tsv. Run it in crates/types after the table has changed."""
import pathlib

FACILITIES_OF_THE_SERVER = {0: "", 7: "", 8: "DYN_", 18: "GSEC_"}

here = pathlib.Path(__file__).parent
rows = [line.split("\t") for line in (here / "error-codes.tsv").read_text().splitlines()[1:]]
rows = [row for row in rows if row[2] and row[3]]
rows = sorted((int(code), symbol, int(sql_code), state, int(arguments or 0)) for code, symbol, sql_code, state, arguments in rows)

out = [
    "//! Firebird's error codes, by the names of its API without the prefix `isc_`.",
    "//!",
    "//! Generated from data/error-codes.tsv by data/generate.py; do not edit.",
    "#![allow(missing_docs)]",
    "",
    "/// One line of the code table.",
    "#[derive(Debug)]",
    "pub struct CodeRow {",
    "    pub gds_code: u32,",
    "    pub symbol: &'static str,",
    "    pub sql_code: i16,",
    "    pub sql_state: &'static str,",
    "    /// How many arguments its message takes.",
    "    pub arguments: u8,",
    "}",
    "",
]
taken = set()
for code, symbol, *_ in rows:
    facility = (code >> 16) & 0x1F
    if facility not in FACILITIES_OF_THE_SERVER:
        continue
    prefix = FACILITIES_OF_THE_SERVER[facility]
    name = symbol.upper()
    if prefix and not name.startswith(prefix):
        name = prefix + name
    if name in taken:
        continue
    taken.add(name)
    out.append(f"pub const {name}: u32 = {code};")
out += ["", "/// All codes, in ascending order.", "#[rustfmt::skip]", "pub static CODES: &[CodeRow] = &["]
for code, symbol, sql_code, state, arguments in rows:
    out.append(
        f'    CodeRow {{ gds_code: {code}, symbol: "{symbol}", sql_code: {sql_code}, sql_state: "{state}", arguments: {arguments} }},'
    )
out.append("];")
(here / "../src/error/isc.rs").write_text("\n".join(out) + "\n")
