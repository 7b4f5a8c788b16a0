"""The schemas of cluster files, calibration files and reference tables."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag

from hardware_db.cluster import REDUCTIONS, TOPOLOGIES, WRAP_RULES
from hardware_db.schema_base import (
    Bandwidth,
    Chips,
    Count,
    EnergyPerByteOrZero,
    QuantityModel,
    Ratio,
    SecondsOrZero,
    Shape,
    SourceModel,
    Strict,
    Text,
    WattsOrZero,
    one_of,
)
from hardware_db.schema_chip import ChipModel


class TorusModel(Strict):
    """The torus of a level and its slices; see `hardware_db.cluster.TorusRules`."""

    pod: Shape
    cube_edge: Chips | None = None
    wrap_rule: Annotated[Text, one_of(*WRAP_RULES)]
    slices: list[Shape] = Field(default_factory=list)
    largest_slice: Chips | None = None
    smallest_multislice: Chips | None = None
    max_slices: Count | None = None


class ReductionModel(Strict):
    """All-reduce done inside the switches."""

    method: Annotated[Text, one_of(*REDUCTIONS)]
    gain: Ratio | None = None
    min_group: Chips | None = None
    note: Text | None = None


class LevelModel(Strict):
    """One network level; see `hardware_db.cluster.Level`."""

    name: Text
    kind: Annotated[Text, one_of("scale-up", "scale-out")]
    topology: Annotated[Text, one_of(*TOPOLOGIES)]
    domain: Chips | None = None
    bandwidth: Bandwidth
    bidirectional: Bandwidth | None = None
    links: Count | None = None
    link_bandwidth: Bandwidth | None = None
    links_per_pair: Count | None = None
    peer_bandwidth: Bandwidth | None = None
    bandwidth_by_group: dict[str, Bandwidth] | None = None
    latency: SecondsOrZero
    energy: EnergyPerByteOrZero
    in_network_reduction: ReductionModel | None = None
    switch_power: WattsOrZero
    nic_power: WattsOrZero | None = None
    oversubscription: Ratio | None = None
    torus: TorusModel | None = None


def _chip_form(value: Any) -> str:
    return "by name" if isinstance(value, str) else "inline"


class ClusterModel(Strict):
    """A cluster file: a chip by name or in full, and its network levels, innermost first."""

    name: Text
    title: Text
    note: Text | None = None
    chip: Annotated[
        Annotated[Text, Tag("by name")] | Annotated[ChipModel, Tag("inline")],
        Discriminator(_chip_form),
    ]
    node_chips: Chips
    max_chips: Chips
    levels: list[LevelModel] = Field(min_length=1)
    sources: dict[str, SourceModel] = Field(default_factory=dict)


class TableModel(Strict):
    """A calibration or reference file.

    `constants` holds groups, nested at will, of quantities and (in reference files) labels; they
    are checked by `hardware_db.validation.tree_problems`.
    """

    name: Text
    title: Text
    note: Text | None = None
    constants: dict[str, Any]
    sources: dict[str, SourceModel] = Field(default_factory=dict)


def table_schema(labels: bool) -> dict[str, Any]:
    """The JSON Schema of a table file, its nested constants included.

    Args:
        labels: Whether strings may stand among the constants.
    """
    leaf = QuantityModel.model_json_schema()
    group = {"$ref": "#/properties/constants"}
    members = [leaf, {"type": "string"}, group] if labels else [leaf, group]
    schema = TableModel.model_json_schema()
    schema["properties"]["constants"] = {
        "type": "object",
        "additionalProperties": {"anyOf": members},
    }
    return schema
