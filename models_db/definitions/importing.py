"""A definition of a framework, by its file, as a model file."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from frozen_records import dataclass
from models_db.definitions import maxtext, megatron, torchtitan
from models_db.definitions.python_source import definitions_in
from models_db.definitions.stated import Stated, number
from models_db.errors import ModelError, nearest
from models_db.loading import model_from_bytes
from models_db.model import Model
from models_db.reading import read_bytes
from strict_yaml.limits import larger_than, largest

FORMATS: Mapping[str, str] = {
    "megatron": "arguments of Megatron-LM",
    "provider": "a provider or configuration class of NeMo or Megatron-Bridge",
    "torchtitan": "a registry of torchtitan",
    "maxtext": "a model of MaxText",
}
"""What a definition is written in, and what it is called."""
_MOST_NAMES = 12
_MOST_BYTES = 4 * 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """What became of a definition.

    Attributes:
        text: the model file, YAML.
        model: the model in it.
        form: what it was written in, a key of `FORMATS`.
        which: the name of the definition in its file, or "".
        assumed: names that are absent -> default of the framework, as text.
        unread: names whose values were not looked at.
    """

    text: str
    model: Model
    form: str
    which: str
    assumed: dict[str, str]
    unread: tuple[str, ...]


def import_definition(
    path: Path,
    *,
    which: str | None = None,
    name: str | None = None,
    given: Mapping[str, Any] | None = None,
    made_by: str = "models_db",
) -> Definition:
    """Read a Python file or a YAML of MaxText as a model file.

    Args:
        path: the file.
        which: which of its definitions, where it has several.
        name: name of the model; default that of the definition or the file.
        given: names and values that stand in for what the file does not state.
        made_by: program and version for the first line of the file.

    Raises:
        ModelError: the file cannot be read, has no definition, or one with mistakes.
    """
    content = _read(path)
    if path.suffix.lower() == ".py":
        found = definitions_in(content, str(path))
        chosen = _chosen(found, which, str(path))
        values = found[chosen]
        form = "torchtitan" if "n_layers" in values else "provider"
    else:
        values, form, chosen = _yaml_values(content, str(path)), "maxtext", ""
        if which is not None:
            raise ModelError(f"{path}: has one definition only; leave its name out")
    title = chosen or path.stem
    x = Stated({**values, **(given or {})}, f"{path}: {chosen}" if chosen else str(path))
    return definition_text(x, form, content, title=title, name=name, made_by=made_by, which=chosen)


def argument_names() -> frozenset[str]:
    """Names of the arguments of a command line that say what a model is, without their dashes."""
    x = Stated({"num_experts": 1, "hybrid_layer_pattern": "M"}, "")
    megatron.blocks_of(x, provider=False)
    return frozenset(x.used)


def import_arguments(
    values: Mapping[str, Any],
    content: bytes,
    path: Path,
    *,
    name: str | None = None,
    made_by: str = "models_db",
) -> Definition:
    """Arguments of Megatron-LM as a model file.

    Args:
        values: name, with underscores and without dashes, -> value, or True of a flag alone.
        content: the bytes that they were read in.
        path: the file.
        name, made_by: as of `import_definition`.

    Raises:
        ModelError: something is missing, wrong or has no field.
    """
    x = Stated(values, str(path))
    return definition_text(x, "megatron", content, title=path.stem, name=name, made_by=made_by)


def definition_text(
    x: Stated,
    form: str,
    content: bytes,
    *,
    title: str,
    name: str | None = None,
    made_by: str = "models_db",
    which: str = "",
) -> Definition:
    """The model file of values that were read.

    Args:
        x: The values.
        form: What they are written in, a key of `FORMATS`.
        content: The bytes that they were read in; their SHA-256 is the source.
        title, name: Of the model.
        made_by: Program and version for the first line.
        which: The name of the definition in its file.

    Raises:
        ModelError: Something is missing, wrong or has no field; every mistake is listed.
    """
    if form == "maxtext":
        blocks = maxtext.blocks_of(x)
    elif form == "torchtitan":
        blocks = torchtitan.blocks_of(x)
    else:
        blocks = megatron.blocks_of(x, provider=form == "provider")
    x.check()
    if "seq_len" in x.values:
        blocks["seq_len"] = number(x.values["seq_len"], "tokens", "assumed", "given at the import")
    slug = name or _slug(title)
    record = {
        "name": slug,
        "title": title,
        "family": _slug(title),
        "defaults": {"kind": "datasheet", "source": "definition"},
        **blocks,
        "sources": {
            "definition": {
                "title": f"{title}, {FORMATS[form]}",
                "sha256": hashlib.sha256(content).hexdigest(),
            }
        },
    }
    from strict_yaml.writing import dump  # noqa: PLC0415  (kept out of `import models_db`)

    def in_one_line(item: list[Any] | dict[str, Any]) -> bool:
        return isinstance(item, list) or "value" in item

    text = f"# {title}, {FORMATS[form]}, read by {made_by}\n"
    text += dump(record, width=100, unicode=True, flow=in_one_line)
    return Definition(
        text=text,
        model=model_from_bytes(text.encode("utf-8"), x.origin, written=False),
        form=form,
        which=which,
        assumed=dict(x.assumed),
        unread=tuple(sorted(set(x.values) - x.used - {"seq_len"})),
    )


def _read(path: Path) -> bytes:
    content = read_bytes(path, _MOST_BYTES)
    if len(content) > largest(_MOST_BYTES):
        raise ModelError(f"{path}: {larger_than(largest(_MOST_BYTES))}")
    return content


def _chosen(found: Mapping[str, object], which: str | None, origin: str) -> str:
    """Which definition is meant."""
    if not found:
        raise ModelError(
            f"{origin}: defines no model: no class or call with num_layers, no registry of "
            "torchtitan"
        )
    names = ", ".join(list(found)[:_MOST_NAMES])
    more = f" and {len(found) - _MOST_NAMES} more" if len(found) > _MOST_NAMES else ""
    if which is None:
        if len(found) > 1:
            raise ModelError(f"{origin}: defines {len(found)} models; choose one: {names}{more}")
        return next(iter(found))
    if which not in found:
        near = nearest(which, found)
        hint = f"did you mean {near[0]}? " if near else ""
        raise ModelError(f"{origin}: does not define {which!r}; {hint}it has {names}{more}")
    return which


def _yaml_values(content: bytes, origin: str) -> dict[str, Any]:
    """The mapping of a MaxText file."""
    from models_db.reading import parse_yaml  # noqa: PLC0415  (ruamel.yaml)

    values = parse_yaml(content, origin)
    if "base_emb_dim" not in values:
        raise ModelError(f"{origin}: is no model of MaxText: it has no base_emb_dim")
    return values


def _slug(title: str) -> str:
    """A title as a name: lower-case words joined by single characters."""
    plain = re.sub(r"[^a-z0-9._-]+", "-", title.lower())
    plain = re.sub(r"[._-]*([._-])", r"\1", plain).strip("._-")
    return plain or "imported"
