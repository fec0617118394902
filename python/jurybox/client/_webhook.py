"""Verification of webhooks (Standard Webhooks, HMAC-SHA256)."""

from __future__ import annotations

import base64
import hmac
import json
import time
from collections.abc import Mapping
from typing import Any, cast


def verify_webhook(secret: str, headers: Mapping[str, str], body: bytes, *, tolerance: float = 300.0) -> dict[str, Any]:
    """The content of a webhook, once its signature and age are verified; otherwise a
    :class:`ValueError`.

    ``secret`` was shown when the webhook was made; ``headers`` and ``body`` are as received.
    ``tolerance`` is the largest age in seconds. A message may arrive twice: entries in ``events``
    have a number ``seq``, by which known ones can be skipped.
    """
    sent = {name.lower(): value for name, value in headers.items()}
    try:
        name, at, signatures = (sent[f"webhook-{each}"] for each in ("id", "timestamp", "signature"))
        age = time.time() - int(at)
    except (KeyError, ValueError):
        raise ValueError("a header of the webhook is missing or malformed") from None
    if abs(age) > tolerance:
        raise ValueError(f"the webhook was sent {age:.0f} seconds ago, more than {tolerance:.0f}")
    key = base64.b64decode(secret.removeprefix("whsec_"))
    right = base64.b64encode(hmac.digest(key, f"{name}.{at}.".encode() + body, "sha256")).decode()
    if not any(hmac.compare_digest(f"v1,{right}".encode(), each.encode()) for each in signatures.split(" ")):
        raise ValueError("the webhook is not signed with this secret")
    return cast("dict[str, Any]", json.loads(body))
