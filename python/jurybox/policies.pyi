"""The policies, each as a function whose keywords are its options."""

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = [
    "table",
    "oracle",
    "average",
    "uniform",
    "rand",
    "esag",
    "glm_esag",
    "eps_greedy",
    "glm_eps_greedy",
    "eps_greedy_all",
    "glm_eps_greedy_all",
    "greedy",
    "glm_greedy",
    "eval_ucb",
    "glm_eval_ucb",
    "lin_ucb",
    "glm_lin_ucb",
    "exp4p",
    "adaptive",
]

_Noise = float | str | Sequence[float] | Mapping[str, float] | None
_Columns = Sequence[int] | Sequence[str] | None
_Each = Sequence[float] | None

def table() -> list[dict[str, Any]]:
    """Every policy as data: name, what it assumes, its place in the paper, and its options."""

def oracle(*, alpha: _Each = None, sigma: _Noise = None, link: str | None = None, inverted: _Columns = None) -> str:
    """told every gain (alpha) and noise level (sigma); the yardstick for regret."""
def average(*, inverted: _Columns = None) -> str:
    """every evaluator in the same units and equally good: the plain mean of the scores."""
def uniform(*, inverted: _Columns = None) -> str:
    """nothing: K items at random, whatever their scores."""
def rand(*, inverted: _Columns = None) -> str:
    """nothing: one evaluator drawn each round ranks the items alone."""
def esag(*, sigma: _Noise = None, current_round: bool | None = None, inverted: _Columns = None) -> str:
    """score = alpha * r + noise, no offset; learns gains from the mean of all scores, never from rewards."""
def glm_esag(
    *,
    sigma: _Noise = None,
    current_round: bool | None = None,
    link: str | None = None,
    inverted: _Columns = None,
) -> str:
    """score = g(alpha * r) + noise, g known; esag on the inverse link of the scores, which keeps a bias."""
def eps_greedy(
    *,
    sigma: _Noise = None,
    lambda_: float | None = None,
    eps: float | None = None,
    horizon: int | None = None,
    scale: float | None = None,
    power: float | None = None,
    slots: int | None = None,
    inverted: _Columns = None,
) -> str:
    """score = alpha * r + noise; explores whole rounds and learns gains from explored items only."""
def glm_eps_greedy(
    *,
    sigma: _Noise = None,
    lambda_: float | None = None,
    eps: float | None = None,
    horizon: int | None = None,
    scale: float | None = None,
    power: float | None = None,
    slots: int | None = None,
    link: str | None = None,
    inverted: _Columns = None,
) -> str:
    """score = g(alpha * r) + noise, g known; explores, and learns gains from explored items only."""
def eps_greedy_all(
    *,
    sigma: _Noise = None,
    lambda_: float | None = None,
    eps: float | None = None,
    horizon: int | None = None,
    scale: float | None = None,
    power: float | None = None,
    slots: int | None = None,
    inverted: _Columns = None,
) -> str:
    """as eps-greedy, but learns from every pick: faster, with the bias of picking by the noise."""
def glm_eps_greedy_all(
    *,
    sigma: _Noise = None,
    lambda_: float | None = None,
    eps: float | None = None,
    horizon: int | None = None,
    scale: float | None = None,
    power: float | None = None,
    slots: int | None = None,
    link: str | None = None,
    inverted: _Columns = None,
) -> str:
    """as glm-eps-greedy, but learns from every pick: faster, with the bias of picking by the noise."""
def greedy(*, sigma: _Noise = None, lambda_: float | None = None, inverted: _Columns = None) -> str:
    """eps-greedy-all that never explores."""
def glm_greedy(
    *,
    sigma: _Noise = None,
    lambda_: float | None = None,
    link: str | None = None,
    inverted: _Columns = None,
) -> str:
    """glm-eps-greedy-all that never explores."""
def eval_ucb(*, sigma: _Noise = None, delta: float | None = None, inverted: _Columns = None) -> str:
    """score = alpha * r + noise, summed reward > 0; optimistic gains from every pick, no guarantee."""
def glm_eval_ucb(
    *,
    sigma: _Noise = None,
    delta: float | None = None,
    link: str | None = None,
    inverted: _Columns = None,
) -> str:
    """score = g(alpha * r) + noise, summed reward > 0; optimistic gains from every pick, no guarantee."""
def lin_ucb(
    *,
    lambda_: float | None = None,
    delta: float | None = None,
    noise: float | None = None,
    norm: float | None = None,
    beta: float | None = None,
    inverted: _Columns = None,
) -> str:
    """reward linear in the scores, no offset; ridge regression with optimism, learns from every pick."""
def glm_lin_ucb(
    *,
    lambda_: float | None = None,
    delta: float | None = None,
    noise: float | None = None,
    norm: float | None = None,
    beta: float | None = None,
    link: str | None = None,
    inverted: _Columns = None,
) -> str:
    """reward linear in the inverse link of the scores; otherwise as lin-ucb."""
def exp4p(
    *,
    horizon: int | None = None,
    delta: float | None = None,
    low: float | None = None,
    high: float | None = None,
    inverted: _Columns = None,
) -> str:
    """nothing but rewards in a known range; learns which single evaluator to follow, by importance weights."""
def adaptive(
    *,
    audit: float | None = None,
    slots: int | None = None,
    draws: int | None = None,
    forget: bool | None = None,
    tick: int | None = None,
    curve: str | None = None,
    levels: bool | None = None,
    trees: bool | None = None,
    looks: bool | None = None,
    sample: int | None = None,
    inverted: _Columns = None,
) -> str:
    """nothing but that scores carry some signal: learns scales, curves, noise and weights; the default."""
