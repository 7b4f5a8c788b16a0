"""Time of a collective against its size: algorithms, simulated dots, crossovers.

Two charts: the times, both axes logarithmic, and each time over that of the fastest, where small
differences are seen.
"""

from __future__ import annotations

import numpy as np

from planner.base.units import plain, show_bytes, show_seconds
from planner.collectives.nccl.schedules import CHAINS, CHAINS_WORDS
from planner.collectives.runs.times import Crossover, TimeComparison, TimeLine
from planner.report.drawing.chart import Axis, Chart, Dot, Key, Line, Mark, Picture
from planner.report.drawing.geometry.line_ends import Curve, end_names, named_ticks, with_room
from planner.report.drawing.svg import WIDTH

_TONES = ("blue", "orange", "green", "purple", "teal", "brown")
_LIBRARY_TONES = ("grey", "brown", "purple", "teal")
"""Red is that of the crossovers alone."""
_SHAPES = ("circle", "square", "triangle", "diamond", "hexagon", "wedge", "cross", "bar")
"""More than tones: dots of one tone differ in shape. The star is that of the crossovers alone."""
_MARGIN = 1.5
_HEIGHT, _LOWER_HEIGHT = 0.55, 0.4
_MOST_RATIO = 4.0
"""Times above so many of the fastest are cut off in the lower chart."""
_ROWS = 13
_SIZE = "size L (bytes)"


def time_picture(comparison: TimeComparison) -> Picture:
    """Times over sizes, and below them the same over the fastest."""
    return Picture(
        title=f"Time against size: {comparison.title}",
        charts=(time_chart(comparison), ratio_chart(comparison)),
    )


def time_chart(comparison: TimeComparison) -> Chart:
    """Lines by formula, dots where programs were run, the crossovers marked and named."""
    sizes = comparison.sizes_bytes
    curves = _curves(comparison, np.ones(sizes.shape))
    x = _sizes_axis(comparison, [curve.name for curve in curves])
    times = np.concatenate([line.time_s for line in comparison.lines])
    low, high = float(times.min()) / _MARGIN, float(times.max()) * _MARGIN
    y = Axis(label="time", low=low, high=high, logarithmic=True,
             ticks=named_ticks(low, high, show_seconds))  # fmt: skip
    dots = _simulated(comparison)
    crossed = [_crossing_mark(crossing) for crossing in comparison.crossovers]
    marks: list[Mark] = [
        *(curve.line(sizes) for curve in curves),
        *end_names(curves, float(sizes[-1]), x, y),
        *dots,
        *crossed,
    ]
    return Chart(
        title="Time",
        subtitle="(C,S,R): C chunks in S steps of R rounds"
        * any(line.name.startswith("(") for line in comparison.lines),
        x=x,
        y=y,
        marks=tuple(marks),
        legend=(*(curve.key() for curve in curves), *_dot_keys(comparison)),
        notes=_notes(comparison),
        description=f"{comparison.title}, {show_bytes(float(sizes[0]))} to "
        f"{show_bytes(float(sizes[-1]))}. {verdict_words(comparison)}".rstrip(),
        header=("size", *(line.name for line in comparison.lines)),
        rows=_rows(comparison),
        height=_HEIGHT,
    )


def ratio_chart(comparison: TimeComparison) -> Chart:
    """Each time over that of the fastest at the same size."""
    sizes = comparison.sizes_bytes
    best = np.min([line.time_s for line in comparison.lines], axis=0)
    curves = _curves(comparison, best)
    highest = max(float(curve.values.max()) for curve in curves)
    x = _sizes_axis(comparison, [curve.name for curve in curves])
    y = Axis(label="time over the fastest", low=0.95, high=min(max(1.06 * highest, 1.1),
             _MOST_RATIO))  # fmt: skip
    crossed = tuple(
        Line(points=((one.size_bytes, y.low), (one.size_bytes, y.high)), tone="grey", dashed=True,
             detail=_crossing_words(one), width=0.6)
        for one in comparison.crossovers
    )  # fmt: skip
    cut = highest > y.high
    return Chart(
        title="The same over the fastest",
        x=x,
        y=y,
        marks=(*crossed, *(curve.line(sizes) for curve in curves)),
        legend=tuple(curve.key() for curve in curves),
        notes=(f"What takes more than {plain(y.high)} times as long is cut off.",) if cut else (),
        description="Time of each algorithm over that of the fastest at the same size.",
        header=("size", *(line.name for line in comparison.lines)),
        rows=_ratio_rows(comparison, best),
        height=_LOWER_HEIGHT,
    )


def _notes(comparison: TimeComparison) -> tuple[str, ...]:
    found = list(comparison.notes)
    if any(line.simulated_s is not None for line in comparison.lines):
        found.append(
            f"Dots are runs event by event, {comparison.mode} mode; lines are the formula."
        )
    if any(line.name.startswith(CHAINS) for line in comparison.lines):
        found.append(CHAINS_WORDS)
    return tuple(found)


