"""Runs a script at a server and describes each answer in lines of text.

What is described: columns with names, types, lengths, scales, sub types, character sets and origin; rows; how many rows were
changed; errors with SQLSTATE, codes and texts. It goes through the interfaces of Firebird's own client library, and so sees
what every program sees, undisturbed by what a driver makes of it.
"""

import datetime
import struct
from ctypes import byref, create_string_buffer

from firebird import driver
from firebird.driver import core, fbapi, interfaces
from firebird.driver.types import DatabaseError, PreparePrefetchFlag, StatementFlag, StateResult

ROWS_MAX = 300
BLOB_BYTES_MAX = 2_000

# They are executed in a transaction of their own, as isql does it.
DEFINITIONS = {"CREATE", "ALTER", "DROP", "RECREATE", "GRANT", "REVOKE", "COMMENT", "DECLARE"}

# isc_tpb_version3, write, concurrency, wait: what isql begins with.
TRANSACTION = bytes([3, 9, 2, 6])

TYPES = {
    452: "CHAR", 448: "VARCHAR", 500: "SMALLINT", 496: "INTEGER", 580: "BIGINT", 32752: "INT128", 482: "FLOAT", 480: "DOUBLE",
    530: "D_FLOAT", 510: "TIMESTAMP", 570: "DATE", 560: "TIME", 520: "BLOB", 540: "ARRAY", 550: "QUAD", 32756: "TIME TZ",
    32754: "TIMESTAMP TZ", 32760: "DECFLOAT(16)", 32762: "DECFLOAT(34)", 32764: "BOOLEAN", 32766: "NULL",
}
# They have a length that says something.
TEXTS = {452, 448}
NUMBERS = {500, 496, 580, 32752}

RECORD_COUNTS = {14: "inserted", 15: "updated", 16: "deleted"}


