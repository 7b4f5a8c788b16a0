"""Studies of a machine alone with fields of it changed: each change must move their figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from hardware_db import Cluster
from planner.base.errors import InputError
from planner.question.changes.changes import changes_of
from planner.question.changes.texts import changes_in, with_changes
from planner.question.records import cluster_named

T = TypeVar("T")
_WORDS = ("words", "binds")
_NO_FIGURES = (
    "seconds",
    "versions",
    "schema_version",
    "inputs",
    "step_time_low_s",
    "step_time_high_s",
)
"""What is no answer: how long it took, what was asked, how sure one is of a changed machine."""


def cluster_with(name: str, texts: Any) -> Cluster:
    """A cluster of which a question changes fields.

    Args:
        name: As `planner.question.records.cluster_named` takes it.
        texts: `PATH=VALUE`, or a mapping; None: nothing is changed.

    Raises:
        InputError: The name is unknown, or a change cannot be made.
    """
    plain = cluster_named(name)
    if not texts:
        return plain
    changes = changes_of(with_changes((), texts), "", name)
    if others := [one for one in changes.fields if one.leaf.record not in ("chip", "cluster")]:
        lines = [
            f"set: {one.change}: this is computed from chip and cluster alone" for one in others
        ]
        raise InputError("\n".join(lines))
    return changes.named(cluster_named(name, changes.hardware)) if changes.fields else plain


def with_each_counted(
    texts: Any,
    answer: Callable[[tuple[str, ...]], T],
    shown: Callable[[T], Mapping[str, Any]],
) -> T:
    """An answer to a question with changes, each of which moves a figure of it.

    Args:
        texts: The changes; None: there are none.
        answer: Answers with some of them.
        shown: The figures of an answer.

    Raises:
        InputError: A change moves none; or `answer` refuses the question.
    """
    given = with_changes((), texts or ())
    result = answer(given)
    figures = list(_figures(shown(result)))

    def of(texts: tuple[str, ...]) -> list[float | str]:
        return list(_figures(shown(answer(texts))))

    idle = [
        change
        for change in changes_in(given)
        if change.factor != 1 and of(tuple(one for one in given if one != str(change))) == figures
    ]
    if idle:
        plain = of(()) if len(given) > 1 else figures
        said = [
            _SAID
            if len(given) > 1 and of((str(change),)) != plain
            else _HINTS.get(change.path.split(".")[0], "")
            for change in idle
        ]
        raise InputError(
            "\n".join(
                f"set: {change} cannot change this answer: each of its {len(figures)} figures is "
                f"the same without it{hint}"
                for change, hint in zip(idle, said, strict=True)
            )
        )
    return result


_SAID = ", since the other changes say the same; leave it or them out"
_HINTS = {"scale_up": "; the levels of the cluster set the links: use levels.NAME.bandwidth"}


def _figures(data: Any) -> Iterator[float | str]:
    """All numbers that answer the question, and what is said of them with numbers in it."""
    if isinstance(data, Mapping):
        for name, part in data.items():
            if name in _WORDS:
                yield str(part)
            elif name not in _NO_FIGURES:
                yield from _figures(part)
    elif isinstance(data, list | tuple):
        for part in data:
            yield from _figures(part)
    elif isinstance(data, int | float):
        yield float(data)
