"""Conversion of Python values into requests: sent correctly, or refused with the item's name."""

from __future__ import annotations

import datetime
import http.server
import itertools
import json
import pickle
import threading
import uuid
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import jurybox as jb
import numpy as np
import pandas as pd
import pytest
from jurybox.client import NotTaken
from jurybox.client._json_values import as_json, id_of, item_of, plain, verdict_of
from test_client import address as address

NOON = datetime.datetime(2026, 11, 16, 12, tzinfo=datetime.timezone.utc)


def test_a_frame_goes_to_a_server_and_comes_back(address: str) -> None:
    frame = pd.DataFrame({
        "id": np.array([7, 8, 9], dtype=np.int64),
        "spam": np.array([0.25, np.nan, 0.75], dtype=np.float32),
        "abuse": pd.array([1, None, 3], dtype="Int64"),
        "seen": pd.to_datetime(["2026-11-16T12:00Z", None, "2026-11-16T14:00Z"], utc=True),
        "text": pd.Series(["a", None, "c"], dtype="string"),
        "length": [1.5, np.nan, 3.0],
    })  # fmt: skip
    items = [
        {
            "id": row["id"],
            "scores": {"spam": row["spam"], "abuse": row["abuse"]},
            "payload": {name: row[name] for name in ("text", "length", "seen")} | {"tokens": np.array([1, 2])},
            "tags": {"language": np.str_("en")},
            "due": row["seen"],
        }
        for row in frame.to_dict("records")
    ]
    with jb.Client(address, patience=2.0) as client:
        posts = client.queue("posts")
        posts.put(["spam", "abuse"], policy="average", k=np.int64(3))
        assert posts.add(items)["accepted"] == 3
        assert posts.item("7")["scores"] == {"spam": 0.25, "abuse": 1.0}
        assert posts.item(8)["scores"] == {"spam": None, "abuse": None}  # type: ignore[arg-type]
        claims = {claim["item"]: claim for claim in posts.claim(np.str_("ann"), np.int64(3), language=np.str_("en"))}  # type: ignore[arg-type]
        assert claims["7"]["payload"] == {"text": "a", "length": 1.5, "seen": "2026-11-16T12:00:00+00:00", "tokens": [1, 2]}
        assert claims["8"]["payload"] == {"text": None, "length": None, "seen": None, "tokens": [1, 2]}
        assert posts.score(np.int64(8), spam=np.float32(0.5), abuse=np.nan)["updated"] == 1  # type: ignore[arg-type]
        posts.verdict(np.int64(7), reviewer="ann", reward=np.float64(1.0), token=np.int64(claims["7"]["token"]))  # type: ignore[arg-type]
        table = pd.DataFrame({"id": ["v8", "v9"], "item": [8.0, 9.0], "reviewer": "ann", "reward": np.array([0, 1]), "observed_at": [pd.NaT, pd.Timestamp(NOON)]})
        assert posts.verdicts(table.to_dict("records"))["accepted"] == 2  # type: ignore[arg-type]
        assert [posts.item(name)["verdicts"][0]["reward"] for name in ("7", "8", "9")] == [1, 0, 1]
        # An item that cannot be sent is listed as rejected, and the others are sent.
        odd = [{"id": 1, "scores": {"spam": np.inf}}, {"id": np.nan}, {"id": 2, "scores": {"spam": np.nan}}, {"id": 3, "due": pd.Timestamp("2026-11-16")}]
        answer = posts.add(odd, strict=False)
        assert answer["accepted"] == 1 and {each["id"] for each in answer["rejected"]} == {"1", "items[1]", "3"}
        with pytest.raises(NotTaken, match="verdict on `8`: its reward is missing"):
            posts.verdicts([{"id": "v", "item": "8", "reviewer": "ann", "reward": np.nan}])
        with pytest.raises(jb.Error, match=r"frame.to_dict\('records'\)"):
            posts.add(frame)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "made"),
    [
        (np.int64(7), "7"), (7, "7"), (7.0, "7"), (np.float64(7.0), "7"), (np.str_("p7"), "p7"), (np.uint8(7), "7"), (10**20, str(10**20)),
        (uuid.UUID(int=7), "00000000-0000-0000-0000-000000000007"), (pd.Timestamp("2026-11-16T12:00Z"), "2026-11-16T12:00:00+00:00"),
    ],
)  # fmt: skip
def test_ids_are_text(given: Any, made: str) -> None:
    assert id_of(given) == made and type(id_of(given)) is str
    assert item_of({"id": given})["id"] == made


