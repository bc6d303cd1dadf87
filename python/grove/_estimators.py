"""Estimators with scikit-learn's conventions. Each fit is one run of the library."""
from __future__ import annotations

import warnings
from numbers import Real
from typing import Any, Mapping, Optional, TypeVar, Union

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state, compute_class_weight
from sklearn.utils.extmath import safe_sparse_dot, softmax
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from . import _core
from ._options import make_problem, texts_and_parts

Numbers = NDArray[np.float64]
Own = TypeVar("Own", bound="_LinearEstimator")

_default_agents = 10
_largest_seed = 2**31 - 1


def _tolerance(tol: float) -> float:
    """The library's tolerance for scikit-learn's `tol`: the one place that relates the two.

    The library certifies a relative gap of the objective, which falls as the square of a gradient.
    """
    return max(tol * tol, 1e-18) if tol > 0 else 0.0  # rounding leaves gaps of about 1e-20


class _LinearEstimator(BaseEstimator):
    """What all estimators share: validation, the run, and what is kept of it."""

    def _validated(self, X: Any, y: Any, **checks: Any) -> Any:
        return self._validate_data(
            X, y, accept_sparse="csr", accept_large_sparse=False, dtype=np.float64, order="C",
            **checks)

    def _weights(self, X: Any, sample_weight: Any) -> Optional[Numbers]:
        if sample_weight is None:
            return None
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
        if (weights < 0).any():
            raise ValueError("Negative values in data passed to sample_weight")
        return weights

    def _shares(self) -> tuple[float, float]:
        """l1 and l2 shares of the penalty."""
        if self.penalty in (None, "none"):
            return 0.0, 0.0
        if self.penalty == "elasticnet":
            if not (isinstance(self.l1_ratio, Real) and 0 <= float(self.l1_ratio) <= 1):
                raise ValueError(f"l1_ratio must be between 0 and 1, found {self.l1_ratio!r}")
            return float(self.l1_ratio), 1.0 - float(self.l1_ratio)
        if self.penalty in ("l1", "l2"):
            return (1.0, 0.0) if self.penalty == "l1" else (0.0, 1.0)
        raise ValueError(f"penalty must be l1, l2, elasticnet or None, found {self.penalty!r}")

    def _seed(self) -> int:
        if self.random_state is None:
            return 1
        if isinstance(self.random_state, (int, np.integer)):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(_largest_seed))

    def _threads(self) -> int:
        return 0 if self.n_jobs is None or self.n_jobs < 0 else self.n_jobs

    def _options(self, samples: int) -> dict[str, Any]:
        agents = self.agents
        if agents is None and isinstance(self.graph, str):  # other graphs have their own number
            agents = min(_default_agents, samples)
        return {
            "agents": agents,
            "graph": self.graph,
            "method": self.method,
            "tolerance": _tolerance(self.tol),
            "rounds": self.max_iter,
            "seed": self._seed(),
            "threads": self._threads(),
            "intercept": self.fit_intercept,
            "weighting": "sample",
            "no_reference": True,
        }

    def _run(self, problem: _core.Problem, start: Optional[Numbers],
             options: dict[str, Any]) -> Numbers:
        record = _core.run(problem, *texts_and_parts(options), start, None, False)
        if record.status == "diverged":
            raise _core.Error(record.detail)
        if record.status == "round_limit":
            warnings.warn(f"{record.detail}; increase max_iter or tol", ConvergenceWarning,
                          stacklevel=4)
        self.n_iter_ = max(int(record.rounds), 1)
        self.objective_ = record.objective
        return np.array(record.solution)

    def _linear_predictor(self, X: Any) -> Numbers:
        check_is_fitted(self)
        X = self._validate_data(X, accept_sparse="csr", reset=False)
        return safe_sparse_dot(X, self.coef_.T, dense_output=True) + self.intercept_


