"""Methods, losses, regularizers and graphs of one's own, for research.

What is written in Python is called in every round, or for every sample of every evaluation: it is
slow beside what is built in. A run with such a part has one thread unless `threads` says otherwise.
"""
from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._core import AgentContext, Error

Vector = NDArray[np.float64]


class _Named:
    """The name under which records show a part: that of its class unless it has another."""

    name: str

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        if "name" not in cls.__dict__:
            cls.name = cls.__name__


class Agent(_Named):
    """One agent of a method. A run makes one object of the class for every agent.

    In a round every active agent is activated, its messages are delivered, and the round is ended
    at all agents. `x` is the agent's estimate, `received` what neighbours sent last, by slot.
    """

    needs_everyone: bool = True  # refuses partial participation
    only_uses_gradients: bool = True  # rounds grow with the condition number

    def __init__(self, context: AgentContext) -> None:
        self.context = context
        self.x: Vector = context.start
        self.received: list[Vector] = [context.start for _ in context.neighbours]

    def activate(self, round: int) -> None:
        """Computes a new `x` from the agent's own data and `received`."""
        raise NotImplementedError

    def message_to(self, slot: int) -> Vector:
        """What the neighbour in this slot is sent after an activation: as many numbers as x has."""
        return self.x

    def receive(self, slot: int, vector: Vector) -> None:
        """Takes the message of the neighbour in this slot."""
        self.received[slot] = vector

    def end_round(self) -> None:
        """Called in every round, also where the agent was not active."""


class Loss(_Named):
    """A loss of one sample: convex in the margin, with two derivatives but for kinks of the slope.

    `max_second_derivative` bounds the second derivative. With `classification` targets are 0 and 1.
    """

    max_second_derivative: float
    classification: bool = False

    def at(self, margin: float, target: float) -> tuple[float, float, float]:
        """Value, slope and second derivative by the margin."""
        raise NotImplementedError


class Regularizer(_Named):
    """A convex r, which sees the coefficients without the intercept."""

    def value(self, x: Vector) -> float:
        """r(x)"""
        raise NotImplementedError

    def prox(self, step: float, v: Vector) -> Vector:
        """argmin_u r(u) + |u - v|^2 / (2 step)"""
        raise NotImplementedError


def part_of(option: str, value: Any) -> tuple[str, Any]:
    """The name under which the option takes a part, and the part as the library takes it."""
    if option == "graph":
        return "edges", _links(value)
    if option == "method":
        good = isinstance(value, type) and issubclass(value, Agent)
        expected = "a name or a class derived from grove.Agent"
    else:
        kind = Loss if option == "loss" else Regularizer
        good = isinstance(value, kind)
        expected = f"a name or an object of a class derived from grove.{kind.__name__}"
    if not good:
        raise Error(f"--{option}: expected {expected}, found {value!r}")
    if option == "loss" and not hasattr(value, "max_second_derivative"):
        raise Error(f"--loss: {value.name} has no max_second_derivative; expected a number that no "
                    "second derivative exceeds")
    return value.name, value


def _links(graph: Any) -> tuple[int, list[tuple[int, int]]]:
    """The number of agents and the links of a networkx graph or of an iterable of pairs.

    The nodes of a networkx graph are the agents, in the order of `graph.nodes`. Attributes of its
    links are not used.
    """
    expected = "--graph: expected a name, a networkx graph or pairs of agents"
    if hasattr(graph, "nodes") and hasattr(graph, "edges"):
        if graph.is_directed():
            raise Error("--graph: links are undirected; expected a networkx graph without "
                        "directions, found one with")
        number = {node: k for k, node in enumerate(graph.nodes)}
        return len(number), [(number[link[0]], number[link[1]]) for link in graph.edges]
    try:
        links = [(int(i), int(j)) for i, j in graph]
    except (TypeError, ValueError):
        raise Error(f"{expected}, found {graph!r}") from None
    if any(i < 0 or j < 0 for i, j in links):
        raise Error(f"{expected} from 0, found a negative number")
    return 1 + max((max(link) for link in links), default=0), links
