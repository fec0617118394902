"""Reports, replays, prevalence estimates and juries as text, as pages and in notebooks."""

from __future__ import annotations

import html
import json
import os
from os import PathLike
from typing import TYPE_CHECKING, Any

from . import _core
from ._errors import Error

if TYPE_CHECKING:
    from ._core import Fitted, Jury, Rows

__all__ = ["Prevalence", "Replay", "Report"]


class _Document:
    """A JSON document together with its page and its text form."""

    def __init__(self, document: dict[str, Any], page: str, text: str) -> None:
        self._document, self._page, self._text = document, page, text

    @property
    def warnings(self) -> list[str]:
        """Problems to know before relying on the result."""
        return list(self._document["warnings"])

    def to_dict(self) -> dict[str, Any]:
        """The whole document, as the command prints it with ``--json``."""
        copied: dict[str, Any] = json.loads(json.dumps(self._document))
        return copied

    def to_json(self) -> str:
        """The document as JSON text."""
        return json.dumps(self._document, indent=2)

    def to_html(self) -> str:
        """The page: self-contained HTML without scripts."""
        return self._page

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the page, or the document if the name ends in ``.json``."""
        name = os.fspath(path)
        text = self.to_json() if name.endswith(".json") else self._page
        with open(name, "w", encoding="utf-8") as file:
            file.write(text)

    def __getitem__(self, field: str) -> Any:
        return self._document[field]

    def __str__(self) -> str:
        return _core.printable(self._text, True)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return framed(self._page)


class Report(_Document):
    """Which evaluators to trust. Made by `jurybox.report`."""

    @property
    def evaluators(self) -> list[dict[str, Any]]:
        """The figures of each evaluator: name, weight, gain, noise, correlation and more."""
        return list(self.to_dict()["evaluators"])


class Replay(_Document):
    """What each policy would have found in a history. Made by `jurybox.replay`."""

    def __init__(self, document: dict[str, Any], page: str, text: str, picture: str | None = None) -> None:
        super().__init__(document, page, text)
        self._picture = picture

    def to_svg(self) -> str:
        """A drawing of what was found against the number of labels. Estimates from a log have
        none."""
        if self._picture is None:
            raise Error("estimates from a log have no drawing: use to_html()", code="svg")
        return self._picture

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the page, the document if the name ends in ``.json``, or the drawing if it ends
        in ``.svg``."""
        if not os.fspath(path).endswith(".svg"):
            return super().save(path)
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.to_svg())

    @property
    def policies(self) -> list[dict[str, Any]]:
        """One entry per policy: its name, its mean reward per pick, and the interval."""
        return list(self.to_dict()["policies"])


class Prevalence(_Document):
    """The mean reward of all rows, by period and group. Made by `jurybox.prevalence`."""

    def __init__(self, document: dict[str, Any], text: str) -> None:
        super().__init__(document, prevalence_page(document), text)

    @property
    def all(self) -> dict[str, Any]:
        """The estimate for all rows: ``rows``, ``labelled``, ``mean`` with ``low`` and ``high``
        (95%), whether the interval is ``reliable``, and more."""
        return dict(self.to_dict()["all"])

    @property
    def lines(self) -> list[dict[str, Any]]:
        """The estimates by ``period`` and ``group``, in order; empty if there are neither."""
        return list(self.to_dict()["lines"])


def prevalence_page(document: dict[str, Any]) -> str:
    """The text table as a page."""
    names = [name for name in (document["period"], document["by"]) if name is not None]

    def figure(value: float | None) -> str:
        return "–" if value is None else f"{value:.4g}"

    def line(of: dict[str, Any], unnamed: str) -> str:
        said = [of[field] for field, asked in (("period", document["period"]), ("group", document["by"])) if asked is not None]
        doubt = "" if of["reliable"] or of["mean"] is None else "?"
        figures = [f"{of['rows']:,}", f"{of['labelled']:,}", figure(of["mean"]), figure(of["low"]), figure(of["high"]) + doubt]
        if document["errors"] is not None:
            figures.append(figure(None if of["uncorrected"] is None else of["uncorrected"]["mean"]))
        cells = "".join(f"<td>{_safe(unnamed if name is None else str(name))}</td>" for name in said or [None])
        right = "".join(f"<td style='text-align:right'>{cell}</td>" for cell in figures)
        return f"<tr>{cells}{right}</tr>"

    called = [] if document["errors"] is None else ["uncorrected"]
    said = "corrected by golden items" if called else "as reviewers call it"
    head = "".join(f"<th>{_safe(name)}</th>" for name in [*(names or [""]), "rows", "reviewed", "mean", "low", "high", *called])
    lines = "".join([*(line(one, "–") for one in document["lines"]), line(document["all"], "all")])
    warnings = "".join(f"<li>{_safe(warning)}</li>" for warning in document["warnings"])
    low, high = document["reward_range"]
    return (
        f"<!doctype html><html lang='en'><meta charset='utf-8'><title>Prevalence</title><body style='font-family:sans-serif'>"
        f"<p>Mean <code>{_safe(document['reward'])}</code> of all rows, {said}, with 95% intervals. Predictions: {_safe(document['predictions'])}; "
        f"rewards from {figure(low)} to {figure(high)} ({_safe(document['reward_range_from'])}).</p>"
        f"<table><tr>{head}</tr>{lines}</table>{f'<ul>{warnings}</ul>' if warnings else ''}</body></html>"
    )


