"""Runs and comparisons, with their records as tables and pictures."""
from __future__ import annotations

import html
import json
from typing import TYPE_CHECKING, Any, Iterable, Mapping, Optional, Union

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._options import make_problem, texts_and_parts
from ._parts import Agent
from ._progress import Progress

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes


class Record:
    """The record of a run, in the format grove-run/1."""

    def __init__(self, core: _core.Record) -> None:
        self._core = core
        self._json: Optional[dict[str, Any]] = None

    @property
    def json(self) -> dict[str, Any]:
        """The record as a dictionary, with the keys of docs/reference/run-record.md."""
        if self._json is None:
            self._json = json.loads(self._core.json())
        return self._json

    @property
    def trace(self) -> pandas.DataFrame:
        """A row per measured round."""
        import pandas

        return pandas.DataFrame(self.json["trace"])

    @property
    def solution(self) -> NDArray[np.float64]:
        """The network's answer: coefficients, then the intercept."""
        return self._core.solution

    @property
    def objective(self) -> float:
        """Of the network's answer."""
        return self._core.objective

    @property
    def status(self) -> str:
        """converged, round_limit, diverged or interrupted."""
        return self._core.status

    @property
    def rounds(self) -> int:
        """How many the run took."""
        return self._core.rounds

    @property
    def seconds(self) -> float:
        """How long training took."""
        return self._core.seconds

    def explain(self) -> str:
        """How the run ended, what was chosen automatically, and why it took as long as it did."""
        return "\n".join([self._core.detail, *self._core.notes, *self._core.explanations])

    def save(self, path: str) -> None:
        """Writes the record as `grove plot` and `grove view` read it."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self._core.json())

    def plot(self, ax: Optional[Axes] = None, label: Optional[str] = None) -> Axes:
        """Draws the convergence over rounds."""
        return _draw({label or self.json["config"]["method"]: self}, ax)

    def __repr__(self) -> str:
        return self._core.summary()

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(repr(self))}</pre>"


class Comparison(dict[str, Record]):
    """The records of several methods on one problem, by method."""

    def plot(self, ax: Optional[Axes] = None) -> Axes:
        """Draws the convergence of all methods over rounds."""
        return _draw(self, ax)

    def __repr__(self) -> str:
        return _core.comparison(list(self), [record._core for record in self.values()])

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(repr(self))}</pre>"


def _draw(records: Mapping[str, Record], ax: Optional[Axes]) -> Axes:
    if ax is None:
        from matplotlib import pyplot

        ax = pyplot.figure().gca()
    traces = {name: record.trace for name, record in records.items()}
    known = all("relative_error" in trace and trace["relative_error"].notna().all()
                for trace in traces.values())
    measure = "relative_error" if known else "stationarity"
    for name, trace in traces.items():
        shown = trace[trace[measure] > 0]
        ax.semilogy(shown["round"], shown[measure], label=name)
    ax.set_xlabel("round")
    ax.set_ylabel(measure.replace("_", " "))
    ax.legend()
    return ax


def _run_each(data: Any, targets: Any, options: list[dict[str, Any]],
              progress: Optional[bool]) -> list[Record]:
    if targets is not None:
        problem = make_problem(data, targets)
    elif isinstance(data, str):
        problem, options = None, [{"data": data, **one} for one in options]
    else:
        raise _core.Error("targets: expected an array beside features, found none")
    try:
        with Progress(progress) as bar:
            found = _core.run_each(problem, [texts_and_parts(one) for one in options], bar.callback)
    except BaseException as error:
        raise with_record(error)
    return [Record(one) for one in found]


def with_record(error: BaseException) -> BaseException:
    """What was raised during a run, with the record up to there as its attribute `record`."""
    record = getattr(error, "record", None)
    if isinstance(record, _core.Record):
        error.record = Record(record)  # type: ignore[attr-defined]
    return error


def run(data: Any = "synthetic:ijcnn-like", targets: Any = None, *,
        progress: Optional[bool] = None, **options: Any) -> Record:
    """Trains over a simulated network and returns the Record.

    data: features (numpy array or scipy CSR matrix) beside `targets`, or the name of a file or
    synthetic set as `grove train` takes it. options: those of `grove train` by name, for example
    run(X, y, method="pg-extra", l1=1e-4, graph="ring", loss_rate=0.2, link="edge"). `method`,
    `loss`, `regularizer` and `graph` may also be the user's own: a class derived from grove.Agent,
    objects of classes derived from grove.Loss and grove.Regularizer, a networkx graph.
    Ctrl-C raises KeyboardInterrupt; its attribute `record` is the record up to there.
    """
    return _run_each(data, targets, [options], progress)[0]


def compare(data: Any = "synthetic:ijcnn-like", targets: Any = None, *,
            methods: Iterable[Union[str, type[Agent]]], progress: Optional[bool] = None,
            **options: Any) -> Comparison:
    """Runs several methods on one problem, prepared once. Other arguments are those of `run`."""
    methods = list(methods)
    if not methods:
        raise _core.Error("methods: expected at least one, found none")
    records = _run_each(data, targets, [{**options, "method": one} for one in methods], progress)
    names = [one if isinstance(one, str) else one.name for one in methods]
    return Comparison(zip(names, records))
