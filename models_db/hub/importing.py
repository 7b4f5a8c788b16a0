"""A config.json, or the folder that it lies in, as a model file."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

from frozen_records import dataclass
from models_db.errors import ModelError
from models_db.hub.counting import Counted, NotModelledError, model_parts, reading_remarks
from models_db.hub.fields import derived, number
from models_db.hub.jsonfile import MAX_BYTES, parse_json
from models_db.hub.reading import Reading, read_config
from models_db.hub.weights import INDEX, Weights, missing_files, read_weights
from models_db.loading import CONFIG, build_model, is_file, model_from_bytes
from models_db.model import UNKNOWN_KEYS, Model
from models_db.reading import read_bytes
from strict_yaml.text import YamlText

_LONGEST_NAME = 60
_WIDTH = 100


_MOST_OUTSIDE = 0.01
"""Of the parameters of a token: a record without more than these says too little of a cost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """What became of a config.json.

    Attributes:
        text: the model file, YAML.
        model: the model in it.
        model_type: the type that was read.
        config: the file that was read.
        sha256: of that file.
        beside: parameters of the language model that a record has no field for, by part.
        outer: parameters of the parts around it, such as a vision encoder; None: not counted.
        assumed: keys that are absent -> default of their class, as text.
        unread: keys that nobody here knows; they might change the model.
        weights: parameters that the weights hold, or None without any.
        remarks: what a reader should know, one line each.
    """

    text: str
    model: Model
    model_type: str
    config: Path
    sha256: str
    beside: Mapping[str, int]
    outer: Mapping[str, int] | None
    assumed: dict[str, str]
    unread: tuple[str, ...]
    weights: Weights | None
    remarks: tuple[str, ...]

    @property
    def text_parameters(self) -> int:
        """All parameters of the language model."""
        return self.model.total_parameters + sum(self.beside.values())


def import_model(
    path: str | os.PathLike[str],
    *,
    name: str | None = None,
    seq_len: int | None = None,
    made_by: str = "models_db",
    read_as: str | None = None,
) -> Import:
    """Read a config.json as a model file.

    Args:
        path: the file, its folder, or the index of the weights beside it.
        name: name of the model; default that of its folder.
        seq_len: sequence length of pre-training, in tokens; default what the file suggests.
        made_by: program and version for the first line of the file.
        read_as: the `model_type` to read it as; default its own.

    Returns:
        The model file with its remarks. Numbers are of kind "datasheet" where the config.json
        states them, "derived" where they follow, "assumed" where a default stands in.

    Raises:
        NotModelledError: the parameters are counted, but a record has no fields for the model.
        ModelError: a file cannot be read or is wrong; one line per mistake.
    """
    config = _config_at(Path(path))
    content = read_bytes(config, MAX_BYTES)
    origin = str(config)
    data = parse_json(content, origin)
    reading = read_config(data, origin, read_as)
    digest = hashlib.sha256(content).hexdigest()
    title = _title(reading, config)
    parts = reading.parts
    lacks = no_record_for(reading)
    if parts is None or lacks:
        raise NotModelledError(_counted(reading, lacks, config, digest, title))
    weights = read_weights(
        config.parent, layers=parts.layers["value"], tied=parts.tied, dtype=_plain_dtype(reading)
    )
    record = _record(reading, weights, digest, title, name or _slug(title), seq_len)
    head = f"# {config.name} of Hugging Face, model_type {reading.model_type}, read by {made_by}\n"
    text = head + _yaml(record)
    model = model_from_bytes(text.encode("utf-8"), origin, written=False)
    return Import(
        text=text,
        model=model,
        model_type=reading.model_type,
        config=config,
        sha256=digest,
        beside=reading.counted,
        outer=reading.outer,
        assumed=dict(reading.assumed),
        unread=reading.unread,
        weights=weights,
        remarks=(*_remarks(reading, weights, model), *_not_counted(config.parent, weights)),
    )


def no_record_for(reading: Reading) -> str:
    """Why no model file is made of a reading; "" where one is."""
    if reading.lacks or reading.parts is None:
        return reading.lacks
    active = record_of(reading).active_parameters
    outside = sum(abs(count) for count in reading.counted.values())
    if outside <= _MOST_OUTSIDE * active:
        return ""
    return f"{' and '.join(reading.counted)}: {outside / active:.1%} of the parameters of a token"


def _counted(reading: Reading, lacks: str, config: Path, digest: str, title: str) -> Counted:
    """What is counted of a model that a record has no fields for."""
    parts = {} if reading.parts is None else model_parts(record_of(reading))
    return Counted(
        model_type=reading.model_type,
        outer_type=reading.outer_type,
        title=title,
        config=config,
        sha256=digest,
        parts={**parts, **reading.counted},
        outer=reading.outer,
        lacks=lacks,
        assumed=dict(reading.assumed),
        unread=reading.unread,
        remarks=reading_remarks(reading),
    )


def record_of(reading: Reading) -> Model:
    """The model of a reading that has one, without the file that it is from."""
    record = _record(reading, None, "0" * 64, "imported", "imported", None)
    return build_model(deepcopy(record), YamlText("config.json"))  # it fills in defaults


