"""`planner check`: the log of a run beside the prediction of its plan."""

import gzip
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from cli.command import planner, refused
from support.cases import each

from evidence.calibration.launched import megatron_line
from hardware_db import load_calibration
from planner.base.errors import InputError
from planner.cli.check import follow
from planner.cost.evaluate import evaluate_totals
from planner.evidence.calibration.launches.measured import planned_run
from planner.evidence.calibration.runs import RunSet, with_values
from planner.evidence.checked.causes import suspects_of
from planner.evidence.checked.comparing import check_log, counted_steps
from planner.evidence.checked.others import look_alikes
from planner.evidence.checked.row import check_columns, lacking, row_of
from planner.evidence.checked.runs_file import add_row
from planner.evidence.runs.reading import read_runs
from planner.plan import Plan, PlanTable
from planner.question.files.plan_text import plan_text
from planner.question.request import request_from
from planner.question.resolved import Resolved, resolve

FIELDS = {
    "model": "llama3-8b", "hardware": "h100-sxm5-80", "batch_tokens": 16 * 8192, "seq_len": 8192,
    "precision": "bf16", "framework": "megatron", "chips": 16,
}  # fmt: skip
PLAN = Plan(dp=8, tp=2, micro_batch=1, recompute="selective", sharding="zero1")
MEMORY = "[Rank 0] (after 2 iterations) memory (MB) | allocated: 20.0 | max allocated: {:.2f} |\n"


@pytest.fixture(scope="module")
def resolved() -> Resolved:
    return resolve(request_from(FIELDS), chips=16)


def predicted(resolved: Resolved, plan: Plan = PLAN) -> Any:
    return evaluate_totals(resolved.cost, PlanTable.from_plans([plan]))


def log_text(seconds: float, memory: float = 0.0, steps: int = 20, slow: int = 2) -> str:
    """Steps of so many seconds behind slow ones, with sixteen sequences each."""
    times = [30 * seconds if n < slow else seconds for n in range(steps)]
    held = MEMORY.format(memory / 2**20) if memory else ""
    return "".join(megatron_line(n, time) for n, time in enumerate(times, 1)) + held


@pytest.fixture(scope="module")
def plan_file(tmp_path_factory: pytest.TempPathFactory, resolved: Resolved) -> Path:
    path = tmp_path_factory.mktemp("plan") / "plan.yaml"
    path.write_text(plan_text(resolved, PLAN, []), encoding="utf-8")
    return path


def checked(resolved: Resolved, text: str, plan: Plan = PLAN, **more: Any) -> Any:
    return check_log(resolved, plan, text, Path("train.log"), **more)


def test_a_run_as_predicted_is_inside(resolved: Resolved) -> None:
    own = predicted(resolved)
    seconds, memory = float(own.step_time_s[0]), float(own.memory_bytes[0])
    found = checked(resolved, log_text(seconds, memory))
    assert (found.status, found.suspects, found.others) == ("inside", (), ())
    assert (found.steps.first, found.steps.last, found.steps.counted) == (6, 20, 15)
    time, rate, held = found.quantities
    assert time.ratio == pytest.approx(1, rel=1e-3)
    assert rate.measured == pytest.approx(8192 / seconds, rel=1e-3)  # a sequence per chip
    assert held.measured == pytest.approx(memory, rel=1e-3)
    assert time.low < time.predicted < time.high


