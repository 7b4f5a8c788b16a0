"""The log of a transformers Trainer, which Accelerate's launcher starts.

    ***** Running training *****
      Instantaneous batch size per device = 8
      Total train batch size (w. parallel, distributed & accumulation) = 64
      Total optimization steps = 1,000
      1%|          | 10/1000 [00:12<20:13,  1.23s/it]
    {'loss': '9.877', 'grad_norm': '1.234', 'learning_rate': '4.95e-05', 'epoch': '0.01'}

The time of a step stands in the progress bar alone: it is tqdm's moving mean, in which a new step
weighs 0.3, so that the first steps are forgotten after twenty. Its shortest change on the screen is
0.01 s. Bars with words before them (loading, mapping) and of evaluations, whose total is another,
are passed over. No memory is printed.

Source: transformers 5.23.0 (PyPI), trainer.py lines 1618 to 1628, trainer_callback.py lines 645 to
690 (ProgressCallback; losses are text, in 4 numbers without quotes); tqdm 4, std.py (format_meter,
smoothing).
"""

from __future__ import annotations

import re

from planner.evidence.training_logs.log import TrainingLog, plain_lines
from planner.evidence.training_logs.reading import Reading

_WARM_UP = 20
_BAR = re.compile(
    r"^\s*[0-9]+%\|[^|]*\| ([0-9]+)/([0-9]+) \[[0-9:]+<[0-9:?]+(?: days[0-9:, ]*)?,\s*"
    r"([0-9]+(?:\.[0-9]*)?)(s/it|it/s)"
)
_LOSS = re.compile(r"\{'loss': '?(-?[0-9]+(?:\.[0-9]*)?(?:e[+-]?[0-9]+)?|nan|-?inf)\b")
_TOTAL = re.compile(r"Total optimization steps = ([0-9,]+)")
_BEGINS = "***** Running training *****"
_STATED = {
    "micro_batch": re.compile(r"Instantaneous batch size per device = ([0-9,]+)"),
    "sequences": re.compile(r"Total train batch size \(w\. parallel[^()]*\) = ([0-9,]+)"),
}


def parse_trainer(text: str, label: str) -> TrainingLog:
    """The steps of a log.

    Args:
        text: The log.
        label: What messages call it.

    Raises:
        InputError: It has no step.
    """
    reading = Reading(warm_up=_WARM_UP)
    total, step = 0, 0
    for line in plain_lines(text):
        if _BEGINS in line:
            reading.begins()
            total, step = 0, 0
        reading.states(line, _STATED)
        if said := _TOTAL.search(line):
            total = int(said[1].replace(",", ""))
        if (found := _BAR.search(line)) and int(found[2]) == (total := total or int(found[2])):
            before, step, rate = step, int(found[1]), float(found[3])
            if step != before:  # the bar is drawn again below a printed loss
                slow = found[4] == "s/it" or not rate
                reading.takes(step, time_s=rate if slow else 1 / rate)
        if found := _LOSS.search(line):
            reading.loses(step, float(found[1]))
    return reading.log(label, text)
