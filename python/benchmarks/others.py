"""Other libraries on the same rounds: what they earn, and how long they take.

    pip install -r benchmarks/requirements.txt && python benchmarks/others.py [ROUNDS ...]

The desk is the paper's: the reward r of an item is uniform on [0, 1], an evaluator's score is alpha_j * r plus noise of its own size
(or of the same for all). Of 60 items, 10 are looked at each round, and their rewards are learnt. The other libraries choose one arm
of a few; here each is used as what it has inside, a model of the reward given the scores, and the ten items of which it expects or
hopes most are looked at. One table is printed: shares, (reward - chance) / (best possible - chance), over the first rounds and over
all, with evaluators of equal and of unequal noise, and the processor's time for a round. All meet the same items, so that differences
are known better than shares. A library that cannot be imported is named as such.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.stats

import jurybox as jb

ITEMS, EVALUATORS, K = 60, 10, 10
MARKS = tuple(sorted(map(int, sys.argv[1:]))) or (50, 2000)
RUNS = 5
#: How many standard errors an interval reaches: of so few runs, more than two.
T = float(scipy.stats.t.ppf(0.975, RUNS - 1))


def best(values: np.ndarray) -> np.ndarray:
    return np.argsort(-values, kind="stable")[:K]


class Jurybox:
    def __init__(self, policy: str, seed: int) -> None:
        self.jury = jb.Jury([f"e{j}" for j in range(EVALUATORS)], policy, seed=seed)

    def round(self, scores: np.ndarray) -> np.ndarray:
        self.picks = self.jury.round(scores, K)
        return self.picks.items

    def learn(self, scores: np.ndarray, rewards: np.ndarray) -> None:
        self.jury.learn(self.picks, rewards)


class MabWiser:
    """LinUCB with one arm, whose expectations rank the items."""

    def __init__(self, seed: int) -> None:
        from mabwiser.mab import MAB, LearningPolicy

        self.mab = MAB(arms=["look"], learning_policy=LearningPolicy.LinUCB(alpha=0.3), seed=seed)
        self.begun = False

    def round(self, scores: np.ndarray) -> np.ndarray:
        if not self.begun:
            return np.arange(K)
        return best(np.array([told["look"] for told in self.mab.predict_expectations(scores)]))

    def learn(self, scores: np.ndarray, rewards: np.ndarray) -> None:
        learn = self.mab.partial_fit if self.begun else self.mab.fit
        learn(decisions=["look"] * len(rewards), rewards=rewards, contexts=scores)
        self.begun = True


class VowpalWabbit:
    """Its online regression, of the predictions of which the best are taken."""

    def __init__(self, seed: int) -> None:
        import vowpalwabbit

        self.vw = vowpalwabbit.Workspace(f"--quiet --random_seed {seed}")

    @staticmethod
    def line(row: np.ndarray, reward: float | None = None) -> str:
        features = " ".join(f"e{j}:{x:.6f}" for j, x in enumerate(row))
        return f"{'' if reward is None else reward} |s {features}"

    def round(self, scores: np.ndarray) -> np.ndarray:
        return best(np.array([self.vw.predict(self.line(row)) for row in scores]))

    def learn(self, scores: np.ndarray, rewards: np.ndarray) -> None:
        for row, reward in zip(scores, rewards, strict=True):
            self.vw.learn(self.line(row, reward))


class BayesianBandits:
    """Thompson's draws from its Bayesian linear regression."""

    def __init__(self, seed: int) -> None:
        from bayesianbandits import NormalInverseGammaRegressor

        self.model = NormalInverseGammaRegressor(random_state=seed)
        self.begun = False

    def round(self, scores: np.ndarray) -> np.ndarray:
        return best(np.ravel(self.model.sample(scores))) if self.begun else np.arange(K)

    def learn(self, scores: np.ndarray, rewards: np.ndarray) -> None:
        (self.model.partial_fit if self.begun else self.model.fit)(scores, rewards)
        self.begun = True


