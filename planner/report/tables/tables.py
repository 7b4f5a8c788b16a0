"""Building blocks of what is printed: Rich tables of plain text, and how they share a line.

Text of a user's files is never read as markup: every cell is a `Text`.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Collection, Iterable, Sequence

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from planner.base.messages import readable
from planner.report.printing import print_text

PLAIN_WIDTH = 110
_ANY_WIDTH = 100_000
_COLUMN_GAP = 2
_LEGIBLE = 8
"""Columns of the screen that broken text takes at least."""


def console() -> Console:
    """Standard output; where it is not a terminal, always wide enough for our tables."""
    screen = Console(highlight=False, markup=False, emoji=False)
    if screen.is_terminal:
        return screen
    return Console(highlight=False, markup=False, emoji=False, width=PLAIN_WIDTH)


def _page(width: int) -> Console:
    return Console(
        file=io.StringIO(), width=width, color_system=None, highlight=False, markup=False,
        emoji=False, force_terminal=False, legacy_windows=False,
    )  # fmt: skip


def width_of(view: RenderableType) -> int:
    """Columns that a view takes where nothing has to be wrapped."""
    page = _page(_ANY_WIDTH)
    return Measurement.get(page, page.options, view).maximum


def text_of(view: RenderableType, width: int = PLAIN_WIDTH) -> str:
    """What a view prints, without colours and trailing blanks."""
    page = _page(width)
    with page.capture() as printed:
        page.print(view)
    return "\n".join(line.rstrip() for line in readable(printed.get()).splitlines())


class _Readable:
    """A view whose text steers no terminal; its styles do."""

    def __init__(self, view: RenderableType) -> None:
        self._view = view

    def __rich_console__(self, screen: Console, options: ConsoleOptions) -> RenderResult:
        for segment in screen.render(self._view, options):
            plain = segment.control or segment.text.isprintable()
            yield segment if plain else segment._replace(text=readable(segment.text))


def print_view(view: RenderableType, *, whole_lines: bool = False) -> None:
    """Prints to standard output.

    Args:
        view: What to print.
        whole_lines: Rows of tables are not wrapped where it is no terminal, for `grep` and files.
    """
    screen = console()
    if screen.is_terminal:
        screen.print(_Readable(view))
    else:
        print_text(
            text_of(view, max(screen.width, width_of(view)) if whole_lines else screen.width)
        )


class Widest:
    """The first of some views, from the widest to the narrowest, that fits the screen."""

    def __init__(self, views: Sequence[RenderableType]) -> None:
        self.views = views

    def __rich_console__(self, screen: Console, options: ConsoleOptions) -> RenderResult:
        """Rich asks for what is printed."""
        fitting = (view for view in self.views if width_of(view) <= options.max_width)
        yield next(fitting, self.views[-1])

    def __rich_measure__(self, screen: Console, options: ConsoleOptions) -> Measurement:
        """Rich asks for the columns it takes."""
        widths = [width_of(view) for view in self.views]
        return Measurement(min(widths), max(widths))


def _rich_table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: Collection[str] = (),
    whole: Collection[str] = (),
    breaks: bool = False,
) -> Table:
    """A table without lines; `breaks`: all columns may be broken, where nothing else helps."""
    result = Table(box=None, pad_edge=False)
    for name in header:
        result.add_column(
            Text(name),
            justify="right" if name in right else "left",
            no_wrap=not breaks and (name in right or name in whole),
            overflow="fold",
        )
    for row in rows:
        result.add_row(*map(Text, row))
    return result


def table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: Collection[str] = (),
    whole: Collection[str] = (),
) -> ByWidth:
    """A table without lines of which nothing is cut, however narrow the line is.

    Args:
        header: Names of the columns.
        rows: Their cells, as many per row.
        right: Columns of numbers, flush right and not broken.
        whole: Other columns, broken only where there is no room for them.
    """
    split = SplitTable(header, rows, by=header[:1], right=right, whole=whole)

    def draw(room: int) -> RenderableType:
        for kept in ({*right, *whole}, {*right}):
            if split.least_width(kept) <= room:
                return _rich_table(header, rows, right=right, whole=kept)
        return split

    return ByWidth(draw, split.least_width(header))


class SplitTable:
    """A table that is one where it fits, else several, each with the columns that name its rows.

    Nothing is cut: names are broken only where they and one column more do not fit, and numbers
    only where a line has no room for them alone.

    Args:
        header: Names of the columns.
        rows: Their cells, as many per row.
        by: Columns that name a row; the first ones of every table.
        right: Columns of numbers, flush right.
        whole: Other columns that are not broken.
        together: Columns that stay in one table where it has room for them.
    """

    def __init__(
        self,
        header: Sequence[str],
        rows: Sequence[Sequence[str]],
        *,
        by: Sequence[str],
        right: Collection[str] = (),
        whole: Collection[str] = (),
        together: Sequence[Sequence[str]] = (),
    ) -> None:
        self._columns = list(zip(header, *rows, strict=True))  # each with its name first
        self._right = right
        self._whole = {*whole, *by}
        every = range(len(self._columns))
        self._by = tuple(at for at in every if header[at] in by)
        groups = {name: group for group in together for name in group}
        others = [groups.get(header[at], (header[at],)) for at in every if at not in self._by]
        self._groups = [
            tuple(at for at in every if header[at] in group) for group in dict.fromkeys(others)
        ]

    @property
    def header(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(name for name, *_ in self._columns)

    @property
    def rows(self) -> tuple[tuple[str, ...], ...]:
        """Their cells."""
        return tuple(zip(*self._columns, strict=True))[1:]

    def __rich_console__(self, screen: Console, options: ConsoleOptions) -> RenderResult:
        """Rich asks for what is printed."""
        for number, columns in enumerate(self._parts(options.max_width)):
            if number:
                yield Text()
            yield self._table(columns, options.max_width)

    def __rich_measure__(self, screen: Console, options: ConsoleOptions) -> Measurement:
        """Rich asks for the columns it takes."""
        return Measurement(1, self._width(range(len(self._columns))))

    def _parts(self, room: int) -> list[tuple[int, ...]]:
        """Columns of each table, the names of the rows first."""
        parts = [self._by]
        for group in self._groups:
            fits = self._width((*self._by, *group)) <= room
            for columns in [group] if fits else [(at,) for at in group]:
                if parts[-1] != self._by and self._width((*parts[-1], *columns)) > room:
                    parts.append(self._by)
                parts[-1] = (*parts[-1], *columns)
        return parts

    def _table(self, columns: Sequence[int], room: int) -> Table:
        names, *rows = zip(*(self._columns[at] for at in columns), strict=True)
        fits = self._width(columns) <= room
        numbers = [at for at in columns if self._columns[at][0] in self._right]
        least = self._width(numbers) + (len(columns) - len(numbers)) * (_COLUMN_GAP + 1)
        return _rich_table(
            names, rows, right=self._right, whole=self._whole if fits else (), breaks=least > room
        )

    def least_width(self, unbroken: Collection[str]) -> int:
        """Columns of the screen that one table takes at least where some columns are not broken."""
        every = range(len(self._columns))
        widths = [
            self._width((at,))
            if self._columns[at][0] in unbroken
            else min(self._width((at,)), _LEGIBLE)
            for at in every
        ]
        return sum(widths) + _COLUMN_GAP * (len(widths) - 1)

    def _width(self, columns: Sequence[int]) -> int:
        """Columns of the screen that a table of these takes where nothing is broken."""
        widest = [
            max(cell_len(line) for cell in self._columns[at] for line in cell.split("\n"))
            for at in columns
        ]
        return sum(widest) + _COLUMN_GAP * (len(widest) - 1)


def pairs(rows: Sequence[tuple[str, str]]) -> Table:
    """Names beside their values."""
    result = Table(box=None, show_header=False, pad_edge=False)
    result.add_column(style="bold", no_wrap=True)
    result.add_column(overflow="fold")
    for name, words in rows:
        result.add_row(Text(name), Text(words))
    return result


def section(title: str, *body: RenderableType) -> Group:
    """A heading and what belongs to it."""
    return Group(Text(title, style="bold"), *body)


def spaced(blocks: Iterable[Sequence[RenderableType]]) -> Group:
    """Views with a blank line between the blocks of them; a block of none is left out."""
    parts: list[RenderableType] = []
    for block in blocks:
        parts += [Text(), *block] if parts and block else block
    return Group(*parts)


def indented(lines: Sequence[str], by: int = 2) -> Group:
    """Lines whose continuations stay indented."""
    return Group(*(Padding(Text(line), (0, 0, 0, by)) for line in lines))


class ByWidth:
    """A view that is laid out when the width of the line is known.

    Args:
        draw: From the columns available to a view.
        most: Columns that it takes where there is room; None: all that there are.
    """

    def __init__(self, draw: Callable[[int], RenderableType], most: int | None = None) -> None:
        self._draw, self._most = draw, most

    def __rich_console__(self, _: Console, options: ConsoleOptions) -> RenderResult:
        yield self._draw(options.max_width)

    def __rich_measure__(self, screen: Console, options: ConsoleOptions) -> Measurement:
        """Rich asks for the columns it takes."""
        most = options.max_width if self._most is None else min(self._most, options.max_width)
        return Measurement(1, most)


def side_by_side(parts: Sequence[RenderableType], gap: int = 4) -> ByWidth:
    """As many views on a line as there is room for, the rest below."""
    widths = [width_of(part) for part in parts]

    def draw(room: int) -> RenderableType:
        lines: list[list[RenderableType]] = []
        used = room
        for part, width in zip(parts, widths, strict=True):
            if not lines or used + gap + width > room:
                lines.append([])
                used = -gap
            lines[-1].append(part)
            used += gap + width
        shown: list[RenderableType] = []
        for line in lines:
            grid = Table.grid(padding=(0, gap, 0, 0), pad_edge=False)
            grid.add_row(*line)
            shown += [Text(), grid] if shown else [grid]
        return Group(*shown)

    return ByWidth(draw)
