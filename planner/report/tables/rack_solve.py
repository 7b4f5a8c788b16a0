"""The answer of `planner rack solve` as Rich tables for a terminal."""

from __future__ import annotations

from math import ceil

from rich.console import Group, RenderableType
from rich.text import Text

from planner.base.units import plain, plural, show_joules, show_percent, show_seconds
from planner.report.tables.tables import SplitTable, indented, section, table
from planner.studies.rack.solve.answer import BudgetUse, RackAnswer, RackPoint
from planner.studies.rack.solve.question import BUDGETS
from planner.studies.rack.solve.why import mesh_words, plan_words

HEADER = (
    "", "chips", "PEs", "topology", "mesh", "links", "latency", "energy", "memories", "arithmetic",
    "network", "other",
)  # fmt: skip
_RIGHT = (
    "chips", "PEs", "links", "latency", "energy", "memories", "arithmetic", "network", "other",
)  # fmt: skip
_PARTS = {
    "mac": "arithmetic", "dram": "memories", "sram": "memories", "registers": "memories",
    "main memory": "memories", "network": "network", "network between racks": "network",
}  # fmt: skip
_UNITS = {"max-memory": (1.0, "B", 0), "max-power": (1.0, "W", 3), "max-area": (1e-6, "mm2", 3)}
_MOST = 40


def rack_solve_view(answer: RackAnswer) -> RenderableType:
    """Everything that `planner rack solve` prints."""
    question = answer.question
    parts: list[RenderableType] = [
        Text(
            f"{question.workload.title}, {plural(question.batch, 'item')}, on "
            f"{question.machine.chip.name} ({question.machine.precision})",
            style="bold",
        ),
        Text(sentence(answer)),
    ]
    if answer.best is None:
        parts.append(indented([*remedy_lines(answer), *answer.why]))
    else:
        parts += [indented(answer.why), Text(), _front(answer)]
    if lines := budget_lines(answer):
        parts += [Text(), section("Budgets", indented(lines))]
    assumed = table(("what", "value", "why"), answer.defaults, whole=("what",))
    return Group(*parts, Text(), Text(_effort(answer)), Text(), section("Assumed", assumed))


def sentence(answer: RackAnswer) -> str:
    """The optimum in one line, or that there is none."""
    if answer.status == "time_limit":
        return "Nothing found: the time limit ended the search before any plan was found."
    if answer.best is None:
        return f"Infeasible, proved: none of {answer.counts['plans']:,} plans keeps the budgets."
    best, resolution = answer.best, answer.resolution
    assert resolution is not None
    show = {"time": show_seconds, "energy": show_joules}.get(answer.objective, _edp)
    words = {
        "time": f"latency {show_seconds(best.latency_s)}",
        "energy": f"energy {show_joules(best.energy_j)}",
        "edp": f"energy times latency {_edp(best.edp_js)}",
    }
    first = words.pop(answer.objective)
    others = ", ".join(words[name] for name in ("time", "energy") if name in words)
    sure = "Best, proved"
    if answer.status != "optimal":
        bound = f"no plan is below {show(answer.bound)}" if answer.bound else "nothing is proved"
        sure = f"Best so far, when time ran out ({bound})"
    return (
        f"{sure}: {plan_words(best)}: {first} (the solver's integers are exact to a part in "
        f"{plain(1 / resolution)}), {others}."
    )


def _edp(value: float) -> str:
    return f"{value:.4g} J s"


def point_cells(answer: RackAnswer, point: RackPoint) -> tuple[str, ...]:
    """The row of a point of the front; the best one has a star."""
    sums = dict.fromkeys(("memories", "arithmetic", "network", "other"), 0.0)
    for name, joules in point.energy_by_part_j.items():
        sums[_PARTS.get(name, "other")] += joules
    same = answer.best is not None and point.to_dict() == answer.best.to_dict()
    return (
        "*" if same else "",
        str(point.chips),
        str(point.pes),
        point.topology if point.chips > 1 else "-",
        mesh_words(point),
        str(point.links),
        show_seconds(point.latency_s),
        show_joules(point.energy_j),
        *(show_joules(joules, 3) for joules in sums.values()),
    )


def _front(answer: RackAnswer) -> RenderableType:
    cells = [point_cells(answer, point) for point in answer.front]
    rows = [(f"{star}{number}", *rest) for number, (star, *rest) in enumerate(cells, start=1)]
    left = len(rows) - _MOST
    note = "" if answer.front_complete else " so far (cut off by the time limit)"
    shown: list[RenderableType] = [
        SplitTable(("#", *HEADER[1:]), rows[:_MOST], by=("#",), right=("#", *_RIGHT))
    ]
    if left > 0:
        shown.append(Text(f"{left} more; --pareto FILE.csv writes all of them"))
    proved = ", proved" if answer.front_complete else ""
    return section(f"Front of latency and energy{proved}{note}", *shown)


def budget_lines(answer: RackAnswer) -> list[str]:
    """What each budget holds, and what the next step of it buys."""
    return [_budget_line(answer, budget) for budget in answer.budgets]


def _budget_line(answer: RackAnswer, budget: BudgetUse) -> str:
    used = f"{budget.name}: {_amount(budget.name, budget.used)} of "
    used += _amount(budget.name, budget.limit)
    value = answer.value
    point, next_limit = budget.next_point, budget.next_limit
    if point is None or next_limit is None or value is None:
        return f"{used}; more of it alone changes the optimum by less than 0.1 %."
    noun = {"time": "latency", "energy": "energy", "edp": "energy times latency"}
    gain = show_percent(1 - point.value(answer.objective) / value)
    return (
        f"{used}; binds: {_amount(budget.name, next_limit)} would save {gain} of the "
        f"{noun[answer.objective]} ({plan_words(point)})."
    )


def remedy_lines(answer: RackAnswer) -> list[str]:
    """The smallest changes that free a plan."""
    lines = []
    for remedy in answer.remedies:
        grown = " and ".join(
            f"--{name} {_flag_value(name, value)} instead of "
            f"{_flag_value(name, answer.question.budgets[name])}"
            for name, value in remedy.budgets.items()
        )
        lines.append(f"Smallest change that frees a plan: {grown} ({plan_words(remedy.point)}).")
    return lines


def _amount(name: str, value: float) -> str:
    """A budget with its unit: `1,920 B`, `1 link`."""
    number, noun = _number(name, value), BUDGETS[name].noun
    unit = _UNITS[name][1] if name in _UNITS else noun.removesuffix("s" if number == "1" else "")
    return f"{number} {unit}"


def _flag_value(name: str, value: float) -> str:
    """A budget as it is typed after its flag: `1920B`, `1`."""
    unit = _UNITS[name][1] if name in _UNITS else ""
    return _number(name, value).replace(",", "") + unit


def _number(name: str, value: float) -> str:
    """The number of a budget in its unit, never rounded down: what is printed is enough."""
    scale, _, digits = _UNITS.get(name, (1.0, "", 0))
    steps = 10.0**digits
    number = f"{ceil(value / scale * steps - 1e-6) / steps:,.{digits}f}"
    return number.rstrip("0").rstrip(".") if digits else number


def _effort(answer: RackAnswer) -> str:
    counts = answer.counts
    return (
        f"CP-SAT: {counts['plans']:,} plans in tables of {counts['rows']:,} rows, "
        f"{counts['variables']:,} variables, {counts['branches']:,} branches in "
        f"{counts['solves']:,} proofs, {show_seconds(sum(answer.seconds.values()))}."
    )