@each(("share", "word", "headline"), [
    (1.0, "inside", "inside of the interval"),
    (0.5, "not above", "inside of the interval, memory per chip not above it"),
    (2.0, "outside", "outside of the interval: memory per chip"),
])  # fmt: skip
def test_memory_below_its_interval_is_not_called_inside(
    share: float, word: str, headline: str, resolved: Resolved, tmp_path: Path
) -> None:
    """Of a pipeline the ranks that print it may not hold the most: the upper end is judged."""
    plan, file, log = replace(PLAN, dp=4, pp=2), tmp_path / "plan.yaml", tmp_path / "train.log"
    file.write_text(plan_text(resolved, plan, []), encoding="utf-8")
    own = predicted(resolved, plan)
    log.write_text(log_text(float(own.step_time_s[0]), share * float(own.memory_bytes[0])))
    first, *lines = planner("check", file, "--log", log).out.splitlines()
    assert " ".join((first, lines[0])).startswith(f"{log} (Megatron-LM): {headline}")
    (line,) = (one for one in lines if one.startswith("memory per chip "))
    assert line.endswith(f"  {word}")


def test_warm_up_is_left_out_and_said(resolved: Resolved) -> None:
    seconds = float(predicted(resolved).step_time_s[0])
    assert checked(resolved, log_text(seconds, slow=5)).passed
    found = checked(resolved, log_text(seconds, slow=14))
    assert not found.passed
    assert any("still become faster" in line for line in found.remarks)
    assert checked(resolved, log_text(seconds, steps=40), most=3).steps.last == 8


@each(("path", "part"), [
    ("gemm_efficiency.h100", "multiplications and attention"),
    ("network.scale_up_efficiency", "links inside a node"),
    ("network.scale_out_efficiency", "the network between nodes"),
])  # fmt: skip
def test_a_part_alone_explains_what_its_constant_did(path: str, part: str) -> None:
    """A run under another constant: the part needs about the factor by which it is slower."""
    shipped, factor = load_calibration(), 1.15
    fields = {**FIELDS, "batch_tokens": 64 * 8192, "chips": 32}
    cost = resolve(request_from(fields), chips=32).cost
    plan = Plan(fsdp=4, tp=8, sharding="zero3", recompute="full")
    run = planned_run("job", cost, plan)
    slower = with_values(shipped, {path: shipped.value(path) / factor})
    own, other = (float(RunSet.of([run]).predicted_s(one)[0]) for one in (shipped, slower))
    assert other > own
    found = {one.part: one for one in suspects_of(run, shipped, other / own)}
    assert sum(one.share for one in found.values()) == pytest.approx(1, abs=0.05)
    assert found[part].factor == pytest.approx(factor, rel=0.03)
    whole = found["the installation as a whole"]
    assert (whole.factor, whole.elasticity) == pytest.approx((other / own, 1), rel=1e-3)


def test_a_part_that_cannot_explain_it_says_so(resolved: Resolved) -> None:
    run = planned_run("job", resolved.cost, PLAN)
    found = {one.part: one.factor for one in suspects_of(run, load_calibration(), 0.5)}
    assert found["the installation as a whole"] == pytest.approx(0.5)
    assert found["memory-bound kernels"] is None


def test_a_launch_that_recomputes_everything_is_recognized(resolved: Resolved) -> None:
    other = replace(PLAN, recompute="full")
    own = predicted(resolved, other)
    seconds, memory = 1.1 * float(own.step_time_s[0]), float(own.memory_bytes[0])
    found = checked(resolved, log_text(seconds, memory))
    assert found.status == "outside"
    assert [one.change for one in found.others] == ["recompute full"]
    assert look_alikes(resolved.cost, PLAN, seconds, None) == ()


@each(("change", "words"), [
    (("global batch size:    16", "global batch size:    32"), "its steps have 32 sequences, those "
     "of the plan 16"),
    (("", "using world size: 32, data-parallel size: 4, context-parallel size: 1, x\n"),
     "it has chips 32, the plan 16"),
    (("", "tensor-model-parallel size: 4, pipeline-model-parallel size: 2\n"),
     "it has tp 4, the plan 2; it has pp 2, the plan 1"),
    (("loss scale: 1.0", "loss scale: 65536.0"), "its loss scale 65536 is of fp16"),
])  # fmt: skip
def test_the_log_of_another_run_is_refused(
    resolved: Resolved, change: tuple[str, str], words: str
) -> None:
    text = log_text(1.0)
    text = text.replace(*change) if change[0] else change[1] + text
    with pytest.raises(InputError, match="is the log of another run") as caught:
        checked(resolved, text)
    assert words in str(caught.value)


