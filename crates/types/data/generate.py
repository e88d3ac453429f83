#!/usr/bin/env python3
"""Writes the Rust tables of this crate from the .tsv files beside this script.

Run it in any directory after a table has changed; `cargo fmt` afterwards changes nothing.

    error-codes.tsv                 -> src/error/isc.rs
    character-sets.tsv, character-set-aliases.tsv, collations.tsv, single-byte-character-sets.tsv
                                    -> src/character_set/tables.rs
    time-zones.tsv                  -> src/temporal/zone_names.rs
"""
import pathlib

HERE = pathlib.Path(__file__).parent
SOURCES = HERE / "../src"
FACILITIES_OF_THE_SERVER = {0: "", 7: "", 8: "DYN_", 13: "", 18: "GSEC_"}


def table(name):
    return [line.split("\t") for line in (HERE / name).read_text().splitlines()[1:]]


def write(path, lines):
    (SOURCES / path).write_text("\n".join(lines) + "\n")


def error_codes():
    rows = [row for row in table("error-codes.tsv") if row[2] and row[3]]
    rows = sorted(
        (int(code), symbol, int(sql_code), state, int(arguments or 0))
        for code, symbol, sql_code, state, arguments in rows
    )
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
    write("error/isc.rs", out)


def character_sets():
    ids = {name: int(number) for number, name, *_ in table("character-sets.tsv")}
    out = [
        "//! Names of character sets and collations, and what single-byte characters mean.",
        "//!",
        "//! Generated from data/*.tsv by data/generate.py; do not edit.",
        "",
        "/// (id, name, bytes per character), by id.",
        "#[rustfmt::skip]",
        "pub(super) static CHARACTER_SETS: &[(u8, &str, u8)] = &[",
    ]
    out += [f'    ({number}, "{name}", {size}),' for number, name, _, size in table("character-sets.tsv")]
    out += [
        "];",
        "",
        "/// (other name, id).",
        "#[rustfmt::skip]",
        "pub(super) static ALIASES: &[(&str, u8)] = &[",
    ]
    out += [f'    ("{alias}", {number}),' for alias, number in table("character-set-aliases.tsv")]
    out += [
        "];",
        "",
        "/// (character set id, collation id, name, attributes), by the ids. Attributes: 1 pad space, 2 case-insensitive,",
        "/// 4 accent-insensitive.",
        "#[rustfmt::skip]",
        "pub(super) static COLLATIONS: &[(u8, u8, &str, u8)] = &[",
    ]
    out += [f'    ({cs}, {number}, "{name}", {attributes}),' for cs, number, name, attributes, *_ in table("collations.tsv")]
    out += [
        "];",
        "",
        "/// (character set id, Unicode of the bytes 0x80 to 0xFF; 0 where a byte means nothing), by id.",
        "#[rustfmt::skip]",
        "pub(super) static SINGLE_BYTE: &[(u8, [u16; 128])] = &[",
    ]
    for name, characters in sorted(table("single-byte-character-sets.tsv"), key=lambda row: ids[row[0]]):
        codes = ["0" if code == "-" else f"0x{code}" for code in characters.split()]
        assert len(codes) == 128
        out.append(f"    // {name}")
        out.append(f"    ({ids[name]}, [")
        out += ["        " + ", ".join(codes[i : i + 16]) + "," for i in range(0, 128, 16)]
        out.append("    ]),")
    out.append("];")
    write("character_set/tables.rs", out)


def time_zones():
    rows = table("time-zones.tsv")
    out = [
        "//! The named time zones in Firebird's order: the first is 65535, the others count down.",
        "//!",
        "//! Generated from data/time-zones.tsv by data/generate.py; do not edit.",
        "",
        "/// Names by 65535 - id.",
        "#[rustfmt::skip]",
        "pub(super) static ZONE_NAMES: &[&str] = &[",
    ]
    for position, (number, name) in enumerate(rows):
        assert int(number) == 65535 - position
        out.append(f'    "{name}",')
    out.append("];")
    write("temporal/zone_names.rs", out)


error_codes()
character_sets()
time_zones()
