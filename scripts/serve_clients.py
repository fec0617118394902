"""Shared helpers of server drills and benchmarks: a server process, and clients that retry unanswered requests."""
import http.client
import json
import random
import subprocess
import threading
import time
import uuid

#: Statuses after which the same request may succeed.
PASSING = (429, 502, 503, 504)
SET_UP = {"evaluators": [{"name": "a"}, {"name": "b"}], "k": 5, "lease_seconds": 5, "undo_seconds": 1, "settle_seconds": 1, "random_check_rate": 0.1}


class Server:
    """`jurybox serve` over a database, on a port of its own; restarted on the same port after a kill."""

    def __init__(self, binary, place, port=0):
        self.binary, self.place, self.port = binary, place, port
        self.start()

    def start(self):
        words = [self.binary, "serve", "--port", str(self.port), "--log", "off", "--data", self.place]
        self.process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            if line.startswith("listening on "):
                self.port = int(line.rsplit(":", 1)[1])
                break
        else:
            raise SystemExit(f"{words} does not listen")
        threading.Thread(target=self.process.stderr.read, daemon=True).start()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.terminate()
        if self.process.wait(60):
            raise SystemExit(f"the server ended with {self.process.returncode}")


class Refused(Exception):
    """A request that the server refused for good."""


class Client:
    """Sends requests to one of several servers, and retries with the same key at another. Records the longest wait."""

    def __init__(self, ports, patience=60.0, seed=0):
        self.ports, self.patience, self.rng = list(ports), patience, random.Random(seed)
        self.connections, self.asked, self.again, self.longest = {}, 0, 0, 0.0

    def once(self, port, method, path, body, headers):
        connection = self.connections.pop(port, None) or http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        said = answer.read()
        self.connections[port] = connection
        return answer.status, said

    def ask(self, method, path, body=None):
        headers = {"Content-Type": "application/json", "Idempotency-Key": uuid.uuid4().hex}
        sent = None if body is None else json.dumps(body).encode()
        began, wait = time.monotonic(), 0.02
        self.asked += 1
        while True:
            try:
                status, said = self.once(self.rng.choice(self.ports), method, path, sent, headers)
            except (OSError, http.client.HTTPException):
                status, said = 0, b""
            if 200 <= status < 300:
                self.longest = max(self.longest, time.monotonic() - began)
                return json.loads(said) if said else None
            if status and status not in PASSING:
                raise Refused(f"{method} {path}: {status} {said.decode(errors='replace')[:300]}")
            if time.monotonic() - began > self.patience:
                raise Refused(f"{method} {path}: not answered in {self.patience} seconds ({status})")
            self.again += 1
            time.sleep(wait)
            wait = min(wait * 2, 1.0)


class Workers:
    """Concurrent clients that send items, claim and give verdicts, and record the answers."""

    def __init__(self, ports, many, seed=1):
        self.clients = [Client(ports, seed=seed * 100 + number) for number in range(many)]
        self.done, self.lock, self.failed = threading.Event(), threading.Lock(), []
        #: The time of each answer: items by id, claims by item and token, verdicts by id.
        self.items, self.claims, self.verdicts = {}, {}, {}
        self.threads = [threading.Thread(target=self.guarded, args=(number,)) for number in range(many)]

    def start(self):
        for thread in self.threads:
            thread.start()

    def stop(self):
        self.done.set()
        for thread in self.threads:
            thread.join()

    def guarded(self, number):
        try:
            self.work(number)
        except BaseException as error:  # a worker that fails is a failed drill
            self.failed.append(repr(error))

    def work(self, number):
        client, reviewer, turn = self.clients[number], f"r{number}", 0
        rng = random.Random(number)
        while not self.done.is_set():
            turn += 1
            items = []
            for i in range(rng.randrange(1, 10)):
                merit = rng.random()
                scores = {"a": merit + rng.gauss(0, 0.2), "b": None if rng.random() < 0.2 else merit + rng.gauss(0, 0.5)}
                items.append({"id": f"w{number}-{turn}-{i}", "scores": scores})
            answer = client.ask("POST", "/v1/queues/q/items", {"items": items})
            if answer["accepted"] != len(items):
                raise Refused(f"items: {answer}")
            now = time.monotonic()
            with self.lock:
                self.items.update((item["id"], now) for item in items)
            claims = client.ask("POST", "/v1/queues/q/claims", {"reviewer": reviewer, "k": rng.randrange(1, 6)})["claims"]
            now = time.monotonic()
            with self.lock:
                for claim in claims:
                    if (claim["item"], claim["token"]) in self.claims:
                        raise Refused(f"given out twice: {claim}")
                    self.claims[claim["item"], claim["token"]] = now
            for claim in claims:
                if rng.random() < 0.1:
                    continue  # never answered: the lease runs out
                verdict = {"id": f"{claim['item']}/{reviewer}", "item": claim["item"], "reviewer": reviewer, "token": claim["token"], "reward": int(rng.random() < 0.4)}
                answer = client.ask("POST", "/v1/queues/q/verdicts", {"verdicts": [verdict]})
                if answer["accepted"] + answer["repeated"] == 1:
                    with self.lock:
                        self.verdicts[verdict["id"]] = time.monotonic()
                elif not any(word in answer["rejected"][0]["why"] for word in ("another reviewer", "closed")):
                    raise Refused(f"verdict: {answer}")


def verified(binary, place):
    """The checker's findings for the only queue."""
    said = subprocess.run([binary, "-q", "server", "verify", place, "--json"], stdout=subprocess.PIPE, text=True)
    return said.returncode == 0, json.loads(said.stdout)["queues"][0]


def there(client):
    """The ids of all items and verdicts in the log, read over HTTP."""
    items, after = set(), 0
    while after is not None:
        page = client.ask("GET", f"/v1/queues/q/items?order=arrival&after={after}&limit=1000")
        items.update(item["id"] for item in page["items"])
        after = page["next"]
    verdicts, after = set(), 0
    while True:
        page = client.ask("GET", f"/v1/queues/q/events?after={after}&limit=1000")
        if not page["events"]:
            return items, verdicts
        verdicts.update(verdict["id"] for event in page["events"] for verdict in event.get("verdicts", []))
        after = page["next"]
