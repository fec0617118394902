"""HTTP requests to a server, and when they are repeated."""

from __future__ import annotations

import http.client
import os
import ssl
import time
import uuid
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from ._errors import NotAnswered, field, read, redirected, refused
from ._json_values import as_json

if TYPE_CHECKING:
    from email.message import Message

    from ._queue import Queue

#: Status codes after which the same request may succeed.
TRANSIENT = (429, 502, 503, 504)


class Client:
    """A connection to a server at ``url``.

    ``key`` is a secret from ``jurybox server key add``; by default ``JURYBOX_KEY``. A key made with
    ``--reviewer`` acts only as that reviewer.

    ``patience`` is how many seconds a request is repeated while the server cannot be reached,
    ``timeout`` how many seconds one answer may take. A client is for one thread; clients are cheap.
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
            raise ValueError(f"{url!r} is not the address of a server: it must begin with http:// or https://")
        self._secure = parts.scheme == "https"
        self._host, self._port = parts.hostname, parts.port
        self._path = parts.path.rstrip("/")
        self._key = (key if key is not None else os.environ.get("JURYBOX_KEY", "")).strip()
        if not (self._key.isascii() and self._key.isprintable()):
            raise ValueError("key= contains characters that are not allowed in a key")  # without showing them: it is a secret
        self._patience, self._timeout = patience, timeout
        self._connection: http.client.HTTPConnection | None = None

    def queue(self, name: str) -> Queue:
        """The queue of this name, which need not exist yet."""
        from ._queue import Queue

        return Queue(self, name)

    def queues(self) -> list[str]:
        """The names of the queues that the key may see."""
        return cast("list[str]", field(self.ask("GET", "/v1/queues"), "queues", list))

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
        """Sends a request and returns the answer from JSON. It is repeated if that can help,
        always with the same ``Idempotency-Key``."""
        headers = {"Accept": "application/json"}
        sent = None if body is None else as_json(body).encode()
        if sent is not None:
            headers["Content-Type"] = "application/json"
        if method == "POST":
            headers["Idempotency-Key"] = key or uuid.uuid4().hex
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        until, wait, again = time.monotonic() + self._patience, 0.1, False
        while True:
            try:
                status, said, told = self._once(method, path, sent, headers)
            except (OSError, http.client.HTTPException) as error:
                self.close()
                if isinstance(error, ssl.SSLCertVerificationError):
                    raise NotAnswered(f"{self!r}: its certificate is not trusted: {error}", code="certificate") from error
                if time.monotonic() + wait > until:
                    raise NotAnswered(f"{self!r} does not answer: {error}", code="away") from error
            else:
                if 200 <= status < 300:
                    return read(said, status)
                if status < 400:
                    raise redirected(status, told.get("Location"))
                if status == 404 and method == "DELETE" and again:
                    return None  # the first attempt deleted it
                if status not in TRANSIENT or time.monotonic() + wait > until:
                    raise refused(said, status)
                after = told.get("Retry-After", "")
                wait = max(wait, float(after) if after.isascii() and after.isdigit() else 0.0)
            again = True
            time.sleep(min(wait, max(0.0, until - time.monotonic())))
            wait = min(wait * 2, 5.0)

    def _once(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> tuple[int, bytes, Message]:
        if self._connection is None:
            kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
            self._connection = kind(self._host, self._port, timeout=self._timeout)
        cut = False
        try:
            self._connection.request(method, self._path + path, body, headers)
        except (BrokenPipeError, ConnectionResetError):
            cut = True  # the server may have answered before reading everything, for example that the body is too large
        response = self._connection.getresponse()
        said = response.read()
        if cut:
            self.close()
        return response.status, said, response.headers
