"""What is wrong with a YAML file: a line of the file and a line of text for each mistake."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mistake:
    """One mistake.

    Attributes:
        line: Where it is, from 1; None where it has no place.
        problem: What is wrong and what is expected, in one line.
    """

    line: int | None
    problem: str

    def __str__(self) -> str:
        return self.problem if self.line is None else f"line {self.line}: {self.problem}"


class YamlError(Exception):
    """A file is not YAML, or has what is not read here.

    Attributes:
        mistakes: At least one, in the order of the file.
    """

    def __init__(self, mistakes: Iterable[Mistake]) -> None:
        self.mistakes = tuple(mistakes)
        super().__init__("\n".join(map(str, self.mistakes)))

    def __reduce__(self) -> tuple[type[YamlError], tuple[tuple[Mistake, ...]]]:
        return type(self), (self.mistakes,)
