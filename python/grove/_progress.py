"""The progress of a run: one line on a terminal, or in a notebook one output that changes."""
from __future__ import annotations

import html
import sys
from types import TracebackType
from typing import Any, Optional

_width = 20


class Progress:
    """A bar of rounds. It is shown where wanted (None: on a terminal and in a notebook)."""

    def __init__(self, wanted: Optional[bool]) -> None:
        self._notebook = _in_notebook()
        self._wanted = wanted if wanted is not None else self._notebook or sys.stderr.isatty()
        self._handle: Any = None
        self._drawn = False

    @property
    def callback(self) -> Optional["Progress"]:
        """What the library calls with every measured round, ten times a second at most."""
        return self if self._wanted else None

    def __call__(self, round: int, rounds: int, objective: float, stationarity: float,
                 consensus_error: float) -> None:
        self.show(round, rounds, f"round {round} of at most {rounds}, objective {objective:.6g}, "
                  f"stationarity {stationarity:.1e}, consensus error {consensus_error:.1e}")

    def show(self, done: float, all: float, text: str) -> None:
        """Draws `done` of `all`, and a text beside it."""
        if not self._wanted:
            return
        if self._notebook:
            from IPython.display import HTML, display

            bar = HTML(f'<progress value="{done}" max="{all}"></progress> {html.escape(text)}')
            if self._handle is None:
                self._handle = display(bar, display_id=True)
            else:
                self._handle.update(bar)
            return
        self._drawn = True
        filled = round(_width * min(done / all, 1)) if all > 0 else _width
        sys.stderr.write(f"\r\033[K[{'#' * filled}{' ' * (_width - filled)}] {text}")
        sys.stderr.flush()

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        if self._drawn:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()


def _in_notebook() -> bool:
    try:
        shell = get_ipython()  # type: ignore[name-defined]  # defined by IPython only
    except NameError:
        return False
    return bool(shell.__class__.__name__ == "ZMQInteractiveShell")
