"""What is shipped: names, rows for display, JSON Schemas, a hash of the data."""

from __future__ import annotations

import functools
import hashlib
import os
from typing import Any

from models_db.loading import load_model, shipped_content, shipped_names
from models_db.model import Model
from models_db.provenance import Fact


def list_models() -> tuple[str, ...]:
    """Names of the shipped models, sorted."""
    return shipped_names()


@functools.cache
def database_hash() -> str:
    """Fingerprint of the shipped model files: 16 hexadecimal digits of a SHA-256."""
    digest = hashlib.sha256()
    for name in shipped_names():
        content = shipped_content(name)
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()[:16]


def json_schemas() -> dict[str, dict[str, Any]]:
    """JSON Schema of each kind of file that this package reads.

    Returns:
        {"model": schema of a model file}.
    """
    from models_db.schema import ModelRecord  # noqa: PLC0415  (kept out of `import models_db`)

    return {"model": ModelRecord.model_json_schema()}


def describe(name_or_path: str | os.PathLike[str]) -> list[Fact]:
    """List every number of a model with unit, kind, sources and note.

    Args:
        name_or_path: as for `load_model`.

    Returns:
        The numbers of the file in its order, then the counts made from them (paths that begin
        with "counted.", kind "derived", no source).

    Raises:
        ModelError: as for `load_model`.
    """
    return facts(load_model(name_or_path))


def facts(model: Model) -> list[Fact]:
    """List every number of a model as `describe` does."""
    rows = [
        Fact(
            path=path,
            value=number.value,
            unit=number.unit,
            kind=number.kind,
            sources=tuple(model.sources[key].title for key in number.sources),
            note=number.note,
        )
        for path, number in model.quantities.items()
    ]
    return rows + _counted(model)


def _counted(model: Model) -> list[Fact]:
    """Rows for the parameter counts that follow from a model's numbers."""
    counts = [("total_parameters", model.total_parameters, "all layers, embedding and head")]
    if model.moe is not None:
        how = "the total without the experts that a token does not visit"
        counts.append(("active_parameters", model.active_parameters, how))
    if model.mtp_modules > 0:
        how = "multi-token-prediction modules, not part of the total"
        counts.append(("mtp_parameters", model.mtp_parameters, how))
    if model.vision is not None:
        how = "the vision tower with its projector, not part of the total"
        counts.append(("vision_parameters", model.vision_parameters, how))
    return [
        Fact(f"counted.{key}", value, "parameters", "derived", (), f"counted here: {how}")
        for key, value, how in counts
    ]
