"""No call takes more than 100 MB beyond its input of a million rows with ten scores. Each call
runs in its own process."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

FILE = Path(__file__).parents[1] / "benchmarks" / "memory.py"
spec = importlib.util.spec_from_file_location("memory", FILE)
assert spec is not None and spec.loader is not None
memory = importlib.util.module_from_spec(spec)
spec.loader.exec_module(memory)

#: The cases that took most memory, one of each kind.
CASES = [
    ("pandas", "pick"),
    ("pandas_text", "pick"),
    ("pandas_objects", "pick"),
    ("pandas_objects", "learn_by_id"),
    ("pandas_nullable", "learn"),
    ("pandas_arrow", "pick"),
    ("polars", "pick"),
    ("polars", "report"),
    ("pandas_nullable", "replay"),
    ("polars", "replay"),
    ("pyarrow", "rank"),
    ("array", "jury_learn"),
    ("array", "jury_round"),
    ("array", "jury_predict"),
    ("array_by_columns", "jury_predict"),
]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
@pytest.mark.parametrize(("kind", "call"), CASES)
def test_a_call_takes_no_more_than_it_says(kind: str, call: str) -> None:
    most = memory.measured(1_000_000, kind, call)
    assert most < memory.MOST, f"{most:.0f} MB"
