"""Programs on transformers' Trainer in a script or a file: their arguments, and what starts them.

Commands: `accelerate launch PROGRAM` (Accelerate 1.15.0 commands/launch.py), `trl sft` and
`trl dpo` (TRL 1.16.0 cli/), PyTorch's launchers. `--config` names a YAML file of the arguments
(TRL 1.16.0 scripts/utils.py), which those of the command take the place of.
"""

from __future__ import annotations

import re
from dataclasses import field
from itertools import pairwise

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.base.messages import shown
from planner.base.numerals import is_digits
from planner.frameworks.hugging_face.trainer import options_of
from planner.frameworks.reading.launchers import chips_started
from planner.frameworks.reading.settings import Asked
from planner.frameworks.reading.shell.run import Shell
from planner.frameworks.reading.texts import looks_like_shell
from planner.frameworks.reading.yaml_files import yaml_settings

Values = dict[str, tuple[str, ...]]
_ROWS = "per_device_train_batch_size"
_COMMAND = re.compile(
    r"\baccelerate\s+launch\b|\btrl\s+[a-z]{3,8}\b|\btrl[./]scripts[./]|"
    r"\b(?:torchrun|python3?|torch\.distributed\.(?:run|launch))\b"
)
_TRL = re.compile(r"\btrl\s+(?:sft|dpo)\b")
_LAUNCH = re.compile(r"\b(?:accelerate\s+launch\b|trl[./]scripts[./])")
_SETTINGS = (".yaml", ".yml")
_FILE = re.compile(rf"(?m)^{_ROWS}:")
_PROGRAM = re.compile(r".*\.py|(?:trl|llamafactory)[\w./-]*")
_YAML = re.compile(r"[^-]\S*\.ya?ml")
_STARTERS = ("torchrun", "accelerate", "deepspeed")
_LAUNCHERS = ("torch.distributed", "accelerate.commands")
OWN = "accelerate.yaml"
"""The file of Accelerate beside a configuration, as `planner export` calls it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A program with its arguments.

    Attributes:
        program: Its name.
        values: Its arguments, by names without dashes.
        launcher: Options of Accelerate, over those of its configuration.
        config: The name of that configuration; empty: there is none.
        configured: Whether it lies there.
        chips: Processes that are started; None: nothing says how many.
        said: What says so.
        notes: What of the text is left out, one line each.
        shell: The script, with the files that it writes and those beside it.
    """

    program: str
    values: Values
    launcher: Values
    config: str = ""
    configured: bool = False
    chips: int | None = None
    said: str = ""
    notes: tuple[str, ...] = ()
    shell: Shell = field(default_factory=lambda: Shell(""))

    @property
    def mixed(self) -> str:
        """Accelerate's mixed precision; empty: it is not said."""
        return (self.launcher.get("mixed_precision") or ("",))[-1]


def is_program(text: str) -> bool:
    """Whether a text has arguments of the Trainer, in a command or in a file of its own."""
    if not looks_like_shell(text):
        return bool(_FILE.search(text))
    if "axolotl" in text or not _COMMAND.search(text):
        return False
    return f"--{_ROWS}" in text or _is_configured(text)


def _is_configured(text: str) -> bool:
    """Whether a command names a file of arguments: of trl, or of what Accelerate starts."""
    if _TRL.search(text):
        return True
    lines = text.replace("\\\n", " ").splitlines()
    return any(
        _names_settings(line[found.end() :]) for line in lines if (found := _LAUNCH.search(line))
    )


def _names_settings(line: str) -> bool:
    """Whether YAML follows `--config` or a program."""
    words = line.split()
    said = [word.rpartition("--config=")[2] for word in words if "--config=" in word]
    after = [word for before, word in pairwise(words) if before.endswith(("--config", ".py"))]
    return any(one in word for word in (*said, *after) for one in _SETTINGS)


