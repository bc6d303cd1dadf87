"""Executes the notebooks of examples/ cell by cell, as Jupyter does, without its packages."""
import ast
import json
import pathlib

import pytest

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))


def shown(value):
    """What a notebook would show of the value of a cell."""
    page = getattr(value, "_repr_html_", None)
    return page() if page is not None else repr(value)


def execute(cell, names):
    """Runs a cell; the value of its last line, if it is an expression, is shown."""
    tree = ast.parse(cell)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    if last is None:
        return None
    return shown(eval(compile(ast.Expression(last.value), "cell", "eval"), names))


def test_there_are_three_notebooks():
    assert [file.stem for file in NOTEBOOKS] == ["compare_methods", "three_hospitals", "wide_text"]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda file: file.stem)
def test_notebook_runs(notebook):
    matplotlib = pytest.importorskip("matplotlib", reason="python3-matplotlib is absent")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    content = json.loads(notebook.read_text(encoding="utf-8"))
    assert content["nbformat"] == 4
    names, outputs = {"__name__": "__main__"}, 0
    for cell in content["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []  # outputs are not kept: they would grow old
            outputs += execute("".join(cell["source"]), names) is not None
    pyplot.close("all")
    assert outputs >= 3
