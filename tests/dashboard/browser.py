"""A headless Chromium, driven through a pipe by its DevTools protocol: no other package is needed."""

import base64
import json
import os
import select
import subprocess
import tempfile
import time

# Named limits, in seconds.
ANSWER_SECONDS_MAX = 60
WAIT_SECONDS_MAX = 60

OPTIONS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--remote-debugging-pipe", "--hide-scrollbars", "--disable-dev-shm-usage",
]


class Browser:
    """One page of one browser, with a profile of its own."""

    def __init__(self, width=1280, height=1000):
        self.profile = tempfile.TemporaryDirectory(prefix="farbird-chromium-", ignore_cleanup_errors=True)
        to_browser, self.to = os.pipe()
        self.got, from_browser = os.pipe()

        def attach():
            # The browser listens at 3 and speaks at 4; neither may be closed by putting the other in its place.
            ears, mouth = os.dup(to_browser), os.dup(from_browser)
            high = os.dup2(ears, 100), os.dup2(mouth, 101)
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        command = ["chromium", *OPTIONS, f"--user-data-dir={self.profile.name}", "about:blank"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            preexec_fn=attach, close_fds=False, start_new_session=True,
        )
        os.close(to_browser)
        os.close(from_browser)
        self.last = 0
        self.unread = b""
        # What the page complained about: exceptions, refusals by its policy, failed requests.
        self.complaints = []
        self.session = None
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target for target in targets if target["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Accessibility"):
            self.call(f"{domain}.enable")
        self.resize(width, height)

    def call(self, method, **parameters):
        self.last += 1
        message = {"id": self.last, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + ANSWER_SECONDS_MAX
        while True:
            answer = self.receive(deadline, method)
            if answer.get("id") == self.last:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.note(answer)

    def receive(self, deadline, method):
        while b"\0" not in self.unread:
            ready, _, _ = select.select([self.got], [], [], max(0, deadline - time.monotonic()))
            piece = os.read(self.got, 1 << 20) if ready else b""
            if not piece:
                raise RuntimeError(f"Chromium gives no answer to {method}")
            self.unread += piece
        message, self.unread = self.unread.split(b"\0", 1)
        return json.loads(message)

    def note(self, event):
        if event.get("method") == "Runtime.exceptionThrown":
            details = event["params"]["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description") or details["text"])
        elif event.get("method") == "Log.entryAdded" and event["params"]["entry"]["level"] == "error":
            self.complaints.append(event["params"]["entry"]["text"])

    def open(self, address):
        self.call("Page.navigate", url=address)
        self.wait("document.readyState === 'complete'")

    def ask(self, expression):
        """The value of an expression in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def wait(self, expression):
        """Waits until an expression in the page is true; gives its value."""
        deadline = time.monotonic() + WAIT_SECONDS_MAX
        while True:
            value = self.ask(expression)
            if value:
                return value
            if time.monotonic() > deadline:
                raise AssertionError(f"this never became true in the page: {expression}\n{self.ask('document.body.innerText')}")
            time.sleep(0.1)

    def press(self, key, code=None):
        for kind in ("keyDown", "keyUp"):
            text = {"text": key} if len(key) == 1 and kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=code or key, **text)

    def resize(self, width, height, is_mobile=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=is_mobile)

    def prefer(self, scheme):
        """Light or dark."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", features=features)

    def picture(self, path, whole=True):
        """A screenshot, of the whole page or of what is seen at once."""
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(shot["data"]))

    def close(self):
        try:
            self.session = None
            self.call("Browser.close")
            self.process.wait(10)
        except (RuntimeError, OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        self.profile.cleanup()