def opened(text: str, asked: Asked) -> Started:
    """What a text starts.

    Raises:
        InputError: It cannot be read, or a file of arguments does not lie beside it.
    """
    if not looks_like_shell(text):
        return _of_file(text, asked)
    shell = Shell(asked.name, arguments=list(asked.arguments), beside=asked.beside).read(text)
    found = _commands(shell)
    if not found:
        shell.read_uncalled()
        found = _commands(shell)
    if not found:
        why = f": {'; '.join(shell.notes)}; give that command by itself" if shell.notes else ""
        raise InputError(f"{asked.name}: has no command with --{_ROWS} that is read{why}")
    words, place, number = found[0]
    shell = shell.at(number)
    notes = [
        f"{other}: another launch is left out; what is read is that of {place}"
        for _, other, _ in found[1:] if other != place
    ]  # fmt: skip
    at = _program_at(words)
    launcher, own = options_of(words[:at]), options_of(words[at + 1 :])
    alone = [word for word in words[at + 1 : at + 2] if _YAML.fullmatch(word)]
    for path in (*alone, *(own.pop(name, ("",))[-1] for name in ("config", "yaml_config"))):
        own = {**_beside(shell, path, asked), **own}
    name = (own.pop("accelerate_config", None) or launcher.pop("config_file", None) or ("",))[-1]
    config = _config(shell, name)
    chips, said = chips_started(words[:at], shell)
    if chips is None and "num_processes" in own:  # `trl sft` hands it on
        chips, said = _whole(own["num_processes"][-1]), "its num_processes"
    return Started(
        program=words[at] if words[at : at + 1] != ["trl"] else " ".join(words[at : at + 2]),
        values=own,
        launcher={**_bare(config or {}), **launcher},
        config=name,
        configured=config is not None,
        chips=chips,
        said=said,
        notes=(*notes, *shell.notes),
        shell=shell,
    )


def _of_file(text: str, asked: Asked) -> Started:
    """The arguments of a file, with the file of Accelerate that an export puts beside it."""
    config = asked.beside(OWN)
    found = yaml_settings(config, OWN) if config is not None else None
    return Started(
        program="",
        values=yaml_settings(text, asked.name),
        launcher=_bare(found or {}),
        config=OWN if found else "",
        configured=found is not None,
    )


def _commands(shell: Shell) -> list[tuple[list[str], str, int]]:
    """Commands that start such a program, with where they stand and their number.

    Those that one word holds are taken apart.
    """
    found = []
    for number, (words, place) in enumerate(zip(shell.commands, shell.places, strict=True)):
        flat = [part for word in words for part in (word.split() if " --" in word else [word])]
        names = {word.partition("=")[0] for word in flat}
        line = " ".join(flat)
        if f"--{_ROWS}" in names or (_is_configured(line) and flat[0] != "echo"):
            found.append((flat, place, number))
    return found


def _program_at(words: list[str]) -> int:
    """Where the program stands: a file, a module, or `trl`."""
    names = [word.rpartition("/")[2] for word in words]
    first = max((at for at, name in enumerate(names) if name in _STARTERS), default=0)
    modules = [at for at in range(first + 1, len(words)) if words[at - 1] == "-m"]
    found = [at for at in modules if not words[at].startswith(_LAUNCHERS)]
    found += [at for at in range(first, len(words)) if _PROGRAM.fullmatch(words[at])]
    return min(found, default=len(words) - 1)


def _beside(shell: Shell, path: str, asked: Asked) -> Values:
    """The arguments in a file.

    Raises:
        InputError: It does not lie beside the script.
    """
    if not path:
        return {}
    text = shell.file(path) or shell.file(path.rpartition("/")[2])
    if text is None:
        raise InputError(
            f"{asked.name}: its arguments are in {shown(path)}, which does not lie beside it"
        )
    return yaml_settings(text, path)


def _config(shell: Shell, path: str) -> Values | None:
    """The configuration of Accelerate; None: it is not there."""
    text = (shell.file(path) or shell.file(path.rpartition("/")[2])) if path else None
    return None if text is None else yaml_settings(text, path)


def _bare(values: Values) -> Values:
    """Settings of Accelerate as its options are called: without the name of their section."""
    return {name.rpartition(".")[2]: value for name, value in values.items()}


def _whole(text: str) -> int | None:
    good = is_digits(text) and len(text) < 8
    return (int(text) or None) if good else None
