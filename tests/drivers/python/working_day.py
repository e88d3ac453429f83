"""The working day of ../README.md for Python drivers of the DB-API.

What differs between drivers is a subclass of Driver (see ../python-firebirdsql/day.py); the checks, their order and
what they expect are here. Reports one line per check to stdout: "ok NAME", "FAIL NAME: why" or "skip NAME: why".
"""

import contextlib
import os
import re
import sys
import traceback
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path

SCHEMA = Path(os.environ["FIREBIRD_SCHEMA"])
ROWS = 10_000


class Skip(Exception):
    """Raised inside a check that this driver or this server cannot do."""


class Stop(Exception):
    """Raised when no attachment could be had: the checks that follow would only repeat that."""


class Driver:
    """What a driver adds to the DB-API, and where it departs from it."""

    host = os.environ["FIREBIRD_HOST"]
    port = int(os.environ["FIREBIRD_PORT"])
    user = os.environ["FIREBIRD_USER"]
    password = os.environ["FIREBIRD_PASSWORD"]
    database = os.environ["FIREBIRD_DATABASE"]
    server_version = int(os.environ.get("FIREBIRD_SERVER_VERSION", "5"))

    # Column types that the driver cannot represent; they travel as text.
    as_text = frozenset()

    def connect(self, database=None, password=None, user=None):
        """Attaches with character set UTF8."""
        raise NotImplementedError

    def connect_for_bulk(self):
        """Attaches in the driver's best way for moving megabytes."""
        return self.connect()

    def create_database(self):
        """Creates `self.database` and returns the attachment."""
        raise NotImplementedError

    def transaction(self, connection, isolation="snapshot", wait=True):
        """Starts a transaction of its own in `connection`: an object with cursor, commit, rollback and savepoint."""
        raise NotImplementedError

    def gds_codes(self, error):
        """The error's gds codes, as a set."""
        return set(error.gds_codes)

    def sqlstate(self, error):
        """The error's SQLSTATE, or None where the driver does not tell it."""
        return None

    def bind(self, value):
        """What to hand to the driver as a parameter that means `value`."""
        return value

    def version_from_service(self):
        """The server's version, as its services manager tells it."""
        raise Skip("the driver has no services")

    def make_user(self, connection, name, password):
        connection.cursor().execute(f"CREATE USER {name} PASSWORD '{password}'")
        connection.commit()

    def user_names(self, connection):
        cursor = connection.cursor()
        cursor.execute("SELECT TRIM(SEC$USER_NAME) FROM SEC$USERS")
        return {name for name, in cursor.fetchall()}

    def drop_user(self, connection, name):
        connection.cursor().execute(f"DROP USER {name}")
        connection.commit()

    def can_represent(self, declaration, value):
        """Whether the driver can send and return this value of a column declared so."""
        return True

    def fetched(self, value):
        """A value as the driver fetched it, as an ordinary Python value; called while its cursor is open."""
        return value

    def same_double(self, found, wanted):
        """Whether a DOUBLE PRECISION or FLOAT came back as it was sent."""
        return found == wanted


def offset(hours, minutes=0):
    return timezone(timedelta(hours=hours, minutes=minutes))


