"""Methods, losses, regularizers and graphs written in Python."""
import math

import grove
import numpy as np
import pytest
from support import EXACT

RNG = np.random.default_rng(4)
X = RNG.normal(size=(60, 6))
Y = X @ [1, -2, 0, 0, 0.5, 0] + 0.1 * RNG.normal(size=60)
PROBLEM = {"l2": 0.1, "weighting": "sample"}


def ridge():
    return np.linalg.solve(X.T @ X / 60 + 0.1 * np.eye(6), X.T @ Y / 60)


class Extra(grove.Agent):
    """EXTRA (Shi, Ling, Wu, Yin 2015), with x_1 = W x_0 - a g_0."""

    def __init__(self, context):
        super().__init__(context)
        self.last = None

    def mixed(self):
        weights = [weight for _, weight in self.context.neighbours]
        return (1 - sum(weights)) * self.x + sum(w * x for w, x in zip(weights, self.received))

    def activate(self, round):
        gradient, mixed = self.context.gradient(self.x), self.mixed()
        if self.last is None:
            following = mixed - self.context.step * gradient
        else:
            previous, last_mixed, last_gradient = self.last
            following = (self.x + mixed - (previous + last_mixed) / 2
                         - self.context.step * (gradient - last_gradient))
        self.last = self.x, mixed, gradient
        self.x = following


class LogCosh(grove.Loss):
    name = "log-cosh"
    max_second_derivative = 1.0

    def at(self, margin, target):
        u = margin - target
        slope = math.tanh(u)
        return abs(u) + math.log1p(math.exp(-2 * abs(u))) - math.log(2), slope, 1 - slope * slope


class GroupLasso(grove.Regularizer):
    """W times the norms of groups of two coefficients."""

    def __init__(self, weight):
        self.weight = weight

    def value(self, x):
        return self.weight * np.linalg.norm(x.reshape(-1, 2), axis=1).sum()

    def prox(self, step, v):
        groups = v.reshape(-1, 2)
        norms = np.linalg.norm(groups, axis=1, keepdims=True)
        return (np.maximum(0, 1 - step * self.weight / np.maximum(norms, 1e-300)) * groups).ravel()


def test_a_method_finds_the_ridge_solution():
    record = grove.run(X, Y, loss="squared", method=Extra, agents=5, rounds=3000, tolerance=EXACT,
                       **PROBLEM)
    assert record.status == "converged" and record.json["config"]["method"] == "Extra"
    np.testing.assert_allclose(record.solution, ridge(), atol=1e-6)
    last = record.trace.iloc[-1]  # every agent computes one gradient and sends one vector a round
    assert last["gradient_samples"] == 60 * last["round"]
    assert last["broadcasts"] == 5 * last["round"]


def test_a_method_is_compared_with_those_that_are_built_in():
    comparison = grove.compare(X, Y, methods=["druid-vl", Extra], loss="squared", agents=5,
                               rounds=3000, **PROBLEM)
    assert list(comparison) == ["druid-vl", "Extra"] and "Extra" in repr(comparison)
    assert comparison["Extra"].rounds > comparison["druid-vl"].rounds


# Second derivatives of log cosh are at most 1: steps with the largest Hessian never overshoot.
def test_a_loss_has_the_optimum_that_plain_steps_find():
    x = np.zeros(6)
    largest = X.T @ X / 60 + 0.1 * np.eye(6)
    for _ in range(1000):
        x -= np.linalg.solve(largest, X.T @ np.tanh(X @ x - Y) / 60 + 0.1 * x)
    for method in ("druid-vl", "pg-extra"):
        record = grove.run(X, Y, loss=LogCosh(), method=method, agents=4, rounds=20000,
                           tolerance=EXACT, **PROBLEM)
        assert record.status == "converged" and record.json["config"]["loss"] == "log-cosh"
        np.testing.assert_allclose(record.solution, x, atol=1e-6)


