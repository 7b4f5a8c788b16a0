"""The pictures of `planner validate --plot`: predicted against measured, and errors by source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np

from planner.errors import InputError
from planner.plan import FloatArray
from planner.report import plotting
from planner.report.plotting import BLACK, BLUE, GREEN, ORANGE, PURPLE, About, load_pyplot, save
from planner.report.validation_tables import time_table
from planner.units import plain, show_seconds
from planner.validation.answer import Runs

_RED, _TEAL, _BROWN, _GREY = "#b03060", "#2a9d9d", "#8a6d3b", "#8c8c8c"
_MOST = 4.0  # errors beyond this ratio are drawn at the edge
_BANDS = ((0.2, 0.10), (0.1, 0.16))
_QUARTILES = 4  # rows from which quartiles are drawn
_SOME = 200  # rows from which points are small


@dataclass(frozen=True, slots=True)
class Family:
    """Sources that share a colour."""

    name: str
    colour: str
    patterns: tuple[str, ...]


FAMILIES = (  # in the order in which they are drawn
    Family("nanotron", _GREY, ("nanotron*",)),
    Family("vTrain, single node", BLUE, ("vtrain-single",)),
    Family("vTrain, multi-node", PURPLE, ("vtrain-multi",)),
    Family("MPT", GREEN, ("mpt",)),
    Family("BLOOM and V100 tuning", _BROWN, ("bloom*", "v100*", "mtnlg", "korthikanti*")),
    Family("mixtures of experts", _RED, ("*moe*", "deepseek", "automodel")),
    Family("NeMo, Megatron-Bridge, MLPerf", ORANGE, ("nemo*", "mbridge*", "mlperf*", "simumax")),
    Family("TPU", _TEAL, ("ironwood", "tpurec", "gpurec")),
)
_OTHERS = Family("others", BLACK, ("*",))


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """What is drawn, free of any plotting library.

    Attributes:
        measured_s, predicted_s: (n,) step times.
        sources: (n,) names.
        order: Sources from the smallest to the largest median absolute error.
        site_factors: Whether they are in the predictions.
    """

    measured_s: FloatArray
    predicted_s: FloatArray
    sources: np.ndarray
    order: tuple[str, ...]
    site_factors: bool


def check_plot(plot: Path | None, what: str) -> None:
    """Finds out before anything is computed whether the picture can be drawn.

    Raises:
        InputError: The ending is unknown, the file cannot be written, matplotlib is missing, or
            there are no runs to draw.
    """
    if plot is None:
        return
    if what not in ("runs", "all"):
        raise InputError(f"plot: draws training runs, not {what}; leave out --what")
    plotting.check_plot(plot)


def drawn_of(runs: Runs) -> Drawn:
    """What is drawn of an answer."""
    p = runs.predictions.with_site_factors() if runs.site_factors else runs.predictions
    scores = sorted(
        runs.sources,
        key=lambda row: (row.site_time if runs.site_factors else row.time).median,
    )
    return Drawn(
        measured_s=p.measured_s,
        predicted_s=p.step_time_s,
        sources=np.array([measured.set_name for measured in p.runs]),
        order=tuple(row.name for row in scores),
        site_factors=runs.site_factors,
    )


def draw(runs: Runs, path: Path) -> None:
    """Writes both pictures side by side.

    Raises:
        InputError: The file cannot be written, or matplotlib is missing.
    """
    plt = load_pyplot()
    drawn = drawn_of(runs)
    height = max(5.6, 1.6 + 0.2 * len(drawn.order))
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(13.0, height), layout="constrained", width_ratios=(1.15, 1.0)
    )
    _scatter(left, drawn)
    _boxes(right, drawn)
    save(figure, path, _about(runs))


def draw_scatter(runs: Runs, path: Path) -> None:
    """Writes predicted against measured alone; errors as `draw`."""
    figure, panel = load_pyplot().subplots(figsize=(7.2, 6.4), layout="constrained")
    _scatter(panel, drawn_of(runs))
    save(figure, path, _about(runs))


def draw_errors(runs: Runs, path: Path) -> None:
    """Writes the errors by source alone; errors as `draw`."""
    drawn = drawn_of(runs)
    size = (7.2, max(3.0, 1.4 + 0.2 * len(drawn.order)))
    figure, panel = load_pyplot().subplots(figsize=size, layout="constrained")
    _boxes(panel, drawn)
    save(figure, path, _about(runs))


def _about(runs: Runs) -> About:
    """What a page says."""
    drawn = drawn_of(runs)
    return About(
        title="Predicted against measured step times",
        description=f"{len(drawn.sources):,} training runs{_with(drawn)}: predicted over measured "
        "step time, and the ratio by source with quartiles and median.",
        tables=(time_table(runs.sources, site=False),)
        + ((time_table(runs.sources, site=True),) if drawn.site_factors else ()),
    )


def family_of(source: str) -> Family:
    """The first family that has a source."""
    for family in FAMILIES:
        if any(fnmatchcase(source, pattern) for pattern in family.patterns):
            return family
    return _OTHERS


def _scatter(panel: Any, drawn: Drawn) -> None:
    """Predicted over measured seconds on logarithmic axes, with bands of 10 and 20 %."""
    both = np.concatenate([drawn.measured_s, drawn.predicted_s])
    ends = np.array([both.min() / 1.3, both.max() * 1.3])
    for width, depth in _BANDS:
        panel.fill_between(
            ends, ends * (1 - width), ends * (1 + width), color=BLACK, alpha=depth, linewidth=0,
        )  # fmt: skip
    panel.plot(ends, ends, color=BLACK, linewidth=0.8)
    families = np.array([family_of(name).name for name in drawn.sources])
    few = len(families) < _SOME
    for family in (*FAMILIES, _OTHERS):
        rows = families == family.name
        if rows.any():
            panel.plot(
                drawn.measured_s[rows], drawn.predicted_s[rows], "o", color=family.colour,
                markersize=5 if few else 3.2, alpha=0.8 if few else 0.55, markeredgewidth=0,
                rasterized=True, label=f"{family.name} ({rows.sum():,})",
            )  # fmt: skip
    panel.set(
        xscale="log", yscale="log", xlim=ends, ylim=ends, aspect="equal",
        xlabel="measured step time", ylabel="predicted step time",
        title=f"{len(families):,} runs{_with(drawn)}; bands: 10 and 20 %",
    )  # fmt: skip
    for axis in (panel.xaxis, panel.yaxis):
        axis.set_major_locator(_log_locator(ends[1] / ends[0]))
        axis.set_major_formatter(lambda value, _: show_seconds(value))
    panel.tick_params(axis="both", which="minor", length=0, labelleft=False, labelbottom=False)
    legend = panel.legend(loc="upper left", fontsize=8.5, framealpha=0.9, markerscale=1.4)
    for handle in legend.legend_handles:
        handle.set_alpha(1.0)


def _log_locator(span: float) -> Any:
    """Ticks that leave at least two labels on a logarithmic axis from x to x times `span`."""
    from matplotlib.ticker import LogLocator  # noqa: PLC0415  (an extra, and only for pictures)

    return LogLocator(10, (1.0,) if span > 100 else (1.0, 2.0, 5.0) if span > 10 else range(1, 10))


def _with(drawn: Drawn) -> str:
    return ", with site factors" if drawn.site_factors else ""


def _boxes(panel: Any, drawn: Drawn) -> None:
    """Predicted over measured by source: points, quartiles and median, best source on top."""
    ratio = np.clip(drawn.predicted_s / drawn.measured_s, 1 / _MOST, _MOST)
    random = np.random.default_rng(0)
    for at, name in enumerate(reversed(drawn.order)):
        values = ratio[drawn.sources == name]
        colour = family_of(name).colour
        heights = at + random.uniform(-0.26, 0.26, len(values))
        size = 3.4 if len(values) < _SOME else 1.8
        panel.plot(
            values, heights, "o", color=colour, markersize=size, alpha=0.45, markeredgewidth=0,
            rasterized=True,
        )  # fmt: skip
        if len(values) < _QUARTILES:
            panel.plot(values, heights, "o", color=colour, markersize=4.5, markeredgewidth=0)
            continue
        low, middle, high = np.quantile(values, (0.25, 0.5, 0.75))
        panel.plot([low, high], [at, at], color=colour, linewidth=4.5, alpha=0.9, zorder=3,
                   solid_capstyle="butt")  # fmt: skip
        panel.plot([middle], [at], "|", color="white", markersize=7, markeredgewidth=1.8, zorder=4)
    for width, depth in _BANDS:
        panel.axvspan(1 - width, 1 + width, color=BLACK, alpha=depth, linewidth=0, zorder=0)
    panel.axvline(1.0, color=BLACK, linewidth=0.8)
    counts = [int((drawn.sources == name).sum()) for name in reversed(drawn.order)]
    labels = [
        f"{name} ({count:,})" for name, count in zip(reversed(drawn.order), counts, strict=True)
    ]
    panel.set(
        xscale="log", xlim=(1 / _MOST / 1.06, _MOST * 1.06), ylim=(-0.7, len(labels) - 0.3),
        xlabel=f"predicted over measured step time (beyond {plain(1 / _MOST)} and {plain(_MOST)} "
        "at the edge)",
        title=f"Ratio by source{_with(drawn)}: quartiles and median",
    )  # fmt: skip
    panel.set_yticks(range(len(labels)), labels, fontsize=8.5)
    panel.set_xticks(_TICKS, [f"{tick:g}" for tick in _TICKS])
    panel.minorticks_off()
    panel.grid(visible=False, axis="y")


_TICKS: Sequence[float] = (0.25, 0.5, 0.8, 1.0, 1.2, 2.0, 4.0)