LATIN = ["", "plain", "äöüß ÀÉ"]
TYPES = {
    "SMALLINT": [-32768, 32767, 0],
    "INTEGER": [-2147483648, 2147483647, 0],
    "BIGINT": [-(2**63), 2**63 - 1, 0],
    "INT128": [-(2**127), 2**127 - 1, 0],
    "NUMERIC(4,2)": [Decimal("-327.68"), Decimal("327.67"), Decimal("0.01")],
    "NUMERIC(9,3)": [Decimal("-2147483.648"), Decimal("2147483.647"), Decimal("0.001")],
    "DECIMAL(4,2)": [Decimal("-21474836.48"), Decimal("21474836.47"), Decimal("0.01")],
    "NUMERIC(18,4)": [Decimal("-922337203685477.5808"), Decimal("922337203685477.5807"), Decimal("0.0001")],
    "NUMERIC(38,10)": [Decimal("-" + "9" * 28 + "." + "9" * 10), Decimal("9" * 28 + "." + "9" * 10), Decimal("0.0000000001")],
    "FLOAT": [-3.4028232635611926e38, 3.4028232635611926e38, 1.1754943508222875e-38, 0.5],
    "DOUBLE PRECISION": [-1.7976931348623157e308, 1.7976931348623157e308, 2.2250738585072014e-308, 0.1],
    "DECFLOAT(16)": [Decimal("-9.999999999999999E+384"), Decimal("9.999999999999999E+384"), Decimal("1E-383"), Decimal("-0.1")],
    "DECFLOAT(34)": [Decimal("-9." + "9" * 33 + "E+6144"), Decimal("9." + "9" * 33 + "E+6144"), Decimal("1E-6143"), Decimal("-0.1")],
    "BOOLEAN": [True, False],
    "DATE": [date(1, 1, 1), date(9999, 12, 31), date(2000, 2, 29), date(1858, 11, 17)],
    "TIME": [time(0, 0), time(23, 59, 59, 999900)],
    "TIMESTAMP": [datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999900), datetime(1969, 12, 31, 1, 2, 3, 400)],
    "TIME WITH TIME ZONE": [time(12, 34, 56, 789000, offset(2)), time(0, 0, 0, 0, offset(-3, -30))],
    "TIMESTAMP WITH TIME ZONE": [
        datetime(2024, 6, 30, 12, 34, 56, 789000, offset(5, 30)),
        datetime(1999, 12, 31, 23, 59, 59, 999900, offset(-8)),
    ],
    "CHAR(10) CHARACTER SET UTF8": ["", "äöü €", "😀中文"],
    "CHAR(10) CHARACTER SET WIN1252": ["", "äöü €"],
    "CHAR(10) CHARACTER SET ISO8859_1": ["", "äöüß ÀÉ"],
    "CHAR(10) CHARACTER SET ASCII": ["", "plain ~"],
    "CHAR(10) CHARACTER SET NONE": ["", "plain ~"],
    "CHAR(4) CHARACTER SET OCTETS": [b"\x00\x01\xfe\xff", b"abcd"],
    "VARCHAR(20) CHARACTER SET UTF8": ["", "äöü € ", "😀" * 20],
    "VARCHAR(20) CHARACTER SET WIN1252": ["", "äöü € "],
    "VARCHAR(20) CHARACTER SET ISO8859_1": ["", "äöüß ÀÉ "],
    "VARCHAR(20) CHARACTER SET ASCII": ["", "plain ~ "],
    "VARCHAR(20) CHARACTER SET NONE": ["", "plain ~ "],
    "VARCHAR(20) CHARACTER SET OCTETS": [b"", b"\x00\x01\xfe\xff"],
    "BLOB SUB_TYPE TEXT CHARACTER SET UTF8": ["", "äöü € 😀"],
    "BLOB SUB_TYPE TEXT CHARACTER SET WIN1252": ["", "äöü €"],
    "BLOB SUB_TYPE BINARY": [b"", b"\x00\x01\xfe\xff"],
}
SINCE_FIREBIRD_4 = {
    "INT128", "NUMERIC(38,10)", "DECFLOAT(16)", "DECFLOAT(34)", "TIME WITH TIME ZONE", "TIMESTAMP WITH TIME ZONE",
}

# check: statement, parameters, gds codes, SQLSTATE
ERRORS = {
    "syntax": ("SELEKT 1 FROM RDB$DATABASE", (), {335544569, 335544436, 335544634}, "42000"),
    "unknown table": ("SELECT * FROM NO_SUCH_TABLE", (), {335544569, 335544436, 335544580}, "42S02"),
    "unknown column": ("SELECT NO_SUCH_COLUMN FROM CUSTOMER", (), {335544569, 335544436, 335544578}, "42S22"),
    "unique": ("INSERT INTO CUSTOMER (NAME, EMAIL) VALUES (?, ?)", ("Second Ada", "ada@example.com"),
               {335544665, 335545072}, "23000"),
    "foreign key": ("INSERT INTO INVOICE (ID, CUSTOMER_ID) VALUES (?, ?)", (900, 12345), {335544466}, "23000"),
    "not null": ("INSERT INTO CUSTOMER (NAME) VALUES (?)", (None,), {335544347}, "23000"),
    "check": ("INSERT INTO INVOICE (ID, CUSTOMER_ID, QUANTITY) VALUES (?, ?, ?)", (901, 1, 0), {335544558}, "23000"),
    "conversion": ("SELECT CAST('twelve' AS INTEGER) FROM RDB$DATABASE", (), {335544334}, "22018"),
    "overflow": ("SELECT CAST(70000 AS SMALLINT) FROM RDB$DATABASE", (), {335544321, 335544916}, "22003"),
    "division by zero": ("SELECT 1 / 0 FROM RDB$DATABASE", (), {335544321, 335544778}, "22012"),
    "truncation": ("UPDATE INVOICE SET NOTE = 'eleven char' WHERE ID = 1", (), {335544321, 335544914}, "22001"),
}
UPDATE_CONFLICT = {335544336, 335544451}
LOGIN_FAILED = 335544472
FILE_NOT_FOUND = 335544344
UNIQUE_VIOLATION = 335544665


