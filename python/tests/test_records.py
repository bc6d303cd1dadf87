"""Runs, comparisons and interrupts."""
import os
import signal
import threading
import time

import grove
import numpy as np
import pytest
from support import EXACT

DATA = "synthetic:gaussian,samples=400,features=5"


def ridge():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 4))
    return X, X @ [2, -1, 0.5, 0] + 0.1 * rng.normal(size=200)


def test_a_run_on_arrays_finds_the_ridge_solution():
    X, y = ridge()
    record = grove.run(X, y, loss="squared", l2=0.1, agents=4, weighting="sample", tolerance=EXACT)
    expected = np.linalg.solve(X.T @ X / 200 + 0.1 * np.eye(4), X.T @ y / 200)
    assert record.status == "converged"
    np.testing.assert_allclose(record.solution, expected, rtol=1e-7, atol=1e-8)
    assert record.json["format"] == "grove-run/1"
    assert "converged" in record.explain()


def test_the_trace_is_a_table_and_a_picture():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    record = grove.run(DATA, l2=0.1, rounds=20, tolerance=0)
    trace = record.trace
    assert list(trace["round"]) == list(range(21))
    assert trace["objective"].iloc[-1] < trace["objective"].iloc[0]
    lines = record.plot().get_lines()
    assert len(lines) == 1 and lines[0].get_label() == "druid-vl"


def test_a_comparison_has_a_record_per_method():
    comparison = grove.compare(DATA, methods=["druid-vl", "pg-extra"], l2=0.1, rounds=2000)
    assert list(comparison) == ["druid-vl", "pg-extra"]
    a, b = (record.solution for record in comparison.values())
    np.testing.assert_allclose(a, b, atol=1e-3)
    assert "pg-extra" in repr(comparison)


def test_errors_are_exceptions_with_the_text_of_the_command_line():
    with pytest.raises(grove.Error, match="^--l1: "):
        grove.run(DATA, l1=-1)
    with pytest.raises(grove.Error, match="--colour: is unknown"):
        grove.run(DATA, colour="red")
    with pytest.raises(grove.Error, match="targets"):
        grove.run(np.ones((3, 2)), np.ones(2))
    with pytest.raises(ValueError, match="not finite"):
        grove.run(np.array([[np.nan], [1.0]]), np.array([0.0, 1.0]), agents=1)


def test_an_interrupt_ends_a_run_and_leaves_its_record():
    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt) as caught:
        grove.run(DATA, l2=0.1, rounds=10**9, tolerance=0, measure_every=10**8)
    timer.join()
    assert caught.value.record.status == "interrupted"


def test_other_threads_run_while_a_run_does():
    counted = 0
    done = threading.Event()

    def count():
        nonlocal counted
        while not done.is_set():
            counted += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    grove.run(DATA, l2=0.1, rounds=20000, tolerance=0, measure_every=0)
    done.set()
    thread.join()
    assert counted > 10


def test_an_error_in_the_progress_function_ends_the_run():
    from grove import _core
    from grove._options import make_problem, texts_and_parts

    def fail(*_):
        raise RuntimeError("no more")

    problem = make_problem(*ridge())
    options = {"loss": "squared", "l2": 0.1, "agents": 4, "tolerance": 0.0}
    with pytest.raises(RuntimeError, match="no more"):
        _core.run(problem, *texts_and_parts(options), None, fail, True)
