"""Records that a question names: model, cluster, assumptions; by name or by path of a file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hardware_db import (
    Calibration,
    Chip,
    Cluster,
    HardwareError,
    load_calibration,
    load_cluster,
)
from models_db import Model, ModelError, is_config, load_model
from models_db.loading import CONFIG, shipped_aliases
from planner.assumptions.assumptions import PRESETS, Assumptions, calibrated
from planner.assumptions.experts import ExpertSoftware
from planner.assumptions.file_kinds import another_kind
from planner.assumptions.overrides import overridden, with_constants
from planner.assumptions.rack_presets import rack_energy, rack_zero
from planner.assumptions.software import era_on
from planner.base.apart import check_read, reading
from planner.base.errors import InputError
from planner.base.files import (
    YAML_SUFFIXES,
    is_file,
    is_folder,
    is_special,
    names_a_file,
    path_as_text,
    read_yaml,
    read_yaml_text,
    real_path,
    similar_file,
    text_as_path,
)
from planner.base.messages import Origin, not_one_of, one_line

if TYPE_CHECKING:
    from planner.assumptions.local_file import LocalCalibration

SNAPSHOT = "hf:"
"""What the path of a local snapshot of a Hugging Face repository may begin with."""
_HUB = re.compile(r"[A-Za-z][\w.-]*/[\w.-]*[A-Za-z0-9]")
# What the file that a field names may be: in words, and its kinds.
_WANTED = {
    "model": ("a model", "model"),
    "hardware": ("a cluster or chip", "cluster", "chip"),
    "assumptions": ("a file of assumptions", "assumptions"),
    "calibration": ("a local calibration", "table"),
    "failure_site": ("a failure rate", "site"),
}
FIELDS = tuple(_WANTED)
_LISTED = {"model": "planner models list", "hardware": "planner hardware list"}


def located(values: dict[str, Any], path: Path) -> dict[str, Any]:
    """Fields of a file; the files that it names lie where they are seen from its folder."""
    if not is_file(path):  # a pipe lies nowhere
        return values

    def seen(value: Any) -> Any:
        if not names_own(value, path.parent):
            return value
        return str(path.parent / text_as_path(value.removeprefix(SNAPSHOT)))

    return _renamed(values, seen)


def _renamed(values: dict[str, Any], seen: Callable[[Any], Any]) -> dict[str, Any]:
    """Fields with the files that they name, those of pools too, as `seen` says."""
    found = {name: seen(value) if name in FIELDS else value for name, value in values.items()}
    if isinstance(pools := values.get("pools"), dict):
        found["pools"] = {seen(name): chips for name, chips in pools.items()}
    return found


def special_files(values: dict[str, Any]) -> list[str]:
    """What fields name that is no regular file, as a pipe, of which reading may not end."""
    pools = values.get("pools")
    parts = pools.split(",") if isinstance(pools, str) else pools if isinstance(pools, dict) else ()
    names = [*(values.get(name) for name in FIELDS), *(part.partition("=")[0] for part in parts)]
    paths = [_file_of(one) for one in names if isinstance(one, str)]
    return [str(path) for path in paths if is_special(path)]


def _file_of(name: str) -> Path:
    """The file that a name leads to: in a folder its config.json."""
    path = Path(name.removeprefix(SNAPSHOT))
    return path / CONFIG if is_folder(path) else path


def portable(values: dict[str, Any], folder: Path | None = None) -> dict[str, Any]:
    """Fields for a file in a folder: what lies in it is named from there, the rest absolutely."""
    home = None if folder is None else real_path(folder)

    def seen(name: str) -> str:
        path = real_path(Path(name.removeprefix(SNAPSHOT)))
        path = path / CONFIG if is_folder(path) else path
        return str(path if home is None or home not in path.parents else path.relative_to(home))

    return _renamed(values, lambda value: path_as_text(seen(value)) if names_own(value) else value)


def names_own(value: object, folder: Path | None = None) -> bool:
    """Whether a name is the path of a user's YAML file, or of a model's config.json or its folder.

    Args:
        value: The name.
        folder: From where it is seen; default the current folder.
    """
    if not isinstance(value, str):
        return False
    if names_a_file(value) or value.startswith(SNAPSHOT):
        return True
    place = Path(value) if folder is None else folder / value
    return value.lower().endswith(".json") or ("/" in value and is_config(place))


def _reading(field: str, name: str | None) -> None:
    """Says that the file which a field names is read, where it names one.

    Raises:
        InputError: The command is to write there, or no UTF-8 file can say where it is.
    """
    if name is None or not names_own(name):
        return
    path = _file_of(name)
    real = str(real_path(path))
    if text_as_path(path_as_text(real)) != real:
        raise InputError(
            f"{field}: {one_line(real)}: its name is not UTF-8, which no plan can say; rename it"
        )
    reading(path, field)


def count_files(names: Mapping[str, str | None], pools: Iterable[str], origin: Origin) -> None:
    """Says which files a question names, before any of them is read.

    Args:
        names: By field.
        pools: Of clusters and chips.
        origin: Where the names come from, for messages.

    Raises:
        InputError: The command is to write to one, or no UTF-8 file can say where one is.
    """
    for field, name in (*names.items(), *(("hardware", pool) for pool in pools)):
        try:
            _reading(field, name)
        except InputError as error:
            raise InputError(origin.blame(str(error), FIELDS)) from error


def model_named(name: str, changes: Mapping[str, Any] | None = None) -> Model:
    """A model of the database, of a user's file, or of a config.json of Hugging Face.

    Args:
        name: Its name, or the path, which `hf:` may precede.
        changes: What differs from it, as `models_db.load_model` takes it.

    Raises:
        InputError: The name is unknown, or the file or a change is wrong.
    """
    path = name.removeprefix(SNAPSHOT)
    _reading("model", path)
    if path != name and not is_config(path):
        said = f"holds no {CONFIG}; {SNAPSHOT} names a local snapshot, and nothing is fetched"
        raise InputError(f"model: {one_line(name)}: {said}{snapshot_of(path)}")
    try:
        found = load_model(path, changes)
    except ModelError as error:
        hint = snapshot_of(name) if str(error).startswith("unknown model") else ""
        raise InputError(f"{_wrong('model', name, error, changes)}{hint}") from error
    check_read()
    return found


def cluster_named(name: str, changes: Mapping[str, Any] | None = None) -> Cluster:
    """A cluster of the database, the default cluster of a chip, or that of a user's file.

    Args:
        name: Its name, or the path.
        changes: What differs from it, as `hardware_db.load_cluster` takes it.

    Raises:
        InputError: The name is unknown, or the file or a change is wrong.
    """
    _reading("hardware", name)
    try:
        found = load_cluster(name, changes)
    except HardwareError as error:
        raise InputError(_wrong("hardware", name, error, changes)) from error
    check_read()
    return found


def snapshot_of(path: str) -> str:
    """How a model of a hub is had, as the end of a message; empty: the path is no such name.

    >>> snapshot_of("Qwen/Qwen3-8B")
    '; the database has it as qwen3-8b'
    >>> snapshot_of("a/b/c")
    ''
    """
    if not _HUB.fullmatch(path) or Path(path).suffix.lower() in (".json", *YAML_SUFFIXES, ".py"):
        return ""
    known = shipped_aliases().get(path.lower())
    if known is not None:
        return f"; the database has it as {known}"
    return f"; hf download {path} {CONFIG} --local-dir {path.rpartition('/')[2]} gets it"


def _wrong(field: str, name: str, error: HardwareError | ModelError, changes: object) -> str:
    """What is wrong with a record, or with what changes it: the record alone can be loaded."""
    return one_per_line(str(error)) if changes else record_mistakes(field, name, error)


def record_mistakes(field: str, name: str, error: HardwareError | ModelError) -> str:
    """What is wrong with a record, one line per mistake: in its name, in its file, or its kind.

    Args:
        field: What names the record: "model" or "hardware".
        name: Its name, or the path of its file.
        error: What loading it raised.
    """
    if not name.strip():
        return f"{field}: is empty; name one ({_LISTED[field]})"
    message = str(error)
    of_config = isinstance(error, ModelError) and is_config(name)
    typed = of_config and "model_type: missing" not in message
    if not typed and (mistaken := _mistaken(field, name)):
        return f"{field}: {one_line(name)}: {mistaken}"
    if of_config or one_per_line(message) != message:
        return one_per_line(message)
    if names_a_file(name):
        return message + similar_file(Path(name))
    if is_file(Path(name)):
        return f"{field}: {one_line(name)}: is no YAML file ({' or '.join(YAML_SUFFIXES)})"
    return f"{field}: {message.removeprefix(f'{field}: ')}"


def one_per_line(message: str) -> str:
    """A message that may be a heading with one mistake per line, each with the file's name."""
    first, *others = message.split("\n")
    if not (others and others[0].startswith("  ")):
        return message
    file = first.rpartition(": ")[0]
    return "\n".join(f"{file}: {line.strip()}" for line in others)


