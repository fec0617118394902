"""Servers, demos and browser helpers for `scripts/browser-test`."""
import http.client
import json
import os
import signal
import subprocess
import time

CHROMIUM = "/usr/bin/chromium"


def listening(process, log):
    """The URL from the line that a server prints when it is ready."""
    for _ in range(300):
        said = [line for line in open(log) if line.startswith("listening on ")]
        if said:
            return said[0].split()[-1].strip()
        assert process.poll() is None, open(log).read()
        time.sleep(0.1)
    raise AssertionError("the server does not listen")


class Server:
    """`jurybox serve` on a free port in a folder of its own; can be killed and restarted at the same address."""

    def __init__(self, binary, folder, *flags):
        self.binary, self.folder, self.flags, self.port, self.key = binary, folder, flags, 0, None
        self.start()

    def start(self):
        log = os.path.join(self.folder, "log")
        self.process = subprocess.Popen(
            [self.binary, "serve", "--data", os.path.join(self.folder, "data"), "--port", str(self.port), "--rate", "0", *self.flags],
            stderr=open(log, "w"), stdout=subprocess.DEVNULL)
        self.url = listening(self.process, log)
        self.port = int(self.url.rsplit(":", 1)[1])

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(timeout=40)

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        headers = {"Content-Type": "application/json"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        assert answer.status < 300, f"{method} {path}: {answer.status} {text}"
        return json.loads(text) if text else None

    def queue(self, name, **settings):
        evaluators = [{"name": "toxicity"}, {"name": "spam"}, {"name": "quality", "direction": "low"}]
        scale = {"lowest": 0, "highest": 1, "labels": {"harmful": 1, "fine": 0}}
        self.ask("PUT", f"/v1/queues/{name}", {"evaluators": evaluators, "reward": scale, "k": 5, **settings})

    def items(self, name, items):
        answer = self.ask("POST", f"/v1/queues/{name}/items", {"items": items})
        assert not answer["rejected"], answer

    def events(self, name):
        events, after = [], 0
        while True:
            page = self.ask("GET", f"/v1/queues/{name}/events?after={after}&limit=1000")
            if not page["events"]:
                return events
            events, after = events + page["events"], page["next"]

    def verdicts(self, name):
        """The current verdicts by item, without undone ones."""
        standing = {}
        for event in self.events(name):
            for verdict in event.get("verdicts", []):
                standing.setdefault(verdict["item"], []).append(verdict)
            if event["kind"] == "undo":
                standing.pop(event["items"][0], None)
        return standing

    def holders(self, name):
        """All claims in order: each item with its reviewer."""
        return [(event["reviewer"], event["items"]) for event in self.events(name) if event["kind"] == "claim"]


class Demo:
    """`jurybox demo --serve` on a free port, as a context manager."""

    def __init__(self, binary, folder):
        self.binary, self.log = binary, os.path.join(folder, "demo-log")

    def __enter__(self):
        self.process = subprocess.Popen([self.binary, "demo", "--serve", "--port", "0"], stderr=open(self.log, "w"), stdout=subprocess.DEVNULL)
        self.url = listening(self.process, self.log)
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(timeout=40)


def items(count, seed=7):
    """Items with noisy scores of their true label."""
    made = []
    for number in range(count):
        seed = (seed * 1103515245 + 12345) % 2**31
        worth, noise = number % 3 == 0, (seed >> 8) % 1000 / 1000
        scores = {"toxicity": 0.6 * worth + 0.4 * noise, "spam": noise, "quality": 1 - 0.5 * worth - 0.3 * noise}
        made.append({"id": f"post-{number}", "scores": scores, "payload": {"text": f"Text of post {number}. " * 6}})
    return made


def sit(page, server, queue, reviewer, scripts=True):
    """Opens the desk and enters the reviewer's name."""
    page.goto(f"{server.url}/q/{queue}/desk")
    page.fill("#reviewer", reviewer)
    page.keyboard.press("Enter")
    at_desk(page, scripts)


def at_desk(page, scripts=True):
    """Waits for the desk, and for its script where scripts run."""
    page.wait_for_selector("#desk[data-live]" if scripts else "#desk")


def current(page):
    """The text of the item on display, or None."""
    return page.evaluate("document.getElementById('desk').dataset.state === 'item' ? document.getElementById('item').textContent : null")


def say(page, key):
    """Presses a verdict's key after a pause, because the desk ignores keys right after a new item."""
    page.wait_for_timeout(350)
    page.keyboard.press(key)


def until(what, seconds=10.0):
    """Waits until a condition is true, and returns its value."""
    end = time.time() + seconds
    while True:
        found = what()
        if found:
            return found
        assert time.time() < end, "it did not come true in time"
        time.sleep(0.05)
