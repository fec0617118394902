"""A queue of a server: items, claims, verdicts, and what was learnt."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast
from urllib.parse import quote, urlencode

from .._errors import Error
from ._connection import Client
from ._errors import ServerError, field, mapping, mappings, not_taken, unexpected
from ._json_values import as_json, id_of, ids_of, item_of, score_of, verdict_of
from ._types import Claim, ItemsAnswer, Rejected, Verdict, VerdictsAnswer, Webhook

#: Items in one request.
ITEMS_PER_REQUEST = 5000
#: Bytes in one request, well below the server's default limit of 16 MiB.
BYTES_PER_REQUEST = 4 << 20
#: Statuses with which the server refuses a whole body: not JSON, too large, or something in it
#: invalid.
WHOLE_BODY_REFUSED = (400, 413, 422)
#: Invalid entries that are found one by one; with more, the request fails.
MOST_INVALID = 100


class Queue:
    """A queue of a server; made by :meth:`Client.queue`."""

    def __init__(self, client: Client, name: str) -> None:
        self._client, self.name = client, name
        self._path = f"/v1/queues/{quote(name, safe='')}"

    def __repr__(self) -> str:
        return f"{self._client!r}.queue({self.name!r})"

    def put(self, evaluators: Sequence[str | Mapping[str, str]], **settings: Any) -> dict[str, Any]:
        """Creates the queue or changes its settings, such as ``k``, ``policy`` or
        ``lease_seconds``."""
        if isinstance(evaluators, (str, bytes)):
            raise Error(f"evaluators= is {evaluators!r}: a list of names, such as [{evaluators!r}]", code="evaluators", value=evaluators)
        named = [{"name": each} if isinstance(each, str) else dict(each) for each in evaluators]
        return mapping(self._client.ask("PUT", self._path, {"evaluators": named, **settings}))

    def change(self, **settings: Any) -> dict[str, Any]:
        """Changes the named settings only."""
        return mapping(self._client.ask("PATCH", self._path, settings))

    def get(self) -> dict[str, Any]:
        """The settings of the queue, and counts of its items."""
        return mapping(self._client.ask("GET", self._path))

    def delete(self) -> None:
        """Deletes the queue with everything in it."""
        self._client.ask("DELETE", self._path)

    def add(self, items: Iterable[Mapping[str, Any]], *, strict: bool = True) -> ItemsAnswer:
        """Sends any number of items, each with ``id`` and optionally ``scores``, ``payload``,
        ``tags``, ``due``.

        Rejected items do not stop the others. They are an error once all were sent
        (:class:`NotTaken`, which names them), or with ``strict=False`` in ``rejected`` of the
        answer. Rows of frames can be sent unchanged: numbers of numpy, timestamps of pandas, and
        NaN, which is a missing score and a null in a payload. Items that cannot be sent are
        rejected too: an infinite score, a time without its zone, a lone surrogate in text.
        """
        answer: ItemsAnswer = {"accepted": 0, "updated": 0, "unchanged": 0, "rejected": []}
        for said in self._sent("items", _converted(items, item_of, "items", answer["rejected"]), answer["rejected"]):
            answer["accepted"] += field(said, "accepted", int)
            answer["updated"] += field(said, "updated", int)
            answer["unchanged"] += field(said, "unchanged", int)
            answer["rejected"] += cast("list[Rejected]", mappings(said, "rejected"))
        if strict and answer["rejected"]:
            raise not_taken("items", answer["rejected"], answer)
        return answer

    def score(self, item: str, **scores: float | None) -> ItemsAnswer:
        """Adds scores to an item."""
        path = f"{self._path}/items/{quote(id_of(item), safe='')}/scores"
        return cast(ItemsAnswer, mapping(self._client.ask("PATCH", path, {"scores": {name: score_of(score, f"item `{item}`", name) for name, score in scores.items()}})))

    def erase(self, item: str) -> None:
        """Erases an item, and what was learnt from it."""
        self._client.ask("DELETE", f"{self._path}/items/{quote(id_of(item), safe='')}")

    def claim(self, reviewer: str, k: int | None = None, **tags: str | Sequence[str]) -> list[Claim]:
        """The next items for a reviewer, as leases. ``tags`` select items, such as
        ``language="en"``.

        With the roles ``read`` and ``admin``, best first. There are fewer than ``k`` if the queue
        has no more, if the reviewer would hold more than ``max_held``, or if the answer would be
        too large.
        """
        wanted = {name: [value] if isinstance(value, str) else list(value) for name, value in tags.items()}
        body = {"reviewer": reviewer, "tags": wanted} | ({} if k is None else {"k": k})
        return cast("list[Claim]", mappings(self._client.ask("POST", f"{self._path}/claims", body), "claims"))

    def held(self, reviewer: str) -> list[dict[str, Any]]:
        """The items that a reviewer holds."""
        said = self._client.ask("GET", f"{self._path}/claims?{urlencode({'reviewer': reviewer})}")
        return mappings(said, "claims")

    def extend(self, reviewer: str, items: Sequence[str] = ()) -> int:
        """Extends a reviewer's leases, by default all of them; returns how many."""
        return self._changed("claims/extend", {"reviewer": reviewer, "items": ids_of(items)})

    def release(self, reviewer: str, items: Sequence[str] = ()) -> int:
        """Releases a reviewer's leases, by default all of them; returns how many."""
        return self._changed("claims/release", {"reviewer": reviewer, "items": ids_of(items)})

    def skip(self, reviewer: str, item: str, reason: str) -> int:
        """Releases an item that this reviewer will not get again; returns how many leases ended."""
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
        """Sends one verdict, with a ``reward`` or a ``label`` of the queue's scale, and returns
        its id. A rejected verdict is an error."""
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
            raise unexpected(answer, "count of the verdict")
        return id

    def verdicts(self, verdicts: Sequence[Verdict], *, strict: bool = True) -> VerdictsAnswer:
        """Sends verdicts; one whose id was sent before counts once.

        Rejected ones are an error (:class:`NotTaken`), or with ``strict=False`` in ``rejected`` of
        the answer. The others count in both cases.
        """
        answer: VerdictsAnswer = {"accepted": 0, "repeated": 0, "rejected": []}
        for said in self._sent("verdicts", _converted(verdicts, verdict_of, "verdicts", answer["rejected"]), answer["rejected"]):
            answer["accepted"] += field(said, "accepted", int)
            answer["repeated"] += field(said, "repeated", int)
            answer["rejected"] += cast("list[Rejected]", mappings(said, "rejected"))
        if strict and answer["rejected"]:
            raise not_taken("verdicts", answer["rejected"], answer)
        return answer

    def _sent(self, what: str, things: Iterable[dict[str, Any]], rejected: list[Rejected]) -> Iterator[Any]:
        """Sends things in parts and yields the answers. A server that refuses a part for one
        invalid entry has done nothing, so the part is split in halves until that entry is alone;
        it is added to ``rejected``."""
        alone = 0
        for together in _in_batches(things):
            parts = [together]
            while parts:
                some = parts.pop()
                try:
                    yield self._client.ask("POST", f"{self._path}/{what}", {what: some})
                except ServerError as error:
                    if error.status not in WHOLE_BODY_REFUSED or alone == MOST_INVALID:
                        raise
                    if len(some) > 1:
                        parts += [some[len(some) // 2 :], some[: len(some) // 2]]
                        continue
                    alone += 1
                    rejected.append({"id": some[0]["id"], "why": str(error)})

    def undo(self, reviewer: str, verdict: str) -> dict[str, Any]:
        """Takes back a verdict; the reviewer holds its item again."""
        body = {"reviewer": reviewer, "verdict": verdict}
        return mapping(self._client.ask("POST", f"{self._path}/verdicts/undo", body))

    def item(self, item: str, *, explain: bool = False) -> dict[str, Any]:
        """An item with its scores, verdicts and claims; with ``explain``, why it has its value."""
        path = f"{self._path}/items/{quote(id_of(item), safe='')}?explain={str(explain).lower()}"
        return mapping(self._client.ask("GET", path))

    def items(self, order: str = "rank") -> Iterator[dict[str, Any]]:
        """Items by ``rank`` (those that can be claimed) or by ``arrival`` (all), fetched page by
        page."""
        after: int | None = 0
        while after is not None:
            page = self._client.ask("GET", f"{self._path}/items?{urlencode({'order': order, 'after': after, 'limit': 1000})}")
            yield from mappings(page, "items")
            after = None if page.get("next") is None else _next_page(page, after)

    def rank(self, items: Iterable[Mapping[str, Any]], k: int | None = None) -> list[dict[str, Any]]:
        """Ranks items by the queue's model without adding them."""
        body = {"items": [item_of(item) for item in items]} | ({} if k is None else {"k": k})
        return mappings(self._client.ask("POST", f"{self._path}/rank", body), "order")

    def evaluators(self) -> list[dict[str, Any]]:
        """What was learnt about each evaluator."""
        return mappings(self._client.ask("GET", f"{self._path}/evaluators"), "evaluators")

    def mute(self, *evaluators: str) -> dict[str, Any]:
        """Mutes these evaluators and no others: they count for nothing in the order. The queue
        keeps learning about them."""
        return self.change(muted=list(evaluators))

    def fix_weights(self, **weights: float) -> dict[str, Any]:
        """Ranks by these weights instead of the learnt ones; without any, by the learnt ones
        again. Learning continues."""
        return self.change(weights=weights)

    def webhooks(self) -> list[Webhook]:
        """The webhooks of the queue, and the state of each."""
        return cast("list[Webhook]", mappings(self._client.ask("GET", f"{self._path}/webhooks"), "webhooks"))

    def put_webhook(self, name: str, url: str, *, secret: str | None = None, after: int | None = None) -> Webhook:
        """Sends the queue's activity log to a URL, from entry ``after`` on. Without a ``secret``
        one is made, which only this answer shows."""
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
        """The items that would enter and leave the best K if the settings were changed."""
        body = {"change": change} | ({} if k is None else {"k": k})
        return mapping(self._client.ask("POST", f"{self._path}/preview", body))

    def report(self) -> dict[str, Any]:
        """What was found, compared with random picks and the plain mean, and what may have been
        missed."""
        return mapping(self._client.ask("GET", f"{self._path}/report"))

    def events(self, after: int = 0) -> Iterator[dict[str, Any]]:
        """The entries of the activity log after number ``after``, up to now."""
        while True:
            page = self._client.ask("GET", f"{self._path}/events?{urlencode({'after': after, 'limit': 1000})}")
            if not mappings(page, "events"):
                return
            yield from page["events"]
            after = _next_page(page, after)


def _next_page(page: Any, after: int) -> int:
    """The start of the next page. An error unless it advances, because paging would never end."""
    further = cast(int, field(page, "next", int))
    if further <= after:
        raise unexpected({"next": further}, f"`next` beyond {after}")
    return further


def _converted(
    things: Iterable[Any], made: Callable[[Any], dict[str, Any]], what: str, rejected: list[Rejected]
) -> Iterator[dict[str, Any]]:
    """The things converted for sending. Those that cannot be are added to ``rejected``."""
    for at, thing in enumerate(things):
        try:
            yield made(thing)
        except (Error, RecursionError) as error:
            if isinstance(error, Error) and error.code == "not-a-mapping":
                raise
            why = str(error) if isinstance(error, Error) else "it is nested too deeply, or contains itself"
            try:
                name = id_of(thing.get("id"))
            except Error:
                name = f"{what}[{at}]"
            rejected.append({"id": name, "why": why})


def _in_batches(things: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """The things in lists small enough for one request."""
    some: list[dict[str, Any]] = []
    bytes_of_some = 0
    for one in things:
        size = len(as_json(one))
        if some and (len(some) == ITEMS_PER_REQUEST or bytes_of_some + size > BYTES_PER_REQUEST):
            yield some
            some, bytes_of_some = [], 0
        some.append(one)
        bytes_of_some += size
    if some:
        yield some
