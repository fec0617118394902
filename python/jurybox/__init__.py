"""Of all these items, which K deserve a person's time?

Items arrive with scores from many evaluators: classifiers, rules, LLM judges. The scores are noisy,
biased and sometimes missing. Jurybox picks the K, learns from the verdicts which evaluators to
trust, and says how sure it is.

Tables, with the functions of the ``jurybox`` command::

    import jurybox as jb

    jb.rank(df, k=20)                            # the 20 rows most worth reviewing, no labels needed
    jury = jb.learn(past, reward="verdict")      # learn from past verdicts ...
    jb.rank(df, k=20, state=jury, explain=True)  # ... and rank by what was learnt
    jb.report(past, reward="verdict")            # which evaluators to trust
    jb.replay(past, reward="verdict")            # what each policy would have found
    jb.prevalence(month, reward="verdict", probability="p")  # the mean reward of all rows

Round by round, in a program of your own::

    jury = jb.Jury(["toxicity", "spam"], policy="adaptive", seed=7)
    picks = jury.round(scores, k=10)             # one row per item, one column per evaluator
    jury.learn(picks, rewards)                   # whenever the verdicts arrive
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import policies
from ._core import Fitted, Jury, Learnt, Picks, Rows, __version__
from ._display import Prevalence, Replay, Report
from ._errors import DataWarning, Error, NoFileError
from ._evaluation import replay, report
from ._learn import learn
from ._pick import pick
from ._prevalence import prevalence
from ._rank import rank
from ._states import merge
from ._wide import wide
from .client import Client

if TYPE_CHECKING:
    from . import ray, sklearn, spark

__all__ = [
    "Client",
    "DataWarning",
    "Error",
    "Fitted",
    "Jury",
    "Learnt",
    "NoFileError",
    "Picks",
    "Prevalence",
    "Replay",
    "Report",
    "Rows",
    "__version__",
    "learn",
    "merge",
    "pick",
    "policies",
    "prevalence",
    "rank",
    "ray",
    "replay",
    "report",
    "sklearn",
    "spark",
    "wide",
]


def __getattr__(name: str) -> Any:
    # Modules that need other packages are loaded on first use.
    if name in ("ray", "sklearn", "spark"):
        import importlib

        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
