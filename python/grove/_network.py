"""Networks of peers on this machine: processes of the program `grove` that speak gRPC and TLS."""
from __future__ import annotations

import json
import os
import pathlib
import shutil
import signal
import subprocess
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, Optional, Union

from . import _core
from ._options import texts_and_parts
from ._progress import Progress

if TYPE_CHECKING:
    import pandas

Path = Union[str, "os.PathLike[str]"]

_seconds_to_end = 20.0
_shown = ("phase", "activations", "residual", "network_residual", "connected", "neighbours",
          "refused", "bytes")


class Network:
    """The folder of a network, as `grove network init` writes it, and its peers.

    A `with` block stops the peers at its end. program: the program `grove`; None: the one beside
    the package in a build folder, or the one on PATH.
    """

    def __init__(self, folder: Path, program: Optional[Path] = None) -> None:
        self.folder = pathlib.Path(folder)
        self._program = _find_program(program)
        self._process: Optional[subprocess.Popen[str]] = None

    @classmethod
    def init(cls, folder: Path, program: Optional[Path] = None, **options: Any) -> Network:
        """Writes a new folder: keys, certificates and the data of every peer.

        options: those of `grove network init` by name, for example agents=3, data="a.csv", l2=1e-3.
        """
        network = cls(folder, program)
        texts, parts = texts_and_parts(options)
        if parts:
            raise _core.Error(f"--{next(iter(parts))}: peers are processes of their own; "
                              "expected a name")
        network._ask("init", "--out", str(folder), "--quiet", *_arguments(texts))
        return network

    def start(self) -> None:
        """Starts the peers. They restart if they crash, and end when the network has converged."""
        if self.running:
            raise _core.Error(f"{self.folder}: is running already; end it with stop()")
        self._process = subprocess.Popen(
            [self._program, "network", "up", str(self.folder), "--quiet"], text=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            start_new_session=True)  # Ctrl-C reaches this process alone, which ends the peers

    @property
    def running(self) -> bool:
        """Whether peers that start() started have not ended."""
        return self._process is not None and self._process.poll() is None

    def status(self) -> pandas.DataFrame:
        """A row per peer: its phase or how it ended, activations, residuals, links and bytes.

        The phase of a peer that does not answer and has not ended is `silent`.
        """
        import pandas

        answer = json.loads(self._run("status", str(self.folder), "--json").stdout or "null")
        if answer is None:  # an error, not a peer that does not answer
            self._ask("status", str(self.folder), "--json")
        rows = {name: {**status, "phase": status.get("outcome", status["phase"])} if status
                else {"phase": "silent"} for name, status in answer.items()}
        return pandas.DataFrame.from_dict(rows, orient="index").reindex(columns=list(_shown))

    def wait(self, timeout: Optional[float] = None, progress: Optional[bool] = None) -> None:
        """Waits until the peers have ended. Raises grove.Error unless all converged.

        Ctrl-C stops the peers and raises KeyboardInterrupt. After `timeout` seconds it raises
        TimeoutError, and the peers go on.
        """
        if self._process is None:
            raise _core.Error(f"{self.folder}: is not running; expected start() before")
        began, looked = time.monotonic(), 0.0
        try:
            with Progress(progress) as bar:
                while self.running:
                    now = time.monotonic()
                    if timeout is not None and now - began > timeout:
                        raise TimeoutError(f"{self.folder}: peers run after {timeout} seconds")
                    if bar.callback is not None and now - looked > 0.5:
                        looked = now
                        self._show(bar)
                    time.sleep(0.02)
        except KeyboardInterrupt:
            self.stop()
            raise
        code, text = self._process.returncode, self._end()
        if code != 0:
            raise _core.Error(_without_program(text))

    def stop(self) -> None:
        """Ends the peers; each keeps its state and goes on from it after the next start()."""
        if not self.running:
            return
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(_seconds_to_end)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._end()

    @property
    def models(self) -> dict[str, dict[str, Any]]:
        """The models of the peers that have one, by name: as `grove predict` reads them."""
        return {file.parent.parent.name: json.loads(file.read_text(encoding="utf-8"))
                for file in sorted(self.folder.glob("*/state/model.json"))}

    def __enter__(self) -> Network:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.stop()

    def _show(self, bar: Progress) -> None:
        status = self.status()
        ended = int((status["phase"] == "converged").sum())
        residual = status["network_residual"].max()
        bar.show(ended, len(status), f"{ended} of {len(status)} peers converged, "
                 f"residual {residual:.1e}")

    def _end(self) -> str:
        assert self._process is not None and self._process.stderr is not None
        self._process.wait()
        text = self._process.stderr.read()
        self._process.stderr.close()
        self._process = None
        return text

    def _run(self, action: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([self._program, "network", action, *arguments], text=True,
                              capture_output=True)

    def _ask(self, action: str, *arguments: str) -> None:
        done = self._run(action, *arguments)
        if done.returncode != 0:
            raise _core.Error(_without_program(done.stderr))


def _find_program(given: Optional[Path]) -> str:
    beside = pathlib.Path(__file__).resolve().parent.parent.parent / "grove"
    found = given or (beside if os.access(beside, os.X_OK) and beside.is_file() else None)
    program = shutil.which(str(found or "grove"))
    if program is None:
        raise _core.Error("program: expected the program grove "
                          f"{'at ' + str(given) if given else 'on PATH'}, found none")
    return program


def _arguments(texts: dict[str, str]) -> list[str]:
    """Switches are given or left out."""
    arguments = []
    for name, text in texts.items():
        if text != "false":
            arguments += [f"--{name}"] if text == "true" else [f"--{name}", text]
    return arguments


def _without_program(text: str) -> str:
    lines = [line[len("grove: "):] if line.startswith("grove: ") else line
             for line in text.strip().splitlines()]
    return "\n".join(lines)
