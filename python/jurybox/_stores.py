"""Files on disks and in object stores: what a pattern means, and a file at hand while it is read."""

from __future__ import annotations

import fnmatch
import glob
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.fs

from ._frames import Arrow, Given, Paths


def expanded(name: str) -> list[str]:
    """The files that a name or a pattern means, sorted."""
    wild = any(sign in name for sign in "*?[")
    if "://" not in name:
        return sorted(glob.glob(name)) if wild else [os.path.abspath(name)]
    if not wild:
        return [name]
    # The folder up to the first sign is listed.
    scheme, _, rest = name.partition("://")
    fixed = rest[: min(rest.index(sign) for sign in "*?[" if sign in rest)].rpartition("/")[0]
    store, folder = pyarrow.fs.FileSystem.from_uri(f"{scheme}://{fixed}")
    inside = store.get_file_info(pyarrow.fs.FileSelector(folder, recursive=True))
    prefix = folder[: len(folder) - len(fixed)] if folder.endswith(fixed) else ""
    names = (info.path.removeprefix(prefix) for info in inside if info.type == pyarrow.fs.FileType.File)
    return sorted(f"{scheme}://{found}" for found in names if fnmatch.fnmatchcase(found, rest))


@contextmanager
def opened(part: Any) -> Iterator[Given]:
    """A file at hand: one of an object store is copied beside the task while it is read; a block of a dataset is there."""
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
