"""Plans on several machines in tables and pictures: columns, symbols and colours."""

from __future__ import annotations

from rich.console import RenderableType

from planner.report.drawing.chart import SHAPES, Key
from planner.report.tables.tables import section, table
from planner.results.parts import Machine
from planner.results.plan import PlanResult
from planner.results.result import SolveResult

COLUMNS = ("PEs", "wiring")
_TONES = ("blue", "orange", "green", "purple", "brown", "teal", "grey")


def wiring_words(machine: Machine) -> str:
    """`ring, fat-tree`: the scale-up level, then the network cards."""
    return ", ".join(name for name in (machine.scale_up, machine.scale_out) if name)


def has_machines(result: SolveResult) -> bool:
    """Whether the plans of an answer name their machines."""
    return any(point.machine is not None for point in result.front)


def cells(point: PlanResult) -> tuple[str, str]:
    """The cells of `COLUMNS`."""
    machine = point.machine
    return ("", "") if machine is None else (f"{machine.pes:,}", wiring_words(machine))


def label_words(point: PlanResult) -> str:
    """`264 SMs, ring, fat-tree: `, or nothing."""
    return "" if point.machine is None else f"{point.machine.words}: "


def _machines(result: SolveResult) -> list[Machine]:
    shown = [*result.front, *([result.best] if result.best else [])]
    return [point.machine for point in shown if point.machine is not None]


def look_of(point: PlanResult, result: SolveResult) -> tuple[str, str]:
    """Tone by the PEs of a point, shape by its wiring."""
    machine = point.machine
    assert machine is not None
    pes = sorted({one.pes for one in _machines(result)})
    wirings = sorted({wiring_words(one) for one in _machines(result)})
    shape = SHAPES[wirings.index(wiring_words(machine)) % len(SHAPES)]
    return _TONES[pes.index(machine.pes) % len(_TONES)], shape


def machine_keys(result: SolveResult) -> list[Key]:
    """Tones by PEs, then shapes by wiring."""
    points = [*result.front, *([result.best] if result.best else [])]
    made = [(point, point.machine) for point in points if point.machine is not None]
    tones = {
        f"{machine.pes:,} {machine.pe_kind}s": look_of(point, result)[0]
        for point, machine in sorted(made, key=lambda one: one[1].pes)
    }
    shapes = {wiring_words(machine): look_of(point, result)[1] for point, machine in made}
    keys = [Key(words=words, tone=tone) for words, tone in tones.items()]
    return keys + [Key(words=words, tone="grey", shape=shapes[words]) for words in sorted(shapes)]


def machines_view(result: SolveResult) -> RenderableType:
    """What was searched of each machine."""
    header = ("machine", "most chips", "limited by", "counts", "excluded", "costed", "on front")
    rows = [
        (
            one.words,
            f"{one.most_chips:,}",
            one.limited_by or "the cluster",
            f"{one.chip_counts:,}",
            f"{one.bound:,} of {one.partial_plans:,}",
            f"{one.evaluated:,}",
            f"{one.front:,}",
        )
        for one in result.candidates.machines
    ]
    right = tuple(name for name in header if name not in ("machine", "limited by"))
    return section("Machines", table(header, rows, right=right, whole=("machine",)))