@pytest.mark.parametrize("given", [None, np.nan, float("nan"), pd.NA, pd.NaT, True, np.True_, 7.5, [7], {"a": 1}, b"7", 1j])
def test_what_is_no_id_is_refused(given: Any) -> None:
    with pytest.raises(jb.Error, match="an id is text or a whole number") as caught:
        item_of({"id": given, "scores": {}})
    assert caught.value.code == "id"


@pytest.mark.parametrize(
    ("given", "made"),
    [
        (np.nan, None), (np.float32("nan"), None), (None, None), (pd.NA, None), (pd.NaT, None), (Decimal("NaN"), None), (np.float32(0.5), 0.5), (np.int8(3), 3.0),
        (np.float16(0.5), 0.5), (Decimal("0.1"), 0.1), (True, 1.0), (np.True_, 1.0), (np.longdouble(2), 2.0),
    ],
)  # fmt: skip
def test_scores_are_numbers_or_missing(given: Any, made: Any) -> None:
    found = item_of({"id": "p", "scores": {"spam": given}})["scores"]["spam"]
    assert found == made and type(found) is type(made)


@pytest.mark.parametrize("given", [np.inf, -np.inf, np.float32("inf"), "0.9", np.str_("0.9"), [0.9], 1j, np.timedelta64(3, "s"), pd.Timestamp(NOON), Decimal("Infinity")])
def test_what_is_no_score_is_refused(given: Any) -> None:
    with pytest.raises(jb.Error, match="item `p`, evaluator `spam`: ") as caught:
        item_of({"id": "p", "scores": {"spam": given}})
    assert (caught.value.code, caught.value.evaluator) == ("score", "spam")


def test_rewards_that_are_missing_are_no_verdicts() -> None:
    one = {"id": "v", "item": 3, "reviewer": "ann"}
    assert verdict_of({**one, "reward": np.int64(1)})["reward"] == 1.0
    assert verdict_of({**one, "reward": np.nan, "label": "fine"}) == {"id": "v", "item": "3", "reviewer": "ann", "label": "fine"}
    assert verdict_of({**one, "reward": 1, "revises": np.nan})["revises"] is None
    for missing in (None, np.nan, pd.NA):
        with pytest.raises(jb.Error, match="verdict on `3`: its reward is missing; leave out"):
            verdict_of({**one, "reward": missing})
    for odd in ("1", np.inf):
        with pytest.raises(jb.Error, match="verdict on `3`: reward: "):
            verdict_of({**one, "reward": odd})


def test_times_have_a_zone() -> None:
    for time in (NOON, pd.Timestamp(NOON)):
        assert item_of({"id": "p", "due": time})["due"] == "2026-11-16T12:00:00+00:00"
    assert item_of({"id": "p", "due": pd.NaT})["due"] is None
    assert item_of({"id": "p", "due": "2026-11-16T12:00:00Z"})["due"] == "2026-11-16T12:00:00Z"
    for naive in (datetime.datetime(2026, 11, 16), pd.Timestamp("2026-11-16"), np.datetime64("2026-11-16"), datetime.date(2026, 11, 16)):
        with pytest.raises(jb.Error, match="item `p`: due = .* has no time zone"):
            item_of({"id": "p", "due": naive})


