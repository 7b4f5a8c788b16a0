"""The log of DeepSpeed's engines, where `steps_per_print` of the configuration asks for one.

    [2026-07-01 10:00:00,000] [INFO] [config.py:678:print]   train_batch_size ............. 64
    [2026-07-01 10:00:09,000] [INFO] [timer.py:264:stop] epoch=0/micro_step=10/global_step=10,
        RunningAvgSamplesPerSec=50.1, CurrSamplesPerSec=51.8, MemAllocated=12.3GB,
        MaxMemAllocated=44.81GB
    steps: 10 loss: 7.1234 iter time (s): 1.234 samples/sec: 51.864

The first kind of line of steps is that of the engine: `CurrSamplesPerSec` is of the one step, "GB"
are 2^30 bytes. The second is that of the pipeline's engine, a mean since the last line; a launch
that has such lines is read by them alone. A pipeline prints no memory.

Source: DeepSpeed 0.19.8 (PyPI), deepspeed/utils/timer.py lines 264 to 272, runtime/pipe/engine.py
lines 379 to 387, runtime/config.py lines 673 to 678, runtime/fp16/loss_scaler.py lines 153, 263.
"""

from __future__ import annotations

import re

from planner.base.units import GIB
from planner.evidence.training_logs.log import NUMBER, TrainingLog, plain_lines
from planner.evidence.training_logs.reading import Reading

_RATE = re.compile(
    rf"global_step=([0-9]+), RunningAvgSamplesPerSec=\S+, CurrSamplesPerSec=({NUMBER}), "
    r"MemAllocated=\S+GB, MaxMemAllocated=([0-9]+(?:\.[0-9]*)?)GB"
)
_PIPELINE = re.compile(
    rf"^(?>.*?steps: ([0-9]+) loss: ({NUMBER}) ).*?iter time \(s\): ({NUMBER}) samples/sec: "
)
_STATED = {
    "sequences": re.compile(r"\s train_batch_size \.+ ([0-9]+)\b"),
    "micro_batch": re.compile(r"\s train_micro_batch_size_per_gpu \.* *([0-9]+)\b"),
}
_OVERFLOW = re.compile(r"\[deepspeed\] OVERFLOW!(?: Rank 0)? Skipping step\.")
_SCALE = re.compile(r"reducing to ([0-9]+(?:\.[0-9]*)?)")


def parse_deepspeed(text: str, label: str) -> TrainingLog:
    """The steps of a log.

    Args:
        text: The log.
        label: What messages call it.

    Raises:
        InputError: It has no step.
    """
    reading = Reading()
    for line in plain_lines(text):
        reading.states(line, _STATED)
        if _OVERFLOW.search(line):
            scale = _SCALE.search(line)
            reading.skips(float(scale[1]) if scale else None)
        if found := _RATE.search(line):
            reading.means = False
            reading.takes(int(found[1]), sequences_per_s=float(found[2]))
            reading.holds(float(found[3]) * GIB)
        if found := _PIPELINE.search(line):
            reading.means = True
            reading.takes(int(found[1]), time_s=float(found[3]), loss=float(found[2]))
    log = reading.log(label, text)
    pipelines = {one.launch for one in log.steps if one.time_s is not None}
    return log.only(one for one in log.steps if one.launch not in pipelines or one.time_s)
