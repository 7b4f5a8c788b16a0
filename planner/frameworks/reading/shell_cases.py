"""`case` in shell text: the branch that a known word chooses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from fnmatch import fnmatchcase

from frozen_records import dataclass
from planner.frameworks.reading.shell_words import Statement, Word


@dataclass(slots=True)
class Case:
    """A `case` that is open.

    Attributes:
        word: What is compared.
        patterns: Those of the branch that is being read.
        active, taken: Whether its present branch is taken, and whether one was.
        inside: Whether commands of a branch are read, not patterns.
    """

    word: str
    patterns: list[str] = field(default_factory=list)
    active: bool = False
    taken: bool = False
    inside: bool = False


@dataclass(slots=True)
class Cases:
    """All that are open, the innermost last."""

    open: list[Case] = field(default_factory=list)

    @property
    def active(self) -> bool:
        """Whether commands are run as far as these choose."""
        return all(case.active for case in self.open)

    def takes(self, statement: Statement, text: Callable[[Word], str]) -> bool:
        """Whether a statement is the head of a `case`, a pattern, or the end.

        Args:
            statement: What comes next.
            text: A word with its variables filled in.
        """
        if not statement.words or statement.array:
            return False
        first = text(statement.words[0])
        if self.open and self._chosen(statement, first, text):
            return True
        return first == "case" and self._opened(statement, text)

    def _opened(self, statement: Statement, text: Callable[[Word], str]) -> bool:
        """Begins a `case` of a word that is known; one that is not is left to who skips it."""
        words = statement.words
        if len(words) < 3 or text(words[2]) != "in":
            return False
        word = text(words[1])
        if "$" in word or "`" in word:
            return False
        self.open.append(Case(word, [text(pattern) for pattern in words[3:]]))
        return True

    def _chosen(self, statement: Statement, first: str, text: Callable[[Word], str]) -> bool:
        """Whether a statement belongs to the `case` itself, not to a branch of it."""
        case = self.open[-1]
        if not case.inside and case.patterns and statement.joint == ")":
            holds = any(fnmatchcase(case.word, pattern) for pattern in case.patterns)
            case.active = holds and not case.taken
            case.taken, case.inside = case.taken or holds, True
        if case.inside and statement.joint == ";;":
            case.inside, case.active, case.patterns = False, False, []
        if first == "esac":
            self.open.pop()
            return True
        if not case.inside:
            case.patterns += [text(word) for word in statement.words]
        return not case.inside
