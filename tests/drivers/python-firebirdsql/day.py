"""The working day with firebirdsql: the wire protocol in pure Python."""

import math
import sys
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from zoneinfo import ZoneInfo

import firebirdsql
import firebirdsql.consts
import firebirdsql.fbcore
import firebirdsql.services

sys.path.insert(0, str(Path(__file__).parent.parent / "python"))
import working_day  # noqa: E402

ISOLATION = {
    "read committed": firebirdsql.ISOLATION_LEVEL_READ_COMMITED,
    "snapshot": firebirdsql.ISOLATION_LEVEL_SNAPSHOT,
}


class NoWait(firebirdsql.fbcore.Transaction):
    """The driver knows only waiting transactions; its parameter blocks are a class attribute."""

    transaction_parameter_block = tuple(
        block.replace(bytes([firebirdsql.consts.isc_tpb_wait]), bytes([firebirdsql.consts.isc_tpb_nowait]))
        for block in firebirdsql.fbcore.Transaction.transaction_parameter_block
    )


class Transaction:
    """A transaction beside the connection's own."""

    def __init__(self, transaction):
        self.transaction = transaction
        transaction.begin()
        self.savepoint = transaction.savepoint
        self.commit = transaction.commit
        self.rollback = transaction.rollback

    def cursor(self):
        return firebirdsql.fbcore.Cursor(self.transaction)


class Firebirdsql(working_day.Driver):
    # Offsets such as +02:00 are unknown to the driver, and its times take no zone by name.
    as_text = frozenset({"TIME WITH TIME ZONE"})

    def options(self, database=None, password=None, user=None):
        return dict(
            host=self.host, port=self.port, database=database or self.database,
            user=user or self.user, password=password or self.password, charset="UTF8",
        )

    def connect(self, database=None, password=None, user=None):
        return firebirdsql.connect(**self.options(database, password, user))

    def connect_for_bulk(self):
        # Its ChaCha is Python too: 5 MB would take it half a minute. Firebird 3 refuses to go without a cipher.
        return firebirdsql.connect(**self.options(), wire_crypt=self.server_version < 4)

    def create_database(self):
        return firebirdsql.create_database(**self.options())

    def transaction(self, connection, isolation="snapshot", wait=True):
        kind = firebirdsql.fbcore.Transaction if wait else NoWait
        return Transaction(kind(connection, isolation_level=ISOLATION[isolation]))

    def version_from_service(self):
        with firebirdsql.services.connect(host=self.host, port=self.port, user=self.user, password=self.password) as service:
            return service.getServerVersion().partition("-V")[2] or service.getServerVersion()

    def bind(self, value):
        # The driver sends decimals, doubles and wide integers as 64-bit scaled integers.
        if isinstance(value, (Decimal, float)) or (isinstance(value, int) and abs(value) >= 2**63):
            return str(value)
        if isinstance(value, datetime) and value.tzinfo:
            return value.astimezone(ZoneInfo("Europe/Berlin"))
        return value

    def can_represent(self, declaration, value):
        if "OCTETS" in declaration:
            # They are decoded with the attachment's character set, UTF-8.
            return max(value, default=0) < 0x80
        if declaration == "DOUBLE PRECISION":
            # They travel as text, and Firebird 4 takes that of the smallest doubles for an underflow.
            return abs(value) > 1e-300
        if declaration.startswith("DECFLOAT"):
            # A leading 8 or 9 (the combination field's other form) is misread.
            return value.as_tuple().digits[0] < 8
        return True

    def same_double(self, found, wanted):
        # As above: Firebird 4 does not always find the nearest double.
        return math.isclose(found, wanted, rel_tol=1e-14)

    def gds_codes(self, error):
        # A refused proof of the password is told without the server's codes.
        return {working_day.LOGIN_FAILED} if str(error) == "Unauthorized" else super().gds_codes(error)


working_day.main(Firebirdsql())
