"""Smoke test without pandas, polars, pyarrow and scikit-learn."""

import importlib.util
import json
import pickle
import tempfile
from pathlib import Path

import numpy as np

import jurybox as jb

for absent in ("pandas", "polars", "pyarrow", "sklearn", "ray", "duckdb"):
    assert importlib.util.find_spec(absent) is None, f"{absent} is here: this is no clean environment"

jury = jb.Jury(["toxicity", "spam"], seed=7)
draws = np.random.default_rng(0)
for _ in range(20):
    scores = draws.uniform(size=(40, 2))
    picks = jury.round(scores, k=5)
    jury.learn(jb.Picks.from_dicts(json.loads(json.dumps(picks.to_dicts()))), picks.scores[:, 0])
assert jury.weights()["toxicity"] > jury.weights()["spam"]
assert pickle.loads(pickle.dumps(jury)).round(scores, 5) == jury.round(scores, 5)
assert "Jury" in jury._repr_html_()

with tempfile.TemporaryDirectory() as folder:
    posts = Path(folder) / "posts.csv"
    lines = (f"p{row},{a:.4f},{b:.4f},{a:.2f}" for row, (a, b) in enumerate(draws.uniform(size=(500, 2))))
    posts.write_text("post,toxicity,spam,verdict\n" + "\n".join(lines) + "\n")
    learnt = jb.learn(posts, reward="verdict", state=Path(folder) / "state.json")
    rows = jb.rank(posts, k=5, state=learnt)
    assert rows.columns == ["rank", "score", "post", "toxicity", "spam", "verdict"] and len(rows) == 5
    assert rows.to_dicts() == jb.rank(str(posts), k=5, state=Path(folder) / "state.json").to_dicts()
    # `Rows` can stream Arrow without another library.
    assert jb.rank(rows, k=2, evaluators=["toxicity", "spam"])["post"]
    assert jb.report(posts, reward="verdict").evaluators[0]["name"] == "toxicity"
    assert jb.replay(posts, reward="verdict", items=50, k=5, runs=2, policies=["average"]).policies[0]["name"] == "average"
try:
    jb.rank(object())
except jb.Error as error:
    assert error.code == "source"
print("works without pandas and pyarrow")
