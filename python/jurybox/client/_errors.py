"""Errors of the client: refusals by the server, and unreachable servers."""

from __future__ import annotations

import json
from typing import Any, cast

from .._errors import Error
from ._types import Rejected


#: JSON's names of types.
KINDS = {list: "a list", int: "a whole number", str: "text"}


class ServerError(Error):
    """The server refused a request. ``status`` is the HTTP status, ``code`` the kind of error,
    ``advice`` what to do, ``request_id`` the request in the server's log."""

    def __init__(
        self, message: str, *, code: str = "", status: int = 0, advice: str = "", request_id: str | None = None
    ) -> None:
        super().__init__(message, code=code)
        self.status = status
        self.advice = advice
        self.request_id = request_id


class NotTaken(ServerError):
    """Some items or verdicts were rejected, listed in ``rejected``; the others were accepted.
    ``answer`` is the server's whole answer."""

    def __init__(self, message: str, *, answer: Any = None, **more: Any) -> None:
        super().__init__(message, **{"code": "rejected", "status": 200, **more})
        self.answer = answer

    @property
    def rejected(self) -> list[Rejected]:
        """The rejected items or verdicts, with reasons."""
        return cast("list[Rejected]", self.answer["rejected"]) if self.answer else []


class NotAnswered(Error):
    """The server could not be reached for as long as ``patience``."""


def read(said: bytes, status: int) -> Any:
    """An answer from JSON; None if it is empty."""
    try:
        return json.loads(said) if said else None
    except (ValueError, RecursionError) as error:
        begins = said[:200].decode(errors="replace")
        raise ServerError(f"the answer is not JSON: {begins}", code="unknown", status=status) from error


def unexpected(said: Any, expected: str) -> ServerError:
    """The error for an answer of unexpected shape, as from another program or another version of
    the server."""
    text = json.dumps(said)
    shown = text if len(text) <= 200 else f"{text[:200]}…"
    return ServerError(
        f"the answer has no {expected}: {shown}",
        code="unknown",
        status=200,
        advice="check that a Jurybox server is at this address, and that its version matches this package",
    )


def field(said: Any, name: str, kind: type) -> Any:
    """A required field of an answer, of this type."""
    found = said.get(name) if isinstance(said, dict) else None
    # To Python, true is a whole number.
    if not isinstance(found, kind) or (kind is int and isinstance(found, bool)):
        raise unexpected(said, f"`{name}` ({KINDS[kind]})")
    return found


def mapping(said: Any) -> dict[str, Any]:
    """An answer that must be an object."""
    if not isinstance(said, dict):
        raise unexpected(said, "fields: an object was expected")
    return said


def mappings(said: Any, name: str) -> list[dict[str, Any]]:
    """A field that must be a list of objects."""
    found = field(said, name, list)
    if not all(isinstance(each, dict) for each in found):
        raise unexpected(said, f"`{name}` (a list of objects)")
    return cast("list[dict[str, Any]]", found)


def redirected(status: int, place: str | None) -> ServerError:
    """The error for a redirect. Requests are not sent to a second address, because they might be
    carried out twice."""
    where = f" to {place}" if place else ""
    return ServerError(
        f"nothing was done: the address redirects{where} ({status})",
        code="elsewhere",
        status=status,
        advice="use the address of the server itself",
    )


def refused(said: bytes, status: int) -> ServerError:
    try:
        problem = json.loads(said)
    except (ValueError, RecursionError):
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


def not_taken(what: str, rejected: list[Rejected], answer: Any) -> NotTaken:
    named = "; ".join(f"{each.get('id')}: {each.get('why')}" for each in rejected[:3])
    more = f"; and {len(rejected) - 3} more" if len(rejected) > 3 else ""
    return NotTaken(f"{len(rejected)} {what} not taken: {named}{more}", answer=answer)
