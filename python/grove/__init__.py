"""Grove trains one model over agents that keep their data: estimators and records for Python.

The estimators follow scikit-learn's conventions. `run` and `compare` take every option of
`grove train` by name, with underscores in place of dashes, and return records. `fit` fits
generalized linear models to frames of several sites. `Network` starts peers on this machine.
"""
from ._core import AgentContext, Error
from ._estimators import (
    GammaRegressor,
    HuberRegressor,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
)
from ._fit import FitResult, fit
from ._network import Network
from ._parts import Agent, Loss, Regularizer
from ._record import Comparison, Record, compare, run

__all__ = [
    "Agent",
    "AgentContext",
    "Comparison",
    "Error",
    "FitResult",
    "GammaRegressor",
    "HuberRegressor",
    "LinearRegression",
    "LogisticRegression",
    "Loss",
    "Network",
    "PoissonRegressor",
    "Record",
    "Regularizer",
    "compare",
    "fit",
    "run",
]
