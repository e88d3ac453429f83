#!/usr/bin/env python3
"""A working day with FlameRobin, the windows of an administrator, on a screen that nobody sees.

FlameRobin connects, shows the tree and a table's page, and runs and commits what is typed; a row is changed in its grid. Keys are
pressed rather than places clicked. What became of it is asked of the server by Farbird's shell, and of FlameRobin's own log of statements.
Prints a line per check, as all stacks do (README.md). Pictures of the windows are left beside the log.
"""

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "drivers"))
from server import default_binary  # noqa: E402

# Named limits, in seconds: how long a window, a statement or a row may take to appear.
WAIT_SECONDS_MAX = 60
PAUSE_SECONDS = 0.2
# How long FlameRobin is given to do what nobody can see from outside.
SETTLE_SECONDS = 2

SCREEN = "1280x900x24"
MAIN_WINDOW = "FlameRobin Database Admin"

CHECKS = ("connects", "tree", "table_page", "browses", "runs_sql", "edits_a_row", "no_errors")
ATTACHMENTS = "select count(*) from mon$attachments where lower(mon$remote_process) like '%flamerobin%'"

SCHEMA = """
create domain d_name varchar(40) not null;
create table people (id integer primary key, name d_name, born date, salary numeric(9, 2) default 0, note blob sub_type text);
create view v_people as select id, name from people;
create sequence s_people;
create exception e_people 'a message';
set term ^;
create trigger t_people for people before insert as begin new.salary = coalesce(new.salary, 1); end^
create procedure p_people returns (name varchar(40)) as begin for select name from people into :name do suspend; end^
create function f_twice (a integer) returns integer as begin return a * 2; end^
create package p_names as begin function one returns integer; end^
set term ;^
create role r_reader;
insert into people values (1, 'Ana', '1990-05-01', 1000, 'a note');
insert into people values (2, 'Žofie', '1985-01-31', 2500.5, null);
commit;
"""

CONFIGURATION = """<?xml version='1.0' encoding='UTF-8'?>
<root>
  <nextId>2</nextId>
  <server>
    <name>server</name><host>{host}</host><port>{port}</port>
    <database>
      <id>1</id><name>day</name><path>{database}</path><charset>UTF8</charset>
      <username>{user}</username><password>{password}</password><role></role><authentication>pwd</authentication>
    </database>
  </server>
</root>
"""


def main():
    server = {name: os.environ[f"FIREBIRD_{name.upper()}"] for name in ("host", "port", "database", "user", "password")}
    shell = Shell(server)
    shell.run(SCHEMA)
    with tempfile.TemporaryDirectory() as home, contextlib.ExitStack() as processes:
        screen = Screen(processes)
        (Path(home) / "fr_databases.conf").write_text(CONFIGURATION.format(**server))
        day = Day(screen, shell, processes, home)
        for name in CHECKS:
            try:
                getattr(day, name)()
            except (AssertionError, subprocess.SubprocessError, OSError) as error:
                screen.picture(f"failed-{name}")
                print(f"FAIL {name}: {' '.join(str(error).split())}", flush=True)
            else:
                print(f"ok {name}", flush=True)


class Shell:
    """Farbird's shell on the day's database."""

    def __init__(self, server):
        self.address = f"{server['host']}/{server['port']}:{server['database']}"
        self.environment = os.environ | {"ISC_USER": server["user"], "ISC_PASSWORD": server["password"]}

    def run(self, sql):
        """What statements print, as CSV without headings."""
        command = [default_binary(), "sql", self.address, "--format", "csv", "-c", f"set heading off; {sql}"]
        return subprocess.run(command, env=self.environment, check=True, capture_output=True, text=True).stdout.strip()


class Screen:
    """An X server with a window manager, and the keyboard."""

    def __init__(self, processes):
        reader, writer = os.pipe()
        start(processes, ["Xvfb", "-displayfd", str(writer), "-screen", "0", SCREEN, "-nolisten", "tcp"], pass_fds=[writer])
        os.close(writer)
        with open(reader) as number:
            self.environment = os.environ | {"DISPLAY": f":{number.readline().strip()}"}
        start(processes, ["openbox"], env=self.environment)

    def tool(self, *arguments):
        return subprocess.run(["xdotool", *arguments], env=self.environment, capture_output=True, text=True).stdout.strip()

    def windows(self, name):
        return self.tool("search", "--onlyvisible", "--name", name).split()

    def window(self, name):
        """Waits for a window and puts it in front."""
        found = wait_for(lambda: self.windows(name), f"a window {name}")[-1]
        self.tool("windowactivate", "--sync", found)
        return found

    def keys(self, *names):
        for name in names:
            time.sleep(PAUSE_SECONDS)
            self.tool("key", "--clearmodifiers", name)

    def types(self, text):
        time.sleep(PAUSE_SECONDS)
        self.tool("type", "--clearmodifiers", "--delay", "10", text)

    def picture(self, name):
        subprocess.run(["import", "-window", "root", f"flamerobin-{name}.png"], env=self.environment, check=False)


