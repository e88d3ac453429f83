package main

import (
	"fmt"
	"strings"
	"time"
)

const (
	rows     = 10_000
	longText = "Grüße aus Köln – 10 € 😀\n"
)

// columnType is a column declaration and the values, besides NULL, that must come back as they were sent.
type columnType struct {
	declaration string
	values      []any
}

// The driver returns scaled and 128-bit integers and DECFLOAT as text, FLOAT as float64.
var types = []columnType{
	{"SMALLINT", []any{int64(-32768), int64(32767), int64(0)}},
	{"INTEGER", []any{int64(-2147483648), int64(2147483647), int64(0)}},
	{"BIGINT", []any{int64(-9223372036854775808), int64(9223372036854775807), int64(0)}},
	{"INT128", []any{"-170141183460469231731687303715884105728", "170141183460469231731687303715884105727", "0"}},
	{"NUMERIC(4,2)", []any{"-327.68", "327.67", "0.01"}},
	{"NUMERIC(9,3)", []any{"-2147483.648", "2147483.647", "0.001"}},
	{"DECIMAL(4,2)", []any{"-21474836.48", "21474836.47", "0.01"}},
	{"NUMERIC(18,4)", []any{"-922337203685477.5808", "922337203685477.5807", "0.0001"}},
	{"NUMERIC(38,10)", []any{"-" + nines(28) + "." + nines(10), nines(28) + "." + nines(10), "1E-10"}},
	{"FLOAT", []any{-3.4028232635611926e38, 3.4028232635611926e38, 0.5}},
	{"DOUBLE PRECISION", []any{-1.7976931348623157e308, 1.7976931348623157e308, 2.2250738585072014e-308, 0.1}},
	{"DECFLOAT(16)", []any{"-9.999999999999999E+384", "9.999999999999999E+384", "1E-383", "-0.1"}},
	{"DECFLOAT(34)", []any{"-9." + nines(33) + "E+6144", "9." + nines(33) + "E+6144", "1E-6143", "-0.1"}},
	{"BOOLEAN", []any{true, false}},
	{"DATE", []any{day(1, 1, 1), day(9999, 12, 31), day(2000, 2, 29), day(1858, 11, 17)}},
	{"TIME", []any{clock(0, 0, 0, 0), clock(23, 59, 59, 999_900_000)}},
	{"TIMESTAMP", []any{day(1, 1, 1), time.Date(9999, 12, 31, 23, 59, 59, 999_900_000, time.UTC), time.Date(1969, 12, 31, 1, 2, 3, 400_000, time.UTC)}},
	{"TIME WITH TIME ZONE", []any{zoned("15:04:05.0000 -07:00", "12:34:56.7890 +02:00"), zoned("15:04:05.0000 -07:00", "00:00:00.0000 -03:30")}},
	{"TIMESTAMP WITH TIME ZONE", []any{zoned("2006-01-02 15:04:05.0000 -07:00", "2024-06-30 12:34:56.7890 +05:30"), zoned("2006-01-02 15:04:05.0000 -07:00", "1999-12-31 23:59:59.9999 -08:00")}},
	{"CHAR(10) CHARACTER SET UTF8", []any{"", "äöü €", "😀中文"}},
	{"CHAR(10) CHARACTER SET WIN1252", []any{"", "äöü €"}},
	{"CHAR(10) CHARACTER SET ISO8859_1", []any{"", "äöüß ÀÉ"}},
	{"CHAR(10) CHARACTER SET ASCII", []any{"", "plain ~"}},
	{"CHAR(10) CHARACTER SET NONE", []any{"", "plain ~"}},
	{"CHAR(4) CHARACTER SET OCTETS", []any{[]byte{0, 1, 0xFE, 0xFF}, []byte("abcd")}},
	{"VARCHAR(20) CHARACTER SET UTF8", []any{"", "äöü € ", strings.Repeat("😀", 20)}},
	{"VARCHAR(20) CHARACTER SET WIN1252", []any{"", "äöü € "}},
	{"VARCHAR(20) CHARACTER SET ISO8859_1", []any{"", "äöüß ÀÉ "}},
	{"VARCHAR(20) CHARACTER SET ASCII", []any{"", "plain ~ "}},
	{"VARCHAR(20) CHARACTER SET NONE", []any{"", "plain ~ "}},
	{"VARCHAR(20) CHARACTER SET OCTETS", []any{[]byte{}, []byte{0, 1, 0xFE, 0xFF}}},
	{"BLOB SUB_TYPE TEXT CHARACTER SET UTF8", []any{"", "äöü € 😀"}},
	{"BLOB SUB_TYPE TEXT CHARACTER SET WIN1252", []any{"", "äöü €"}},
	{"BLOB SUB_TYPE BINARY", []any{[]byte{}, []byte{0, 1, 0xFE, 0xFF}}},
}

