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
    RatioOrZero,
    SecondsOrZero,
    Shape,
    SourceModel,
    Strict,
    Text,
    WattsOrZero,
    one_of,
)
from hardware_db.schema_chip import ChipModel


class TwistModel(Strict):
    """What twisted slices gain; see `hardware_db.cluster.TorusRules`."""

    k_k_2k: Ratio = Field(
        description="All-to-all over a k x k x 2k slice relative to the regular torus."
    )
    k_2k_2k: Ratio = Field(
        description="All-to-all over a k x 2k x 2k slice relative to the regular torus."
    )


class TorusModel(Strict):
    """The torus of a level and its slices; see `hardware_db.cluster.TorusRules`."""

    pod: Shape = Field(description="Length of each axis of the whole torus.")
    cube_edge: Chips | None = Field(
        default=None,
        description="Edge of the block of larger slices; none where only `slices` exist.",
    )
    wrap_rule: Annotated[Text, one_of(*WRAP_RULES)] = Field(
        description="Which axes of a slice close into rings."
    )
    slices: list[Shape] = Field(
        default_factory=list, description="Shapes that can be had besides whole blocks."
    )
    largest_slice: Chips | None = Field(
        default=None, description="Largest slice that the provider schedules."
    )
    smallest_multislice: Chips | None = Field(
        default=None, description="Smallest slice of a job that spans several."
    )
    max_slices: Count | None = Field(default=None, description="Most slices of one job.")
    twist: TwistModel | None = Field(
        default=None,
        description="Gains of twisted slices (k a multiple of 4), where the machine has them.",
    )


class ReductionModel(Strict):
    """All-reduce done inside the switches."""

    method: Annotated[Text, one_of(*REDUCTIONS)] = Field(description="How the switches reduce.")
    gain: Ratio | None = Field(
        default=None, description="Measured all-reduce bus bandwidth relative to a ring."
    )
    min_group: Chips | None = Field(
        default=None, description="Smallest group for which the library uses it."
    )
    note: Text | None = Field(default=None, description="Anything a reader should know.")


class LevelModel(Strict):
    """One network level; see `hardware_db.cluster.Level`."""

    name: Text = Field(description="nvlink, leaf, spine, ici, dcn, ...")
    kind: Annotated[Text, one_of("scale-up", "scale-out")] = Field(
        description="Memory-semantic links between chips, or through NICs."
    )
    topology: Annotated[Text, one_of(*TOPOLOGIES)] = Field(
        description="How the chips of one domain are wired."
    )
    domain: Chips | None = Field(
        default=None, description="Chips of one domain of this level; none if unlimited."
    )
    bandwidth: Bandwidth = Field(
        description="Per chip, one direction, all links of the level together."
    )
    bidirectional: Bandwidth | None = Field(
        default=None, description="The same, both directions together."
    )
    links: Count | None = Field(default=None, description="Links per chip.")
    link_bandwidth: Bandwidth | None = Field(default=None, description="One link, one direction.")
    links_per_pair: Count | None = Field(
        default=None, description="Links between each pair of a fully connected domain."
    )
    peer_bandwidth: Bandwidth | None = Field(
        default=None, description="What one pair of chips can use, one direction."
    )
    bandwidth_by_group: dict[str, Bandwidth] | None = Field(
        default=None,
        description="Ring bandwidth per chip and direction, where the group size decides it.",
    )
    degraded: dict[str, RatioOrZero] | None = Field(
        default=None,
        description="Share of the rate that is left of links between two chips of every domain, "
        "such as 0-2; 0: failed. Of the link of a chip to a switch the chip alone.",
    )
    latency: SecondsOrZero = Field(
        description="Per message on a switched level, per hop on a directly wired one; it counts "
        "where it is longer than the latency that software was measured to need."
    )
    energy: EnergyPerByteOrZero = Field(
        description="Per byte that crosses the level, at full load."
    )
    in_network_reduction: ReductionModel | None = Field(
        default=None, description="All-reduce inside the switches."
    )
    switch_ports: Count | None = Field(
        default=None,
        description="Ports of one switch of a leaf, where its domain does not tell: half of them "
        "down, cards of equal position in the node sharing a switch.",
    )
    switch_power: WattsOrZero = Field(
        description="Switches and optics per installed chip, always on."
    )
    switch_power_in_host: WattsOrZero | None = Field(
        default=None,
        description="Switches of the level inside the chip's host power, per chip; machines whose "
        "chips are wired directly do without.",
    )
    nic_power: WattsOrZero | None = Field(
        default=None,
        description="NIC per chip, for information: it is part of the chip's host power.",
    )
    oversubscription: Ratio | None = Field(
        default=None, description="Injection bandwidth over what crosses the level; divides it."
    )
    torus: TorusModel | None = Field(
        default=None, description="Rules for slices, where the level is a torus."
    )


def _chip_form(value: Any) -> str:
    return "by name" if isinstance(value, str) else "inline"


class ClusterModel(Strict):
    """A cluster file: a chip by name or in full, and its network levels, innermost first."""

    name: Text = Field(description="Name on the command line.")
    title: Text = Field(description="Full name.")
    note: Text | None = Field(default=None, description="Anything a reader should know.")
    chip: Annotated[
        Annotated[Text, Tag("by name")] | Annotated[ChipModel, Tag("inline")],
        Discriminator(_chip_form),
    ] = Field(description="Name of a chip, or a chip in full.")
    node_chips: Chips = Field(description="Chips of one node.")
    max_chips: Chips = Field(description="Most chips of one job.")
    levels: list[LevelModel] = Field(
        min_length=1, description="Levels of the network, innermost first."
    )
    sources: dict[str, SourceModel] = Field(
        default_factory=dict, description="Documents that the numbers come from, by key."
    )


class TableModel(Strict):
    """A calibration or reference file.

    `constants` holds groups, nested at will, of quantities and (in reference files) labels; they
    are checked by `hardware_db.validation.tree_problems`.
    """

    name: Text = Field(description="Name of the table.")
    title: Text = Field(description="Full name.")
    note: Text | None = Field(default=None, description="Anything a reader should know.")
    constants: dict[str, Any] = Field(
        description="Groups, nested at will, of numbers with unit, kind and source."
    )
    sources: dict[str, SourceModel] = Field(
        default_factory=dict, description="Documents that the numbers come from, by key."
    )


def table_schema(labels: bool) -> dict[str, Any]:
    """The JSON Schema of a table file, its nested constants included.

    Args:
        labels: Whether strings may stand among the constants.
    """
    leaf = QuantityModel.model_json_schema()
    group = {"$ref": "#/properties/constants"}
    members = [leaf, {"type": "string"}, group] if labels else [leaf, group]
    schema = TableModel.model_json_schema()
    schema["properties"]["constants"] |= {
        "type": "object",
        "additionalProperties": {"anyOf": members},
    }
    return schema
