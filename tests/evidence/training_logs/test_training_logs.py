"""Logs of training runs: the lines of the frameworks, and what else stands in a log."""

import math
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.cases import each

from evidence.calibration.launched import megatron_line, megatron_log
from planner.base.errors import InputError
from planner.evidence.training_logs.log import plain_lines
from planner.evidence.training_logs.megatron import parse_megatron
from planner.evidence.training_logs.readers import read_log
from planner.evidence.training_logs.torchtitan import parse_torchtitan
from planner.frameworks.accelerate.progress import PROGRESS

KEPT = Path(__file__).parent / "kept"
"""Logs in the form that the docstrings of the readers document."""


def test_megatron() -> None:
    log = parse_megatron(megatron_log(0.25), "log")
    assert [one.step for one in log.steps] == list(range(1, 21))
    assert log.memory_bytes == pytest.approx(40112.51171875 * 2**20)
    # Neither the slow beginning nor the recorded end counts.
    assert log.step_time_s(1e6, 8, 16) == pytest.approx(0.25)


def test_megatron_of_two_nodes_with_interleaved_lines() -> None:
    text = (KEPT / "megatron-2-nodes.txt").read_text(encoding="utf-8")
    log = parse_megatron(text, "log")
    assert [one.step for one in log.steps] == [1, 2, 3, 5, 6]  # 4 was skipped
    assert log.step_time_s(1e6, 16, 32) == pytest.approx(0.8125)
    assert log.memory_bytes == pytest.approx(52345.5 * 2**20)


def test_torchtitan() -> None:
    text = (KEPT / "torchtitan.txt").read_text(encoding="utf-8")
    log = parse_torchtitan(text, "log")
    assert {one.step for one in log.steps} == set(range(1, 13))
    assert log.memory_bytes == pytest.approx(41.23 * 2**30)
    # 8 chips at 6,553.6 tokens per second and chip.
    assert log.step_time_s(8 * 8192, 8, 8) == pytest.approx(8192 / 6554)


@each(("text", "words"), [
    ("", "log: is empty"),
    ("done with setup ...\n", "log: has no line of a step"),
    ("torch.OutOfMemoryError: CUDA out of memory.\n", "has no line of a step: the run ran out"),
    ("iteration 1/ 20 | elapsed time per iteration (ms): 1e |", "has no line of a step"),
    ("iteration 1/ 20 | elapsed time per iteration (ms): 1.2.3 |", "has no line of a step"),
    ("step:  1  loss:  8.0  memory: 1.2.3GiB(3%)  tps: ,", "has no line of a step"),
])  # fmt: skip
def test_logs_without_a_step(text: str, words: str) -> None:
    for parse in (parse_megatron, parse_torchtitan):
        with pytest.raises(InputError, match="log: ") as caught:
            parse(text, "log")
        assert words in str(caught.value)
        assert "\n" not in str(caught.value)


class Number(float):
    """A loss, as far as a script looks at it."""

    def detach(self) -> "Number":
        return self

    def item(self) -> float:
        return float(self)