def _mistaken(field: str, name: str) -> str:
    """`is a plan, not a model` for a file of another kind than a field wants, else nothing."""
    try:
        data = read_yaml(Path(name))
    except InputError:
        return ""
    return another_kind(data, *_WANTED[field])


def preset_of(name: str) -> str:
    """The preset that assumptions start from: the one named, or that of a user's file.

    Where the file cannot be used, the first; `assumptions_named` says what is wrong with it.
    """
    if name in PRESETS:
        return name
    _reading("assumptions", name)
    try:
        preset = read_yaml(Path(name)).get("preset") if names_a_file(name) else None
    except InputError:
        preset = None
    return preset if preset in PRESETS else PRESETS[0]


def local_named(path: str | None) -> LocalCalibration | None:
    """A local calibration in a user's file; None without one.

    Raises:
        InputError: The file is wrong.
    """
    if path is None:
        return None
    _reading("calibration", path)
    from planner.assumptions.local_file import read_local  # noqa: PLC0415  (start-up; few have one)

    return read_local(path)


_OF_RACKS = {"rack-zero": rack_zero, "rack-energy": rack_energy}


def assumptions_named(
    name: str,
    chip: Chip,
    era: str,
    precision: str,
    mfu: float = 1.0,
    local: LocalCalibration | None = None,
    constants: Calibration | None = None,
    experts: ExpertSoftware | None = None,
    recipe: str = "",
) -> Assumptions:
    """The assumptions of a preset, or those of a preset with the changes of a user's file.

    Args:
        name: Preset, or path of the file; its `preset` says what it changes.
        chip, era, precision: What the constants are for.
        mfu: Share of the peak at which `roofline` computes.
        local: Constants of a user's own measurements, where they hold.
        constants: Another set of fitted constants; default the shipped ones.
        experts: How layers with experts run; default as the era has it.
        recipe: How operands are scaled at fp8; default as the era has it.

    Raises:
        InputError: The name is unknown, the file is wrong, the chip lacks the precision, or the
            era is not for the chip.
    """
    era_on(era, chip)
    preset = preset_of(name)
    if preset == "roofline":
        base = Assumptions.roofline(chip, precision, mfu=mfu)
    elif preset in _OF_RACKS:
        base = _OF_RACKS[preset](chip, precision)
    elif local is not None and local.holds_for(chip):
        base = local.assumptions(chip, era, precision, experts, recipe)
    else:
        base = calibrated(chip, era, precision, constants, experts, recipe)
    if name in PRESETS:
        return base
    if mistaken := _mistaken("assumptions", name):
        raise InputError(f"assumptions: {one_line(name)}: {mistaken}")
    if not names_a_file(name):
        raise InputError(
            f"assumptions: {not_one_of(name, PRESETS)}, nor the path of a YAML file of overrides"
        )
    changes, text = read_yaml_text(Path(name))
    origin = Origin(file=name, content=text.content)
    fitted = local.calibration if local is not None else constants or load_calibration()
    moved, changes = with_constants(fitted, changes, origin)
    if moved is not fitted:
        if preset != PRESETS[0]:
            raise InputError(f"assumptions: {one_line(name)}: {preset} has no fitted constants")
        others = None if local is None else replace(local, calibration=moved)
        base = assumptions_named(preset, chip, era, precision, mfu, others, moved, experts)
    return replace(overridden(base, changes, origin), name=name)
