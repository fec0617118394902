"""The policies, each a function whose keywords are its options, with what they do: made from the
library's own table.

>>> import jurybox as jb
>>> jb.policies.eps_greedy(eps=0.1, slots=2)
'eps-greedy(eps=0.1,slots=2)'
>>> jury = jb.Jury(["toxicity", "spam"], jb.policies.eps_greedy(eps=0.1))
>>> jb.Jury(["toxicity", "spam"], "eps-greedy", eps=0.1).policy  # the same
'eps-greedy(eps=0.1)'

``help(jb.policies.esag)`` shows what a policy assumes, where it stands in the paper, and its
options. Where an option is named as a word of Python's, it ends in an underscore: ``lambda_``.
"""

from __future__ import annotations

import inspect
import keyword
from collections.abc import Callable
from typing import Any

from ._core import policy_table, spec_text

__all__ = ["table"]


def table() -> list[dict[str, Any]]:
    """Every policy as data: name, what it needs to know of a pick to learn from it, what it
    assumes, its place in the paper, and its options."""
    found: list[dict[str, Any]] = policy_table()
    return found


def _function(entry: dict[str, Any]) -> Callable[..., str]:
    name = entry["name"].replace("-", "_")
    options = {_keyword(option["name"]): option for option in entry["options"]}

    def policy(**given: Any) -> str:
        for unknown in given.keys() - options.keys():
            raise TypeError(f"{name}() got an unexpected keyword argument {unknown!r}")
        return spec_text(entry["name"], given)

    lines = [f"{entry['assumes']}.", "", f"In the paper: {entry['paper']}.", "", "Parameters", "----------"]
    for key, option in options.items():
        default = {"none": "not set by default", "required": "must be set"}.get(option["default"], f"{option['default']} by default")
        lines.append(f"{key} : {option['range']}; {default}")
        lines.append(f"    {option['help']}")
    policy.__name__ = policy.__qualname__ = name
    policy.__doc__ = "\n".join(lines)
    parameters = [inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=None) for key in options]
    policy.__signature__ = inspect.Signature(parameters, return_annotation=str)  # type: ignore[attr-defined]
    return policy


def _keyword(name: str) -> str:
    return f"{name}_" if keyword.iskeyword(name) else name


def _functions() -> dict[str, Callable[..., str]]:
    made = [_function(entry) for entry in table()]
    return {function.__name__: function for function in made}


globals().update(_functions())
__all__ += list(_functions())
