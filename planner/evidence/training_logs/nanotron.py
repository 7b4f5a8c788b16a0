"""The log of nanotron's trainer.

    mbs: 2 | grad_accum: 4 | cp: 1 | sequence_length: 4096 | global_batch_size: 64 | ...
    iteration: 6 / 20 | consumed_tokens: 1.57M | time_per_iteration_ms: 1.23K |
        tokens_per_sec: 213K | tokens_per_sec_per_gpu: 26.6K | global_batch_size: 262K |
        lm_loss: 9.87 | lr: 0.0003 | model_tflops_per_gpu: 391 | eta: 0:00:17
     Memory usage: 20211.67MiB. Peak allocated 48112.25MiB. Peak reserved: 49000.00MiB

(the second on one line). Numbers have three digits and K, M, B or T behind them, so that a time is
known to 0.5 %.

Source: nanotron src/nanotron/trainer.py lines 342 and 772 to 786, logging/base.py lines 268 to 292
(human_format, log_memory) and 303 to 320, 2411b022a7 (2026-04-07).
"""

from __future__ import annotations

import re

from planner.base.units import MIB
from planner.evidence.training_logs.log import TrainingLog, plain_lines
from planner.evidence.training_logs.reading import Reading

_NUMBER = r"(-?[0-9]+(?:\.[0-9]*)?(?:e[+-][0-9]+)?|nan|-?inf)([KMBTPE]?)"
_STEP = re.compile(
    rf"^(?>.*?iteration: ([0-9]+) / [0-9]+ \|)(?>.*?time_per_iteration_ms: {_NUMBER} \|)"
    rf".*?lm_loss: {_NUMBER} \|"
)
_RATES = re.compile(rf"tokens_per_sec: {_NUMBER} \| tokens_per_sec_per_gpu: {_NUMBER} \|")
_BEGINS = re.compile(
    r"mbs: (?P<micro_batch>[0-9]+) \| grad_accum: [0-9]+ \| cp: (?P<cp>[0-9]+) \| "
    r"sequence_length: (?P<seq_len>[0-9]+) \| global_batch_size: (?P<sequences>[0-9]+) \|"
)
_MEMORY = re.compile(r"Peak allocated ([0-9]+(?:\.[0-9]*)?)MiB\.")
_SIZES = {"": 1.0, "K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}


def parse_nanotron(text: str, label: str) -> TrainingLog:
    """The steps of a log.

    Args:
        text: The log.
        label: What messages call it.

    Raises:
        InputError: It has no step.
    """
    reading = Reading()
    for line in plain_lines(text):
        if found := _BEGINS.search(line):
            reading.begins()
            for name, said in found.groupdict().items():
                reading.says(name, said)
        if found := _MEMORY.search(line):
            reading.holds(float(found[1]) * MIB)
        if found := _STEP.search(line):
            reading.takes(
                int(found[1]),
                time_s=_size(found[2], found[3]) / 1e3,
                loss=_size(found[4], found[5]),
            )
            if (rates := _RATES.search(line)) and (own := _size(rates[3], rates[4])) > 0:
                reading.has("chips", _size(rates[1], rates[2]) / own)
    return reading.log(label, text)


def _size(digits: str, letter: str) -> float:
    return float(digits) * _SIZES[letter]
