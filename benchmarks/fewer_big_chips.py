"""Fewer big chips or more small ones, and which fabric: the figures of docs/fewer-big-chips.md.

Asks `planner.solve` which PEs per chip and which wiring are best for one model under a fixed total
of PEs and under a fixed power, then again with each assumed constant low and high. Constants are
changed in copies of the records, those of wirings in `planner.machine.card_wiring`. A page holds
regions between `<!-- begin: NAME -->` and `<!-- end: NAME -->`; each known region is replaced.
Without
--write the tables are printed as Markdown.
"""

from __future__ import annotations

import argparse
import copy
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from importlib import resources
from itertools import product
from pathlib import Path
from typing import Any
from unittest import mock

from hardware_db import load_cluster
from planner.answers.api import solve
from planner.assumptions.assumptions import calibrated
from planner.base.files import write_atomically
from planner.base.units import parse_watts, show_joules, show_percent, show_seconds, show_watts
from planner.machine import card_wiring
from planner.report.pages.front_file import front_svg
from planner.results.plan import PlanResult
from planner.results.result import SolveResult
from strict_yaml.reading import load as load_yaml
from strict_yaml.writing import dump as dump_yaml

CHIP, CLUSTER = "h100-sxm5-80", "dgx-h100-ndr"
PES = (66, 132, 264, 528)
FABRICS = ("switch", "ring", "fully-connected", "scale-out=fat-tree", "scale-out=dragonfly",
           "scale-out=torus3d")  # fmt: skip
