"""Clients that commit numbered rows until their connection breaks, and what the database must then hold.

For tests that kill something (tests/kill/run, tests/kill/farlink): each commit inserts one numbered row into each of two tables; the number is
noted when the commit is acknowledged. Afterwards every acknowledged number must be in both tables, no number in only one of them, and of
the numbers that were never acknowledged only the one that was under way. Needs firebirdsql.
"""

import sys
import threading

import firebirdsql

# The driver's destructors say on stderr that their connections broke. They did.
sys.unraisablehook = lambda _: None

DATABASE = "kill.fbd"
PASSWORD = "masterkey"
INSERT = "INSERT INTO {table} (CLIENT, NUMBER, CONTENT) VALUES (?, ?, ?)"
TABLES = ("FIRST_HALF", "SECOND_HALF")


def create_tables(server):
    connection = connect(server, create=True)
    for table in TABLES:
        connection.cursor().execute(
            f"CREATE TABLE {table} (CLIENT INTEGER NOT NULL, NUMBER INTEGER NOT NULL, CONTENT VARCHAR(8000) CHARACTER SET UTF8,"
            f" CONSTRAINT PK_{table} PRIMARY KEY (CLIENT, NUMBER))")
    connection.commit()
    connection.close()


def connect(server, create=False):
    how = firebirdsql.create_database if create else firebirdsql.connect
    return how(
        host=server.host, port=server.port, database=DATABASE, user=server.user, password=PASSWORD,
        charset="UTF8", wire_crypt=False, timeout=60,
    )


def content(client, number):
    """What a row must hold: short and long contents, so that commits differ in size."""
    return f"{client}/{number} " * (1 + number * 37 % 400)


class Client(threading.Thread):
    """Commits numbered pairs of rows until the connection breaks."""

    def __init__(self, server, client, number):
        super().__init__(daemon=True)
        self.server, self.client = server, client
        # The next number to use; all below it that were acknowledged.
        self.number, self.acknowledged = number, set()
        self.trouble = None

    def run(self):
        try:
            connection = connect(self.server)
            while True:
                cursor = connection.cursor()
                for table in TABLES:
                    cursor.execute(INSERT.format(table=table), [self.client, self.number, content(self.client, self.number)])
                self.number += 1
                connection.commit()
                self.acknowledged.add(self.number - 1)
        except (OSError, firebirdsql.Error, AssertionError, IndexError) as error:
            # What the driver raises when its connection breaks under it varies; after the kill nothing else is expected.
            self.trouble = error


class Ledger:
    """What the database must hold."""

    def __init__(self, clients):
        # Per client: acknowledged numbers, and those whose commit was under way at a kill, of which either is right.
        self.acknowledged = {client: set() for client in range(clients)}
        self.under_way = {client: set() for client in range(clients)}
        self.next = dict.fromkeys(range(clients), 0)

    def add(self, client):
        self.acknowledged[client.client] |= client.acknowledged
        if client.number and client.number - 1 not in client.acknowledged and client.number > self.next[client.client]:
            self.under_way[client.client].add(client.number - 1)
        self.next[client.client] = client.number

    def compare(self, connection):
        """What is wrong in the database, as sentences."""
        found = {}
        for table in TABLES:
            cursor = connection.cursor()
            cursor.execute(f"SELECT CLIENT, NUMBER, CONTENT FROM {table}")
            rows = cursor.fetchall()
            found[table] = {(client, number) for client, number, _ in rows}
            yield from (f"{table}: {client}/{number} twice" for client, number in duplicates(rows))
            yield from (f"{table}: {c}/{n} has a wrong content" for c, n, text in rows if text != content(c, n))
        connection.commit()
        first, second = (found[table] for table in TABLES)
        yield from (f"half a transaction: {c}/{n} only in {TABLES[0]}" for c, n in sorted(first - second))
        yield from (f"half a transaction: {c}/{n} only in {TABLES[1]}" for c, n in sorted(second - first))
        for client, numbers in self.acknowledged.items():
            there = {n for c, n in first & second if c == client}
            yield from (f"lost: {client}/{n} was acknowledged" for n in sorted(numbers - there))
            yield from (f"invented: {client}/{n} was never committed" for n in sorted(there - numbers - self.under_way[client]))


def duplicates(rows):
    seen = set()
    for client, number, _ in rows:
        if (client, number) in seen:
            yield client, number
        seen.add((client, number))
