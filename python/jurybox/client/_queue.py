"""A queue of a server: items, claims, verdicts, and what was learnt."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast
from urllib.parse import quote, urlencode

from .._errors import Error
from ._types import Claim, ItemsAnswer, Rejected, Verdict, VerdictsAnswer, Webhook
from ._connection import Client
from ._json_values import as_json, id_of, ids_of, item_of, score_of, verdict_of
from ._errors import ServerError, field, mapping, mappings, not_taken, unlike

#: Items that are sent together.
TOGETHER = 5000
#: And so many bytes, well below what a server takes (16 MiB unless it was told otherwise).
BYTES_TOGETHER = 4 << 20
#: Statuses with which a server refuses a body as a whole: it is no JSON to it, too large, or something in it is not what it should be.
REFUSED_WHOLE = (400, 413, 422)
#: So many things are found out one by one; where there are more, it is not about single ones.
MOST_ALONE = 100


class Queue:
    """A queue of a server; made by :meth:`Client.queue`."""

    def __init__(self, client: Client, name: str) -> None:
        self._client, self.name = client, name
        self._path = f"/v1/queues/{quote(name, safe='')}"

    def __repr__(self) -> str:
        return f"{self._client!r}.queue({self.name!r})"

    def put(self, evaluators: Sequence[str | Mapping[str, str]], **settings: Any) -> dict[str, Any]:
        """Makes the queue, or sets it up so; ``settings`` are those of the server, such as ``k``, ``policy`` or ``lease_seconds``."""
        if isinstance(evaluators, (str, bytes)):
            raise Error(f"evaluators= is {evaluators!r}: a list of names, such as [{evaluators!r}]", code="evaluators", value=evaluators)
        named = [{"name": each} if isinstance(each, str) else dict(each) for each in evaluators]
        return mapping(self._client.ask("PUT", self._path, {"evaluators": named, **settings}))

    def change(self, **settings: Any) -> dict[str, Any]:
        """Changes what is named in how the queue is set up."""
        return mapping(self._client.ask("PATCH", self._path, settings))

    def get(self) -> dict[str, Any]:
        """How the queue is set up, and how it stands."""
        return mapping(self._client.ask("GET", self._path))

    def delete(self) -> None:
        """Deletes the queue with everything in it."""
        self._client.ask("DELETE", self._path)

    def add(self, items: Iterable[Mapping[str, Any]], *, strict: bool = True) -> ItemsAnswer:
        """Sends items, however many: each with ``id``, and where there are any ``scores``, ``payload``, ``tags``, ``due``.

        Items that the server does not take do not keep the others out. They are an error once all have been sent (:class:`NotTaken`, which
        names them), or with ``strict=False`` among ``rejected`` of the answer. Rows of frames go as they are: numbers of numpy, moments of
        pandas, and NaN, which is a missing score and a null in a payload. An item that cannot be sent (an infinite score, a time without its
        zone, text with half of a letter in its payload) is named as those that the server does not take.
        """
        answer: ItemsAnswer = {"accepted": 0, "updated": 0, "unchanged": 0, "rejected": []}
        for said in self._sent("items", _sendable(items, item_of, "items", answer["rejected"]), answer["rejected"]):
            answer["accepted"] += field(said, "accepted", int)
            answer["updated"] += field(said, "updated", int)
            answer["unchanged"] += field(said, "unchanged", int)
            answer["rejected"] += cast("list[Rejected]", mappings(said, "rejected"))
        if strict and answer["rejected"]:
            raise not_taken("items", answer["rejected"], answer)
        return answer

    def score(self, item: str, **scores: float | None) -> ItemsAnswer:
        """Gives an item further scores."""
        path = f"{self._path}/items/{quote(id_of(item), safe='')}/scores"
        return cast(ItemsAnswer, mapping(self._client.ask("PATCH", path, {"scores": {name: score_of(score, f"item `{item}`", name) for name, score in scores.items()}})))

    def erase(self, item: str) -> None:
        """Erases an item, and what was learnt from it."""
        self._client.ask("DELETE", f"{self._path}/items/{quote(id_of(item), safe='')}")

    def claim(self, reviewer: str, k: int | None = None, **tags: str | Sequence[str]) -> list[Claim]:
        """The next items for a reviewer; ``tags`` say which are wanted, such as ``language="en"``. Best first where the key may know that (roles
        ``read`` and ``admin``). Fewer than ``k`` where there are no more, the reviewer holds as many as the queue's ``max_held`` allows, or one
        answer has no room for more."""
        wanted = {name: [value] if isinstance(value, str) else list(value) for name, value in tags.items()}
        body = {"reviewer": reviewer, "tags": wanted} | ({} if k is None else {"k": k})
        return cast("list[Claim]", mappings(self._client.ask("POST", f"{self._path}/claims", body), "claims"))

    def held(self, reviewer: str) -> list[dict[str, Any]]:
        """What a reviewer holds."""
        said = self._client.ask("GET", f"{self._path}/claims?{urlencode({'reviewer': reviewer})}")
        return mappings(said, "claims")

    def extend(self, reviewer: str, items: Sequence[str] = ()) -> int:
        """Lets a reviewer keep items for another while; all of them where none are named. How many that were."""
        return self._changed("claims/extend", {"reviewer": reviewer, "items": ids_of(items)})

    def release(self, reviewer: str, items: Sequence[str] = ()) -> int:
        """Gives items back; all that the reviewer holds where none are named. How many that were."""
        return self._changed("claims/release", {"reviewer": reviewer, "items": ids_of(items)})

    def skip(self, reviewer: str, item: str, reason: str) -> int:
        """Gives an item back that this reviewer does not want again."""
        return self._changed("claims/skip", {"reviewer": reviewer, "item": id_of(item), "reason": reason})

    def _changed(self, what: str, body: object) -> int:
        return cast(int, field(self._client.ask("POST", f"{self._path}/{what}", body), "changed", int))

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
        answer = self.verdicts([one], strict=True)
        if answer["accepted"] + answer["repeated"] != 1:
            raise unlike(answer, "word of what became of the verdict")
        return id

    def verdicts(self, verdicts: Sequence[Verdict], *, strict: bool = True) -> VerdictsAnswer:
        """Sends verdicts; one whose id was sent before counts once. Those that are not taken are an error (:class:`NotTaken`), or with
        ``strict=False`` among ``rejected`` of the answer; the others count either way."""
        answer: VerdictsAnswer = {"accepted": 0, "repeated": 0, "rejected": []}
        for said in self._sent("verdicts", _sendable(verdicts, verdict_of, "verdicts", answer["rejected"]), answer["rejected"]):
            answer["accepted"] += field(said, "accepted", int)
            answer["repeated"] += field(said, "repeated", int)
            answer["rejected"] += cast("list[Rejected]", mappings(said, "rejected"))
        if strict and answer["rejected"]:
            raise not_taken("verdicts", answer["rejected"], answer)
        return answer

    def _sent(self, what: str, things: Iterable[dict[str, Any]], rejected: list[Rejected]) -> Iterator[Any]:
        """Sends things, and tells what is answered. A server that does not understand one refuses all that came with it, and has done
        nothing: they are sent again in halves, until the one that it is about is by itself, and among ``rejected``."""
        alone = 0
        for together in _together(things):
            parts = [together]
            while parts:
                some = parts.pop()
                try:
                    yield self._client.ask("POST", f"{self._path}/{what}", {what: some})
                except ServerError as error:
                    if error.status not in REFUSED_WHOLE or alone == MOST_ALONE:
                        raise
                    if len(some) > 1:
                        parts += [some[len(some) // 2 :], some[: len(some) // 2]]
                        continue
                    alone += 1
                    rejected.append({"id": some[0]["id"], "why": str(error)})

    def undo(self, reviewer: str, verdict: str) -> dict[str, Any]:
        """Takes back a verdict that was just given: its item is the reviewer's own again."""
        body = {"reviewer": reviewer, "verdict": verdict}
        return mapping(self._client.ask("POST", f"{self._path}/verdicts/undo", body))

    def item(self, item: str, *, explain: bool = False) -> dict[str, Any]:
        """An item with all that is known of it, and why it has its value."""
        path = f"{self._path}/items/{quote(id_of(item), safe='')}?explain={str(explain).lower()}"
        return mapping(self._client.ask("GET", path))

    def items(self, order: str = "rank") -> Iterator[dict[str, Any]]:
        """Items by ``rank`` (those that can be given out) or by ``arrival`` (all), as far as they are asked for."""
        after: int | None = 0
        while after is not None:
            page = self._client.ask("GET", f"{self._path}/items?{urlencode({'order': order, 'after': after, 'limit': 1000})}")
            yield from mappings(page, "items")
            after = None if page.get("next") is None else _further(page, after)

    def rank(self, items: Iterable[Mapping[str, Any]], k: int | None = None) -> list[dict[str, Any]]:
        """Items ranked by the queue's model, and not kept."""
        body = {"items": [item_of(item) for item in items]} | ({} if k is None else {"k": k})
        return mappings(self._client.ask("POST", f"{self._path}/rank", body), "order")

    def evaluators(self) -> list[dict[str, Any]]:
        """What was learnt about each evaluator."""
        return mappings(self._client.ask("GET", f"{self._path}/evaluators"), "evaluators")

    def mute(self, *evaluators: str) -> dict[str, Any]:
        """These evaluators, and no others, count for nothing in the order from now on. They are learnt about all the while: heard again, they
        count as if they had always been."""
        return self.change(muted=list(evaluators))

    def fix_weights(self, **weights: float) -> dict[str, Any]:
        """Ranks by these weights instead of what was learnt, which goes on; without any, by what was learnt again."""
        return self.change(weights=weights)

    def webhooks(self) -> list[Webhook]:
        """Where else the queue's log is told, and how that stands."""
        return cast("list[Webhook]", mappings(self._client.ask("GET", f"{self._path}/webhooks"), "webhooks"))

    def put_webhook(self, name: str, url: str, *, secret: str | None = None, after: int | None = None) -> Webhook:
        """Has the queue's log told to a URL as well, from after an entry on. Without a ``secret`` one is made: the answer has it, this once."""
        body: dict[str, Any] = {"url": url}
        if secret is not None:
            body["secret"] = secret
        if after is not None:
            body["after"] = after
        return cast(Webhook, mapping(self._client.ask("PUT", f"{self._path}/webhooks/{quote(name, safe='')}", body)))

    def delete_webhook(self, name: str) -> None:
        """Deletes a webhook."""
        self._client.ask("DELETE", f"{self._path}/webhooks/{quote(name, safe='')}")

    def preview(self, k: int | None = None, **change: Any) -> dict[str, Any]:
        """Who would enter and leave the best K if the queue were set up so."""
        body = {"change": change} | ({} if k is None else {"k": k})
        return mapping(self._client.ask("POST", f"{self._path}/preview", body))

    def report(self) -> dict[str, Any]:
        """What was found, against random picks and the plain mean, and what may have been missed."""
        return mapping(self._client.ask("GET", f"{self._path}/report"))

    def events(self, after: int = 0) -> Iterator[dict[str, Any]]:
        """What happened after an entry of the log, up to now."""
        while True:
            page = self._client.ask("GET", f"{self._path}/events?{urlencode({'after': after, 'limit': 1000})}")
            if not mappings(page, "events"):
                return
            yield from page["events"]
            after = _further(page, after)


