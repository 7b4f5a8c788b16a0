"""The readers of training logs, and which of them a log is for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.evidence.training_logs.deepspeed import parse_deepspeed
from planner.evidence.training_logs.exported import parse_exported
from planner.evidence.training_logs.log import TrainingLog, ran_out
from planner.evidence.training_logs.maxtext import parse_maxtext
from planner.evidence.training_logs.megatron import parse_megatron
from planner.evidence.training_logs.nanotron import parse_nanotron
from planner.evidence.training_logs.reading import NoTimeError
from planner.evidence.training_logs.torchtitan import parse_torchtitan
from planner.evidence.training_logs.trainer import parse_trainer


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """How the log of a framework is read.

    Attributes:
        title: The framework, as its authors write it.
        parse: From a text and what messages call it.
        prints: What makes it print the time of steps, where it does not of itself.
        samples: Whether it counts samples: a preference pair is one, which has two sequences.
    """

    title: str
    parse: Callable[[str, str], TrainingLog]
    prints: str = ""
    samples: bool = False


READERS: Mapping[str, Reader] = MappingProxyType(
    {
        "megatron": Reader(title="Megatron-LM", parse=parse_megatron),
        "torchtitan": Reader(title="torchtitan", parse=parse_torchtitan),
        "maxtext": Reader(title="MaxText", parse=parse_maxtext),
        "nanotron": Reader(title="nanotron", parse=parse_nanotron),
        "deepspeed": Reader(
            title="DeepSpeed", parse=parse_deepspeed, prints='"steps_per_print": 1', samples=True
        ),
        "accelerate": Reader(title="an exported train.py of Accelerate", parse=parse_exported),
        "transformers": Reader(
            title="transformers Trainer",
            parse=parse_trainer,
            prints="the progress bar on",
            samples=True,
        ),
    }
)
"""By target of `planner.frameworks`, or library; of a log with several, the first counts."""


def read_log(text: str, label: str) -> tuple[str, TrainingLog]:
    """The framework that printed a log, and its steps.

    Args:
        text: The log.
        label: What messages call it.

    Raises:
        InputError: No framework prints such lines; why, where the text tells.
    """
    untimed: NoTimeError | None = None
    for name, reader in READERS.items():
        try:
            return name, reader.parse(text, label)
        except NoTimeError as error:
            untimed = untimed or error
        except InputError:
            continue
    if untimed is not None:
        raise untimed
    if not text.strip():
        raise InputError(f"{label}: is empty")
    if ran_out(text):
        raise InputError(f"{label}: has no line of a step: the run ran out of memory")
    known = ", ".join(one.title for one in READERS.values())
    needs = "; ".join(f"{one.title} with {one.prints}" for one in READERS.values() if one.prints)
    raise InputError(
        f"{label}: has no line that says how long a step took, as {known} print it ({needs})"
    )