def test_payloads_are_what_they_say() -> None:
    payload = {
        "n": np.int64(2**53 + 1), "x": np.float32(0.5), "flag": np.True_, "gone": [np.nan, pd.NA, None], "day": datetime.date(2026, 1, 2),
        "series": pd.Series([1, 2]), "nested": {1: (np.str_("a"), {"b": np.arange(2)})}, "moment": np.datetime64("2026-01-02T03:04:05"), "money": Decimal("1.5"),
    }  # fmt: skip
    assert json.loads(as_json(item_of({"id": "p", "payload": payload})["payload"])) == {
        "n": 2**53 + 1, "x": 0.5, "flag": True, "gone": [None, None, None], "day": "2026-01-02",
        "series": [1, 2], "nested": {"1": ["a", {"b": [0, 1]}]}, "moment": "2026-01-02T03:04:05", "money": 1.5,
    }  # fmt: skip
    for odd, where in (({"a": [1, np.inf]}, r"item `p`: payload.a\[1\]"), ({"a": {"b": b"x"}}, "item `p`: payload.a.b"), (object(), "item `p`: payload")):
        with pytest.raises(jb.Error, match=f"{where}: .* (cannot be sent|cannot be written as JSON)"):
            item_of({"id": "p", "payload": odd})


def in_itself() -> dict[str, Any]:
    payload: dict[str, Any] = {}
    payload["self"] = payload
    return payload


def deep(levels: int) -> Any:
    return [] if levels == 0 else [deep(levels - 1)]


#: Values that cannot be sent, or would change on the way.
UNSENDABLE: dict[str, Any] = {
    "half a letter": {"text": "a\ud800b"},
    "half a letter as a key": {"\udc00": 1},
    "in itself": in_itself(),
    "very deep": deep(600),
    "deep": deep(200),
    "many bits": 1 << 70,
    "more digits than Python writes": 10**5000,
    "a span of time": np.timedelta64(3, "s"),
    "a frame": pd.DataFrame({"a": [1]}),
    "bytes": b"x",
}


def test_a_payload_that_cannot_be_sent_keeps_no_other_out(address: str) -> None:
    with jb.Client(address, patience=2.0) as client:
        posts = client.queue("odd")
        posts.put(["spam"], policy="average", k=3)
        items: list[dict[str, Any]] = [{"id": f"fine{at}", "scores": {"spam": at}} for at in range(50)]
        odd = [{"id": name, "payload": payload} for name, payload in UNSENDABLE.items()]
        # The last ones are refused by the server: an unknown field, invalid tags, a payload that is
        # too large.
        odd += [{"id": "unknown field", "txt": "x"}, {"id": "odd tags", "tags": {"language": ["en"]}}, {"id": "large", "payload": "x" * (20 << 20)}]
        for at, one in enumerate(odd):
            items.insert(at * 4, one)
        answer = posts.add(items, strict=False)
        assert answer["accepted"] == 50
        assert {each["id"] for each in answer["rejected"]} == {one["id"] for one in odd}
        assert all(each["why"] for each in answer["rejected"])
        with pytest.raises(NotTaken, match=f"{len(odd)} items not taken"):
            posts.add(items)
        said = posts.verdicts(
            [
                {"id": "v1", "item": "fine1", "reviewer": "ann", "reward": 1},
                {"id": "v2", "item": "fine2", "reviewer": "half\ud800", "reward": 1},
                {"id": "v3", "item": "fine3", "reviewer": "ann", "reward": 1, "colour": "red"},  # type: ignore[typeddict-unknown-key]
                {"id": "v4", "item": "fine4", "reviewer": "ann", "reward": 0},
            ],
            strict=False,
        )
        assert said["accepted"] == 2 and {each["id"] for each in said["rejected"]} == {"v2", "v3"}


