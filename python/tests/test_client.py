"""The client ``jb.Client`` against a real server, also when answers are lost."""

from __future__ import annotations

import http.server
import pickle
import queue
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import jurybox as jb
import pytest
from jurybox.client import NotAnswered, NotTaken, ServerError, verify_webhook

JURYBOX = Path(__file__).resolve().parents[2] / "target" / "release" / "jurybox"


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    command = [str(JURYBOX), "serve", "--port", "0", "--log", "off", "--webhook-allow-private", "--data", str(tmp_path / "data")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        address = ""
        while not address:
            line = server.stderr.readline()
            assert line, "it listens"
            if line.startswith("listening on "):
                address = line.split()[-1]
        try:
            yield address
        finally:
            server.terminate()


def test_what_is_sent_comes_in_parts_that_a_server_takes(address: str) -> None:
    with jb.Client(address, patience=2.0) as client:
        large = client.queue("large")
        large.put(["spam"], policy="average", k=1000)
        # Numbers as ids, NaN for missing scores, and more bytes than one request may have.
        answer = large.add({"id": i, "scores": {"spam": float("nan") if i % 2 else i}, "payload": "x" * 9000} for i in range(2500))
        assert (answer["accepted"], answer["rejected"]) == (2500, [])
        assert large.item("1")["scores"] == {"spam": None} and large.item("2")["scores"] == {"spam": 2.0}
        given = [{"id": f"v{i}", "item": i, "reviewer": "ann", "reward": 0} for i in range(6000)]
        said = large.verdicts(given, strict=False)  # type: ignore[arg-type]
        assert (said["accepted"], len(said["rejected"])) == (2500, 3500)
        # A request that is too large fails at once, without being repeated.
        with pytest.raises(ServerError) as too_much:
            client.ask("POST", "/v1/queues/large/items", {"id": "one", "payload": "x" * (40 << 20)})
        assert too_much.value.status == 413
        large.delete()


def test_a_day(address: str) -> None:
    with jb.Client(address) as client:
        posts = client.queue("posts")
        made = posts.put(["spam", {"name": "quality", "direction": "low"}], k=2, policy="average")
        assert made["counts"]["items"] == 0 and client.queues() == ["posts"]
        answer = posts.add({"id": f"p{i}", "scores": {"spam": i / 100, "quality": None}} for i in range(7000))
        assert (answer["accepted"], answer["rejected"]) == (7000, [])
        assert posts.score("p0", quality=-100.0)["updated"] == 1
        claims = posts.claim("ann")
        assert [claim["item"] for claim in claims] == ["p6999", "p6998"]
        assert [held["item"] for held in posts.held("ann")] == ["p6998", "p6999"]
        verdict = posts.verdict("p6999", reviewer="ann", reward=1, token=claims[0]["token"])
        assert posts.undo("ann", verdict)["item"] == "p6999"
        assert posts.extend("ann") == 2 and posts.skip("ann", "p6999", "mine") == 1 and posts.release("ann") == 1
        assert next(posts.items())["id"] == "p6999"
        assert sum(1 for _ in posts.items("arrival")) == 7000
        assert posts.item("p1", explain=True)["explanation"]["contributions"]["spam"] == 0.01
        assert [item["id"] for item in posts.rank([{"id": "a", "scores": {"spam": 0}}, {"id": "b", "scores": {"spam": 1}}], k=1)] == ["b"]
        assert posts.preview(k=1, evaluators=[{"name": "quality", "direction": "low"}])["enter"] == ["p0"]
        assert {each["name"] for each in posts.evaluators()} == {"spam", "quality"}
        assert posts.report()["items"] == 7000
        assert next(posts.events())["kind"] == "create"
        posts.erase("p1")
        assert posts.change(mode="draining")["mode"] == "draining"
        posts.delete()
        with pytest.raises(ServerError, match="no queue `posts`") as refused:
            posts.get()
        assert (refused.value.status, refused.value.code) == (404, "no_queue")
        assert pickle.loads(pickle.dumps(refused.value)).status == 404


def test_what_is_not_taken_is_named_and_the_rest_is_in(address: str) -> None:
    with jb.Client(address) as client:
        posts = client.queue("posts")
        posts.put(["spam"], reward={"lowest": 0, "highest": 1, "labels": {"harmful": 1, "fine": 0}})
        items = [{"id": "p1", "scores": {"spam": 1}}, {"id": None}, {"id": "p2", "scores": {"spam": "high"}}, {"id": "p3", "scores": {"ham": 1}}]
        with pytest.raises(NotTaken, match="3 items not taken") as refused:
            posts.add(items)
        assert (refused.value.answer["accepted"], refused.value.code) == (1, "rejected")
        assert {each["id"] for each in refused.value.rejected} == {"items[1]", "p2", "p3"}
        assert pickle.loads(pickle.dumps(refused.value)).rejected == refused.value.rejected
        answer = posts.add(items, strict=False)
        assert (answer["unchanged"], len(answer["rejected"])) == (1, 3)
        with pytest.raises(NotTaken, match=r"reward 2 is not on the queue's scale, from 0 to 1 \(fine = 0, harmful = 1\)"):
            posts.verdict("p1", reviewer="ann", reward=2)
        posts.verdict("p1", reviewer="ann", label="harmful")
        assert posts.item("p1")["verdicts"][0]["reward"] == 1


def test_muted_and_fixed(address: str) -> None:
    with jb.Client(address) as client:
        posts = client.queue("posts")
        posts.put(["a", "b"], policy="average")
        posts.add({"id": f"p{i}", "scores": {"a": i, "b": -10 * i}} for i in range(3))
        assert next(posts.items())["id"] == "p0"
        assert posts.preview(k=1, muted=["b"])["enter"] == ["p2"] and posts.preview(k=1, weights={"a": 1})["enter"] == ["p2"]
        assert posts.mute("b")["muted"] == ["b"]
        assert next(posts.items())["id"] == "p2"
        assert {each["name"]: each["muted"] for each in posts.evaluators()} == {"a": False, "b": True}
        posts.mute()
        assert posts.fix_weights(a=2)["weights"] == {"a": 2}
        assert next(posts.items())["id"] == "p2"
        assert "weights" not in posts.fix_weights()


def test_a_webhook_is_told_and_its_signature_is_right(address: str) -> None:
    told: queue.Queue[tuple[dict[str, str], bytes]] = queue.Queue()

    class Listens(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            told.put((dict(self.headers.items()), body))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Listens) as listens, jb.Client(address) as client:
        threading.Thread(target=listens.serve_forever, daemon=True).start()
        posts = client.queue("posts")
        posts.put(["a"])
        hook = posts.put_webhook("crm", f"http://127.0.0.1:{listens.server_port}/", after=0)
        headers, body = told.get(timeout=60)
        said = verify_webhook(hook["secret"], headers, body)
        assert (said["queue"], said["events"][0]["kind"]) == ("posts", "create")
        for secret, tampered in [(hook["secret"], body + b" "), ("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", body)]:
            with pytest.raises(ValueError, match="not signed"):
                verify_webhook(secret, headers, tampered)
        with pytest.raises(ValueError, match="seconds ago"):
            verify_webhook(hook["secret"], headers, body, tolerance=-1)
        assert "secret" not in posts.webhooks()[0]
        posts.delete_webhook("crm")
        assert posts.webhooks() == []
        listens.shutdown()


def test_an_answer_that_is_lost_happens_once(address: str) -> None:
    """A proxy between client and server forwards everything and drops every other answer."""
    host, port = address.removeprefix("http://").split(":")
    listener = socket.create_server(("127.0.0.1", 0))
    lost = 0

    def forward() -> None:
        nonlocal lost
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            with client, socket.create_connection((host, int(port))) as server:
                asked = client.recv(1 << 20)
                head, _, body = asked.partition(b"\r\n\r\n")
                length = next((int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")), 0)
                while len(body) < length:
                    body += client.recv(1 << 20)
                server.sendall(head + b"\r\n\r\n" + body)
                said = server.recv(1 << 20)
                lost += 1
                if lost % 2 == 0:
                    client.sendall(said)

    threading.Thread(target=forward, daemon=True).start()
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    with listener, jb.Client(url, patience=30) as client, jb.Client(address) as direct:
        posts = client.queue("posts")
        posts.put(["spam"])
        assert posts.add([{"id": f"p{i}", "scores": {"spam": i}} for i in range(10)])["accepted"] == 10
        assert len(posts.claim("ann", k=3)) == 3
        assert direct.queue("posts").get()["counts"]["leased"] == 3, "claimed twice, it would be six"
        assert lost >= 6


def test_a_server_that_is_away() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(NotAnswered, match="does not answer"):
        jb.Client(f"http://127.0.0.1:{port}", patience=0.2).queues()
    with pytest.raises(ValueError, match="not the address"):
        jb.Client("127.0.0.1:8686")
