"""What `if`, `case`, loops, functions and braces of shell text hold, as a tree."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from frozen_records import dataclass
from planner.frameworks.reading.shell.words import DEEPEST_NESTING, Statement, Word, bare, too_deep

_NAME = re.compile(r"[A-Za-z_][\w:-]*")
_LOOPS = ("for", "while", "until", "select")
_DROPPED = ("then", "do", "else", "elif", "fi", "done", "}", "esac", "time")


@dataclass(frozen=True, slots=True)
class Node:
    """A part of the text.

    Attributes:
        line: Where it starts, from 1.
        joint: What separates it from the part before.
    """

    line: int
    joint: str


Body = tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Simple(Node):
    """A simple command or an assignment."""

    statement: Statement


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
    """A word, and patterns with what they choose."""

    word: Word
    arms: tuple[tuple[tuple[Word, ...], Body], ...]


@dataclass(frozen=True, slots=True)
class Function(Node):
    """A function."""

    name: str
    body: Body


def blocks(statements: Sequence[Statement], name: str) -> Body:
    """The tree of a text; what is not closed ends with it.

    Raises:
        InputError: It is nested deeper than any script; `name` is what the message calls it.
    """
    parser = _Parser([one for one in statements if one.words or one.array], name)
    return parser.body(())


class _Parser:
    def __init__(self, statements: list[Statement], name: str) -> None:
        self.statements, self.name = statements, name
        self.at = 0
        self.depth = 0
        self.open = 0

    @property
    def now(self) -> Statement | None:
        return self.statements[self.at] if self.at < len(self.statements) else None

    def first(self, ahead: int = 0) -> str:
        """The first word of a statement, if it has no quotes."""
        at = self.at + ahead
        if at >= len(self.statements) or self.statements[at].array:
            return ""
        words = self.statements[at].words
        return bare(words[0]) if words else ""

    def drop(self) -> None:
        """Takes the first word off; a statement without any is done."""
        now = self.now
        if now is not None:
            now.words.pop(0)
            now.joint, now.closes = "\n", False
            self.at += not now.words

    def end(self, word: str) -> None:
        """Goes past the word that ends something, with the files that it is given."""
        if self.first() == word:
            self.at += 1

    def body(self, ends: Sequence[str], arm: bool = False) -> Body:
        """Parts up to a word; `arm`: of a `case`, also up to `;;`."""
        found: list[Node] = []
        fresh = True
        while (now := self.now) is not None and self.first() not in ends:
            if arm and not fresh and now.joint == ";;":
                break
            if self.open and now.closes and not (arm and fresh):
                break
            if arm and fresh:
                now.joint, now.closes = "\n", False
            fresh = False
            found.append(self.node(now))
        return tuple(found)

    def node(self, now: Statement) -> Node:
        self.depth += 1
        if self.depth > DEEPEST_NESTING:
            raise too_deep(f"{self.name}: line {now.line}", "a block")
        node = self._node(now, now.line, now.joint)
        self.depth -= 1
        return node

    def _subshell(self, now: Statement, line: int, joint: str) -> Node:
        """What stands up to a parenthesis that closes; the statement behind it is the next."""
        now.opens, now.joint = False, "\n"
        self.open += 1
        body = self.body(())
        self.open -= 1
        if self.now is not None:
            self.now.closes = False
        return Subshell(line, "\n" if joint == "(" else joint, body)

    def _node(self, now: Statement, line: int, joint: str) -> Node:
        if now.opens:
            return self._subshell(now, line, joint)
        while (first := self.first()) in _DROPPED:
            self.drop()
            if self.now is not now:
                return Group(line, joint, ())
        if first == "if" or first in _LOOPS:
            own = self._if if first == "if" else self._loop
            return own(now, line, joint)
        if first == "case" and len(now.words) > 2:
            return self._case(now, line, joint)
        name = "" if first == "{" else self._function(now)
        if name or first == "{":
            self.drop()
            body = self.body(("}",))
            self.end("}")
            return Function(line, joint, name, body) if name else Group(line, joint, body)
        self.at += 1
        return Simple(line, joint, now)

    def _function(self, now: Statement) -> str:
        """The name of a function that begins here, before whose brace it goes; else empty."""
        words = [bare(word) for word in now.words[:3]]
        following = self.first(1) == "{"
        if now.array or not words:
            return ""
        if words[0] == "function" and (words[2:] == ["{"] or (following and len(words) == 2)):
            for _ in range(2):
                self.drop()
            return words[1]
        joined = following and self.statements[self.at + 1].joint == ")"
        if len(now.words) == 1 and _NAME.fullmatch(words[0]) and joined:
            self.drop()
            return words[0]
        return ""

    def _if(self, now: Statement, line: int, joint: str) -> Node:
        arms: list[tuple[Body | None, Body]] = []
        while self.first() in ("if", "elif"):
            self.drop()
            condition = self.body(("then", "fi"))
            if self.first() == "then":
                self.drop()
            arms.append((condition, self.body(("elif", "else", "fi"))))
        if self.first() == "else":
            self.drop()
            arms.append((None, self.body(("fi",))))
        self.end("fi")
        return If(line, joint, tuple(arms))

    def _loop(self, now: Statement, line: int, joint: str) -> Node:
        word = self.first()
        if word in ("for", "select"):
            self.at += 1
            head: Body = (Simple(line, joint, now),)
        else:
            self.drop()
            head = self.body(("do", "done"))
        if self.first() == "do":
            self.drop()
        body = self.body(("done",))
        self.end("done")
        return Loop(line, joint, word, head, body)

    def _case(self, now: Statement, line: int, joint: str) -> Case:
        word, patterns = now.words[1], now.words[3:]
        arms: list[tuple[tuple[Word, ...], Body]] = []
        self.at += 1
        while (following := self.now) is not None:
            if patterns and following.joint in (")", ";;"):
                body = self.body(("esac",), arm=True) if following.joint == ")" else ()
                arms.append((tuple(patterns), body))
                patterns = []
            elif self.first() == "esac":
                break
            else:
                patterns += following.words
                self.at += 1
        self.end("esac")
        return Case(line, joint, word, tuple(arms))


def statements_outside(nodes: Body) -> Iterator[Statement]:
    """The statements of a text that stand in no function."""
    for node in nodes:
        if isinstance(node, Simple):
            yield node.statement
        elif isinstance(node, Group):
            yield from statements_outside(node.body)
        elif isinstance(node, Loop):
            yield from statements_outside((*node.head, *node.body))
        elif isinstance(node, If | Case):
            yield Statement(node.line, [node.word] if isinstance(node, Case) else [])
            for first, body in node.arms:
                condition = first if isinstance(node, If) else None
                yield from statements_outside((*(condition or ()), *body))
