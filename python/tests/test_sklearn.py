"""The regressor passes scikit-learn's own checks for estimators."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from conftest import made_up
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import jurybox as jb
from jurybox.sklearn import JuryRegressor

#: Checks that are expected to fail, with the reason.
EXPECTED: dict[str, str] = {}


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("policy", ["adaptive", "lin-ucb", "average"])
def test_scikit_learns_own_checks(policy: str) -> None:
    results = check_estimator(JuryRegressor(policy), on_skip=None, on_fail=None, expected_failed_checks=dict(EXPECTED))
    failed = {one["check_name"]: repr(one["exception"]) for one in results if one["status"] == "failed"}
    assert not failed, failed
    # A listed check that passes again must be taken off the list.
    known = {one["check_name"] for one in results if one["status"] == "xfail"}
    assert known == set(EXPECTED) & {one["check_name"] for one in results}


def test_in_pipelines_grids_and_cross_validation() -> None:
    scores, rewards = made_up(400, 4)
    assert cross_val_score(JuryRegressor(), scores, rewards).mean() > 0.6
    grid = GridSearchCV(make_pipeline(StandardScaler(), JuryRegressor()), {"juryregressor__policy": ["average", "adaptive"]}, cv=3)
    with pytest.warns(jb.DataWarning, match="`average` does not learn from rewards"):
        grid.fit(scores, rewards)
    assert grid.best_params_ == {"juryregressor__policy": "adaptive"}
    assert clone(grid.best_estimator_).get_params()["juryregressor__policy"] == "adaptive"


def test_names_of_columns_are_evaluators() -> None:
    scores, rewards = made_up(200, 3)
    frame = pd.DataFrame(scores, columns=["spam", "abuse", "reports"])
    model = JuryRegressor().fit(frame, rewards)
    assert model.jury_.evaluators == ["spam", "abuse", "reports"]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["abuse", "spam", "reports"]])


def test_partial_fit_goes_on_and_pickles() -> None:
    scores, rewards = made_up(300, 3)
    model = JuryRegressor("lin-ucb").partial_fit(scores[:100], rewards[:100]).partial_fit(scores[100:], rewards[100:])
    assert model.jury_.seen["used"] == 300
    jury = jb.Jury(["e1", "e2", "e3"], "lin-ucb")
    jury.learn(scores - model.score_means_, rewards - model.reward_mean_)
    complete = ~np.isnan(scores).any(axis=1)
    expected = (scores - model.score_means_)[complete] @ list(jury.weights().values()) + model.reward_mean_
    np.testing.assert_allclose(model.predict(scores)[complete], expected, rtol=1e-9)
    # Less than the value it ranks by, which has a bonus.
    assert np.all(expected < jury.values((scores - model.score_means_)[complete]) + model.reward_mean_)
    twin = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(twin.predict(scores), model.predict(scores))
    with pytest.raises(ValueError):
        model.partial_fit(scores, np.full(300, np.nan))


def test_policies_that_do_not_learn_from_rows_are_refused_or_named() -> None:
    scores, rewards = made_up(60, 3)
    for policy in ("eps-greedy(eps=0.1)", "glm-eps-greedy", "exp4p"):
        with pytest.raises(jb.Error, match=f"`{policy.partition('(')[0]}` learns only from its own picks"):
            JuryRegressor(policy).fit(scores, rewards)
    for policy in ("average", "esag", "rand", "uniform"):
        with pytest.warns(jb.DataWarning, match=f"`{policy}` does not learn from rewards"):
            JuryRegressor(policy).fit(scores, rewards)


def test_rewards_and_scores_far_from_zero_are_no_matter() -> None:
    scores, rewards = made_up(600, 3, missing=0.0)
    near, far = (
        {policy: cross_val_score(JuryRegressor(policy), scores + by, 1000.0 * np.any(by) + rewards).mean() for policy in ("adaptive", "lin-ucb")}
        for by in (np.zeros(3), np.array([50.0, -20.0, 3.0]))
    )
    assert min(*near.values(), *far.values()) > 0.9
    assert abs(far["lin-ucb"] - near["lin-ucb"]) < 1e-6
    # As well as scikit-learn's own model.
    ridge = cross_val_score(Ridge(alpha=1 / 3), scores, rewards).mean()
    assert abs(near["lin-ucb"] - ridge) < 1e-6


def test_what_adaptive_predicts_is_the_middle_of_its_intervals() -> None:
    scores, rewards = made_up(400, 3)
    for rows in (5, 400):
        model = JuryRegressor().fit(scores[:rows], rewards[:rows])
        np.testing.assert_allclose(model.predict(scores), model.jury_.predict(scores)[0], rtol=1e-9, atol=1e-12)