def verdict_words(comparison: TimeComparison) -> str:
    """Who is fastest where, in sentences."""
    first = comparison.fastest(float(comparison.sizes_bytes[0]))
    if not comparison.crossovers:
        return f"{first} is the fastest at every size." if len(comparison.lines) > 1 else ""
    words = [f"{first} is the fastest for the smallest sizes."]
    return " ".join([*words, *map(_crossing_words, comparison.crossovers)])


def _crossing_words(crossing: Crossover) -> str:
    return f"From {show_bytes(crossing.size_bytes)} on {crossing.after} is the fastest."


def _curves(comparison: TimeComparison, over: np.ndarray) -> tuple[Curve, ...]:
    """Synthesized algorithms in full lines, a library's dashed; beyond the tones dotted.

    Variants of one algorithm have one tone, and are told apart by their pattern.
    """
    if any(line.of for line in comparison.lines):
        return _by_kind(comparison, over)
    curves = []
    seen = {True: 0, False: 0}
    for line in comparison.lines:
        tones = _LIBRARY_TONES if line.library else _TONES
        turn, at = divmod(seen[line.library], len(tones))
        seen[line.library] += 1
        curves.append(
            Curve(
                name=line.name, values=line.time_s / over, tone=tones[at],
                dashed=line.library and not turn, dotted=turn > 0,
            )
        )  # fmt: skip
    return tuple(curves)


def _by_kind(comparison: TimeComparison, over: np.ndarray) -> tuple[Curve, ...]:
    """A tone per algorithm, a pattern per variant: full, dashed, dotted."""
    kinds = list(dict.fromkeys(line.of for line in comparison.lines))
    return tuple(
        Curve(
            name=line.name,
            values=line.time_s / over,
            tone=_TONES[kinds.index(line.of) % len(_TONES)],
            dashed=line.variant == 1,
            dotted=line.variant > 1,
        )
        for line in comparison.lines
    )


def _sizes_axis(comparison: TimeComparison, names: list[str]) -> Axis:
    low, high = float(comparison.sizes_bytes[0]), float(comparison.sizes_bytes[-1])
    return Axis(label=_SIZE, low=low, high=with_room(low, high, names, WIDTH), logarithmic=True,
                ticks=tuple(tick for tick in named_ticks(low, high, show_bytes)))  # fmt: skip


def _ran(comparison: TimeComparison) -> list[tuple[TimeLine, str, str]]:
    """The algorithms that were run, with the tone and shape of their dots."""
    own = [line for line in comparison.lines if not line.library]
    return [
        (line, _TONES[at % len(_TONES)], _SHAPES[at % len(_SHAPES)])
        for at, line in enumerate(own)
        if line.simulated_s is not None
    ]


def _simulated(comparison: TimeComparison) -> list[Dot]:
    dots = []
    for line, tone, shape in _ran(comparison):
        assert line.simulated_s is not None
        pairs = zip(comparison.simulated_bytes.tolist(), line.simulated_s.tolist(), strict=True)
        dots += [
            Dot(x=size, y=time, tone=tone, shape=shape, radius=3.4,
                detail=f"{line.name} at {show_bytes(size)}: {show_seconds(time)} simulated")
            for size, time in pairs
        ]  # fmt: skip
    return dots


def _dot_keys(comparison: TimeComparison) -> tuple[Key, ...]:
    keys = [
        Key(words=f"{line.name} simulated", tone=tone, shape=shape)
        for line, tone, shape in _ran(comparison)
    ]
    if comparison.crossovers:
        keys.append(Key(words="crossover", tone="red", shape="star"))
    return tuple(keys)


def _crossing_mark(crossing: Crossover) -> Dot:
    return Dot(
        x=crossing.size_bytes, y=crossing.time_s, tone="red", shape="star", strong=True,
        words=f"{show_bytes(crossing.size_bytes)}: {crossing.before} to {crossing.after}",
        detail=f"{_crossing_words(crossing)} Both take {show_seconds(crossing.time_s)}.",
    )  # fmt: skip


def _shown(comparison: TimeComparison) -> list[int]:
    count = len(comparison.sizes_bytes)
    shown: list[int] = np.unique(np.rint(np.linspace(0, count - 1, _ROWS)).astype(int)).tolist()
    return shown


def _rows(comparison: TimeComparison) -> tuple[tuple[str, ...], ...]:
    return tuple(
        (
            show_bytes(float(comparison.sizes_bytes[at])),
            *(show_seconds(float(line.time_s[at])) for line in comparison.lines),
        )
        for at in _shown(comparison)
    )


def _ratio_rows(comparison: TimeComparison, best: np.ndarray) -> tuple[tuple[str, ...], ...]:
    return tuple(
        (
            show_bytes(float(comparison.sizes_bytes[at])),
            *(f"{line.time_s[at] / best[at]:.2f}" for line in comparison.lines),
        )
        for at in _shown(comparison)
    )