def statements(path):
    """The statements of an SQL file, without comments."""
    lines = [line for line in path.read_text().splitlines() if not line.startswith("--")]
    return [text.strip() for text in "\n".join(lines).split(";\n") if text.strip()]


def content(size):
    """`size` bytes that do not repeat with any power of two, and in which every byte value occurs."""
    block = bytes((i * 7 + i // 251) % 256 for i in range(251 * 256))
    return (block * (size // len(block) + 1))[:size]


def label(i):
    return f"row {i} ä€"


BLOB_SIZES = {"0 bytes": 0, "1 byte": 1, "60 KB": 60 * 1024, "70 KB": 70 * 1024, "5 MB": 5 * 1024 * 1024}
LONG_TEXT = "Grüße aus Köln – 10 € 😀\n" * 4000


class Day:
    def __init__(self, driver):
        self.driver = driver
        self.connection = None

    @contextlib.contextmanager
    def check(self, name):
        """Runs one check, reports it, and goes on with a fresh attachment if it failed."""
        try:
            yield
        except Stop:
            raise
        except Skip as reason:
            print(f"skip {name}: {reason}", flush=True)
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            text = " ".join(str(error).split())
            print(f"FAIL {name}: {type(error).__name__}: {text} ({Path(where.filename).name}:{where.lineno})", flush=True)
            self.recover()
        else:
            print(f"ok {name}", flush=True)

    def recover(self):
        with contextlib.suppress(Exception):
            self.connection.close()
        self.connection = None
        with contextlib.suppress(Exception):
            self.connection = self.driver.connect()

    def execute(self, sql, parameters=()):
        if self.connection is None:
            raise Stop("no attachment")
        cursor = self.connection.cursor()
        cursor.execute(sql, [self.driver.bind(p) for p in parameters])
        return cursor

    def query(self, sql, parameters=()):
        cursor = self.execute(sql, parameters)
        return [tuple(self.driver.fetched(value) for value in row) for row in cursor.fetchall()]

    def scalar(self, sql, parameters=()):
        return self.query(sql, parameters)[0][0]

    def expect_error(self, action, codes, sqlstate=None):
        """Runs `action`, which must fail with these gds codes (all of them; more may come) and this SQLSTATE."""
        try:
            action()
        except Exception as error:
            if not hasattr(error, "gds_codes"):
                raise
            got = self.driver.gds_codes(error)
            assert codes <= got, f"expected gds codes {sorted(codes)}, got {sorted(got)}: {error}"
            if sqlstate and self.driver.sqlstate(error):
                expect(self.driver.sqlstate(error), sqlstate)
        else:
            raise AssertionError(f"no error, expected gds codes {sorted(codes)}")

    def day(self):
        self.connect()
        self.ddl()
        for number, (declaration, values) in enumerate(TYPES.items()):
            with self.check(f"type: {declaration}"):
                self.one_type(number, declaration, values)
        self.parameters()
        self.rows()
        self.blobs()
        self.errors()
        self.transactions()

    def connect(self):
        with self.check("connect: wrong password"):
            self.expect_error(lambda: self.driver.connect(password="not the password"), {LOGIN_FAILED}, "28000")
        with self.check("connect: create database"):
            self.connection = self.driver.create_database()
            expect(self.scalar("SELECT 1 FROM RDB$DATABASE"), 1)
            self.connection.close()
        with self.check("connect: missing database"):
            self.expect_error(lambda: self.driver.connect(database=self.driver.database + ".none"), {FILE_NOT_FOUND}, "08001")
        with self.check("connect: right password"):
            self.connection = self.driver.connect()
            expect(self.scalar("SELECT CURRENT_USER FROM RDB$DATABASE").strip(), self.driver.user.upper())

    def ddl(self):
        with self.check("ddl: schema"):
            for statement in statements(SCHEMA):
                self.execute(statement)
            self.connection.commit()
            names = self.query(
                "SELECT TRIM(RDB$RELATION_NAME) FROM RDB$RELATIONS WHERE RDB$SYSTEM_FLAG = 0 ORDER BY RDB$RELATION_NAME")
            expect([n for n, in names], ["ACCOUNT", "BLOBS", "CUSTOMER", "INVOICE", "INVOICE_OF_CUSTOMER", "MANY"])
        with self.check("ddl: rolled back"):
            self.execute("CREATE TABLE NEVER (ID INTEGER)")
            self.connection.rollback()
            self.expect_error(lambda: self.execute("SELECT * FROM NEVER"), {335544580}, "42S02")
            self.connection.rollback()

    def one_type(self, number, declaration, values):
        """Writes NULL and the values into a column of the type and reads them back, also by a WHERE on the column."""
        if declaration in SINCE_FIREBIRD_4 and self.driver.server_version < 4:
            raise Skip("needs Firebird 4")
        as_text = declaration in self.driver.as_text
        table = f"T_{number}"
        self.execute(f"CREATE TABLE {table} (ID INTEGER NOT NULL PRIMARY KEY, V {declaration})")
        self.connection.commit()
        values = self.representable(declaration, values)
        marker = f"CAST(CAST(? AS VARCHAR(60)) AS {declaration})" if as_text else "?"
        for row, value in enumerate([None, *values]):
            bound = sql_text(value) if as_text else value
            self.execute(f"INSERT INTO {table} (ID, V) VALUES (?, {marker})", [row, bound])
        self.connection.commit()
        column = "CAST(V AS VARCHAR(60))" if as_text else "V"
        got = self.query(f"SELECT ID, {column} FROM {table} ORDER BY ID")
        for (row, found), (wanted_row, wanted) in zip(got, enumerate([None, *values]), strict=True):
            expect(row, wanted_row)
            self.expect_value(found, wanted, declaration)
        expect(self.scalar(f"SELECT COUNT(*) FROM {table} WHERE V IS NULL"), 1)
        self.connection.commit()

    def representable(self, declaration, values):
        return [value for value in values if self.driver.can_represent(declaration, value)]

    def expect_value(self, found, wanted, declaration):
        found = self.readable(found, wanted, declaration)
        if isinstance(found, float) and isinstance(wanted, float) and self.driver.same_double(found, wanted):
            return
        expect(found, wanted)

    def readable(self, found, wanted, declaration):
        """The value found, in the Python type of the value wanted."""
        if found is None or wanted is None:
            return found
        if declaration in self.driver.as_text:
            return from_sql_text(found, wanted)
        if isinstance(wanted, bytes) and isinstance(found, str):
            return found.encode()
        if isinstance(found, str) and declaration.startswith("CHAR("):
            return found.rstrip(" ")
        return found

    def parameters(self):
        with self.check("parameters: all kinds at once"):
            moment = datetime(2024, 2, 29, 13, 14, 15, 161700)
            row = (7, "Grüße €", Decimal("12.3456"), moment, date(2024, 2, 29), True, None)
            got = self.query(
                "SELECT CAST(? AS INTEGER), CAST(? AS VARCHAR(20) CHARACTER SET UTF8), CAST(? AS NUMERIC(18,4)),"
                " CAST(? AS TIMESTAMP), CAST(? AS DATE), CAST(? AS BOOLEAN), CAST(? AS INTEGER) FROM RDB$DATABASE", row)
            expect(got, [row])
        with self.check("parameters: where"):
            self.execute("INSERT INTO CUSTOMER (NAME, EMAIL) VALUES (?, ?)", ("Ada", "ada@example.com"))
            self.execute("INSERT INTO CUSTOMER (NAME, EMAIL, CREDIT) VALUES (?, ?, ?)", ("Bob", None, Decimal("12.5")))
            self.connection.commit()
            expect(self.query("SELECT ID, NAME, CREDIT FROM CUSTOMER WHERE NAME = ? AND CREDIT > ?", ("Bob", Decimal("12.4"))),
                   [(2, "Bob", Decimal("12.5"))])
            expect(self.query("SELECT NAME FROM CUSTOMER WHERE EMAIL STARTING WITH ?", ("ada@",)), [("Ada",)])
        with self.check("parameters: returning"):
            sql = "INSERT INTO INVOICE (ID, CUSTOMER_ID, QUANTITY, PRICE) VALUES (NEXT VALUE FOR SEQ_INVOICE, ?, ?, ?) RETURNING ID, TOTAL"
            cursor = self.execute(sql, (1, 3, Decimal("1.25")))
            expect(tuple(cursor.fetchone()), (1, Decimal("3.75")))
            self.connection.commit()
            expect(self.query("SELECT CUSTOMER, INVOICE, TOTAL FROM INVOICE_OF_CUSTOMER"), [("Ada", 1, Decimal("3.75"))])
        with self.check("parameters: executed again"):
            cursor = self.connection.cursor()
            for i in range(50):
                cursor.execute("SELECT CAST(? AS INTEGER) + 1 FROM RDB$DATABASE", [i])
                expect(cursor.fetchone()[0], i + 1)
            self.connection.commit()

    def rows(self):
        start = datetime(2024, 1, 1)
        many = [(i, label(i), Decimal(i) / 10000, start + timedelta(seconds=i)) for i in range(ROWS)]
        with self.check("rows: 10000 inserted"):
            cursor = self.connection.cursor()
            cursor.executemany("INSERT INTO MANY (ID, LABEL, AMOUNT, MOMENT) VALUES (?, ?, ?, ?)", many)
            self.connection.commit()
            expect(self.scalar("SELECT COUNT(*) FROM MANY"), ROWS)
        with self.check("rows: 10000 fetched"):
            expect(self.query("SELECT ID, LABEL, AMOUNT, MOMENT FROM MANY ORDER BY ID") == many, True)
            expect(self.query("SELECT SUM(ID), MIN(LABEL), MAX(AMOUNT) FROM MANY"),
                   [(sum(range(ROWS)), label(0), Decimal("0.9999"))])
        with self.check("rows: two cursors at once"):
            up, down = self.connection.cursor(), self.connection.cursor()
            up.execute("SELECT ID FROM MANY ORDER BY ID")
            down.execute("SELECT ID FROM MANY ORDER BY ID DESC")
            for i in range(ROWS):
                expect((up.fetchone()[0], down.fetchone()[0]), (i, ROWS - 1 - i))
            expect((up.fetchone(), down.fetchone()), (None, None))
            self.connection.commit()
        with self.check("rows: affected"):
            expect(self.execute("UPDATE MANY SET AMOUNT = AMOUNT + 1 WHERE ID < ?", (1000,)).rowcount, 1000)
            expect(self.execute("DELETE FROM MANY WHERE ID >= ?", (ROWS - 10,)).rowcount, 10)
            expect(self.scalar("SELECT COUNT(*) FROM MANY WHERE AMOUNT >= 1"), 1000)
            self.connection.rollback()
            expect(self.scalar("SELECT COUNT(*) FROM MANY WHERE AMOUNT < 1"), ROWS)

    def blobs(self):
        for row, (name, size) in enumerate(BLOB_SIZES.items()):
            with self.check(f"blob: {name}"):
                if size > 1024 * 1024:
                    self.connection.close()
                    self.connection = self.driver.connect_for_bulk()
                self.execute("INSERT INTO BLOBS (ID, BYTES) VALUES (?, ?)", (row, content(size)))
                self.connection.commit()
                self.same_blob(row, size)
        with self.check("blob: text"):
            self.execute("INSERT INTO BLOBS (ID, TEXT) VALUES (?, ?)", (10, LONG_TEXT))
            self.connection.commit()
            found = self.scalar("SELECT TEXT FROM BLOBS WHERE ID = 10")
            expect(found == LONG_TEXT, True)
            expect(self.scalar("SELECT CHAR_LENGTH(TEXT) FROM BLOBS WHERE ID = 10"), len(LONG_TEXT))
            self.connection.commit()

    def same_blob(self, row, size):
        found = self.scalar("SELECT BYTES FROM BLOBS WHERE ID = ?", (row,))
        expect(len(found), size)
        expect(found == content(size), True)
        expect(self.scalar("SELECT OCTET_LENGTH(BYTES) FROM BLOBS WHERE ID = ?", (row,)), size)
        self.connection.commit()

    def errors(self):
        for name, (sql, parameters, codes, sqlstate) in ERRORS.items():
            with self.check(f"error: {name}"):
                self.expect_error(lambda: self.query(sql, parameters), codes, sqlstate)
                self.connection.rollback()
                expect(self.scalar("SELECT 1 FROM RDB$DATABASE"), 1)

    def transactions(self):
        balance = "SELECT BALANCE FROM ACCOUNT WHERE ID = 1"
        add = "UPDATE ACCOUNT SET BALANCE = BALANCE + ? WHERE ID = 1"
        other = self.driver.connect()

        def start(isolation, wait=True, connection=None):
            return self.driver.transaction(connection or self.connection, isolation, wait)

        def run(transaction, sql, parameters=()):
            cursor = transaction.cursor()
            cursor.execute(sql, list(parameters))
            return cursor

        with self.check("transaction: rollback"):
            self.execute("INSERT INTO ACCOUNT (ID, BALANCE) VALUES (1, 100)")
            self.connection.commit()
            self.execute(add, (1,))
            expect(self.scalar(balance), 101)
            self.connection.rollback()
            expect(self.scalar(balance), 100)
            self.connection.commit()
        with self.check("transaction: isolation"):
            snapshot = start("snapshot", connection=other)
            expect(run(snapshot, balance).fetchone()[0], 100)
            reader = start("read committed", connection=other)
            self.execute(add, (10,))
            expect(run(reader, balance).fetchone()[0], 100)
            self.connection.commit()
            expect(run(reader, balance).fetchone()[0], 110)
            expect(run(snapshot, balance).fetchone()[0], 100)
            reader.rollback()
            snapshot.rollback()
        with self.check("transaction: no wait conflict"):
            self.execute(add, (1,))
            impatient = start("read committed", wait=False, connection=other)
            self.expect_error(lambda: run(impatient, add, (2,)), UPDATE_CONFLICT, "40001")
            impatient.rollback()
            self.connection.rollback()
        with self.check("transaction: snapshot conflict"):
            late = start("snapshot", connection=other)
            expect(run(late, balance).fetchone()[0], 110)
            self.execute(add, (5,))
            self.connection.commit()
            self.expect_error(lambda: run(late, add, (7,)), UPDATE_CONFLICT, "40001")
            late.rollback()
            expect(self.scalar(balance), 115)
            self.connection.commit()
        with self.check("transaction: savepoint"):
            work = start("snapshot")
            run(work, add, (1,))
            work.savepoint("HALF")
            run(work, add, (1000,))
            work.rollback(savepoint="HALF")
            expect(run(work, balance).fetchone()[0], 116)
            work.commit()
            expect(self.scalar(balance), 116)
            self.connection.commit()
        with self.check("transaction: failed statement undone alone"):
            self.execute("INSERT INTO ACCOUNT (ID, BALANCE) VALUES (2, 0)")
            both = "INSERT INTO ACCOUNT (ID, BALANCE) SELECT 4 - ID, 0 FROM ACCOUNT ORDER BY ID"
            self.expect_error(lambda: self.execute(both), {UNIQUE_VIOLATION}, "23000")
            expect(self.query("SELECT ID FROM ACCOUNT ORDER BY ID"), [(1,), (2,)])
            self.connection.commit()
            expect(self.scalar("SELECT COUNT(*) FROM ACCOUNT"), 2)
            self.connection.commit()
        with self.check("transaction: two in one attachment"):
            first, second = start("read committed"), start("read committed")
            run(first, "INSERT INTO ACCOUNT (ID, BALANCE) VALUES (5, 5)")
            run(second, "INSERT INTO ACCOUNT (ID, BALANCE) VALUES (6, 6)")
            expect(run(second, "SELECT COUNT(*) FROM ACCOUNT WHERE ID = 5").fetchone()[0], 0)
            first.rollback()
            second.commit()
            expect(self.query("SELECT ID FROM ACCOUNT ORDER BY ID"), [(1,), (2,), (6,)])
            self.connection.commit()
        with self.check("service: server version"):
            version = self.driver.version_from_service()
            assert re.match(r"\d+\.\d+", version), version
        with self.check("users: created, logged in, dropped"):
            self.users()
        with self.check("transaction: left open"):
            self.execute("INSERT INTO ACCOUNT (ID, BALANCE) VALUES (99, 99)")
            expect(self.scalar("SELECT BALANCE FROM ACCOUNT WHERE ID = 99"), 99)
            # The process ends with this transaction open.

    def users(self):
        name, driver = os.environ.get("FIREBIRD_GUEST", f"EVE_{os.getpid()}"), self.driver
        driver.make_user(self.connection, name, "first secret")
        assert name in driver.user_names(self.connection), "the new user is not listed"
        guest = driver.connect(user=name.lower(), password="first secret")
        cursor = guest.cursor()
        cursor.execute("SELECT CURRENT_USER FROM RDB$DATABASE")
        expect(cursor.fetchone()[0].strip(), name)
        cursor.close()
        guest.commit()
        guest.close()
        driver.drop_user(self.connection, name)
        assert name not in driver.user_names(self.connection), "the dropped user is listed"
        self.expect_error(lambda: driver.connect(user=name, password="first secret"), {LOGIN_FAILED}, "28000")

    def after_restart(self):
        with self.check("restart: reconnect"):
            self.connection = self.driver.connect_for_bulk()
            expect(self.scalar("SELECT 1 FROM RDB$DATABASE"), 1)
        with self.check("restart: rows"):
            expect(self.query("SELECT COUNT(*), SUM(ID), MAX(LABEL) FROM MANY"), [(ROWS, sum(range(ROWS)), label(ROWS - 1))])
            expect(self.query("SELECT NAME, EMAIL, CREDIT FROM CUSTOMER ORDER BY ID"),
                   [("Ada", "ada@example.com", Decimal(0)), ("Bob", None, Decimal("12.5"))])
            expect(self.query("SELECT ID, BALANCE FROM ACCOUNT WHERE ID < 99 ORDER BY ID"), [(1, 116), (2, 0), (6, 6)])
        with self.check("restart: types"):
            for number, (declaration, values) in enumerate(TYPES.items()):
                if declaration in SINCE_FIREBIRD_4 | self.driver.as_text:
                    continue
                found = self.query(f"SELECT V FROM T_{number} ORDER BY ID")
                wanted = [None, *self.representable(declaration, values)]
                expect(len(found), len(wanted))
                for (value,), wanted_value in zip(found, wanted):
                    self.expect_value(value, wanted_value, declaration)
        with self.check("restart: blobs"):
            for row, size in enumerate(BLOB_SIZES.values()):
                self.same_blob(row, size)
            expect(self.scalar("SELECT TEXT FROM BLOBS WHERE ID = 10") == LONG_TEXT, True)
        with self.check("restart: constraints"):
            for name in ("unique", "foreign key", "not null", "check"):
                sql, parameters, codes, sqlstate = ERRORS[name]
                self.expect_error(lambda: self.execute(sql, parameters), codes, sqlstate)
            self.connection.rollback()
        with self.check("restart: sequence"):
            expect(self.scalar("SELECT NEXT VALUE FOR SEQ_INVOICE FROM RDB$DATABASE"), 2)
            cursor = self.execute("INSERT INTO CUSTOMER (NAME) VALUES ('Eve') RETURNING ID")
            assert cursor.fetchone()[0] > 2, "the identity column repeated a value"
            self.connection.commit()
        with self.check("restart: left open is gone"):
            expect(self.scalar("SELECT COUNT(*) FROM ACCOUNT WHERE ID = 99"), 0)
            self.connection.close()


def expect(found, wanted):
    if found != wanted or type(found) is not type(wanted):
        raise AssertionError(f"expected {wanted!r}, got {found!r}"[:400])


def sql_text(value):
    """A value as SQL would write it."""
    if value is None:
        return None
    if isinstance(value, (time, datetime)):
        clock = value.strftime("%H:%M:%S.") + f"{value.microsecond // 100:04}"
        zone = value.isoformat()[-6:]
        return f"{value.date().isoformat()} {clock} {zone}" if isinstance(value, datetime) else f"{clock} {zone}"
    return str(value)


def from_sql_text(text, wanted):
    """Firebird's text for a value, as a value of the same Python type as `wanted`."""
    text = text.strip()
    if isinstance(wanted, time):
        clock, zone = text.split(" ")
        return time.fromisoformat(f"{clock}00{zone}")
    if isinstance(wanted, datetime):
        day, clock, zone = text.split(" ")
        return datetime.fromisoformat(f"{day}T{clock}00{zone}")
    return type(wanted)(text)


def main(driver):
    day = Day(driver)
    with contextlib.suppress(Stop):
        day.day() if sys.argv[1] == "day" else day.after_restart()
    # Not sys.exit: open attachments are to be cut, as a crashed program would cut them.
    os._exit(0)
