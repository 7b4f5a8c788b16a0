"""Chips as a slice of a torus, `16x16x16`, where a number is meant; and one machine per plan."""

from pathlib import Path

from support.cases import each

from cli.answers import SMALL
from cli.command import planner, refused, solve

MODEL = ("--model", "llama2-7b")


@each("text", ["4x4x4", "4 X 4 x 4"])
def test_a_slice_is_its_chips(text: str) -> None:
    answer = solve(*MODEL, "--chips", text)
    assert answer["question"]["job"]["chips"] == answer["question"]["asked"]["chips"] == 64


def test_a_job_file_has_slices_too(tmp_path: Path) -> None:
    job = tmp_path / "job.yaml"
    job.write_text("model: llama2-7b\nchips: 4x4x4\n", encoding="utf-8")
    assert solve(job)["question"]["job"]["chips"] == 64
    job.write_text("model: llama2-7b\nchips: 4x4x5\n", encoding="utf-8")
    assert refused("solve", job)[0].startswith(
        f"{job}: line 2: chips: 4x4x5 is not a slice of tpu-v5p"
    )


@each(
    ("flags", "words"),
    [
        (("--chips", "3x16x16"), "chips: 3x16x16 is not a slice of tpu-v5p"),
        (("--chips", "16x16x16", "--hardware", "h100-sxm5-80"), "give a number, e.g. 4096"),
        (("--chips", "4x4x4", "--hardware", "nothing"), "hardware: "),
        (("--chips", "9" * 5000 + "x4"), "chips: "),
        (("--chips", "x4"), "chips: "),
    ],
)
def test_slices_that_are_none(flags: tuple[str, ...], words: str) -> None:
    mistakes = refused("solve", *MODEL, *flags)
    assert len(mistakes) == 1
    assert words in mistakes[0]


def test_one_plan_on_two_machines(tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    solve(*SMALL, "-o", plan)
    machines = "h100-sxm5-80,a100-sxm4-80"
    both = planner("compare", plan, plan, "--hardware", machines, "--json").document
    names = [side["name"] for side in both["plans"]]
    assert names == [f"{plan} on {machine}" for machine in machines.split(",")]
    alone = planner("evaluate", plan, "--hardware", "a100-sxm4-80", "--json").document
    times = next(cost for cost in both["costs"] if cost["name"] == "step_time_s")
    assert times["values"][1] == alone["step_time_s"] != times["values"][0]


@each(
    ("machines", "words"),
    [
        ("h100-sxm5-80", "is the same as"),
        ("h100-sxm5-80,h100-sxm5-80", "is the same as"),
        ("h100-sxm5-80,a100-sxm4-80,tpu-v5p", "names 3 machines for 2 plans"),
        ("h100-sxm5-80,", "names 1 machine for 2 plans"),
        ("h100-sxm5-80,nothing", "hardware: "),
    ],
)
def test_machines_that_do_not_fit_the_plans(tmp_path: Path, machines: str, words: str) -> None:
    plan = tmp_path / "plan.yaml"
    solve(*SMALL, "-o", plan)
    mistakes = refused("compare", plan, plan, "--hardware", machines)
    assert len(mistakes) == 1
    assert words in mistakes[0]
