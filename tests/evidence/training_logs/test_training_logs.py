"""Logs of training runs: the lines of the frameworks, and what else stands in a log."""

from pathlib import Path

import pytest
from support.cases import each

from evidence.calibration.launched import megatron_line, megatron_log
from planner.base.errors import InputError
from planner.evidence.training_logs.megatron import parse_megatron
from planner.evidence.training_logs.torchtitan import parse_torchtitan

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
    (megatron_line(3, 0.2).replace("iterations:   0 | number of nan", "iterations:   1 | number"),
     "has no line of a step"),
    ("iteration 1/ 20 | elapsed time per iteration (ms): 0.0 |", "has no line of a step"),
    ("iteration 1/ 20 | elapsed time per iteration (ms): 1e9 |", "has no line of a step"),
    ("iteration 1/ 20 | elapsed time per iteration (ms): 1.2.3 |", "has no line of a step"),
    ("step:  1  loss:  8.0  memory: 1.2.3GiB(3%)  tps: ,", "has no line of a step"),
])  # fmt: skip
def test_logs_without_a_step(text: str, words: str) -> None:
    for parse in (parse_megatron, parse_torchtitan):
        with pytest.raises(InputError, match="log: ") as caught:
            parse(text, "log")
        assert words in str(caught.value)
        assert "\n" not in str(caught.value)
