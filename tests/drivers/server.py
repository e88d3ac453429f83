"""The servers that tests run against: a Farbird of a test's own (started on a free port with a fresh data folder, stopped,
killed, started again), or one that somebody else started."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PRODUCTS = ROOT / "target" / "drivers"
LOGS = PRODUCTS / "logs"

# Named limits, in seconds.
START_SECONDS_MAX = 30
STOP_SECONDS_MAX = 15


class Farbird:
    """A server of our own, in a fresh data folder."""

    def __init__(self, binary, user, password):
        self.binary, self.user, self.password = binary, user, password
        LOGS.mkdir(parents=True, exist_ok=True)
        self.data = tempfile.TemporaryDirectory(prefix="farbird-drivers-")
        self.host, self.port = "127.0.0.1", free_port()
        self.log = open(LOGS / "server.log", "wb")
        self.process = None

    def start(self):
        command = [self.binary, "serve", "--listen", f"{self.host}:{self.port}", "--data", self.data.name]
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
            env=os.environ | {"FARBIRD_SYSDBA_PASSWORD": self.password},
        )
        self.wait_until_it_answers()

    def wait_until_it_answers(self):
        deadline = time.monotonic() + START_SECONDS_MAX
        while not answers(self.host, self.port):
            if self.process.poll() is not None or time.monotonic() > deadline:
                sys.exit(f"the server did not start; its output is in {LOGS / 'server.log'}\n{tail(LOGS / 'server.log')}")
            time.sleep(0.05)

    def died(self):
        """Says how the server ended, if it did, and starts it again."""
        if self.process.poll() is None:
            return None
        how = f"the server ended with exit code {self.process.returncode}: {tail(LOGS / 'server.log')}"
        self.start()
        return how

    def stop(self):
        """SIGTERM; what is wrong with how the server ended, or None."""
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return f"still running {STOP_SECONDS_MAX} seconds after SIGTERM"
        return None if code == 0 else f"exit code {code} after SIGTERM: {tail(LOGS / 'server.log')}"

    def kill(self):
        """SIGKILL: no chance to finish anything."""
        self.process.kill()
        self.process.wait()

    def restart(self):
        wrong = self.stop()
        self.start()
        return wrong

    def close(self):
        if self.process:
            self.kill()
        self.data.cleanup()

    def database(self, name):
        return f"{name}.fbd"


class OtherServer:
    """A server that somebody else started."""

    def __init__(self, address, user, password, database_prefix, restart_command=None):
        self.host, _, port = address.rpartition(":")
        self.port = int(port)
        self.user, self.password = user, password
        self.prefix, self.restart_command = database_prefix, restart_command
        self.run = f"{os.getpid()}"

    def start(self):
        if not answers(self.host, self.port):
            sys.exit(f"nothing answers at {self.host}:{self.port}")

    def died(self):
        return None if answers(self.host, self.port) else f"nothing answers at {self.host}:{self.port} any more"

    def stop(self):
        return None

    def restart(self):
        """Without a command the second phase still runs, on new attachments."""
        if not self.restart_command:
            return None
        if subprocess.run(self.restart_command, shell=True).returncode:
            return f"failed: {self.restart_command}"
        deadline = time.monotonic() + START_SECONDS_MAX
        while not answers(self.host, self.port) and time.monotonic() < deadline:
            time.sleep(0.05)
        return None

    def close(self):
        pass

    def database(self, name):
        return f"{self.prefix.rstrip('/')}/{name}-{self.run}.fdb"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def answers(host, port):
    try:
        socket.create_connection((host, port), timeout=1).close()
        return True
    except OSError:
        return False


def tail(path, lines=3):
    return " | ".join(path.read_text(errors="replace").splitlines()[-lines:]) if path.exists() else ""


def default_binary():
    """The newest build."""
    if "FARBIRD_BIN" in os.environ:
        return os.environ["FARBIRD_BIN"]
    builds = sorted(ROOT.glob("target/*/farbird"), key=lambda path: path.stat().st_mtime)
    return builds[-1] if builds else sys.exit("no target/*/farbird: cargo build first, or set FARBIRD_BIN")
