"""An answer on one screen: the plan, what it costs, how sure that is, and what to do next.

A screen is a head and groups of rows, each a name and lines for the columns that there are.
`planner.report.tables.screen_rows` has the rows; notebooks show the same ones.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from planner.base.units import plural
from planner.cost.memory.risk import DOES_NOT_FIT
from planner.report.tables.front_rows import front_lines
from planner.report.tables.next_commands import Asking, after_evaluate, after_solve
from planner.report.tables.screen_rows import (
    SPENT,
    Row,
    assumed_row,
    caveats_row,
    cost_rows,
    objective_rows,
    proof_row,
    quiet_words,
    resumed_row,
    run_rows,
    ties_row,
    wrapped,
)
from planner.report.tables.tables import ByWidth, spaced, text_of
from planner.report.tables.terminal import head, solve_head
from planner.results.gains import nothing_found_words
from planner.results.result import EvaluateResult, SolveResult
from planner.results.words import job_words

NAMES = 10
"""Columns that the names of rows take."""
_GAP = 2
_LEAST = 20
_INDENT = "  "
NEXT, FRONT = "next", "front"
MOST_LINES, MOST_LINES_WIDE, WIDE = 40, 34, 120
"""Lines of a screen, and of one that has so many columns."""
_SHORTER = (
    ("runners-up", 1, "candidates"), (FRONT, 3, ""), ("step time", 1, ""), (FRONT, 1, "front"),
)  # fmt: skip
"""Rows that lose their last lines where a screen would be longer, in that order: how many stay, and
the section that `--show` has in place of what is named and gone."""
SAID_OF_A_PLAN = ("runnable-in", "max-oom-risk")
"""What is assumed and said of a plan in its notes: its targets, and the risk of its memory."""
LAID_OUT = (NEXT, FRONT, SPENT)
"""Rows whose lines are laid out already."""
Groups = list[list[Row]]


def solve_rows(result: SolveResult, asking: Asking | None, room: int) -> Groups:
    """The rows of an answer of `planner solve`.

    Args:
        result: The answer.
        asking: How the command line asked; None: it was asked in Python.
        room: Columns of a line.
    """
    following = command_rows(after_solve(result, asking), room)
    if result.best is None:
        more = [more_row(("candidates", "assumed"))] if asking is not None else []
        return [[assumed_row(result.notes.defaults, room)], [*following, *more]]
    more = [more_row(("time", "why", "front"))] if asking is not None else []
    costs = [*cost_rows(result.best, result.notes, result.facts, room), *objective_rows(result)]
    rows = [*resumed_row(result), proof_row(result), *ties_row(result), *caveats_row(result)]
    rows += run_rows(result.run)
    left = [one for one in result.notes.defaults if one[0] not in SAID_OF_A_PLAN]
    rows += [(FRONT, front_lines(result, room)), *_front_clocks_row(result)]
    rows.append(assumed_row(left, room))
    return [costs, rows, [*following, *more]]


def evaluate_rows(result: EvaluateResult, asking: Asking | None, room: int) -> Groups:
    """The rows of an answer of `planner evaluate`; arguments as of `solve_rows`."""
    more = [more_row(("time", "stages"))] if asking is not None else []
    verdict = "fits" if result.fits else DOES_NOT_FIT
    costs = cost_rows(result.result, result.notes, result.facts, room, verdict)
    rows = [
        *_launch_row(result),
        *_clocks_row(result),
        *run_rows(result.run),
        assumed_row(result.notes.defaults, room),
    ]
    return [costs, rows, [*command_rows(after_evaluate(result, asking), room), *more]]


def _clocks_row(result: EvaluateResult) -> list[Row]:
    """What clocks per operation save, where they were asked for."""
    if result.clocks is None:
        return []
    from planner.report.tables.operation_clocks import clocks_lines  # noqa: PLC0415  (few ask)

    return [("clocks", clocks_lines(result.clocks))]


def _front_clocks_row(result: SolveResult) -> list[Row]:
    """What they save on the front, where they were asked for."""
    if result.clocks is None:
        return []
    from planner.report.tables.operation_front import front_clocks_lines  # noqa: PLC0415  (few ask)

    return [("clocks", front_clocks_lines(result.clocks))]


def _launch_row(result: EvaluateResult) -> list[Row]:
    """That some settings of a launch are not known."""
    count = len(result.launch["unknown"]) if result.launch else 0
    are = "is" if count == 1 else "are"
    words = f"{plural(count, 'setting')} of the launch {are} not known, so not counted"
    return [("note", [f"{words} (--show launch)"])] if count else []


def solve_screen(result: SolveResult, asking: Asking | None = None) -> RenderableType:
    """An answer of `planner solve`; arguments as of `solve_rows`."""
    return _screen(solve_head(result), lambda room: solve_rows(result, asking, room))


def evaluate_screen(result: EvaluateResult, asking: Asking | None = None) -> RenderableType:
    """An answer of `planner evaluate`; arguments as of `solve_rows`."""
    start = head(job_words(result), result.notes.losses, result.warnings)
    return _screen(start, lambda room: evaluate_rows(result, asking, room))


def solve_line(result: SolveResult) -> str:
    """The best plan and its step time, or why there is none."""
    if result.best is not None:
        return quiet_words(result.best)
    if result.diagnosis is None:
        return nothing_found_words(result)
    return f"No plan fits (proved): {result.diagnosis.explanation}."


def evaluate_line(result: EvaluateResult) -> str:
    """The plan and its step time, and whether it fits where it does not."""
    line = quiet_words(result.result)
    return line if result.fits else f"{line}; does not fit in memory"


def _screen(start: list[RenderableType], rows: Callable[[int], Groups]) -> RenderableType:
    """The head, then the groups of rows with a blank line between them."""

    def draw(room: int) -> RenderableType:
        left = max(room - NAMES - _GAP, _LEAST)
        groups = [[row for row in group if row[1]] for group in rows(left)]
        groups = [group for group in groups if group]
        most = MOST_LINES if room < WIDE else MOST_LINES_WIDE
        taken = sum(len(text_of(line, room).splitlines()) for line in start) + len(groups)
        groups = _within(groups, most - taken, left)
        grids = [_grid(group, left) for group in groups]
        if _heights(groups, left) > most - taken:
            return spaced([[*start, *grids]])
        return spaced([start, *([grid] for grid in grids)])

    return ByWidth(draw)


def _within(groups: Groups, lines: int, room: int) -> Groups:
    """The rows in so many lines: what `--show` says in full leaves first, as far as it has to."""
    for name, kept, section in _SHORTER:
        if _heights(groups, room) <= lines:
            break
        groups = [
            [(own, _first(texts, kept, section) if own == name else texts) for own, texts in group]
            for group in groups
        ]
    return groups


def _first(texts: list[str], kept: int, section: str) -> list[str]:
    """The first texts; the last of them says where the others are."""
    if len(texts) <= kept or not section:
        return texts[:kept]
    return [*texts[: kept - 1], f"{texts[kept - 1]} --show {section}"]


def _heights(groups: Groups, room: int) -> int:
    """Lines that all rows take."""
    return sum(_height(row, room) for group in groups for row in group)


def _height(row: Row, room: int) -> int:
    """Lines that a row takes."""
    name, texts = row
    return sum(len(_lines(name, text, room)) for text in texts)


def _grid(rows: Sequence[Row], room: int) -> Table:
    """Names beside their lines; what is longer than a line goes on below itself."""
    grid = Table.grid(padding=(0, _GAP, 0, 0), pad_edge=False)
    grid.add_column(style="bold", width=NAMES, no_wrap=True)
    grid.add_column(overflow="fold")
    for name, lines in rows:
        whole = [line for text in lines for line in _lines(name, text, room)]
        for at, line in enumerate(whole):
            grid.add_row(Text(name if at == 0 else ""), Text(line))
    return grid


def _lines(name: str, text: str, room: int) -> list[str]:
    """A text in lines of the width; commands, bars and tables are lines already."""
    return [text] if name in LAID_OUT else wrapped(text, room)


def command_rows(commands: Sequence[Sequence[str]], room: int) -> list[Row]:
    """The commands, as they can be pasted: a long one goes on behind a backslash."""
    lines = [line for words in commands for line in _broken([*words], room)]
    return [(NEXT, lines)] if lines else []


def _broken(words: list[str], room: int) -> list[str]:
    """A command in lines; a flag stays with its value, and a word is never broken."""
    parts: list[str] = []
    for word in map(shlex.quote, words):
        after_flag = parts and parts[-1].startswith("-") and " " not in parts[-1]
        if after_flag and not word.startswith("-"):
            parts[-1] += f" {word}"
        else:
            parts.append(word)
    lines = [parts[0]]
    for part in parts[1:]:
        if len(lines[-1]) + len(part) + len(" \\ ") > room:
            lines[-1] += " \\"
            lines.append(f"{_INDENT}{part}")
        else:
            lines[-1] += f" {part}"
    return lines


def more_row(examples: Sequence[str]) -> Row:
    """How to see the rest."""
    return ("more", [f"--show {','.join(examples)} or --show all prints the rest in full"])
