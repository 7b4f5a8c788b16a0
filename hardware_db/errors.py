"""The one exception of this package, and the helpers that word its messages.

Exception
  HardwareError    a name is unknown, a file is not a valid record, a chip count does not fit
"""

from __future__ import annotations

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

    Where the name is the beginning of several, the first few of them are named.
    """
    import difflib  # noqa: PLC0415  (only needed when something is wrong)

    names = sorted(allowed)
    longer = [known for known in names if name and known.startswith(str(name))]
    found = longer[:_MOST] or difflib.get_close_matches(str(name), names, n=1, cutoff=0.5)
    return f"; did you mean {' or '.join(map(repr, found))}?" if found else ""