def _safe(text: str) -> str:
    """Text from outside for a page: HTML is escaped, and so are control characters, because
    terminals show notebooks too."""
    return html.escape(_core.printable(text, False))


def framed(page: str, height: int = 640) -> str:
    """A page for a notebook cell, in an iframe so that styles stay separate."""
    return (
        f'<iframe srcdoc="{html.escape(page, quote=True)}" sandbox="" '
        f'style="width:100%;height:{height}px;border:0" title="Jurybox"></iframe>'
    )


def jury_text(jury: Jury) -> str:
    seen = jury.seen
    names = _core.printable(", ".join(jury.evaluators), False)
    return f"Jury([{names}], {jury.policy!r}: {seen['rounds']} rounds, {seen['items']} items, {seen['used']} rewards)"


def jury_html(jury: Jury) -> str:
    """A table of the evaluators' weights, with alarms."""
    fitted, seen = jury.fit(), jury.seen
    weights = _weights(fitted)
    largest = max((abs(weight) for weight in weights.values()), default=0.0) or 1.0
    lines = []
    contexts, inverted = jury.contexts, jury.inverted
    for name in jury.evaluators:
        weight = None if name in contexts else weights.get(name)
        direction = " (groups)" if name in contexts else " (low means high)" if name in inverted else ""
        shown = "–" if weight is None else f"{weight:.4g}"
        width = 0.0 if weight is None else 100 * abs(weight) / largest
        colour = "#b5493c" if weight is not None and weight < 0 else "#2f6f9f"
        lines.append(
            f"<tr><td>{_safe(name)}{direction}</td><td style='text-align:right'>{shown}</td>"
            f"<td style='min-width:8em'><div style='height:0.7em;width:{width:.0f}%;background:{colour}'></div></td></tr>"
        )
    alarms = "".join(
        f"<li>{_safe(alarm['evaluator'] or 'rewards')}: {_safe(alarm['statistic'])} changed between {alarm['since']} and {alarm['until']}</li>"
        for alarm in fitted.alarms()
    )
    return (
        f"<div><b>Jury</b> by <code>{_safe(jury.policy)}</code>: {seen['rounds']:,} rounds, {seen['items']:,} items, "
        f"{seen['used']:,} rewards<table><tr><th>evaluator</th><th>weight</th><th></th></tr>{''.join(lines)}</table>"
        f"{f'<ul>{alarms}</ul>' if alarms else ''}</div>"
    )


def _weights(fitted: Fitted) -> dict[str, float]:
    try:
        return fitted.weights()
    except Error:
        return {}


def rows_text(rows: Rows, most: int = 20) -> str:
    """The first rows as a text table."""
    cells = [[_cell(row[name]) for name in rows.columns] for row in rows.head(most).to_dicts()]
    names = [_core.printable(name, False) for name in rows.columns]
    widths = [max([len(name), *(len(row[at]) for row in cells)]) for at, name in enumerate(names)]
    lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in [names, *cells]]
    more = [f"... and {len(rows) - most} more rows"] if len(rows) > most else []
    return "\n".join([*lines, *more])


def rows_html(rows: Rows, most: int = 50) -> str:
    names = rows.columns
    head = "".join(f"<th>{_safe(name)}</th>" for name in names)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(_cell(row[name]))}</td>" for name in names) + "</tr>" for row in rows.head(most).to_dicts()
    )
    more = f"<p>... and {len(rows) - most} more rows</p>" if len(rows) > most else ""
    return f"<table><tr>{head}</tr>{body}</table>{more}"


def _cell(cell: Any) -> str:
    if cell is None:
        return ""
    text = f"{cell:.6g}" if isinstance(cell, float) else _core.printable(str(cell), False)
    return text if len(text) <= 40 else text[:39] + "…"


def to_pandas(rows: Rows) -> Any:
    import pandas as pd

    try:
        import pyarrow as pa
    except ImportError:
        return pd.DataFrame(rows.to_dict(), columns=rows.columns)
    return pa.table(rows).to_pandas()


def to_polars(rows: Rows) -> Any:
    import polars as pl

    return pl.DataFrame(rows)


def to_arrow(rows: Rows) -> Any:
    import pyarrow as pa

    return pa.table(rows)
