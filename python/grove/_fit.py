"""Generalized linear models over pandas frames of several sites, named as in statsmodels."""
from __future__ import annotations

import html
import json
from typing import TYPE_CHECKING, Any, Iterable, Mapping, Optional, Union

import numpy as np

from . import _core
from ._options import texts_and_parts
from ._progress import Progress
from ._record import Record, with_record

if TYPE_CHECKING:
    import pandas

Frames = Union["pandas.DataFrame", Iterable["pandas.DataFrame"], Mapping[str, "pandas.DataFrame"]]

_by_name = ("estimate", "std_error", "statistic", "p_value")
_numbers = ("integer", "floating", "mixed-integer-float", "decimal")


class FitResult:
    """A fitted model: estimates with standard errors, under the names of statsmodels' GLM."""

    def __init__(self, core: _core.FitResult) -> None:
        import pandas

        self._core = core
        self.model: dict[str, Any] = json.loads(core.json())
        self._inference = self.model["inference"]
        rows = pandas.DataFrame(self.model["table"])
        if "class" in rows:
            index = pandas.MultiIndex.from_frame(rows[["class", "name"]], names=[None, None])
        else:
            index = pandas.Index(rows["name"], name=None)
        self._table = rows.reindex(columns=_by_name).set_axis(index, axis=0).astype(float)

    def _column(self, name: str) -> Any:
        column = self._table[name].rename(None)
        if column.index.nlevels == 1:
            return column
        classes, names = column.index.unique(0), column.index.unique(1)
        return column.unstack(0).reindex(index=names, columns=classes)

    @property
    def params(self) -> Any:
        """Coefficients, a Series by name; multinomial: a DataFrame with a column per class."""
        return self._column("estimate")

    @property
    def bse(self) -> Any:
        """Standard errors; NaN where there are none, and the summary says why."""
        return self._column("std_error")

    @property
    def tvalues(self) -> Any:
        """Coefficients divided by their errors: t or z."""
        return self._column("statistic")

    @property
    def pvalues(self) -> Any:
        """Two-sided p-values of the coefficients."""
        return self._column("p_value")

    def conf_int(self, alpha: float = 0.05) -> pandas.DataFrame:
        """Intervals of level 1 - alpha: the columns 0 and 1 are their ends."""
        import pandas

        half = self._core.quantile(1 - alpha) * self._table["std_error"]
        center = self._table["estimate"]
        return pandas.DataFrame({0: center - half, 1: center + half})

    @property
    def use_t(self) -> bool:
        """Statistics have Student's distribution, otherwise the normal one."""
        return self._inference["distribution"] == "t"

    @property
    def nobs(self) -> int:
        """Rows used."""
        return self._inference["samples"]

    @property
    def df_resid(self) -> float:
        """Residual degrees of freedom."""
        return self._inference["df_residual"]

    @property
    def df_model(self) -> float:
        """Degrees of freedom of the terms."""
        return self._inference["df_null"] - self._inference["df_residual"]

    @property
    def deviance(self) -> float:
        """Residual deviance."""
        return self._inference["deviance"]

    @property
    def null_deviance(self) -> Optional[float]:
        """Of the model without terms."""
        return self._inference["null_deviance"]

    @property
    def scale(self) -> float:
        """Dispersion."""
        return self._inference["dispersion"]

    @property
    def aic(self) -> Optional[float]:
        """Akaike's criterion, as R computes it."""
        return self._inference["aic"]

    @property
    def llf(self) -> Optional[float]:
        """Log likelihood."""
        return self._inference["log_likelihood"]

    @property
    def llnull(self) -> Optional[float]:
        """Log likelihood of the model without terms, of cox."""
        return self._inference.get("null_log_likelihood")

    @property
    def record(self) -> Record:
        """Of the run that made the fit."""
        return Record(self._core.record)

    @property
    def notes(self) -> list[str]:
        """Remarks on the tables, for a person."""
        return self._core.notes

    def summary(self) -> Summary:
        """The table of R's summary(glm(...)), and how the fit ended."""
        return Summary(self)

    def predict(self, frame: pandas.DataFrame, which: str = "mean") -> Any:
        """Mean responses, or with which="linear" linear predictors; NaN where cells are missing.

        With two classes the probability of the second one; multinomial: a DataFrame with a column
        per class.
        """
        import pandas

        if which not in ("mean", "linear"):
            raise _core.Error(f"which: expected 'mean' or 'linear', found {which!r}")
        found = self._core.predict("frame", _columns(frame, "frame"), which == "linear")
        classes = self.model["classes"]
        if len(classes) > 2:
            names = classes[1:] if which == "linear" else classes
            return pandas.DataFrame(found, index=frame.index, columns=names)
        return pandas.Series(found[:, -1], index=frame.index)

    def save(self, path: str) -> None:
        """Writes the model as `grove predict` and `grove summary` read it."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self._core.json())

    def __repr__(self) -> str:
        return self._core.summary()

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()


class Summary:
    """A fit as a table: `print(...)` shows it as text, a notebook as HTML."""

    def __init__(self, result: FitResult) -> None:
        self._result = result

    def as_text(self) -> str:
        """The text of `grove summary`."""
        return self._result._core.summary()

    def as_html(self) -> str:
        """Coefficients as an HTML table, what else the text says below it."""
        result = self._result
        ends = result.conf_int(1 - result._inference["confidence"])
        kind = "t" if result.use_t else "z"
        percent = f"{100 * result._inference['confidence']:g} %"
        heads = ["", "coef", "std err", kind, f"P&gt;|{kind}|", percent + " low", "high"]
        lines = ["<table>", "<tr>" + "".join(f"<th>{head}</th>" for head in heads) + "</tr>"]
        for name, row in result._table.iterrows():
            shown = name if isinstance(name, str) else ": ".join(name)
            cells = [f"<th style='text-align:left'>{html.escape(shown)}</th>"]
            numbers = (*(row[one] for one in _by_name), *ends.loc[name])
            cells += [f"<td>{'' if np.isnan(number) else format(number, '.5g')}</td>"
                      for number in numbers]
            lines.append("<tr>" + "".join(cells) + "</tr>")
        head, _, rest = self.as_text().partition("\n\n")  # the table is between blank lines
        after = rest.partition("\n\n")[2]
        errors = result._inference["reason"] and "standard errors: " + result._inference["reason"]
        return "\n".join([f"<pre>{html.escape(head)}</pre>", *lines, "</table>",
                          f"<pre>{html.escape(errors)}</pre>" if errors else "",
                          f"<pre>{html.escape(after)}</pre>"])

    def __str__(self) -> str:
        return self.as_text()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.as_html()


def fit(formula: str, frames: Frames, family: str = "gaussian", *,
        progress: Optional[bool] = None, **options: Any) -> FitResult:
    """Fits a generalized linear model to frames that stay at their sites.

    frames: one per site, as a list or by name; a single frame is dealt to `agents=N` agents.
    formula and options are those of `grove fit` (docs/reference/fit.md): robust=True, l2=1e-3,
    weights="column", missing="mean", ... Texts, categories and truth values are factors; their
    levels are sorted, and the first one is the reference. Ctrl-C raises KeyboardInterrupt.
    """
    texts, parts = texts_and_parts({"formula": formula, "family": family, **options})
    sites = [(name, _columns(frame, name)) for name, frame in _named(frames)]
    try:
        with Progress(progress) as bar:
            return FitResult(_core.fit(texts, parts, sites, bar.callback))
    except BaseException as error:
        raise with_record(error)


def _named(frames: Any) -> list[tuple[str, Any]]:
    if isinstance(frames, Mapping) and not hasattr(frames, "dtypes"):
        return [(str(name), frame) for name, frame in frames.items()]
    if hasattr(frames, "dtypes"):
        return [("frame", frames)]
    return [(f"frames[{k}]", frame) for k, frame in enumerate(frames)]


def _columns(frame: Any, site: str) -> list[tuple[Any, ...]]:
    """Columns by name: numbers, or codes and the texts that they stand for."""
    if not (hasattr(frame, "dtypes") and hasattr(frame, "columns")):
        raise _core.Error(f"{site}: expected a pandas DataFrame, found {type(frame).__name__}")
    return [(str(name), *_cells(frame.iloc[:, k])) for k, name in enumerate(frame.columns)]


def _cells(column: pandas.Series) -> tuple[Any, ...]:
    import pandas
    from pandas.api import types

    if types.is_datetime64_any_dtype(column):
        whole_days = (column.dropna() == column.dropna().dt.normalize()).all()
        column = column.dt.strftime("%Y-%m-%d" if whole_days else "%Y-%m-%dT%H:%M:%S")
    elif not types.is_categorical_dtype(column) and not types.is_bool_dtype(column):
        if (types.is_numeric_dtype(column)
                or types.infer_dtype(column, skipna=True) in _numbers):
            return (pandas.to_numeric(column).to_numpy(np.float64, na_value=np.nan),)
    codes, texts = pandas.factorize(column.astype(object).map(_level, na_action="ignore"))
    return codes.astype(np.int32), list(texts)


def _level(value: Any) -> str:
    """The text of a level; that of a whole number has no decimal point, as in tables."""
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value)
