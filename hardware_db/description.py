"""Every number of a record with its unit, kind, sources and note, as plain rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from hardware_db.cluster import Cluster
from hardware_db.loading import (
    Name,
    list_calibrations,
    list_chips,
    list_clusters,
    list_references,
    load_calibration,
    load_chip,
    load_cluster,
    load_reference,
    unknown_name,
)
from hardware_db.quantity import Quantity, Source, Value


class Row(NamedTuple):
    """One number of a record.

    Attributes:
        path: Dotted path in the file; the chip of a cluster is below `chip`.
        value: The number, vector or table; None if not published.
        unit, kind: As in `Quantity`.
        sources: Title and reference of each source.
        note: Caveats.
    """

    path: str
    value: Value
    unit: str
    kind: str
    sources: tuple[str, ...]
    note: str


def describe(name: Name) -> tuple[Row, ...]:
    """All numbers of a cluster (with its chip), chip, calibration or reference table.

    Args:
        name: A shipped name, or the path of a user's cluster or chip file. A name that several
            records share means the cluster.

    Raises:
        HardwareError: The name is unknown or the file is invalid.
    """
    known = (*list_clusters(), *list_chips(), *list_calibrations(), *list_references())
    if isinstance(name, str) and name not in known and name.strip().lower() in known:
        name = name.strip().lower()
    if name in list_chips() and name not in list_clusters():
        chip = load_chip(name)
        return _rows(chip.quantities, chip.sources, "")
    if name in list_calibrations():
        constants = load_calibration(name)
        return _rows(constants.quantities, constants.sources, "")
    if name in list_references():
        table = load_reference(name)
        return _rows(table.quantities, table.sources, "")
    if isinstance(name, str) and name not in known and "/" not in name and "." not in name:
        raise unknown_name(name, (*list_calibrations(), *list_references()))
    return _cluster_rows(load_cluster(name))


def _cluster_rows(cluster: Cluster) -> tuple[Row, ...]:
    chip = cluster.chip
    return (
        *_rows(cluster.quantities, cluster.sources, ""),
        *_rows(chip.quantities, chip.sources, "chip."),
    )


def _rows(
    quantities: Mapping[str, Quantity], sources: Mapping[str, Source], prefix: str
) -> tuple[Row, ...]:
    return tuple(
        Row(
            path=prefix + path,
            value=quantity.value,
            unit=quantity.unit,
            kind=quantity.kind,
            sources=tuple(_cite(sources[key]) for key in quantity.sources),
            note=quantity.note,
        )
        for path, quantity in quantities.items()
    )


def _cite(source: Source) -> str:
    return f"{source.title} ({source.reference})"
