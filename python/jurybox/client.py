"""A client for ``jurybox serve``: typed, without further packages, and safe to repeat.

::

    import jurybox as jb

    client = jb.Client("http://127.0.0.1:8686", key=None)
    posts = client.queue("posts")
    posts.put(evaluators=["spam", {"name": "quality", "direction": "low"}], k=5)
    posts.add([{"id": "p1", "scores": {"spam": 0.9}}])
    for claim in posts.claim("ann"):
        posts.verdict(claim["item"], reviewer="ann", reward=1, token=claim["token"])

Every request that changes something carries an ``Idempotency-Key``. Where the server is away, busy or asked too often, it is repeated with the same
key, as the server says (``Retry-After``) and for as long as ``patience``: it happens once, whatever became of the first answer.
"""

from __future__ import annotations

import base64
import hmac
import http.client
import json
import os
import ssl
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypedDict, cast
from urllib.parse import quote, urlencode, urlsplit

from ._errors import Error

__all__ = [
    "Claim",
    "Client",
    "ItemsAnswer",
    "NotAnswered",
    "NotTaken",
    "Queue",
    "Rejected",
    "ServerError",
    "Verdict",
    "VerdictsAnswer",
    "Webhook",
    "verify_webhook",
]

#: Items that are sent together.
TOGETHER = 5000
#: And so many bytes, well below what a server takes (16 MiB unless it was told otherwise).
BYTES_TOGETHER = 4 << 20
#: Statuses after which the same request may succeed.
PASSING = (429, 502, 503, 504)


class Rejected(TypedDict):
    """What was not taken in, and why."""

    id: str
    why: str


class ItemsAnswer(TypedDict):
    """What became of items."""

    accepted: int
    updated: int
    unchanged: int
    rejected: list[Rejected]


class VerdictsAnswer(TypedDict):
    """What became of verdicts."""

    accepted: int
    repeated: int
    rejected: list[Rejected]


class _Claim(TypedDict):
    item: str
    token: int
    until: str
    rank: int
    value: float | None
    probability: float
    explored: bool


class Claim(_Claim, total=False):
    """An item that a reviewer was given."""

    payload: Any


class _Verdict(TypedDict):
    id: str
    item: str
    reviewer: str


class Verdict(_Verdict, total=False):
    """A verdict to take in: with a ``reward``, or with a ``label`` of the queue's scale."""

    reward: float
    token: int | None
    label: str | None
    source: str
    revises: str | None
    observed_at: str | None


class ServerError(Error):
    """The server refused: the HTTP ``status``, a ``code`` that stays, what to do (``advice``), and the request in the server's log."""

    def __init__(
        self, message: str, *, code: str = "", status: int = 0, advice: str = "", request_id: str | None = None
    ) -> None:
        super().__init__(message, code=code)
        self.status = status
        self.advice = advice
        self.request_id = request_id


class NotTaken(ServerError):
    """Some of what was sent was not taken in, and why (``rejected``); all else was. ``answer`` is the whole of what the server said."""

    def __init__(self, message: str, *, answer: Any = None, **more: Any) -> None:
        super().__init__(message, **{"code": "rejected", "status": 200, **more})
        self.answer = answer

    @property
    def rejected(self) -> list[Rejected]:
        """What was not taken in, and why."""
        return cast("list[Rejected]", self.answer["rejected"]) if self.answer else []


class Webhook(TypedDict, total=False):
    """Where else a queue's log is told, and how that stands; ``secret`` only in the answer that made it."""

    name: str
    url: str
    made: str
    seen: int
    behind: int
    failures: int
    why: str | None
    failing_since: str | None
    next_try: str | None
    off: bool
    secret: str


class NotAnswered(Error):
    """The server could not be reached, for as long as was waited."""


