"""The examples in docstrings give the shown results."""

from __future__ import annotations

import ast
import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

import jurybox

MODULES = sorted(module.name for module in pkgutil.iter_modules(jurybox.__path__) if module.name not in ("_core", "spark"))
HOW = doctest.NORMALIZE_WHITESPACE


def done(tests: list[doctest.DocTest]) -> int:
    runner = doctest.DocTestRunner(optionflags=HOW, verbose=False)
    for test in tests:
        runner.run(test)
    assert runner.failures == 0
    return runner.tries


@pytest.mark.parametrize("name", ["__init__", *MODULES])
def test_examples_of_a_module(name: str) -> None:
    module = jurybox if name == "__init__" else importlib.import_module(f"jurybox.{name}")
    done([test for test in doctest.DocTestFinder().find(module) if test.examples])


def test_examples_of_the_compiled_part() -> None:
    stubs = Path(jurybox.__file__).with_name("_core.pyi")
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    texts = [ast.get_docstring(node) or "" for node in ast.walk(ast.parse(stubs.read_text())) if isinstance(node, documented)]
    found = [doctest.DocTestParser().get_doctest(text, {}, stubs.name, str(stubs), 0) for text in texts]
    assert done([test for test in found if test.examples]) > 0


def test_there_are_examples() -> None:
    """Docstrings with examples are found in the modules that should have them."""
    modules = [importlib.import_module(f"jurybox.{name}") for name in MODULES]
    with_examples = {module.__name__ for module in modules if any(test.examples for test in doctest.DocTestFinder().find(module))}
    written = {f"jurybox.{path.stem}" for path in Path(jurybox.__file__).parent.glob("*.py") if ">>>" in path.read_text()}
    assert written and written == with_examples