class _Regressor(RegressorMixin, _LinearEstimator):
    """Minimizes the mean loss + alpha (l1_ratio |w|_1 + (1 - l1_ratio)/2 |w|^2)."""

    def _loss(self) -> str:
        raise NotImplementedError

    def _check_targets(self, y: Numbers) -> None:
        pass

    def fit(self: Own, X: Any, y: Any, sample_weight: Any = None) -> Own:
        """Fits to a numpy array or CSR matrix; float64 in C order is not copied."""
        if not (isinstance(self.alpha, Real) and float(self.alpha) >= 0):
            raise ValueError(f"alpha must be a number of at least 0, found {self.alpha!r}")
        X, y = self._validated(X, y, y_numeric=True)
        self._check_targets(y)
        l1, l2 = self._shares()
        problem = make_problem(X, y, self._weights(X, sample_weight))
        start = None
        if self.warm_start and hasattr(self, "coef_"):
            start = np.append(self.coef_, self.intercept_) if self.fit_intercept else self.coef_
        options = {**self._options(X.shape[0]), "loss": self._loss(),
                   "l1": self.alpha * l1, "l2": self.alpha * l2}
        solution = self._run(problem, start, options)
        self.coef_ = solution[: X.shape[1]]
        self.intercept_ = float(solution[-1]) if self.fit_intercept else 0.0
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """The mean response."""
        return self._linear_predictor(X)


class LinearRegression(_Regressor):
    """Least squares; lasso, ridge or elastic net with a penalty.

    Minimizes |y - Xw|^2 / (2n) + alpha (l1_ratio |w|_1 + (1 - l1_ratio)/2 |w|^2) as scikit-learn's
    ElasticNet does. penalty: None, "l1", "l2" or "elasticnet". scikit-learn's Ridge has n alpha.
    agents: None is 10, or fewer where there are fewer samples. n_jobs: None is all cores.
    """

    def __init__(self, penalty: Optional[str] = None, *, alpha: float = 1.0, l1_ratio: float = 0.5,
                 fit_intercept: bool = True, tol: float = 1e-10, max_iter: int = 1000,
                 warm_start: bool = False, random_state: Any = None, n_jobs: Optional[int] = None,
                 agents: Optional[int] = None, graph: Any = "erdos-renyi:0.3",
                 method: Any = "auto") -> None:
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.agents = agents
        self.graph = graph
        self.method = method

    def _loss(self) -> str:
        return "squared"


class _LogLinkRegressor(_Regressor):
    def __init__(self, *, alpha: float = 1.0, penalty: Optional[str] = "l2", l1_ratio: float = 0.5,
                 fit_intercept: bool = True, tol: float = 1e-10, max_iter: int = 1000,
                 warm_start: bool = False, random_state: Any = None, n_jobs: Optional[int] = None,
                 agents: Optional[int] = None, graph: Any = "erdos-renyi:0.3",
                 method: Any = "auto") -> None:
        self.alpha = alpha
        self.penalty = penalty
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.agents = agents
        self.graph = graph
        self.method = method

    def predict(self, X: Any) -> NDArray[Any]:
        """The mean response: the exponential of the linear predictor."""
        return np.exp(self._linear_predictor(X))


class PoissonRegressor(_LogLinkRegressor):
    """Counts with mean exp(Xw), as scikit-learn's PoissonRegressor: half the mean deviance plus
    alpha/2 |w|^2."""

    def _loss(self) -> str:
        return "poisson"

    def _check_targets(self, y: Numbers) -> None:
        if (y < 0).any():
            raise ValueError("Some value(s) of y are out of the valid range of the loss: "
                             "expected numbers of at least 0")

    def _more_tags(self) -> dict[str, bool]:
        return {"requires_positive_y": True}


class GammaRegressor(_LogLinkRegressor):
    """Positive responses with mean exp(Xw), as scikit-learn's GammaRegressor."""

    def _loss(self) -> str:
        return "gamma"

    def _check_targets(self, y: Numbers) -> None:
        if (y <= 0).any():
            raise ValueError("Some value(s) of y are out of the valid range of the loss: "
                             "expected numbers above 0")

    def _more_tags(self) -> dict[str, bool]:
        return {"requires_positive_y": True}


