"""The value of an item as an SQL expression, so that a database can rank."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._errors import Error

if TYPE_CHECKING:
    from ._core import Fitted

#: The distance from 0 and 1 to which scores are clipped before the inverse logistic link;
#: `Link::HAIR` in the library.
HAIR = 1e-6

#: The type of a double in each dialect.
DIALECTS = {"duckdb": "DOUBLE", "postgres": "DOUBLE PRECISION", "postgresql": "DOUBLE PRECISION"}


def to_sql(fitted: Fitted, dialect: str) -> str:
    double = DIALECTS.get(dialect)
    if double is None:
        raise Error(f"unknown dialect {dialect!r}: expected duckdb or postgresql", code="dialect", value=dialect)
    _distinct(fitted.evaluators, dialect)
    link, low = fitted._form()
    base, weights = _linear(fitted, link, np.asarray(low))

    def literal(value: float) -> str:
        return f"CAST('{value!r}' AS {double})"

    terms = [literal(base)] if base else []
    for name, weight, turned in zip(fitted.evaluators, weights, low, strict=True):
        if weight == 0.0:
            # Adds 0, but makes the sum NULL if the score is missing.
            terms.append(f"0 * {_column(name, double)}")
            continue
        terms.append(f"{literal(float(weight))} * {_inverse(_column(name, double), link, turned, literal)}")
    return "(" + " + ".join(terms) + ")"


def _distinct(names: list[str], dialect: str) -> None:
    """Errors if the database would confuse two columns: DuckDB ignores case, PostgreSQL reads
    the first 63 bytes."""
    known: dict[object, str] = {}
    for name in names:
        seen = name.casefold() if dialect == "duckdb" else name.encode("utf-8", "surrogatepass")[:63]
        other = known.setdefault(seen, name)
        if other != name:
            why = "ignores case" if dialect == "duckdb" else "reads the first 63 bytes of a name"
            raise Error(
                f"`{other}` and `{name}` are the same column in SQL: {dialect} {why}; rename one of them",
                code="column",
                column=name,
            )


def _column(name: str, double: str) -> str:
    if "\0" in name:
        raise Error(f"`{name!r}` cannot be the name of a column in SQL", code="column", column=name)
    quoted = name.replace('"', '""')
    # Databases order NaN above all numbers; here it means missing.
    return f"NULLIF(CAST(\"{quoted}\" AS {double}), CAST('NaN' AS {double}))"


def _inverse(column: str, link: str, turned: bool, literal: Any) -> str:
    """A score after the inverse link. CASE keeps NULL, which LEAST and GREATEST would drop."""
    if link == "identity":
        return f"(-{column})" if turned else column
    x = f"(1 - {column})" if turned else column
    low, high = literal(HAIR), literal(1 - HAIR)
    return (
        f"(CASE WHEN {x} < {low} THEN LN({low} / (1 - {low})) WHEN {x} > {high} THEN LN({high} / (1 - {high})) "
        f"ELSE LN({x} / (1 - {x})) END)"
    )


def _linear(fitted: Fitted, link: str, low: Any) -> tuple[float, Any]:
    """The base and the weights of a policy that sums its scores. They are measured from its
    values and checked at 256 points; an error if the values are not such a sum."""
    name = fitted.policy.partition("(")[0]
    width = len(low)

    def refuse(why: str) -> Error:
        return Error(f"`{name}` has no form in SQL: {why}", code="no-sql", value=name)

    if link == "probit":
        raise refuse("databases lack the inverse normal distribution function")

    def oriented(scores: Any) -> Any:
        mirror = 0.0 if link == "identity" else 1.0
        return np.where(low, mirror - scores, scores)

    def inverse(scores: Any) -> Any:
        if link == "identity":
            return scores
        inside = np.clip(scores, HAIR, 1 - HAIR)
        return np.log(inside / (1 - inside))

    one = 1.0 if link == "identity" else 1 / (1 + np.exp(-1.0))
    unit = oriented(np.full((1, width), one))  # inverting twice restores a score
    try:
        base, each = fitted.contributions(unit)
    except Error:
        raise refuse("it ranks items relative to their round") from None
    weights = each[0] / inverse(oriented(unit))[0]
    draws = np.random.default_rng(0)
    if link == "identity":
        probes = draws.normal(size=(256, width)) * draws.choice([1e-3, 1.0, 1e3], size=(256, 1))
    else:
        probes = draws.uniform(-0.1, 1.1, size=(256, width))
    expected = fitted.values(probes)
    found = base[0] + inverse(oriented(probes)) @ weights
    scale = np.abs(base[0]) + np.abs(inverse(oriented(probes))) @ np.abs(weights)
    if not np.all(np.abs(found - expected) <= 1e-9 * np.maximum(scale, 1e-300)):
        raise refuse("it is not a weighted sum of the scores")
    return float(base[0]), weights
