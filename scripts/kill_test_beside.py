"""What goes on beside the load of kill-test: copies that are made, put back and proved; queues that are done and archived; proofs of the records.

One after the other, all the time, and killed now and then. A copy or an archive that is there must be sound, and so must the records whenever they are proved.
"""
import json
import os
import random
import shutil
import signal
import subprocess
import threading
import time


class Beside:
    def __init__(self, arguments, place, folder):
        self.arguments, self.place = arguments, place
        self.folder = os.path.join(folder, "beside")
        os.mkdir(self.folder)
        self.rng = random.Random(f"{arguments.seed} beside")
        self.failed, self.passed_over, self.kills, self.turn = [], [], 0, 0
        self.is_folder = arguments.database == "sqlite"
        self.done = {what: 0 for what in filter(None, arguments.beside.split(","))}
        if "backup" in self.done and not self.is_folder:
            self.pass_over("backup", "a PostgreSQL database is copied by pg_dump")
        if "archive" in self.done:
            known = subprocess.run([arguments.binary, "server", "archive", "--help"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if known.returncode:
                self.pass_over("archive", "this program has no `server archive`")
            elif arguments.served and self.is_folder:
                self.pass_over("archive", "the node that serves the folder makes no second queue")
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.guarded)
        self.thread.start()

    def pass_over(self, what, why):
        del self.done[what]
        self.passed_over.append(what)
        if not self.arguments.json:
            print(f"--beside {what} is passed over: {why}", flush=True)

    def guarded(self):
        try:
            while not self.over.is_set() and self.done:
                for what in list(self.done):
                    if not self.over.is_set():
                        getattr(self, what)()
                time.sleep(self.rng.expovariate(1 / 0.1))
        except BaseException as error:  # a thread that fails is a failed test
            self.failed.append(f"beside: {error!r}")

    def stop(self):
        self.over.set()
        self.thread.join()

    def run(self, *words, may_die=True, within=0.3):
        """A command: its exit code and what it said, or none where it was killed."""
        process = subprocess.Popen([self.arguments.binary, "-q", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if may_die and self.rng.random() < 0.3:
            time.sleep(self.rng.uniform(0, within))
            process.send_signal(signal.SIGKILL)
            process.communicate()
            if process.returncode == -signal.SIGKILL:
                self.kills += 1
                return None
        out, err = process.communicate()
        return process.returncode, out, err

    def went(self, what, ran):
        """Whether a command came to its end; where the database was away, or somebody else always had the folder, it need not have."""
        if ran is None:
            return False
        code, out, err = ran
        if code == 0:
            return True
        is_away = not self.is_folder and not out and (self.arguments.restarts or self.arguments.stops)
        if not is_away and "another process" not in err:
            raise SystemExit(f"{what}: {out or err}")
        return False

    def proved(self, what, place, *more):
        ran = self.run("server", "verify", place, "--json", *more)
        return json.loads(ran[1]) if self.went(what, ran) else None

    def verify(self):
        """All of it, and then what has come since."""
        kept = os.path.join(self.folder, "proof.json")
        proof = self.proved("verify", self.place, *(["--since", kept] if os.path.exists(kept) and self.rng.random() < 0.5 else []))
        if proof:
            with open(kept, "w") as file:
                json.dump(proof, file)
            self.done["verify"] += 1

    def backup(self):
        self.turn += 1
        file = os.path.join(self.folder, f"copy-{self.turn}.sqlite")
        again = os.path.join(self.folder, f"again-{self.turn}")
        ran = self.run("server", "backup", self.place, file)
        if not self.went("backup", ran) and not os.path.exists(file):
            return
        # One that was killed may have been done.
        if self.went("restore", self.run("server", "restore", file, again, may_die=False)) and self.proved("a copy", again):
            self.done["backup"] += 1
        for path in [file, again]:
            shutil.rmtree(path, ignore_errors=True) if os.path.isdir(path) else os.remove(path)

    def archive(self):
        """A queue of its own, with a few items that are all judged, goes into the archive."""
        self.turn += 1
        queue, items = f"done-{self.turn}", os.path.join(self.folder, "items.csv")
        with open(items, "w") as file:
            file.write("id,a,b\n" + "".join(f"{queue}-{i},{self.rng.random()},{self.rng.random()}\n" for i in range(20)))
        verdicts = os.path.join(self.folder, "verdicts.csv")
        with open(verdicts, "w") as file:
            file.write("id,found\n" + "".join(f"{queue}-{i},{i % 2}\n" for i in range(20)))
        for words in [
            ["init", self.place, "--evaluators", "a,b", "-k", "20", "--undo", "0"],
            ["add", self.place, items, "--id", "id"],
            ["claim", self.place, "--reviewer", "ann"],
            ["verdict", self.place, verdicts, "--id", "id", "--reward-column", "found", "--reviewer", "ann"],
        ]:
            if not self.went(" ".join(words), self.run("queue", *words, "--queue", queue, may_die=False)):
                return
        words = ["server", "archive", self.place, "--to", os.path.join(self.folder, "archive"), "--before", "2100-01-01", "--queue", queue]
        while True:
            ran = self.run(*words)
            if ran is None:
                continue  # killed: it is asked again, and goes on
            if ran[0] == 0 or "no queue" in ran[2].lower():
                break  # killed when it was done
            if not self.went("archive", ran):
                return
        self.done["archive"] += 1

    def archived(self):
        """Proves the archive, if there is one: that each queue that was moved is there."""
        archive = os.path.join(self.folder, "archive")
        if not os.path.exists(os.path.join(archive, "jurybox.sqlite")):
            return
        ran = self.run("server", "verify", archive, "--json", may_die=False)
        if ran[0] or len(json.loads(ran[1])["queues"]) < self.done.get("archive", 0):
            self.failed.append(f"the archive: {ran[1] or ran[2]}")
