"""A client for ``jurybox serve``: typed, and without further dependencies.

::

    import jurybox as jb

    client = jb.Client("http://127.0.0.1:8686", key=None)
    posts = client.queue("posts")
    posts.put(evaluators=["spam", {"name": "quality", "direction": "low"}], k=5)
    posts.add([{"id": "p1", "scores": {"spam": 0.9}}])
    for claim in posts.claim("ann"):
        posts.verdict(claim["item"], reviewer="ann", reward=1, token=claim["token"])

Every request that changes something carries an ``Idempotency-Key``. If the server is away, busy or
rate-limits the client, the request is repeated with the same key for as long as ``patience``, at the
pace that the server asks for (``Retry-After``). It is carried out once, even if an answer was lost.
"""

from __future__ import annotations

from ._connection import Client
from ._errors import NotAnswered, NotTaken, ServerError
from ._queue import Queue
from ._types import Claim, ItemsAnswer, Rejected, Verdict, VerdictsAnswer, Webhook
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
