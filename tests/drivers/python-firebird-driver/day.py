"""The working day with firebird-driver: Python over Firebird's own client library (libfbclient2)."""

import ctypes.util
import sys
from datetime import datetime
from pathlib import Path

from firebird import driver as firebird

sys.path.insert(0, str(Path(__file__).parent.parent / "python"))
import working_day  # noqa: E402

ISOLATION = {
    "read committed": firebird.Isolation.READ_COMMITTED_RECORD_VERSION,
    "snapshot": firebird.Isolation.SNAPSHOT,
}


class FirebirdDriver(working_day.Driver):
    # Debian's client library is that of Firebird 3.
    as_text = frozenset(working_day.SINCE_FIREBIRD_4)

    def dsn(self, database):
        return f"inet://{self.host}:{self.port}/{database or self.database}"

    def connect(self, database=None, password=None, user=None):
        return firebird.connect(self.dsn(database), user=user or self.user, password=password or self.password, charset="UTF8")

    def create_database(self):
        return firebird.create_database(self.dsn(None), user=self.user, password=self.password, charset="UTF8")

    def transaction(self, connection, isolation="snapshot", wait=True):
        transaction = connection.transaction_manager(firebird.tpb(ISOLATION[isolation], -1 if wait else 0))
        transaction.begin()
        return transaction

    def service(self):
        if firebird.driver_config.get_server("day") is None:
            firebird.driver_config.register_server(
                "day", f"[day]\nhost={self.host}\nport={self.port}\nuser={self.user}\npassword={self.password}\n")
        return firebird.connect_server("day")

    def version_from_service(self):
        with self.service() as service:
            return service.info.version

    def make_user(self, connection, name, password):
        with self.service() as service:
            service.user.add(user_name=name, password=password)

    def user_names(self, connection):
        with self.service() as service:
            return {user.user_name for user in service.user.get_all()}

    def drop_user(self, connection, name):
        with self.service() as service:
            service.user.delete(name)

    def can_represent(self, declaration, value):
        # The driver cannot encode timestamps before day 0 of the Modified Julian Date.
        return declaration != "TIMESTAMP" or value >= datetime(1858, 11, 17)

    def fetched(self, value):
        # Large BLOBs come as a reader.
        if hasattr(value, "read"):
            with value:
                return value.read()
        return value

    def sqlstate(self, error):
        return error.sqlstate


if not ctypes.util.find_library("fbclient"):
    sys.exit("libfbclient is missing: apt-get install libfbclient2")
working_day.main(FirebirdDriver())
