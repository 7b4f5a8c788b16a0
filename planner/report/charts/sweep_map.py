"""Who wins where: the best point of each cell of two columns of a study, as a map."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from planner.base.errors import InputError
from planner.base.units import plural
from planner.report.charts.sweep_looks import (
    MOST_GROUPS,
    Look,
    beside,
    best_words,
    cells_of,
    keys_of,
    looks_of,
)
from planner.report.drawing.chart import Bar, Chart, Key, Mark, Picture
from planner.report.tables.sweep import cell_words, column_words
from planner.studies.sweep.columns import cell
from planner.studies.sweep.rows import Row
from planner.studies.sweep.winners import chosen_over, groups_of, order, winners

_NONE, _TO_DO = "no plan fits", "not solved yet"
_HATCHES = {_NONE: "cross", _TO_DO: ""}
_MOST = 40  # values on one axis


def map_picture(rows: Sequence[Row], x: str, y: str, color: str, least: str) -> Picture:
    """A cell for each pair of values, with the look of what wins there.

    Args:
        rows: Points.
        x, y: Columns of the axes.
        color: Column that tells winners apart.
        least: Figure by which a cell is won; see `winners`.

    Raises:
        InputError: There are too many cells to be seen, or none.
    """
    across, down = order(cell(row, x) for row in rows), order(cell(row, y) for row in rows)
    for name, values in ((x, across), (y, down)):
        if len(values) > _MOST:
            raise InputError(
                f"plot: {name} has {len(values):,} values; a map shows up to {_MOST}: choose some "
                "with --where"
            )
    best = winners(rows, (x, y), least)
    if not best:
        raise InputError(f"plot: no point has {least}")
    colors, told = [cell(row, color) for row in best.values()], partial(cell_words, color)
    groups = dict(zip(best, groups_of(colors, MOST_GROUPS, told), strict=True))
    looks = looks_of(list(groups.values()))
    bare = _bare(rows, x, y)
    marks: list[Mark] = []
    for at, left in enumerate(across):
        for up, low in enumerate(down):
            won = best.get((left, low))
            look = looks[groups[left, low]] if won else None
            if (left, low) in bare:
                words = bare[left, low]
                marks.append(_cell((at + 1, up + 1), won, look, least, (x, y), words))
    header = tuple(dict.fromkeys((y, x, color, least, "plan")))
    chart = Chart(
        title=f"{column_words(color)} of the point with the {best_words(least, rows)}",
        subtitle=chosen_over(rows, (x, y, *((color,) if color in rows[0].axes else ()))),
        x=beside(x, across),
        y=beside(y, down),
        marks=tuple(marks),
        legend=(*keys_of(looks, color, "bar"), *_keys(bare[one] for one in bare.keys() - best)),
        description=_described(best, groups, (x, y), color),
        header=header,
        rows=tuple(cells_of(row, header) for row in best.values()),
        height=min(0.9, max(0.3, 0.09 * len(down))),
    )
    return Picture(title=f"Who wins over {column_words(x)} and {column_words(y)}", charts=(chart,))


def _bare(rows: Sequence[Row], x: str, y: str) -> dict[tuple[object, ...], str]:
    """Cells that points are in, and what is said of one without a winner."""
    found: dict[tuple[object, ...], str] = {}
    for row in rows:
        place = cell(row, x), cell(row, y)
        if row.status is None or place not in found:
            found[place] = _NONE if row.status else _TO_DO
    return found


def _keys(words: Iterable[str]) -> Iterator[Key]:
    for word in sorted(set(words)):
        yield Key(words=word, tone="grey", kind="bar", hatch=_HATCHES[word], faint=True)


def _cell(
    place: tuple[int, int],
    won: Row | None,
    look: Look | None,
    least: str,
    axes: tuple[str, str],
    words: str,
) -> Bar:
    """A cell; `words` say why it has no winner, if it has none."""
    x, y = place
    bare = Bar(
        left=x - 0.5, right=x + 0.5, bottom=y - 0.5, top=y + 0.5, tone="grey",
        hatch=_HATCHES[words], detail=words, faint=True,
    )  # fmt: skip
    if won is None or look is None:
        return bare
    tone, _, hatch = look
    words = cell_words(least, cell(won, least))
    detail = ", ".join(f"{name} {cell_words(name, cell(won, name))}" for name in (*axes, "plan"))
    return replace(bare, tone=tone, hatch=hatch, words=words, detail=f"{detail}: {words}")


def _described(
    best: dict[tuple[object, ...], Row],
    groups: dict[tuple[object, ...], str],
    axes: tuple[str, str],
    color: str,
) -> str:
    counts = {group: list(groups.values()).count(group) for group in groups.values()}
    said = ", ".join(f"{color} {group} in {count:,}" for group, count in counts.items())
    return f"Of {plural(len(best), 'cell')} of {axes[0]} and {axes[1]}: {said}."
