"""Files on disk and in object stores: expanding patterns, reading, and reading only the
beginning."""

from __future__ import annotations

import fnmatch
import glob
import io
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq

from . import _core
from ._frames import Arrow
from ._sources import INSPECTED_ROWS, Paths, Source

#: The first bytes of compressed files, with the name of the compression.
_COMPRESSED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
#: The first bytes of UTF-16 text, which is not cut because a cut could split a character.
_WIDE_TEXT = (b"\xff\xfe", b"\xfe\xff")
_CHUNK = 1 << 18


def expanded(name: str) -> list[str]:
    """The files that a name or pattern matches, sorted; on disk, those that the command would
    read."""
    if "://" not in name:
        return [os.path.abspath(os.fspath(path)) for path in _core.expand([name])]
    if not any(sign in name for sign in "*?["):
        return [name]
    # Lists the folder up to the first wildcard.
    scheme, _, rest = name.partition("://")
    fixed = rest[: min(rest.index(sign) for sign in "*?[" if sign in rest)].rpartition("/")[0]
    store, folder = pyarrow.fs.FileSystem.from_uri(f"{scheme}://{fixed}")
    inside = store.get_file_info(pyarrow.fs.FileSelector(folder, recursive=True))
    prefix = folder[: len(folder) - len(fixed)] if folder.endswith(fixed) else ""
    names = (info.path.removeprefix(prefix) for info in inside if info.type == pyarrow.fs.FileType.File)
    return sorted(f"{scheme}://{found}" for found in names if fnmatch.fnmatchcase(found, rest))


@contextmanager
def opened(part: Any) -> Iterator[Source]:
    """A source for a file or block. A file of an object store is copied to a temporary folder
    while it is read."""
    if isinstance(part, (pa.Table, pa.RecordBatch)):
        yield Arrow(part)
    elif "://" not in part:
        yield Paths([glob.escape(part)])
    else:
        store, path = pyarrow.fs.FileSystem.from_uri(part)
        with tempfile.TemporaryDirectory(prefix="jurybox-") as folder:
            copy = os.path.join(folder, os.path.basename(path))
            with store.open_input_stream(path, compression=None) as source, open(copy, "wb") as target:
                shutil.copyfileobj(source, target, 1 << 20)
            yield Paths([glob.escape(copy)])


@contextmanager
def beginning(part: str) -> Iterator[str]:
    """The name of a file with the first rows of another, enough to resolve its columns; on disk,
    the file itself."""
    if "://" not in part:
        yield glob.escape(part)
        return
    store, path = pyarrow.fs.FileSystem.from_uri(part)
    with tempfile.TemporaryDirectory(prefix="jurybox-") as folder:
        copy = os.path.join(folder, os.path.basename(path))
        with store.open_input_file(path) as source, open(copy, "wb") as target:
            _copy_beginning(source, target)
        yield glob.escape(copy)


def _copy_beginning(source: Any, target: BinaryIO) -> None:
    begins = source.read(4)
    source.seek(0)
    if begins == b"PAR1":
        file = pq.ParquetFile(source)
        first = next(file.iter_batches(batch_size=INSPECTED_ROWS), None)
        rows = pa.Table.from_batches([] if first is None else [first], file.schema_arrow)
        pq.write_table(rows, target)
    elif begins[:2] in _WIDE_TEXT:
        shutil.copyfileobj(source, target, 1 << 20)
    else:
        codec = next((name for sign, name in _COMPRESSED.items() if begins.startswith(sign)), None)
        lines = io.BytesIO()
        _copy_lines(source if codec is None else pa.CompressedInputStream(source, codec), lines)
        # Compressed again, because the name may tell the compression.
        target.write(lines.getvalue() if codec is None else pa.compress(lines.getvalue(), codec=codec, asbytes=True))


def _copy_lines(source: Any, target: BinaryIO) -> None:
    """The first lines: enough for all inspected rows and the header."""
    rows, quotes, rest = 0, 0, b""
    while chunk := source.read(_CHUNK):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            target.write(line + b"\n")
            # A line break within quotes does not end a row.
            quotes += line.count(b'"')
            rows += quotes % 2 == 0
        if rows > INSPECTED_ROWS:
            return
    target.write(rest)
