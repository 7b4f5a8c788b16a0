"""A script that starts a program with DeepSpeed, with its JSON: written there, or beside it.

What the JSON leaves "auto", the arguments of transformers' Trainer say. Names: transformers 5.23.0
integrations/deepspeed.py (`HfTrainerDeepSpeedConfig`) and training_args.py.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any

from frozen_records import dataclass
from planner.base.jsonfile import json_object
from planner.base.numerals import is_digits
from planner.frameworks.hugging_face.trainer import adapters_of, options_of
from planner.frameworks.reading.imported import Noted
from planner.frameworks.reading.launchers import chips_started, started
from planner.frameworks.reading.settings import Asked, chips_of
from planner.frameworks.reading.settings import LaunchSettings as Settings
from planner.frameworks.reading.shell.run import Shell

_ACCELERATE = re.compile(r"\baccelerate\s+launch\b")  # whose own configuration counts
_NAMED = re.compile(r"--deepspeed(?:[_-]config(?:[_-]file)?)?")
_MODEL = ("--model_name_or_path", "--model_name", "--model_id")
_LENGTH = ("--model_max_length", "--max_seq_length", "--max_length", "--cutoff_len", "--block_size")
_ROWS, _STEPS = "--per_device_train_batch_size", "--gradient_accumulation_steps"
_DEFAULTS = {_ROWS: 8, _STEPS: 1}
"""Of transformers' Trainer (training_args.py)."""
_NUMBERS = {
    "train_micro_batch_size_per_gpu": _ROWS,
    "gradient_accumulation_steps": _STEPS,
}
_SWITCHES = {"bf16.enabled": "--bf16", "fp16.enabled": "--fp16"}
_OWN = re.compile(r"\btrl\b")


_FLAG = r"--deepspeed(?:[_-]config(?:[_-]file)?)?[\s=]"
_LAUNCHER = re.compile(
    rf"(?m)^[^\S\n]*+(?:[A-Z_]++=\S*+[^\S\n]++)*(?:srun[^\S\n].*)?deepspeed\s|{_FLAG}"
)
_CONFIG = re.compile(rf"{_FLAG}+[\"']?([\w./-]+\.json)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """What a script starts.

    Attributes:
        text: The JSON, with numbers for what it leaves "auto".
        asked: What is asked, with what the script says of it.
        model: The model's name; empty: the script has none.
        warnings: What is left out or taken, one line each.
        job: Fields of a job that trains adapters.
        assumed: What the script leaves open of them.
    """

    text: str
    asked: Asked
    model: str = ""
    warnings: tuple[str, ...] = ()
    job: Mapping[str, Any] = field(default_factory=dict)
    assumed: tuple[Noted, ...] = ()


def unread(text: str) -> str:
    """What a script lacks; empty: it is none that starts a program with DeepSpeed."""
    others = text.lstrip().startswith("{") or _ACCELERATE.search(text)
    if others or not _LAUNCHER.search(text):
        return ""
    named = _CONFIG.search(text)
    file = named[1] if named else "ds_config.json"
    return (
        "is a script that starts a program with DeepSpeed; of such a launch the JSON is read that "
        'it names or writes, with numbers for its "auto": planner evaluate --from deepspeed '
        f"{file} --model NAME --hardware NAME --chips {started(text) or 'N'} --seq-len N"
    )


def started_with(text: str, asked: Asked) -> Started | None:
    """The configuration of a script with what its command says; None: it is not there.

    Raises:
        InputError: The script or the JSON cannot be read, or says of adapters what is wrong.
    """
    shell = Shell(asked.name, arguments=list(asked.arguments), beside=asked.beside).read(text)
    found = [words for words in shell.commands if _config(words)]
    if not found:
        return None
    words = found[0]
    path = _config(words)
    shell = shell.at(shell.commands.index(words))
    config = shell.file(path) or shell.file(path.rpartition("/")[2])
    if config is None:
        return None
    data, _ = json_object(config.encode("utf-8"), path)
    launch = Settings(asked, options_of(words))
    place, *others = (shell.places[shell.commands.index(one)] for one in found)
    lines = [
        f"{one}: another launch is left out; what is read is that of {place}"
        for one in others
        if one != place
    ]
    chips, said = chips_started(_launcher(words), shell)
    own = replace(
        asked,
        chips=chips_of(launch, chips, said),
        seq_len=asked.seq_len or _whole(_value(words, _LENGTH)),
        fix={**_recomputed(words), **asked.fix},
    )
    filled = _filled(data, words)
    adapters = _adapters(launch, words)
    return Started(
        text=json.dumps(filled),
        asked=own,
        model=_value(words, _MODEL).rpartition("/")[2],
        warnings=(*lines, *shell.notes, *launch.warnings),
        job=adapters,
        assumed=tuple(launch.assumed),
    )


def _adapters(launch: Settings, words: list[str]) -> dict[str, Any]:
    """Fields of a job that trains adapters beside frozen weights; empty: it trains all.

    Raises:
        InputError: What it says of them is wrong; a line each.
    """
    defaults = any(_OWN.search(word) for word in words if word.endswith(".py"))
    found = adapters_of(launch, defaults=defaults)
    launch.check()
    return found


def _launcher(words: list[str]) -> list[str]:
    """The words before the program."""
    at = next((at for at, word in enumerate(words) if word.endswith(".py")), len(words))
    return words[:at]


def _config(words: list[str]) -> str:
    """The configuration that a command names; empty: it names none."""
    for at, word in enumerate(words):
        name, equals, value = word.partition("=")
        if _NAMED.fullmatch(name):
            value = value if equals else words[at + 1] if at + 1 < len(words) else ""
            if value.endswith(".json"):
                return value
    return ""


def _recomputed(words: list[str]) -> Mapping[str, Any]:
    """Transformers computes whole layers again."""
    return {"recompute": "full"} if _on(words, "--gradient_checkpointing") else {}


def _filled(data: Mapping[str, Any], words: list[str]) -> dict[str, Any]:
    """The configuration with numbers for what it leaves open, as transformers fills it."""
    found = dict(data)
    for name, option in _NUMBERS.items():
        if found.get(name) == "auto":
            said = _value(words, (option,))
            found[name] = (_whole(said) or said) if said else _DEFAULTS[option]
    if found.get("train_batch_size") == "auto":
        del found["train_batch_size"]  # of the two others and the ranks
    for name, option in _SWITCHES.items():
        section, _, own = name.partition(".")
        inside = found.get(section)
        if isinstance(inside, dict) and inside.get(own) == "auto":
            found[section] = {**inside, own: _on(words, option)}
    return found


def _on(words: list[str], option: str) -> bool:
    """Whether a switch is given, and not with a word for off."""
    if option not in {word.partition("=")[0] for word in words}:
        return False
    value = _value(words, (option,)).lower()
    return value not in ("false", "0", "no")


def _value(words: list[str], options: tuple[str, ...]) -> str:
    for at, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name in options:
            after = words[at + 1] if at + 1 < len(words) else ""
            return value if equals else "" if after.startswith("--") else after
    return ""


def _whole(text: str) -> int | None:
    good = is_digits(text) and len(text) < 10
    return (int(text) or None) if good else None
