"""The log of torchtitan's metrics, as every rank prints it.

    [titan] 2026-08-21 10:00:00,000 - root - INFO - Building device mesh with parallelism: pp=1,
        dp_replicate=1, dp_shard=8, cp=1, tp=1, ep=1
    ... Trainer is initialized with local batch size 1, global batch size 8, gradient accumulation
        steps 1, sequence length 8192, total steps 20 (warmup 2)
    ... Training starts at step 1
    ... step:  6  loss:  7.01234  grad_norm:  1.2345
        memory: 41.23GiB(51.80%)  tps: 6,543  tflops: 333.21  mfu: 33.69%

(each one line, with colours). `tps` are tokens per second and device since the last line, by
default every tenth step; `memory` is the peak that PyTorch's allocator reserved.

Source: torchtitan components/metrics.py, MetricsProcessor.log, 0.3.0 (PyPI); trainer.py lines 622
and 1022 and distributed/parallel_dims.py line 275 of b5bcd76c66 (2026-08-21), which states tokens
in place of sequences; train.py lines 355 and 655 of 0.2.2 (73a0e69), which prints the loss with
fewer digits. "N/A" stands for `mfu` under quantization.
"""

from __future__ import annotations

import math
import re

from planner.base.units import GIB
from planner.evidence.training_logs.log import TrainingLog, number, plain_lines
from planner.evidence.training_logs.reading import Reading

_STEP = re.compile(
    r"^(?>.*?(?<!validate )step:\s+([0-9]+)\s+loss:\s*(-?[0-9]+(?:\.[0-9]*)?|nan|-?inf)\b)"
    r"(?>.*?memory:\s*([0-9]+(?:\.[0-9]*)?)GiB\([^()]*\))\s+"
    r"tps:\s+(-?[0-9][0-9,]*(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?|nan|-?inf)"
)
_BEGINS = re.compile(r"Training starts at step ([0-9]+)")
_MESH = re.compile(
    r"Building device mesh with parallelism: pp=(?P<pp>[0-9]+), dp_replicate=(?P<replicas>[0-9]+), "
    r"dp_shard=(?P<shards>[0-9]+), cp=(?P<cp>[0-9]+), tp=(?P<tp>[0-9]+), ep=(?P<ep>[0-9]+)"
)
_RANKS = ("pp", "replicas", "shards", "cp", "tp")
"""Whose product are the chips."""
_STARTS = r"^(?>.*?Trainer is initialized with )"
_TRAINER = {
    "sequences": re.compile(rf"{_STARTS}.*?global batch size ([0-9]+),"),
    "seq_len": re.compile(rf"{_STARTS}.*?sequence length ([0-9]+),"),
    "tokens": re.compile(rf"{_STARTS}.*?, ([0-9]+) tokens per train step"),
}


def parse_torchtitan(text: str, label: str) -> TrainingLog:
    """The steps of a log.

    Args:
        text: The log.
        label: What messages call it.

    Raises:
        InputError: It has no step.
    """
    reading = Reading(means=True)
    for line in plain_lines(text):
        if found := _MESH.search(line):
            for axis in ("pp", "cp", "tp", "ep"):
                reading.says(axis, found[axis])
            reading.says("chips", str(math.prod(int(found[axis]) for axis in _RANKS)))
        if found := _BEGINS.search(line):
            reading.begins(after=int(found[1]) - 1)
        reading.states(line, _TRAINER)
        if found := _STEP.search(line):
            reading.takes(int(found[1]), tokens_per_s=number(found[4]), loss=float(found[2]))
            reading.holds(float(found[3]) * GIB)
    return reading.log(label, text)
