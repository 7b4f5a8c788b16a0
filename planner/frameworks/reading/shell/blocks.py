"""Takes shell text apart into its tree: see `steps.nodes`.

What is not closed ends with the text, and signs that close nothing are passed over: what people
paste is often a part of a script.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import field, replace

from frozen_records import dataclass
from planner.frameworks.reading.shell.expansion.brackets import DEEPEST_NESTING, too_deep
from planner.frameworks.reading.shell.steps.nodes import (
    Background,
    Body,
    Case,
    Chain,
    Function,
    Group,
    If,
    Loop,
    Node,
    Pipeline,
    Redirected,
    Simple,
    Subshell,
)
from planner.frameworks.reading.shell.words import Statement, Word, bare

REDIRECTION = re.compile(
    r"(?P<of>[0-9]*|\{\w+\})(?P<sign><<<|<>|<&|>>|>\||>&|[<>](?!\()|&>>?)(?P<to>.*)", re.DOTALL
)
"""A file that a command reads or writes, up to its name."""
_NAME = re.compile(r"[A-Za-z_][\w:.-]*")
_LOOPS = ("for", "while", "until", "select")
_STRAY = ("then", "do", "else", "elif", "fi", "done", "}", "esac")
_ENDS_OF_ARMS = (";;", ";&", ";;&")
_COMPOUND = ("{", "if", "case", "[[", "((", *_LOOPS)


def blocks(statements: Sequence[Statement], name: str) -> Body:
    """The tree of a text.

    Raises:
        InputError: It is nested deeper than any script; `name` is what the message calls it.
    """
    return _Parser(statements, name).body(())


@dataclass(slots=True)
class _Token:
    """A sign between commands, a word, or an array with its statement."""

    sign: str
    statement: Statement
    word: Word = field(default_factory=tuple)

    @property
    def bare(self) -> str:
        return bare(self.word) if self.word else ""


def _tokens(statements: Sequence[Statement]) -> Iterator[_Token]:
    for one in statements:
        yield from (_Token(sign, one) for sign in one.before)
        if one.array:
            yield _Token("", one)
        else:
            yield from (_Token("", one, word) for word in one.words)
    if statements:
        yield from (_Token(sign, statements[-1]) for sign in statements[-1].after)


class _Parser:
    def __init__(self, statements: Sequence[Statement], name: str) -> None:
        self.tokens, self.name = [*_tokens(statements)], name
        self.signs = [*(one.sign for one in self.tokens), ""]
        self.firsts = [*(one.bare for one in self.tokens), ""]
        self.at = self.depth = self.parentheses = self.cases = 0

    @property
    def now(self) -> _Token | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    @property
    def line(self) -> int:
        return self.now.statement.line if self.now is not None else 0

    @property
    def sign(self) -> str:
        return self.signs[min(self.at, len(self.tokens))]

    @property
    def first(self) -> str:
        """The next word, if it is one without quotes."""
        return self.firsts[min(self.at, len(self.tokens))]

    def takes(self, *words: str) -> bool:
        if (self.first or self.sign or None) in words:
            self.at += 1
            return True
        return False

    def skip_lines(self) -> None:
        while self.takes("\n"):
            pass

    def body(self, ends: Sequence[str]) -> Body:
        """Parts up to a word, or to a sign that ends what it stands in."""
        found: list[Node] = []
        while (now := self.now) is not None:
            closes = now.sign == ")" and self.parentheses
            if closes or (now.sign in _ENDS_OF_ARMS and self.cases) or self.first in ends:
                break
            if (now.sign and now.sign != "(") or self.first in _STRAY:
                self.at += 1
            else:
                found.append(self.listed())
        return tuple(found)

    def listed(self) -> Node:
        """What `&&` and `||` join, up to another sign."""
        line = self.line
        parts = [("", self.pipeline())]
        while self.sign in ("&&", "||"):
            sign = self.sign
            self.at += 1
            self.skip_lines()
            parts.append((sign, self.pipeline()))
        node = parts[0][1] if len(parts) == 1 else Chain(line, tuple(parts))
        return Background(line, node) if self.takes("&") else node

    def pipeline(self) -> Node:
        line, negated = self.line, False
        while (first := self.first) in ("!", "time"):
            negated ^= first == "!"
            self.at += 1
            while first == "time" and self.takes("-p", "--"):
                pass
        parts = [self.command()]
        while self.takes("|", "|&"):
            self.skip_lines()
            parts.append(self.command())
        return parts[0] if len(parts) == 1 and not negated else Pipeline(
            line, tuple(parts), negated
        )  # fmt: skip

    def command(self) -> Node:
        """One command; an empty group where there is none."""
        self.depth += 1
        if self.depth > DEEPEST_NESTING:
            raise too_deep(f"{self.name}: line {self.line}", "a block")
        node = self._command(self.line)
        self.depth -= 1
        return node

    def _command(self, line: int) -> Node:
        if self.sign == "(":
            return self.redirected(self.subshell())
        if self.now is None or self.sign or self.first in _STRAY:
            return Group(line, ())
        if self.first == "{":
            self.at += 1
            body = self.body(("}",))
            self.takes("}")
            return self.redirected(Group(line, body))
        if self.first in ("if", "case", *_LOOPS):
            own = {"if": self._if, "case": self._case}.get(self.first, self._loop)
            return self.redirected(own(line))
        if self.first == "coproc":
            return self._coproc(line)
        name = self._function()
        return Function(line, name, (self.command(),)) if name else self._simple(line)

    def subshell(self) -> Node:
        line = self.line
        self.at += 1
        self.parentheses, cases, self.cases = self.parentheses + 1, self.cases, 0
        body = self.body(())
        self.parentheses, self.cases = self.parentheses - 1, cases
        self.takes(")")
        return Subshell(line, body)

    def redirected(self, node: Node) -> Node:
        """A block with the files behind it."""
        words: list[Word] = []
        last, closing = self.tokens[self.at - 1].statement, self.tokens[self.at - 1].bare
        while (now := self.now) is not None and not now.sign and now.word:
            match = None if now.word[0].quoted else REDIRECTION.match(now.word[0].text)
            if match is None:
                break
            last = now.statement
            alone = len(now.word) == 1 and not match["to"]
            words += [one.word for one in self.tokens[self.at : self.at + 1 + alone]]
            self.at += 1 + alone
        document = last.document if words or closing in _STRAY else None
        if not words and document is None:
            return node
        return Redirected(node.line, node, Statement(node.line, words, document=document))

    def _coproc(self, line: int) -> Node:
        self.at += 1
        following = self.tokens[self.at + 1] if self.at + 1 < len(self.tokens) else None
        named = following is not None and (following.bare in _COMPOUND or following.sign == "(")
        name = self.first if named and self.first not in _COMPOUND else ""
        self.at += bool(name)
        return Background(line, self.command(), name or "COPROC")

    def _function(self) -> str:
        """The name of a function that begins here, before whose body it goes; else empty."""
        after = self.tokens[self.at + 1 : self.at + 4]
        words = self.first == "function" and bool(after) and not after[0].sign
        name = after[0].bare if words else self.first
        signs = [one.sign for one in after[words : words + 2]]
        if not (words or (signs == ["(", ")"] and _NAME.fullmatch(name))) or not name:
            return ""
        self.at += 1 + words + 2 * (signs == ["(", ")"])
        self.skip_lines()
        return name

    def _simple(self, line: int) -> Node:
        """Words up to a sign, and arrays before or among them."""
        found: list[Node] = []
        while (now := self.now) is not None and not now.sign and not now.word:
            found.append(Simple(now.statement.line, now.statement))
            self.at += 1
        words: list[Word] = []
        arrays: list[Statement] = []
        statement: Statement | None = None
        while (now := self.now) is not None and not now.sign:
            if now.word:
                words.append(now.word)
                statement = now.statement
            else:
                arrays.append(now.statement)
            self.at += 1
        if statement is not None:
            whole = words if len(words) != len(statement.words) else statement.words
            found.append(Simple(line, replace(statement, words=whole), tuple(arrays)))
        return found[0] if len(found) == 1 else Group(line, tuple(found))

    def _if(self, line: int) -> Node:
        arms: list[tuple[Body | None, Body]] = []
        while self.takes("if", "elif"):
            condition = self.body(("then", "fi"))
            self.takes("then")
            arms.append((condition, self.body(("elif", "else", "fi"))))
        if self.takes("else"):
            arms.append((None, self.body(("fi",))))
        self.takes("fi")
        return If(line, tuple(arms))

    def _loop(self, line: int) -> Node:
        word = self.first
        if word in ("for", "select"):
            head: Body = (self._head(line),)
        else:
            self.at += 1
            head = self.body(("do", "done"))
        while self.takes("\n", ";"):
            pass
        end = "}" if self.takes("{") else "done"
        self.takes("do")
        body = self.body((end,))
        self.takes(end)
        return Loop(line, word, head, body)

    def _head(self, line: int) -> Node:
        """Of `for`: itself, the variable, `in`, and what it goes through."""
        words: list[Word] = []
        while (now := self.now) is not None and not now.sign and now.word:
            bare_sum = len(words) == 3 and bare(words[1]) == "(("
            if now.bare in ("do", "{") and (len(words) == 2 or bare_sum):
                break
            words.append(now.word)
            self.at += 1
            if len(words) == 2 and bare(words[1]) != "((":
                self._in_of_next_line()
        return Simple(line, Statement(line, words))

    def _in_of_next_line(self) -> None:
        at = self.at
        self.skip_lines()
        self.at = self.at if self.first == "in" else at

    def _case(self, line: int) -> Node:
        self.at += 1
        word = self.now.word if self.now is not None and self.now.word else None
        if word is None or self.sign:
            return Group(line, ())
        self.at += 1
        self.skip_lines()
        self.takes("in")
        arms = []
        while (arm := self._arm()) is not None:
            arms.append(arm)
        self.takes("esac")
        return Case(line, word, tuple(arms))

    def _arm(self) -> tuple[tuple[Word, ...], Body, str] | None:
        """The next patterns of a `case`; None: it ends."""
        while self.takes("\n", ";", "(", *_ENDS_OF_ARMS):
            pass
        if self.first == "esac":
            return None
        patterns: list[Word] = []
        while (now := self.now) is not None and now.sign != ")":
            patterns += [now.word] if now.word else []
            self.at += 1
        if now is None:
            return None
        self.at += 1
        self.cases += 1
        body = self.body(("esac",))
        self.cases -= 1
        end = self.sign if self.sign in _ENDS_OF_ARMS else ";;"
        self.takes(end)
        return tuple(patterns), body, end
