"""What differs between saved answers and those of today."""

from __future__ import annotations

import difflib
import json
import math
from dataclasses import dataclass, field
from typing import Any

TOLERANCE = 1e-12  # relative, of floating-point numbers
_LONGEST = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A compared value that is not what was saved; texts as they are printed."""

    question: str
    field: str
    saved: str
    now: str

    def __str__(self) -> str:
        return f"{self.question}: {self.field}: saved {self.saved}, now {self.now}"


@dataclass(slots=True)
class Comparison:
    """Differences, and what was compared.

    Attributes:
        differences: Values that are not equal.
        others: Plans of equal objective in the place of saved ones.
        values: How many numbers and words were compared.
    """

    differences: list[Difference] = field(default_factory=list)
    others: list[Difference] = field(default_factory=list)
    values: int = 0

    def question(self, name: str, saved: list[Any] | None, now: list[Any]) -> None:
        """Compares the steps of a question."""
        if saved is None:
            self._differs(name, "question", "nothing saved", "answered")
            return
        if len(saved) != len(now):
            self._differs(name, "steps", len(saved), len(now))
        for index, (old, new) in enumerate(zip(saved, now, strict=False), start=1):
            path = f"step {index}" if len(saved) > 1 else ""
            self._value(name, path, *self._without_other_plan(name, path, old, new))

    def _without_other_plan(self, name: str, path: str, old: Any, new: Any) -> tuple[Any, Any]:
        """Leaves out what belongs to the best plan where another of equal objective was found."""
        before, after = old.get("answer"), new.get("answer")
        if not (isinstance(before, dict) and isinstance(after, dict) and "front" in before):
            return old, new
        plans = before.get("plan"), after.get("plan")
        equal = same(before.get("objective"), after.get("objective"))
        if not equal or None in plans or _alike(*plans):
            return old, new
        self._note(name, _joined(path, "answer.plan"), *plans)
        return _without_best(old), _without_best(new)

    def _value(self, name: str, path: str, old: Any, new: Any) -> None:
        if isinstance(old, dict) and isinstance(new, dict):
            for key in [*old, *(key for key in new if key not in old)]:
                at = _joined(path, key)
                if key not in old or key not in new:
                    self._differs(name, at, old.get(key, "absent"), new.get(key, "absent"))
                elif key == "plan" and isinstance(old[key], str):
                    self._plan(name, at, old[key], new[key])
                else:
                    self._value(name, at, old[key], new[key])
        elif isinstance(old, list) and isinstance(new, list):
            if len(old) != len(new):
                self._differs(name, path, f"{len(old)} entries", f"{len(new)} entries")
            for index, pair in enumerate(zip(old, new, strict=False)):
                self._value(name, f"{path}[{index}]", *pair)
        else:
            self.values += 1
            if not same(old, new):
                self._differs(name, path, old, new)

    def _plan(self, name: str, path: str, old: str, new: str) -> None:
        """A plan whose values stand beside it and are compared: another one is only listed."""
        if old != new:
            self._note(name, path, old, new)

    def _differs(self, name: str, path: str, old: Any, new: Any) -> None:
        self.differences.append(_difference(name, path, old, new))

    def _note(self, name: str, path: str, old: Any, new: Any) -> None:
        self.others.append(_difference(name, path, old, new))


def _without_best(step: dict[str, Any]) -> dict[str, Any]:
    """A step without what depends on which of several equally good plans was found."""
    left_out = ("plan", "cost", "of_best")
    rest = {name: value for name, value in step["answer"].items() if name not in left_out}
    return {**step, "answer": rest}


def _alike(old: Any, new: Any) -> bool:
    """Whether two nested values are equal, as `same` has it."""
    if isinstance(old, dict) and isinstance(new, dict):
        return old.keys() == new.keys() and all(_alike(old[key], new[key]) for key in old)
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(map(_alike, old, new))
    return same(old, new)


def _difference(name: str, path: str, old: Any, new: Any) -> Difference:
    return Difference(question=name, field=path, saved=_shown(old), now=_shown(new))


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = text.replace("\n", "\\n")
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "..."


def _joined(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def same(old: Any, new: Any) -> bool:
    """Whether two values are equal; floating-point numbers to `TOLERANCE`."""
    numbers = [isinstance(v, int | float) and not isinstance(v, bool) for v in (old, new)]
    if all(numbers):
        exact = isinstance(old, int) and isinstance(new, int)
        return old == new if exact else math.isclose(old, new, rel_tol=TOLERANCE, abs_tol=0.0)
    return type(old) is type(new) and bool(old == new)


def prose_differences(question: str, saved: str, now: str) -> list[Difference]:
    """Lines of a printed text that are not those kept, byte by byte."""
    old, new = saved.splitlines(), now.splitlines()
    found = []
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag != "equal":
            before, after = "\n".join(old[i1:i2]), "\n".join(new[j1:j2])
            found.append(_difference(question, f"text, line {i1 + 1}", before, after))
    if not found and saved != now:
        found.append(_difference(question, "text", repr(saved[-20:]), repr(now[-20:])))
    return found
