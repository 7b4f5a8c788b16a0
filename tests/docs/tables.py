"""Tables of a page whose rows are one command with other flags each.

    <!-- rows: planner evaluate plan.yaml ROW | {} days | {} goodput -->
    | asked | days | goodput |
    |---|---|---|
    | as above | 62.5 | 93.3 % |
    | `--spares 12` | 72.8 | 80.1 % |

A row's flags are the code of its first cell; no code, no flags. Each further cell stands in what is
printed as the phrase of its column says, in place of `{}`; columns beyond the phrases are words.
"""

import re
from dataclasses import dataclass

from docs.reading import words_of

_ROWS = re.compile(r"^<!-- rows: (?P<command>[^|\n]+?) \| (?P<phrases>[^\n]+) -->\n"
                   r"(?P<head>\|.*\n\|.*\n)(?P<body>(?:\|.*\n)+)", re.MULTILINE)  # fmt: skip
_CELL = r"([\d.,]+(?: (?:%|[A-Za-z]+))?)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row of a table.

    Attributes:
        line: As it stands on the page.
        command: The command line whose figures it has.
        phrases: Where each cell after the first stands in what is printed.
    """

    line: str
    command: str
    phrases: tuple[str, ...]

    @property
    def cells(self) -> list[str]:
        """The cells that have a phrase."""
        return [cell.strip() for cell in self.line.split("|")[2 : 2 + len(self.phrases)]]

    def as_printed(self, printed: str) -> str:
        """The row with the figures that are printed now.

        Raises:
            AssertionError: A phrase is not printed.
        """
        parts = self.line.split("|")
        for column, phrase in enumerate(self.phrases, start=2):
            before, _, after = phrase.partition("{}")
            found = re.search(re.escape(before) + _CELL + re.escape(after), words_of(printed))
            assert found, f"{self.command} prints nothing like {phrase!r}"
            parts[column] = f" {found[1]} "
        return "|".join(parts)


def rows_in(text: str) -> list[Row]:
    """The rows of all such tables of a page."""
    found = []
    for table in _ROWS.finditer(text):
        phrases = tuple(phrase.strip() for phrase in table["phrases"].split("|"))
        for line in table["body"].splitlines():
            code = re.search(r"`([^`]+)`", line.split("|")[1])
            command = table["command"].replace("ROW", code[1] if code else "").strip()
            found.append(Row(line=line, command=command, phrases=phrases))
    return found
