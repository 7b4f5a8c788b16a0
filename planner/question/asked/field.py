"""What is said of one field of the question, whoever shows it."""

from __future__ import annotations

import re
from typing import Any, Literal

from frozen_records import dataclass

Kind = Literal[
    "word", "words", "name", "names", "path", "text", "whole", "wholes", "quantity", "share",
    "number", "switch", "texts", "choices", "sizes", "changes", "phases",
]  # fmt: skip
"""How a value is written.

`word` is one of a closed set, `words` are several; `name` and `names` are of a set that packages
add to; `path` is a name or the path of a file. `quantity` is a number or text with a unit; `texts`,
`changes` and `phases` may be given several times; `choices` are values by field of a plan, `sizes`
numbers by name.
"""

JOB = "Job"
SEARCH = "Search"
MACHINE = "Machine (decided with the plan)"
LIMITS = "Limits"
POWER = "Power"
RUN = "Whole training run"
RECOVERY = "Whole training run: recovery from failures"
_FLAG = re.compile("--([a-z][a-z-]*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A field of the question.

    Texts have no full stop at their end; `planner.question.asked.named` has the keys in braces that
    may stand in them.

    Attributes:
        name: In Python and files; the flag has dashes.
        help: What it is.
        more: What files, Python and the documentation say beside `help`.
        replacing: `help` where the field replaces that of a plan file; empty: there it does not.
        panel: Of `--help`.
        kind: How it is written.
        unit: Of a number.
        default: The value that is taken where none is given; `...`: it must be given.
        default_text: What people read as the default; empty: the default itself.
        metavar: What `--help` shows in place of the value.
        page: Of the documentation, with more about it.
        few: What the short `--help` says of it; empty: only `--help-all` shows it.
        file: Whether a text may be the path of a file; a `path` always may.
        also: Of a switch, the word that it may be beside on and off: its flag takes that.
    """

    name: str
    help: str
    panel: str
    kind: Kind
    more: str = ""
    replacing: str = ""
    unit: str = ""
    default: Any = None
    default_text: str = ""
    metavar: str | None = None
    page: str = ""
    few: str = ""
    file: bool = False
    also: str = ""

    @property
    def flag(self) -> str:
        """`--batch-tokens`, of a switch also its opposite."""
        name = self.name.replace("_", "-")
        return f"--{name}/{self.off}" if self.kind == "switch" else f"--{name}"

    @property
    def names_a_file(self) -> bool:
        """Whether its value may be the path of a file."""
        return self.file or self.kind == "path"

    @property
    def off(self) -> str:
        """`--no-offload`, of a switch."""
        return f"--no-{self.name.replace('_', '-')}"

    @property
    def default_words(self) -> str:
        """What is taken where none is given; empty: nothing."""
        if self.default_text or self.default in (None, ..., (), {}):
            return self.default_text
        return str(self.default)

    @property
    def flag_help(self) -> str:
        """The help of the flag, with its default."""
        notes = ["repeatable"] if self.kind in ("texts", "changes", "phases") else []
        default = self.default_words
        if default and "(default: " not in self.help:
            notes.append(f"default: {default}")
        return f"{self.help} ({'; '.join(notes)})." if notes else f"{self.help}."

    @property
    def meaning(self) -> str:
        """What it is in files and Python, where fields have no dashes, without its default."""
        text = self.help.replace(" (repeatable)", "")
        text = text.replace(f" (default: {self.default_words})", "")
        text = f"{text}. {self.more}." if self.more else f"{text}."
        return _FLAG.sub(lambda flag: flag[1].replace("-", "_"), text)

    @property
    def description(self) -> str:
        """The same with its unit, where the words do not say it, and its default."""
        unit = "" if self.unit in self.meaning.lower() else f" In {self.unit}."
        default = self.file_default
        return f"{self.meaning}{unit}{f' Default: {default}.' if default else ''}"

    @property
    def file_default(self) -> str:
        """What is taken where none is given, as a file says it."""
        switch = self.kind == "switch" and self.default is not None
        return str(self.default).lower() if switch else self.default_words
