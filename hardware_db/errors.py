"""The one exception of this package, and the helpers that word its messages.

Exception
  HardwareError    a name is unknown, a file is not a valid record, a chip count does not fit
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_MOST = 4


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


def nearest(name: object, allowed: Iterable[str]) -> str:
    """A hint such as `; did you mean 'h100'?`, or the empty string if nothing is close.

    Names that hold what was typed come first, whole words of them before parts, short before long;
    only where there are none, the one that is spelled most like it. Case does not matter.
    """
    import difflib  # noqa: PLC0415  (only needed when something is wrong)

    typed, names = str(name).lower(), sorted(allowed)
    found = _holding(typed, names)[:_MOST] or difflib.get_close_matches(
        typed, names, n=1, cutoff=0.5
    )
    return f"; did you mean {' or '.join(map(repr, found))}?" if found else ""


def _holding(typed: str, names: Iterable[str]) -> list[str]:
    """Names that hold a text, e.g. `h100-sxm5-80` and `dgx-h100-ndr` for `h100`."""
    word = re.compile(rf"(?<![a-z0-9]){re.escape(typed)}(?![a-z0-9])")
    return sorted(
        (name for name in names if typed and typed in name),
        key=lambda name: (not word.search(name), len(name), not name.startswith(typed), name),
    )