var sinceFirebird4 = map[string]bool{
	"INT128": true, "NUMERIC(38,10)": true, "DECFLOAT(16)": true, "DECFLOAT(34)": true,
	"TIME WITH TIME ZONE": true, "TIMESTAMP WITH TIME ZONE": true,
}

// failure is a statement that must fail, and a gds code of its status vector.
type failure struct {
	check      string
	sql        string
	parameters []any
	code       int
}

const (
	loginFailed     = 335544472
	fileNotFound    = 335544344
	unknownTable    = 335544580
	uniqueViolation = 335544665
	updateConflict  = 335544451
)

var failures = []failure{
	{"syntax", "SELEKT 1 FROM RDB$DATABASE", nil, 335544634},
	{"unknown table", "SELECT * FROM NO_SUCH_TABLE", nil, unknownTable},
	{"unknown column", "SELECT NO_SUCH_COLUMN FROM CUSTOMER", nil, 335544578},
	{"unique", "INSERT INTO CUSTOMER (NAME, EMAIL) VALUES (?, ?)", []any{"Second Ada", "ada@example.com"}, uniqueViolation},
	{"foreign key", "INSERT INTO INVOICE (ID, CUSTOMER_ID) VALUES (?, ?)", []any{900, 12345}, 335544466},
	{"not null", "INSERT INTO CUSTOMER (NAME) VALUES (?)", []any{nil}, 335544347},
	{"check", "INSERT INTO INVOICE (ID, CUSTOMER_ID, QUANTITY) VALUES (?, ?, ?)", []any{901, 1, 0}, 335544558},
	{"conversion", "SELECT CAST('twelve' AS INTEGER) FROM RDB$DATABASE", nil, 335544334},
	{"overflow", "SELECT CAST(70000 AS SMALLINT) FROM RDB$DATABASE", nil, 335544916},
	{"division by zero", "SELECT 1 / 0 FROM RDB$DATABASE", nil, 335544778},
	{"truncation", "UPDATE INVOICE SET NOTE = 'eleven char' WHERE ID = 1", nil, 335544914},
}

type blobSize struct {
	name  string
	bytes int
}

var blobSizes = []blobSize{{"0 bytes", 0}, {"1 byte", 1}, {"60 KB", 60 * 1024}, {"70 KB", 70 * 1024}, {"5 MB", 5 * 1024 * 1024}}

// content is bytes that do not repeat with any power of two, and in which every value occurs.
func content(size int) []byte {
	bytes := make([]byte, size)
	for i := range bytes {
		j := i % (251 * 256)
		bytes[i] = byte(j*7 + j/251)
	}
	return bytes
}

func label(i int) string { return fmt.Sprintf("row %d ä€", i) }

func nines(n int) string { return strings.Repeat("9", n) }

func day(year, month, day int) time.Time {
	return time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
}

func clock(hour, minute, second, nanosecond int) time.Time {
	return time.Date(0, 1, 1, hour, minute, second, nanosecond, time.UTC)
}

func zoned(layout, text string) time.Time {
	value, err := time.Parse(layout, text)
	if err != nil {
		panic(err)
	}
	return value
}
