"""A launch in a file as a question: its job, its plan, and what of it was not read."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from models_db import Model
from planner.base.errors import InputError
from planner.base.files import is_file, read_bytes, real_path
from planner.base.messages import Origin, not_one_of, shown
from planner.base.numerals import is_digits
from planner.base.units import plural
from planner.cost.stages.layout import plan_chunks, stage_layers
from planner.frameworks.framework import Framework
from planner.frameworks.profiles import framework_named
from planner.frameworks.reading.commands import arguments_in
from planner.frameworks.reading.imported import Imported, Noted
from planner.frameworks.reading.settings import (
    LARGEST,
    Asked,
    Beside,
    ModelOf,
    fixed_fields,
    no_file,
)
from planner.frameworks.reading.shell.simple_commands import GIVEN
from planner.frameworks.reading.texts import looks_like_shell, with_scripts
from planner.frameworks.recognition import AUTO, known_as, recognized
from planner.frameworks.registry import framework_of_target
from planner.frameworks.targets import TARGETS, launch_sources
from planner.plan import Plan, Stage, code_of
from planner.question.launch.configured import Configured, configured_in
from planner.question.launch.machine import machine_of, remarked_chips
from planner.question.launch.model import chosen_model
from planner.question.launch.shape import ShapeModels, noted_of
from planner.question.records import model_named
from planner.question.request import Request, request_from
from strict_yaml import contents
from strict_yaml.limits import larger_than, largest

_LARGEST_BYTES = 2**20
_NOTHING = Stage(layers=0)


class LaunchRead(NamedTuple):
    """What a launch says.

    Attributes:
        request: The job.
        plan: The plan.
        origin: Where the fields of the job come from.
        imported: The launch as it was read.
    """

    request: Request
    plan: Plan
    origin: Origin
    imported: Imported


def read_launch(
    source: str,
    path: Path,
    changes: Mapping[str, Any] | None = None,
    fixes: Mapping[str, Iterable[str]] | None = None,
    *,
    flags: bool = False,
) -> LaunchRead:
    """The job and the plan of a launch.

    Args:
        source: One of `planner.frameworks.targets.launch_sources`.
        path: Its file; `-` is standard input.
        changes: Fields of the job that the launch does not say, or that replace what it says.
            `hardware` is needed.
        fixes: Fields of the plan, each with one value as text, that replace those of the launch.
        flags: Whether the changes are flags of the command line.

    Raises:
        InputError: The launch cannot be read, contradicts itself, or launches what no plan says; a
            line each.
    """
    return launch_in(None, source, path, changes, fixes, flags=flags)


def text_of(path: Path) -> str:
    """The text of a launch.

    Raises:
        InputError: It is no text, empty, or far larger than any launch.
    """
    path = _parted(path)[0]
    return _text(path, "standard input" if str(path) == "-" else str(path))


def launch_in(
    text: str | None,
    source: str,
    path: Path,
    changes: Mapping[str, Any] | None = None,
    fixes: Mapping[str, Iterable[str]] | None = None,
    *,
    flags: bool = False,
    changed: Mapping[Path, str] | None = None,
) -> LaunchRead:
    """The job and the plan of a text, None: of the file; see `read_launch`.

    Args:
        text: The text, as if it stood in the file.
        source, path, changes, fixes, flags: As of `read_launch`.
        changed: Texts in place of those of files beside it.
    """
    changes = dict(changes or {})
    origin = Origin(arguments=frozenset(changes), dashes=flags)
    _check_source(source, changes)
    file, function = _parted(path)
    name = "standard input" if str(file) == "-" else str(file)
    text = _text(file, name) if text is None else text
    function, arguments = _called(function, text, name)
    named = changes.pop("model", None)
    assumes = source == AUTO
    start, end = part_of(text, function)
    own = text[start:end]
    models = _models(named, name, f"{file.name} {text}", assumes=assumes)
    asked = Asked(
        name=name,
        chips=_whole("chips", changes.pop("chips", None)),
        fix=fixed_fields(fixes or {}),
        model_of=models,
        seq_len=_whole("seq-len", changes.get("seq_len")),
        beside=_beside(file, changed or {}),
        function=function,
        arguments=arguments,
        assumes=assumes,
        remarked=remarked_chips(own) if assumes else None,
    )
    framework, text, asked, notes = _understood(source, text, asked)
    imported = _imported(framework, text, asked, file, notes)
    if source not in (AUTO, imported.source):
        raise InputError(f"{name}: is a launch of {imported.source}; say --from {imported.source}")
    if assumes:
        free = "hardware" not in changes
        machine = machine_of(own, name, framework.vendors, function) if free else None
        imported = _assumed(imported, changes, models, machine)
    job = {**imported.job, "model": named or imported.job["model"]}
    _check_said(job, changes, name)
    request = request_from({**_said(job), **changes}, origin)
    plan = imported.plan
    if "split" not in asked.fix:
        own = request.framework or str(imported.job["framework"])
        plan = with_rule(plan, model_named(request.model), own)
    return LaunchRead(request, plan, origin, replace(imported, plan=plan))


def _check_source(source: str, changes: Mapping[str, Any]) -> None:
    """Refuses a framework whose launches are not read, and one without a machine."""
    if source != AUTO and (source not in TARGETS or not TARGETS[source].launches):
        raise InputError(f"from: {not_one_of(source, (AUTO, *launch_sources()))}")
    if "hardware" not in changes and source != AUTO:
        raise InputError(
            "hardware: a launch does not say what it runs on; name it: --hardware (--from auto "
            "assumes a machine)"
        )


def _models(named: str | None, name: str, words: str, *, assumes: bool) -> ModelOf:
    """What finds the model: by its name, by its shape alone, or by a shape of the database."""
    if assumes and named is None:
        return ShapeModels(where=name, words=words)
    return chosen_model(named, name)


def _assumed(
    imported: Imported, changes: Mapping[str, Any], models: ModelOf, machine: Noted | None
) -> Imported:
    """A launch with what nobody said of its machine and its model."""
    noted, differing = noted_of(models)
    found, job = [*noted], dict(imported.job)
    if machine is not None:
        job["hardware"] = machine.value
        found.append(machine)
    if differing:
        job["set"] = [*differing, *(changes.get("set") or ())]
    return replace(imported, assumed=(*found, *imported.assumed), job=job)


def _parted(path: Path) -> tuple[Path, str]:
    """A file, and the recipe in it that `FILE::RECIPE` names."""
    name, colons, function = str(path).partition("::")
    return (Path(name), function) if colons and name else (path, "")


def _called(words: str, text: str, name: str) -> tuple[str, tuple[str, ...]]:
    """What stands behind `::`: a recipe in Python, or the arguments of a script."""
    if not words or re.search(r"(?m)^def ", text):
        return words, ()
    if not looks_like_shell(text):
        raise InputError(f"{name}: has no recipes in Python; leave ::{words} out")
    try:
        return "", tuple(shlex.split(words))
    except ValueError as error:
        raise InputError(f"{name}: ::{words}: a quote is not closed") from error


def _understood(
    source: str, text: str, asked: Asked
) -> tuple[Framework, str, Asked, tuple[str, ...]]:
    """The framework of a launch, its text, what is asked of that, and what is said of it.

    A script that no framework knows may start a program by a file of settings, which then counts.

    Raises:
        InputError: It is not known as a launch.
    """
    whole, notes = with_scripts(text, asked.beside), tuple[str, ...]()
    target = known_as(whole) if source == AUTO else source
    if not target:
        found = configured_in(text, asked) or Configured()
        target = known_as(found.text) or recognized(whole, asked.name, found.missing)
        asked = replace(asked, chips=asked.chips or found.chips)
        text, notes = found.text, found.notes
    return framework_of_target(TARGETS[target]), text, asked, notes


def _imported(
    framework: Framework, text: str, asked: Asked, file: Path, notes: tuple[str, ...]
) -> Imported:
    """The launch as its framework reads it; where words are missing, with what may say them."""
    try:
        found = framework.read(text, asked)
        return replace(found, warnings=(*notes, *found.warnings))
    except InputError as error:
        wanted = _of_arguments(text, asked, file) if "$" in str(error) else ""
        raise InputError(f"{wanted}{error}") from error


def _of_arguments(text: str, asked: Asked, file: Path) -> str:
    """A line that asks for the arguments of a script, where it takes some and has none."""
    given = [one for one in asked.arguments if not GIVEN.fullmatch(one)]
    if given or not looks_like_shell(text) or not (most := arguments_in(text)):
        return ""
    return (
        f"{asked.name}: takes {plural(most, 'argument')}; give them behind its name, as in "
        f"'{file.name}::ARGUMENT ...'\n"
    )


def part_of(text: str, function: str) -> tuple[int, int]:
    """Where a function of a Python file begins and ends; without one the whole text."""
    head = re.search(rf"(?m)^def {re.escape(function)}\(", text) if function else None
    if head is None:
        return 0, len(text)
    after = re.compile(r"(?m)^(?:def|class|@)\b").search(text, head.end())
    return head.start(), after.start() if after else len(text)


def file_beside(path: Path, named: str) -> Path | None:
    """A file that a script names, below its own folder or one above it; None for others.

    Those above count as far as the repository that it lies in, else as far as the folder where the
    command runs.
    """
    folder = path.parent.resolve()
    if not named or "$" in named or named.startswith(("/", "~")):
        return None
    above = [folder, *folder.parents][:-1] or [folder]  # but for the root of all files
    ends = [at for at, one in enumerate(above) if (one / ".git").exists() or one == Path.cwd()]
    folders = above[: ends[0] + 1] if ends else [folder]
    for one in folders:
        place = real_path(one / named)
        if folders[-1] not in place.parents:
            continue
        if is_file(place):
            return place
        contents.holds(place, None)  # with it the launch would say something else
    return None


def _beside(path: Path, changed: Mapping[Path, str]) -> Beside:
    """Reads files that a script names; see `file_beside`.

    Args:
        path: The script.
        changed: Texts in place of those of some files.
    """

    def text(named: str) -> str | None:
        place = file_beside(path, named)
        if place is None:
            return None
        try:
            return changed.get(place) or _text(place, str(place))
        except InputError:
            return None

    return text if str(path) != "-" else no_file


def _text(path: Path, name: str) -> str:
    """The text of a launch.

    Raises:
        InputError: It is no text, empty, or far larger than any launch.
    """
    content = read_bytes(Path("/dev/stdin") if str(path) == "-" else path)
    if len(content) > largest(_LARGEST_BYTES):
        raise InputError(f"{name}: is no launch: {larger_than(largest(_LARGEST_BYTES))}")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: not a text file (byte {error.start} is not UTF-8)") from error
    if "\0" in text:
        raise InputError(f"{name}: not a text file (it holds a NUL)")
    if not text.strip():
        raise InputError(f"{name}: is empty")
    return text


def _whole(name: str, given: Any) -> int | None:
    """A field of the job as a whole number; None: not given."""
    if given is None:
        return None
    text = str(given)
    if not (is_digits(text) and 1 <= int(text[:12]) <= LARGEST):
        raise InputError(f"{name}: {shown(given)} is not a whole number from 1 to {LARGEST:,}")
    return int(text[:12])


def _said(job: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in job.items() if value is not None}


def _check_said(job: Mapping[str, Any], changes: Mapping[str, Any], name: str) -> None:
    """Refuses a length or a batch beside that of the launch, which other numbers follow from."""
    for field in ("seq_len", "batch_tokens"):
        if field in changes and job.get(field) not in (
            None,
            changes[field],
            _number(changes[field]),
        ):
            raise InputError(
                f"{field.replace('_', '-')}: {name} says {job[field]:,}; change it there"
            )


def _number(given: object) -> int | None:
    text = str(given)
    return int(text[:18]) if is_digits(text) else None


def with_rule(plan: Plan, model: Model, framework: str) -> Plan:
    """A plan whose stages are those of a rule of the framework named by that rule.

    Without a pipeline every rule gives the same stage, and the framework's first one is named.
    """
    if plan.pp == 1 and plan.stages is None:
        return replace(plan, split=framework_named(framework).splits[0])
    if plan.stages is None or any(replace(one, layers=0) != _NOTHING for one in plan.stages):
        return plan
    layers = plan_chunks(plan, model)
    for split in framework_named(framework).splits:
        if stage_layers(model, plan.pp, plan.interleave, code_of("split", split)) == layers:
            return replace(plan, split=split, stages=None)
    return plan
