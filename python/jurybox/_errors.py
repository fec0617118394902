"""The errors and the warning of this package."""

from __future__ import annotations

from typing import Any

__all__ = ["DataWarning", "Error", "NoFileError"]


class Error(ValueError):
    """Input that cannot be used, or a question that cannot be answered. Nothing was changed.

    The message says what is wrong, where, and with which value. Programs find the same in
    attributes, which are ``None`` where they do not apply:

    - ``code``: the kind of error, which stays the same between versions, such as ``"score"``;
    - ``item``: the number of the item in its round, from 0;
    - ``evaluator``, ``column``: names;
    - ``value``: the offending value;
    - ``path``, ``row``: the file, and its line or row, from 1.

    >>> import jurybox as jb
    >>> try:
    ...     jb.Jury(["toxicity", "spam"]).round([[0.1, float("inf")]], k=1)
    ... except jb.Error as error:
    ...     print(error.code, error.item, error.evaluator, error.value)
    score 0 spam inf
    """

    def __init__(
        self,
        message: str,
        *,
        code: str = "",
        item: int | None = None,
        evaluator: str | None = None,
        value: Any = None,
        column: str | None = None,
        path: str | None = None,
        row: int | None = None,
    ) -> None:
        from . import _core

        # Names and cells come from outside, and a terminal would act on control characters in them.
        super().__init__(_core.printable(message, True))
        self.code = code
        self.item = item
        self.evaluator = evaluator
        self.value = value
        self.column = column
        self.path = path
        self.row = row

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self),), dict(self.__dict__)

    def __setstate__(self, state: dict[str, Any] | None, /) -> None:
        self.__dict__.update(state or {})

    def __str__(self) -> str:
        # An OSError would show its number instead.
        return str(self.args[0]) if self.args else ""


class NoFileError(Error, FileNotFoundError):
    """The file does not exist, or no file matches a pattern."""


class DataWarning(UserWarning):
    """A problem with the data to know before relying on a result."""
