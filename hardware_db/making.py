"""Chips, clusters and calibrations made of the content of their files."""

from __future__ import annotations

import functools
from dataclasses import replace
from pathlib import Path
from typing import Any

from hardware_db.chip import Chip
from hardware_db.cluster import Cluster
from hardware_db.constants import Calibration
from hardware_db.errors import HardwareError, nearest
from hardware_db.frozen_map import FrozenMap
from hardware_db.likeness import LABELS, LIKE, Whole, base_of, is_cluster, is_path, like
from hardware_db.minimal import LIKEST, filled, is_minimal
from hardware_db.reading import read_file, read_record, record_bytes, record_names
from strict_yaml.merging import leaf_paths
from strict_yaml.text import YamlText

CHIPS, CLUSTERS = "chips", "clusters"


def whole_named(name: str) -> Whole:
    """The content of a shipped record; a name that two have means the cluster.

    Raises:
        HardwareError: No record has the name.
    """
    folder = CLUSTERS if name in record_names(CLUSTERS) else CHIPS
    return _shipped_content(folder, name)


def whole_chip(name: str) -> Whole:
    """The content of a chip of the database.

    Raises:
        HardwareError: There is none of that name; names the nearest.
    """
    return _shipped_content(CHIPS, name)


def _shipped_content(folder: str, name: str) -> Whole:
    return Whole(data=read_record(folder, name), text=YamlText(f"{folder}/{name}.yaml"))


def whole_file(path: Path, seen: tuple[str, ...] = ()) -> Whole:
    """The content of a user's file, with that of what it is like.

    Args:
        path: Of the file.
        seen: Files that are like it, which it cannot be like.

    Raises:
        HardwareError: It cannot be read, or what it is like cannot.
    """
    data, text = read_file(path)
    return completed(data, text, (*seen, str(path)))


def completed(data: dict[str, Any], text: YamlText, seen: tuple[str, ...] = ()) -> Whole:
    """The content of a file whose own content is known; see `whole_file`."""
    if LIKE not in data and is_minimal(data):
        base = whole_chip(LIKEST)
        whole, derived = filled(data, base.data)
        given = tuple(path for path in leaf_paths(data) if path not in LABELS)
        return Whole(data=whole, text=text, base=base, changed=given, derived=tuple(derived))
    if LIKE not in data:
        return Whole(data=data, text=text)
    name = base_of(data, text, seen)
    if is_path(name):
        base = whole_file(Path(name), seen)
    elif name in record_names(CHIPS) and not is_cluster(data):
        base = _shipped_content(CHIPS, name)
    elif name in (*record_names(CHIPS), *record_names(CLUSTERS)):
        base = whole_named(name)
    else:
        hint = nearest(name, (*record_names(CHIPS), *record_names(CLUSTERS)))
        raise HardwareError(text.located(f"{LIKE}: unknown name {name!r}{hint}"))
    if is_cluster(base.data) is not is_cluster({**base.data, **data}):
        raise HardwareError(text.located(f"{LIKE}: {name!r} is a chip; levels are of a cluster"))
    return like(base, data, text)


def made_chip(whole: Whole) -> Chip:
    """The chip of a record.

    Raises:
        HardwareError: One line for every mistake in it.
    """
    from hardware_db.conversion import to_chip  # noqa: PLC0415  (imports pydantic)
    from hardware_db.validation import chip_model  # noqa: PLC0415

    chip = to_chip(chip_model(whole.data, whole.text, _gemm_keys()), whole.data)
    if whole.base is None:
        return chip if _is_shipped(whole.text) else replace(chip, is_record=_as_recorded(chip))
    base = made_chip(whole.base)
    recorded = base.is_record and not whole.changed
    return replace(
        chip, base=base, changed=whole.changed, derived=whole.derived, is_record=recorded
    )


def _is_shipped(text: YamlText) -> bool:
    """Whether a record came from the database: its text is not kept for messages."""
    return not text.content and text.name.startswith((f"{CHIPS}/", f"{CLUSTERS}/"))


def _as_recorded(chip: Chip) -> bool:
    """Whether a user's chip has the numbers of the chip of the same name in the database."""
    if chip.name not in record_names(CHIPS):
        return False
    return _numbers(chip) == _numbers(shipped_chip(chip.name))


def _numbers(chip: Chip) -> Chip:
    """A chip without its labels and provenance."""
    labels: Any = {name: "" for name in LABELS if hasattr(chip, name) and name != "sources"}
    none: Any = FrozenMap()
    return replace(chip, **labels, quantities=none, sources=none, memory_label="")