def counts_of(reading: Reading) -> tuple[int, int]:
    """Parameters of the language model of a reading, and of all that is counted of its file."""
    record = 0 if reading.parts is None else record_of(reading).total_parameters
    text = record + sum(reading.counted.values())
    return text, text + sum((reading.outer or {}).values())


def _config_at(path: Path) -> Path:
    """The config.json that a path leads to."""
    try:
        is_folder = path.is_dir()
    except (OSError, ValueError):
        is_folder = False
    folder = path if is_folder else path.parent
    if path.suffix.lower() == ".safetensors" and not is_folder:
        raise ModelError(
            f"{path}: weights do not say which model they are of; name the folder, whose {CONFIG} "
            "does, and whose weights are counted"
        )
    if not is_folder and path.name != INDEX:
        return path
    config = folder / CONFIG
    if not is_file(config):
        raise ModelError(f"{path}: there is no {CONFIG} in this folder")
    return config


def _plain_dtype(reading: Reading) -> str:
    """Type of the stored weights; "" where they are quantized."""
    return "" if reading.quantized else reading.dtype


def _title(reading: Reading, config: Path) -> str:
    """What to call the model: where it is from, else its folder or file."""
    stem = config.stem if config.name != CONFIG else Path(os.path.realpath(config)).parent.name
    said = reading.name.rstrip("/\\").replace("\\", "/").rpartition("/")[2]
    words = "".join(char for char in said or stem if char.isprintable())
    return words[:_LONGEST_NAME].strip() or "imported"


def _slug(title: str) -> str:
    """A title as a name: lower-case words joined by single characters."""
    plain = re.sub(r"[^a-z0-9._-]+", "-", title.lower())
    plain = re.sub(r"[._-]*([._-])", r"\1", plain).strip("._-")
    return plain or "imported"


def _record(
    reading: Reading,
    weights: Weights | None,
    digest: str,
    title: str,
    name: str,
    seq_len: int | None,
) -> dict[str, Any]:
    """The model file as plain data."""
    assert reading.parts is not None  # the callers see to it
    blocks = reading.parts.blocks()
    if seq_len is not None:
        blocks["seq_len"] = number(seq_len, "tokens", "assumed", "given when it was imported")
    sources = {
        "config": {
            "title": f"config.json of {title}, model_type {reading.model_type}",
            "sha256": digest,
        }
    }
    if weights is not None:
        blocks["published"] = _published(weights)
        sources["weights"] = {"title": f"{weights.file} beside it", "sha256": weights.sha256}
    return {
        "name": name,
        "title": title,
        **_note(reading),
        "family": _slug(reading.model_type.removesuffix("_text").replace("_", "-")),
        "defaults": {"kind": "datasheet", "source": "config"},
        **blocks,
        "sources": sources,
    }


def _note(reading: Reading) -> dict[str, str]:
    """The note of a model file: what of the model is in none of its fields."""
    parts = ", ".join(f"{name} {count:,}" for name, count in reading.counted.items())
    said = [f"Parameters that no field here holds, and no cost: {parts}."] if parts else []
    if reading.unread:
        said.append(f"Keys of its config.json {UNKNOWN_KEYS} {', '.join(reading.unread)}.")
    return {"note": " ".join(said)} if said else {}


def _published(weights: Weights) -> dict[str, Any]:
    """The block `published`: what the weights hold, and what of it is outside the record."""
    if weights.exact:
        counted = number(weights.total, "parameters", "measured", "shapes of the tensors")
    else:
        counted = derived(weights.total, "total_size / bytes per parameter", "parameters")
    block = {"total_parameters": {**counted, "source": "weights"}}
    if beside := weights.total - weights.text:
        note = "predictors of further tokens, other parts, a copy of the embedding as head"
        block["other_parameters"] = {**derived(beside, note, "parameters"), "source": "weights"}
    return block


def _remarks(reading: Reading, weights: Weights | None, model: Model) -> tuple[str, ...]:
    """What a reader should know about an import, one line each."""
    lines = list(reading_remarks(reading))
    seq_len = model.quantities["seq_len"]
    lines.append(f"seq_len {model.seq_len:,} is assumed ({seq_len.note})")
    expected = model.total_parameters + sum(reading.counted.values())
    if weights is not None and weights.text != expected:
        more = weights.text - expected
        parts = "of the language model" if weights.exact else f"of all parts, by {weights.file}"
        counts = "the record" if not reading.counted else "the configuration"
        lines.append(
            f"the weights hold {weights.text:,} parameters {parts}, {counts} "
            f"counts {expected:,} ({more:+,})"
        )
    return tuple(lines)


def _not_counted(folder: Path, weights: Weights | None) -> tuple[str, ...]:
    """That weights are not counted because files of them are not here."""
    gone, files = missing_files(folder) if weights is None else (0, 0)
    if not gone:
        return ()
    return (f"the weights are not counted: {gone:,} of their {files:,} files are not here",)


def _yaml(record: dict[str, Any]) -> str:
    """Plain data as YAML, each number and each list on one line where it fits."""
    from strict_yaml.writing import dump  # noqa: PLC0415  (kept out of `import models_db`)

    def in_one_line(item: list[Any] | dict[str, Any]) -> bool:
        return isinstance(item, list) or "value" in item

    return dump(record, width=_WIDTH, unicode=True, flow=in_one_line)
