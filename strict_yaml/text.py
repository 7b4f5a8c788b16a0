"""A text that was read, kept so that a message can name the line of a field of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_BETWEEN = re.compile(r"[.\[\]]+")


@dataclass(frozen=True, slots=True)
class YamlText:
    """A text and its name.

    Attributes:
        name: What messages call its file.
        content: What `strict_yaml.reading.load` took; empty: lines are not told.
    """

    name: str
    content: bytes | str = b""

    def __str__(self) -> str:
        return self.name

    def at(self, path: str | Sequence[str | int]) -> str:
        """`job.yaml: line 3`: where a field is; where it is missing, what it is missing in.

        The file alone where that is the whole of it.

        Args:
            path: Names of fields and places in lists, also written as `levels[0].name`.
        """
        if not self.content:
            return self.name
        from strict_yaml.lines import line_of  # noqa: PLC0415  (ruamel.yaml; only for mistakes)

        steps = list(filter(None, _BETWEEN.split(path))) if isinstance(path, str) else path
        line = line_of(self.content, tuple(map(str, steps)))
        return self.name if line is None else f"{self.name}: line {line}"

    def located(self, mistake: str) -> str:
        """A mistake `field: what is wrong` with the file and the line of the field before it."""
        return f"{self.at(mistake.partition(': ')[0])}: {mistake}"
