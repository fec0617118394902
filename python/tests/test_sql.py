"""Values in SQL equal the library's on complete rows, and are NULL if a score is missing; other
policies are refused."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest
from conftest import made_up, specs

import jurybox as jb

NAMES = ["spam", 'ab"use', "Reports 3"]


def taught(policy: str, **options: object) -> jb.Jury:
    scores, rewards = made_up(400, 3, missing=0.0)
    scores = np.clip(scores, -0.05, 1.05)
    jury = jb.Jury(NAMES, policy, **options)
    jury.observe(scores, at=0)
    jury.learn(scores, rewards, at=0)
    return jury


#: Policies that are not a weighted sum, or have a link that databases lack.
NONE = ("adaptive", "lin-ucb", "glm-lin-ucb", "exp4p", "rand")


@pytest.mark.parametrize("policy", specs())
@pytest.mark.parametrize("invert", [[], ["spam"]], ids=["upright", "turned"])
def test_duckdb_gives_the_same_values(policy: str, invert: list[str]) -> None:
    fitted = taught(policy, invert=invert).fit()
    if policy.partition("(")[0] in NONE:
        with pytest.raises(jb.Error, match=f"`{policy.partition('(')[0]}` has no form in SQL"):
            fitted.to_sql("duckdb")
        return
    scores = np.clip(made_up(500, 3, seed=9, missing=0.0)[0], -0.05, 1.05)
    posts = pl.DataFrame(scores, schema=NAMES)
    found = duckdb.sql(f"select {fitted.to_sql('duckdb')} as value from posts").fetchnumpy()["value"]
    np.testing.assert_allclose(found, fitted.values(scores), rtol=1e-9, atol=1e-12)
    holes = posts.with_columns(pl.lit(None, dtype=pl.Float64).alias("spam"))
    assert duckdb.sql(f"select count({fitted.to_sql('duckdb')}) from holes").fetchall() == [(0,)]
    nans = posts.with_columns(pl.lit(float("nan")).alias("spam"))
    assert duckdb.sql(f"select count({fitted.to_sql('duckdb')}) from nans").fetchall() == [(0,)]


@pytest.mark.parametrize(
    ("dialect", "names"), [("duckdb", ["Spam", "spam"]), ("postgresql", ["x" * 63 + "a", "x" * 63 + "b"])]
)
def test_names_that_a_database_takes_for_one_are_refused(dialect: str, names: list[str]) -> None:
    fitted = jb.Jury(names, "average").fit()
    with pytest.raises(jb.Error, match="are the same column in SQL"):
        fitted.to_sql(dialect)
    fitted.to_sql("duckdb" if dialect == "postgresql" else "postgresql")


def test_probit_and_strange_dialects_are_refused() -> None:
    with pytest.raises(jb.Error, match="`glm-esag` has no form in SQL: .*normal"):
        taught("glm-esag", link="probit").fit().to_sql("duckdb")
    with pytest.raises(jb.Error, match="unknown dialect 'oracle'"):
        taught("average").fit().to_sql("oracle")


def find(name: str) -> str:
    """The path of a PostgreSQL program, which Debian does not put on the PATH."""
    places = [shutil.which(name), *map(str, sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), reverse=True))]
    for place in places:
        if place and Path(place).exists():
            return place
    pytest.fail(f"there is no {name}: install PostgreSQL (Debian: apt-get install postgresql)")


@contextmanager
def postgres() -> Iterator[Path]:
    """A PostgreSQL server in its own folder, reached through a socket."""
    with tempfile.TemporaryDirectory() as folder:
        data, user = Path(folder) / "data", []
        if Path("/proc/self").owner() == "root":  # the server refuses to run as root
            shutil.chown(folder, "nobody")
            user = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]
        quiet = {"check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
        subprocess.run([*user, find("initdb"), "-D", data, "-U", "tester", "-A", "trust"], **quiet)
        options = f"-k {folder} -c listen_addresses='' -c fsync=off"
        control = [*user, find("pg_ctl"), "-D", data, "-w"]
        subprocess.run([*control, "-o", options, "-l", str(Path(folder) / "log"), "start"], **quiet)
        try:
            yield Path(folder)
        finally:
            subprocess.run([*control, "-m", "immediate", "stop"], **quiet)


def test_postgresql_gives_the_same_values(tmp_path) -> None:
    scores = np.clip(made_up(200, 3, seed=9, missing=0.0)[0], -0.05, 1.05)
    values = ", ".join(f"({at}, {', '.join(repr(float(x)) for x in row)})" for at, row in enumerate(scores))
    names = ", ".join('"' + name.replace('"', '""') + '" double precision' for name in NAMES)
    fits = [taught(policy, invert=["spam"]).fit() for policy in ("esag", "glm-esag", "average", "eps-greedy")]
    with postgres() as socket:
        asked = f"create table posts (at int, {names}); insert into posts values {values};"
        for fitted in fits:
            asked += f"select {fitted.to_sql('postgresql')} from posts order by at;"
        asked += f"insert into posts values (999); select count({fits[1].to_sql('postgresql')}) from posts;"
        # As documented: the item without scores, which PostgreSQL would put first, is not among the
        # best.
        best = fits[0].to_sql("postgresql")
        asked += f"select at from posts order by {best} desc limit 1; select at from posts order by {best} desc nulls last limit 5;"
        done = subprocess.run(
            [find("psql"), "-h", str(socket), "-U", "tester", "-d", "postgres", "-qAt", "-v", "ON_ERROR_STOP=1", "-f", "-"],
            input=asked, capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    *found, complete = done.stdout.split()[:-6]
    first, *best = map(int, done.stdout.split()[-6:])
    assert int(complete) == len(scores)
    assert first == 999 and best == np.argsort(-fits[0].values(scores))[:5].tolist()
    for at, fitted in enumerate(fits):
        mine = np.array(found[at * len(scores) : (at + 1) * len(scores)], dtype=float)
        np.testing.assert_allclose(mine, fitted.values(scores), rtol=1e-9, atol=1e-12)
