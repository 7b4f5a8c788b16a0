"""The answer about nodes that are down: what to run now, with the arithmetic against waiting."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from planner.answers.run.lost import DownResult, Way
from planner.base.units import plural, show_bytes, show_count, show_percent, show_seconds
from planner.report.tables.tables import SplitTable, indented, pairs, section, spaced
from planner.results.words import plan_line

_NONE = "-"
_HEADER = ("plan", "chips", "step time", "tokens/s", "goodput", "of the whole", "stops",
           "returns", "pays above", "gains")  # fmt: skip


def down_line(result: DownResult) -> str:
    """The answer in a line."""
    return f"{verdict(result)}."


def down_view(result: DownResult) -> RenderableType:
    """What is down, the ways to go on with their arithmetic, and which of them pays."""
    blocks: list[Sequence[RenderableType]] = [
        [Text(title_of(result)), Text(f"{verdict(result)}.")],
        [pairs(standing_rows(result))],
    ]
    if result.ways:
        plans = ["  ".join(row) for row in way_rows(result)]
        blocks.append([_table(result)])
        blocks.append([section("Best plans for what is left", indented(plans))])
        sums = [f"{letter or ' '}  {what}: {words}" for letter, what, words in sum_rows(result)]
        blocks.append([section("Against waiting for the repair", indented(sums))])
    if lines := [*notes(result)]:
        blocks.append([section("Notes", indented(lines))])
    return spaced(blocks)


def _letter(at: int) -> str:
    return chr(ord("A") + at)


def verdict(result: DownResult) -> str:
    """What to do, without a full stop."""
    wait = show_seconds(result.repair_s)
    if result.covered:
        take = "takes its place" if result.nodes == 1 else "take their places"
        return f"{plural(result.spares, 'spare node')} {take}: restart with the plan that runs"
    now = result.now
    if now is None:
        return f"Wait {wait} for the repair: no plan fits on what is left"
    plan = f"plan {_letter(result.ways.index(now))} on {plural(now.best.chips, 'chip')}"
    edge = show_seconds(float(now.detour.break_even_s))
    if not result.pays:
        return f"Wait {wait} for the repair: going on with {plan} pays above {edge}"
    return (
        f"Go on with {plan}: within {wait} of repair it gains {show_seconds(now.gained_s)} of the "
        f"whole job's work, and it pays where that takes more than {edge}"
    )


def standing_rows(result: DownResult) -> list[tuple[str, str]]:
    """The run, and what its outage costs."""
    running = result.running
    store, held = show_bytes(result.store_bytes_per_s), show_bytes(result.checkpoint_bytes)
    once = show_seconds(result.checkpoint_bytes / result.store_bytes_per_s)
    repair = show_seconds(result.repair_s)
    form = f"{result.form} ({result.form_given}); " if result.form else ""
    pace = (
        f"{show_seconds(running.step_time_s)} a step, {show_count(running.tokens_per_s)} tokens/s"
    )
    share = "" if result.share is None else f" at a goodput of {show_percent(result.share)}"
    return [
        ("running", plan_line(running)),
        ("", f"{pace}{share}"),
        ("repair", repair if result.repair_given else f"{repair}, a guess (--repair)"),
        ("restart", f"{show_seconds(result.restart_s)}, which loads a checkpoint (--restart)"),
        ("checkpoint", f"{form}{held}, written in {once} at {store}/s and read as fast"),
    ]


def way_cells(result: DownResult) -> tuple[list[str], list[list[str]]]:
    """A row for each way to go on: names of the columns that say something, and their cells."""
    rows = [_row(way, _letter(at)) for at, way in enumerate(result.ways)]
    keep = [at for at in range(len(_HEADER)) if any(row[at] != _NONE for row in rows)]
    names = [_HEADER[at] for at in keep]
    return names, [[row[at] for at in keep] for row in rows]


def _table(result: DownResult) -> RenderableType:
    names, cells = way_cells(result)
    return SplitTable(names, cells, by=("plan",), right=names[1:], whole=names)


def way_rows(result: DownResult) -> list[tuple[str, str]]:
    """The plans for what is left with their letters."""
    return [(_letter(at), plan_line(way.best)) for at, way in enumerate(result.ways)]


def sum_rows(result: DownResult) -> list[tuple[str, str, str]]:
    """The arithmetic of each way against waiting: its letter once, what, and the sum."""
    return [
        ("" if row else _letter(at), *term)
        for at, way in enumerate(result.ways)
        for row, term in enumerate(_sums(result, way))
    ]


def title_of(result: DownResult) -> str:
    """What is down of what, in a line."""
    are = "is" if result.down.startswith("1 ") else "are"
    left = f"{result.left:,} of {plural(result.chips, 'chip')} are left"
    return f"{result.subject}: {result.down} {are} down, {left}"


def _row(way: Way, letter: str) -> tuple[str, ...]:
    return (
        letter,
        f"{way.best.chips:,}",
        show_seconds(way.best.step_time_s),
        show_count(way.best.tokens_per_s),
        _NONE if way.share is None else show_percent(way.share),
        show_percent(_of_whole(way)),
        show_seconds(float(way.detour.in_s)),
        show_seconds(float(way.detour.back_s)),
        show_seconds(float(way.detour.break_even_s)),
        _signed(way.gained_s),
    )


def _of_whole(way: Way) -> float:
    """Its rate over that of the run, goodput counted."""
    return float(way.detour.rate) / float(way.detour.own_rate)


def _signed(seconds: float) -> str:
    return f"-{show_seconds(-seconds)}" if seconds < 0 else show_seconds(seconds)


def _sums(result: DownResult, way: Way) -> Iterator[tuple[str, str]]:
    """The arithmetic of a way: each term, and what it is the sum of."""
    stops, back = float(way.detour.in_s), float(way.detour.back_s)
    restart, write = show_seconds(result.restart_s), show_seconds(way.write_s)
    convert = f"{show_seconds(way.convert_s)} to read and write the checkpoint + "
    worked, later = max(result.repair_s - stops, 0.0), back - result.restart_s
    done, share = show_seconds(worked * _of_whole(way)), show_percent(_of_whole(way))
    once = convert if way.refused else ""
    again = "" if way.returns else convert
    yield "stops", f"{once}{restart} restart = {show_seconds(stops)}"
    yield (
        "works until the repair",
        f"{show_seconds(worked)} x {share} = {done} of the whole job's",
    )
    yield "returns", f"{write} last checkpoint + {again}{restart} restart = {show_seconds(back)}"
    yield (
        "gains",
        f"{done} - {show_seconds(later)} of a later return = {_signed(way.gained_s)}",
    )
    yield "an hour of repair more", f"{show_seconds(3600.0 * _of_whole(way))} more"


def notes(result: DownResult) -> Iterator[str]:
    """What is to be known beside, a line each."""
    if result.covered:
        return
    if result.spares:
        yield f"{plural(result.spares, 'spare node')} of {result.nodes:,} that are needed."
    yield "The batch stays that of the run, and data ranks divide it; --batch-tokens gives another."
    if result.missing:
        yield f"No plan loads the checkpoint as it is: {result.missing}."
    last = result.ways[-1] if result.ways else None
    if last is not None and last.refused:
        letter = _letter(len(result.ways) - 1)
        yield f"The checkpoint does not load into plan {letter}: {', '.join(last.refused)}."
        for name, said in result.others:
            yield f"Had the run saved {name} ({said}), it would."