class Strict(http.server.BaseHTTPRequestHandler):
    """A server that refuses a whole request for one item in it."""

    asked = 0

    def do_POST(self) -> None:
        Strict.asked += 1
        items = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["items"]
        bad = [item["id"] for item in items if item.get("payload") == "bad"]
        said = {"detail": f"not understood: {bad[0]}"} if bad else {"accepted": len(items), "updated": 0, "unchanged": 0, "rejected": []}
        body = json.dumps(said).encode()
        self.send_response(400 if bad else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


def test_what_a_server_refuses_as_a_whole_is_found_out_one_by_one() -> None:
    with http.server.HTTPServer(("127.0.0.1", 0), Strict) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with jb.Client(f"http://127.0.0.1:{server.server_port}", patience=1.0) as client:
            odd = {7, 500, 999}
            answer = client.queue("q").add([{"id": at, "payload": "bad" if at in odd else "fine"} for at in range(1000)], strict=False)
            assert answer["accepted"] == 997
            assert [(each["id"], each["why"]) for each in answer["rejected"]] == [(str(at), f"not understood: {at} (400)") for at in sorted(odd)]
            assert Strict.asked < 80
            # An error about all items is raised at once, without sending them one by one.
            Strict.asked = 0
            with pytest.raises(jb.client.ServerError, match="not understood") as told:
                client.queue("q").add([{"id": at, "payload": "bad"} for at in range(1000)])
            assert told.value.status == 400 and not isinstance(told.value, NotTaken)
            assert Strict.asked < 300
        server.shutdown()


def test_what_would_be_something_else_is_refused() -> None:
    assert plain(np.array(5)) == 5 and plain(np.array("a")) == "a" and plain(np.array(np.nan)) is None
    assert plain(1 << 63) == 1 << 63 and plain(-(1 << 63)) == -(1 << 63)
    for name, payload in UNSENDABLE.items():
        if name in ("in itself", "very deep", "deep"):
            continue
        with pytest.raises(jb.Error, match="item `p`: payload"):
            item_of({"id": "p", "payload": payload})
    with pytest.raises(jb.Error, match="id= has a lone surrogate"):
        item_of({"id": "\ud800"})


def test_what_are_no_mappings_is_said() -> None:
    with pytest.raises(jb.Error, match=r"frame.to_dict\('records'\)"):
        item_of("id")  # what iterating a frame's rows yields
    with pytest.raises(jb.Error, match="item `p`: its scores are "):
        item_of({"id": "p", "scores": [0.5]})
    assert plain({np.int64(1): 2}) == {"1": 2}


def test_one_name_is_one_item_and_no_list_of_letters(address: str) -> None:
    with jb.Client(address, patience=2.0) as client:
        posts = client.queue("letters")
        with pytest.raises(jb.Error, match="a list of names"):
            posts.put("spam")
        posts.put(["spam"], policy="average", k=3)
        posts.add([{"id": name, "scores": {"spam": 1.0}} for name in ("1", "7", "17")])
        assert len(posts.claim("ann", 3)) == 3
        assert posts.release("ann", "17") == 1
        assert {claim["item"] for claim in posts.held("ann")} == {"1", "7"}


class Elsewhere(http.server.BaseHTTPRequestHandler):
    """A proxy that redirects, or answers with a page."""

    def do_DELETE(self) -> None:
        self.send_response(301)
        self.send_header("Location", "https://example.org/")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "6")
        self.end_headers()
        self.wfile.write(b"<html>")

    def log_message(self, format: str, *args: object) -> None:
        pass


def test_what_a_proxy_says_is_no_success() -> None:
    with http.server.HTTPServer(("127.0.0.1", 0), Elsewhere) as proxy:
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        with jb.Client(f"http://127.0.0.1:{proxy.server_port}", patience=1.0) as client:
            with pytest.raises(jb.client.ServerError, match="redirects to https://example.org/") as told:
                client.queue("q").erase("x")
            assert told.value.status == 301
            with pytest.raises(jb.client.ServerError, match="not JSON"):
                client.queues()
        proxy.shutdown()


class Odd(http.server.BaseHTTPRequestHandler):
    """A server whose JSON answers have an unexpected shape."""

    said = b"{}"

    def answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.said)))
        self.end_headers()
        self.wfile.write(self.said)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def odd() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Odd) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


