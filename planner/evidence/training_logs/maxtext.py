"""The log of MaxText's training loop.

    Num_devices: 8, shape OrderedDict([('data', 1), ...])
    Config param global_batch_size_to_train_on: 16
    Config param max_target_length: 8192
    Total estimated memory size: 62.1 GB, estimated output size: 30.0 GB, ...
    completed step: 6, seconds: 1.234, TFLOP/s/device: 333.210, Tokens/s/device: 6638.573,
        total_weights: 65536, loss: 9.876, lm_loss: 9.876, perplexity: 19459.1

(each one line, behind what the logger puts before it). Steps count from 0. The memory is the
compiler's estimate, in 2^30 bytes. Lines of steps at which a profiler starts or ends have no time.

Source: MaxText src/maxtext/common/metric_logger.py lines 169 to 215, utils/max_utils.py lines 818
to 824 (print_compiled_memory_stats), utils/maxtext_utils.py line 2274, configs/pyconfig.py line
584, e591f30cbb (2026-08-22).
"""

from __future__ import annotations

import re

from planner.base.units import GIB
from planner.evidence.training_logs.log import NUMBER, TrainingLog, plain_lines
from planner.evidence.training_logs.reading import Reading

_STEP = re.compile(
    rf"^(?>.*?completed step: ([0-9]+), seconds: ({NUMBER}), )"
    r".*?\bloss: (-?[0-9]+\.[0-9]+|nan|-?inf)\b"
)
_MEMORY = re.compile(r"Total estimated memory size: ([0-9]+(?:\.[0-9]*)?) GB,")
_STATED = {
    "chips": re.compile(r"Num_devices: ([0-9]+), shape"),
    "sequences": re.compile(r"Config param global_batch_size_to_train_on: ([0-9]+)\b"),
    "seq_len": re.compile(r"Config param max_target_length: ([0-9]+)\b"),
}


def parse_maxtext(text: str, label: str) -> TrainingLog:
    """The steps of a log; their numbers are made to begin at 1.

    Args:
        text: The log.
        label: What messages call it.

    Raises:
        InputError: It has no step.
    """
    reading = Reading()
    for line in plain_lines(text):
        reading.states(line, _STATED)
        if found := _MEMORY.search(line):
            reading.will_hold(float(found[1]) * GIB)
        if found := _STEP.search(line):
            reading.takes(int(found[1]) + 1, time_s=float(found[2]), loss=float(found[3]))
    return reading.log(label, text)
