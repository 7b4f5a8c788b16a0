"""The log of Megatron-LM's training loop, as rank 0 and the last rank print it.

    using world size: 16, data-parallel size: 8, context-parallel size: 1, hierarchical
        context-parallel sizes: None, tensor-model-parallel size: 2, pipeline-model-parallel size: 1
      seq_length ...................................... 4096
    [before the start of training step] datetime: 2026-03-16 10:00:00
     [2026-03-16 10:00:00] iteration        6/      20 | consumed samples: ... |
        elapsed time per iteration (ms): 812.4 | throughput per GPU (TFLOP/s/GPU): 391.2 | ...
        global batch size:    16 | lm loss: 1.184012E+01 | loss scale: 1.0 | ...
        number of skipped iterations:   0 | number of nan iterations:   0 |
    [Rank 0] (after 2 iterations) memory (MB) | allocated: ... | max allocated: 51234.5 | ...

An iteration is one line; the time is the mean over the iterations since the last line (the first
iteration has one of its own). "MB" are 2^20 bytes.

Source: NVIDIA Megatron-LM, megatron/training/training.py (training_log, lines 2033 to 2083;
print_datetime), megatron/training/utils.py (report_memory) and megatron/training/arguments.py
(lines 390 and 1296), core 0.16.1, 55ac708251 (2026-03-16); the same words in d98e8a64dd
(2026-08-22).
"""

from __future__ import annotations

import math
import re

from planner.base.units import MIB
from planner.evidence.training_logs.log import NUMBER, TrainingLog, plain_lines
from planner.evidence.training_logs.reading import Reading

_STEP = re.compile(
    r"^(?>.*?iteration\s+([0-9]+)/\s*[0-9]+ \|)"  # the first: no other has more behind it
    rf".*?elapsed time per iteration \(ms\): ({NUMBER}) \|"
)
_SKIPPED = re.compile(r"number of skipped iterations:\s+([0-9]+)")
_NAN = re.compile(r"number of nan iterations:\s+([0-9]+)")
_BATCH = re.compile(r"global batch size:\s+([0-9]+) \|")
_SCALE = re.compile(r"loss scale: ([0-9]+(?:\.[0-9]*)?) \|")
_LOSS = re.compile(r"lm loss: ([+-]?[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?|nan|-?inf) \|")
_MEMORY = re.compile(r"^(?>.*?memory \(MB\) \|).*?max allocated: ([0-9]+(?:\.[0-9]*)?)")
_BEGINS = "[before the start of training step] datetime:"
_STATED = {
    "chips": re.compile(r"using world size: ([0-9]+),"),
    "cp": re.compile(r", context-parallel size: ([0-9]+),"),
    "tp": re.compile(r"tensor-model-parallel size: ([0-9]+),"),
    "pp": re.compile(r"pipeline-model-parallel size: ([0-9]+)\b"),
    "ep": re.compile(r"^\s*expert_model_parallel_size \.+ ([0-9]+)\b"),
    "seq_len": re.compile(r"^\s*seq_length \.+ ([0-9]+)\b"),
    "micro_batch": re.compile(r"^\s*micro_batch_size \.+ ([0-9]+)\b"),
}


def parse_megatron(text: str, label: str) -> TrainingLog:
    """The steps of a log; lines do not count where the update of each of their steps was skipped.

    Args:
        text: The log.
        label: What messages call it.

    Raises:
        InputError: It has no step.
    """
    reading = Reading(means=True)
    for line in plain_lines(text):
        if _BEGINS in line:
            reading.begins()
        reading.states(line, _STATED)
        if found := _MEMORY.search(line):
            reading.holds(float(found[1]) * MIB)
        if found := _STEP.search(line):
            _take(reading, line, int(found[1]), float(found[2]) / 1e3)
    return reading.log(label, text)


def _take(reading: Reading, line: str, step: int, time_s: float) -> None:
    """A line of a step."""
    batch, skipped = _BATCH.search(line), _count(_SKIPPED, line)
    reading.takes(
        step,
        time_s=time_s,
        sequences=int(batch[1]) if batch else None,
        loss=math.nan if _count(_NAN, line) > skipped else _loss(line),  # NaN makes it skip
        skipped=skipped,
    )
    scale = _SCALE.search(line)
    reading.scales(float(scale[1]) if scale else None)


def _count(pattern: re.Pattern[str], line: str) -> int:
    found = pattern.search(line)
    return int(found[1]) if found else 0


def _loss(line: str) -> float | None:
    found = _LOSS.search(line)
    return float(found[1]) if found else None
