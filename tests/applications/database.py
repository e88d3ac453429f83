"""Creates or drops the database that FIREBIRD_DATABASE names: python database.py create|drop. UTF8, pages of 16 KiB."""

import os
import sys

import firebirdsql

PAGE_BYTES = 16384

where = {
    "host": os.environ["FIREBIRD_HOST"],
    "port": int(os.environ["FIREBIRD_PORT"]),
    "user": os.environ["FIREBIRD_USER"],
    "password": os.environ["FIREBIRD_PASSWORD"],
    "database": os.environ["FIREBIRD_DATABASE"],
    "charset": "UTF8",
}
if sys.argv[1] == "create":
    firebirdsql.create_database(page_size=PAGE_BYTES, **where).close()
else:
    firebirdsql.connect(**where).drop_database()
