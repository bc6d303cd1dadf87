"""The package itself: stubs, docstrings, progress, the wheel and an installation."""
import ast
import inspect
import os
import pathlib
import subprocess
import sys
import sysconfig
import types

import grove
import pytest
from grove import _core
from grove._progress import Progress

PYTHON = pathlib.Path(__file__).resolve().parent.parent


def public(thing):
    return {name for name in vars(thing) if not name.startswith("_")}


def test_stubs_have_the_names_of_the_module():
    tree = ast.parse((PYTHON / "grove" / "_core.pyi").read_text())
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert {*classes, *functions} == public(_core)
    for name, node in classes.items():
        members = {one.name for one in node.body if isinstance(one, ast.FunctionDef)}
        assert members == public(getattr(_core, name)), name
    for name, node in functions.items():
        signature = getattr(_core, name).__doc__.splitlines()[0]
        arguments = [one.arg for one in node.args.args]
        assert all(f"{argument}:" in signature for argument in arguments), signature


def test_what_is_public_has_docstrings_and_types():
    for name in grove.__all__:
        thing = getattr(grove, name)
        assert thing.__doc__, name
        if inspect.isfunction(thing):
            assert "return" in thing.__annotations__, name
        if not inspect.isclass(thing) or issubclass(thing, dict):
            continue
        for member, value in vars(thing).items():
            if member.startswith("_"):
                continue
            if not (inspect.isfunction(value) or isinstance(value, property)):
                continue
            assert value.__doc__, f"{name}.{member}"
            function = value.fget if isinstance(value, property) else value
            if inspect.isfunction(function):
                assert "return" in function.__annotations__, f"{name}.{member}"


class Terminal:
    def __init__(self, terminal):
        self.terminal, self.text = terminal, ""

    def isatty(self):
        return self.terminal

    def write(self, text):
        self.text += text

    def flush(self):
        pass


def slow_run(**options):
    return grove.run("synthetic:gaussian,samples=400,features=5", l2=0.1, rounds=3000, tolerance=0,
                     **options)


def test_a_bar_is_drawn_on_a_terminal_only(monkeypatch):
    for terminal, wanted, shown in ((True, None, True), (False, None, False), (True, False, False),
                                    (False, True, True)):
        stream = Terminal(terminal)
        monkeypatch.setattr(sys, "stderr", stream)
        slow_run(progress=wanted)
        monkeypatch.undo()
        assert ("of at most 3000, objective" in stream.text) == shown
        assert not shown or ("[#" in stream.text or "[ " in stream.text)
        assert not shown or stream.text.endswith("\r\033[K")  # nothing is left on the line


def test_a_bar_is_drawn_in_a_notebook(monkeypatch):
    shown = []

    class Handle:
        def update(self, page):
            shown.append(f"changed: {page}")

    def display(page, display_id):
        shown.append(page)
        return Handle()

    shell = type("ZMQInteractiveShell", (), {})()
    monkeypatch.setitem(sys.modules["builtins"].__dict__, "get_ipython", lambda: shell)
    module = types.ModuleType("IPython.display")
    module.HTML, module.display = str, display
    monkeypatch.setitem(sys.modules, "IPython", types.ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    slow_run()  # its first round is always drawn; how many more depends on the machine
    assert shown[0].startswith('<progress value="0" max="3000"></progress> round 0 of at most 3000')
    shown.clear()
    with Progress(None) as progress:  # one output, which changes
        progress.show(0, 7, "first")
        progress.show(3, 7, "<second>")
    assert shown == ['<progress value="0" max="7"></progress> first',
                     'changed: <progress value="3" max="7"></progress> &lt;second&gt;']


def test_a_wheel_is_named_right_and_can_be_installed(tmp_path):
    for module in ("pip", "setuptools", "wheel"):
        pytest.importorskip(module, reason=f"python3-{module} is absent")
    copy = tmp_path / "project" / "python"  # building leaves files beside setup.py
    copy.parent.mkdir()
    for entry in PYTHON.parent.iterdir():
        if entry.name not in ("python", ".git"):
            (copy.parent / entry.name).symlink_to(entry)
    copy.mkdir()
    for entry in PYTHON.iterdir():
        if entry.name not in ("build", "grove.egg-info"):
            (copy / entry.name).symlink_to(entry)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}

    def command(*arguments):
        done = subprocess.run(arguments, capture_output=True, text=True, cwd=tmp_path,
                              env=environment)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    command(*pip, "wheel", "--no-build-isolation", "--no-deps", "--no-index", "-w", "wheels",
            str(copy))
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    wheels = [file.name for file in (tmp_path / "wheels").iterdir()]
    assert wheels == [f"grove-0.1.0-{tag}-{tag}-{platform}.whl"]
    # Debian's python3-sklearn is what the package needs: a virtual environment that sees it.
    command(sys.executable, "-m", "venv", "--system-site-packages", "--without-pip", "venv")
    command(*pip, "--python", "venv/bin/python", "install", "--no-deps", "--no-index",
            f"wheels/{wheels[0]}")
    shown = command("venv/bin/python", "-c", "import grove, numpy; print(grove.__file__); "
                    "print(grove.LinearRegression().fit(numpy.eye(3), [1., 2., 3.]).n_iter_ > 0)")
    file, fitted = shown.split()
    assert pathlib.Path(file).is_relative_to(tmp_path / "venv") and fitted == "True"
    installed = {one.name for one in pathlib.Path(file).parent.iterdir()}
    assert {"py.typed", "_core.pyi", "__init__.py"} <= installed
