"""Fields that are given and cannot change the answer are refused, with why."""

import json
from pathlib import Path

from support.cases import each

from cli.command import planner, refused
from planner import solve
from planner.answers.sweeping import solve_in_order

JOB = ("--model", "gpt3-125m", "--hardware", "h100-sxm5-80", "--chips", "8", "--axes", "dp")
PLAN = Path(__file__).parents[1] / "formats" / "plan-1.yaml"
ONCE = "set: {} cannot change this answer: it is {} already; leave it out"
BEYOND = "{} cannot change this answer: 8 chips do not reach the level leaf; they use nvlink"


@each(("flags", "line"), [
    (("--set", "memory.bandwidth=1x"), ONCE.format("memory.bandwidth=1x", "3.35e+12 B/s")),
    (("--set", "l2=50MiB"), ONCE.format("l2=50MiB", "52428800 B")),
    (("--set", "layers=1x"), ONCE.format("layers=1x", "12")),
    (("--set", "power.tdp=1x"), ONCE.format("power.tdp=1x", "700 W")),
    (("--set", "tp_overlap=1x"), ONCE.format("tp_overlap=1x", "so")),
    (("--set", "memory.bandwidth=2x", "--set", "layers=12"), ONCE.format("layers=12", "12")),
    (("--degrade-link", "leaf:3=0.5"), f"degrade-link: {BEYOND.format('leaf:3=0.5')}"),
])  # fmt: skip
def test_what_does_nothing(flags: tuple[str, ...], line: str) -> None:
    assert refused("solve", *JOB, *flags) == [line]


def test_a_plan_in_a_file_alike() -> None:
    (line,) = refused("evaluate", PLAN, "--set", "memory.bandwidth=1x")
    assert line.endswith("it is 3.35e+12 B/s already; leave it out")
    (line,) = refused("evaluate", PLAN, "--degrade-link", "leaf:3=0.5")
    assert line.endswith(BEYOND.format("leaf:3=0.5"))


@each("flags", [
    ("--set", "memory.bandwidth=2x", "--set", "power.tdp=1x"),  # it would follow
    ("--pes", "264", "--set", "power.tdp=1x"),  # it would grow
    ("--degrade-link", "nvlink:3=0.5"),
    ("--chips", "16", "--degrade-link", "leaf:3=0.5"),
    ("--chips", "8..16", "--degrade-link", "leaf:3=0.5"),
    ("--vary", "memory.bandwidth=1x,2x"),
])  # fmt: skip
def test_what_counts(flags: tuple[str, ...]) -> None:
    job = JOB[:4] + JOB[6:] if flags[0] == "--chips" else JOB
    found = planner("solve", *job, *flags, "--json")
    assert (found.code, found.err) == (0, "")


def test_a_flag_may_take_back_what_a_file_changes(tmp_path: Path) -> None:
    job = tmp_path / "job.yaml"
    job.write_text(
        "model: gpt3-125m\nhardware: h100-sxm5-80\nchips: 8\naxes: [dp]\n"
        "set: {memory.bandwidth: 2x}\n", encoding="utf-8"
    )  # fmt: skip
    back = ("--set", "memory.bandwidth=1x", "--quiet")
    plain = planner("solve", *JOB, "--quiet").out
    assert planner("solve", job, *back).out == plain
    assert planner("solve", job, "--quiet", "-o", tmp_path / "plan.yaml").out != plain
    assert planner("evaluate", tmp_path / "plan.yaml", *back).out == plain
    job.write_text(job.read_text(encoding="utf-8").replace("2x", "1x"), encoding="utf-8")
    (line,) = refused("solve", job)
    assert line.startswith(f"{job}: line 5: set: memory.bandwidth=1x cannot change this answer")


def test_what_a_file_changes_is_not_blamed_on_a_flag(tmp_path: Path) -> None:
    """An answer that was asked so in Python stays usable; a job file is named with its line."""
    found = solve(model="gpt3-125m", hardware="h100-sxm5-80", chips=8, axes="dp",
                  set=["memory.bandwidth=1x"])  # fmt: skip
    answer = tmp_path / "answer.json"
    answer.write_text(json.dumps(found.to_dict()), encoding="utf-8")
    kept = planner("evaluate", answer, "--row", "1", "--set", "memory.capacity=70GB", "--json")
    assert (kept.code, kept.err) == (0, "")
    job = tmp_path / "job.yaml"
    job.write_text(
        "model: gpt3-125m\nhardware: h100-sxm5-80\nchips: 8\nset: [memory.bandwidth=1x]\n"
    )
    (line,) = refused("solve", job, "--set", "memory.capacity=70GB")
    assert line.startswith(f"{job}: line 4: set: memory.bandwidth=1x cannot change")


def test_studies_have_the_record_among_their_values() -> None:
    fields = {"model": "gpt3-125m", "hardware": "h100-sxm5-80", "chips": 8, "axes": ("dp",)}
    (found,) = solve_in_order([("key", {**fields, "set": ("memory.bandwidth=1x",)})])
    assert found.status == "optimal"
