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

from copy import copy
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ._core import Jury
from ._errors import Error

__all__ = ["JuryRegressor"]


class JuryRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Predicts what an item is worth from the scores of its evaluators; missing scores (NaN) are missing, not imputed.

    ``fit`` shows all rows to a new jury and teaches it their rewards; ``partial_fit`` goes on with the one there is. Policies that
    predict rewards (``adaptive``) predict them, others give the values that they rank by, which order items but have a scale of
    their own.

    Parameters
    ----------
    policy : the policy and its options, such as ``"adaptive"`` or ``"lin-ucb(lambda=0.5)"``; see `jurybox.policies`

    Attributes
    ----------
    jury_ : the `jurybox.Jury`, with weights, intervals and alarms
    n_features_in_, feature_names_in_ : as in scikit-learn
    """

    n_features_in_: int
    jury_: Jury

    def __init__(self, policy: str = "adaptive") -> None:
        self.policy = policy

    def fit(self, X: Any, y: Any) -> JuryRegressor:
        """Learns from scores `X`, one row per item, and rewards `y`."""
        scores, rewards = self._checked(X, y, reset=True)
        return self._taught(scores, rewards, self._new())

    def partial_fit(self, X: Any, y: Any) -> JuryRegressor:
        """Goes on learning: rows that come later, each once."""
        first = not hasattr(self, "jury_")
        scores, rewards = self._checked(X, y, reset=first)
        # On a copy: a batch is learnt whole or not at all.
        return self._taught(scores, rewards, self._new() if first else copy(self.jury_))

    def predict(self, X: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
        """What each item is expected to be worth; NaN where the policy predicts none and there is not a single score to go by."""
        check_is_fitted(self)
        scores = validate_data(self, X, reset=False, ensure_all_finite="allow-nan", dtype=np.float64)
        fitted = self.jury_.fit()
        try:
            return fitted.predict(scores)[0]
        except Error as error:
            if error.code != "unsupported":
                raise
            values = fitted.values(scores)
            return np.where(np.isfinite(values), values, np.nan)

    def _checked(self, X: Any, y: Any, *, reset: bool) -> Any:
        return validate_data(self, X, y, reset=reset, ensure_all_finite="allow-nan", dtype=np.float64, y_numeric=True)

    def _new(self) -> Jury:
        names = getattr(self, "feature_names_in_", None)
        return Jury(list(names) if names is not None else [f"e{j + 1}" for j in range(self.n_features_in_)], self.policy)

    def _taught(self, scores: Any, rewards: Any, jury: Jury) -> JuryRegressor:
        at = jury.seen["latest"]
        at = 0 if at is None else at + 1
        jury.observe(scores, at=at)
        jury.learn(scores, np.asarray(rewards, dtype=np.float64), at=at)
        self.jury_ = jury
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        # The values of other policies order items, on a scale of their own.
        tags.regressor_tags.poor_score = self.policy.partition("(")[0] not in ("adaptive", "lin-ucb")
        return tags