CALLS: dict[str, Callable[[jb.client.Queue], Any]] = {
    "claim": lambda queue: queue.claim("ann"),
    "held": lambda queue: queue.held("ann"),
    "extend": lambda queue: queue.extend("ann"),
    "put": lambda queue: queue.put(["spam"]),
    "get": lambda queue: queue.get(),
    "change": lambda queue: queue.change(k=3),
    "add": lambda queue: queue.add([{"id": "p"}]),
    "score": lambda queue: queue.score("p", spam=1.0),
    "verdict": lambda queue: queue.verdict("p", reviewer="ann", reward=1),
    "undo": lambda queue: queue.undo("ann", "v"),
    "item": lambda queue: queue.item("p"),
    "items": lambda queue: list(itertools.islice(queue.items(), 50)),
    "events": lambda queue: list(itertools.islice(queue.events(), 50)),
    "rank": lambda queue: queue.rank([{"id": "p"}]),
    "evaluators": lambda queue: queue.evaluators(),
    "webhooks": lambda queue: queue.webhooks(),
    "put_webhook": lambda queue: queue.put_webhook("x", "http://127.0.0.1"),
    "preview": lambda queue: queue.preview(),
    "report": lambda queue: queue.report(),
    "queues": lambda queue: queue._client.queues(),
}

#: Answers of these calls may be any JSON object.
ANY_OBJECT = ("put", "get", "change", "score", "undo", "item", "put_webhook", "preview", "report")


@pytest.mark.parametrize("said", ["[]", "7", '"fine"', "null", "", "{}", '{"claims": 3, "items": "x", "accepted": "1", "rejected": {}, "changed": true, "queues": null}'])
@pytest.mark.parametrize("call", CALLS)
def test_an_answer_of_another_shape_is_refused_with_what_came(call: str, said: str, odd: str) -> None:
    Odd.said = said.encode()
    with jb.Client(odd, patience=1.0) as client:
        if call in ANY_OBJECT and said.startswith("{"):
            assert CALLS[call](client.queue("q")) == json.loads(said)
            return
        with pytest.raises(jb.client.ServerError, match="the answer has no .*: ") as told:
            CALLS[call](client.queue("q"))
        assert told.value.code == "unknown" and "version" in told.value.advice
        assert pickle.loads(pickle.dumps(told.value)).status == 200


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("events", {"events": [{"seq": 1}], "next": 0}),
        ("events", {"events": [{"seq": 1}], "next": -4}),
        ("events", {"events": [{"seq": 1}]}),
        ("items", {"items": [{"id": "p"}], "next": 0}),
        ("items", {"items": [], "next": 0}),
        ("items", {"items": [{"id": "p"}], "next": "1"}),
    ],
)
def test_pages_that_lead_nowhere_end(call: str, said: dict[str, Any], odd: str) -> None:
    Odd.said = json.dumps(said).encode()
    with jb.Client(odd, patience=1.0) as client, pytest.raises(jb.client.ServerError, match="the answer has no `next`"):
        CALLS[call](client.queue("q"))


def test_a_verdict_that_nobody_took_in_is_no_success(odd: str) -> None:
    Odd.said = b'{"accepted": 0, "repeated": 0, "rejected": []}'
    with jb.Client(odd, patience=1.0) as client, pytest.raises(jb.client.ServerError, match="count of the verdict"):
        client.queue("q").verdict("p", reviewer="ann", reward=1)


@pytest.mark.parametrize("given", [float(2**53), -float(2**60), np.float32(2**24), np.float16(2048)])
def test_ids_that_a_float_has_no_room_for_are_refused(given: Any) -> None:
    with pytest.raises(jb.Error, match="a float cannot hold this id exactly; pass it as text"):
        id_of(given)
    assert id_of(np.float32(2**24 - 1)) == str(2**24 - 1) and id_of(float(2**53 - 1)) == str(2**53 - 1)


def test_a_key_is_not_shown() -> None:
    with pytest.raises(ValueError, match="not allowed in a key") as told:
        jb.Client(key="sec\nret")
    assert "sec" not in str(told.value)
    assert jb.Client(key="secret\n")._key == "secret"
