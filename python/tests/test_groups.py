"""Context columns of a jury: groups have the same names in files, frames and lists."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import jurybox as jb


def rows(many: int = 240) -> dict[str, list[object]]:
    """Evaluator `a` is good in one language and `b` in the other."""
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=many), rng.normal(size=many)
    language = np.array(["de", "fr"])[np.arange(many) % 2]
    verdict = np.where(language == "de", a, b) + 0.2 * rng.normal(size=many)
    return {"a": a.tolist(), "b": b.tolist(), "language": language.tolist(), "verdict": verdict.tolist()}


NAMES = ["a", "b", "language"]


def shapes(data: dict[str, list[object]]) -> dict[str, object]:
    table = list(zip(*(data[name] for name in NAMES), strict=True))
    return {
        "pandas": pd.DataFrame(data),
        "categories": pd.DataFrame(data).astype({"language": "category"}),
        "polars": pl.DataFrame(data),
        "pyarrow": pa.table(data),
        "columns": {name: data[name] for name in NAMES},
        "mappings": [dict(zip(NAMES, row, strict=True)) for row in table],
        "lists": [list(row) for row in table],
        "objects": np.array(table, dtype=object),
    }


def test_groups_go_by_their_names_in_every_shape() -> None:
    data = rows()
    learnt = jb.learn(pd.DataFrame(data), reward="verdict", context="language", policy="adaptive")
    expected = learnt.values(pd.DataFrame(data))
    assert learnt.contexts == ["language"] and learnt.evaluators == NAMES
    for shape, scores in shapes(data).items():
        assert learnt.values(scores).tolist() == expected.tolist(), shape
        begun = jb.Jury(["a", "b"], "adaptive", context="language")
        begun.observe(scores)
        begun.learn(scores, data["verdict"])
        assert begun.evaluators == NAMES and np.allclose(begun.values(scores), expected), shape


def test_weights_are_told_by_group() -> None:
    data = rows()
    jury = jb.learn(pl.DataFrame(data), reward="verdict", context=["language"], policy="adaptive")
    _, german = jury.group_weights("language", "de")
    _, french = jury.fit().group_weights("language", "fr")
    assert german["a"] > 0.8 > 0.2 > german["b"] and french["b"] > 0.8 > 0.2 > french["a"] and set(german) == {"a", "b"}
    assert jury.group_weights("language", "it") is None
    assert "language (groups)</td><td style='text-align:right'>–</td>" in jury._repr_html_()
    with pytest.raises(jb.Error, match="`tongue` is not a context of this jury: it has language"):
        jury.group_weights("tongue", "de")
    with pytest.raises(jb.Error, match="it has none"):
        jb.Jury(["a"]).group_weights("a", "de")


def test_whole_numbers_name_the_same_group_however_they_are_stored() -> None:
    data = {**rows(), "language": [7, 8] * 120}
    jury = jb.learn(pd.DataFrame(data), reward="verdict", context="language", policy="adaptive")
    expected = jury.values(pd.DataFrame(data)).tolist()
    for column in ([7.0, 8.0] * 120, ["7", "8"] * 120):
        assert jury.values(pd.DataFrame({**data, "language": column})).tolist() == expected
        assert jury.values(pl.DataFrame({**data, "language": column})).tolist() == expected


@pytest.mark.filterwarnings("ignore:.* are not among the picks:jurybox.DataWarning")
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_picks_remember_their_groups(frame) -> None:
    data = {"post": [f"p{i}" for i in range(240)], **rows()}
    jury = jb.Jury(["a", "b"], "adaptive", context="language")
    picks = jb.pick(frame({name: cells for name, cells in data.items() if name != "verdict"}), 200, id="post", state=jury)
    found = frame({"post": data["post"], "verdict": data["verdict"]})
    jb.learn(picks=picks, verdicts=found, id="post", reward="verdict", state=jury)
    assert jury.seen["used"] == 200
    _, german = jury.group_weights("language", "de")
    assert german["a"] > 0.8 > 0.2 > german["b"]


def test_contexts_are_refused_where_they_cannot_be() -> None:
    with pytest.raises(jb.Error, match="adaptive"):
        jb.Jury(["a"], "lin-ucb", context="language")
    with pytest.raises(jb.Error, match="`language` is a context, not a score"):
        jb.Jury(["a"], context="language", invert=["language"])
    assert jb.Jury(["a", "language", "b"], context="language").evaluators == ["a", "language", "b"]
