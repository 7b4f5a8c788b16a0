"""What shell text comes to: its commands with variables and arrays filled in. Nothing is run.

Variables that the text does not define, arguments that are not given and the output of commands
stay as they are written. Of an `if` and a `case` the branch is taken that known words choose;
branches that cannot be chosen, and loops, are left out with a line that says so. Files that it
sources or starts are read where they lie beside it. Work is bounded: see `_MOST`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import field

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.frameworks.reading.settings import Beside, no_file
from planner.frameworks.reading.shell_cases import Cases
from planner.frameworks.reading.shell_words import Lexer, Part, Statement, Word, apart
from planner.frameworks.reading.slurm import slurm_variables

_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\+?)=")
_DECLARES = ("export", "local", "declare", "readonly", "typeset")
_WHOLE_ARRAY = re.compile(r"\$\{(\w+)\[[@*]\]\}")
_ARGUMENTS = ("$@", "$*", "${@}", "${*}")
_EXPANSION = re.compile(
    r"\$\(\((?P<sum>[^()]*(?:\([^()]*\)[^()]*)*)\)\)|\$\{(?P<braced>\w+)(?P<whole>\[[@*]\])?"
    r"(?::?[-=](?P<default>[^{}]*(?:\$\{[^{}]*\}[^{}]*)*))?\}|\$(?P<name>[A-Za-z_]\w*|[1-9])"
)
_REDIRECTION = re.compile(r"[0-9]*[<>]{1,2}(.*)", re.DOTALL)
_SUM = re.compile(r"[0-9+\-*/% ()]{1,200}")
_LONGEST = 1 << 20  # characters of a value
_MOST = 1 << 24  # characters that all expansions of a text may come to
_LONGEST_TEST = 64  # statements that one condition may have
_DEEPEST = 4  # files that source one another
_SKIPPED = {"for": "done", "while": "done", "until": "done", "case": "esac"}
_SOURCES = ("source", ".")
_INTERPRETERS = ("bash", "sh", "exec")
_PLAIN_WORDS = ("then", "else", "elif", "fi", "do", "done", "{", "}", "!", "time", "exec")


def positional(arguments: Sequence[str]) -> dict[str, str]:
    """Arguments of a script as its variables."""
    return {str(at): text for at, text in enumerate(arguments, 1)}


@dataclass(slots=True)
class Branch:
    """An `if` that is open: whether its present branch is taken, and whether one was."""

    line: int
    active: bool
    taken: bool
    known: bool = True


@dataclass(slots=True)
class Shell:
    """The state of a text that is gone through.

    Attributes:
        name: What messages call the text.
        variables: Values by name; of arrays a list.
        commands: Simple commands, every one a list of words.
        comments: Lines after `#`.
        notes: What was left out, one line each.
        beside: The text of a file that it sources; None where there is none.
        files: Texts that the script writes (`cat <<EOF > NAME`), by name.
        missing: Scripts that it starts and that do not lie beside it.
    """

    name: str
    variables: dict[str, str | list[str]] = field(default_factory=dict)
    commands: list[list[str]] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    beside: Beside = no_file
    files: dict[str, str] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    _branches: list[Branch] = field(default_factory=list)
    _cases: Cases = field(default_factory=Cases)
    _until: str = ""
    _depth: int = 0
    _spent: int = 0

    def read(self, text: str) -> Shell:
        """Goes through a text.

        Raises:
            InputError: A quote or a bracket is not closed, or a value grows beyond all bounds.
        """
        lexer = Lexer(text, self.name)
        statements = lexer.statements()
        self.comments += lexer.comments
        for name, value in slurm_variables(lexer.comments).items():
            self.variables.setdefault(name, value)
        for at, statement in enumerate(statements):
            if not self._controls(statement, statements[at + 1 : at + 1 + _LONGEST_TEST]):
                self._run(statement)
        return self

    @property
    def _active(self) -> bool:
        return not self._until and self._active_outside()

    def _controls(self, statement: Statement, following: list[Statement]) -> bool:
        """Whether a statement is only control; words of control before a command are taken off."""
        if not self._until and self._cases.takes(statement, self._text):
            return True
        while statement.words and not statement.array:
            first = _bare(statement.words[0])
            if self._until:
                self._until = "" if first == self._until else self._until
                return True
            if first in _SKIPPED:
                self._until = _SKIPPED[first]
                if self._active_outside():
                    self._note(statement.line, f"`{first}` and what it repeats or chooses")
                return True
            if first in ("if", "elif"):
                self._choose(first, statement, following)
                return True
            if first == "else" and self._branches:
                branch = self._branches[-1]
                branch.active = branch.known and not branch.taken
            elif first == "fi" and self._branches:
                self._branches.pop()
            elif first not in _PLAIN_WORDS:
                return _is_test(statement)
            statement.words.pop(0)
        return not statement.array

    def _active_outside(self) -> bool:
        branches = all(branch.active for branch in self._branches)
        return branches and self._cases.active

    def _choose(self, first: str, statement: Statement, following: list[Statement]) -> None:
        if first == "elif" and not self._branches:
            return
        outside = all(one.active for one in self._branches[: -1 if first == "elif" else None])
        holds = self._holds(statement, following)
        if first == "if":
            self._branches.append(Branch(statement.line, False, False))
        branch = self._branches[-1]
        if holds is None and not branch.taken:
            branch.known = False
            if outside:
                self._note(statement.line, "an `if` whose condition is not known from the text")
        branch.active = branch.known and not branch.taken and bool(holds)
        branch.taken |= branch.active

    def _note(self, line: int, what: str) -> None:
        self.notes.append(f"line {line}: {what} is left out")

    def _holds(self, statement: Statement, following: list[Statement]) -> bool | None:
        """Whether the condition of an `if` holds; None where that is not known."""
        value = self._tested(statement.words[1:])
        for other in following:
            if not other.words or other.joint not in ("&&", "||"):
                break
            right = self._tested(other.words)
            if other.joint == "&&":
                value = False if value is False or right is False else (value and right)
            else:
                value = True if value or right else (None if None in (value, right) else False)
        return value

    def _tested(self, words: list[Word]) -> bool | None:
        texts = [self._text(word) for word in words]
        negated = texts[:1] == ["!"]
        texts = texts[1:] if negated else texts
        if len(texts) < 3 or (texts[0], texts[-1]) not in {("[", "]"), ("[[", "]]")}:
            return None
        found = _compared(texts[1:-1])
        return found if found is None else found != negated

    def _run(self, statement: Statement) -> None:
        """Takes assignments, and keeps a command with its words filled in."""
        if not self._active:
            return
        if statement.array:
            name, more = statement.array.rstrip("+="), statement.array.endswith("+=")
            items = [text for word in statement.words for text in self.fields(word)]
            self._assign(name, [*self._items(name), *items] if more else items, statement.line)
            return
        words = list(statement.words)
        while words:
            match = _ASSIGNMENT.match(words[0][0].text) if not words[0][0].quoted else None
            if _bare(words[0]) in _DECLARES:
                words.pop(0)
            elif match:
                value = self._text(words[0])[match.end() :]
                before = self.variables.get(match[1], "")
                before = before if isinstance(before, str) else " ".join(before)
                self._assign(match[1], before + value if match[2] else value, statement.line)
                words.pop(0)
            else:
                break
        if found := [text for word in _without_files(words) for text in self.fields(word)]:
            if found[0] in _SOURCES and len(found) > 1:
                self._source(found[1], statement.line)
            self.commands.append(found)
            self._start([word for word in found if word not in _INTERPRETERS])
        if statement.document is not None:
            for name in self._written(statement.words):
                self.files[name] = self._expanded(statement.document)

    def _source(self, path: str, line: int) -> None:
        """Reads a file that a script takes its variables from, where it lies beside it."""
        text = self.beside(path) if self._depth < _DEEPEST else None
        if text is None:
            self._note(line, f"`source {path}`, which does not lie beside it,")
            return
        self._depth += 1
        self.read(text)
        self._depth -= 1

    def _start(self, words: list[str]) -> None:
        """Reads a script that is started with arguments, where it lies beside this one."""
        if not words or not words[0].endswith(".sh"):
            return
        name = words[0].rpartition("/")[2]
        text = None
        if self._depth < _DEEPEST:
            text = self.beside(words[0].removeprefix("./")) or self.beside(name)
        if text is None:
            self.missing.append(name)
            return
        outer = self.variables
        own = {name: value for name, value in outer.items() if not name.isdigit()}
        self.variables = {**own, **positional(words[1:])}
        self._depth += 1
        self.read(text)
        self._depth -= 1
        self.variables = outer

    def _written(self, words: list[Word]) -> list[str]:
        """Files that a command writes to."""
        found, writes = [], False
        for word in words:
            text = self._text(word)
            if writes:
                found.append(text)
            match = None if word[0].quoted else re.match(r"[0-9]*>{1,2}(.*)", text, re.DOTALL)
            writes = match is not None and not match[1]
            if match and match[1]:
                found.append(match[1])
        return found

    def _assign(self, name: str, value: str | list[str], line: int) -> None:
        size = len(value) if isinstance(value, str) else sum(map(len, value)) + len(value)
        if size > _LONGEST:
            raise InputError(f"{self.name}: line {line}: {name} has more than {_LONGEST:,} letters")
        self.variables[name] = value

    def _items(self, name: str) -> list[str]:
        value = self.variables.get(name, [])
        return [value] if isinstance(value, str) else value

    def fields(self, word: Word) -> list[str]:
        """The words that a word becomes: arrays are several, and so are values with blanks."""
        if len(word) == 1 and word[0].expands and word[0].text in _ARGUMENTS:
            return [str(self.variables[name]) for name in self.variables if name.isdigit()]
        if len(word) == 1 and (match := _WHOLE_ARRAY.fullmatch(word[0].text)) and word[0].expands:
            if match[1] not in self.variables:
                return [word[0].text]
            items = self._items(match[1])
            return items if word[0].quoted else apart(" ".join(items))
        text = self._text(word)
        loose = any(_EXPANSION.search(part.text) and not part.quoted for part in word)
        return apart(text) if loose else [text]

    def _text(self, word: Word) -> str:
        return "".join(self._expanded(part) for part in word)

    def _expanded(self, part: Part, depth: int = 0) -> str:
        if not part.expands:
            return part.text
        text = _EXPANSION.sub(lambda match: self._value(match, depth), part.text)
        if len(text) > _LONGEST:
            raise InputError(f"{self.name}: a word has more than {_LONGEST:,} letters")
        self._spent += len(text)
        if self._spent > _MOST:
            raise InputError(f"{self.name}: its variables come to more than {_MOST:,} letters")
        return text

    def _value(self, match: re.Match[str], depth: int) -> str:
        """What an expansion stands for; itself where that is not known."""
        if match["sum"] is not None:
            return self._sum(match, depth)
        value = self.variables.get(match["braced"] or match["name"])
        default = match["default"]
        if value is None or (not value and default is not None):
            if default is None:
                return match[0]
            inner = Part(default.strip("\"'"), quoted=True, expands=depth < 4)
            return self._expanded(inner, depth + 1)
        return value if isinstance(value, str) else " ".join(value)

    def _sum(self, match: re.Match[str], depth: int) -> str:
        """The value of `$(( ... ))` where all in it is known."""
        named = re.sub(r"(?<![\w${])([A-Za-z_]\w*)", r"$\1", match["sum"])
        text = self._expanded(Part(named, quoted=True, expands=depth < 4), depth + 1)
        value = whole_sum(text)
        return match[0] if value is None else str(value)


def whole_sum(text: str) -> int | None:
    """The value of a sum of whole numbers; None where it is none, or a huge one.

    >>> whole_sum("8 * (2 + 1)"), whole_sum("8 / 0"), whole_sum("a")
    (24, None, None)
    """
    import ast  # noqa: PLC0415  (only for texts with arithmetic)

    if not _SUM.fullmatch(text) or "**" in text:
        return None
    try:
        return _computed(ast.parse(text.strip().replace("//", "/"), mode="eval").body)
    except (SyntaxError, ValueError, ArithmeticError, RecursionError, MemoryError):
        return None


def _computed(node: object) -> int:
    import ast  # noqa: PLC0415  (only for texts with arithmetic)
    import operator  # noqa: PLC0415

    signs = {
        ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
        ast.Div: operator.floordiv, ast.Mod: operator.mod,
    }  # fmt: skip
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.BinOp) and type(node.op) in signs:
        found = signs[type(node.op)](_computed(node.left), _computed(node.right))
        return int(found)
    raise ValueError


def _without_files(words: list[Word]) -> list[Word]:
    """Words without redirections and the files that they name."""
    found, skips = [], False
    for word in words:
        match = None if word[0].quoted else _REDIRECTION.match(word[0].text)
        if not skips and not match:
            found.append(word)
        skips = match is not None and len(word) == 1 and not match[1]
    return found


def _bare(word: Word) -> str:
    """A word without quotes or expansions; of others nothing."""
    return word[0].text if len(word) == 1 and not word[0].quoted else ""


def _is_test(statement: Statement) -> bool:
    """Whether it is the rest of a condition, which does nothing."""
    return bool(statement.words) and _bare(statement.words[0]) in ("[", "[[")


def _compared(words: list[str]) -> bool | None:
    """The value of a test of words; None where one of them is not known, or the test is not."""
    if any("$" in word or "`" in word for word in words):
        return None
    if len(words) == 2 and words[0] in ("-z", "-n"):
        return (words[1] == "") == (words[0] == "-z")
    if len(words) != 3:
        return None
    left, sign, right = words
    if sign in ("=", "==", "-eq"):
        return left == right
    if sign in ("!=", "-ne"):
        return left != right
    return _ordered(left, sign, right)


def _ordered(left: str, sign: str, right: str) -> bool | None:
    """The value of a comparison of two whole numbers."""
    numbers = {"-gt": 1, "-ge": 1, "-lt": -1, "-le": -1}
    if sign not in numbers or not (left.isdigit() and right.isdigit()) or len(left + right) > 40:
        return None
    order = (int(left) > int(right)) - (int(left) < int(right))
    return order == numbers[sign] or (sign in ("-ge", "-le") and order == 0)
