"""Benchmark of interval coverage: how often the intervals of `predict` contain the true reward.

    python benchmarks/coverage.py [RUNS]

In simulated data, a jury (`adaptive`, with its defaults) observes the scores of 2,000 items, learns
the rewards of some, and predicts those of 2,000 others with level 0.9: 90 of 100 rewards should lie
within. The first table learns items drawn at random. The second learns picks, ten of sixty a round,
and is evaluated on the picks, and on all items, of later rounds. In brackets: the 95% interval over
runs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import scipy.stats

import jurybox as jb

EVALUATORS, ITEMS, LEVEL = 5, 2000, 0.9
LABELS = (10, 30, 100, 1000)
ROUNDS, POOL, K = (5, 20, 100), 60, 10

Draws = np.random.Generator
World = Callable[[Draws, int, np.ndarray], tuple[np.ndarray, np.ndarray]]


def scored(draws: Draws, worth: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """The scores of all evaluators for items of these rewards."""
    return worth[:, None] * np.linspace(0.3, 1.0, EVALUATORS) + draws.normal(size=(len(worth), EVALUATORS)) * noise


def normal(draws: Draws, rows: int, noise: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    rewards = draws.normal(size=rows)
    return scored(draws, rewards, noise), rewards


def uniform(draws: Draws, rows: int, noise: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    rewards = draws.uniform(size=rows)
    return scored(draws, rewards, noise / 3), rewards


def gaps(draws: Draws, rows: int, noise: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    scores, rewards = normal(draws, rows, noise)
    scores[draws.uniform(size=scores.shape) < 0.3] = np.nan
    return scores, rewards


def telling_gaps(draws: Draws, rows: int, noise: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    scores, rewards = normal(draws, rows, noise)
    scores[draws.uniform(size=scores.shape) < np.where(rewards > 0.5, 0.6, 0.1)[:, None]] = np.nan
    return scores, rewards


def curved(draws: Draws, rows: int, noise: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    scores, rewards = normal(draws, rows, noise)
    return 1 / (1 + np.exp(-3 * scores)), rewards


def louder(draws: Draws, rows: int, noise: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Scores with more noise for items of higher reward."""
    rewards = draws.normal(size=rows)
    loud = np.where(rewards > 0, 2.0, 0.5)[:, None]
    return scored(draws, rewards, noise * loud), rewards


def heavy(draws: Draws, rows: int, noise: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    worth = draws.normal(size=rows)
    return scored(draws, worth, noise), np.exp(1.5 * worth)


def yes_no(draws: Draws, rows: int, noise: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    worth = draws.normal(size=rows)
    return scored(draws, worth, noise), (worth > 0.8).astype(float)


WORLDS: dict[str, World] = {
    "rewards and noise normal": normal,
    "rewards uniform": uniform,
    "three scores in ten missing": gaps,
    "scores missing where rewards are high": telling_gaps,
    "scores bent (logistic)": curved,
    "noise larger where rewards are high": louder,
    "rewards log-normal": heavy,
    "rewards 1 (one in five) or 0": yes_no,
}


def within(jury: jb.Jury, scores: np.ndarray, rewards: np.ndarray) -> float:
    _, low, high = jury.predict(scores, level=LEVEL)
    return float(np.mean((low <= rewards) & (rewards <= high)))


def random_labels(world: World, run: int) -> list[float]:
    """The share of rewards within their intervals, after each number of labels drawn at random."""
    draws = np.random.default_rng(run)
    noise = draws.uniform(0.2, 1.5, size=EVALUATORS)
    scores, rewards = world(draws, ITEMS, noise)
    others = world(draws, ITEMS, noise)
    jury = jb.Jury([f"e{j}" for j in range(EVALUATORS)])
    jury.observe(scores)
    found, told = [], 0
    for labels in LABELS:
        jury.learn(scores[told:labels], rewards[told:labels])
        told = labels
        found.append(within(jury, *others))
    return found


def picked_labels(world: World, run: int) -> list[float]:
    """The share of rewards within their intervals after each number of rounds: of the next
    picks, then of all items."""
    draws = np.random.default_rng(run)
    noise = draws.uniform(0.2, 1.5, size=EVALUATORS)
    jury = jb.Jury([f"e{j}" for j in range(EVALUATORS)], seed=run)
    picked: list[float] = []
    every: list[float] = []
    for at in range(1, max(ROUNDS) + 1):
        scores, rewards = world(draws, POOL, noise)
        picks = jury.round(scores, K)
        jury.learn(picks, rewards[picks.items])
        if at in ROUNDS:
            fitted = jury.fit()
            mine, all_items = [], []
            for _ in range(20):
                scores, rewards = world(draws, POOL, noise)
                _, low, high = fitted.predict(scores, level=LEVEL)
                inside = (low <= rewards) & (rewards <= high)
                mine.append(inside[fitted.choose(scores, K).items].mean())
                all_items.append(inside.mean())
            picked.append(float(np.mean(mine)))
            every.append(float(np.mean(all_items)))
    return picked + every


def table(heads: list[str], measure: Callable[[World, int], list[float]], runs: int) -> None:
    print(f"| {'':37} | " + " | ".join(f"{head:^21}" for head in heads) + " |")
    print(f"|{'-' * 39}|" + "|".join("-" * 23 for _ in heads) + "|")
    t = float(scipy.stats.t.ppf(0.975, runs - 1))
    for name, world in WORLDS.items():
        found = 100 * np.array([measure(world, run) for run in range(runs)])
        reach = t * found.std(axis=0, ddof=1) / np.sqrt(runs)
        cells = [f"{mean:5.1f} ± {error:.1f}" for mean, error in zip(found.mean(axis=0), reach, strict=True)]
        print(f"| {name:37} | " + " | ".join(f"{cell:^21}" for cell in cells) + " |", flush=True)
    print()


def main(runs: int) -> None:
    print(f"{EVALUATORS} evaluators, level {LEVEL}, {runs} runs: of 100 rewards, so many lie within their intervals.\n")
    table([f"{labels} labels" for labels in LABELS], random_labels, runs)
    heads = [f"{what}, {rounds} rounds" for what in ("picks", "all") for rounds in ROUNDS]
    table(heads, picked_labels, runs)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