class HuberRegressor(_Regressor):
    """Quadratic for residuals up to epsilon, linear beyond.

    epsilon is in the units of y: scikit-learn's HuberRegressor multiplies it with a scale that it
    estimates. Minimizes the mean loss + alpha/2 |w|^2.
    """

    def __init__(self, *, epsilon: float = 1.35, alpha: float = 0.0001,
                 penalty: Optional[str] = "l2", l1_ratio: float = 0.5, fit_intercept: bool = True,
                 tol: float = 1e-10, max_iter: int = 1000, warm_start: bool = False,
                 random_state: Any = None, n_jobs: Optional[int] = None,
                 agents: Optional[int] = None, graph: Any = "erdos-renyi:0.3",
                 method: Any = "auto") -> None:
        self.epsilon = epsilon
        self.alpha = alpha
        self.penalty = penalty
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.agents = agents
        self.graph = graph
        self.method = method

    def _loss(self) -> str:
        return f"huber:{float(self.epsilon)!r}"


class LogisticRegression(ClassifierMixin, _LinearEstimator):
    """Logistic regression; with more than two classes the multinomial model.

    Minimizes C sum_i loss_i + l1_ratio |w|_1 + (1 - l1_ratio)/2 |w|^2, as scikit-learn does.
    penalty: "l2", "l1", "elasticnet" or None. agents: None is 10, or fewer where there are fewer
    samples. n_jobs: None is all cores.
    """

    def __init__(self, penalty: Optional[str] = "l2", *, C: float = 1.0, l1_ratio: float = 0.5,
                 fit_intercept: bool = True,
                 class_weight: Union[None, str, Mapping[Any, float]] = None, tol: float = 1e-10,
                 max_iter: int = 1000, warm_start: bool = False, random_state: Any = None,
                 n_jobs: Optional[int] = None, agents: Optional[int] = None,
                 graph: Any = "erdos-renyi:0.3", method: Any = "auto") -> None:
        self.penalty = penalty
        self.C = C
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.agents = agents
        self.graph = graph
        self.method = method

    def fit(self: Own, X: Any, y: Any, sample_weight: Any = None) -> Own:
        """Fits to a numpy array or CSR matrix; float64 in C order is not copied."""
        if not (isinstance(self.C, Real) and float(self.C) > 0):
            raise ValueError(f"C must be a number above 0, found {self.C!r}")
        X, y = self._validated(X, y)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError("This solver needs samples of at least 2 classes in the data, but the "
                             f"data contains only one class: {self.classes_[0]!r}")
        weights = self._weights(X, sample_weight)
        if self.class_weight is not None:
            by_class = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
            weights = by_class[codes] * (1.0 if weights is None else weights)
        total = X.shape[0] if weights is None else weights.sum()
        l1, l2 = self._shares()
        count = len(self.classes_)
        options = {**self._options(X.shape[0]), "l1": l1 / (self.C * total),
                   "l2": l2 / (self.C * total)}
        problem = make_problem(X, codes, weights, classes=count if count > 2 else 0)
        solution = self._run(problem, self._start(X.shape[1], count), options)
        self._keep(solution, X.shape[1], count)
        return self

    def _start(self, features: int, count: int) -> Optional[Numbers]:
        rows = 1 if count == 2 else count
        if not (self.warm_start and hasattr(self, "coef_")
                and self.coef_.shape == (rows, features)):
            return None
        if not self.fit_intercept:
            return self.coef_.ravel()
        free = self.intercept_ if count == 2 else self.intercept_[1:] - self.intercept_[0]
        return np.append(self.coef_.ravel(), free)

    def _keep(self, solution: Numbers, features: int, count: int) -> None:
        rows = 1 if count == 2 else count
        self.coef_ = solution[: rows * features].reshape(rows, features)
        self.intercept_ = np.zeros(rows)
        if self.fit_intercept:
            free = solution[rows * features:]
            if count == 2:
                self.intercept_ = free
            else:  # any common shift gives the same model: the one with sum zero is kept
                self.intercept_[1:] = free
                self.intercept_ -= self.intercept_.mean()

    def decision_function(self, X: Any) -> Numbers:
        """Margins: one per sample for two classes, otherwise one per class."""
        scores = self._linear_predictor(X)
        return scores.ravel() if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class."""
        scores = self.decision_function(X)
        best = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[best]

    def predict_proba(self, X: Any) -> Numbers:
        """The probabilities of the classes, in the order of `classes_`."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            scores = np.column_stack([np.zeros_like(scores), scores])
        return softmax(scores, copy=False)

    def predict_log_proba(self, X: Any) -> Numbers:
        """The logarithms of the probabilities."""
        return np.log(self.predict_proba(X))
