"""`tune run` in a script: the recipe's configuration, and what the command puts over it.

Names: torchtune 0.6.1 torchtune/_cli/run.py, config/_parse.py and config/_utils.py (`key=value`,
`~key` takes one away).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.base.messages import shown
from planner.frameworks.reading.launchers import chips_started
from planner.frameworks.reading.settings import Asked
from planner.frameworks.reading.shell.run import Shell
from planner.frameworks.reading.yaml_files import as_text
from strict_yaml.errors import YamlError
from strict_yaml.reading import load

Settings = Mapping[str, tuple[str, ...]]
_RUN = re.compile(r"(?m)^[^#\n]*\btune\s+run\b")
_OVER = re.compile(r"([A-Za-z_][\w.]*)=(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneRun:
    """A command.

    Attributes:
        over: Settings that it puts over its configuration.
        away: Those that it takes away.
        chips: Processes that it starts; None: it does not say.
        said: What says so.
        notes: What of the script is left out, one line each.
        changed: See `planner.frameworks.reading.commands.Command`.
    """

    over: Mapping[str, tuple[str, ...]]
    away: tuple[str, ...]
    chips: int | None
    said: str
    notes: tuple[str, ...]
    changed: Mapping[str, str]


def is_command(text: str) -> bool:
    """Whether a script runs a recipe of torchtune."""
    return bool(_RUN.search(text))


def configured(text: str, asked: Asked) -> tuple[str, TuneRun]:
    """The configuration that a script names, and the command.

    Raises:
        InputError: The script cannot be read, or the configuration does not lie beside it.
    """
    shell = Shell(asked.name, arguments=list(asked.arguments), beside=asked.beside).read(text)
    found = [
        (words[words.index("tune") :], place, number)
        for number, (words, place) in enumerate(zip(shell.commands, shell.places, strict=True))
        if "tune" in words and words[words.index("tune") + 1 :][:1] == ["run"]
    ]
    if not found:
        raise InputError(f"{asked.name}: has no command `tune run` that is read")
    words, place, number = found[0]
    shell = shell.at(number)
    others = [at for other, at, _ in found if other != words]
    notes = [f"{at}: another launch is left out; what is read is that of {place}" for at in others]
    at = next((at for at, word in enumerate(words) if word == "--config"), len(words))
    path = words[at + 1] if at + 1 < len(words) else ""
    config = shell.file(path) if path else None
    if config is None:
        own = path.rpartition("/")[2].removesuffix(".yaml") or "NAME"
        raise InputError(
            f"{asked.name}: its settings are in {shown(path) if path else 'no --config'}, which "
            f"does not lie beside it: tune cp {path or 'NAME'} {own}.yaml copies one of "
            f"torchtune's own; name it as --config {own}.yaml, with the file beside the script"
        )
    chips, said = chips_started(words[:at], shell)
    if any("single_device" in word for word in words[:at]):
        chips, said = 1, "its recipe for a single device"
    more = words[at + 2 :]
    return config, TuneRun(
        over=dict(_over(more)),
        away=tuple(word[1:] for word in more if word.startswith("~")),
        chips=chips,
        said=said,
        notes=(*notes, *shell.notes),
        changed=shell.changed,
    )


def over(settings: Settings, command: TuneRun) -> dict[str, tuple[str, ...]]:
    """Settings with what a command puts over them; the name of a component is its `_component_`."""
    kept = {
        name: values for name, values in settings.items()
        if not any(name == one or name.startswith(f"{one}.") for one in command.away)
    }  # fmt: skip
    for name, values in command.over.items():
        component = f"{name}._component_"
        kept[component if component in kept else name] = values
    return kept


def _over(words: list[str]) -> list[tuple[str, tuple[str, ...]]]:
    """Overrides as settings with their values as text."""
    matches = (match for word in words if (match := _OVER.fullmatch(word)))
    return [(match[1], _values(match[2])) for match in matches]


def _values(text: str) -> tuple[str, ...]:
    """The value of an override, which is YAML; a list has several."""
    try:
        value = load(text) if "$" not in text else text
    except YamlError:
        value = text
    items = value if isinstance(value, list) else [value]
    return tuple(as_text(item) for item in items)
