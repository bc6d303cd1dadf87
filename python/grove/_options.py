"""Arrays, options and parts of one's own as the library takes them."""
from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from . import _core
from ._parts import part_of

_kinds_of_parts = ("method", "loss", "regularizer", "graph")


def texts_and_parts(options: dict[str, Any]) -> tuple[dict[str, str], dict[str, Any]]:
    """Options by the names of the command line as texts, and those that are objects.

    Options that are None are left at their defaults.
    """
    texts: dict[str, str] = {}
    parts: dict[str, Any] = {}
    for name, value in options.items():
        if value is None:
            continue
        if name in _kinds_of_parts and not isinstance(value, str):
            texts[name], parts[name] = part_of(name, value)
        else:
            texts[name.replace("_", "-")] = _text(value)
    if "graph" in parts:
        texts.setdefault("agents", str(parts["graph"][0]))
    return texts, parts


def _text(value: Any) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    if isinstance(value, (list, tuple)):
        return ",".join(str(one) for one in value)
    return str(value)


def make_problem(X: Any, y: Any, weights: Any = None, classes: int = 0) -> _core.Problem:
    """float64 in C order and CSR with 32-bit indices are used where they are, others converted."""
    y = np.ascontiguousarray(y, dtype=np.float64)
    if weights is not None:
        weights = np.ascontiguousarray(weights, dtype=np.float64)
    if not sparse.issparse(X):
        X = np.ascontiguousarray(X, dtype=np.float64)
        return _core.dense_problem(X, y, weights, classes)
    X = X.tocsr()
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return _core.sparse_problem(
        np.ascontiguousarray(X.indptr, dtype=np.int32),
        np.ascontiguousarray(X.indices, dtype=np.int32),
        np.ascontiguousarray(X.data, dtype=np.float64),
        X.shape[1],
        y,
        weights,
        classes,
    )