# x is optimal exactly where every group has gradient -W x_g / |x_g|, or is 0 with |gradient| <= W.
def test_a_regularizer_leaves_groups_that_satisfy_the_optimality_conditions():
    record = grove.run(X, Y, loss="squared", regularizer=GroupLasso(0.2), agents=4, graph="ring",
                       rounds=20000, tolerance=EXACT, **PROBLEM)
    assert record.status == "converged" and record.json["config"]["regularizer"] == "GroupLasso"
    x = record.solution
    gradient = X.T @ (X @ x - Y) / 60 + 0.1 * x
    norms = np.linalg.norm(x.reshape(-1, 2), axis=1)
    zero = norms < 1e-7
    assert 0 < zero.sum() < 3
    for group, slope, norm in zip(x.reshape(-1, 2), gradient.reshape(-1, 2), norms):
        if norm < 1e-7:
            assert np.linalg.norm(slope) <= 0.2 * (1 + 1e-5)
        else:
            np.testing.assert_allclose(slope, -0.2 * group / norm, atol=1e-5)


def test_graphs_of_networkx_and_pairs_are_taken():
    networkx = pytest.importorskip("networkx", reason="python3-networkx is absent")
    graph = networkx.relabel_nodes(networkx.petersen_graph(), lambda k: f"site {k}")
    links = [(0, 1), (1, 2), (2, 0), (2, 3)]
    for given, agents, edges in ((graph, 10, 15), (links, 4, 4)):
        record = grove.run(X, Y, loss="squared", graph=given, tolerance=EXACT, **PROBLEM)
        assert record.json["problem"]["agents"] == agents
        assert record.json["problem"]["edges"] == edges
        np.testing.assert_allclose(record.solution, ridge(), atol=1e-7)
    model = grove.LinearRegression("l2", alpha=0.1, fit_intercept=False, graph=graph).fit(X, Y)
    np.testing.assert_allclose(model.coef_, ridge(), atol=1e-7)
    with pytest.raises(grove.Error, match="^--graph: has 10 agents; expected 3, as --agents says"):
        grove.run(X, Y, loss="squared", graph=graph, agents=3)
    with pytest.raises(grove.Error, match="^--graph: links are undirected"):
        grove.run(X, Y, loss="squared", graph=networkx.DiGraph([(0, 1)]))
    with pytest.raises(grove.Error, match="^--graph: .*connected"):
        grove.run(X, Y, loss="squared", graph=[(0, 1), (2, 3)])
    with pytest.raises(grove.Error, match="^--graph: expected a name, a networkx graph or pairs"):
        grove.run(X, Y, loss="squared", graph=5)


def test_what_python_raises_ends_the_run():
    class Failing(LogCosh):
        def at(self, margin, target):
            raise RuntimeError("no more")

    class Short(grove.Agent):
        def activate(self, round):
            self.x = np.zeros(3)

    class Late(Extra):
        def receive(self, slot, vector):
            if self.last is not None:
                raise RuntimeError("too late")

    with pytest.raises(RuntimeError, match="no more"):
        grove.run(X, Y, loss=Failing(), agents=3)
    with pytest.raises(grove.Error, match="x of the method: expected 6 numbers, found 3"):
        grove.run(X, Y, loss="squared", method=Short, agents=3)
    for threads in (1, 2):
        with pytest.raises(RuntimeError, match="too late") as caught:
            grove.run(X, Y, loss="squared", method=Late, agents=3, threads=threads)
        assert caught.value.record.status == "interrupted"
    with pytest.raises(TypeError):
        grove.run(X, Y, loss=type("Bad", (LogCosh,), {"at": lambda self: 0})(), agents=3)


def test_parts_of_the_wrong_kind_are_refused_by_name():
    cases = [({"loss": 3}, "^--loss: expected a name or an object of a class derived from grove.L"),
             ({"loss": LogCosh}, "^--loss: expected a name or an object"),
             ({"method": Extra(FakeContext())}, "^--method: expected a name or a class derived"),
             ({"regularizer": LogCosh()}, "^--regularizer: expected a name or an object"),
             ({"loss": type("Bare", (grove.Loss,), {})()}, "^--loss: Bare has no max_second_deriv"),
             ({"method": type("nids", (Extra,), {})}, "^--method: 'nids' is built in"),
             ({"method": Extra, "checkpoint": "folder"}, "^--checkpoint: methods in Python"),
             ({"method": Extra, "participation": 0.5}, "^--participation: ")]
    for options, text in cases:
        with pytest.raises(grove.Error, match=text):
            grove.run(X, Y, **{"loss": "squared", "agents": 3, **options})


class FakeContext:
    start = np.zeros(6)
    neighbours = []
