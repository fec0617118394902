"""Spark: `learn` over the partitions of a DataFrame, and `values` for its rows, by ``mapInArrow``.

Juries can be merged, so each partition is learnt where it is stored, and only states travel.

    jury = jb.spark.learn(df, reward="verdict")
    best = jb.spark.values(df, jury).orderBy("value", ascending=False).limit(20)
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from . import _core
from ._column_export import NO_SCORE
from ._core import Jury
from ._errors import Error
from ._frames import Arrow
from ._sources import INSPECTED_ROWS, free_name
from ._table_options import Names, Numbers, table_options, warn

__all__ = ["learn", "values"]

#: Spark types that may hold scores.
_LOOKED_AT = ("float", "double", "boolean", "byte", "short", "integer", "long", "string")


def learn(
    data: Any,
    *,
    reward: str | None = None,
    label: Numbers = None,
    reviewer: str | None = None,
    context: Names = None,
    policy: str | None = None,
    evaluators: Names = None,
    id: Names = None,
    ignore: Names = None,
    invert: Names = None,
    **options: Any,
) -> Jury:
    """As `jurybox.learn`, with one task per partition of a Spark DataFrame; each partition is a
    round."""
    ask = table_options(evaluators, id, ignore, invert, reward, reviewer=reviewer, context=context, label=label)
    needed, found, _, warned = _core.columns_needed([_first(data)], ask, None)
    blank = pickle.dumps(Jury([name for name, _ in found], policy, invert=[name for name, low in found if low], context=ask["context"], **options))
    turned = [reward] if reward is not None and reward in ask["invert"] else []

    def of_partition(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        held = [batch for batch in batches if batch.num_rows]
        if not held:
            return
        table = Arrow(pa.Table.from_batches(held))
        jury: Jury = pickle.loads(blank)

        def learnt(reward: str | None) -> list[str]:
            own = table_options(invert=turned if reward else [], reward=reward, threads=1, reviewer=reviewer if reward else None, label=label)
            found, _ = _core.learn(table.export_needed(own, jury), own, jury, None, {}, 0, [], False, None)
            return list(found["warnings"])

        try:
            told = learnt(reward)
        except Error as error:
            if error.code != "no-reward":  # another partition may have rewards
                raise
            told = learnt(None)
        yield pa.RecordBatch.from_pydict({"state": pa.array([pickle.dumps((jury, told))], type=pa.binary())})

    states = data.select(*[f"`{name}`" for name in needed]).mapInArrow(of_partition, "state binary").collect()
    if not states:
        raise Error("this DataFrame has no rows", code="no-rows")
    learnt_apart: list[tuple[Jury, list[str]]] = [pickle.loads(bytes(row["state"])) for row in states]
    warn([*warned, *(line for _, told in learnt_apart for line in told)])
    return _core.merge([jury for jury, _ in learnt_apart])


def values(data: Any, state: Jury, *, name: str = "value") -> Any:
    """The rows with the value that each is ranked by, in a column of this name."""
    from pyspark.sql.types import DoubleType, StructField, StructType  # pyright: ignore[reportMissingImports]

    fitted = state.fit()
    saved, wanted = pickle.dumps(fitted), fitted.evaluators
    name = free_name(data.columns, name)

    def of_partition(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        fitted = pickle.loads(saved)
        for batch in batches:
            found = fitted.values(batch.select(wanted))
            yield pa.RecordBatch.from_arrays([*batch.columns, pa.array(found)], names=[*batch.schema.names, name])

    schema = StructType([*data.schema.fields, StructField(name, DoubleType())])
    return data.mapInArrow(of_partition, schema)


def _first(data: Any) -> tuple[str, Any]:
    """The first rows of columns that may hold scores, and placeholders for the others."""
    kinds = {field.name: field.dataType.typeName() for field in data.schema.fields}
    looked_at = [name for name, kind in kinds.items() if kind in _LOOKED_AT or kind.startswith("decimal")]
    rows = data.select(*[f"`{name}`" for name in looked_at]).limit(INSPECTED_ROWS).collect()
    if not rows:
        raise Error("this DataFrame has no rows", code="no-rows")
    cells = {name: [row[name] for row in rows] if name in looked_at else [NO_SCORE] * len(rows) for name in kinds}
    return Arrow(pa.table(cells)).export_first()
