"""Compares Jurybox's off-policy estimates with those of the Open Bandit Pipeline (OBP).

    pip install -r requirements.txt && pip install --no-deps obp==0.4.1
    python compare_obp.py [path to the jurybox command]

Simulates logs, runs `jurybox replay --probability` on them with an export of every row (`--picks`),
computes the estimates again from the export, and fails if two differ by more than 1e-6.

With one pick a round the definitions are the same, and OBP's own classes are used:
InverseProbabilityWeighting, SelfNormalizedInverseProbabilityWeighting, DoublyRobust and
SelfNormalizedDoublyRobust. OBP has no estimator for several picks a round, and none with clipping at
this version; these are computed with numpy from their definitions, as are all of them if OBP is not
installed.
"""

import csv
import json
import random
import subprocess
import sys
import tempfile
import types
from pathlib import Path

import numpy as np

TOLERANCE = 1e-6


class StandIn(types.ModuleType):
    """A module in which every name is an empty class."""

    __path__ = []

    def __getattr__(self, name):
        return sys.modules.get(f"{self.__name__}.{name}") or type(name, (), {})


def obp_estimators():
    """OBP's estimators, or None. Its import of torch, which is not needed here, gets a stand-in."""
    try:
        import torch  # noqa: F401
    except ImportError:
        for name in ("torch", "torch.nn", "torch.nn.functional", "torch.optim", "torch.utils", "torch.utils.data"):
            sys.modules[name] = StandIn(name)
    try:
        from obp.ope import estimators
    except ImportError as error:
        print(f"OBP is not installed ({error}): estimates are compared with numpy alone")
        return None
    return estimators


def write_log(path, seed, rounds, items, k, eps):
    """Writes rounds ranked by a mediocre score, each explored with probability eps."""
    rng = random.Random(seed)
    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["round", "a", "b", "verdict", "p"])
        for t in range(rounds):
            worth = [rng.gauss(0, 1) for _ in range(items)]
            a = [0.4 * w + rng.gauss(0, 0.9) for w in worth]
            b = [w + rng.gauss(0, 0.7) for w in worth]
            top = set(sorted(range(items), key=lambda i: -a[i])[:k])
            picked = set(rng.sample(range(items), k)) if rng.random() < eps else top
            for i in range(items):
                p = (1 - eps) * (i in top) + eps * k / items
                out.writerow([t, a[i], b[i], *([worth[i], p] if i in picked else ["", ""])])


def read_export(path):
    """For each policy, rounds of rows (probability, logged, reward, expected); NaN if empty."""
    policies = {}
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            cells = [float(row[c]) if row[c] else np.nan for c in ("probability", "logged", "reward", "expected")]
            policies.setdefault(row["policy"], {}).setdefault(int(row["round"]), []).append(cells)
    return {name: [np.array(rows) for rows in rounds.values()] for name, rounds in policies.items()}


def by_numpy(rounds):
    """The estimates, computed from their definitions."""
    pi, logged, reward, expected = np.concatenate(rounds).T
    seen = ~np.isnan(reward)
    weight, residual = pi[seen] / logged[seen], reward[seen] - expected[seen]
    picks, model = pi.sum(), (pi * expected).sum()
    cut = np.minimum(weight, max(1.0, picks / np.sqrt(seen.sum())))
    return {
        "inverse_propensity": (weight * reward[seen]).sum() / picks,
        "self_normalised": (weight * reward[seen]).sum() / weight.sum(),
        "doubly_robust": (model + (weight * residual).sum()) / picks,
        "self_normalised_doubly_robust": model / picks + (weight * residual).sum() / weight.sum(),
        "clipped": (model + (cut * residual).sum()) / picks,
    }


def by_obp(obp, rounds):
    """The estimates by OBP, for rounds of equal size with one pick each."""
    table = np.stack(rounds)
    seen = ~np.isnan(table[:, :, 2])
    action = seen.argmax(axis=1)
    at = np.arange(len(table))
    feedback = {
        "reward": table[at, action, 2],
        "action": action,
        "pscore": table[at, action, 1],
        "action_dist": table[:, :, 0][:, :, None],
        "position": np.zeros(len(table), dtype=int),
    }
    model = {"estimated_rewards_by_reg_model": table[:, :, 3][:, :, None]}
    return {
        "inverse_propensity": obp.InverseProbabilityWeighting().estimate_policy_value(**feedback),
        "self_normalised": obp.SelfNormalizedInverseProbabilityWeighting().estimate_policy_value(**feedback),
        "doubly_robust": obp.DoublyRobust().estimate_policy_value(**feedback, **model),
        "self_normalised_doubly_robust": obp.SelfNormalizedDoublyRobust().estimate_policy_value(**feedback, **model),
    }


def main():
    command = sys.argv[1] if len(sys.argv) > 1 else "jurybox"
    obp = obp_estimators()
    worst, compared = 0.0, {"OBP": 0, "numpy": 0}
    with tempfile.TemporaryDirectory() as folder:
        for seed, (rounds, items, k, eps) in enumerate([(500, 10, 1, 0.5), (500, 10, 1, 1.0), (200, 20, 5, 0.5)]):
            log, export = Path(folder) / "log.csv", Path(folder) / "export.csv"
            write_log(log, seed, rounds, items, k, eps)
            asked = ["--reward", "verdict", "--probability", "p", "--round", "round", "-k", str(k)]
            asked += ["--policies", "adaptive,lin-ucb,exp4p", "--picks", str(export), "--json"]
            done = subprocess.run([command, "replay", str(log), *asked], check=True, stdout=subprocess.PIPE)
            document = json.loads(done.stdout)
            policies = read_export(export)
            for line in document["policies"] + document["references"]:
                if line["estimates"] is None:
                    continue
                others = [("numpy", by_numpy(policies[line["name"]]))]
                if obp is not None and k == 1:
                    others.append(("OBP", by_obp(obp, policies[line["name"]])))
                for source, values in others:
                    for name, value in values.items():
                        ours = line["estimates"][name]["mean"]
                        worst, compared[source] = max(worst, abs(ours - value)), compared[source] + 1
                        if not abs(ours - value) <= TOLERANCE:
                            sys.exit(f"{line['name']}, {name}: jurybox {ours}, {source} {value}")
    print(f"compared {compared['OBP']} estimates with OBP and {compared['numpy']} with numpy; "
          f"the greatest difference is {worst:.1e}")


if __name__ == "__main__":
    main()
