"""Loading chips, clusters, calibrations and reference tables by name or from a user's file."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hardware_db.chip import Chip
from hardware_db.cluster import Cluster
from hardware_db.constants import Calibration, Reference
from hardware_db.errors import HardwareError, nearest
from hardware_db.likeness import Parts, Whole, is_cluster, like
from hardware_db.making import (
    chip_inside,
    default_cluster_of,
    made_calibration,
    made_chip,
    made_cluster,
    named_after_chip,
    shipped_calibration,
    shipped_chip,
    shipped_cluster,
    whole_chip,
    whole_file,
    whole_named,
    with_default_cluster,
)
from hardware_db.reading import DATA, read_file, read_record, record_names
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
        return made_chip(whole_file(Path(name)))
    return shipped_chip(_as_shipped(str(name)))


def load_cluster(name: Name, changes: Mapping[str, Any] | None = None) -> Cluster:
    """A cluster by its name, by a chip's name, or from a user's YAML file.

    A chip's name (or a chip file) stands for the chip's default cluster, built with that chip.
    A name that is both means the cluster. Case does not matter.

    Args:
        name: Of the record, or path of the file.
        changes: What differs from that: fields as a cluster's file has them, those of its chip
            under `chip`; of levels those that differ, by name.

    Raises:
        HardwareError: The name is unknown, or the file is not a valid cluster or chip record.
    """
    if changes:
        return _changed_cluster(cluster_parts(name), changes)
    if _is_path(name):
        found = whole_file(Path(name))
        return (
            made_cluster(found)
            if _is_about_cluster(found)
            else with_default_cluster(made_chip(found))
        )
    known = _known(name)
    return (
        shipped_cluster(known)
        if known in list_clusters()
        else with_default_cluster(shipped_chip(known))
    )


def cluster_parts(name: Name) -> Parts:
    """The content of the records that `load_cluster` makes a cluster of.

    Raises:
        HardwareError: The name is unknown, or a file cannot be read.
    """
    found = whole_file(Path(name)) if _is_path(name) else whole_named(_known(name))
    if not _is_about_cluster(found):
        name = default_cluster_of(made_chip(found))
        others = shipped_cluster(name).chip.name != found.data.get("name")
        return Parts(cluster=whole_named(name), chip=found, by_chip=others)
    inside = chip_inside(found)
    chip = whole_chip(str(found.data.get("chip"))) if inside is None else inside
    return Parts(cluster=found, chip=chip)


def _changed_cluster(parts: Parts, changes: Mapping[str, Any]) -> Cluster:
    """A cluster that differs from its record."""
    text = YamlText("set")
    own = {key: node for key, node in changes.items() if key != "chip"}
    inside = changes.get("chip")
    chip = made_chip(like(parts.chip, inside, text) if inside else parts.chip)
    cluster = made_cluster(like(parts.cluster, own, text) if own else parts.cluster, chip)
    return named_after_chip(cluster) if parts.by_chip and not own else cluster


def _is_about_cluster(found: Whole) -> bool:
    return is_cluster(found.data) or "power" not in found.data


def _known(name: Name) -> str:
    """The shipped cluster or chip that a name means.

    Raises:
        HardwareError: None has it.
    """
    known = _as_shipped(str(name))
    if known not in list_clusters() and known not in list_chips():
        raise unknown_name(known)
    return known


def load_calibration(name: Name = "default") -> Calibration:
    """Constants of the cost model: a shipped set by name, or a user's YAML file.

    Raises:
        HardwareError: The name is unknown, or the file is not a valid calibration.
    """
    if _is_path(name):
        return made_calibration(*read_file(Path(name)))
    return shipped_calibration(str(name))


def load_reference(name: Name) -> Reference:
    """A table of published numbers: a shipped one by name, or a user's YAML file.

    Raises:
        HardwareError: The name is unknown, or the file is not a valid table.
    """
    if _is_path(name):
        return _reference(*read_file(Path(name)))
    return _reference(read_record("reference", name), YamlText(f"reference/{name}.yaml"))


def record_text(name: Name) -> str:
    """The YAML of a cluster or a chip: of one that is like another, with what that has.

    Raises:
        HardwareError: The name is unknown, or the file is not a valid cluster or chip record.
    """
    from strict_yaml.writing import dump  # noqa: PLC0415  (only when a file is written)

    load_cluster(name)
    if _is_path(name):
        return dump(whole_file(Path(name)).data, leaves_in_flow=True, width=100)
    known = _known(name)
    folder = "clusters" if known in list_clusters() else "chips"
    file = DATA.joinpath(folder, f"{known}.yaml")
    return file.read_text(encoding="utf-8")


def json_schemas() -> dict[str, dict[str, Any]]:
    """JSON Schemas of the file formats, by format name."""
    from hardware_db.schema_chip import ChipModel  # noqa: PLC0415  (imports pydantic)
    from hardware_db.schema_cluster import ClusterModel, table_schema  # noqa: PLC0415
    from hardware_db.schema_like import like_schema  # noqa: PLC0415

    chip, cluster = ChipModel.model_json_schema(), ClusterModel.model_json_schema()
    return {
        "chip": chip,
        "like-chip": like_schema(chip),
        "cluster": cluster,
        "like-cluster": like_schema(cluster, ChipModel.__name__),
        "calibration": table_schema(labels=False),
        "reference": table_schema(labels=True),
    }


@functools.cache
def database_hash() -> str:
    """A short fingerprint of all shipped data files (16 hexadecimal digits)."""
    return _hash_of("calibration", "chips", "clusters", "reference")


@functools.cache
def facts_hash() -> str:
    """The same of chips, clusters and reference tables: all but the fitted constants."""
    return _hash_of("chips", "clusters", "reference")


@functools.cache
def constants_hash() -> str:
    """The same of the fitted constants of the cost model alone."""
    return _hash_of("calibration")


def _hash_of(*folders: str) -> str:
    import hashlib  # noqa: PLC0415  (only for fingerprints)

    digest = hashlib.sha256()
    for folder in folders:
        for name in record_names(folder):
            content = DATA.joinpath(folder, f"{name}.yaml").read_bytes()
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


def unknown_name(name: str, others: tuple[str, ...] = ()) -> HardwareError:
    """What is said about a name that no cluster and no chip has, nor one of `others`."""
    hint = nearest(name, (*list_clusters(), *list_chips()), others) or (
        f" ({len(list_clusters())} clusters and {len(list_chips())} chips are shipped, see "
        "planner hardware list; a file of your own ends in .yaml)"
    )
    return HardwareError(f"hardware: unknown name {name!r}{hint}")


def _reference(data: dict[str, Any], text: YamlText) -> Reference:
    from hardware_db.conversion import to_reference  # noqa: PLC0415  (imports pydantic)
    from hardware_db.validation import table_model  # noqa: PLC0415

    table_model(data, text, labels=True)
    return to_reference(data)
