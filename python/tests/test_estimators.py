"""The estimators against scikit-learn: its own checks, and its answers on the same problems."""
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import threading
import warnings

import grove
import numpy as np
import pytest
from scipy import sparse
from sklearn import linear_model
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.exceptions import ConvergenceWarning, SkipTestWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from sklearn.utils.estimator_checks import check_estimator

ESTIMATORS = [
    grove.LogisticRegression,
    grove.LinearRegression,
    grove.PoissonRegressor,
    grove.GammaRegressor,
    grove.HuberRegressor,
]


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_passes_the_checks_of_scikit_learn(estimator):
    passed, skipped, failed = 0, [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", SkipTestWarning)
        for instance, check in check_estimator(estimator(), generate_only=True):
            name = check.func.__name__
            try:
                check(instance)
                passed += 1
            except pytest.skip.Exception as reason:
                skipped.append(f"{name}: {reason}")
            except Exception as error:  # all failures are shown at once
                if type(error).__name__ == "SkipTest":
                    skipped.append(f"{name}: {error}")
                else:
                    failed.append(f"{name}: {error!r}"[:300])
    print(f"\n{estimator.__name__}: {passed} passed, {len(skipped)} skipped, {len(failed)} failed")
    for line in skipped:
        print(f"  skipped {line}")
    assert not failed, "\n".join(failed)
    assert passed > 30


def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return scale(X), y


def close(own, other, tolerance=1e-6):
    np.testing.assert_allclose(own, other, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_logistic_coefficients_are_those_of_scikit_learn(fit_intercept, weighted):
    X, y = cancer()
    weight = np.linspace(0, 2, len(y)) if weighted else None
    own = grove.LogisticRegression(C=0.3, fit_intercept=fit_intercept).fit(X, y, weight)
    other = linear_model.LogisticRegression(
        C=0.3, solver="newton-cholesky", tol=1e-12, fit_intercept=fit_intercept).fit(X, y, weight)
    close(own.coef_, other.coef_)
    close(own.intercept_, other.intercept_)
    close(own.predict_proba(X), other.predict_proba(X))


def test_class_weights_are_those_of_scikit_learn():
    X, y = cancer()
    own = grove.LogisticRegression(class_weight="balanced").fit(X, y)
    other = linear_model.LogisticRegression(
        class_weight="balanced", solver="newton-cholesky", tol=1e-12).fit(X, y)
    close(own.coef_, other.coef_)


def test_lasso_logistic_satisfies_the_optimality_conditions():
    # Of sum loss + |w|_1 / C: |X'(p - y)| is 1/C where w is not 0, and at most that elsewhere.
    X, y = cancer()
    own = grove.LogisticRegression("l1", C=0.1).fit(X, y)
    gradient = X.T @ (own.predict_proba(X)[:, 1] - y)
    zero = own.coef_[0] == 0
    assert 0 < zero.sum() < X.shape[1]
    close(gradient[~zero], -10 * np.sign(own.coef_[0, ~zero]), 1e-4)
    assert np.abs(gradient[zero]).max() <= 10 * (1 + 1e-4)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_multinomial_coefficients_are_those_of_scikit_learn(form):
    X, y = load_iris(return_X_y=True)
    X = scale(X)
    own = grove.LogisticRegression(C=0.5).fit(form(X), y)
    other = linear_model.LogisticRegression(
        C=0.5, solver="newton-cg", multi_class="multinomial", tol=1e-10, max_iter=1000).fit(X, y)
    close(own.coef_, other.coef_, 1e-5)
    close(own.predict_proba(X), other.predict_proba(X), 1e-6)
    # The oracle of 1e-6 is the optimality condition: X'(P - Y) + W / C = 0, columns of P - Y
    # sum to 0.
    residual = own.predict_proba(X) - np.eye(3)[y]
    assert np.abs(X.T @ residual + own.coef_.T / 0.5).max() < 1e-6
    assert np.abs(residual.sum(axis=0)).max() < 1e-6


@pytest.mark.parametrize("own, other", [
    (grove.LinearRegression(), linear_model.LinearRegression()),
    (grove.LinearRegression("l1", alpha=0.5), linear_model.Lasso(0.5, tol=1e-14)),
    (grove.LinearRegression("l2", alpha=0.5), linear_model.Ridge(0.5 * 442)),
    (grove.LinearRegression("elasticnet", alpha=0.5, l1_ratio=0.3),
     linear_model.ElasticNet(0.5, l1_ratio=0.3, tol=1e-14)),
])
def test_linear_coefficients_are_those_of_scikit_learn(own, other):
    X, y = load_diabetes(return_X_y=True)
    X = scale(X)
    close(own.fit(X, y).coef_, other.fit(X, y).coef_)
    close(own.intercept_, other.intercept_)
    close(own.score(X, y), other.score(X, y))


@pytest.mark.parametrize("name", ["PoissonRegressor", "GammaRegressor"])
def test_log_link_coefficients_are_those_of_scikit_learn(name):
    X, y = load_diabetes(return_X_y=True)
    X = scale(X)
    weight = np.linspace(0.5, 2, len(y))
    own = getattr(grove, name)(alpha=0.1).fit(X, y, weight)
    other = getattr(linear_model, name)(
        alpha=0.1, solver="newton-cholesky", tol=1e-12, max_iter=1000).fit(X, y, weight)
    close(own.coef_, other.coef_)
    close(own.predict(X), other.predict(X))


def test_huber_satisfies_the_optimality_conditions():
    X, y = load_diabetes(return_X_y=True)
    X = scale(X)
    own = grove.HuberRegressor(epsilon=30, alpha=0.1).fit(X, y)
    slope = np.clip(own.predict(X) - y, -30, 30)
    assert 50 < (np.abs(slope) == 30).sum() < 400
    assert np.abs(X.T @ slope / len(y) + 0.1 * own.coef_).max() < 1e-6
    assert abs(slope.mean()) < 1e-6


def test_sparse_and_dense_rows_and_any_network_give_one_answer():
    X, y = cancer()
    X[np.abs(X) < 0.5] = 0
    reference = grove.LogisticRegression().fit(X, y)
    for own in (grove.LogisticRegression(), grove.LogisticRegression(agents=3, graph="ring"),
                grove.LogisticRegression(random_state=7, n_jobs=1)):
        close(own.fit(sparse.csr_matrix(X), y).coef_, reference.coef_)


def test_arrays_are_not_copied():
    # The library reads the caller's memory: a number that changes between the making of the
    # problem and the run changes the answer.
    from grove import _core
    from grove._options import make_problem, texts_and_parts

    X = np.ascontiguousarray(cancer()[0])
    y = cancer()[1].astype(float)
    options = texts_and_parts({"agents": 2, "l2": 0.1, "no_reference": True})
    for features in (X.copy(), sparse.csr_matrix(X)):
        problem = make_problem(features, y)
        before = _core.run(problem, *options, None, None, False).solution
        values = features.data if sparse.issparse(features) else features
        values *= 2
        after = _core.run(problem, *options, None, None, False).solution
        assert np.abs(before - after).max() > 1e-3


def test_arrays_reach_the_library_as_they_are(monkeypatch):
    from grove import _estimators

    X, y = cancer()
    X = np.ascontiguousarray(X)
    seen = []

    def make_problem(features, *arguments, **options):
        seen.append(features)
        return original(features, *arguments, **options)

    original = _estimators.make_problem
    monkeypatch.setattr(_estimators, "make_problem", make_problem)
    rows = sparse.csr_matrix(X)
    grove.LogisticRegression().fit(X, y)
    grove.LogisticRegression().fit(rows, y)
    assert np.shares_memory(seen[0], X)
    for part in ("data", "indices", "indptr"):
        assert np.shares_memory(getattr(seen[1], part), getattr(rows, part)), part


def status(name):
    with open("/proc/self/status", encoding="ascii") as file:
        return int(file.read().split(name + ":")[1].split()[0]) * 1024


def test_large_arrays_are_not_copied():
    # Peak memory of a fit beside the memory before it, in a process of its own.
    program = '''
import sys, numpy as np, grove
sys.path.insert(0, sys.argv[1])
from test_estimators import status
rng = np.random.default_rng(1)
X = rng.normal(size=(120_000, 80))
y = X @ np.arange(80.0)
model = grove.LinearRegression(n_jobs=2)
model.fit(X[:1000], y[:1000])  # what the first fit loads
before = status("VmRSS")
open("/proc/self/clear_refs", "w").write("5")
model.fit(X, y)
assert np.abs(model.coef_ - np.arange(80.0)).max() < 1e-6, model.coef_
print((status("VmHWM") - before) / X.nbytes)
'''
    done = subprocess.run([sys.executable, "-c", program, str(pathlib.Path(__file__).parent)],
                          capture_output=True, text=True, check=True)
    assert float(done.stdout) < 0.3, done.stdout


def test_works_in_pipelines_grids_clones_and_pickles():
    X, y = load_breast_cancer(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), grove.LogisticRegression())
    grid = GridSearchCV(pipeline, {"logisticregression__C": [0.01, 1.0]}, cv=3).fit(X, y)
    assert grid.best_score_ > 0.95
    own = clone(grid.best_estimator_).fit(X, y)
    again = pickle.loads(pickle.dumps(own))
    np.testing.assert_array_equal(again.predict_proba(X), own.predict_proba(X))


def test_a_warm_start_takes_fewer_rounds():
    X, y = cancer()
    own = grove.LogisticRegression(warm_start=True).fit(X, y)
    first, coefficients = own.n_iter_, own.coef_
    own.fit(X, y)
    assert own.n_iter_ < first
    close(own.coef_, coefficients)


def test_names_of_columns_are_kept():
    pandas = pytest.importorskip("pandas")
    X, y = cancer()
    frame = pandas.DataFrame(X[:, :3], columns=["a", "b", "c"])
    assert list(grove.LogisticRegression().fit(frame, y).feature_names_in_) == ["a", "b", "c"]


def test_an_interrupt_ends_a_fit():
    X, y = cancer()
    model = grove.LogisticRegression(method="druid-vl", tol=0.0, max_iter=10**9)
    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    timer.join()
    assert not hasattr(model, "coef_")


def test_errors_have_the_text_of_the_command_line():
    X, y = cancer()
    with pytest.raises(grove.Error, match="--graph"):
        grove.LogisticRegression(graph="moebius").fit(X, y)
    with pytest.raises(grove.Error, match="--method: 'simplex' is unknown; expected one of"):
        grove.LogisticRegression(method="simplex").fit(X, y)
    with pytest.warns(ConvergenceWarning, match="stopped at the limit of 1 rounds"):
        grove.LogisticRegression(max_iter=1).fit(X, y)
