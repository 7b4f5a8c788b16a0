"""The log of Megatron-LM's training loop, as rank 0 and the last rank print it.

     [2026-03-16 10:00:00] iteration        6/      20 | consumed samples: ... |
        elapsed time per iteration (ms): 812.4 | throughput per GPU (TFLOP/s/GPU): 391.2 | ...
        number of skipped iterations:   0 | number of nan iterations:   0 |
    [Rank 0] (after 2 iterations) memory (MB) | allocated: ... | max allocated: 51234.5 | ...

An iteration is one line; the time is the mean over the iterations since the last line, and counts
for each of `--log-interval 1`. "MB" are 2^20 bytes.

Source: NVIDIA Megatron-LM, megatron/training/training.py (training_log) and megatron/training/
utils.py (report_memory), core 0.16.1, 55ac708251 (2026-03-16); the same words in d98e8a64dd
(2026-08-22).
"""

from __future__ import annotations

import re

from planner.evidence.calibration.logs.training_log import (
    LoggedStep,
    TrainingLog,
    log_of,
    plain_lines,
)

_STEP = re.compile(
    r"iteration\s+(\d+)/\s*\d+ \|.*?elapsed time per iteration \(ms\): (\d+\.?\d*) \|"
)
_SKIPPED = re.compile(r"number of skipped iterations:\s+(\d+)")
_MEMORY = re.compile(r"memory \(MB\) \|.*?max allocated: (\d+\.?\d*)")
_MIB = 2.0**20


def parse_megatron(text: str, label: str) -> TrainingLog:
    """The steps of a log; those whose update was skipped do not count.

    Args:
        text: The log.
        label: What messages call it.

    Raises:
        InputError: It has no step.
    """
    steps, memory = [], []
    for line in plain_lines(text):
        if found := _MEMORY.search(line):
            memory.append(float(found[1]) * _MIB)
        if found := _STEP.search(line):
            skipped = _SKIPPED.search(line)
            time_s = float(found[2]) / 1e3
            if time_s > 0 and (skipped is None or int(skipped[1]) == 0):
                steps.append(LoggedStep(step=int(found[1]), time_s=time_s))
    return log_of(label, text, steps, memory)
