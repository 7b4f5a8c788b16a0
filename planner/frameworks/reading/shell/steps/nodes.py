"""The tree of shell text: lists, pipelines, `if`, `case`, loops, functions and brackets."""

from __future__ import annotations

from collections.abc import Iterator

from frozen_records import dataclass
from planner.frameworks.reading.shell.words import Statement, Word


@dataclass(frozen=True, slots=True)
class Node:
    """A part of the text; `line`: where it starts, from 1."""

    line: int


Body = tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Simple(Node):
    """A simple command or an assignment; `arrays`: those that it declares."""

    statement: Statement
    arrays: tuple[Statement, ...] = ()


@dataclass(frozen=True, slots=True)
class Chain(Node):
    """Parts that `&&` and `||` join, each with the sign before it."""

    parts: tuple[tuple[str, Node], ...]


@dataclass(frozen=True, slots=True)
class Pipeline(Node):
    """Parts, each of which reads what the one before prints; `negated`: after `!`."""

    parts: Body
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Background(Node):
    """What `&` or `coproc` starts beside the rest; `sets`: the array that `coproc` sets."""

    inner: Node
    sets: str = ""


@dataclass(frozen=True, slots=True)
class Redirected(Node):
    """A block with its redirections, as the words and the document of a statement."""

    inner: Node
    files: Statement


@dataclass(frozen=True, slots=True)
class Group(Node):
    """What stands between braces."""

    body: Body


@dataclass(frozen=True, slots=True)
class Subshell(Group):
    """What stands between parentheses, whose variables end with it."""


@dataclass(frozen=True, slots=True)
class If(Node):
    """Conditions, each with what it chooses; None: `else`."""

    arms: tuple[tuple[Body | None, Body], ...]


@dataclass(frozen=True, slots=True)
class Loop(Node):
    """`for`, `while`, ...: its words or its condition, and what it repeats."""

    word: str
    head: Body
    body: Body


@dataclass(frozen=True, slots=True)
class Case(Node):
    """A word, and patterns with what they choose and with the sign behind it."""

    word: Word
    arms: tuple[tuple[tuple[Word, ...], Body, str], ...]


@dataclass(frozen=True, slots=True)
class Function(Node):
    """A function."""

    name: str
    body: Body


def statements_outside(nodes: Body) -> Iterator[Statement]:
    """The statements of a text that stand in no function."""
    for node in nodes:
        if isinstance(node, Simple):
            yield from (node.statement, *node.arrays)
        elif isinstance(node, Case):
            yield Statement(node.line, [node.word])
        if isinstance(node, Redirected):
            yield node.files
        for part in _within(node):
            yield from statements_outside(part)


def _within(node: Node) -> Iterator[Body]:
    """The parts of a node that hold others."""
    if isinstance(node, Group):
        yield node.body
    elif isinstance(node, Loop):
        yield from (node.head, node.body)
    elif isinstance(node, Chain):
        yield tuple(part for _, part in node.parts)
    elif isinstance(node, Pipeline):
        yield node.parts
    elif isinstance(node, Background | Redirected):
        yield (node.inner,)
    elif isinstance(node, If):
        for condition, body in node.arms:
            yield from (condition or (), body)
    elif isinstance(node, Case):
        yield from (body for _, body, _ in node.arms)
