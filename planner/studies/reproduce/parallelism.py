"""Investigating the Energy and Latency Tradeoff in Rack Scale Computing (document 002).

Each figure is that of `planner rack parallelism`. Where its curve is another, the assumptions that
were tried are listed with what each gives, and one under which it appears is drawn beside ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache

import numpy as np

from hardware_db import load_cluster
from planner.base.units import plain, show_joules, show_seconds
from planner.studies.rack.parallelism.asking import HARDWARE, ParallelismAnswer
from planner.studies.rack.parallelism.figures import Figure, Point, figures
from planner.studies.rack.parallelism.setting import Setting
from planner.studies.reproduce.found import Found, Rows, Shown

PER_ROW = {"weight_loads": "per_row", "memory_chips": 8}
PER_MICRO_BATCH = {"weight_loads": "per_micro_batch"}
_WORDS: Mapping[str, Mapping[str, object]] = {
    "as recorded": {},
    "weights per micro-batch": {**PER_MICRO_BATCH, "memory_chips": 8},
    "weights per row, memory of one GPU for all": {"weight_loads": "per_row", "memory_chips": 1},
    "weights per row, memory of 8 GPUs for all": PER_ROW,
    "one micro-batch": {"micro_batches": 1},
}
"""Assumptions tried for figures 3 and 6."""
_FOR_FIGURE_7: Mapping[str, tuple[Mapping[str, object], bool]] = {
    "as recorded": ({}, False),
    "communication counts": ({}, True),
    "the same, 4 sequences": ({"sequences": 4}, True),
    "the same, racks of 2": ({"rack_chips": 2}, True),
    "SRAM of 256 KiB": ({"sram_bytes": 2.0**18}, False),
}
"""Assumptions tried for figure 7, and whether communication counts."""


@lru_cache(maxsize=32)
def _figure(number: int, *changed: tuple[str, object]) -> tuple[Setting, Figure]:
    """A figure under the recorded setting with some fields changed."""
    setting = replace(Setting(cluster=load_cluster(HARDWARE)), **dict(changed))  # type: ignore[arg-type]
    return setting, figures(setting, (number,))[0]


def _changed(number: int, fields: Mapping[str, object]) -> Figure:
    return _figure(number, *fields.items())[1]


def _shown(number: int, fields: Mapping[str, object] | None = None, words: str = "") -> Shown:
    """A figure as its command draws it."""
    setting, figure = _figure(number, *(fields or {}).items())
    label = f"Figure {number}" + (f" ({words})" if words else "")
    return Shown(answer=ParallelismAnswer(setting=setting, figures=(figure,)), labels=(label,))


def _by(figure: Figure, strategy: str, direction: str | None = None) -> dict[int, Point]:
    """The points of a strategy by what is swept."""
    return {
        getattr(point, figure.swept): point
        for point in figure.series
        if point.strategy == strategy and point.direction == direction
    }


def _ratio(over: Iterable[Point], under: Iterable[Point]) -> float:
    """The largest ratio of latencies either way, point by point."""
    pairs = zip(over, under, strict=True)
    return max(max(a.latency_s / b.latency_s, b.latency_s / a.latency_s) for a, b in pairs)


def links() -> Found:
    """Rates and energies of the links."""
    inner, outer = load_cluster(HARDWARE).levels[:2]
    return Found(
        values={
            "inner_s": 1e12 / inner.bandwidth_bytes_per_s,
            "inner_j": inner.energy_j_per_byte / 8e-12,
            "outer_s": 1e12 / outer.bandwidth_bytes_per_s,
            "outer_j": outer.energy_j_per_byte / 8e-12,
        }
    )


def _beside(number: int, first: int, last: int) -> Found:
    """DP and TP of a figure, and how many times less DP takes at its last point than its first."""
    figure = _changed(number, {})
    dp, tp = _by(figure, "dp"), _by(figure, "tp")
    return Found(
        values={
            "alike": _ratio(dp.values(), tp.values()),
            "bound": dp[first].latency_s / dp[last].latency_s,
        },
        pictured=(_shown(number),),
    )


def figure_2() -> Found:
    """DP and TP on the feed-forward network over GPUs."""
    return _beside(2, 4, 32)


def figure_3() -> Found:
    """PP + TP on the feed-forward network over GPUs, and what was tried."""
    rows, found = [], {}
    for words, fields in _WORDS.items():
        piped, alone = (_by(_changed(number, fields), s) for number, s in ((3, "pp+tp"), (2, "tp")))
        ratio = piped[4].latency_s / alone[4].latency_s
        flat = [n for n in piped if piped[n].latency_s < 1.01 * piped[32].latency_s]
        found[words] = (ratio, min(flat))
        times = (show_seconds(piped[n].latency_s) for n in (4, 8, 32))
        rows.append((words, f"{plain(ratio)} x", *times, f"{min(flat)}"))
    header = ("assumption", "over TP on 4", "4 GPUs", "8", "32", "flat from")
    best = "weights per row, memory of 8 GPUs for all"
    return Found(
        values={
            "ratio": found["as recorded"][0],
            "plateau": found["as recorded"][1],
            "ratio_tried": found[best][0],
            "plateau_tried": found[best][1],
        },
        tables=(Rows(title="PP + TP under five assumptions", header=header, rows=tuple(rows)),),
        pictured=(_shown(3), _shown(3, PER_ROW, "weights loaded per row, memory of 8 GPUs")),
    )


def figure_4() -> Found:
    """DP and TP on attention over GPUs."""
    figure = _changed(4, {})
    dp, tp = _by(figure, "dp"), _by(figure, "tp")
    return Found(
        values={
            "dp_stops": bool(np.isclose(dp[16].latency_s, dp[32].latency_s)),
            "tp_goes_on": tp[32].latency_s < 0.6 * tp[16].latency_s,
        },
        pictured=(_shown(4),),
    )


def figure_5() -> Found:
    """PP + TP beside TP on attention."""
    figure = _changed(5, {})
    piped, alone = _by(figure, "pp+tp"), _by(figure, "tp")
    times = [piped[n].latency_s for n in sorted(piped)]
    per_row = _by(_changed(5, PER_ROW), "pp+tp")
    return Found(
        values={
            "ratio": piped[12].latency_s / alone[12].latency_s,
            "falls": bool(np.all(np.diff(times) < 0)),
            "per_row": per_row[12].latency_s / alone[12].latency_s,
        },
        pictured=(_shown(5),),
    )


def figure_6() -> Found:
    """Energy by part on 16 GPUs, and what was tried."""
    rows, found = [], {}
    for words, fields in _WORDS.items():
        figure = _changed(6, fields)
        dp, tp, piped = (_by(figure, s)[16] for s in ("dp", "tp", "pp+tp"))
        found[words] = (dp, tp, piped)
        for part in ("main_memory_read", "gpu_memory_write"):
            joules = (show_joules(one.energy_j[part]) for one in (dp, tp, piped))
            rows.append((words, part.replace("_", " "), *joules))
    dp, tp, piped = found["as recorded"]
    _, tp_tried, tried = found["weights per micro-batch"]
    read, write = "main_memory_read", "gpu_memory_write"
    return Found(
        values={
            "tp_reads": tp.energy_j["gpu_memory_read"] > dp.energy_j["gpu_memory_read"],
            "dp_least": dp.total_j < min(tp.total_j, piped.total_j),
            "reads": piped.energy_j[read] > 1.5 * tp.energy_j[read],
            "writes": piped.energy_j[write] > 1.5 * tp.energy_j[write],
            "reads_tried": tried.energy_j[read] > 1.5 * tp_tried.energy_j[read],
            "writes_tried": tried.energy_j[write] > 1.5 * tp_tried.energy_j[write],
        },
        tables=(
            Rows(
                title="Two parts under five assumptions",
                header=("assumption", "part", "DP", "TP", "PP + TP"),
                rows=tuple(rows),
            ),
        ),
        pictured=(_shown(6), _shown(6, PER_MICRO_BATCH, "weights loaded per micro-batch")),
    )


def figure_7() -> Found:
    """Block sizes on attention, and what was tried."""
    rows, found = [], {}
    for words, (fields, counts) in _FOR_FIGURE_7.items():
        figure = _changed(7, fields)
        taken = {
            strategy: [
                point.latency_s
                + counts * (point.forward_communication_s + point.backward_communication_s)
                for point in _by(figure, strategy).values()
            ]
            for strategy in ("dp", "tp", "pp+tp")
        }
        found[words] = taken
        gains = {strategy: times[0] / times[-1] for strategy, times in taken.items()}
        ends = (f"{1e3 * times[at]:.2f}" for at in (0, -1) for times in taken.values())
        rows.append((words, *ends, *(f"{gains[s]:.1f}" for s in ("dp", "tp"))))
    plain_dp, plain_tp = (found["as recorded"][s] for s in ("dp", "tp"))
    counted = found["communication counts"]
    header = (
        "assumption", "DP 64 (ms)", "TP 64", "PP + TP 64", "DP 1024", "TP 1024", "PP + TP 1024",
        "DP gains", "TP gains",
    )  # fmt: skip
    return Found(
        values={
            "best": plain_dp[0] < plain_tp[0],
            "best_tried": counted["dp"][0] < min(counted["tp"][0], counted["pp+tp"][0]),
            "flat": plain_dp[-2] / plain_dp[-1] < 1.5,
            "sooner": any(one["dp"][0] < one["tp"][0] and one["dp"][0] / one["dp"][-1]
                          < one["tp"][0] / one["tp"][-1] for one in found.values()),
        },
        tables=(Rows(title="Five assumptions", header=header, rows=tuple(rows)),),
        pictured=(_shown(7),),
    )  # fmt: skip


def figure_8() -> Found:
    """Block sizes on the feed-forward network."""
    return _beside(8, 64, 1024)


def figure_9() -> Found:
    """Energy of TP over block sizes."""
    joules = [point.total_j for point in _changed(9, {}).series]
    return Found(values={"spread": 100 * (max(joules) / min(joules) - 1)}, pictured=(_shown(9),))


def figure_10() -> Found:
    """Energy of communication."""
    figure = _changed(10, {})
    dp, tp, piped = (_by(figure, s, "forward") for s in ("dp", "tp", "pp+tp"))
    back = _by(figure, "dp", "backward")
    least = min(tp[32].total_j + tp[32].total_j, back[32].total_j)
    return Found(
        values={
            "forward": dp[32].total_j,
            "backward": back[32].total_j > 0,
            "least": 2 * piped[32].total_j < least,
        },
        pictured=(_shown(10),),
    )


def figure_11() -> Found:
    """Time of communication."""
    figure = _changed(11, {})
    back = _by(figure, "dp", "backward")
    computing = _by(_changed(2, {}), "dp")
    return Found(
        values={
            "forward": _by(figure, "dp", "forward")[32].latency_s,
            "rack": back[16].latency_s > 10 * back[8].latency_s,
            "small": back[32].latency_s < computing[32].latency_s,
            "small_inside": back[8].latency_s < computing[8].latency_s,
        },
        pictured=(_shown(11),),
    )


def _only_drawn(number: int) -> Callable[[], Found]:
    return lambda: Found(values={}, pictured=(_shown(number),))


RUNS: Mapping[str, Callable[[], Found]] = {
    "links": links,
    "fig2": figure_2,
    "fig3": figure_3,
    "fig4": figure_4,
    "fig5": figure_5,
    "fig6": figure_6,
    "fig7": figure_7,
    "fig8": figure_8,
    "fig9": figure_9,
    "fig10": figure_10,
    "fig11": figure_11,
    "fig12": _only_drawn(12),
    "fig13": _only_drawn(13),
}
