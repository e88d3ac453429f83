"""Talks with `farbird sql` through a terminal of its own: interactive.py PROGRAM DATABASE.

Ends with 0 if the shell does what a person expects; else says what was waited for, and what came instead."""

import os
import pty
import re
import select
import struct
import sys
import tempfile
import time
from fcntl import ioctl
from pathlib import Path
from termios import TIOCSWINSZ

PATIENCE_SECONDS = 60
CONTROL = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[>=78]|\x1b\][^\x07\x1b]*(\x07|\x1b\\)")


class Shell:
    """The shell in a terminal of 24 lines and 100 columns."""

    def __init__(self, program, database, data):
        environment = dict(os.environ, XDG_DATA_HOME=str(data), TERM="xterm", PAGER="")
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.execve(program, [program, "sql", database, "--create"], environment)
        ioctl(self.terminal, TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
        self.shown = ""

    def type(self, keys):
        self.shown = ""
        os.write(self.terminal, keys.encode())

    def expect(self, pattern):
        """Waits until a pattern has been shown."""
        end = time.monotonic() + PATIENCE_SECONDS
        while not re.search(pattern, CONTROL.sub("", self.shown), re.DOTALL):
            if time.monotonic() > end or not self.read(1):
                sys.exit(f"waited for {pattern!r}, saw {CONTROL.sub('', self.shown)!r}")

    def read(self, seconds):
        """Takes what is shown; false at the end."""
        ready, _, _ = select.select([self.terminal], [], [], seconds)
        if not ready:
            return True
        try:
            text = os.read(self.terminal, 65536).decode(errors="replace")
        except OSError:
            return False
        # The editor asks where the cursor is.
        for _ in range(text.count("\x1b[6n")):
            os.write(self.terminal, b"\x1b[1;1R")
        self.shown += text
        return text != ""

    def leave(self):
        """Ctrl-D; gives the exit code."""
        self.type("\x04")
        while self.read(1):
            pass
        return os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])


def main():
    program, database = sys.argv[1:3]
    data = Path(tempfile.mkdtemp())
    shell = Shell(program, database, data)
    shell.expect(r"SQL> ")
    # A statement of several lines runs when its terminator comes.
    shell.type("create table people (id int not null primary key,\r")
    shell.expect(r"CON> ")
    shell.type("full_name varchar(20));\r")
    shell.expect(r"SQL> $")
    shell.type("insert into people values (1, 'Ana Ng');\r")
    shell.expect(r"1 row changed.*SQL\*> $")
    # Tables and columns are completed, in the case of what was typed.
    shell.type("select full_n\t from peo\t;\r")
    shell.expect(r"Ana Ng.*\(1 row\).*SQL\*> $")
    shell.type("commit;\r")
    shell.expect(r"SQL> $")
    # Ctrl-C stops what runs; the next statement is not stopped.
    shell.type("select count(*) from rdb$fields a, rdb$fields b, rdb$fields c, rdb$fields d, rdb$fields e;\r")
    time.sleep(1)
    shell.type("\x03")
    shell.expect(r"HY008.*SQL> $")
    shell.type("select 6 * 7 as answer from rdb$database;\r")
    shell.expect(r"ANSWER.*42.*SQL> $")
    # At the prompt it clears the line.
    shell.type("select nonsense")
    shell.expect(r"nonsense")
    shell.type("\x03")
    shell.expect(r"SQL> $")
    # An error is pointed at.
    shell.type("select 1 frm x;\r")
    shell.expect(r"SQLSTATE = 42000.*\^.*SQL> $")
    shell.type("select 'secret' as password from rdb$database;\r")
    shell.expect(r"SQL> $")
    shell.type("\\x\r")
    shell.expect(r"SQL> $")
    shell.type("select id from people;\r")
    shell.expect(r"ID \| 1.*SQL> $")
    if (code := shell.leave()) != 0:
        sys.exit(f"left with {code}: {shell.shown!r}")
    # Earlier statements are found again, but for those with passwords.
    history = (data / "farbird" / "history").read_text()
    if "6 * 7" not in history or "secret" in history:
        sys.exit(f"the history is {history!r}")
    shell = Shell(program, database, data)
    shell.expect(r"SQL> ")
    shell.type("\x1b[A\r")
    shell.expect(r"ID.*1.*\(1 row\).*SQL> $")
    shell.type("\x12full_n\r\r")
    shell.expect(r"Ana Ng.*SQL> $")
    shell.type("insert into people values (2, 'Bo');\r")
    shell.expect(r"1 row changed")
    shell.type("quit\r")
    shell.expect(r"rolled back")


main()