def _further(page: Any, after: int) -> int:
    """Where the next page begins: further on, or there would be no end of pages."""
    further = cast(int, field(page, "next", int))
    if further <= after:
        raise unlike({"next": further}, f"`next` beyond {after}, from where on was asked")
    return further


def _sendable(
    things: Iterable[Any], made: Callable[[Any], dict[str, Any]], what: str, rejected: list[Rejected]
) -> Iterator[dict[str, Any]]:
    """Each as it can be sent; what cannot be is among ``rejected``, as what the server does not take."""
    for at, thing in enumerate(things):
        try:
            yield made(thing)
        except (Error, RecursionError) as error:
            if isinstance(error, Error) and error.code == "not-a-mapping":
                raise
            why = str(error) if isinstance(error, Error) else "it is nested too deeply, or in itself"
            try:
                name = id_of(thing.get("id"))
            except Error:
                name = f"{what}[{at}]"
            rejected.append({"id": name, "why": why})


def _together(things: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """In parts that a server takes in at once, whatever their number and their size."""
    some: list[dict[str, Any]] = []
    bytes_of_some = 0
    for one in things:
        size = len(as_json(one))
        if some and (len(some) == TOGETHER or bytes_of_some + size > BYTES_TOGETHER):
            yield some
            some, bytes_of_some = [], 0
        some.append(one)
        bytes_of_some += size
    if some:
        yield some
