//! What the working day writes and expects to read.

/// How a column's values are read.
#[derive(Clone, Copy, PartialEq)]
pub enum Read {
    /// As the driver gives them, shown as text.
    Native,
    /// As bytes: binary BLOBs.
    Bytes,
    /// By `CAST(V AS VARCHAR(60))`: types that the driver lacks, or turns into doubles.
    AsText,
}

/// A column declaration, how to read it, whether it needs Firebird 4, and the values besides NULL.
pub type ColumnType = (&'static str, Read, bool, &'static [&'static str]);

const NINES: &str = "9999999999999999999999999999.9999999999";
const MINUS_NINES: &str = "-9999999999999999999999999999.9999999999";

/// Values are bound as text and converted by the server. DATE, TIME and TIMESTAMP are read as the driver's timestamps.
pub const TYPES: &[ColumnType] = &[
    ("SMALLINT", Read::Native, false, &["-32768", "32767", "0"]),
    ("INTEGER", Read::Native, false, &["-2147483648", "2147483647", "0"]),
    ("BIGINT", Read::Native, false, &["-9223372036854775808", "9223372036854775807", "0"]),
    (
        "INT128",
        Read::Native,
        true,
        &["-170141183460469231731687303715884105728", "170141183460469231731687303715884105727", "0"],
    ),
    ("NUMERIC(4,2)", Read::Native, false, &["-327.68", "327.67", "0.01"]),
    ("NUMERIC(9,3)", Read::Native, false, &["-2147483.648", "2147483.647", "0.001"]),
    ("DECIMAL(4,2)", Read::Native, false, &["-21474836.48", "21474836.47", "0.01"]),
    ("NUMERIC(18,4)", Read::AsText, false, &["-922337203685477.5808", "922337203685477.5807", "0.0001"]),
    ("NUMERIC(38,10)", Read::AsText, true, &[MINUS_NINES, NINES, "0.0000000001"]),
    ("FLOAT", Read::Native, false, &["-1048576.5", "16777215", "0.5"]),
    ("DOUBLE PRECISION", Read::Native, false, &["-9007199254740991", "1000000000000000000000", "0.1"]),
    (
        "DECFLOAT(16)",
        Read::AsText,
        true,
        &["-9.999999999999999E+384", "9.999999999999999E+384", "1E-383", "-0.1"],
    ),
    (
        "DECFLOAT(34)",
        Read::AsText,
        true,
        &[
            "-9.999999999999999999999999999999999E+6144",
            "9.999999999999999999999999999999999E+6144",
            "1E-6143",
            "-0.1",
        ],
    ),
    ("BOOLEAN", Read::Native, false, &["true", "false"]),
    ("DATE", Read::Native, false, &["0001-01-01", "9999-12-31", "2000-02-29", "1858-11-17"]),
    ("TIME", Read::Native, false, &["00:00:00", "23:59:59.9999"]),
    (
        "TIMESTAMP",
        Read::Native,
        false,
        &["0001-01-01 00:00:00", "9999-12-31 23:59:59.9999", "1969-12-31 01:02:03.0004"],
    ),
    ("TIME WITH TIME ZONE", Read::AsText, true, &["12:34:56.7890 +02:00", "00:00:00.0000 -03:30"]),
    (
        "TIMESTAMP WITH TIME ZONE",
        Read::AsText,
        true,
        &["2024-06-30 12:34:56.7890 +05:30", "1999-12-31 23:59:59.9999 -08:00"],
    ),
    ("CHAR(10) CHARACTER SET UTF8", Read::Native, false, &["", "äöü €", "😀中文"]),
    ("CHAR(10) CHARACTER SET WIN1252", Read::Native, false, &["", "äöü €"]),
    ("CHAR(10) CHARACTER SET ISO8859_1", Read::Native, false, &["", "äöüß ÀÉ"]),
    ("CHAR(10) CHARACTER SET ASCII", Read::Native, false, &["", "plain ~"]),
    ("CHAR(10) CHARACTER SET NONE", Read::Native, false, &["", "plain ~"]),
    // The driver reads OCTETS as text of the attachment's character set.
    ("CHAR(4) CHARACTER SET OCTETS", Read::Native, false, &["\0\u{1}ab", "abcd"]),
    (
        "VARCHAR(20) CHARACTER SET UTF8",
        Read::Native,
        false,
        &["", "äöü € ", "😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀"],
    ),
    ("VARCHAR(20) CHARACTER SET WIN1252", Read::Native, false, &["", "äöü € "]),
    ("VARCHAR(20) CHARACTER SET ISO8859_1", Read::Native, false, &["", "äöüß ÀÉ "]),
    ("VARCHAR(20) CHARACTER SET ASCII", Read::Native, false, &["", "plain ~ "]),
    ("VARCHAR(20) CHARACTER SET NONE", Read::Native, false, &["", "plain ~ "]),
    ("VARCHAR(20) CHARACTER SET OCTETS", Read::Native, false, &["", "\0\u{1}ab"]),
    ("BLOB SUB_TYPE TEXT CHARACTER SET UTF8", Read::Native, false, &["", "äöü € 😀"]),
    ("BLOB SUB_TYPE TEXT CHARACTER SET WIN1252", Read::Native, false, &["", "äöü €"]),
    ("BLOB SUB_TYPE BINARY", Read::Bytes, false, &["", "\0\u{1}ab"]),
];

/// A statement that must fail, and what its message must contain: the driver hands out no gds codes.
pub type Failure = (&'static str, &'static str, &'static str);

pub const ERRORS: &[Failure] = &[
    ("syntax", "SELEKT 1 FROM RDB$DATABASE", "Token unknown"),
    ("unknown table", "SELECT * FROM NO_SUCH_TABLE", "Table unknown"),
    ("unknown column", "SELECT NO_SUCH_COLUMN FROM CUSTOMER", "Column unknown"),
    (
        "unique",
        "INSERT INTO CUSTOMER (NAME, EMAIL) VALUES ('Second Ada', 'ada@example.com')",
        "UQ_CUSTOMER_EMAIL",
    ),
    ("foreign key", "INSERT INTO INVOICE (ID, CUSTOMER_ID) VALUES (900, 12345)", "FK_INVOICE_CUSTOMER"),
    ("not null", "INSERT INTO CUSTOMER (NAME) VALUES (NULL)", "validation error for column"),
    ("check", "INSERT INTO INVOICE (ID, CUSTOMER_ID, QUANTITY) VALUES (901, 1, 0)", "CK_INVOICE_QUANTITY"),
    ("conversion", "SELECT CAST('twelve' AS INTEGER) FROM RDB$DATABASE", "twelve"),
    ("overflow", "SELECT CAST(70000 AS SMALLINT) FROM RDB$DATABASE", "numeric value is out of range"),
    ("division by zero", "SELECT 1 / 0 FROM RDB$DATABASE", "Integer divide by zero"),
    ("truncation", "UPDATE INVOICE SET NOTE = 'eleven char' WHERE ID = 1", "string right truncation"),
];

pub const ROWS: i64 = 10_000;

pub const BLOB_SIZES: &[(&str, usize)] =
    &[("0 bytes", 0), ("1 byte", 1), ("60 KB", 60 * 1024), ("70 KB", 70 * 1024), ("5 MB", 5 * 1024 * 1024)];

/// Bytes that do not repeat with any power of two, and in which every value occurs.
pub fn content(size: usize) -> Vec<u8> {
    (0..size).map(|i| i % (251 * 256)).map(|i| ((i * 7 + i / 251) % 256) as u8).collect()
}

pub fn long_text() -> String {
    "Grüße aus Köln – 10 € 😀\n".repeat(4000)
}

pub fn label(i: i64) -> String {
    format!("row {i} ä€")
}
