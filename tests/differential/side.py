"""One of the two databases that are compared, in a process of its own: a statement that brings a server or the embedded
engine down, or that does not come back, costs this process and not the comparison.
"""

import json
import select
import subprocess
import sys

from firebird import driver

ANSWER_SECONDS_MAX = 30
ROWS_MAX = 5_000


class Lost(Exception):
    """The other process died or did not answer in time."""


class Side:
    """Runs statements in another process."""

    def __init__(self, dsn, user, password):
        self.arguments = [sys.executable, __file__, dsn, user, password or ""]
        self.process, self.setup = None, None

    def ask(self, setup, groups):
        """Runs a setup, then groups of questions, of which each is taken back before the next; the answers by group."""
        if self.process is None:
            self.process = subprocess.Popen(
                self.arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            self.setup = None
        # The tables of the last question are still there, and as they were.
        needed, self.setup = [] if setup == self.setup else setup, setup
        try:
            self.process.stdin.write(json.dumps([needed, groups]) + "\n")
            self.process.stdin.flush()
            if not select.select([self.process.stdout], [], [], ANSWER_SECONDS_MAX)[0]:
                raise Lost("no answer in time")
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        except Lost:
            self.close()
            raise
        if not line:
            self.close()
            raise Lost("the process died")
        answers = json.loads(line)
        if "setup" in answers[0][0]:
            self.setup = None
        return answers

    def version(self):
        """The Firebird that it is, or claims to be: (major, minor)."""
        asked = "select rdb$get_context('SYSTEM', 'ENGINE_VERSION') from rdb$database"
        answered = self.ask([], [[asked]])[0][0]
        if "rows" not in answered:
            raise Lost(f"no version: {answered['text']}")
        major, minor, *_ = answered["rows"][0][0].split(".")
        return int(major), int(minor)

    def close(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None


def main():
    """The other process: a line of JSON comes, a line of JSON goes."""
    dsn, user, password = sys.argv[1:]
    # The reference is thrown away: no need to wait for the disk.
    driver.driver_config.db_defaults.forced_writes.value = False
    try:
        connection = driver.create_database(dsn, user=user, password=password or None, charset="UTF8", overwrite=True)
    except driver.DatabaseError:
        connection = driver.connect(dsn, user=user, password=password or None, charset="UTF8")
    take_sums_as_bigint(connection)
    for line in sys.stdin:
        setup, groups = json.loads(line)
        try:
            for statement in setup:
                connection.execute_immediate(statement)
                connection.commit()
        except driver.DatabaseError as error:
            take_back(connection)
            print(json.dumps([[{"setup": described(error)}] for _ in groups]), flush=True)
            continue
        answers = []
        for questions in groups:
            answers.append([answer(connection, question) for question in questions])
            take_back(connection)
        print(json.dumps(answers), flush=True)


def take_sums_as_bigint(connection):
    """Debian's client library knows no INT128, which newer versions say for sums."""
    try:
        connection.execute_immediate("set bind of int128 to legacy")
    except driver.DatabaseError:
        # Firebird 3 has neither the type nor the statement.
        take_back(connection)


def take_back(connection):
    if connection.main_transaction.is_active():
        connection.rollback()


def answer(connection, question):
    """What a statement gave: names and rows of its result, or its error."""
    cursor = connection.cursor()
    try:
        cursor.execute(question)
        if cursor.description is None:
            return {"done": True}
        names = [column[0] for column in cursor.description]
        rows = [[shown(value) for value in row] for row in cursor.fetchmany(ROWS_MAX + 1)]
        if len(rows) > ROWS_MAX:
            # Which of them come first is up to each side.
            rows = [[f"more than {ROWS_MAX} rows"]]
        return {"names": names, "rows": rows}
    except driver.DatabaseError as error:
        return described(error)
    finally:
        cursor.close()


def described(error):
    return {"error": list(getattr(error, "gds_codes", None) or ()), "text": str(error)}


def shown(value):
    """A value as text. Doubles lose the digits in which sums of another order differ."""
    if value is None:
        return None
    if isinstance(value, float):
        return f"{value:.10g}"
    if hasattr(value, "read"):
        value = value.read()
    return str(value)


if __name__ == "__main__":
    main()