@pytest.mark.parametrize(("processes", "sequences"), [(8, 64), (2, 16)])
def test_the_script_that_is_exported_prints_what_is_read(
    processes: int, sequences: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Times from a clock that says so, of a chip that held 3 GiB, on its chips and on fewer."""
    clock = iter([0.0, *(30 + 1.25 * n for n in range(20))])
    cuda = SimpleNamespace(max_memory_allocated=lambda: 3 * 2**30)
    names = {
        "time": SimpleNamespace(perf_counter=lambda: next(clock)),
        "torch": SimpleNamespace(cuda=cuda), "SEQUENCES": 64, "SEQ_LEN": 4096, "CHIPS": 8,
    }  # fmt: skip
    exec(PROGRESS, names)  # the text that an export writes
    made: Any = names["Progress"]
    progress = made()
    own = SimpleNamespace(reduce=lambda loss, _: loss, print=print, num_processes=processes)
    for value in [9.5] * 19 + [math.nan]:
        progress.ends(own, Number(value))
    framework, log = read_log(capsys.readouterr().out, "log")
    assert (framework, len(log.steps), log.bad_steps) == ("accelerate", 20, (20,))
    assert log.step_time_s(1, 1, 1) == 1.25
    assert log.memory_bytes == 3 * 2**30
    assert {one.sequences for one in log.steps} == {sequences}
    assert log.launches[-1].stated == {"seq_len": 4096}


def kept(name: str) -> str:
    return (KEPT / f"{name}.txt").read_bytes().decode()


@each(("name", "framework", "seconds", "memory_gib", "stated", "counted"), [
    ("megatron-2-nodes", "megatron", 0.8125, 52345.5 / 1024, {}, 2),
    ("torchtitan", "torchtitan", 8192 / 6554, 41.23, {}, 14),
    ("maxtext", "maxtext", 2.5, 62.1, {"chips": 8, "sequences": 16, "seq_len": 8192}, 7),
    ("nanotron", "nanotron", 1.23, 48112.25 / 1024,
     {"micro_batch": 2, "cp": 1, "seq_len": 4096, "sequences": 64}, 7),
    ("deepspeed", "deepspeed", 1.25, 44.81, {"sequences": 64}, 8),
    ("deepspeed-pipeline", "deepspeed", 1.234, None, {}, 4),
    ("trainer", "transformers", 1.25, None, {"micro_batch": 2, "sequences": 64}, 30),
])  # fmt: skip
def test_each_framework_is_known_by_its_lines(
    name: str,
    framework: str,
    seconds: float,
    memory_gib: float | None,
    stated: dict[str, float],
    counted: int,
) -> None:
    found, log = read_log(kept(name), "log")
    assert found == framework
    assert log.step_time_s(8 * 8192, 8, 64) == pytest.approx(seconds, rel=5e-3)
    assert log.memory_bytes == (None if memory_gib is None else pytest.approx(memory_gib * 2**30))
    assert stated.items() <= log.launches[-1].stated.items()
    assert len(log.counted()) == counted
    assert len(log.launches) == 1
    assert log.launches[-1].stated.get("chips", 8) == pytest.approx(8, rel=0.01)


def test_a_mean_with_skipped_updates_counts() -> None:
    """Lines of ten steps: of the second three updates were skipped, of the third all."""
    said = "skipped iterations:   {}"
    text = "".join(
        megatron_line(at, 0.2).replace(said.format(0), said.format(skipped))
        for at, skipped in ((10, 1), (20, 3), (30, 10), (40, 0))
    )
    log = read_log(text, "log")[1]
    assert log.skipped == 14
    assert [(one.step, one.covers) for one in log.steps] == [(20, 10), (40, 10)]


def test_what_else_a_log_says() -> None:
    assert read_log(kept("nanotron"), "log")[1].bad_steps == (12,)
    deepspeed = read_log(kept("deepspeed"), "log")[1]
    assert (deepspeed.skipped, deepspeed.loss_scale) == (1, 32768)
    assert read_log(kept("maxtext"), "log")[1].bad_steps == ()
    # The bar of an evaluation and the one with words before it are none of training.
    assert read_log(kept("trainer"), "log")[1].last == 50
    assert read_log(kept("trainer").replace("'9.8'", "nan"), "log")[1].bad_steps == (10,)
    nan = megatron_line(7, 0.2).replace("nan iterations:   0", "nan iterations:   1")
    assert read_log(nan, "log")[1].bad_steps == (7,)


MESH = (
    "Building device mesh with parallelism: pp=2, dp_replicate=1, dp_shard=4, cp=1, tp=2, ep=1\n"
    "Trainer is initialized with local batch size 2, global batch size 64, gradient accumulation "
    "steps 8, sequence length 8192, total steps 20 (warmup 2)\n"
)
ARGUMENTS = (
    "using world size: 16, data-parallel size: 4, context-parallel size: 1, hierarchical "
    "context-parallel sizes: None, tensor-model-parallel size: 2, pipeline-model-parallel size: 2\n"
    "  expert_model_parallel_size ...................... 1\n"
    "  micro_batch_size ................................ 2\n"
    "  seq_length ...................................... 8192\n"
)


def test_what_a_log_states_of_its_mesh() -> None:
    mesh = {"chips": 16, "pp": 2, "cp": 1, "tp": 2, "ep": 1}
    titan = read_log(MESH + kept("torchtitan"), "log")[1]
    assert titan.launches[-1].stated == {**mesh, "sequences": 64, "seq_len": 8192}
    tokens = MESH.replace(
        "local batch size 2, global batch size 64,",
        "16384 tokens per DP rank, 524288 tokens per train step,",
    )
    assert read_log(tokens + kept("torchtitan"), "log")[1].launches[-1].stated["tokens"] == 524288
    megatron = read_log(ARGUMENTS + megatron_log(0.2), "log")[1]
    assert megatron.launches[-1].stated == {**mesh, "micro_batch": 2, "seq_len": 8192}


def test_restarts_warm_up_again() -> None:
    begins = "[before the start of training step] datetime: 2026-03-16 10:00:00 \n"
    first = begins + "".join(megatron_line(step, 0.2) for step in range(1, 13))
    # From the checkpoint of a step; the speed falls for five steps again.
    for at, between in ((13, begins), (11, begins), (9, "")):  # the last says so by its numbers
        again = [megatron_line(at + n, 4.0 if n < 5 else 0.2) for n in range(13)]
        log = read_log(first + between + "".join(again), "log")[1]
        assert len(log.launches) == 2
        counted = [(one.launch, one.step) for one in log.counted()]
        assert counted == [(0, n) for n in range(6, 13)] + [(1, at + n) for n in range(5, 13)]
        assert log.step_time_s(1, 1, 1) == pytest.approx(0.2)


def test_a_line_counts_where_all_of_its_steps_do() -> None:
    # The default of torchtitan: step 1, then every tenth with the mean of ten.
    (line,) = [one for one in kept("torchtitan").splitlines() if "step:  3" in one][:1]
    text = "".join(
        line.replace("step:  3", f"step: {at:2}").replace("6,554", rate) + "\n"
        for at, rate in ((1, "210"), (10, "2,000"), (20, "6,554"), (30, "6,554"))
    )
    log = read_log(text, "log")[1]
    assert [(one.step, one.covers) for one in log.steps] == [(1, 1), (10, 9), (20, 10), (30, 10)]
    assert [one.step for one in log.counted()] == [20, 30]


UNTIMED = "log: has no step with a time that can be meant: step "


@each(("name", "time", "wrong", "words"), [
    ("megatron-2-nodes", r"(?<=\(ms\): )[\d.]+", "0.0", f"{UNTIMED}1 has 0"),
    ("megatron-2-nodes", r"(?<=\(ms\): )[\d.]+", "-812.5", f"{UNTIMED}1 has -0.8125"),
    ("megatron-2-nodes", r"(?<=\(ms\): )[\d.]+", "1" + 303 * "0" + ".0", f"{UNTIMED}1 has 1e+300"),
    ("megatron-2-nodes", r"(?<=skipped iterations:   )\d", "1",
     "log: the update of each of its 6 steps was skipped; read more of them"),
    ("torchtitan", r"(?<=tps: )[\d,]+", "0", f"{UNTIMED}1 has 0"),
    ("maxtext", r"(?<=, seconds: )[\d.]+", "nan", f"{UNTIMED}1 has nan"),
    ("nanotron", r"(?<=time_per_iteration_ms: )[\d.]+K?", "nan", f"{UNTIMED}1 has nan"),
    ("deepspeed", r"(?<=CurrSamplesPerSec=)[\d.]+", "inf", f"{UNTIMED}2 has inf"),
    ("deepspeed-pipeline", r"(?<=iter time \(s\): )[\d.]+", "-1.5", f"{UNTIMED}5 has -1.5"),
    ("trainer", r"[\d.]+(?=s/it)", "0.00", f"{UNTIMED}1 has 0"),
])  # fmt: skip
def test_steps_without_a_time_are_told_from_no_steps(
    name: str, time: str, wrong: str, words: str
) -> None:
    changed, count = re.subn(time, wrong, kept(name))
    assert count > 3
    with pytest.raises(InputError) as caught:
        read_log(changed, "log")
    assert str(caught.value) == words


def test_a_mean_counts_where_not_all_of_its_updates_were_skipped() -> None:
    """Skipped steps run forward and backward; their NaN is what made fp16 skip them."""
    text = "".join(
        megatron_line(step, 0.2)
        .replace("skipped iterations:   0", f"skipped iterations:   {skipped}")
        .replace("nan iterations:   0", f"nan iterations:   {skipped}")
        for step, skipped in ((1, 1), (10, 2), (20, 0), (30, 10), (40, 1))
    )
    log = read_log(text, "log")[1]
    assert [(one.step, one.covers) for one in log.steps] == [(10, 9), (20, 10), (40, 10)]
    assert (log.skipped, log.bad_steps) == (14, ())


@each(("text", "words"), [
    ("", "log: is empty"),
    ("CUDA out of memory\n", "the run ran out of memory"),
    ("loss 9.1\n" * 30, "DeepSpeed with \"steps_per_print\": 1"),
])  # fmt: skip
def test_logs_that_nothing_reads(text: str, words: str) -> None:
    with pytest.raises(InputError, match=r"^log: ") as caught:
        read_log(text, "log")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@each(("digits", "kept"), [(639, True), (640, False)])
@each("form", ["{}", "a{}", "1,a,{}", "12 {}", ",{}"])
@each("comma", ["", ","])
def test_numbers_that_python_does_not_read(digits: int, kept: bool, form: str, comma: str) -> None:
    line = form.format(comma.join("7" * digits))
    assert plain_lines(line) == [line] * kept
