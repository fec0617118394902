"""The Python code on each page of the book runs from top to bottom in an empty folder, and so does the notebook."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import ROOT, patiently

#: The pages of the book with Python code. A block marked `text` is not run.
PAGES = sorted(page for page in (ROOT / "docs" / "src").glob("*/*.md") if "```python\n" in page.read_text())


def test_there_are_pages() -> None:
    assert len(PAGES) >= 8


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = list(re.finditer(r"^```python\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE))
    assert blocks, f"{page} has no code"

    def run_blocks() -> None:
        names: dict[str, object] = {"__name__": "__main__"}
        for block in blocks:
            # Tracebacks name the lines of the page.
            before = page.read_text()[: block.start(1)].count("\n")
            code = compile("\n" * before + block[1], str(page), "exec")
            exec(code, names)

    patiently(run_blocks)


@pytest.mark.filterwarnings("default")
def test_the_notebook_runs(tmp_path: Path) -> None:
    import nbformat
    from nbclient import NotebookClient

    path = ROOT / "python" / "examples" / "review.ipynb"
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert any("text/html" in output.get("data", {}) for output in shown)
    # The notebook in the repository holds no outputs.
    kept = nbformat.read(path, as_version=4)
    assert not any(cell.get("outputs") for cell in kept.cells)
