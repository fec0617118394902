"""scikit-learn: a jury as a regressor, for pipelines, cross-validation and grids.

>>> from sklearn.model_selection import cross_val_score
>>> from jurybox.sklearn import JuryRegressor
>>> import numpy as np
>>> scores = np.random.default_rng(0).normal(size=(300, 3))
>>> rewards = scores @ [1.0, 0.5, 0.0]
>>> float(cross_val_score(JuryRegressor(), scores, rewards).mean()) > 0.9
True
"""

from __future__ import annotations

import warnings
from copy import copy
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ._core import Jury
from ._errors import DataWarning, Error
from .policies import table

__all__ = ["JuryRegressor"]

Doubles = np.ndarray[Any, np.dtype[np.float64]]

#: Policies without an intercept, which are shown centred rewards and scores.
WITHOUT_INTERCEPT = ("lin-ucb",)


class JuryRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Predicts the reward of items from their evaluators' scores; missing scores (NaN) stay
    missing.

    ``fit`` trains a new jury on all rows; ``partial_fit`` continues with the existing one. With
    ``adaptive`` and ``lin-ucb``, predictions are expected rewards. Other policies predict the
    values that they rank by, on their own scale. A policy that does not learn from rewards causes a
    `jurybox.DataWarning`; one that learns only from its own picks is an error.

    ``lin-ucb`` has no intercept, so it gets scores and rewards minus their means over the first
    rows. It ranks by the upper end of an interval; that exploration bonus is not part of
    predictions.

    Parameters
    ----------
    policy : the policy and its options, such as ``"adaptive"`` or ``"lin-ucb(lambda=0.5)"``; see
        `jurybox.policies`

    Attributes
    ----------
    jury_ : the `jurybox.Jury`, with weights, intervals and alarms
    score_means_, reward_mean_ : subtracted from scores and rewards; 0 except for ``lin-ucb``
    n_features_in_, feature_names_in_ : as in scikit-learn
    """

    n_features_in_: int
    jury_: Jury
    score_means_: Doubles
    reward_mean_: float

    def __init__(self, policy: str = "adaptive") -> None:
        self.policy = policy

    def fit(self, X: Any, y: Any) -> JuryRegressor:
        """Learns from scores `X`, one row per item, and rewards `y`."""
        scores, rewards = self._checked(X, y, reset=True)
        jury = self._new()
        self._centre(scores, rewards)
        return self._learnt_from(scores, rewards, jury)

    def partial_fit(self, X: Any, y: Any) -> JuryRegressor:
        """Continues learning with further rows."""
        if not hasattr(self, "jury_"):
            return self.fit(X, y)
        scores, rewards = self._checked(X, y, reset=False)
        # On a copy, so that a batch is learnt completely or not at all.
        return self._learnt_from(scores, rewards, copy(self.jury_))

    def predict(self, X: Any) -> Doubles:
        """The expected reward of each item; NaN for items without any score."""
        check_is_fitted(self)
        scores: Any = validate_data(self, X, reset=False, ensure_all_finite="allow-nan", dtype=np.float64)
        scores = scores - self.score_means_
        values = self.jury_.values(scores)
        known = np.isfinite(values)
        if self._name in WITHOUT_INTERCEPT:
            values = self.jury_.contributions(scores)[1].sum(axis=1)  # the value without its base, which is the exploration bonus
        return np.where(known, values + self.reward_mean_, np.nan)

    def _checked(self, X: Any, y: Any, *, reset: bool) -> Any:
        return validate_data(self, X, y, reset=reset, ensure_all_finite="allow-nan", dtype=np.float64, y_numeric=True)

    @property
    def _name(self) -> str:
        return self.policy.partition("(")[0]

    def _new(self) -> Jury:
        names = getattr(self, "feature_names_in_", None)
        jury = Jury(list(names) if names is not None else [f"e{j + 1}" for j in range(self.n_features_in_)], self.policy)
        needs = next(entry["needs"] for entry in table() if entry["name"] == self._name)
        if needs != "nothing":
            raise Error(f"`{self._name}` learns only from its own picks, not from rows", code="policy", value=self._name)
        return jury

    def _centre(self, scores: Doubles, rewards: Doubles) -> None:
        self.score_means_, self.reward_mean_ = np.zeros(scores.shape[1]), 0.0
        if self._name in WITHOUT_INTERCEPT:
            there = np.isfinite(scores)
            sums = np.where(there, scores, 0.0).sum(axis=0)
            self.score_means_ = sums / np.maximum(there.sum(axis=0), 1)
            self.reward_mean_ = float(np.mean(rewards))

    def _learnt_from(self, scores: Doubles, rewards: Doubles, jury: Jury) -> JuryRegressor:
        at = jury.seen["latest"]
        at = 0 if at is None else at + 1
        scores = scores - self.score_means_
        jury.observe(scores, at=at)
        learnt = jury.learn(scores, np.asarray(rewards, dtype=np.float64) - self.reward_mean_, at=at)
        self.jury_ = jury
        if learnt.used == 0:
            message = f"`{self._name}` does not learn from rewards: it predicts the values that it ranks by, on their own scale"
            warnings.warn(message, DataWarning, stacklevel=3)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        # Other policies predict values on their own scale.
        tags.regressor_tags.poor_score = self._name not in ("adaptive", "lin-ucb")
        return tags