def test_bad_losses_and_cut_lines(resolved: Resolved) -> None:
    seconds = float(predicted(resolved).step_time_s[0])
    bad = log_text(seconds).replace("nan iterations:   0", "nan iterations:   1", 1)
    found = checked(resolved, bad)
    assert (found.status, found.steps.bad) == ("diverged", (1,))
    assert "the loss is no number in step 1" in found.remarks
    # A last line that is written half says another number.
    cut = log_text(seconds).rstrip("\n")
    assert checked(resolved, cut).steps.last == 19
    with pytest.raises(InputError, match="ends with step 5; the first 5 of a launch warm up"):
        checked(resolved, log_text(seconds, steps=5))


def test_bounds_are_no_predictions() -> None:
    fields = {**FIELDS, "hardware": "tpu-v5p", "framework": "jax", "assumptions": "roofline"}
    bound = resolve(request_from(fields), chips=16)
    plan = Plan(fsdp=16, sharding="zero3")
    with pytest.raises(InputError, match="are bounds without an interval"):
        check_log(bound, plan, log_text(1.0), Path("train.log"))


@each("plan", [
    PLAN,
    Plan(fsdp=16, sharding="zero3", recompute="full"),
    Plan(dp=2, tp=2, cp=2, pp=2, sharding="zero1", schedule="1f1b"),
])  # fmt: skip
def test_the_row_is_the_run_to_calibrate(resolved: Resolved, tmp_path: Path, plan: Plan) -> None:
    cost, request = resolved.cost, request_from(FIELDS)
    row = row_of("first", request, planned_run("job", cost, plan), 1.25, 50 * 2.0**30)
    assert lacking(row, cost, plan) == ()
    path = tmp_path / "runs.csv"
    for key, seconds in (("first", 9.0), ("second", 1.5), ("first", 1.25)):
        add_row(path, {**row, "id": key, "step_time_s": str(seconds)})
    second, first = (one.run for one in read_runs(path).runs)
    assert (first.key, first.measured_step_time_s) == ("first", 1.25)
    assert (second.key, first.plan, first.cluster) == ("second", plan, cost.cluster)
    assert first.measured_memory_bytes == pytest.approx(50 * 2.0**30)
    own = float(evaluate_totals(cost, PlanTable.from_plans([plan])).step_time_s[0])
    assert RunSet.of([first]).predicted_s(load_calibration())[0] == pytest.approx(own, rel=1e-9)
    (tmp_path / "other.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(InputError, match="has other columns"):
        add_row(tmp_path / "other.csv", row)


TUNED = {
    "model": "llama3-8b", "hardware": "h100-sxm5-80", "batch_tokens": 32 * 2048, "seq_len": 2048,
    "framework": "fsdp", "chips": 16,
}  # fmt: skip
SHARDED = Plan(fsdp=16, micro_batch=2, recompute="full", sharding="zero3")


@each(("framework", "job", "plan"), [
    ("fsdp", "dpo", SHARDED),
    ("megatron", "lora", Plan(dp=16, recompute="full", sharding="zero1")),
])  # fmt: skip
def test_a_tuning_launched_another_way_is_recognized(framework: str, job: str, plan: Plan) -> None:
    tuned = resolve(request_from({**TUNED, "framework": framework, "job": job}), chips=16)
    own = predicted(tuned, replace(plan, recompute="none"))
    found = look_alikes(tuned.cost, plan, float(own.step_time_s[0]), float(own.memory_bytes[0]))
    assert "recompute none" in [one.change for one in found]


@each(("job", "rows", "engine", "words"), [
    ("dpo", 1, False, ""), ("dpo", 1, True, ""), ("dpo-lora", 1, False, ""), ("lora", 2, False, ""),
    ("dpo", 2, False, "micro_batch 4, the plan 2; it has sequences per"),
    ("lora", 1, False, "micro_batch 1, the plan 2; it has"),
])  # fmt: skip
def test_a_pair_of_preferences_is_two_sequences(
    job: str, rows: int, engine: bool, words: str
) -> None:
    """A Trainer, and the engine of DeepSpeed below it, count rows of the data set: pairs of DPO."""
    tuned = resolve(request_from({**TUNED, "job": job}), chips=16)
    seconds = float(predicted(tuned, SHARDED).step_time_s[0])
    head = (
        f"***** Running training *****\n  Instantaneous batch size per device = {rows}\n"
        f"  Total train batch size (w. parallel, distributed & accumulation) = {16 * rows}\n"
    )
    bars = "".join(f"  1%|1 | {n}/1000 [00:20<20:13, {seconds:.2f}s/it]\n" for n in range(1, 51))
    rates = "".join(
        f"epoch=0/global_step={n}, RunningAvgSamplesPerSec=9, "
        f"CurrSamplesPerSec={16 * rows / seconds}, MemAllocated=12.3GB, MaxMemAllocated=44.81GB\n"
        for n in range(1, 51)
    )
    text = head + bars + rates * engine
    if words:
        with pytest.raises(InputError, match=words):
            checked(tuned, text, SHARDED)
    else:
        found = checked(tuned, text, SHARDED)
        assert (found.framework == "transformers") is not engine
        assert found.of("step_time_s").ratio == pytest.approx(1, rel=0.01)


@each(("job", "words"), [
    ({"job": "dpo"}, "reference"),
    ({"job": "dora"}, "adapter"),
    ({"job": "qlora"}, "frozen-weights"),
    ({"job": "dpo-lora", "lora_rank": 64, "lora_targets": "q,v"},
     "lora-rank and lora-targets and reference"),
    ({"job": "lora"}, ""),
    ({"job": "sft"}, ""),
])  # fmt: skip
def test_a_row_that_would_be_read_as_another_job(job: dict[str, Any], words: str) -> None:
    request = request_from({**TUNED, **job})
    cost = resolve(request, chips=16).cost
    if not words:
        check_columns(request, cost, SHARDED)
        return
    with pytest.raises(InputError) as caught:
        check_columns(request, cost, SHARDED)
    assert str(caught.value).startswith(f"output: a row has no column for {words}, so that ")


def test_what_a_row_cannot_say_is_listed(resolved: Resolved) -> None:
    plan = replace(PLAN, offload=("optimizer",))
    row = row_of("one", request_from(FIELDS), planned_run("job", resolved.cost, plan), 1.0, None)
    assert any(line.startswith("offload: ") for line in lacking(row, resolved.cost, plan))


def test_the_command(plan_file: Path, resolved: Resolved, tmp_path: Path) -> None:
    seconds = float(predicted(resolved).step_time_s[0])
    log = tmp_path / "train.log"
    for factor, code, steps in ((1.0, 0, 20), (1.6, 1, 20), (1.6, 1, 40)):
        log.write_text(log_text(factor * seconds, steps=steps), encoding="utf-8")
        flags = ("check", plan_file, "--log", log)
        shown = planner(*flags, "-o", tmp_path / "runs.csv")
        assert (shown.code, shown.err) == (code, "")
        assert ("inside of the interval" in shown.out) == (code == 0)
        assert ("What would tell them apart" in shown.out) == (code == 1)
        document = planner(*flags, "--json").document
        assert document["status"] == ("inside" if code == 0 else "outside")
        assert document["row"]["step_time_s"]
        assert ("had 1 row of this run" in " ".join(shown.out.split())) == (steps == 40)
    assert len(read_runs(tmp_path / "runs.csv").runs) == 2  # a longer log replaced its own row
    log.write_text(log.read_text().replace("nan iterations:   0", "nan iterations:   1"))
    shown = planner("check", plan_file, "--log", log, "-o", tmp_path / "nan.csv")
    assert (shown.code, (tmp_path / "nan.csv").exists()) == (1, False)
    assert "nan.csv is not written" in " ".join(shown.out.split())
    one = planner("check", plan_file, "--log", log, "--steps", 1).out
    assert "one line counts, of step 6; the first 5 of a launch warm up\n" in one
    flags = ("check", plan_file, "--log")
    assert refused("check", plan_file) == [
        "log: is missing; name what the framework printed, e.g. --log train.log"
    ]
    assert "cannot be followed" in refused(*flags, "-", "--watch")[0]
    assert "is the log file that is read" in refused(*flags, log, "-o", log)[0]
    assert "no such file" in refused(*flags, tmp_path / "none.log")[0]
    for name, content, words in (
        ("a.log.gz", gzip.compress(b"step"), "is compressed (gzip); unpack it first: gunzip "),
        ("wide.log", "done\n".encode("utf-16"), "has no line that says how long a step took"),
        ("zero.log", log_text(0.0).encode(), "time that can be meant: step 1 has 0"),
        ("huge.log", log_text(1.0).replace(": 1000.0 |", ": 1e300 |").replace(
            ": 30000.0 |", ": 1e300 |").encode(), "can be meant: step 1 has 1e+297"),
    ):  # fmt: skip
        (tmp_path / name).write_bytes(content)
        (line,) = refused(*flags, tmp_path / name)
        assert words in line
    for form in ("utf-16", "utf-16-le", "utf-8-sig"):
        (tmp_path / "wide.log").write_bytes(log_text(9.0).encode(form))
        assert planner(*flags, tmp_path / "wide.log", "--json").document["steps"]["last"] == 20
    (tmp_path / "empty.log").touch()
    assert refused(*flags, tmp_path / "empty.log")[0].endswith("empty.log: is empty")


def test_a_log_is_followed_until_it_has_enough(
    resolved: Resolved, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "train.log"
    counted = partial(counted_steps, resolved.cost, PLAN, file=log)
    lines = log_text(1.0, steps=14).splitlines(keepends=True)

    def grows() -> Iterator[None]:
        for count in (0, 3, 11, 12, 14):
            log.write_text("".join(lines[:count]), encoding="utf-8")
            yield

    writer = grows()
    follow(log, counted, 7, lambda _: next(writer))
    assert next(writer, "ended") is None  # two more lines were not waited for
    assert capsys.readouterr().err.split("\n")[:4] == [
        f"waiting: {log} is not there yet",
        "0 of 7 steps",
        "6 of 7 steps",
        "7 of 7 steps",
    ]
    log.write_text("".join(lines[:3]) + "torch.OutOfMemoryError: CUDA out of memory\n")
    follow(log, counted, 7, lambda _: pytest.fail("waits for ever"))

    def interrupted(_: float) -> None:
        raise KeyboardInterrupt

    log.write_text("")
    with pytest.raises(KeyboardInterrupt):
        follow(log, counted, 7, interrupted)


@each(("written", "shown", "last"), [(10, 5, 10), (8, 3, 8), (5, 0, 0), (40, 20, 25)])
def test_ctrl_c_ends_the_watching_with_what_was_read(
    plan_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    written: int, shown: int, last: int,
) -> None:  # fmt: skip
    def interrupted(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("planner.cli.check.follow", partial(follow, wait=interrupted))
    log = tmp_path / "train.log"
    log.write_text(log_text(9.0, steps=written))
    found = planner("check", plan_file, "--log", log, "--watch", "--json")
    assert f"{shown if written < 25 else 35} of 20 steps" in found.err
    assert found.code == (1 if last else 130)
    if last:
        assert found.document["steps"]["last"] == last
