"""The words of shell text: quotes, comments, continued lines and arrays, before any expansion.

The grammar is that of bash as launch scripts use it. Nothing is run.
"""

from __future__ import annotations

import re
from dataclasses import field

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.frameworks.reading.shell.expansion.brackets import (
    DOCUMENT,
    escaped,
    past_brackets,
    past_index,
)

_ARRAY = re.compile(r"[A-Za-z_]\w*\+?=")
_REDIRECTION = re.compile(r"[0-9]*>&[0-9-]|&>>?")
_LAYOUT = re.compile(r"E[tm*0-9|(),]*L(?=\s|$)")  # a pipeline's layout that lost its quotes
_ESCAPING = re.compile(r"\$'((?:\\.|[^'\\])*)'", re.DOTALL)
_NAMED = re.compile(r"[A-Za-z_]\w*\[")
_IS = re.compile(r"\+?=")
_MAY_ASSIGN = re.compile(
    r"[A-Za-z_]\w*(?:\[.*\])?\+?=|-|export$|local$|declare$|readonly$|typeset$"
)
_MOST_BEFORE = 64
_FROM_COMMANDS = ("<(", ">(")
_QUOTE = re.compile(r"(\$\((?:[^()]|\([^()]*\))*\)|\\[$`\\])|\\([\"}])|\"")
_OUTPUT = re.compile(
    r"""(?:`[^`]*`|\$\((?:'[^']*'|"[^"]*"|\((?:[^()]|\([^()]*\))*\)|[^()'"])*\)|\S)+"""
)
_ORDINARY = re.compile(r"""[^ \t\r\n;&|()'"$`\\<>]+""")  # ends no word, and begins nothing
_ENDS_OF_CASES = (")", ";;")
_BEFORE_SUMS = ("if", "elif", "while", "until", "for", "then", "else", "do", "!")
_SEPARATORS = (";;&", ";;", ";&", "&&", "||", "|&", "\n", ";", "&", "|", "(", ")")
_SIGNS = frozenset("".join(_SEPARATORS))


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a word: its text, whether it stands in quotes, whether variables expand in it."""

    text: str
    quoted: bool
    expands: bool


Word = tuple[Part, ...]


@dataclass(slots=True)
class Statement:
    """A simple command, an assignment of an array, or a word of control.

    Attributes:
        line: Where it starts, from 1.
        words: Its words.
        array: Name of the array, with `=` or `+=`, whose elements the words are; else empty.
        joint: What separates it from the one before: a sign or a line's end.
        opens, closes: Whether a parenthesis opens or closes before it.
        before: All signs between it and the one before.
        after: Those behind it, where it is the last one.
        document: Lines that are its standard input (`<<EOF`); None: there are none.
    """

    line: int
    words: list[Word] = field(default_factory=list)
    array: str = ""
    joint: str = "\n"
    opens: bool = False
    closes: bool = False
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    document: Part | None = None


def apart(text: str) -> list[str]:
    """The words of a value at its blanks; the output of a command, which is not known, stays whole.

    >>> apart("--tp $(nvidia-smi -L | wc -l) --pp 2")
    ['--tp', '$(nvidia-smi -L | wc -l)', '--pp', '2']
    """
    return _OUTPUT.findall(text)


class Lexer:
    """Reads a text once, from its start; `comments` holds the lines after `#`."""

    def __init__(self, text: str, name: str, *, whole: bool = False) -> None:
        self._whole = whole  # one word, whatever stands in it
        self.text, self.name = text.replace("\r\n", "\n"), name
        self.at = 0
        self.line = 1
        self.comments: list[str] = []
        self._documents: list[tuple[Statement, str, bool, bool]] = []
        self._tests = False  # between [[ and ]], where signs are words

    def statements(self) -> list[Statement]:
        """All statements in order.

        Raises:
            InputError: A quote or a parenthesis is not closed.
        """
        found: list[Statement] = []
        now = Statement(self.line)
        while self._skip_blanks():
            if self._is_sum(now):
                now.words += self._sum()
                continue
            if sign := self._separator():
                self._tests = False
                if now.words:
                    found.append(now)
                self._advance(len(sign))
                if sign == "\n":
                    self._read_documents()
                now = self._after(now, sign)
                continue
            if match := self._document():
                self._documents.append((now, match[3], not match[2], bool(match[1])))
                self._advance(len(match[0]))
                continue
            match = _ARRAY.match(self.text, self.at)
            if match and self.text[match.end() : match.end() + 1] == "(":
                array = self._array(match[0], now)
                found += [now, array] if now.words else [array]
                now = Statement(self.line)
                continue
            if not now.words:
                now.line = self.line
            now.words.append(self._bracket(now) or self._element(now) or self.word())
            self._tests = (self._tests or bare(now.words[-1]) == "[[") and (
                bare(now.words[-1]) != "]]"
            )
        return self._ended(found, now)

    @staticmethod
    def _ended(found: list[Statement], now: Statement) -> list[Statement]:
        if found and not now.words:
            found[-1].after = now.before
        return [*found, now] if now.words else found

    def _after(self, now: Statement, sign: str) -> Statement:
        """The statement that a sign begins; one without words hands on what stands before it."""
        kept = now.joint if not now.words and now.joint in _ENDS_OF_CASES else sign
        empty = not now.words
        return Statement(
            self.line,
            joint=kept if sign == "\n" else sign,
            opens=sign == "(" or (empty and now.opens and sign == "\n"),
            closes=sign == ")" or (empty and now.closes),
            before=(*(now.before if empty else ()), sign),
        )

    def _is_sum(self, now: Statement) -> bool:
        """Whether `((` begins a command here."""
        opens = self.text.startswith("((", self.at)
        return opens and all(bare(word) in _BEFORE_SUMS for word in now.words)

    def _bracket(self, now: Statement) -> Word:
        """A bracket of a test; else nothing."""
        sign = self.text[self.at]
        if not self._tests or sign not in "()" or (sign == "(" and bare(now.words[-1]) == "=~"):
            return ()
        self._advance(1)
        return (Part(sign, False, False),)

    def _element(self, now: Statement) -> Word:
        """`A[...]=` with its value, where an assignment may stand; else nothing.

        What stands between the brackets stays as it is written, blanks too.
        """
        match = _NAMED.match(self.text, self.at)
        if match is None or not all(map(_may_assign, now.words[:_MOST_BEFORE])):
            return ()
        close = past_index(self.text, match.end() - 1)
        sign = close and _IS.match(self.text, close + 1)
        if not sign or self.text[sign.end() : sign.end() + 1] == "(":
            return ()
        head = self.text[self.at : sign.end()]
        self._advance(len(head))
        more = self.at < len(self.text) and not self._ends_word()
        return (Part(head, False, False), *(self.word() if more else ()))

    def _sum(self) -> list[Word]:
        """`((`, and what stands up to `))`, as two words."""
        end = past_brackets(self.text, self.at, self._place)
        if end is None or self.text[end - 1] != ")":
            raise self._open("the bracket (", self.line)
        inner = self.text[self.at + 2 : end - 1]
        self._advance(end + 1 - self.at)
        return [(Part("((", False, False),), (Part(inner, True, True),)]

    def _document(self) -> re.Match[str] | None:
        """`<<` with the word that ends a document; not `<<<`."""
        return DOCUMENT.match(self.text, self.at)

    def _read_documents(self) -> None:
        """Takes the lines after a command as its documents, up to the words that end them."""
        for statement, end, expands, indented in self._documents:
            lines = []
            while self.at < len(self.text):
                stop = self.text.find("\n", self.at)
                stop = len(self.text) if stop < 0 else stop
                line = self.text[self.at : stop]
                self._advance(min(stop + 1, len(self.text)) - self.at)
                line = line.lstrip("\t") if indented else line
                if line == end:
                    break
                lines.append(line)
            text = "\n".join(lines)
            statement.document = Part(text.replace("\\\n", "") if expands else text, True, expands)
        self._documents.clear()

    def _advance(self, count: int) -> None:
        self.line += self.text.count("\n", self.at, self.at + count)
        self.at += count

    def _skip_blanks(self, newlines: bool = False) -> bool:
        """Goes to what is next; False at the end of the text."""
        blanks = " \t\r\n" if newlines else " \t\r"
        while self.at < len(self.text):
            if self.text.startswith("\\\n", self.at):
                self._advance(2)
            elif self.text[self.at] in blanks:
                self._advance(1)
            elif self.text[self.at] == "#":
                end = self.text.find("\n", self.at)
                end = len(self.text) if end < 0 else end
                self.comments.append(self.text[self.at + 1 : end])
                self.at = end
            else:
                return True
        return False

    def _separator(self) -> str:
        if self.text[self.at] not in _SIGNS or _REDIRECTION.match(self.text, self.at):
            return ""
        if self._tests and self.text[self.at] not in ";\n":
            return ""
        return next((sign for sign in _SEPARATORS if self.text.startswith(sign, self.at)), "")

    def _array(self, head: str, now: Statement) -> Statement:
        statement = Statement(self.line, array=head)
        if not now.words:
            statement.joint, statement.before = now.joint, now.before
            statement.opens, statement.closes = now.opens, now.closes
        start = self.line
        self._advance(len(head) + 1)
        while self._skip_blanks(newlines=True):
            if self.text[self.at] == ")":
                self._advance(1)
                return statement
            if self._separator():  # a sign that bash refuses here
                break
            statement.words.append(self.word())
        raise self._open("the parenthesis", start)

    @property
    def _place(self) -> str:
        return f"{self.name}: line {self.line}"

    def _open(self, what: str, line: int) -> InputError:
        return InputError(f"{self.name}: line {line}: {what} is not closed")

    def word(self) -> Word:
        """The parts of a word, up to its end."""
        if match := _LAYOUT.match(self.text, self.at):
            self._advance(len(match[0]))
            return (Part(match[0], True, False),)
        parts: list[Part] = []
        while self.at < len(self.text) and not self._ends_word():
            char = self.text[self.at]
            if match := _ESCAPING.match(self.text, self.at):
                self._advance(len(match[0]))
                parts.append(Part(escaped(match[1]), True, False))
            elif char == "'":
                parts.append(self._quoted_plainly())
            elif char == '"' or self.text.startswith('$"', self.at):
                self.at += char == "$"
                parts.append(self._quoted())
            elif char == "\\":
                parts.append(self._escape())
            else:
                parts.append(self._plain())
        return tuple(parts)

    def _ends_word(self) -> bool:
        if self._whole:
            return False
        if self._tests and self.text[self.at] == ")":
            return True
        return self.text[self.at] in " \t\r" or bool(self._separator())

    def _quoted_plainly(self) -> Part:
        end = self.text.find("'", self.at + 1)
        if end < 0:
            raise self._open("the quote '", self.line)
        part = Part(self.text[self.at + 1 : end], True, False)
        self._advance(end + 1 - self.at)
        return part

    def _quoted(self) -> Part:
        r"""Between double quotes; `\\"` is a quote, other escapes stay as they are written."""
        start, line = self.at + 1, self.line
        at, last = start, start
        found: list[str] = []
        while at < len(self.text) and self.text[at] != '"':
            if self.text[at] == "$":
                at = self._past_expansion(at)
            elif self.text[at] == "`":
                at = max(self.text.find("`", at + 1), at)
            elif self.text[at] == "\\":
                if self.text[at + 1 : at + 2] in ('"', "\n"):
                    found.append(self.text[last:at] + self.text[at + 1 : at + 2].strip("\n"))
                    last = at + 2
                at += 1
            at += 1
        if at >= len(self.text):
            raise self._open('the quote "', line)
        text = "".join(found) + self.text[last:at]
        self._advance(at + 1 - self.at)
        return Part(text, True, True)

    def _escape(self) -> Part:
        """A letter behind a backslash."""
        found = self.text[self.at + 1 : self.at + 2]
        self._advance(min(2, len(self.text) - self.at))
        return Part("" if found == "\n" else found, found != "\n", False)

    def _plain(self) -> Part:
        """Up to a quote or the end of the word; `$(...)` and `${...}` whole."""
        start = self.at
        found: list[str] = []
        if not self._whole and (match := _REDIRECTION.match(self.text, self.at)):
            self._advance(len(match[0]))
            return Part(match[0], False, False)
        while self.at < len(self.text) and self.text[self.at] not in "'\"\\":
            char = self.text[self.at]
            if match := _ORDINARY.match(self.text, self.at):
                end = match.end()
            elif _ESCAPING.match(self.text, self.at) or self.text.startswith('$"', self.at):
                break
            elif char == "$" or self.text.startswith(_FROM_COMMANDS, self.at):
                end = self._past_expansion(self.at) + 1
            elif char == "`":
                end = self.text.find("`", self.at + 1) + 1
                if not end:
                    raise self._open("the quote `", self.line)
            elif self._extended(found):
                end = (past_brackets(self.text, self.at, self._place) or self.at) + 1
            elif self._ends_word():
                break
            else:
                end = self.at + 1
            found.append(self.text[self.at : end])
            self._advance(end - self.at)
        assert self.at > start
        return Part("".join(found), False, True)

    def _extended(self, found: list[str]) -> bool:
        """Whether the bracket of `@(a|b)` begins here."""
        before = "".join(found[-1:])[-1:]
        opens = self.text[self.at] == "(" and not self._whole
        return opens and (self._tests or before in tuple("@?*+!"))

    def _past_expansion(self, at: int) -> int:
        """The last character of what `$` starts, where it has brackets; else the `$`."""
        if self.text[at + 1 : at + 2] not in ("(", "{"):
            return at
        end = past_brackets(self.text, at + 1, self._place)
        if end is None:
            raise self._open(f"the bracket {self.text[at + 1]}", self.line)
        return end


def parts_of(text: str, name: str, *, within: bool = False) -> Word:
    """What stands within `${...}`, as the parts of one word.

    Args:
        text: As it is written.
        name: What messages call the text.
        within: Whether it stands within double quotes, which then end and begin in it.
    """
    if not within:
        return Lexer(text, name, whole=True).word() if text else ()
    return (Part(_QUOTE.sub(lambda match: match[1] or match[2] or "", text), True, True),)


def _may_assign(word: Word) -> bool:
    """Whether an assignment may follow a word."""
    return not word[0].quoted and bool(_MAY_ASSIGN.match(word[0].text))


def bare(word: Word) -> str:
    """A word without quotes or expansions; of others nothing."""
    return word[0].text if len(word) == 1 and not word[0].quoted else ""
