"""Loading chips, clusters, calibrations and reference tables by name or from a user's file."""

from __future__ import annotations

import functools
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

from hardware_db.chip import Chip
from hardware_db.cluster import Cluster
from hardware_db.constants import Calibration, Reference
from hardware_db.errors import HardwareError, nearest
from hardware_db.reading import read_file, read_record, record_names
from strict_yaml.text import YamlText

Name = str | Path


def list_chips() -> tuple[str, ...]:
    """Names of the shipped chips, sorted."""
    return record_names("chips")


def list_clusters() -> tuple[str, ...]:
    """Names of the shipped clusters, sorted."""
    return record_names("clusters")


def list_calibrations() -> tuple[str, ...]:
    """Names of the shipped calibrations, sorted."""
    return record_names("calibration")


def list_references() -> tuple[str, ...]:
    """Names of the shipped reference tables, sorted."""
    return record_names("reference")


def load_chip(name: Name) -> Chip:
    """A shipped chip by name (case does not matter), or a chip from a user's YAML file.

    Raises:
        HardwareError: The name is unknown, or the file is not a valid chip record.
    """
    if _is_path(name):
        return _chip(*read_file(Path(name)))
    return _shipped_chip(_as_shipped(str(name)))


def load_cluster(name: Name) -> Cluster:
    """A cluster by its name, by a chip's name, or from a user's YAML file.

    A chip's name (or a chip file) stands for the chip's default cluster, built with that chip.
    A name that is both means the cluster. Case does not matter.

    Raises:
        HardwareError: The name is unknown, or the file is not a valid cluster or chip record.
    """
    if _is_path(name):
        data, text = read_file(Path(name))
        if "levels" in data or "power" not in data:
            return _cluster(data, text)
        return _with_chip(_chip(data, text))
    return _shipped_cluster(_as_shipped(str(name)))


def load_calibration(name: Name = "default") -> Calibration:
    """Constants of the cost model: a shipped set by name, or a user's YAML file.

    Raises:
        HardwareError: The name is unknown, or the file is not a valid calibration.
    """
    if _is_path(name):
        return _calibration(*read_file(Path(name)))
    return _shipped_calibration(str(name))


def load_reference(name: Name) -> Reference:
    """A table of published numbers: a shipped one by name, or a user's YAML file.

    Raises:
        HardwareError: The name is unknown, or the file is not a valid table.
    """
    if _is_path(name):
        return _reference(*read_file(Path(name)))
    return _reference(read_record("reference", name), YamlText(f"reference/{name}.yaml"))


def json_schemas() -> dict[str, dict[str, Any]]:
    """JSON Schemas of the file formats, by format name."""
    from hardware_db.schema_chip import ChipModel  # noqa: PLC0415  (imports pydantic)
    from hardware_db.schema_cluster import ClusterModel, table_schema  # noqa: PLC0415

    return {
        "chip": ChipModel.model_json_schema(),
        "cluster": ClusterModel.model_json_schema(),
        "calibration": table_schema(labels=False),
        "reference": table_schema(labels=True),
    }


@functools.cache
def database_hash() -> str:
    """A short fingerprint of all shipped data files (16 hexadecimal digits)."""
    import hashlib  # noqa: PLC0415  (only for fingerprints)

    digest = hashlib.sha256()
    root = resources.files("hardware_db").joinpath("data")
    for folder in ("calibration", "chips", "clusters", "reference"):
        for name in record_names(folder):
            content = root.joinpath(folder, f"{name}.yaml").read_bytes()
            digest.update(f"{folder}/{name}:{len(content)}\n".encode())
            digest.update(content)
    return digest.hexdigest()[:16]


def _is_path(name: Name) -> bool:
    if isinstance(name, Path):
        return True
    if not isinstance(name, str):
        raise HardwareError(f"hardware: a name or a path is required, not {name!r}")
    return name.endswith((".yaml", ".yml")) or "/" in name or "\\" in name


def _as_shipped(name: str) -> str:
    """The shipped chip or cluster that a name means, however it is capitalized; else the name."""
    plain = name.strip().lower()
    return plain if plain in list_clusters() or plain in list_chips() else name


@functools.cache
def _shipped_chip(name: str) -> Chip:
    return _chip(read_record("chips", name), YamlText(f"chips/{name}.yaml"))


@functools.cache
def _shipped_cluster(name: str) -> Cluster:
    if name in list_clusters():
        return _cluster(read_record("clusters", name), YamlText(f"clusters/{name}.yaml"))
    if name in list_chips():
        return _with_chip(_shipped_chip(name))
    raise unknown_name(name)


def unknown_name(name: str, others: tuple[str, ...] = ()) -> HardwareError:
    """What is said about a name that no cluster and no chip has, nor one of `others`."""
    hint = nearest(name, (*list_clusters(), *list_chips()), others) or (
        f"; clusters: {', '.join(list_clusters())}; chips: {', '.join(list_chips())}"
    )
    return HardwareError(f"hardware: unknown name {name!r}{hint}")


def _with_chip(chip: Chip) -> Cluster:
    """The default cluster of a chip, with that chip; named after the chip if it is another's."""
    if chip.default_cluster not in list_clusters():
        hint = nearest(chip.default_cluster, list_clusters())
        raise HardwareError(
            f"chip {chip.name}: default_cluster: unknown name {chip.default_cluster!r}{hint}"
        )
    cluster = _shipped_cluster(chip.default_cluster)
    if cluster.chip == chip:
        return cluster
    return replace(cluster, name=chip.name, title=f"{cluster.title}, with {chip.title}", chip=chip)


@functools.cache
def _shipped_calibration(name: str) -> Calibration:
    return _calibration(read_record("calibration", name), YamlText(f"calibration/{name}.yaml"))


def _chip(data: dict[str, Any], text: YamlText) -> Chip:
    from hardware_db.conversion import to_chip  # noqa: PLC0415  (imports pydantic)
    from hardware_db.validation import chip_model  # noqa: PLC0415

    return to_chip(chip_model(data, text, _gemm_keys()), data)


def _gemm_keys() -> tuple[str, ...]:
    """What `calibration.gemm` of a chip may name."""
    return tuple(load_calibration().group("gemm_efficiency"))


def _cluster(data: dict[str, Any], text: YamlText) -> Cluster:
    from hardware_db.conversion import to_chip, to_cluster  # noqa: PLC0415  (imports pydantic)
    from hardware_db.validation import cluster_model  # noqa: PLC0415

    model = cluster_model(data, text, _gemm_keys())
    if isinstance(model.chip, str):
        return to_cluster(model, data, _shipped_chip(model.chip))
    return to_cluster(model, data, to_chip(model.chip, data["chip"]))


def _calibration(data: dict[str, Any], text: YamlText) -> Calibration:
    from hardware_db.conversion import to_calibration  # noqa: PLC0415  (imports pydantic)
    from hardware_db.validation import table_model  # noqa: PLC0415

    table_model(data, text, labels=False)
    return to_calibration(data)


def _reference(data: dict[str, Any], text: YamlText) -> Reference:
    from hardware_db.conversion import to_reference  # noqa: PLC0415  (imports pydantic)
    from hardware_db.validation import table_model  # noqa: PLC0415

    table_model(data, text, labels=True)
    return to_reference(data)
