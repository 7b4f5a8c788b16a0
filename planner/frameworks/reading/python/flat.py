"""The objects of a recipe as dotted fields below the one that it makes."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from frozen_records import dataclass
from planner.frameworks.reading.python.paths import ALL, SOME, joined
from planner.frameworks.reading.python.values import Known, Made, Spends, Unknown

_Entry = tuple[str, Known | Made | Unknown, Unknown | None, tuple[Made, ...]]
"""Where something stands, it, what is said of it, and the objects that it stands in."""


@dataclass(slots=True)
class Flat:
    """Fields by dotted names.

    Attributes:
        spend: Counts work.
        values: Plain values.
        computed: What is not known, with the line that says so.
        built: What is made by a call, with what is called.
        calls: Functions and classes that were called, with their first argument if it is text.
    """

    spend: Spends
    values: dict[str, Any] = field(default_factory=dict)
    computed: dict[str, str] = field(default_factory=dict)
    built: dict[str, str] = field(default_factory=dict)
    calls: list[tuple[str, str]] = field(default_factory=list)

    _line: int = 0

    def add(self, root: Made) -> None:
        """An object, with all that it is set to."""
        self._line = root.line
        stack: list[_Entry] = [("", root, None, ())]
        while stack:
            at, thing, said, outer = stack.pop()
            self.spend(len(at) * (1 + at.count(".")), steps=1)
            if isinstance(thing, Known):
                self._value(at, thing)
            elif isinstance(thing, Unknown):
                self._unknown(at, thing)
            else:
                self._made(at, thing, said)
                if thing in outer:
                    continue
                inner: list[_Entry] = [
                    (joined(at, name), one, thing.said.get(name), (*outer, thing))
                    for name, one in thing.fields.items()
                ]
                stack.extend(reversed(inner))

    def _value(self, at: str, thing: Known) -> None:
        """A plain value; of two objects that differ there, none is known."""
        self.spend(thing.letters)
        if at in self.values and self.values[at] != thing.value:
            del self.values[at]
            self.computed[at] = Unknown(self._line).text(at)
        elif at not in self.computed:
            self.values[at] = thing.value

    def _unknown(self, at: str, thing: Unknown) -> None:
        self.calls += [(one, "") for one in thing.calls]
        self.values.pop(at, None)
        self.computed[at] = thing.text(at)

    def _made(self, at: str, made: Made, said: Unknown | None) -> None:
        if made.loose:
            self._unknown(at or ALL, said or Unknown(made.line, "" if at else "what is returned"))
            self.calls += [(one, "") for one in made.calls]
        else:
            if made.called:
                self.calls.append((made.called, made.text))
            if at and made.called:
                self.built[at] = made.called
            if at and (made.called or said is not None):
                self.values.pop(at, None)
                self.computed[at] = (said or Unknown(made.line)).text(at)
        if made.opened is not None:
            whole = joined(at, ALL)
            self.computed[whole] = made.opened.text(whole)

    def some(self, name: str, why: Unknown) -> None:
        """A field was set of an object of which it is not known which one it is."""
        self.computed[SOME + name] = why.text(SOME + name)