QUESTIONS: dict[str, dict[str, Any]] = {
    "pes": {"total_pes": "8192x132", "chips_exact": True},
    "power": {
        "max_power": "10MW",
        "power_boundary": "node_and_fabric",
        # Of the sensitivity only, whose many searches range over all chip counts.
        "fix": {"tp": [2, 4, 8], "cp": [1, 2], "micro_batch": 1, "recompute": "none"},
    },
}
JOB = {"model": "llama3-70b", "batch_tokens": "16Mi"}
PARTS = ("alone", "each", "fabrics", "sensitivity", "wirings")
EACH = {"pes": 132, "power": 528}  # SMs per chip of the table of each wiring
TWO_WAYS = ("switch", "ring", "scale-out=fat-tree", "scale-out=dragonfly", "scale-out=torus3d")
SMALL_JOB = {"model": "gpt3-350m", "batch_tokens": "64Ki"}
SMALL: dict[str, dict[str, Any]] = {
    "pes": {"total_pes": "8x132", "chips_exact": True},
    "power": {"max_power": "8kW", "power_boundary": "node_and_fabric"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One assumed constant with another value.

    Attributes:
        name: The constant in words.
        value: Its value in words.
        records: (dotted path in the chip's or cluster's file, factor or value).
        fields: Fields of the question.
        routing: Fields of `planner.machine.card_wiring.Routing`.
    """

    name: str
    value: str
    records: tuple[tuple[str, float], ...] = ()
    fields: dict[str, Any] = field(default_factory=dict)
    routing: dict[str, float] = field(default_factory=dict)


def changes() -> Iterator[Change]:
    """Each assumed constant, low and high; the first changes nothing."""
    yield Change(name="as assumed", value="")
    yield from _of_record(
        "share of the dynamic power that PEs take", "die.pe_power_share", 0.55, 0.85
    )
    yield from _of_record("idle power of a chip, W", "power.idle", 35.0, 105.0)
    yield from _of_record("waiting power, W", "power.wait", 105.0, 175.0)
    yield from _of_record("busy power, W", "power.busy", 620.0, 690.0)
    yield from _of_record("host power per chip, W", "power.host", 235.0, 435.0)
    yield from _of_record("voltage lost per clock", "dvfs.voltage_slope", 0.3, 0.6)
    for words, factor in (("half", 0.5), ("one and a half times", 1.5)):
        paths = tuple((f"levels.{at}.switch_power", factor) for at in (1, 2, 3))
        yield Change(name="switches and optics", value=words, records=paths)
    for scale in (["memory"], ["network"], ["memory", "links", "network"]):
        words = " and ".join(scale)
        yield Change(name="what grows with the PEs", value=words, fields={"scale": scale})
    for words, share in (("-20 %", 0.8), ("+5 %", 1.05)):
        yield Change(
            name="achieved rate of network cards",
            value=words,
            fields={"assumptions": {"scale_out_efficiency": share}},
        )
    yield Change(name="tokens per step", value="4 Mi", fields={"batch_tokens": "4Mi"})
    for tokens in ("18", "64"):
        name, value = "tokens per step", f"{tokens} Mi"
        yield Change(name=name, value=value, fields={"batch_tokens": f"{tokens}Mi"})


PORT_W, END_W = 11.67, 9.0  # of the record's 29.67 (a port, two ends) and 41.34 (two and two)


def wiring_changes() -> Iterator[Change]:
    """Each constant that decides between wirings, low and high; the first changes nothing."""
    yield Change(name="as assumed", value="")
    for watts in (0.0, 100.0):
        paths = (("levels.0.switch_power_in_host", watts / 50.0),)
        yield Change(name="NVLink switch, in the host, W", value=f"{watts:g}", records=paths)
    for port in (0.5 * PORT_W, 1.5 * PORT_W):
        yield Change(name="port of a switch, W", value=f"{port:.3g}", records=_optics(port, END_W))
    for end in (0.5 * END_W, 1.5 * END_W):
        yield Change(name="end of optics, W", value=f"{end:.3g}", records=_optics(PORT_W, end))
    for name, values, words in (
        ("rate", (0.25, 1.0), "dragonfly: share of a card's rate beyond a leaf"),
        ("links", (3,), "dragonfly: links between switches on the longest way"),
        ("local_optics", (1.0,), "dragonfly: share of optical links inside a group"),
        ("switch_hops", (1, 4), "hops of a path through a switch"),
    ):
        for value in values:
            yield Change(name=words, value=f"{value:g}", routing={name: value})


def _optics(port: float, end: float) -> tuple[tuple[str, float], ...]:
    """Factors of the power of the three tiers for other watts of a port and an end of optics."""
    leaf = (port + 2 * end) / (PORT_W + 2 * END_W)
    further = (port + end) / (PORT_W + END_W)
    return tuple((f"levels.{at}.switch_power", leaf if at == 1 else further) for at in (1, 2, 3))


NONE = Change(name="", value="")


def _of_record(name: str, path: str, *values: float) -> Iterator[Change]:
    for value in values:
        yield Change(name=name, value=f"{value:g}", records=((path, value),))


def record(made: tuple[tuple[str, float], ...]) -> dict[str, Any]:
    """The cluster's file with the chip's inside and some constants changed."""
    folder = resources.files("hardware_db") / "data"
    read = {
        kind: load_yaml((folder / kind / f"{name}.yaml").read_text(encoding="utf-8"))
        for kind, name in (("chips", CHIP), ("clusters", CLUSTER))
    }
    cluster = copy.deepcopy(read["clusters"])
    cluster["chip"] = read["chips"]
    for path, value in made:
        of_cluster = path.startswith("levels.")
        node = cluster if of_cluster else cluster["chip"]
        for step in path.split("."):
            node = node[int(step)] if step.isdecimal() else node[step]
        node["value"] = node["value"] * value if of_cluster else value
    return dict(cluster)


def asked(question: dict[str, Any], change: Change, folder: Path) -> SolveResult:
    """The answer to a question with a constant changed."""
    fields = {"hardware": CHIP, **question, **change.fields}
    if change.records:
        path = folder / "cluster.yaml"
        path.write_text(dump_yaml(record(change.records)), encoding="utf-8")
        fields["hardware"] = path
    shares = fields.pop("assumptions", None)
    if shares is not None:
        path = folder / "assumptions.yaml"
        path.write_text(dump_yaml(_overrides(shares)), encoding="utf-8")
        fields["assumptions"] = path
    routing = replace(card_wiring.ROUTING, **change.routing)  # type: ignore[arg-type]
    with mock.patch.object(card_wiring, "ROUTING", routing):
        return solve(**fields)


def _overrides(factors: dict[str, float]) -> dict[str, Any]:
    """A file of assumptions with some of the fitted ones multiplied."""
    base = calibrated(load_cluster(CHIP).chip, "megatron-core", "bf16")
    changed = {name: getattr(base, name) * factor for name, factor in factors.items()}
    return {"preset": "calibrated", **changed}


def least(result: SolveResult, power: float) -> PlanResult:
    """The plan of the front with the least energy times time to a power."""
    return min(result.front, key=lambda p: p.energy_per_step_j * p.step_time_s**power)


def cells(point: PlanResult) -> list[str]:
    """PEs, wiring, chips, time, energy, MFU and power of a plan."""
    assert point.machine is not None
    return [
        f"{point.machine.pes}",
        f"{point.machine.scale_up}, {point.machine.scale_out}",
        f"{point.chips:,}",
        show_seconds(point.step_time_s),
        show_joules(point.energy_per_step_j),
        show_percent(point.mfu),
        show_watts(point.power_per_chip_w * point.chips),
    ]


def at_power(best: PlanResult, question: dict[str, Any], folder: Path) -> str:
    """Seconds of a step if as many more chips as the power allows shared the work evenly.

    Of the fastest plan, or of the fastest on a power of two of chips, which divides well, that
    draws at least half of the power: the one with the least energy.
    """
    power = parse_watts(question["max_power"])
    even = 1 << (best.chips.bit_length() - 1)
    plans = [best]
    for chips in {even, max(even // 2, 1)} - {best.chips}:
        fixed = {**question, "chips": chips, "chips_exact": True}
        found = asked(fixed, NONE, folder).best
        if found is not None and found.power_per_chip_w * chips >= power / 2:
            plans.append(found)
    thrifty = min(plans, key=lambda plan: plan.energy_per_step_j)
    return f"{show_seconds(thrifty.energy_per_step_j / power)} (from {thrifty.chips:,} chips)"


HEADER = ["SMs per chip", "wiring", "chips", "step", "energy", "MFU", "power"]


def markdown(header: list[str], rows: list[list[str]]) -> str:
    """A table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(row) + " |" for row in lines)


def alone(question: dict[str, Any], folder: Path) -> str:
    """The fastest plan of each number of PEs with the record's wiring, over all meshes."""
    rows = []
    power = question.get("max_power")
    for pes in PES:
        machine = {**question, "pes": pes}
        best = asked(machine, NONE, folder).best
        if best is None:
            rows.append([f"{pes}", *["no plan"] * (7 if power else 6)])
        else:
            rows.append([*cells(best), *([at_power(best, machine, folder)] if power else [])])
    return markdown([*HEADER, *([f"step if it used {power}"] if power else [])], rows)


def each(question: dict[str, Any], pes: int, folder: Path) -> str:
    """The fastest plan of each wiring with so many PEs per chip."""
    rows = []
    inner, outer = (
        [word for word in FABRICS if word.startswith("scale-out=") is beyond]
        for beyond in (False, True)
    )
    for words in product(inner, outer):
        best = asked({**question, "pes": pes, "topology": words}, NONE, folder).best
        rows.append([f"{pes}", ", ".join(words), *["no plan"] * 5] if best is None else cells(best))
    return markdown(HEADER, rows)


def fabrics(question: dict[str, Any], folder: Path, picture: Path | None) -> tuple[str, str]:
    """The ends of the front over all PEs and wirings, and what was searched."""
    answer = asked({**question, "pes": PES, "topology": FABRICS}, NONE, folder)
    assert answer.best is not None
    if picture is not None:
        write_atomically(picture, front_svg(answer))
    named = {"fastest": answer.best, "least energy x time": least(answer, 1.0),
             "least energy": least(answer, 0.0)}  # fmt: skip
    rows = [[name, *cells(point)] for name, point in named.items()]
    costed = sum(one.evaluated for one in answer.candidates.machines)
    boxes = sum(one.partial_plans for one in answer.candidates.machines)
    pairs = sum(one.chip_counts for one in answer.candidates.machines)
    words = (
        f"{len(answer.candidates.machines)} machines, {pairs:,} pairs of "
        f"machine and chips, {boxes:,} meshes with a micro-batch and a pipeline; {costed:,} plans "
        f"costed, {answer.candidates.seconds:.0f} s; front of {len(answer.front)} plans; "
        f"{answer.status}."
    )
    return markdown(["plan", *HEADER], rows), words


def sensitivity(question: dict[str, Any], rows_of: list[Change], folder: Path) -> str:
    """What each assumed constant does to the answer; the wiring where it is a decision."""
    rows = []
    wired = "topology" in question

    def words(point: PlanResult) -> str:
        assert point.machine is not None
        fabric = f", {point.machine.scale_up}, {point.machine.scale_out}" if wired else ""
        return f"{point.machine.pes}{fabric} ({point.chips:,} chips)"

    for change in rows_of:
        answer = asked(question, change, folder)
        print(f"{change.name} {change.value}: {answer.candidates.seconds:.1f} s", file=sys.stderr)
        row = [change.name, change.value]
        if answer.best is None:
            rows.append([*row, "no plan", "", "", "", ""])
            continue
        thrifty = least(answer, 1.0)
        rows.append(
            [
                *row,
                words(answer.best),
                show_seconds(answer.best.step_time_s),
                show_joules(answer.best.energy_per_step_j),
                words(thrifty),
                show_joules(thrifty.energy_per_step_j),
            ]
        )
    what = "SMs, wiring" if wired else "SMs"
    header = ["constant", "value", f"fastest: {what}", "step", "energy",
              f"least energy x time: {what}", "energy"]  # fmt: skip
    return markdown(header, rows)


def rewritten(page: str, found: dict[str, str]) -> str:
    """A page with its known regions replaced."""
    for name, text in found.items():
        begin, end = f"<!-- begin: {name} -->", f"<!-- end: {name} -->"
        before, opened, rest = page.partition(begin)
        _, closed, after = rest.partition(end)
        if opened and closed:
            page = f"{before}{begin}\n{text}\n{end}{after}"
    return page


def regions(
    key: str, part: str, question: dict[str, Any], folder: Path, given: argparse.Namespace
) -> dict[str, str]:
    """The tables of one part of the answer to one question."""
    whole = {name: value for name, value in question.items() if name != "fix"}
    if part == "alone":
        return {f"{key}-alone": alone(whole, folder)}
    if part == "each":
        return {f"{key}-each": each(whole, EACH[key], folder)}
    wanted = 3 if given.small else None
    if part == "sensitivity":
        rows = list(changes())[:wanted]
        return {f"{key}-sensitivity": sensitivity({**question, "pes": PES}, rows, folder)}
    if part == "wirings":
        pes = PES if key == "pes" else (EACH[key],)
        open_question = {**question, "pes": pes, "topology": TWO_WAYS}
        rows = list(wiring_changes())[:wanted]
        return {f"{key}-wirings": sensitivity(open_question, rows, folder)}
    picture = None
    if given.write is not None:
        picture = given.write.parent / "pictures" / f"fewer-big-chips-{key}.svg"
    table, words = fabrics(whole, folder, picture)
    return {f"{key}-fabrics": table, f"{key}-searched": words}


def put(found: dict[str, str], page: Path | None) -> None:
    """Writes tables into a page as they are found, or prints them."""
    if page is None:
        print("\n\n".join(f"{name}\n\n{text}" for name, text in found.items()))
    else:
        for path in (page, *page.with_suffix("").glob("*.md")):
            write_atomically(path, rewritten(path.read_text(encoding="utf-8"), found))


def main() -> None:
    """Reads the command line; see the module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path, help="page whose regions are replaced")
    parser.add_argument("--only", choices=sorted(QUESTIONS), help="one of the questions")
    parser.add_argument("--part", choices=PARTS, help="one part of its answer")
    parser.add_argument("--small", action="store_true", help="a small job, for tests")
    given = parser.parse_args()
    started = time.perf_counter()
    job, questions = (SMALL_JOB, SMALL) if given.small else (JOB, QUESTIONS)
    with tempfile.TemporaryDirectory() as name:
        for key, budget in questions.items():
            if given.only in (None, key):
                for part in PARTS if given.part is None else (given.part,):
                    found = regions(key, part, {**job, **budget}, Path(name), given)
                    put(found, given.write)
    print(f"{time.perf_counter() - started:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
