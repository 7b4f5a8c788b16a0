"""The one exception of this package, and the helpers that word its messages.

Exception
  HardwareError    a name is unknown, a file is not a valid record, a chip count does not fit
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

MOST_MISTAKES = 20  # of one file that are said
MOST_UNKNOWN = 3  # of the fields of one file that nothing knows
UNKNOWN = "unknown field"
"""What is said of each begins with it."""
_MOST = 4
_LONGEST = 100


class HardwareError(Exception):
    """Bad hardware input: an unknown name, a malformed file or an impossible chip count.

    The message has one line per mistake, so that a user can repair a file in one go.

    Attributes:
        problems: The lines of the message.
    """

    def __init__(self, problems: str | Sequence[str]) -> None:
        lines = (problems,) if isinstance(problems, str) else tuple(problems)
        super().__init__("\n".join(lines))
        self.problems: tuple[str, ...] = lines

    def __reduce__(self) -> tuple[type[HardwareError], tuple[tuple[str, ...]]]:
        return type(self), (self.problems,)


def nearest(name: object, allowed: Iterable[str], others: Iterable[str] = ()) -> str:
    """A hint such as `; did you mean 'h100'?`, or the empty string if nothing is close.

    Names that hold what was typed come first, whole words of them before parts, short before long;
    where there are none, the one that is spelled most like it; else those that hold the word
    spelled most like it. Case does not matter.

    Args:
        name: What was typed.
        allowed: The valid names.
        others: Valid names that are less likely meant.
    """
    found = nearest_names(name, allowed, others)
    return f"; did you mean {' or '.join(map(repr, found))}?" if found else ""


def nearest_names(name: object, allowed: Iterable[str], others: Iterable[str] = ()) -> list[str]:
    """The names of the hint that `nearest` gives, best first."""
    typed, first = str(name).lower(), sorted(set(allowed))
    last = sorted({*others} - {*first})
    names = first + last
    found = _holding(typed, first) + _holding(typed, last) or _spelled_like(typed, names, 0.5)
    if not found:
        words = {word for name in names for word in re.findall("[a-z0-9]+", name)}
        found = [
            held for word in _spelled_like(typed, words, 0.75) for held in _holding(word, names)
        ]
    return found[:_MOST]


def _spelled_like(typed: str, names: Iterable[str], cutoff: float) -> list[str]:
    """The name most like what was typed, if it is at all."""
    import difflib  # noqa: PLC0415  (only needed when something is wrong)

    return difflib.get_close_matches(typed[:_LONGEST], sorted(names), n=1, cutoff=cutoff)


def _holding(typed: str, names: Iterable[str]) -> list[str]:
    """Names that hold a text, e.g. `h100-sxm5-80` and `dgx-h100-ndr` for `h100`."""
    word = re.compile(rf"(?<![a-z0-9]){re.escape(typed)}(?![a-z0-9])")
    return sorted(
        (name for name in names if typed and typed in name),
        key=lambda name: (not word.search(name), len(name), not name.startswith(typed), name),
    )
