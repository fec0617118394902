"""Nodes that serve one queue, several of a PostgreSQL or one of a folder, and what happens to them: the part of kill-test that is about several processes at once.

Each node is a process that lives until it is killed and answers many callers. Callers ask whichever node they meet, and ask another one, with
the same keys and ids, when a node dies under their question. Meanwhile nodes are killed, stopped in mid-transaction and continued when
the database has given up on them, and the database itself is restarted as after a crash.
"""
import json
import os
import random
import signal
import subprocess
import threading
import time

CONFIG = {"evaluators": [{"name": "a"}, {"name": "b"}], "k": 5, "lease_seconds": 3, "undo_seconds": 1, "settle_seconds": 1, "audit_rate": 0.1}
# More than a node is given that stops in mid-transaction.
STOPPED = 6.5


class Died(Exception):
    """The node is gone, and what became of the question is not known."""


class Node:
    """A process that serves the queue; a new one after each kill."""

    def __init__(self, binary, url):
        self.binary, self.url = binary, url
        self.lock = threading.Lock()
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [self.binary, self.url, json.dumps(CONFIG)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.waiting, self.next, self.stopped = {}, 0, False
        threading.Thread(target=self.listen, args=(self.process, self.waiting), daemon=True).start()

    def listen(self, process, waiting):
        for line in process.stdout:
            try:
                said = json.loads(line)
            except ValueError:
                break  # cut off by a kill
            with self.lock:
                slot = waiting.pop(said["id"], None)
            if slot:
                slot[1] = said
                slot[0].set()
        process.wait()
        with self.lock:
            slots = list(waiting.values())
            waiting.clear()
        for slot in slots:
            slot[0].set()

    def ask(self, call):
        slot = [threading.Event(), None]
        with self.lock:
            self.next += 1
            if self.process.poll() is not None:
                raise Died
            self.waiting[self.next] = slot
            try:
                self.process.stdin.write(json.dumps({"id": self.next, "call": call}) + "\n")
                self.process.stdin.flush()
            except (BrokenPipeError, ValueError):
                self.waiting.pop(self.next, None)
                raise Died from None
        slot[0].wait()
        if slot[1] is None:
            raise Died
        return slot[1]

    def kill(self):
        with self.lock:
            process = self.process
        process.send_signal(signal.SIGKILL)
        process.wait()
        said = process.stderr.read()
        if said:
            raise SystemExit(f"a node said: {said}")
        with self.lock:
            self.start()

    def close(self):
        self.process.stdin.close()
        self.process.wait(60)


class Nodes:
    def __init__(self, arguments, root, folder, rows_of):
        self.arguments, self.root, self.rows_of = arguments, root, rows_of
        self.place, many = folder, 1
        if not folder:
            started = subprocess.run([os.path.join(root, "scripts", "postgres"), "start"], check=True, stdout=subprocess.PIPE, text=True).stdout
            self.settings = dict(line.split("=", 1) for line in started.splitlines())
            self.place, many = self.settings["DATABASE_URL"], arguments.nodes
        binary = os.path.join(os.path.dirname(arguments.binary), "examples", "node")
        self.nodes = [Node(binary, self.place) for _ in range(many)]
        self.kills = self.restarts = self.stops = 0
        self.done = threading.Event()
        self.calm = threading.Lock()  # held while one thing is being done to the nodes or the database
        self.failed = []
        self.lock = threading.Lock()
        self.items, self.claims, self.verdicts, self.differing = set(), {}, {}, []

    def query(self, words):
        """Rows of plain values, by psql."""
        found = subprocess.run(["bash", "-c", "ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1"], stdout=subprocess.PIPE, text=True).stdout.strip()
        psql = os.path.join(found, "psql") if found else "psql"
        out = subprocess.run([psql, "-X", "-A", "-t", "-F", "\t", "-c", words, self.place], check=True, stdout=subprocess.PIPE, text=True).stdout
        return [line.split("\t") for line in out.splitlines()]

    def ask(self, rng, call):
        """Asks one node after the other until one has answered."""
        while True:
            try:
                said = rng.choice(self.nodes).ask(call)
            except Died:
                time.sleep(0.02)
                continue
            if said.get("error") in ("database", "unknown", "closed"):
                time.sleep(0.05)  # the database is away, or has taken the queue from a node that was stopped: ask again
                continue
            if "error" in said:
                raise SystemExit(f"{call['request']}: {said}")
            return said["answer"]

    def work(self, number):
        rng, turn = random.Random(self.arguments.seed * 1000 + number), 0
        reviewer = f"r{number}"
        while not self.done.is_set():
            turn += 1
            names = [f"w{number}-{turn}-{i}" for i in range(rng.randrange(1, 10))]
            items = []
            for name in names:
                merit = rng.random()
                scores = {"a": merit + rng.gauss(0, 0.2)}
                if rng.random() > 0.2:
                    scores["b"] = merit + rng.gauss(0, 0.5)
                items.append({"id": name, "scores": scores, "tags": {"language": rng.choice(["en", "de"])}})
            call = {"actor": reviewer, "idempotency": f"i/{reviewer}/{turn}", "request": {"items": items}}
            answer = self.ask(rng, call)
            if answer["accepted"] != len(names) or answer["rejected"]:
                self.differing.append(f"{call}: {answer}")
            with self.lock:
                self.items.update(names)
            wanted = {"language": ["en"]} if rng.random() < 0.2 else {}
            request = {"claim": {"reviewer": reviewer, "k": rng.randrange(1, 6), "filter": wanted}}
            call = {"actor": reviewer, "idempotency": f"c/{reviewer}/{turn}", "request": request}
            claimed = self.ask(rng, call)["claims"]
            if rng.random() < 0.2 and self.ask(rng, call)["claims"] != claimed:
                self.differing.append(call["idempotency"])
            with self.lock:
                for claim in claimed:
                    self.claims[(claim["item"], claim["token"])] = reviewer
            for claim in claimed:
                if rng.random() < 0.1:
                    continue  # never answered: the lease runs out
                given = {"id": f"{claim['item']}/{reviewer}", "item": claim["item"], "reviewer": reviewer, "token": claim["token"], "reward": int(rng.random() < 0.4)}
                answer = self.ask(rng, {"actor": reviewer, "idempotency": None, "request": {"verdicts": [given]}})
                if answer["accepted"] + answer["repeated"] == 1:
                    with self.lock:
                        self.verdicts[given["id"]] = given["reward"]
                elif not any(word in answer["rejected"][0]["why"] for word in ("another reviewer", "closed")):
                    raise SystemExit(f"verdict: {answer}")
            time.sleep(rng.expovariate(1 / self.arguments.pause))

    def killing(self, rng):
        while self.kills < self.arguments.kills and not self.done.is_set():
            time.sleep(rng.expovariate(1 / 0.2))
            node = rng.choice(self.nodes)
            if not node.stopped:
                node.kill()
                self.kills += 1

    def restarting(self, rng):
        while self.restarts < self.arguments.restarts and not self.done.is_set():
            time.sleep(rng.uniform(1, 4))
            with self.calm:
                how = rng.choice(["immediate", "immediate", "fast"])
                subprocess.run([os.path.join(self.root, "scripts", "postgres"), "restart", self.settings["POSTGRES_DIR"], how], check=True)
                self.restarts += 1

    def stopping(self, rng):
        while self.stops < self.arguments.stops and not self.done.is_set():
            time.sleep(rng.uniform(0.05, 0.3))
            with self.calm:
                node = rng.choice(self.nodes)
                node.stopped = True
                time.sleep(0.02)
                process = node.process
                if process.poll() is not None:
                    node.stopped = False  # it has just been killed
                    continue
                process.send_signal(signal.SIGSTOP)
                time.sleep(0.1)
                state = self.query(f"SELECT 1 FROM pg_stat_activity WHERE application_name = 'jurybox {process.pid}' AND state = 'idle in transaction'")
                if state:
                    time.sleep(STOPPED)
                    self.stops += 1
                process.send_signal(signal.SIGCONT)
                node.stopped = False

    def guarded(self, work, *words):
        try:
            work(*words)
        except BaseException as error:  # a thread that fails is a failed test
            self.failed.append(f"{work.__name__}: {error!r}")
            self.done.set()

    def run(self):
        doing = [threading.Thread(target=self.guarded, args=(self.work, number)) for number in range(self.arguments.workers)]
        harm = [threading.Thread(target=self.guarded, args=(work, random.Random(f"{self.arguments.seed}{work.__name__}"))) for work in (self.killing, self.restarting, self.stopping)]
        for thread in doing + harm:
            thread.start()
        for thread in harm:
            thread.join()
        self.done.set()
        for thread in doing:
            thread.join()
        for node in self.nodes:
            node.close()

    def rows(self):
        """What is in the database: ids of items, claims with who has them, verdicts that stand."""
        if self.arguments.database == "sqlite":
            return self.rows_of(self.place)
        queue = "(SELECT id FROM jurybox.queues WHERE name = 'q')"
        there = [row[0] for row in self.query(f"SELECT key FROM jurybox.items WHERE queue = {queue}")]
        claimed = {(key, int(seq)): reviewer for key, seq, reviewer in self.query(f"SELECT i.key, c.seq, c.reviewer FROM jurybox.claims c JOIN jurybox.items i ON i.queue = c.queue AND i.n = c.item WHERE c.queue = {queue}")}
        standing = [(id_, int(item), int(slot), float(reward)) for id_, item, slot, reward in self.query(f"SELECT id, item, slot, reward FROM jurybox.verdicts WHERE superseded_by IS NULL AND queue = {queue}")]
        return there, claimed, standing

    def stop(self):
        subprocess.run([os.path.join(self.root, "scripts", "postgres"), "stop", self.settings["POSTGRES_DIR"]], check=True)
