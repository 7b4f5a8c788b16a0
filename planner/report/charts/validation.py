"""The charts of `planner validate --plot`: predicted against measured, and errors by source."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray
from planner.base.errors import InputError
from planner.base.units import plain, plural, show_seconds
from planner.evidence.validation.measured_runs import Runs
from planner.report.drawing.chart import Area, Axis, Bar, Chart, Dot, Key, Line, Mark, Picture
from planner.report.drawing.geometry.line_ends import named_ticks
from planner.report.drawing.svg import SIDE_BY_SIDE, WIDTH
from planner.report.pages.picture_file import check_picture
from planner.report.tables.validation_tables import percent, time_table

TITLE = "Predicted against measured step times"
BANDS = (0.2, 0.1)
"""Half widths of the shaded bands, the wide one first."""
MOST = 4.0
"""Errors beyond this ratio are drawn at the edge."""
QUARTILES = 4
"""Runs from which a source has quartiles."""
SOME = 200
"""Runs from which points are faint."""
_TICKS = (0.25, 0.5, 0.8, 1.0, 1.2, 2.0, 4.0)
_EDGE = 1.06
_AROUND = 1.3
_SQUARE = 0.93
"""Height over width of a chart whose area is about as high as wide."""
_ROW, _REST = 16.0, 130.0
"""Pixels of a source, and of what is above and below all of them."""
_SPREAD = 0.3
_GOLDEN = 0.6180339887498949
_BAR = 0.17


@dataclass(frozen=True, slots=True)
class Family:
    """Sources that share a look."""

    name: str
    tone: str
    shape: str
    patterns: tuple[str, ...]


FAMILIES = (  # in the order in which they are drawn
    Family("nanotron", "grey", "circle", ("nanotron*",)),
    Family("vTrain, single node", "blue", "circle", ("vtrain-single",)),
    Family("vTrain, multi-node", "purple", "square", ("vtrain-multi",)),
    Family("MPT", "green", "triangle", ("mpt",)),
    Family("BLOOM and V100 tuning", "brown", "wedge", ("bloom*", "v100*", "mtnlg", "korthikanti*")),
    Family("mixtures of experts", "red", "diamond", ("*moe*", "deepseek", "automodel")),
    Family("NeMo, Megatron-Bridge, MLPerf", "orange", "hexagon",
           ("nemo*", "mbridge*", "mlperf*", "simumax")),
    Family("TPU", "teal", "cross", ("ironwood", "tpurec", "gpurec")),
)  # fmt: skip
_OTHERS = Family("others", "grey", "star", ("*",))


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """What is drawn.

    Attributes:
        keys: (n,) names of the runs.
        measured_s, predicted_s: (n,) step times.
        sources: (n,) names.
        order: Sources from the smallest to the largest median absolute error.
        site_factors: Whether they are in the predictions.
    """

    keys: tuple[str, ...]
    measured_s: FloatArray
    predicted_s: FloatArray
    sources: np.ndarray
    order: tuple[str, ...]
    site_factors: bool


def check_runs_plot(plot: Path | None, what: str) -> None:
    """Finds out before anything is computed whether the picture can be drawn.

    Raises:
        InputError: There are no runs to draw, the ending is unknown, the file cannot be written,
            or it is a PNG and resvg-py is missing.
    """
    if plot is None:
        return
    if what not in ("runs", "all"):
        raise InputError(f"plot: draws training runs, not {what}; leave out --what")
    check_picture(plot)


def drawn_of(runs: Runs) -> Drawn:
    """What is drawn of an answer."""
    p = runs.predictions.with_site_factors() if runs.site_factors else runs.predictions
    scores = sorted(
        runs.sources,
        key=lambda row: (row.site_time if runs.site_factors else row.time).median,
    )
    return Drawn(
        keys=tuple(measured.run.key for measured in p.runs),
        measured_s=p.measured_s,
        predicted_s=p.step_time_s,
        sources=np.array([measured.set_name for measured in p.runs]),
        order=tuple(row.name for row in scores),
        site_factors=runs.site_factors,
    )


def validation_picture(runs: Runs) -> Picture:
    """Both charts side by side."""
    drawn = drawn_of(runs)
    charts = (_runs_chart(runs, drawn), _sources_chart(drawn, SIDE_BY_SIDE))
    return Picture(title=TITLE, charts=charts, columns=2)


def runs_picture(runs: Runs) -> Picture:
    """Predicted against measured alone."""
    return Picture(title=TITLE, charts=(_runs_chart(runs, drawn_of(runs)),))


def sources_picture(runs: Runs) -> Picture:
    """The errors by source alone."""
    return Picture(title=TITLE, charts=(_sources_chart(drawn_of(runs), WIDTH),))


def family_of(source: str) -> Family:
    """The first family that has a source."""
    for family in FAMILIES:
        if any(fnmatchcase(source, pattern) for pattern in family.patterns):
            return family
    return _OTHERS


def _runs_chart(runs: Runs, drawn: Drawn) -> Chart:
    """Predicted over measured seconds on logarithmic axes."""
    both = np.concatenate([drawn.measured_s, drawn.predicted_s])
    low, high = float(both.min()) / _AROUND, float(both.max()) * _AROUND
    ticks = named_ticks(low, high, show_seconds)
    x = Axis(label="measured step time", low=low, high=high, logarithmic=True, ticks=ticks)
    y = Axis(label="predicted step time", low=low, high=high, logarithmic=True, ticks=ticks)
    dots, keys = [], []
    families = np.array([family_of(name).name for name in drawn.sources])
    for family in (*FAMILIES, _OTHERS):
        rows = np.flatnonzero(families == family.name).tolist()
        dots += [_run_dot(drawn, row, family) for row in rows]
        if rows:
            words = f"{family.name} ({len(rows):,})"
            keys.append(Key(words=words, tone=family.tone, shape=family.shape))
    header, cells = _errors(runs)
    return Chart(
        title="Run by run",
        subtitle=f"{_counted(drawn)}; on the line both are the same",
        x=x,
        y=y,
        marks=(
            *(_band(low, high, width) for width in BANDS),
            Line(points=((low, low), (high, high)), tone="grey", detail="predicted as measured"),
            *dots,
        ),
        legend=(*keys, _band_key()),
        description=f"{_counted(drawn)}: predicted over measured step time; "
        f"{_within(drawn.predicted_s / drawn.measured_s)}.",
        header=header,
        rows=cells,
        height=_SQUARE,
    )


def _run_dot(drawn: Drawn, row: int, family: Family) -> Dot:
    """A run; of few runs a pointer is told its name and times."""
    measured_s, predicted_s = float(drawn.measured_s[row]), float(drawn.predicted_s[row])
    few = len(drawn.keys) < SOME
    detail = (
        f"{drawn.keys[row]}: measured {show_seconds(measured_s)}, "
        f"predicted {show_seconds(predicted_s)}"
    )
    return Dot(x=measured_s, y=predicted_s, tone=family.tone, shape=family.shape,
               detail=detail if few else "", faint=not few)  # fmt: skip


def _band(low: float, high: float, width: float) -> Area:
    corners = (
        (low, low * (1 - width)),
        (high, high * (1 - width)),
        (high, high * (1 + width)),
        (low, low * (1 + width)),
    )
    return Area(corners=corners, tone="grey", detail=f"within {plain(100 * width)} %")


def _band_key() -> Key:
    wide, narrow = (plain(100 * width) for width in BANDS)
    return Key(words=f"within {narrow} and {wide} %", tone="grey", kind="area")


def _errors(runs: Runs) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """The errors by source without site factors, and with them where they are shown."""
    _, header, rows = time_table(runs.sources, site=False)
    if not runs.site_factors:
        return tuple(header), tuple(map(tuple, rows))
    more = [
        (percent(score.site_time.mean), percent(score.site_time.median)) for score in runs.sources
    ]
    both = (*header, "mean with site factors", "median with site factors")
    return both, tuple((*row, *own) for row, own in zip(rows, more, strict=True))


def _sources_chart(drawn: Drawn, width: float) -> Chart:
    """Predicted over measured by source: points, quartiles and median, best source on top."""
    ratio = drawn.predicted_s / drawn.measured_s
    names = [f"{name} ({(drawn.sources == name).sum():,})" for name in drawn.order]
    ends = (-0.7, len(names) - 0.3)
    marks: list[Mark] = [
        Area(corners=((1 - band, ends[0]), (1 + band, ends[0]), (1 + band, ends[1]),
                      (1 - band, ends[1])),
             tone="grey", detail=f"within {plain(100 * band)} %")
        for band in BANDS
    ]  # fmt: skip
    marks.append(Line(points=((1.0, ends[0]), (1.0, ends[1])), tone="grey"))
    for at, name in enumerate(drawn.order):
        rows = np.flatnonzero(drawn.sources == name)
        marks += _source(drawn, name, at, rows)
    few = "" if all((drawn.sources == name).sum() >= QUARTILES for name in drawn.order) else (
        f"Sources of fewer than {QUARTILES} runs have points alone. "
    )  # fmt: skip
    return Chart(
        title="Source by source: predicted over measured",
        subtitle=f"{_counted(drawn)}; the smallest median error on top",
        x=Axis(label="predicted / measured", low=1 / MOST / _EDGE, high=MOST * _EDGE,
               logarithmic=True, ticks=tuple((tick, f"{tick:g}") for tick in _TICKS)),
        y=Axis(label="", low=ends[0], high=ends[1], downwards=True,
               ticks=tuple((float(at), name) for at, name in enumerate(names))),
        marks=tuple(marks),
        legend=(
            Key(words="a run", tone="grey"),
            Key(words="half of the runs", tone="grey", kind="bar"),
            Key(words="median", tone="grey", shape="diamond"),
            _band_key(),
        ),
        notes=(f"{few}Ratios beyond {plain(1 / MOST)} and {plain(MOST)} are drawn at the edge.",),
        description=f"{_counted(drawn)}: predicted over measured step time by source with "
        f"quartiles and median; {_within(ratio)}.",
        header=("source", "runs", "lower quartile", "median", "upper quartile", "beyond the edge"),
        rows=tuple(_quartile_row(name, ratio[drawn.sources == name]) for name in drawn.order),
        height=max(0.35, (_ROW * len(names) + _REST) / width),
    )  # fmt: skip


def _source(drawn: Drawn, name: str, at: int, rows: np.ndarray) -> Iterator[Mark]:
    """The points of a source, spread over its row, then its quartiles and median."""
    ratio = np.clip(drawn.predicted_s[rows] / drawn.measured_s[rows], 1 / MOST, MOST)
    family, several = family_of(name), len(rows) >= QUARTILES
    for index, (row, value) in enumerate(zip(rows.tolist(), ratio.tolist(), strict=True)):
        height = at + _SPREAD * (2 * (_GOLDEN * (index + 1) % 1) - 1)
        detail = "" if several else f"{drawn.keys[row]}: {plain(value)}"
        yield Dot(x=value, y=height, tone=family.tone, detail=detail, faint=several)
    if not several:
        return
    low, middle, high = np.quantile(ratio, (0.25, 0.5, 0.75)).tolist()
    words = f"{name}: median {plain(middle)}, half between {plain(low)} and {plain(high)}"
    yield Bar(left=low, right=high, bottom=at - _BAR, top=at + _BAR, tone=family.tone, detail=words)
    yield Dot(x=middle, y=at, tone=family.tone, shape="diamond", detail=words)


def _quartile_row(name: str, ratio: FloatArray) -> tuple[str, ...]:
    low, middle, high = map(plain, np.quantile(ratio, (0.25, 0.5, 0.75)).tolist())
    beyond = int(((ratio > MOST) | (ratio < 1 / MOST)).sum())
    return (name, f"{len(ratio):,}", low, middle, high, f"{beyond:,}")


def _counted(drawn: Drawn) -> str:
    words = f"{plural(len(drawn.keys), 'run')} of {plural(len(drawn.order), 'source')}"
    return f"{words}, with site factors" if drawn.site_factors else words


def _within(ratio: FloatArray) -> str:
    """`52.8 % of them within 10 %, 66.8 % within 20 %`."""
    shares = [f"{percent(float(np.mean(np.abs(ratio - 1) <= width)))} % of them within "
              f"{plain(100 * width)} %" for width in reversed(BANDS)]  # fmt: skip
    return ", ".join(shares)
