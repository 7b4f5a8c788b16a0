"""`planner models import`: a config.json of Hugging Face, or a definition, as a model file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from planner.base.apart import check_apart
from planner.base.errors import InputError
from planner.base.version import SCHEMA_VERSION, __version__
from planner.cli.models_definitions import is_definition, print_definition, read_definition
from planner.cli.options import OUTPUT, AsJson, option
from planner.report.printing import print_lines

if TYPE_CHECKING:
    from models_db.definitions.importing import Definition
    from models_db.hub import Counted, Import

_MODEL = "Model"


def import_model(
    path: Annotated[
        Path,
        typer.Argument(
            help="config.json, its folder, the index of its weights, or a definition.",
            show_default=False,
        ),
    ],
    *,
    output: Annotated[
        Path | None,
        option("Write the model as a YAML file (.yaml or .yml).", OUTPUT, "-o", "--output"),
    ] = None,
    name: Annotated[
        str | None, option("Name of the model (default: of its folder or origin).", _MODEL)
    ] = None,
    seq_len: Annotated[
        str | None,
        option("Tokens per sequence of pre-training (default: as the file suggests).", _MODEL),
    ] = None,
    read_as: Annotated[
        str | None,
        option("Read it as this model_type, whatever it says.", _MODEL, "--as", metavar="TYPE"),
    ] = None,
    which: Annotated[
        str | None, option("Which definition of a Python file with several.", _MODEL)
    ] = None,
    vocab_size: Annotated[
        str | None, option("Rows of the embedding, where a definition states none.", _MODEL)
    ] = None,
    sources: Annotated[bool, typer.Option("--sources", help="Where each number is from.")] = False,
    as_json: AsJson = False,
) -> None:
    """A config.json of Hugging Face, or a definition, as a model of your own.

    A type without a modelled cost is counted. Of weights beside it (*.safetensors) only headers
    are read. Definitions: Megatron-LM's arguments (.sh), NeMo, Megatron-Bridge, torchtitan (.py),
    MaxText (.yml).

    Examples:
      planner models import config.json -o my-model.yaml

      planner models import config.json --seq-len 4096 --sources

      planner models import config.json --as llama --json

      planner solve --model my-model.yaml --hardware h100-sxm5-80 --chips 64
    """
    from planner.base.units import parse_whole  # noqa: PLC0415  (not for --help)

    _check_target(output, path)
    numbers = {
        name: parse_whole(text, name)
        for name, text in (("seq-len", seq_len), ("vocab-size", vocab_size))
        if text is not None
    }
    found: Definition | Import | Counted
    if is_definition(path):
        if read_as is not None:
            raise InputError(f"as: belongs to a config.json, not to the definition {path}")
        given = {name.replace("-", "_"): number for name, number in numbers.items()}
        found = read_definition(
            path, which=which, name=name, given=given, made_by=f"planner {__version__}"
        )
    elif which is not None or vocab_size is not None:
        raise InputError(f"which, vocab-size: belong to definitions, not to {path}")
    else:
        found = _imported(path, name, numbers.get("seq-len"), read_as)
    _finish(found, output, sources=sources, as_json=as_json)


def _finish(
    found: Definition | Import | Counted, output: Path | None, *, sources: bool, as_json: bool
) -> None:
    """Writes the model file where one is wanted, and prints what was read.

    Raises:
        InputError: A file is wanted of a model whose cost is not modelled.
    """
    from models_db import hub  # noqa: PLC0415  (not for --help)
    from planner.base.files import write_atomically  # noqa: PLC0415

    if isinstance(found, hub.Counted):
        if output is not None:
            raise InputError(f"{found.refusal}; {output} is not written")
        _print_counted(found, as_json=as_json)
        return
    if output is not None:
        write_atomically(output, found.text)
    if isinstance(found, hub.Import):
        _print(found, output, sources=sources, as_json=as_json)
    else:
        print_definition(found, output, sources=sources, as_json=as_json)


def _imported(
    path: Path, name: str | None, length: int | None, read_as: str | None
) -> Import | Counted:
    """A config.json as a model file; where no cost is modelled, what is counted of it.

    `hf:` may precede its folder, as for `--model`.

    Raises:
        InputError: It cannot be read, or is wrong.
    """
    from models_db import ModelError, hub  # noqa: PLC0415  (not for --help)
    from planner.base.files import is_file, is_folder  # noqa: PLC0415
    from planner.question.records import SNAPSHOT, one_per_line, snapshot_of  # noqa: PLC0415

    path, made_by = Path(str(path).removeprefix(SNAPSHOT)), f"planner {__version__}"
    try:
        return hub.import_model(path, name=name, seq_len=length, made_by=made_by, read_as=read_as)
    except hub.NotModelledError as error:
        return error.counted
    except ModelError as error:
        there = is_file(path) or is_folder(path)
        hint = "" if there else snapshot_of(str(path))
        raise InputError(one_per_line(f"{error}{hint}")) from error


def _check_target(output: Path | None, path: Path) -> None:
    """A model file is YAML, as `--model` tells it by its name, and not the file that is read.

    Raises:
        InputError: The name says something else.
    """
    from planner.base.files import YAML_SUFFIXES, names_a_file  # noqa: PLC0415  (not for --help)

    if output is not None and not names_a_file(str(output)):
        raise InputError(f"output: {output}: must end in {' or '.join(YAML_SUFFIXES)}")
    check_apart([("output", output)], {"": path})


def _print_counted(counted: Counted, *, as_json: bool) -> None:
    """Prints the parameters of a model whose cost is not modelled."""
    from planner.cli.databases import print_parts  # noqa: PLC0415  (it takes this command)
    from planner.cli.output import print_json  # noqa: PLC0415

    if as_json:
        print_json({"schema_version": SCHEMA_VERSION, **_counted_document(counted)})
        return
    title = f"{counted.title}\nmodel type: {counted.model_type}"
    print_parts(title, counted.parts, counted.outer or {})
    print_lines(f"note: the cost is not modelled, and no file is written: {counted.lacks}")
    for line in counted.remarks:
        print_lines(f"note: {line}")


def _counted_document(counted: Counted) -> dict[str, Any]:
    """The fields of the JSON document of a model whose cost is not modelled."""
    return {
        "title": counted.title,
        "model_type": counted.model_type,
        "config": {"file": str(counted.config), "sha256": counted.sha256},
        "output": None,
        "total_parameters": None,
        "text_parameters": counted.text_parameters,
        "parts": dict(counted.parts),
        "other_parts": None if counted.outer is None else dict(counted.outer),
        "not_modelled": counted.lacks,
        "assumed": dict(counted.assumed),
        "unread": list(counted.unread),
        "remarks": list(counted.remarks),
    }


def _print(found: Import, output: Path | None, *, sources: bool, as_json: bool) -> None:
    """Prints what was read: one JSON document, or a table with remarks."""
    from models_db import facts  # noqa: PLC0415  (not for --help)
    from planner.cli.databases import print_record  # noqa: PLC0415  (it takes this command)

    rows = list(facts(found.model))
    if as_json:
        print_record(
            found.model.name, rows, sources=True, as_json=True, extra=_document(found, output)
        )
        return
    if output is None:
        extra = {"title": found.model.title, "model type": found.model_type}
        print_record(found.model.name, rows, sources=sources, as_json=False, extra=extra)
    else:
        total = found.model.total_parameters
        print_lines(f"{output}: {found.model.name}, {total:,} parameters ({found.model_type})")
    for line in found.remarks:
        print_lines(f"note: {line}")


def _document(found: Import, output: Path | None) -> dict[str, Any]:
    """The fields of the JSON document beside the numbers."""
    weights = found.weights
    return {
        "title": found.model.title,
        "model_type": found.model_type,
        "config": {"file": str(found.config), "sha256": found.sha256},
        "output": None if output is None else str(output),
        "total_parameters": found.model.total_parameters,
        "active_parameters": found.model.active_parameters,
        "mtp_parameters": found.model.mtp_parameters,
        "text_parameters": found.text_parameters,
        "outside_the_record": dict(found.beside),
        "other_parts": None if found.outer is None else dict(found.outer),
        "weights": None
        if weights is None
        else {
            "file": weights.file,
            "sha256": weights.sha256,
            "exact": weights.exact,
            "total_parameters": weights.total,
            "text_parameters": weights.text,
            "predictor_parameters": weights.predictors,
            "other_parameters": weights.other,
            "tied_copies": weights.copies,
        },
        "assumed": found.assumed,
        "unread": list(found.unread),
        "remarks": list(found.remarks),
    }