class Client:
    """A server, by its address; ``key`` is a secret of ``jurybox server key add`` (``JURYBOX_KEY`` where it is not given).

    ``patience`` says for how many seconds a request is repeated while the server is away, ``timeout`` how long one answer may take.
    One client is for one thread; clients are cheap.
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:8686",
        *,
        key: str | None = None,
        patience: float = 60.0,
        timeout: float = 60.0,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url!r} is no address of a server: it begins with http:// or https://")
        self._secure = parts.scheme == "https"
        self._host, self._port = parts.hostname, parts.port
        self._path = parts.path.rstrip("/")
        self._key = key if key is not None else os.environ.get("JURYBOX_KEY")
        self._patience, self._timeout = patience, timeout
        self._connection: http.client.HTTPConnection | None = None

    def queue(self, name: str) -> Queue:
        """A queue by its name, which need not be there yet."""
        return Queue(self, name)

    def queues(self) -> list[str]:
        """The names of the queues that the key may see."""
        return cast("list[str]", self.ask("GET", "/v1/queues")["queues"])

    def close(self) -> None:
        """Closes the connection; the next request opens another."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        scheme = "https" if self._secure else "http"
        port = f":{self._port}" if self._port else ""
        return f"Client({f'{scheme}://{self._host}{port}{self._path}'!r})"

    def ask(self, method: str, path: str, body: object = None, *, key: str | None = None) -> Any:
        """Any request: its answer from JSON. It is repeated where that can help, always with the same ``Idempotency-Key``."""
        headers = {"Accept": "application/json"}
        sent = None if body is None else json.dumps(body, allow_nan=False).encode()
        if sent is not None:
            headers["Content-Type"] = "application/json"
        if method == "POST":
            headers["Idempotency-Key"] = key or uuid.uuid4().hex
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        until, wait, again = time.monotonic() + self._patience, 0.1, False
        while True:
            try:
                status, said, after = self._once(method, path, sent, headers)
            except (OSError, http.client.HTTPException) as error:
                self.close()
                if isinstance(error, ssl.SSLCertVerificationError):
                    raise NotAnswered(f"{self!r}: its certificate is not trusted: {error}", code="certificate") from error
                if time.monotonic() + wait > until:
                    raise NotAnswered(f"{self!r} does not answer: {error}", code="away") from error
            else:
                if status < 400:
                    return json.loads(said) if said else None
                if status == 404 and method == "DELETE" and again:
                    return None  # it was there when it was first asked for
                if status not in PASSING or time.monotonic() + wait > until:
                    raise _refused(said, status)
                wait = max(wait, after)
            again = True
            time.sleep(min(wait, max(0.0, until - time.monotonic())))
            wait = min(wait * 2, 5.0)

    def _once(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> tuple[int, bytes, float]:
        if self._connection is None:
            kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
            self._connection = kind(self._host, self._port, timeout=self._timeout)
        cut = False
        try:
            self._connection.request(method, self._path + path, body, headers)
        except (BrokenPipeError, ConnectionResetError):
            cut = True  # it may have answered before it had read everything, such as that it is too much
        response = self._connection.getresponse()
        said = response.read()
        if cut:
            self.close()
        after = response.getheader("Retry-After") or "0"
        return response.status, said, float(after) if after.isdigit() else 0.0


def _refused(said: bytes, status: int) -> ServerError:
    try:
        problem = json.loads(said)
    except ValueError:
        problem = None
    if not isinstance(problem, dict):
        problem = {"detail": said[:200].decode(errors="replace"), "code": "unknown"}
    return ServerError(
        f"{problem.get('detail')} ({status})",
        code=str(problem.get("code")),
        status=status,
        advice=str(problem.get("advice", "")),
        request_id=problem.get("request_id"),
    )


class Queue:
    """A queue of a server; made by :meth:`Client.queue`."""

    def __init__(self, client: Client, name: str) -> None:
        self._client, self.name = client, name
        self._path = f"/v1/queues/{quote(name, safe='')}"

    def __repr__(self) -> str:
        return f"{self._client!r}.queue({self.name!r})"

    def put(self, evaluators: Sequence[str | Mapping[str, str]], **settings: Any) -> dict[str, Any]:
        """Makes the queue, or sets it up so; ``settings`` are those of the server, such as ``k``, ``policy`` or ``lease_seconds``."""
        named = [{"name": each} if isinstance(each, str) else dict(each) for each in evaluators]
        return cast("dict[str, Any]", self._client.ask("PUT", self._path, {"evaluators": named, **settings}))

    def change(self, **settings: Any) -> dict[str, Any]:
        """Changes what is named in how the queue is set up."""
        return cast("dict[str, Any]", self._client.ask("PATCH", self._path, settings))

    def get(self) -> dict[str, Any]:
        """How the queue is set up, and how it stands."""
        return cast("dict[str, Any]", self._client.ask("GET", self._path))

    def delete(self) -> None:
        """Deletes the queue with everything in it."""
        self._client.ask("DELETE", self._path)

    def add(self, items: Iterable[Mapping[str, Any]], *, strict: bool = True) -> ItemsAnswer:
        """Sends items, however many: each with ``id``, and where there are any ``scores``, ``payload``, ``tags``, ``due``.

        Items that the server does not take do not keep the others out. They are an error once all have been sent (:class:`NotTaken`, which
        names them), or with ``strict=False`` among ``rejected`` of the answer.
        """
        answer: ItemsAnswer = {"accepted": 0, "updated": 0, "unchanged": 0, "rejected": []}
        for some in _together(items):
            part = cast(ItemsAnswer, self._client.ask("POST", f"{self._path}/items", {"items": some}))
            answer["accepted"] += part["accepted"]
            answer["updated"] += part["updated"]
            answer["unchanged"] += part["unchanged"]
            answer["rejected"] += part["rejected"]
        if strict and answer["rejected"]:
            raise _not_taken("items", answer["rejected"], answer)
        return answer

    def score(self, item: str, **scores: float | None) -> ItemsAnswer:
        """Gives an item further scores."""
        path = f"{self._path}/items/{quote(item, safe='')}/scores"
        return cast(ItemsAnswer, self._client.ask("PATCH", path, {"scores": scores}))

    def erase(self, item: str) -> None:
        """Erases an item, and what was learnt from it."""
        self._client.ask("DELETE", f"{self._path}/items/{quote(item, safe='')}")

    def claim(self, reviewer: str, k: int | None = None, **tags: str | Sequence[str]) -> list[Claim]:
        """The next items for a reviewer, best first; ``tags`` say which are wanted, such as ``language="en"``."""
        wanted = {name: [value] if isinstance(value, str) else list(value) for name, value in tags.items()}
        body = {"reviewer": reviewer, "tags": wanted} | ({} if k is None else {"k": k})
        return cast("list[Claim]", self._client.ask("POST", f"{self._path}/claims", body)["claims"])

    def held(self, reviewer: str) -> list[dict[str, Any]]:
        """What a reviewer holds."""
        said = self._client.ask("GET", f"{self._path}/claims?{urlencode({'reviewer': reviewer})}")
        return cast("list[dict[str, Any]]", said["claims"])

    def extend(self, reviewer: str, items: Sequence[str] = ()) -> int:
        """Lets a reviewer keep items for another while; all of them where none are named. How many that were."""
        return self._changed("claims/extend", {"reviewer": reviewer, "items": list(items)})

    def release(self, reviewer: str, items: Sequence[str] = ()) -> int:
        """Gives items back; all that the reviewer holds where none are named. How many that were."""
        return self._changed("claims/release", {"reviewer": reviewer, "items": list(items)})

    def skip(self, reviewer: str, item: str, reason: str) -> int:
        """Gives an item back that this reviewer does not want again."""
        return self._changed("claims/skip", {"reviewer": reviewer, "item": item, "reason": reason})

    def _changed(self, what: str, body: object) -> int:
        return cast(int, self._client.ask("POST", f"{self._path}/{what}", body)["changed"])

    def verdict(
        self,
        item: str,
        *,
        reviewer: str,
        reward: float | None = None,
        token: int | None = None,
        label: str | None = None,
        revises: str | None = None,
        id: str | None = None,
    ) -> str:
        """Sends one verdict, and returns its id. It says a ``reward``, or a ``label`` of the queue's scale. One that is not taken in is an error."""
        id = id or uuid.uuid4().hex
        one: Verdict = {"id": id, "item": item, "reviewer": reviewer}
        if reward is not None:
            one["reward"] = reward
        if token is not None:
            one["token"] = token
        if label is not None:
            one["label"] = label
        if revises is not None:
            one["revises"] = revises
        self.verdicts([one], strict=True)
        return id

    def verdicts(self, verdicts: Sequence[Verdict], *, strict: bool = True) -> VerdictsAnswer:
        """Sends verdicts; one whose id was sent before counts once. Those that are not taken are an error (:class:`NotTaken`), or with
        ``strict=False`` among ``rejected`` of the answer; the others count either way."""
        answer: VerdictsAnswer = {"accepted": 0, "repeated": 0, "rejected": []}
        for some in _together(cast("Iterable[Mapping[str, Any]]", verdicts)):
            part = cast(VerdictsAnswer, self._client.ask("POST", f"{self._path}/verdicts", {"verdicts": some}))
            answer["accepted"] += part["accepted"]
            answer["repeated"] += part["repeated"]
            answer["rejected"] += part["rejected"]
        if strict and answer["rejected"]:
            raise _not_taken("verdicts", answer["rejected"], answer)
        return answer

    def undo(self, reviewer: str, verdict: str) -> dict[str, Any]:
        """Takes back a verdict that was just given: its item is the reviewer's own again."""
        body = {"reviewer": reviewer, "verdict": verdict}
        return cast("dict[str, Any]", self._client.ask("POST", f"{self._path}/verdicts/undo", body))

    def item(self, item: str, *, explain: bool = False) -> dict[str, Any]:
        """An item with all that is known of it, and why it has its value."""
        path = f"{self._path}/items/{quote(item, safe='')}?explain={str(explain).lower()}"
        return cast("dict[str, Any]", self._client.ask("GET", path))

    def items(self, order: str = "rank") -> Iterator[dict[str, Any]]:
        """Items by ``rank`` (those that can be given out) or by ``arrival`` (all), as far as they are asked for."""
        after: int | None = 0
        while after is not None:
            page = self._client.ask("GET", f"{self._path}/items?{urlencode({'order': order, 'after': after, 'limit': 1000})}")
            yield from page["items"]
            after = page["next"]

    def rank(self, items: Iterable[Mapping[str, Any]], k: int | None = None) -> list[dict[str, Any]]:
        """Items ranked by the queue's model, and not kept."""
        body = {"items": [_plain(item) for item in items]} | ({} if k is None else {"k": k})
        return cast("list[dict[str, Any]]", self._client.ask("POST", f"{self._path}/rank", body)["order"])

    def evaluators(self) -> list[dict[str, Any]]:
        """What was learnt about each evaluator."""
        return cast("list[dict[str, Any]]", self._client.ask("GET", f"{self._path}/evaluators")["evaluators"])

    def mute(self, *evaluators: str) -> dict[str, Any]:
        """These evaluators, and no others, count for nothing in the order from now on. They are learnt about all the while: heard again, they
        count as if they had always been."""
        return self.change(muted=list(evaluators))

    def fix_weights(self, **weights: float) -> dict[str, Any]:
        """Ranks by these weights instead of what was learnt, which goes on; without any, by what was learnt again."""
        return self.change(weights=weights)

    def webhooks(self) -> list[Webhook]:
        """Where else the queue's log is told, and how that stands."""
        return cast("list[Webhook]", self._client.ask("GET", f"{self._path}/webhooks")["webhooks"])

    def put_webhook(self, name: str, url: str, *, secret: str | None = None, after: int | None = None) -> Webhook:
        """Has the queue's log told to a URL as well, from after an entry on. Without a ``secret`` one is made: the answer has it, this once."""
        body: dict[str, Any] = {"url": url}
        if secret is not None:
            body["secret"] = secret
        if after is not None:
            body["after"] = after
        return cast(Webhook, self._client.ask("PUT", f"{self._path}/webhooks/{quote(name, safe='')}", body))

    def delete_webhook(self, name: str) -> None:
        """Deletes a webhook."""
        self._client.ask("DELETE", f"{self._path}/webhooks/{quote(name, safe='')}")

    def preview(self, k: int | None = None, **change: Any) -> dict[str, Any]:
        """Who would enter and leave the best K if the queue were set up so."""
        body = {"change": change} | ({} if k is None else {"k": k})
        return cast("dict[str, Any]", self._client.ask("POST", f"{self._path}/preview", body))

    def report(self) -> dict[str, Any]:
        """What was found, against random picks and the plain mean, and what may have been missed."""
        return cast("dict[str, Any]", self._client.ask("GET", f"{self._path}/report"))

    def events(self, after: int = 0) -> Iterator[dict[str, Any]]:
        """What happened after an entry of the log, up to now."""
        while True:
            page = self._client.ask("GET", f"{self._path}/events?{urlencode({'after': after, 'limit': 1000})}")
            if not page["events"]:
                return
            yield from page["events"]
            after = page["next"]


def _not_taken(what: str, rejected: list[Rejected], answer: Any) -> NotTaken:
    named = "; ".join(f"{each['id']}: {each['why']}" for each in rejected[:3])
    more = f"; and {len(rejected) - 3} more" if len(rejected) > 3 else ""
    return NotTaken(f"{len(rejected)} {what} not taken: {named}{more}", answer=answer)


def verify_webhook(secret: str, headers: Mapping[str, str], body: bytes, *, tolerance: float = 300.0) -> dict[str, Any]:
    """What a webhook says, once it is certain who sent it and that it is not an old one sent again; otherwise a :class:`ValueError`.

    ``secret`` is the one that was told when the webhook was made, ``headers`` and ``body`` are as they arrived. A message can arrive twice:
    the entries in ``events`` have a number (``seq``) each, and one that is known need not be looked at again.
    """
    sent = {name.lower(): value for name, value in headers.items()}
    try:
        name, at, signatures = (sent[f"webhook-{each}"] for each in ("id", "timestamp", "signature"))
        age = time.time() - int(at)
    except (KeyError, ValueError):
        raise ValueError("a header of the webhook is missing, or is not what it should be") from None
    if abs(age) > tolerance:
        raise ValueError(f"the webhook was sent {age:.0f} seconds ago, more than {tolerance:.0f}")
    key = base64.b64decode(secret.removeprefix("whsec_"))
    right = base64.b64encode(hmac.digest(key, f"{name}.{at}.".encode() + body, "sha256")).decode()
    if not any(hmac.compare_digest(f"v1,{right}".encode(), each.encode()) for each in signatures.split(" ")):
        raise ValueError("the webhook is not signed with this secret")
    return cast("dict[str, Any]", json.loads(body))


def _together(things: Iterable[Mapping[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """In parts that a server takes in at once, whatever their number and their size."""
    some: list[dict[str, Any]] = []
    bytes_of_some = 0
    for thing in things:
        one = _plain(thing)
        size = len(json.dumps(one, allow_nan=False))
        if some and (len(some) == TOGETHER or bytes_of_some + size > BYTES_TOGETHER):
            yield some
            some, bytes_of_some = [], 0
        some.append(one)
        bytes_of_some += size
    if some:
        yield some


def _plain(thing: Mapping[str, Any]) -> dict[str, Any]:
    """As JSON can have it: a score that is NaN is a missing one, and a number that names an item is its text."""
    one = dict(thing)
    if isinstance(one.get("scores"), Mapping):
        one["scores"] = {name: None if score != score else score for name, score in one["scores"].items()}
    for name in ("id", "item"):
        if isinstance(one.get(name), int) and not isinstance(one[name], bool):
            one[name] = str(one[name])
    return one
