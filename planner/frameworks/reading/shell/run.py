"""What shell text comes to: its commands with variables and arrays filled in. Nothing is run.

Variables that the text does not define, arguments that are not given and the output of commands
stay as they are written. Of an `if` and a `case` the branch is taken that known words choose,
`for` goes through known words, and `while` goes on as long as a known test holds; other branches
and loops are left out with a line, and what they change is not known after them. Functions are read
where they are called, files where they are sourced or started. `reading.work` bounds it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import field, replace

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.base.numerals import is_digits
from planner.frameworks.reading.settings import Beside, no_file
from planner.frameworks.reading.shell.assignments import DECLARES, declare, set_all, set_array
from planner.frameworks.reading.shell.blocks import (
    Body,
    Case,
    Function,
    Group,
    If,
    Loop,
    Node,
    Simple,
    Subshell,
    blocks,
)
from planner.frameworks.reading.shell.conditions import asks, holds, is_test, matches
from planner.frameworks.reading.shell.loops import loop
from planner.frameworks.reading.shell.maybe import after_some
from planner.frameworks.reading.shell.outputs import output_of
from planner.frameworks.reading.shell.simple_commands import (
    DEEPEST,
    Stop,
    begins,
    call,
    started,
    sum_is,
    without_files,
)
from planner.frameworks.reading.shell.slurm import slurm_options, slurm_variables
from planner.frameworks.reading.shell.states import Array, Layer
from planner.frameworks.reading.shell.values import expanded, is_known, sliced
from planner.frameworks.reading.shell.words import Lexer, Part, Statement, Word, apart, bare
from planner.frameworks.reading.work import Work

_BEFORE = ("!", "exec", "time", "env", "nohup")
_ITEMS = re.compile(
    r"\$(?P<all>[@*])|\$\{(?:(?P<name>\w+)\[(?P<of>[@*])\]|(?P<own>[@*]))(?::(?P<cut>[^}]*))?\}"
)
"""All arguments or elements of an array, or some of them."""
_LONGEST = 1 << 20  # characters of a value
_WITHOUT = "an argument is compared, and the script is read as started without any"
_TESTED = "what a test that is not known from the text starts"
_CHOOSES = "an `if` whose condition is not known from the text"
_SET = (":", "true", "false", "getopts")


@dataclass(slots=True)
class Shell:
    """The state of a text that is gone through.

    Attributes:
        name: What messages call the text.
        variables: Values by name; of arrays an `Array`.
        arguments: Of the script, or of the function that is read.
        exact: Whether it has no others.
        commands: Simple commands, every one a list of words.
        places: Where each of them stands.
        comments: Lines after `#`.
        options: Of Slurm, on the lines of commands.
        notes: What was left out, one line each.
        changed: Variables that are not known since then, by name with the place.
        beside: The text of a file that it sources; None where there is none.
        files: Texts that the script writes, by name.
        missing: Scripts that it starts and that do not lie beside it.
        functions: By name.
        called: Those that were.
        piped: What the command before prints to the next one; None: that is not known.
        local: Of each function that is read, what its local variables were before.
        depth: How deep in files and functions the state is.
        outputs: How deep in outputs of commands.
        called_at: Where the outermost of these functions is called.
        asks_only: Whether commands are a condition.
    """

    name: str
    variables: Layer[str | Array] = field(default_factory=Layer)
    arguments: list[str] = field(default_factory=list)
    exact: bool = False
    commands: list[list[str]] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)
    options: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    changed: Layer[str] = field(default_factory=Layer)
    beside: Beside = no_file
    files: Layer[str] = field(default_factory=Layer)
    missing: list[str] = field(default_factory=list)
    functions: Layer[Function] = field(default_factory=Layer)
    called: set[str] = field(default_factory=set)
    piped: str | None = None
    local: list[Layer[str | Array | None]] = field(default_factory=list)
    _work: Work = field(default_factory=Work)
    depth: int = 0
    outputs: int = 0
    _chosen: int = 0
    asks_only: bool = False
    _without: bool = False
    _file: str = ""
    called_at: str = ""

    def read(self, text: str, file: str = "") -> Shell:
        """Goes through a text; `file`: the name of another one than the script.

        Raises:
            InputError: A quote or a bracket is not closed, or a value grows beyond all bounds.
        """
        statements = (lexer := Lexer(text, self.name)).statements()
        self.comments += lexer.comments
        for name, value in slurm_variables(slurm_options(lexer.comments)).items():
            self.variables.setdefault(name, value)
        if not self.depth:
            begins(self, knows_place=self.beside is not no_file)
        outer, self._file = self._file, file or self._file
        try:
            self.body(blocks(statements, self.name))
        except Stop:
            if self.depth and not file:
                raise
        finally:
            self._file = outer
        return self

    def read_within(self, text: str, file: str) -> bool:
        """Goes through a text that the script reads or starts; False: too deep within others."""
        if self.depth >= DEEPEST:
            return False
        self.depth += 1
        self.read(text, file)
        self.depth -= 1
        return True

    def read_uncalled(self) -> None:
        """Goes through functions that nothing calls, whose arguments are not known."""
        for name in [one for one in self.functions if one not in self.called]:
            call(self, name, [], 0, exact=False)

    def fork(self, unknown: Sequence[str]) -> Shell:
        """The same state, for a part that may be run or not; some variables are not known in it."""
        self.spend(steps=1)
        fork = replace(
            self, variables=Layer(self.variables), changed=Layer(self.changed), commands=[],
            places=[], notes=[], missing=[], comments=[], options=[],
            functions=Layer(self.functions), files=Layer(self.files),
            local=[Layer(one) for one in self.local], _chosen=1, _without=False,
        )  # fmt: skip
        for name in unknown:
            fork.variables.pop(name, None)
            fork.changed[name] = ""
        return fork

    def place(self, line: int) -> str:
        """What messages call a line."""
        return self.called_at or (f"line {line} of {self._file}" if self._file else f"line {line}")

    def note(self, line: int, what: str) -> None:
        """Says that something is left out."""
        self.notes.append(f"{self.place(line)}: {what} is left out")

    def spend(self, letters: int = 0, steps: int = 0) -> None:
        """Counts work; see `planner.frameworks.reading.work.Work`."""
        self._work.spend(self.name, letters, steps)

    def value(self, name: str) -> str | Array | None:
        """See `planner.frameworks.reading.shell.values.Scope`."""
        if name in ("@", "*", "#"):
            return str(len(self.arguments)) if name == "#" else Array(self.arguments)
        if not is_digits(name) or name == "0":
            return self.variables.get(name)
        given = 0 < int(name[:6]) <= len(self.arguments)
        return self.arguments[int(name) - 1] if given else "" if self.exact else None

    def is_unset(self, name: str) -> bool:
        """See `planner.frameworks.reading.shell.values.Scope`."""
        return name not in self.changed and self.value(name) is None and name != "0"

    def assign(self, name: str, value: str | Array, line: int = 0) -> None:
        """See `planner.frameworks.reading.shell.values.Scope`."""
        size = len(value) if isinstance(value, str) else value.letters
        if size > _LONGEST:
            where = f"line {line}: " if line else ""
            raise InputError(f"{self.name}: {where}{name} has more than {_LONGEST:,} letters")
        self.variables[name] = value
        self.changed.pop(name, None)

    def forget(self, name: str, line: int) -> None:
        """Says that a variable is not known from here on."""
        self.variables.pop(name, None)
        self.changed[name] = self.place(line)

    def output(self, command: str, depth: int) -> str | None:
        """See `planner.frameworks.reading.shell.values.Scope`."""
        self.spend(len(command), steps=1)
        return output_of(self, command, depth)

    def file(self, path: str) -> str | None:
        """The text of a file that the script writes, or that lies beside it."""
        own = self.files.get(path, self.files.get(path.removeprefix("./")))
        return self.beside(path) if own is None else own

    def body(self, nodes: Body) -> bool | None:
        """Goes through parts; what the last one says (None: that is not known)."""
        status: bool | None = True
        for node in nodes:
            joined = node.joint in ("&&", "||")
            if joined and status is (node.joint == "||"):
                continue
            if joined and status is None and not asks(node):
                after_some(self, node.line, _TESTED, [(replace(node, joint="\n"),)])
                continue
            self._chosen += joined
            found = self._node(node)
            self._chosen -= joined
            if not joined or status is not None:
                status = found
            elif found is (node.joint == "||"):
                status = found  # whatever the left one is
        return status

    def _node(self, node: Node) -> bool | None:
        self.spend(steps=1)
        if isinstance(node, Simple):
            return self._run(node.statement)
        if isinstance(node, Group):
            return self._subshell(node) if isinstance(node, Subshell) else self.body(node.body)
        if isinstance(node, Function):
            self.functions[node.name] = node
        elif isinstance(node, If | Case):
            self._if(node) if isinstance(node, If) else self._case(node)
        elif isinstance(node, Loop):
            loop(self, node)
        return True

    def _subshell(self, node: Subshell) -> bool | None:
        outer = self.variables, self.changed
        self.variables, self.changed = Layer(self.variables), Layer(self.changed)
        try:
            return self.body(node.body)
        finally:
            self.variables, self.changed = outer

    def asked(self, condition: Body) -> bool | None:
        """Whether a condition holds; None: that is not known."""
        outer, self.asks_only = self.asks_only, True
        found = self.body(condition)
        self.asks_only = outer
        return found

    def take(self, body: Body) -> None:
        """Goes through what a known word or test chooses."""
        outer, self.asks_only = self.asks_only, False
        self._chosen += 1
        try:
            self.body(body)
        finally:
            self._chosen -= 1
            self.asks_only = outer

    def _if(self, node: If) -> None:
        for at, (condition, body) in enumerate(node.arms):
            found = True if condition is None else self.asked(condition)
            if found:
                return self.take(body)
            if found is None:
                bodies = [one for _, one in node.arms[at:]]
                closed = node.arms[-1][0] is None
                return after_some(self, node.line, _CHOOSES, bodies, closed=closed)
        return None

    def _case(self, node: Case) -> None:
        word = self.tested(node.word, node.line)
        patterns = [[(self.text(one), one[0].quoted) for one in arm] for arm, _ in node.arms]
        texts = [text for arm in patterns for text, _ in arm]
        if not all(map(is_known, (word, *texts))):
            closed = "*" in texts
            bodies = [body for _, body in node.arms]
            what = "`case` and what it repeats or chooses"
            return after_some(self, node.line, what, bodies, closed=closed)
        for arm, (_, body) in zip(patterns, node.arms, strict=True):
            if any(matches(word, text, quoted) for text, quoted in arm):
                return self.take(body)
        return None

    def _run(self, statement: Statement) -> bool | None:
        """Takes assignments, and keeps a command with its words filled in."""
        piped, self.piped = (self.piped if statement.joint == "|" else None), None
        words = list(statement.words)
        if statement.array:
            set_array(self, statement)
            return True
        if is_test(words):
            if bare(words[0]) == "((":
                sum_is(self, words[1][0].text, statement.line)
            return holds(words, lambda word: self.tested(word, statement.line), self)
        negated = bare(words[0]) == "!"
        while words and bare(words[0]) in _BEFORE:
            words.pop(0)
        if words and bare(words[0]) in DECLARES:
            declare(self, words, statement.line)
            return True
        before = set_all(self, words, statement.line)
        found = [text for word in without_files(words) for text in self.fields(word)]
        self.piped = piped
        if not found:
            return not negated
        status = started(self, found, statement)
        for name, (value, place) in before.items():
            self.restore(name, value)
            if place:
                self.changed[name] = place
        if self.asks_only and found[0] not in _SET:
            return None
        return status if status is None else status != negated

    def stop(self, what: str) -> None:
        """Ends a loop, a function or the script; a script only where nothing had to be tested."""
        if what != "exit" or not self._chosen:
            raise Stop(what)

    def restore(self, name: str, value: str | Array | None) -> None:
        """Gives a variable the value that it had; None: it had none."""
        self.changed.pop(name, None)
        self.variables.pop(name, None)
        if value is not None:
            self.variables[name] = value

    def items(self, name: str) -> Array:
        """The elements of an array; of a plain value one, of what is not set none."""
        value = self.variables.get(name, Array())
        return Array([value]) if isinstance(value, str) else value

    def added(self, name: str, items: list[str]) -> Array:
        """The elements of an array and more."""
        before = self.items(name)
        self.spend(0 if before.is_newest else before.letters)
        return before.added(items)

    def _items(self, match: re.Match[str]) -> Sequence[str] | None:
        """The arguments, or the elements of an array; None: they are not known."""
        if match["name"] is not None and match["name"] not in self.variables:
            return None
        items = self.arguments if match["name"] is None else self.items(match["name"])
        first = int(match["name"] is None)  # arguments count from 1
        return items if match["cut"] is None else sliced(items, match["cut"], self, first)

    def fields(self, word: Word) -> list[str]:
        """The words that a word becomes: arrays are several, and so are values with blanks."""
        match = _ITEMS.fullmatch(word[0].text) if len(word) == 1 and word[0].expands else None
        items = None if match is None else self._items(match)
        if match is not None and items is not None:
            self.spend(sum(map(len, items)) + len(items))
            joined = match["all"] or match["of"] or match["own"]
            if word[0].quoted:
                return [" ".join(items)] if joined == "*" else [*items]
            return [*items] if match["name"] is None else apart(" ".join(items))
        text = self.text(word)
        loose = any(not one.quoted and one.expands and not is_known(one.text) for one in word)
        return apart(text) if loose else [text]

    def text(self, word: Word) -> str:
        """A word with its variables filled in."""
        return "".join(map(self.filled, word))

    def tested(self, word: Word, line: int) -> str:
        """A word that is compared, where a script without arguments has none."""
        found = self.text(word)
        if self.arguments or self.exact or is_known(found):
            return found
        self.exact = True
        bare_text, self.exact = self.text(word), False
        if bare_text != found and not self._without:
            self._without = True
            self.notes.append(f"{self.place(line)}: {_WITHOUT}; FILE::ARGUMENT gives them")
        return bare_text

    def filled(self, part: Part) -> str:
        """A piece of a word, or a document, with its variables filled in."""
        if not part.expands:
            return part.text
        text = expanded(part.text, self)
        if len(text) > _LONGEST:
            raise InputError(f"{self.name}: a word has more than {_LONGEST:,} letters")
        self.spend(len(text))
        return text
