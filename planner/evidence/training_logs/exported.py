"""The log of `train.py`, the script that is exported for Accelerate, with adapters or without.

    step 12: loss 9.8765, 1.2345 s, 41.23 GiB, 64 sequences of 4096 tokens

A step ends when its loss is known to the host. Memory is the most that PyTorch held on the first
chip since the start; 0.00 where it counts none.

Source: `planner.frameworks.accelerate.progress`, which prints it.
"""

from __future__ import annotations

import re

from planner.base.units import GIB
from planner.evidence.training_logs.log import NUMBER, TrainingLog, plain_lines
from planner.evidence.training_logs.reading import Reading

_STEP = re.compile(
    r"step ([0-9]+): loss (-?[0-9]+\.[0-9]+|nan|-?inf), (" + NUMBER + r") s, ([0-9]+\.[0-9]+) GiB, "
    r"([0-9]+) sequences of ([0-9]+) tokens"
)


def parse_exported(text: str, label: str) -> TrainingLog:
    """The steps of a log.

    Args:
        text: The log.
        label: What messages call it.

    Raises:
        InputError: It has no step.
    """
    reading = Reading()
    for line in plain_lines(text):
        if found := _STEP.search(line):
            step, loss, seconds, held, sequences, tokens = found.groups()
            reading.says("seq_len", tokens)
            reading.takes(
                int(step), time_s=float(seconds), loss=float(loss), sequences=int(sequences)
            )
            if float(held):
                reading.holds(float(held) * GIB)
    return reading.log(label, text)
