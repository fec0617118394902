"""The type stubs match the package and its use: stubtest, mypy and pyright."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from conftest import ROOT

import jurybox

PYTHON = ROOT / "python"


def run(tmp_path: Path, *command: object) -> None:
    # In another folder, so that the installed package is checked.
    done = subprocess.run([sys.executable, "-m", *map(str, command)], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_stubs_are_true(tmp_path: Path) -> None:
    allowed = PYTHON / "tests" / "typing" / "allowed.txt"
    run(tmp_path, "mypy.stubtest", "jurybox", "--mypy-config-file", PYTHON / "pyproject.toml", "--allowlist", allowed)


def test_mypy(tmp_path: Path) -> None:
    run(tmp_path, "mypy", "--config-file", PYTHON / "pyproject.toml", "-p", "jurybox")
    run(tmp_path, "mypy", "--strict", PYTHON / "tests" / "typing" / "usage.py", "--config-file=")


def test_pyright(tmp_path: Path) -> None:
    installed = sorted(path for path in Path(jurybox.__file__).parent.rglob("*.py*") if path.suffix in (".py", ".pyi"))
    run(tmp_path, "pyright", "--pythonpath", sys.executable, *installed)
    run(tmp_path, "pyright", "--pythonpath", sys.executable, PYTHON / "tests" / "typing" / "usage.py")
