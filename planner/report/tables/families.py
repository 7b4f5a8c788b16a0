"""Tables of newer chips predicted from older ones, as `planner validate` prints them."""

from __future__ import annotations

from planner.evidence.validation.families import (
    POWER_BOUND,
    TIME_BOUND,
    Family,
    FamilyTable,
)
from planner.report.tables.validation_tables import Table, percent

_TITLES = {
    "peak_flop_per_s": ("16-bit peak", 1e12, "TFLOP/s"),
    "flop_per_pe_per_clock": ("16-bit per PE", 1, "FLOP/cycle"),
    "pe_count": ("PEs", 1, ""),
    "clock_hz": ("clock", 1e9, "GHz"),
    "memory_bytes": ("memory", 1e9, "GB"),
    "memory_bandwidth_bytes_per_s": ("memory rate", 1e12, "TB/s"),
    "l2_bytes": ("L2", 1e6, "MB"),
    "scale_up_link_bytes_per_s": ("one link", 1e9, "GB/s"),
    "scale_up_bytes_per_s": ("links", 1e9, "GB/s"),
    "tdp_w": ("rated power", 1, "W"),
}


def family_tables(found: FamilyTable) -> list[Table]:
    """The errors by pair, then what was disclosed of each newer chip."""
    header = ("older -> newer", "fitted together", "runs", "time, mean %", "bias %", "own record %",
              "pairs", "ratio %", "meters", "power, mean %", "own record %", "busy W", "record W",
              "clock", "within")  # fmt: skip
    title = (
        "Newer chips, predicted from the older one and what was disclosed (bounds: time "
        f"{percent(TIME_BOUND)} %, power {percent(POWER_BOUND)} %)"
    )
    return [(title, header, [_errors(one) for one in found.families]), _changes(found)]


def _errors(one: Family) -> list[str]:
    return [
        f"{one.older} -> {one.newer}",
        ", ".join(one.shared) or "-",
        f"{one.runs:,}",
        _known(one.time_error),
        _known(one.time_bias),
        _known(one.own_time_error),
        f"{one.pairs:,}",
        _known(one.ratio_error),
        f"{one.meters:,}",
        _known(one.power_error),
        _known(one.own_power_error),
        f"{one.busy_w:.0f}",
        f"{one.own_busy_w:.0f}",
        f"{one.clock:.2f}",
        ("yes" if one.within else "no") if one.runs or one.meters else "-",
    ]


def _known(share: float | None) -> str:
    return "-" if share is None else percent(share)


def _changes(found: FamilyTable) -> Table:
    header = ("newer", "disclosed", "older", "newer", "unit", "known from")
    rows = []
    for one in found.families:
        for name, values in one.changes.items():
            title, unit_size, unit = _TITLES[name]
            shown = ["-" if value is None else f"{value / unit_size:,.6g}" for value in values]
            if shown[0] != shown[1]:
                rows.append([one.newer, title, *shown, unit, one.kinds[name]])
    return "What was disclosed of them", header, rows