class ContextualBandits:
    """Its online linear regression, of the predictions of which the best are taken."""

    def __init__(self, seed: int) -> None:
        from contextualbandits.linreg import LinearRegression

        self.model = LinearRegression(lambda_=1.0)
        self.begun = False

    def round(self, scores: np.ndarray) -> np.ndarray:
        return best(self.model.predict(scores)) if self.begun else np.arange(K)

    def learn(self, scores: np.ndarray, rewards: np.ndarray) -> None:
        self.model.partial_fit(scores, rewards)
        self.begun = True


def desk(rounds: int, equal: bool, seed: int) -> tuple[np.ndarray, np.ndarray]:
    draws = np.random.default_rng(seed)
    rewards = draws.uniform(size=(rounds, ITEMS))
    gains = draws.uniform(0.2, 1.0, size=EVALUATORS)
    noise = np.full(EVALUATORS, 0.3) if equal else draws.uniform(0.05, 1.0, size=EVALUATORS)
    return rewards[..., None] * gains + draws.normal(size=(rounds, ITEMS, EVALUATORS)) * noise, rewards


def play(make: Callable[[int], Any], equal: bool, seed: int) -> tuple[list[float], float]:
    """The share of what could be earned beyond chance up to each mark, and the seconds of a round."""
    scores, rewards = desk(max(MARKS), equal, seed)
    player = make(seed)
    earned = np.empty(max(MARKS))
    begun = time.process_time()
    for at in range(max(MARKS)):
        picks = np.asarray(player.round(scores[at]))
        player.learn(scores[at][picks], rewards[at][picks])
        earned[at] = rewards[at][picks].sum()
    seconds = (time.process_time() - begun) / max(MARKS)
    possible = np.sort(rewards, axis=1)[:, -K:].sum(axis=1)
    chance = K * rewards.mean(axis=1)
    share = [float((earned[:mark] - chance[:mark]).sum() / (possible[:mark] - chance[:mark]).sum()) for mark in MARKS]
    return share, seconds


PLAYERS: dict[str, Callable[[int], Any]] = {
    "jurybox adaptive": lambda seed: Jurybox("adaptive", seed),
    "jurybox lin-ucb": lambda seed: Jurybox("lin-ucb", seed),
    "jurybox esag": lambda seed: Jurybox("esag", seed),
    "jurybox average": lambda seed: Jurybox("average", seed),
    "MABWiser LinUCB": MabWiser,
    "Vowpal Wabbit": VowpalWabbit,
    "bayesianbandits": BayesianBandits,
    "contextualbandits": ContextualBandits,
}


def main() -> None:
    ways = [f"{noise} noise, {mark}" for noise in ("equal", "unequal") for mark in MARKS]
    print(f"{ITEMS} items, {EVALUATORS} evaluators, {K} picks a round; {RUNS} runs of {max(MARKS)} rounds.")
    print("The share of what could be earned; in brackets what is missing to the first line, with the 95% interval of Student's t over runs.\n")
    print(f"| {'':17} | " + " | ".join(f"{way:^24}" for way in ways) + " | us a round |")
    print(f"|{'-' * 19}|" + "|".join("-" * 26 for _ in ways) + "|" + "-" * 12 + "|")
    first: np.ndarray | None = None
    for name, make in PLAYERS.items():
        try:
            found = [[play(make, equal, seed) for seed in range(RUNS)] for equal in (True, False)]
        except ImportError as error:
            print(f"| {name:17} | cannot be imported here: {error} |")
            continue
        shares = np.array([[share for share, _ in runs] for runs in found])  # by noise, run and mark
        first = shares if first is None else first
        short = first - shares
        means, errors = short.mean(axis=1), T * short.std(axis=1, ddof=1) / np.sqrt(RUNS)
        cells = [
            f"{share:.3f}" + (f" ({-mean:+.3f} ± {error:.3f})" if shares is not first else "")
            for share, mean, error in zip(shares.mean(axis=1).ravel(), means.ravel(), errors.ravel(), strict=True)
        ]
        pace = 1e6 * np.median([seconds for runs in found for _, seconds in runs])
        print(f"| {name:17} | " + " | ".join(f"{cell:24}" for cell in cells) + f" | {pace:10.0f} |", flush=True)


if __name__ == "__main__":
    main()
