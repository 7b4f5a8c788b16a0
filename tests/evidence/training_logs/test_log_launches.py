"""Logs of several launches: what each says of itself stays with its own steps."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from support.cases import each

from evidence.calibration.launched import megatron_log
from planner.base.errors import InputError
from planner.cost.job import Job
from planner.evidence.training_logs.own import OtherRunError, own_steps
from planner.evidence.training_logs.readers import read_log
from planner.plan import Plan
from planner.question.request import request_from
from planner.question.resolved import resolve

KEPT = Path(__file__).parent / "kept"
TITAN = (
    "Building device mesh with parallelism: pp=1, dp_replicate=1, dp_shard=8, cp=1, tp=1, ep=1\n"
    "Trainer is initialized with local batch size 1, global batch size 8, gradient accumulation "
    "steps 1, sequence length 8192, total steps 20 (warmup 2)\n"
)
MEGATRON = (
    "using world size: 8, data-parallel size: 8, context-parallel size: 1, x: None, "
    "tensor-model-parallel size: {}, pipeline-model-parallel size: 1\n"
)
EXPORTED = "".join(
    f"step {n}: loss 9.8765, 1.2345 s, 41.23 GiB, 64 sequences of 4096 tokens\n"
    for n in range(1, 13)
)


def one_launch(name: str) -> str:
    """The log of a launch, beginning with what it says of itself."""
    if name == "megatron":
        return MEGATRON.format(1) + megatron_log(0.2)
    if name == "accelerate":
        return EXPORTED
    kept = (KEPT / f"{name}.txt").read_bytes().decode()
    return TITAN + kept if name == "torchtitan" else kept


@each(("name", "says", "otherwise", "field"), [
    ("megatron", "tensor-model-parallel size: 1", "tensor-model-parallel size: 4", "tp"),
    ("torchtitan", "dp_shard=8", "dp_shard=64", "chips"),
    ("maxtext", "Num_devices: 8", "Num_devices: 64", "chips"),
    ("nanotron", "sequence_length: 4096", "sequence_length: 2048", "seq_len"),
    ("deepspeed", r"train_batch_size (\.+) 64", r"train_batch_size \1 16", "sequences"),
    ("accelerate", "of 4096 tokens", "of 2048 tokens", "seq_len"),
    ("trainer", "per device = 2", "per device = 8", "micro_batch"),
])  # fmt: skip
def test_what_a_launch_says_is_so_of_its_steps_alone(
    name: str, says: str, otherwise: str, field: str
) -> None:
    own = one_launch(name)
    other, count = re.subn(says, otherwise, own)
    other = re.sub(
        r"40112\.5|(?<=memory: )41\.23|62\.1|48112\.25|(?<==)44\.81|41\.23", "99.0", other
    )
    assert count
    apart = [read_log(text, "log")[1] for text in (other, own)]
    for order in ([0, 1], [1, 0]):
        both = read_log("".join((other, own)[at] for at in order), "log")[1]
        assert len(both.launches) == 2
        for number, at in enumerate(order):
            (alone,) = apart[at].launches
            mine = both.only(one for one in both.steps if one.launch == number)
            assert mine.launches == (replace(alone, number=number),)
            assert [one.step for one in mine.steps] == [one.step for one in apart[at].steps]
    assert apart[0].launches[0].stated[field] != apart[1].launches[0].stated[field]


def test_each_launch_has_an_engine_of_its_own() -> None:
    """A pipeline of DeepSpeed beside a run without one, and rates of samples beside its times."""
    engine, pipeline = one_launch("deepspeed"), one_launch("deepspeed-pipeline")
    rate = next(line for line in engine.splitlines() if "global_step=2," in line)
    both = "".join(
        f"{line}\n{rate.replace('=2,', f'={step},')}\n"
        for step, line in zip(range(5, 35, 5), pipeline.splitlines(), strict=True)
    )
    steps = [read_log(text, "log")[1].steps for text in (engine, pipeline, both)]
    assert steps[2] == steps[1]
    for first, second in ((engine, both), (both, engine)):
        found = read_log(first + second, "log")[1]
        apart = [read_log(text, "log")[1].steps for text in (first, second)]
        assert found.steps == (*apart[0], *(replace(one, launch=1) for one in apart[1]))


def test_a_beginning_that_ranks_print_late_is_of_the_same_launch() -> None:
    lines = one_launch("maxtext").splitlines(keepends=True)
    head = next(line for line in lines if "Num_devices" in line)
    at = 1 + next(n for n, line in enumerate(lines) if "completed step: 1," in line)
    log = read_log("".join([*lines[:at], head, *lines[at:]]), "log")[1]
    assert log == read_log("".join(lines), "log")[1]


def test_a_launch_that_says_nothing_is_as_the_one_before() -> None:
    text = MEGATRON.format(4) + megatron_log(0.2)
    log = read_log(text + megatron_log(0.2), "log")[1]
    assert [one.stated["tp"] for one in log.launches] == [4, 4]


def job_of(plan: Plan) -> Job:
    fields = {"model": "llama3-8b", "hardware": "h100-sxm5-80", "batch_tokens": 16 * 8192,
              "seq_len": 8192, "chips": plan.chips}  # fmt: skip
    return resolve(request_from(fields), chips=plan.chips).cost.job


def test_launches_of_other_runs_are_left_out_and_said() -> None:
    plan = Plan(dp=8, sharding="zero1")
    job = job_of(plan)
    own = MEGATRON.format(1) + megatron_log(0.2, steps=12)
    batch = megatron_log(0.9, steps=9, sequences=64)
    text = f"{MEGATRON.format(4)}{megatron_log(9.9)}{own}{MEGATRON.format(1)}{batch}"
    for order in (text, text + MEGATRON.format(4) + megatron_log(9.9, steps=1)):
        found = own_steps(read_log(order, "log")[1], plan, job, "log")
        steps = 20 + order.count("tensor-model-parallel size: 4") - 1
        assert found.left_out == (
            f"{steps} steps of another run (tp 4) are left out",
            "9 steps of another run (64 sequences per step) are left out",
        )
        assert [one.step for one in found.counted] == list(range(6, 13))
        assert found.log.step_time_s(1, 1, 1) == pytest.approx(0.2)
    with pytest.raises(OtherRunError, match=r"it has tp 4, the plan 1$"):
        own_steps(read_log(text.split("using")[1], "log")[1], plan, job, "log")


def test_a_launch_from_a_checkpoint_warms_up() -> None:
    """The number of a step says nothing of how many the launch has run."""
    plan = Plan(dp=8, sharding="zero1")
    lines = megatron_log(0.2).splitlines(keepends=True)
    later = "".join(
        line.replace(f"{n:8d}/", f"{100 + n:8d}/") for n in range(1, 4)
        for line in lines if f"iteration {n:8d}/" in line
    )  # fmt: skip
    with pytest.raises(InputError, match="ends with step 103; the first 5 of a launch warm up"):
        own_steps(read_log(later, "log")[1], plan, job_of(plan), "log")