class Side:
    """One attachment, to a database that is made for it."""

    def __init__(self, dsn, user, password, script):
        driver.driver_config.db_defaults.db_charset.value = script.charset
        driver.driver_config.db_defaults.db_sql_dialect.value = script.dialect
        driver.driver_config.db_defaults.sql_dialect.value = script.dialect
        self.connection = driver.create_database(
            dsn, user=user, password=password, charset="UTF8", overwrite=True, session_time_zone="UTC")
        self.attachment = self.connection._att
        self.attachment.encoding = "utf-8"
        self.dialect = script.client_dialect or script.dialect
        self.util = core._util
        self.transaction = None

    def close(self):
        try:
            self.roll_back()
            self.connection.drop_database()
        except DatabaseError:
            self.connection.close()

    def answer(self, text):
        """The lines that describe what a statement did."""
        words = text.upper().split()
        try:
            if words[:2] == ["SET", "TRANSACTION"]:
                self.commit()
                self.begin_by(text)
                return ["ok"]
            if words in (["COMMIT"], ["COMMIT", "WORK"]):
                self.commit()
                return ["ok"]
            if words in (["ROLLBACK"], ["ROLLBACK", "WORK"]):
                self.roll_back()
                return ["ok"]
            if words[0] in DEFINITIONS:
                return self.define(text)
            self.begin()
            return self.execute(text)
        except DatabaseError as error:
            return described(error)

    def define(self, text):
        try:
            self.commit()
            self.begin()
            lines = self.execute(text)
            self.commit()
            return lines
        except DatabaseError:
            self.roll_back()
            raise

    def begin(self):
        if self.transaction is None:
            self.transaction = self.attachment.start_transaction(TRANSACTION)

    def begin_by(self, text):
        """SET TRANSACTION: the statement makes the transaction."""
        encoded = text.encode()
        attachment = self.attachment
        made = attachment.vtable.execute(
            attachment, attachment.status, None, len(encoded), encoded, self.dialect, None, None, None, None)
        attachment._check()
        self.transaction = interfaces.iTransaction(made)

    def commit(self):
        if self.transaction is not None:
            self.transaction.commit()
            self.transaction = None

    def roll_back(self):
        if self.transaction is not None:
            transaction, self.transaction = self.transaction, None
            transaction.rollback()

    def execute(self, text):
        statement = self.attachment.prepare(self.transaction, text, self.dialect, PreparePrefetchFlag.METADATA)
        try:
            # Types of parameters are shown, and the statement is left alone: nobody gives values.
            inputs = statement.get_input_metadata()
            columns = [] if inputs.get_count() == 0 else column_lines(inputs, "?")
            outputs = statement.get_output_metadata()
            columns += column_lines(outputs, "#")
            if inputs.get_count() > 0:
                return columns
            try:
                if StatementFlag.HAS_CURSOR in statement.get_flags():
                    return columns + self.rows(statement, outputs)
                return columns + self.effect(statement, outputs)
            except DatabaseError as error:
                return columns + described(error)
        finally:
            statement.free()

    def rows(self, statement, outputs):
        cursor = statement.open_cursor(self.transaction, None, None, outputs, 0)
        buffer = create_string_buffer(outputs.get_message_length())
        lines = []
        try:
            while cursor.fetch_next(buffer) == StateResult.OK:
                if len(lines) == ROWS_MAX:
                    lines.append(f"more than {ROWS_MAX} rows")
                    break
                lines.append(self.row_line(outputs, buffer))
        except DatabaseError as error:
            return lines + described(error)
        finally:
            cursor.close()
        return lines or ["no rows"]

    def effect(self, statement, outputs):
        """What a statement without a cursor did."""
        if outputs.get_count() == 0:
            statement.execute(self.transaction, None, None, None, None)
            return counts(statement) or ["ok"]
        buffer = create_string_buffer(outputs.get_message_length())
        statement.execute(self.transaction, None, None, outputs, buffer)
        return [self.row_line(outputs, buffer)] + counts(statement)

    def row_line(self, metadata, buffer):
        return "- " + " | ".join(self.value(metadata, index, buffer.raw) for index in range(metadata.get_count()))

    def value(self, metadata, index, raw):
        null = metadata.get_null_offset(index)
        if raw[null:null + 2] != b"\0\0":
            return "NULL"
        kind, offset, length = metadata.get_type(index), metadata.get_offset(index), metadata.get_length(index)
        data = raw[offset:offset + length]
        kind = int(kind)
        if kind == 452:
            # A CHAR comes with as many bytes as its longest text could take.
            characters = length // 4 if metadata.get_charset(index) == 4 else length
            return text_value(data, metadata.get_charset(index), characters)
        if kind == 448:
            size = int.from_bytes(data[:2], "little")
            return text_value(raw[offset + 2:offset + 2 + size], metadata.get_charset(index))
        if kind in NUMBERS:
            return scaled(int.from_bytes(data, "little", signed=True), metadata.get_scale(index))
        if kind == 482:
            return f"{struct.unpack('<f', data)[0]:.9g}"
        if kind == 480:
            return repr(struct.unpack("<d", data)[0])
        if kind == 32764:
            return "true" if data[0] else "false"
        if kind == 570:
            return date_value(data)
        if kind == 560:
            return time_value(data)
        if kind == 510:
            return f"{date_value(data[:4])} {time_value(data[4:8])}"
        if kind == 32756:
            return f"{time_value(data[:4])} UTC in {zone_value(data[4:6])}"
        if kind == 32754:
            return f"{date_value(data[:4])} {time_value(data[4:8])} UTC in {zone_value(data[8:10])}"
        if kind == 32760:
            return self.util.get_decfloat16().to_str(fbapi.FB_DEC16.from_buffer_copy(data))
        if kind == 32762:
            return self.util.get_decfloat34().to_str(fbapi.FB_DEC34.from_buffer_copy(data))
        if kind == 520:
            return self.blob_value(data, metadata.get_subtype(index), metadata.get_charset(index))
        if kind == 540:
            return "an array"
        return data.hex()

    def blob_value(self, data, subtype, charset):
        if data == bytes(8):
            return "BLOB of zeros"
        identifier = fbapi.ISC_QUAD(int.from_bytes(data[:4], "little"), int.from_bytes(data[4:8], "little"))
        blob = self.attachment.open_blob(self.transaction, identifier)
        content = b""
        try:
            while len(content) <= BLOB_BYTES_MAX:
                part, read = create_string_buffer(32_000), fbapi.Cardinal(0)
                state = blob.get_segment(32_000, byref(part), read)
                content += part.raw[:read.value]
                if state == StateResult.NO_DATA:
                    break
        finally:
            blob.close()
        shown = text_value(content[:BLOB_BYTES_MAX], charset if subtype == 1 else 1)
        return f"BLOB {shown}" + (f" of more than {BLOB_BYTES_MAX} bytes" if len(content) > BLOB_BYTES_MAX else "")


