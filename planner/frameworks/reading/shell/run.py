"""What shell text comes to: its commands with variables and arrays filled in. Nothing is run.

Variables that the text does not define, arguments that are not given and the output of commands
stay as they are written. Of an `if` and a `case` the branch is taken that known words choose,
`for` goes through known words, and `while` goes on as long as a known test holds; other branches
and loops are left out with a line, and what they change is not known after them. Functions are read
where they are called, files where they are sourced or started. `reading.work` bounds it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.base.numerals import is_digits
from planner.frameworks.reading.settings import no_file
from planner.frameworks.reading.shell.assignments import conformed
from planner.frameworks.reading.shell.blocks import blocks
from planner.frameworks.reading.shell.expansion.fields import fields
from planner.frameworks.reading.shell.expansion.pieces import Piece, together
from planner.frameworks.reading.shell.maybe import at_end
from planner.frameworks.reading.shell.outputs import output_of
from planner.frameworks.reading.shell.simple_commands import DEEPEST, begins, call
from planner.frameworks.reading.shell.slurm import slurm_options, slurm_variables
from planner.frameworks.reading.shell.states import Array, Layer, Stop
from planner.frameworks.reading.shell.steps.control import asked, go
from planner.frameworks.reading.shell.steps.nodes import Body
from planner.frameworks.reading.shell.steps.state import ALL, LAYERS, State
from planner.frameworks.reading.shell.values import pieces
from planner.frameworks.reading.shell.words import Lexer, Part, Word

_ARGUMENT = re.compile(r"\$\{?[#!]?[0-9@*#]")
_LONGEST = 1 << 20  # characters of a value
_WITHOUT = "an argument is compared, and the script is read as started without any"
Made = Callable[[Word], list[list[Piece]]]


@dataclass(slots=True)
class Shell(State):
    """The state of a text that is gone through, and how it is gone through."""

    def read(self, text: str, file: str = "") -> Shell:
        """Goes through a text; `file`: the name of another one than the script.

        Raises:
            InputError: A quote or a bracket is not closed, or a value grows beyond all bounds.
        """
        statements = (lexer := Lexer(text, self.name)).statements()
        self.comments += lexer.comments
        for name, value in slurm_variables(slurm_options(lexer.comments)).items():
            self.variables.setdefault(name, value)
            self.exported[name] = ""
        if not self.depth:
            begins(self, knows_place=self.beside is not no_file)
        outer, self._file = self._file, file or self._file
        self._reads += 1
        self.may_exit |= "exit" in text
        try:
            self.body(blocks(statements, self.name))
        except Stop:
            if self.depth:
                raise
        finally:
            self._reads -= 1
            self._file = outer
        if not self.depth:
            at_end(self)
        return self

    def read_within(self, text: str, file: str) -> bool:
        """Goes through a text that the script reads or starts; False: too deep within others."""
        if self.depth >= DEEPEST:
            return False
        self.depth += 1
        try:
            self.read(text, file)
        finally:
            self.depth -= 1
        return True

    def read_uncalled(self) -> None:
        """Goes through functions that nothing calls, whose arguments are not known."""
        for name in [one for one in self.functions if one not in self.called]:
            try:
                call(self, name, [], 0, exact=False)
            except Stop:
                continue

    def body(self, nodes: Body) -> None:
        """Goes through parts; `status` says what the last one does."""
        go(self, nodes)

    def asked(self, condition: Body) -> bool | None:
        """Whether a condition holds; None: that is not known."""
        return asked(self, condition)

    def fork(self, unknown: Sequence[str]) -> Shell:
        """The same state, for a part that may be run or not; some variables are not known in it."""
        self.spend(steps=1)
        fork = replace(
            self, commands=[], places=[], folders=[], notes=[], missing=[], comments=[],
            options=[], history=[], pending=[], left_out=0, _without=False,
            local=[Layer(one) for one in self.local],
        )  # fmt: skip
        for name in LAYERS:
            setattr(fork, name, Layer(getattr(self, name)))
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
        if name in ("$", "!", "-"):
            return None
        if name == "?":
            return None if self.status is None else str(self.status)
        if name in ("@", "*", "#"):
            self.supposing |= not (self.exact or self.arguments)
            counted = str(len(self.arguments)) if name == "#" else Array(self.arguments)
            return None if self.open_ended else counted
        if not is_digits(name) or name == "0":
            self.supposing |= name in self.supposed
            return self.variables.get(name)
        if 0 < int(name[:6]) <= len(self.arguments):
            return self.arguments[int(name) - 1]
        self.supposing |= not self.exact
        return "" if self.exact and not self.open_ended else None

    def is_unset(self, name: str) -> bool:
        """See `planner.frameworks.reading.shell.values.Scope`."""
        known = name not in self.changed and ALL not in self.changed
        found = known and self.value(name) is None and name not in ("0", "?")
        found &= not (self.open_ended and (is_digits(name) or name in ("@", "*", "#")))
        self.supposing |= found
        return found

    def assign(self, name: str, value: str | Array, line: int = 0) -> None:
        """See `planner.frameworks.reading.shell.values.Scope`."""
        if f"-r {name}" in self.variables:
            return None
        conformed_value = conformed(self, name, value)
        if conformed_value is None:
            return self.forget(name, line)
        value = conformed_value
        size = len(value) if isinstance(value, str) else value.letters
        if size > _LONGEST:
            where = f"line {line}: " if line else ""
            raise InputError(f"{self.name}: {where}{name} has more than {_LONGEST:,} letters")
        if name in self.unsettled or ALL in self.unsettled:
            return self.forget(name, line)
        self.revision += name in self.changed or self.variables.get(name) != value
        self.variables[name] = value
        self.changed.pop(name, None)
        self._marks(name)
        return None

    def _marks(self, name: str) -> None:
        """Keeps what a value rests on, and whether scripts get it."""
        if self.supposing:
            self.supposed[name] = ""
        else:
            self.supposed.pop(name, None)
        if "-a" in self.variables:
            self.exported[name] = ""

    def forget(self, name: str, line: int) -> None:
        """Says that a variable is not known from here on."""
        self.revision += name not in self.changed
        self.variables.pop(name, None)
        self.changed[name] = self.place(line)

    def forget_all(self, line: int) -> None:
        """Says that no variable is known from here on."""
        for name in [*self.variables]:
            self.forget(name, line)
        self.forget(ALL, line)

    def make_local(self, name: str, *, keeps: bool = True) -> None:
        """Makes a variable one of the function that is read; `keeps`: with its value."""
        if not self.local or name in self.local[-1]:
            return
        self.local[-1][name] = (self.variables.get(name), self.changed.get(name))
        if not keeps:
            self.restore(name, None)

    def restore(self, name: str, value: str | Array | None, place: str | None = None) -> None:
        """Gives a variable the value that it had; None: it had none, or (`place`) no known one."""
        self.changed.pop(name, None)
        self.variables.pop(name, None)
        if value is not None:
            self.variables[name] = value
        elif place is not None:
            self.changed[name] = place

    def output(self, command: str, depth: int) -> str | None:
        """See `planner.frameworks.reading.shell.values.Scope`."""
        self.spend(len(command), steps=1)
        return output_of(self, command, depth)

    def keep_command(self, words: list[str], line: int) -> None:
        """Keeps a command that is started."""
        folder = self.variables.get("PWD", "")
        self.commands.append(words)
        self.places.append(self.place(line))
        self.folders.append(folder if isinstance(folder, str) else "")

    def items(self, name: str) -> Array:
        """The elements of an array; of a plain value one, of what is not set none."""
        value = self.variables.get(name, Array())
        return Array([value]) if isinstance(value, str) else value

    def added(self, name: str, items: list[str]) -> Array:
        """The elements of an array and more."""
        before = self.items(name)
        self.spend(0 if before.is_newest else before.letters)
        return before.added(items)

    def fields(self, word: Word) -> list[str]:
        """The words that a word becomes: arrays are several, and so are values with blanks."""
        found = fields(word, self)
        self.spend(sum(map(len, found)) + len(found))
        return found

    def text(self, word: Word) -> str:
        """A word with its variables filled in."""
        return "".join(map(self.filled, word))

    def as_tested(self, word: Word, line: int, make: Made) -> list[list[Piece]]:
        """What a word that is compared becomes, where a script without arguments has none."""
        self.line = line
        asks = not (self.arguments or self.exact) and any(
            one.expands and _ARGUMENT.search(one.text) for one in word
        )
        if not asks:
            return make(word)
        self.exact = True
        found, self.exact = make(word), False
        self.supposing = True
        if not self._without:
            self._without = True
            self.notes.append(f"{self.place(line)}: {_WITHOUT}; FILE::ARGUMENT gives them")
        return found

    def filled(self, part: Part) -> str:
        """A piece of a word, or a document, with its variables filled in."""
        if not part.expands:
            return part.text
        text = together(pieces((part,), self))
        if len(text) > _LONGEST:
            raise InputError(f"{self.name}: a word has more than {_LONGEST:,} letters")
        self.spend(len(text))
        return text
