"""`planner solve --pes --topology` and its budgets on the command line."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.cases import each

from cli.command import planner, refused, replaced, solve
from planner import solve as solve_in_python
from planner.base.errors import InputError

SMALL = ("--model", "gpt3-125m", "--hardware", "h100-sxm5-80", "--batch-tokens", "16Ki")
JOINT = (*SMALL, "--chips", "8", "--pes", "66,132", "--topology", "ring,switch")


def test_front_points_name_their_machines() -> None:
    found = solve(*JOINT)
    assert found["certificate"]["status"] == "optimal"
    assert len(found["candidates"]["machines"]) == 4
    for point in found["front"]["plans"]:
        machine = point["machine"]
        assert machine["pes"] in (66, 132)
        assert machine["scale_up"] in ("ring", "switch")
        assert machine["total_pes"] == point["chips"] * machine["pes"]
        assert point["job"]["pes"] == [machine["pes"]]
        assert point["job"]["topology"] == [machine["scale_up"]]
    assert sum(one["front"] for one in found["candidates"]["machines"]) == len(
        found["front"]["plans"]
    )


@each("ending", [".json", ".csv"])
def test_each_plan_of_a_front_evaluates_to_the_same_digits(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"front{ending}"
    found = solve(*JOINT, "--pareto", str(path))
    for row, point in enumerate(found["front"]["plans"], start=1):
        again = json.loads(planner("evaluate", str(path), "--row", f"{row}", "--json").out)
        for name in ("step_time_s", "energy_per_step_j", "memory_per_chip_bytes"):
            assert again[name] == point[name]


@each("area", ["4000", "4000mm2", "40cm2"])
def test_silicon_is_given_as_in_planner_rack_solve(area: str) -> None:
    """Four chips of 814 mm^2 fit into 4000 mm^2, or six of half the SMs."""
    found = solve(*SMALL, "--pes", "66,132", "--max-area", area)
    assert {point["chips"] for point in found["front"]["plans"]} <= set(range(1, 7))
    assert max(one["most_chips"] for one in found["candidates"]["machines"]) == 6
    planner("rack", "solve", "--workload", "ffn", "--max-area", area)


def test_the_answer_itself_is_a_front_with_jobs(tmp_path: Path) -> None:
    outcome = planner("solve", *JOINT, "--json")
    path = tmp_path / "answer.json"
    path.write_text(outcome.out, encoding="utf-8")
    found = json.loads(outcome.out)
    last = len(found["front"]["plans"])
    again = json.loads(planner("evaluate", str(path), "--row", f"{last}", "--json").out)
    assert again["step_time_s"] == found["front"]["plans"][-1]["step_time_s"]


def test_the_plan_file_holds_the_machine(tmp_path: Path) -> None:
    path = tmp_path / "best.yaml"
    found = solve(*JOINT, "-o", str(path))
    again = json.loads(planner("evaluate", str(path), "--json").out)
    assert again["step_time_s"] == found["best"]["step_time_s"]
    assert again["energy_per_step_j"] == found["best"]["energy_per_step_j"]
    other = json.loads(planner("evaluate", str(path), "--hardware", "a100-sxm4-80", "--json").out)
    assert "SMs" not in other["job"]["chip"]  # what belonged to the other hardware went with it


@each(
    ("flags", "lines"),
    [
        (("--pes", "64,x"), ["pes: 'x' is not a number"]),
        (("--pes", "0"), ["pes: "]),
        (("--topology", "rong"), ["topology: 'rong' is not one of switch, ring"]),
        (("--topology", "scale-out=hypercube"), ["topology: 'hypercube' is not one of fat-tree"]),
        (("--topology", "torus:3x3"), ["topology: torus:3x3: 3x3 = 9 chips, but a domain has 8"]),
        (("--topology", "torus:axb"), ["topology: 'torus:axb': a shape is lengths"]),
        (("--scale", "memory"), ["scale: memory has no effect without pes"]),
        (("--pes", "132", "--scale", "memori"), ["scale: 'memori' is not one of memory"]),
        (("--pes", "1000000"), ["pes: 1,000,000 is more than 64 times the 132 of h100-sxm5-80"]),
        (
            ("--hardware", "report1-rack", "--pes", "5"),
            ["pes: 5 do not fill the 4 rows of report1-gpu; nearest: 4 or 8"],
        ),
        (("--hardware", "mi300x", "--pes", "100"), ["pes: the record of mi300x does not say"]),
        (("--hardware", "tpu-v5p", "--topology", "ring"), ["topology: ring: tpu-v5p is built of"]),
        (("--total-pes", "8192y132"), ["total-pes: '8192y132'"]),
        (
            ("--topology", "hypercube", "--hardware", "gb200-nvl72"),
            ["topology: hypercube: 72 chips are no power of two; nearest: 64 128"],
        ),
    ],
)
def test_each_fault_is_one_clear_line(flags: tuple[str, ...], lines: list[str]) -> None:
    found = refused("solve", *replaced((*SMALL, "--chips", "8"), *flags))
    said = [line for line in str(found).splitlines() if line.strip()]
    assert len(said) == len(lines)
    for line, wanted in zip(said, lines, strict=True):
        assert wanted in line


def test_without_chips_a_budget_must_end_their_number() -> None:
    """Whatever opens it, and with the same words as in Python."""
    said = (
        "chips: is missing; say how many chips to plan for, e.g. 4096, or give a budget: "
        "chips-at-most, total-pes, max-area or max-power"
    )
    open_by = {"pes": "132", "topology": "ring", "max_links": "100", "max_ports": "4"}
    for name, value in open_by.items():
        flag = f"--{name.replace('_', '-')}"
        assert refused("solve", *SMALL, flag, value) == [said], name
    with pytest.raises(InputError, match=f"^{said}$"):
        solve_in_python(model="gpt3-125m", max_links=100)


def test_a_budget_that_no_machine_keeps_to_is_named_with_the_least_that_is_enough() -> None:
    model = ("--model", "llama2-13b", "--hardware", "h100-sxm5-80", "--pes", "132,264")
    outcome = planner("solve", *model, "--total-pes", "200", "--json")
    assert outcome.code == 3
    found: dict[str, Any] = json.loads(outcome.out)
    diagnosis = found["diagnosis"]
    assert diagnosis["constraint"] == "total-pes"
    assert diagnosis["available"] == 200
    enough = int(diagnosis["needed"])
    assert planner("solve", *model, "--total-pes", f"{enough}", "--json").code == 0
    assert planner("solve", *model, "--total-pes", f"{enough - 1}", "--json").code == 3


def test_how_far_the_search_for_larger_budgets_is_can_be_seen() -> None:
    said: list[tuple[str, int, int]] = []
    found = solve_in_python(
        model="llama2-13b", hardware="h100-sxm5-80", pes=[132, 264], total_pes=100,
        on_progress=lambda *words: said.append(words),
    )  # fmt: skip
    assert found.status == "infeasible"
    assert said[-2:] == [("machines within larger budgets", at, 2) for at in (0, 1)]


def test_a_budget_below_the_chips_asked_for_is_proved_infeasible() -> None:
    outcome = planner("solve", *SMALL, "--chips", "8", "--total-pes", "1000", "--json")
    found = json.loads(outcome.out)
    assert (outcome.code, found["certificate"]["status"]) == (3, "infeasible")
    assert (found["diagnosis"]["constraint"], found["diagnosis"]["needed"]) == ("total-pes", 1056)


POOR = (
    "--model", "llama3-8b", "--hardware", "h100-sxm5-80", "--batch-tokens", "1Mi",
    "--chips", "16", "--fix", "cp=1", "--fix", "tp=2", "--pes", "66,132",
)  # fmt: skip


def free(*limits: str) -> tuple[dict[str, Any], list[tuple[str, ...]]]:
    """The diagnosis of a question without a plan, and the flags of its remedies."""
    outcome = planner("solve", *POOR, *limits, "--json")
    assert outcome.code == 3
    diagnosis = json.loads(outcome.out)["diagnosis"]
    return diagnosis, [tuple(remedy.partition(" (")[0].split()) for remedy in diagnosis["remedies"]]


def test_a_budget_of_power_has_a_remedy_with_a_unit() -> None:
    diagnosis, remedies = free("--max-power", "1kW")
    assert diagnosis["constraint"] == "max-power"
    ((flag, least),) = remedies
    assert flag == "--max-power"
    watts = float(least.removesuffix("kW")) * 1e3
    assert diagnosis["needed"] <= watts < diagnosis["needed"] * 1.001
    best = solve(*POOR, flag, least)["best"]
    assert best["energy_per_step_j"] / best["step_time_s"] <= watts
    assert planner("solve", *POOR, flag, f"{0.999 * diagnosis['needed']}W").code == 3


def test_budgets_that_only_help_together_are_named_together() -> None:
    diagnosis, remedies = free("--max-power", "1kW", "--max-area", "1000")
    assert diagnosis["constraint"] == "max-area and max-power"
    (((area_flag, area, power_flag, power)),) = remedies
    assert (area_flag, power_flag) == ("--max-area", "--max-power")
    assert area.endswith("mm2")
    assert power.endswith("kW")
    enough = (area_flag, area.removesuffix("mm2"), power_flag, power)
    assert solve(*POOR, *enough)["certificate"]["status"] == "optimal"


def test_of_machines_as_large_the_one_that_draws_least_frees_two_budgets() -> None:
    machines = ("--topology", "switch,ring", "--max-power", "1kW")
    _, ((_, alone),) = free(*machines)
    _, ((_, _, _, together),) = free(*machines, "--max-area", "500")
    assert together == alone


def test_the_heading_of_an_answer_without_a_plan_names_no_machine() -> None:
    said = planner("solve", *POOR, "--max-power", "1kW")
    assert said.code == 3
    assert "on one of 2 machines, " in " ".join(said.out.split())


def test_ports_are_a_budget_of_wirings() -> None:
    flags = ("--chips", "8", "--topology", "ring,switch", "--max-ports", "1")
    found = solve(*SMALL, *flags)
    assert {point["machine"]["scale_up"] for point in found["front"]["plans"]} == {"switch"}


def test_more_pes_are_never_slower_and_fewer_take_less_power() -> None:
    """On the same chips: time falls with PEs, and so does what a chip draws with fewer."""
    answers = [
        solve(*SMALL, "--chips", "8", "--no-clocks", "--pes", f"{pes}")
        for pes in (33, 66, 132, 264)
    ]
    times = [answer["best"]["step_time_s"] for answer in answers]
    assert times == sorted(times, reverse=True)


def test_plain_questions_have_no_machines() -> None:
    found = solve(*SMALL, "--chips", "8")
    assert found["candidates"]["machines"] == []
    assert "machine" not in found["best"]
    assert all("job" not in point for point in found["front"]["plans"])


def test_pictures_mark_wiring_and_pes(tmp_path: Path) -> None:
    path = tmp_path / "front.svg"
    found = solve(*JOINT, "--pareto", str(path))
    picture = path.read_text(encoding="utf-8")
    for point in found["front"]["plans"]:
        assert f"{point['machine']['pes']} SMs" in picture
        assert f"{point['machine']['scale_up']}, fat-tree" in picture
