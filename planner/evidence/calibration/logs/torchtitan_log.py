"""The log of torchtitan's metrics, as every rank prints it with `metrics.log_freq 1`.

    [titan] 2026-08-21 10:00:00,000 - root - INFO - step:  6  loss:  7.01234  grad_norm:  1.2345
        memory: 41.23GiB(51.80%)  tps: 6,543  tflops: 333.21  mfu: 33.69%

(one line, with colours). `tps` are tokens per second and device since the last line; `memory` is
the peak that PyTorch's allocator reserved.

Source: torchtitan components/metrics.py, MetricsProcessor.log, 0.3.0 (PyPI); 0.2.2 prints the loss
with fewer digits, and "N/A" stands for `mfu` under quantization.
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
    r"(?<!validate )step:\s+(\d+)\s+loss:.*?memory:\s*(\d+\.?\d*)GiB\(.*?\)\s+tps:\s+(\d[\d,]*)"
)
_GIB = 2.0**30


def parse_torchtitan(text: str, label: str) -> TrainingLog:
    """The steps of a log.

    Args:
        text: The log.
        label: What messages call it.

    Raises:
        InputError: It has no step.
    """
    steps, memory = [], []
    for line in plain_lines(text):
        if found := _STEP.search(line):
            rate = float(found[3].replace(",", ""))
            memory.append(float(found[2]) * _GIB)
            if rate > 0:
                steps.append(LoggedStep(step=int(found[1]), tokens_per_s=rate))
    return log_of(label, text, steps, memory)
