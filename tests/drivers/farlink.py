"""Edge and origin as processes, before a server: paired, started on free ports, killed, started again; with a long link between them
if wanted (`farbird lab proxy`)."""

import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from server import LOGS, START_SECONDS_MAX, free_port, tail

# How long a transaction stays open when the link is gone: so long it takes to notice that a process has gone whose connection says
# nothing of it (QUIC), and so long it is waited for.
SILENCE_SECONDS, WAITED_SECONDS = 3, 2
GRACE_SECONDS = SILENCE_SECONDS + WAITED_SECONDS


class Process:
    """A `farbird` command that listens."""

    def __init__(self, binary, folder, name, arguments):
        self.command, self.folder, self.log = [binary, *arguments], folder, LOGS / f"{name}.log"
        LOGS.mkdir(parents=True, exist_ok=True)
        self.process, self.said = None, ""

    def start(self, until):
        """Waits until it has said what matches the pattern."""
        log = open(self.log, "ab")
        self.said = ""
        self.process = subprocess.Popen(
            self.command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log,
            env=os.environ | {"FARBIRD_SYSDBA_PASSWORD": "masterkey", "FARBIRD_LOG": os.environ.get("FARBIRD_LOG", "info")}, text=True,
        )
        threading.Thread(target=self.listen, args=[self.process], daemon=True).start()
        deadline = time.monotonic() + START_SECONDS_MAX
        while not re.search(until, self.said):
            if self.process.poll() is not None or time.monotonic() > deadline:
                sys.exit(f"{' '.join(map(str, self.command))} did not start: {self.said} {tail(self.log)}")
            time.sleep(0.02)

    def listen(self, process):
        for line in process.stdout:
            self.said += line

    def kill(self):
        """SIGKILL: no chance to finish anything."""
        if self.process:
            self.process.kill()
            self.process.wait()


class Farlink:
    """An edge and an origin before a server; programs connect to `host` and `port`."""

    def __init__(self, binary, server=None, rtt=None, transport="auto", credentials=None):
        """`server`: (host, port) of one that runs; None: `farbird serve --farlink`. `rtt`: a round trip such as 100ms; the link is TCP then.
        `credentials`: pairs of user and password as whom the origin logs in itself, before a server that demands encryption."""
        self.binary = binary
        self.folder = tempfile.TemporaryDirectory(prefix="farbird-farlink-")
        self.host, self.port = "127.0.0.1", free_port()
        self.user = "SYSDBA"
        origin_port = free_port()
        self.pair()
        Path(self.folder.name, "graces.toml").write_text(
            f"transaction-grace-seconds = {WAITED_SECONDS}\n[link]\nping-seconds = 1\nsilence-seconds = {SILENCE_SECONDS}\n")
        farlink = f"127.0.0.1:{origin_port}"
        if server:
            self.server_host, self.server_port = server
            self.origin = self.command(
                "origin", "origin", "--listen", farlink, "--server", f"{server[0]}:{server[1]}",
                "--keys", "origin", "--config", "graces.toml", *self.credentials(credentials))
        else:
            self.server_host, self.server_port = "127.0.0.1", free_port()
            self.origin = self.command(
                "origin", "serve", "--listen", f"127.0.0.1:{self.server_port}", "--data", "data",
                "--farlink", farlink, "--farlink-keys", "origin", "--farlink-config", "graces.toml")
        self.link = None
        if rtt:
            port = free_port()
            self.link = self.command("link", "lab", "proxy", "--listen", f"127.0.0.1:{port}", "--to", farlink, "--rtt", rtt)
            farlink, transport = f"127.0.0.1:{port}", "tcp"
        self.edge = self.command(
            "edge", "edge", "--listen", f"{self.host}:{self.port}", "--origin", farlink, "--transport", transport,
            "--keys", "edge", "--config", "graces.toml")

    def command(self, name, *arguments):
        return Process(self.binary, self.folder.name, f"farlink-{name}", arguments)

    def credentials(self, credentials):
        if not credentials:
            return []
        file = Path(self.folder.name, "credentials.toml")
        file.touch(mode=0o600)
        file.write_text("[users]\n" + "".join(f'{user} = "{password}"\n' for user, password in credentials))
        return ["--credentials", "credentials.toml"]

    def pair(self):
        def pair(*arguments):
            command = [self.binary, "pair", "--keys", *arguments]
            return subprocess.run(command, cwd=self.folder.name, check=True, capture_output=True, text=True).stdout.strip()

        edge = pair("edge", "--name", "near")
        origin = pair("origin", "--name", "far", edge)
        pair("edge", origin)

    def start_origin(self):
        self.origin.start("listens")

    def start_edge(self):
        self.edge.start("listens")

    def start(self):
        self.start_origin()
        if self.link:
            self.link.start(r"\d")
        self.start_edge()

    def close(self):
        for process in (self.edge, self.link, self.origin):
            if process:
                process.kill()
        self.folder.cleanup()
