"""Tables that fit the screen: names and headers fold at spaces, numbers stay whole.

Where that is not enough, columns are left out, and a line below says which.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from planner.report.tables.tables import table

_GAP = 2
_LONG_WORD = 18
"""Columns from which a word may be broken: names of files have no spaces."""
EASY = 20


class Fitted:
    """A table as wide as it needs to be where there is room, else folded to the screen.

    Args:
        header: Names of the columns; the first column always stays.
        rows: Their cells, as many per row.
        right: Columns of numbers, flush right and never broken.
        whole: Other columns that are never broken.
        less: Columns that are left out first, in this order; then those furthest to the right.
        where: What shows the columns that are left out.
        easy: Columns of text that are easy to read; a less important column is left out before
            they go.
    """

    def __init__(
        self,
        header: Sequence[str],
        rows: Sequence[Sequence[str]],
        *,
        right: Collection[str] = (),
        whole: Collection[str] = (),
        less: Sequence[str] = (),
        where: str = "a wider terminal shows them",
        easy: int = EASY,
    ) -> None:
        self.header, self.rows = list(header), [list(row) for row in rows]
        self.right, self.where, self.easy = right, where, easy
        self._widest = table(header, rows, right=right, whole=whole)
        self._least = [self._least_width(at, {*right, *whole}) for at in range(len(header))]
        self._less = [header.index(name) for name in less if name in header[1:]]
        by_right = [name for name in reversed(header) if name not in less]
        rest = [header.index(name) for name in by_right if name in header[1:]]
        self._order = [*self._less, *rest]

    @cached_property
    def _whole_width(self) -> int:
        """Columns that all of it takes."""
        columns = range(len(self.header))
        return sum(map(self._natural_width, columns)) + _GAP * (len(self.header) - 1)

    def _least_width(self, at: int, unbroken: Collection[str]) -> int:
        """Columns without which a number is cut, or a word."""
        name = self.header[at]
        cells = [row[at] for row in self.rows]
        pieces = name.split() + (
            [] if name in unbroken else [word for cell in cells for word in cell.split()]
        )
        least = min(max(map(cell_len, pieces), default=1), _LONG_WORD)
        return max([least, *(cell_len(cell) for cell in cells if name in unbroken)])

    def __rich_measure__(self, screen: Console, options: ConsoleOptions) -> Measurement:
        """Rich asks for the columns it takes."""
        return Measurement(self._least[0], self._whole_width)

    def __rich_console__(self, screen: Console, options: ConsoleOptions) -> RenderResult:
        """Rich asks for what is printed."""
        if self._whole_width <= options.max_width:
            yield self._widest
            return
        yield self._within(options.max_width)

    def _within(self, room: int) -> RenderableType:
        kept = list(range(len(self.header)))
        for at in self._order:
            if at in self._less and not self._fit(kept, room, easy=True):
                kept.remove(at)
        for at in self._order:
            if at in kept and not self._fit(kept, room, easy=False):
                kept.remove(at)
        view = self._folded(kept, room)
        dropped = [name for at, name in enumerate(self.header) if at not in kept]
        if not dropped:
            return view
        return Group(view, Text(f"Left out here: {', '.join(dropped)} ({self.where})."))

    def _fit(self, kept: Sequence[int], room: int, *, easy: bool) -> bool:
        """Whether some columns have room, with names easy to read or folded word by word."""
        widths = [
            max(self._least[at], min(self._natural_width(at), self.easy if easy and text else 0))
            for at in kept
            for text in [self.header[at] not in self.right]
        ]
        return sum(widths) + _GAP * (len(kept) - 1) <= room

    def _folded(self, kept: Sequence[int], room: int) -> Table:
        """Some columns, the widest of them folded until the line is wide enough."""
        widths = {at: self._natural_width(at) for at in kept}
        spare = sum(width + _GAP for width in widths.values()) - _GAP - room
        while spare > 0:
            loose = [at for at in kept if widths[at] > self._least[at]]
            if not loose:
                break
            widths[max(loose, key=widths.__getitem__)] -= 1
            spare -= 1
        view = Table(box=None, show_edge=False, pad_edge=False, padding=0)
        for at in kept:
            if at != kept[0]:
                view.add_column(width=_GAP)
            name = self.header[at]
            view.add_column(
                Text(name),
                justify="right" if name in self.right else "left",
                width=widths[at],
                overflow="fold",
            )
        for row in self.rows:
            cells = [Text(row[at]) for at in kept]
            spaced = [part for cell in cells for part in (Text(), cell)]
            view.add_row(*spaced[1:])
        return view

    def _natural_width(self, at: int) -> int:
        return max(cell_len(text) for text in (self.header[at], *(row[at] for row in self.rows)))