@functools.cache
def shipped_chip(name: str) -> Chip:
    """A chip of the database.

    Raises:
        HardwareError: There is none of that name; names the nearest.
    """
    return made_chip(whole_chip(name))


@functools.cache
def shipped_cluster(name: str) -> Cluster:
    """A cluster of the database.

    Raises:
        HardwareError: There is none of that name; names the nearest.
    """
    return made_cluster(_shipped_content(CLUSTERS, name))


def with_default_cluster(chip: Chip) -> Cluster:
    """The default cluster of a chip, with that chip; named after the chip if it is another's."""
    cluster = shipped_cluster(default_cluster_of(chip))
    return cluster if cluster.chip == chip else named_after_chip(replace(cluster, chip=chip))


def default_cluster_of(chip: Chip) -> str:
    """Name of the cluster that a chip stands for.

    Raises:
        HardwareError: There is none of that name.
    """
    if chip.default_cluster not in record_names(CLUSTERS):
        hint = nearest(chip.default_cluster, record_names(CLUSTERS))
        raise HardwareError(
            f"chip {chip.name}: default_cluster: unknown name {chip.default_cluster!r}{hint}"
        )
    return chip.default_cluster


def named_after_chip(cluster: Cluster) -> Cluster:
    """A cluster of which only the chip was named."""
    title = f"{cluster.title}, with {cluster.chip.title}"
    return replace(cluster, name=cluster.chip.name, title=title)


def made_cluster(whole: Whole, chip: Chip | None = None) -> Cluster:
    """The cluster of a record.

    Args:
        whole: The record.
        chip: In place of the chip that it names or holds.

    Raises:
        HardwareError: One line for every mistake in it.
    """
    from hardware_db.conversion import to_cluster  # noqa: PLC0415  (imports pydantic)
    from hardware_db.validation import cluster_model  # noqa: PLC0415

    inside = chip_inside(whole)
    data = {**whole.data, "chip": inside.data} if isinstance(inside, Whole) else whole.data
    model = cluster_model(data, whole.text, _gemm_keys())
    if chip is None:
        chip = made_chip(inside) if isinstance(inside, Whole) else shipped_chip(str(model.chip))
    base = None if whole.base is None else made_cluster(whole.base)
    cluster = replace(to_cluster(model, data, chip), base=base, changed=whole.changed)
    if _is_shipped(whole.text):
        return cluster
    return replace(cluster, is_record=not whole.changed and _is_recorded(cluster))


def _is_recorded(cluster: Cluster) -> bool:
    """Whether a user's cluster has the nodes and the network of a record with such chips."""
    of_chip = f"chip: {cluster.chip.name}\n".encode()
    return any(
        _same_network(cluster, shipped_cluster(name))
        for name in record_names(CLUSTERS)
        if of_chip in record_bytes(CLUSTERS, name)
    )


def _same_network(one: Cluster, other: Cluster) -> bool:
    """Whether the largest job that both take runs on equal nodes and levels of network.

    Labels, powers and joules of a level decide no step time.
    """
    none: Any = {"name": "", "switch_power_w_per_chip": 0.0, "nic_power_w_per_chip": 0.0,
                 "switch_power_in_host_w_per_chip": None, "energy_j_per_byte": 0.0}  # fmt: skip
    chips = min(one.max_chips, other.max_chips)
    try:
        cut = [machine.scale(chips).levels for machine in (one, other)]
    except HardwareError:
        return False
    first, second = ([replace(level, **none) for level in levels] for levels in cut)
    return one.node_chips == other.node_chips and first == second


def chip_inside(whole: Whole) -> Whole | None:
    """The chip that a cluster's file holds in full, or as one that is like another; else None."""
    chip = whole.data.get("chip")
    return completed(chip, whole.text) if isinstance(chip, dict) else None


@functools.cache
def shipped_calibration(name: str) -> Calibration:
    """A calibration of the database.

    Raises:
        HardwareError: There is none of that name; names the nearest.
    """
    return made_calibration(read_record("calibration", name), YamlText(f"calibration/{name}.yaml"))


def made_calibration(data: dict[str, Any], text: YamlText) -> Calibration:
    """The calibration of a file.

    Raises:
        HardwareError: One line for every mistake in it.
    """
    from hardware_db.conversion import to_calibration  # noqa: PLC0415  (imports pydantic)
    from hardware_db.validation import table_model  # noqa: PLC0415

    table_model(data, text, labels=False)
    return to_calibration(data)


def _gemm_keys() -> tuple[str, ...]:
    """What `calibration.gemm` of a chip may name."""
    return tuple(shipped_calibration("default").group("gemm_efficiency"))