def column_lines(metadata, sign):
    return [f"{sign} {column(metadata, index)}" for index in range(metadata.get_count())]


def column(metadata, index):
    """One column in words: its name as the client gets it, its type, where it comes from."""
    kind = int(metadata.get_type(index))
    words = [metadata.get_alias(index) or "(no name)", TYPES.get(kind, str(kind))]
    if kind in TEXTS:
        words[-1] += f"({metadata.get_length(index)})"
    if kind in NUMBERS and (metadata.get_scale(index) or metadata.get_subtype(index)):
        words.append(f"scale {metadata.get_scale(index)} sub type {metadata.get_subtype(index)}")
    if kind == 520:
        words.append(f"sub type {metadata.get_subtype(index)}")
    if kind in TEXTS or kind == 520 and metadata.get_subtype(index) == 1:
        words.append(f"charset {metadata.get_charset(index)}")
    if not metadata.is_nullable(index):
        words.append("not null")
    field, relation = metadata.get_field(index), metadata.get_relation(index)
    if relation:
        words.append(f"of {relation}.{field}")
    elif field and field != metadata.get_alias(index):
        words.append(f"of {field}")
    return " ".join(words)


def counts(statement):
    """Rows changed, in words."""
    buffer = bytes(128)
    # isc_info_sql_records, isc_info_end
    statement.get_info(bytes([23, 1]), buffer)
    words, at = [], 3
    if buffer[0] != 23:
        return []
    while buffer[at] != 1 and at < len(buffer) - 3:
        length = int.from_bytes(buffer[at + 1:at + 3], "little")
        count = int.from_bytes(buffer[at + 3:at + 3 + length], "little")
        if buffer[at] in RECORD_COUNTS and count:
            words.append(f"{count} {RECORD_COUNTS[buffer[at]]}")
        at += 3 + length
    return [", ".join(words)] if words else []


def described(error):
    codes = " ".join(str(code) for code in error.gds_codes or ())
    return [f"! {error.sqlstate} {codes}"] + [f"! {line}" for line in str(error).splitlines()]


def text_value(data, charset, characters=None):
    """A text in quotes; what is no text in hexadecimal digits."""
    # OCTETS
    if charset == 1:
        return f"x'{data.hex()}'"
    try:
        text = data.decode()[:characters]
    except UnicodeDecodeError:
        return f"x'{data.hex()}'"
    return "'" + text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r").replace("\0", "\\0") + "'"


def scaled(number, scale):
    if scale >= 0:
        return str(number * 10 ** scale)
    digits = str(abs(number)).rjust(1 - scale, "0")
    return ("-" if number < 0 else "") + digits[:scale] + "." + digits[scale:]


def date_value(data):
    days = int.from_bytes(data, "little", signed=True)
    return str(datetime.date(1858, 11, 17) + datetime.timedelta(days=days))


def time_value(data):
    ticks = int.from_bytes(data, "little")
    seconds, fraction = divmod(ticks, 10_000)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{fraction:04}"


def zone_value(data):
    zone = int.from_bytes(data, "little")
    # Displacements are minutes, moved so that they are no negative numbers; above them stand regions.
    if zone > 2878:
        return f"zone {zone}"
    minutes = zone - 1439
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"
