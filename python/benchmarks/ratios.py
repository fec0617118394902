"""Benchmark of running time, as ratios to plain numpy and to the top K of Polars.

    python benchmarks/ratios.py

A ratio below 1 means that jurybox takes less time. Each is the median over paired repeats: both
sides take turns, so that other load slows both.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np
import polars as pl

import jurybox as jb

ITEMS, EVALUATORS, K = 60, 10, 10


def paired(
    mine: Callable[[], object], theirs: Callable[[], object], repeats: int, calls: int, clock: Callable[[], float]
) -> tuple[float, float]:
    """The median ratio of the two times, and the seconds of one call of the first."""
    ratios, seconds = [], []
    for _ in range(repeats):
        taken = []
        for work in (mine, theirs):
            begun = clock()
            for _ in range(calls):
                work()
            taken.append((clock() - begun) / calls)
        ratios.append(taken[0] / taken[1])
        seconds.append(taken[0])
    return statistics.median(ratios), statistics.median(seconds)


class Esag:
    """The paper's algorithm 2 in as few numpy calls as possible: no checks, receipts or missing
    scores."""

    def __init__(self) -> None:
        self.sum, self.rounds, self.sigma = np.zeros(EVALUATORS), 0, np.linspace(0.1, 0.5, EVALUATORS)

    def round(self, scores: np.ndarray) -> np.ndarray:
        alpha = self.sum / max(self.rounds, 1)
        ratio = alpha / self.sigma
        weights = ratio / self.sigma / max(ratio @ ratio, 1e-300)
        values = scores @ weights
        best = np.argpartition(values, -K)[-K:]
        best = best[np.argsort(-values[best])]
        self.sum += scores.mean(axis=0)
        self.rounds += 1
        return best

    def learn(self, scores: np.ndarray, rewards: np.ndarray) -> None:
        """Learns from scores alone."""


class LinUcb:
    """LinUCB that takes all rewards of a round at once, in the fewest calls."""

    def __init__(self) -> None:
        self.gram, self.inverse, self.sums, self.beta = np.eye(EVALUATORS), np.eye(EVALUATORS), np.zeros(EVALUATORS), 1.0

    def round(self, scores: np.ndarray) -> np.ndarray:
        theta = self.inverse @ self.sums
        width = ((scores @ self.inverse) * scores).sum(axis=1)
        values = scores @ theta + self.beta * np.sqrt(width)
        best = np.argpartition(values, -K)[-K:]
        return best[np.argsort(-values[best])]

    def learn(self, scores: np.ndarray, rewards: np.ndarray) -> None:
        self.gram += scores.T @ scores
        self.inverse = np.linalg.inv(self.gram)
        self.sums += rewards @ scores


def rounds() -> None:
    draws = np.random.default_rng(0)
    tables = [draws.uniform(size=(ITEMS, EVALUATORS)) for _ in range(64)]
    names = [f"e{j}" for j in range(EVALUATORS)]
    for policy, options, bare, most in [
        ("esag", {"sigma": np.linspace(0.1, 0.5, EVALUATORS)}, Esag, 0.6),
        ("lin-ucb", {}, LinUcb, 0.3),
    ]:
        jury, other = jb.Jury(names, policy, **options), bare()
        turn = {"mine": 0, "theirs": 0}

        def mine(jury: jb.Jury = jury, turn: dict[str, int] = turn) -> None:
            scores = tables[turn["mine"] % 64]
            turn["mine"] += 1
            picks = jury.round(scores, K)
            jury.learn(picks, scores[picks.items, 0])

        def theirs(other: Esag | LinUcb = other, turn: dict[str, int] = turn) -> None:
            scores = tables[turn["theirs"] % 64]
            turn["theirs"] += 1
            picks = other.round(scores)
            other.learn(scores[picks], scores[picks, 0])

        ratio, seconds = paired(mine, theirs, repeats=31, calls=400, clock=time.process_time)  # one thread
        print(f"round of {ITEMS} x {EVALUATORS} and learn, {policy}: {ratio:.2f} of numpy's bare arithmetic (at most {most}); {1e6 * seconds:.1f} us")


def ranking() -> None:
    draws = np.random.default_rng(1)
    rows, width = 1_000_000, 10
    frame = pl.DataFrame({f"e{j}": draws.uniform(size=rows) for j in range(width)}).with_columns(post=pl.int_range(rows))
    weights = {f"e{j}": (j + 1) / 55 for j in range(width)}
    value = sum((pl.col(name) * weight for name, weight in weights.items()), start=pl.lit(0.0))

    def mine() -> pl.DataFrame:
        return jb.rank(frame, k=100, weights=weights, ignore="post")

    def theirs() -> pl.DataFrame:
        # Lazily, the fastest way here: the other columns are read only for the best rows.
        return frame.lazy().with_columns(score=value).top_k(100, by="score").collect()

    assert mine()["post"].to_list() == theirs().sort("score", descending=True)["post"].to_list()
    ratio, seconds = paired(mine, theirs, repeats=15, calls=3, clock=time.perf_counter)  # all threads
    print(f"rank of {rows:,} x {width} by weights: {ratio:.2f} of Polars' top_k (at most 1.3); {1e3 * seconds:.1f} ms")


if __name__ == "__main__":
    rounds()
    ranking()
