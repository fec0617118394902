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

from ._types import Claim, ItemsAnswer, Rejected, Verdict, VerdictsAnswer, Webhook
from ._connection import Client
from ._queue import Queue
from ._errors import NotAnswered, NotTaken, ServerError
from ._webhook import verify_webhook

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
