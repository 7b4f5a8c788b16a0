"""The one exception of the model database, and the functions that word it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from strict_yaml.text import YamlText

MOST_MISTAKES = 20  # of one file that are said
MOST_UNKNOWN = 3  # of the fields of one file that nothing knows
UNKNOWN = "unknown field"
"""What is said of each begins with it."""


class ModelError(Exception):
    """A model is unknown, or a model file is wrong.

    The message is one line for one mistake; several mistakes of a file follow its name, one line
    each. It is written for the person who typed the name or wrote the file.
    """


def nearest(word: str, candidates: Iterable[str], count: int = 1) -> list[str]:
    """Find the candidates that look most like a word.

    Args:
        word: what was typed.
        candidates: the valid words.
        count: how many to return at most.

    Returns:
        Up to `count` candidates, best first; empty when nothing is similar.
    """
    import difflib  # noqa: PLC0415  (only needed when something is wrong)

    return difflib.get_close_matches(word, sorted(set(candidates)), n=count, cutoff=0.6)


def holding(typed: str, names: Iterable[str]) -> list[str]:
    """Find the names that hold a text, e.g. `llama3-8b` for `llama3`.

    Args:
        typed: the text, in lower case.
        names: the valid names.

    Returns:
        Those names; with the text as a word of its own before others, short before long.
    """
    word = re.compile(rf"(?<![a-z0-9]){re.escape(typed)}(?![a-z0-9])")
    return sorted(
        (name for name in names if typed and typed in name),
        key=lambda name: (not word.search(name), len(name), name),
    )


def mistakes_message(text: YamlText, mistakes: Sequence[tuple[str, str]]) -> str:
    """Word all mistakes of one file.

    Args:
        text: the file, named as the user knows it.
        mistakes: pairs of path in the file (may be empty) and what is wrong there.

    Returns:
        One line for one mistake, otherwise a heading, one line for each of the first mistakes, and
        how many more there are.
    """
    unknown = [at for at, (_, what) in enumerate(mistakes) if what.startswith(UNKNOWN)]
    unsaid = set(unknown[MOST_UNKNOWN:])
    said = [one for at, one in enumerate(mistakes) if at not in unsaid]
    if unsaid:  # so many that others would not be said beside them
        said.sort(key=lambda one: not one[1].startswith(UNKNOWN))
    said = said[:MOST_MISTAKES]
    lines = [
        f"{text.at(path)}: {path}: {what}" if path else f"{text}: {what}" for path, what in said
    ]
    if len(mistakes) == 1:
        return lines[0]
    lines = [line.removeprefix(f"{text}: ") for line in lines]
    more = len(mistakes) - len(lines)
    rest = [f"and {more:,} more mistake{'s' * (more > 1)}"] if more else []
    return "\n  ".join([f"{text}: {len(mistakes)} mistakes", *lines, *rest])