class Day:
    def __init__(self, screen, shell, processes, home):
        self.screen, self.shell = screen, shell
        self.log = Path(home) / "flamerobin.log"
        command = ["flamerobin", "--user-home", home]
        start(processes, command, env=screen.environment, stdout=open(self.log, "wb"), stderr=subprocess.STDOUT)

    def connects(self):
        # That the machine has no English locale is told in a window that comes a little later.
        self.screen.window(MAIN_WINDOW)
        time.sleep(SETTLE_SECONDS)
        self.dismiss()
        self.screen.window(MAIN_WINDOW)
        # The server, its database.
        self.screen.keys("Home", "Down", "Right", "Down", "Return")
        wait_for(lambda: self.shell.run(ATTACHMENTS) == "1", "its attachment")

    def tree(self):
        """The nodes of the tree are asked for when the database is connected."""
        for table in ("rdb$relations", "rdb$procedures", "rdb$triggers", "rdb$generators", "rdb$packages", "rdb$roles", "rdb$exceptions"):
            wait_for(lambda: self.said(f"from {table}"), f"a query of {table}")
        self.screen.window(MAIN_WINDOW)
        self.screen.keys("Down")
        self.screen.types("tables")
        # The only table.
        self.screen.keys("Right", "Down")
        self.screen.picture("tree")

    def table_page(self):
        self.screen.keys("Return")
        self.screen.window(".*PEOPLE")
        wait_for(lambda: self.said("'PEOPLE'") or self.said("rdb$relation_fields"), "the columns of the table")
        self.screen.picture("table")

    def browses(self):
        """Object, Browse data: a window with a SELECT that has run."""
        self.screen.window(MAIN_WINDOW)
        self.screen.keys("alt+o", "Down", "Return")
        wait_for(self.editor, "the window of the SELECT")
        wait_for(lambda: self.said("FROM PEOPLE"), "the SELECT")
        self.screen.picture("rows")

    def runs_sql(self):
        self.in_editor("insert into people (id, name, salary) values (3, 'Typed', 12.5)")
        wait_for(lambda: self.shell.run("select name, salary from people where id = 3") == "Typed,12.50", "the row that was inserted")

    def edits_a_row(self):
        """The third row's second cell, by F2."""
        self.in_editor("select p.* from people p order by id desc", commit=False)
        time.sleep(SETTLE_SECONDS)
        self.screen.keys("Right", "F2", "ctrl+a")
        self.screen.types("Edited")
        self.screen.keys("Return")
        time.sleep(SETTLE_SECONDS)
        self.dismiss()
        self.screen.picture("edited")
        self.screen.keys("F5")
        wait_for(lambda: self.shell.run("select name from people where id = 3") == "Edited", "the change of the row")

    def no_errors(self):
        """What a statement fails with is shown in a window."""
        for words in ("Error", "error"):
            assert not self.screen.windows(f"FlameRobin {words}"), "a window tells of an error"

    def editor(self):
        """The window of statements: neither the tree nor a page of something, nor one of no name."""
        titles = {window: self.screen.tool("getwindowname", window) for window in self.screen.windows(".+")}
        others = (MAIN_WINDOW, "flamerobin", "Openbox")
        editors = [window for window, title in titles.items() if title not in others and " - " not in title]
        return editors[-1] if editors else None

    def in_editor(self, sql, commit=True):
        """Writes a statement in place of the one that is there and runs it (F4); F5 commits."""
        window = wait_for(self.editor, "the window of statements")
        self.screen.tool("windowactivate", "--sync", window)
        # Into the text, below the tool bar: the keyboard may be in the grid.
        self.screen.tool("mousemove", "--window", window, "200", "100", "click", "1")
        self.screen.keys("ctrl+a")
        self.screen.types(sql)
        self.screen.keys("F4")
        if commit:
            self.screen.keys("F5")

    def dismiss(self):
        """Closes what FlameRobin warns of."""
        for window in self.screen.windows("Flamerobin Warning"):
            self.screen.tool("windowactivate", "--sync", window)
            self.screen.keys("Return")

    def said(self, words):
        """Whether FlameRobin's log has these words, in any case."""
        return words.lower() in self.log.read_text(errors="replace").lower()


def start(processes, command, **options):
    """Starts a process that ends with the day."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, **options)
    processes.callback(process.wait)
    processes.callback(process.kill)


def wait_for(ask, what):
    """Asks again and again until there is an answer."""
    until = time.monotonic() + WAIT_SECONDS_MAX
    while not (answer := ask()):
        assert time.monotonic() < until, f"{what} did not come within {WAIT_SECONDS_MAX} seconds"
        time.sleep(PAUSE_SECONDS)
    return answer


if __name__ == "__main__":
    main()
