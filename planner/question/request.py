"""What the user asks: one record for flags, job files and Python arguments.

`Request` holds the question as typed (names, numbers, None where the default is meant);
`resolve` turns it into the cost model of a job on a cluster and lists every default it took.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    WithJsonSchema,
    model_validator,
)

from planner.assumptions.assumptions import COLLECTIVES, PRECISIONS, PRESETS
from planner.assumptions.software import ERAS
from planner.base.errors import InputError
from planner.base.fields import Share, choice, choices, refusal
from planner.base.messages import (
    Attempts,
    Origin,
    misspelt,
    mistakes,
)
from planner.cost.job import JOB_KINDS
from planner.frameworks.profiles import FRAMEWORKS
from planner.frameworks.targets import TARGETS
from planner.machine.degraded import degraded_schema, read_degraded
from planner.machine.pool_text import pools_schema, read_pools
from planner.machine.scaling import SCALES
from planner.machine.slices import SHAPE, product_of, slice_chips
from planner.machine.torus_axes import read_torus_axes, torus_axes_schema
from planner.machine.wiring import MACHINE_FIELDS, read_wirings, wirings_schema
from planner.objectives import FRONTS, OBJECTIVES, Objective, fronts
from planner.plan.choices import MESH_AXES, fix_schema
from planner.question.fields import (
    LAYOUTS,
    Amount,
    Bytes,
    Count,
    FrontPoints,
    LayerLayout,
    Margin,
    NameOrPath,
    Pes,
    Pue,
    Seconds,
    SquareMillimetres,
    TotalPes,
    Watts,
    Whole,
)
from planner.question.fixes import read_fixes
from planner.question.records import cluster_named, model_named

ARGUMENTS = Origin()
DEFAULT_HARDWARE = "tpu-v5p"
COOLINGS = ("air", "liquid")
PLACEMENTS = ("framework", "all", "torus")


def _words(value: Any) -> Any:
    """`[fsdp, tp]` or `fsdp,tp` as a tuple; anything else as it is, for the validation."""
    if isinstance(value, str):
        return tuple(word.strip() for word in value.split(","))
    return tuple(value) if isinstance(value, list) else value


def _front(value: tuple[str, ...]) -> tuple[str, ...]:
    """The objectives of the front, in their order."""
    own = (OBJECTIVES[name].front for name in value)
    if value not in (*FRONTS, *own):
        allowed = " or ".join(repr(", ".join(names)) for names in fronts())
        raise refusal(f"{', '.join(value)!r} is not {allowed}")
    return value


def _own_front(values: Mapping[str, Any]) -> dict[str, Any]:
    """The front of an objective that has its own, where the question has none and may have it."""
    name, layout = values.get("objective"), values.get("layout")
    if "front" in values or layout not in (None, LAYOUTS[0]) or not isinstance(name, str):
        return {}
    front = OBJECTIVES[name].front if name in OBJECTIVES else FRONTS[0]
    return {} if front == FRONTS[0] else {"front": front}


class Request(BaseModel):
    """A question to the planner; field names are those of a job file and, with dashes, of flags."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    @model_validator(mode="before")
    @classmethod
    def _with_tuples(cls, values: Any) -> Any:
        """Lists, and text with commas, as the tuples that strict validation wants."""
        if not isinstance(values, dict):
            return values
        lists = ("front", "axes", "scale", "runnable_in")
        given = {name: _words(values[name]) for name in lists if name in values}
        return {**_own_front(values), **values, **given}

    @property
    def minimized(self) -> Objective:
        """What the best plan has the least of."""
        return OBJECTIVES[self.objective].priced(self.price_per_chip_hour)

    @property
    def compared(self) -> tuple[Objective, ...]:
        """What plans of the front are compared by."""
        return tuple(OBJECTIVES[name].priced(self.price_per_chip_hour) for name in self.front)

    @property
    def machine(self) -> dict[str, Any]:
        """What is asked of the machines themselves, as a job file holds it."""
        given = {name: list(getattr(self, name) or ()) for name in MACHINE_FIELDS}
        return {name: words for name, words in given.items() if words}

    model: NameOrPath = Field(description="Model of the database, or path of a YAML file.")
    hardware: NameOrPath = Field(
        default=DEFAULT_HARDWARE,
        description="Cluster or chip of the database, or path of a YAML file.",
    )
    chips: Whole | None = Field(
        default=None,
        description="Chips to plan for, of a torus also a slice such as 16x16x16; the front also "
        "ranges over smaller counts.",
    )
    pools: Annotated[
        dict[str, int] | None, BeforeValidator(read_pools), WithJsonSchema(pools_schema())
    ] = Field(
        default=None,
        description="Pools of different chips in one job, hardware to chips, instead of hardware "
        "and chips; with uneven stages.",
    )
    batch_tokens: Count | None = Field(
        default=None, description="Tokens per step; default 4 Mi, rounded to whole sequences."
    )
    seq_len: Whole | None = Field(
        default=None, description="Tokens per sequence; default what the model was trained with."
    )
    precision: Annotated[str, choice(PRECISIONS)] | None = Field(
        default=None, description="Of the matrix multiplications; default the chip's 16-bit format."
    )
    job: Annotated[str, choice(JOB_KINDS)] = Field(
        default="pretrain",
        description="Train all parameters (pretrain, finetune) or adapters (lora).",
    )
    lora_rank: Whole = Field(default=16, description="Rank of the adapters of a lora job.")
    framework: Annotated[str, choice(FRAMEWORKS, by_name=True)] | None = Field(
        default=None,
        description="Whose memory profile, schedules, layer splits and rank layouts apply; "
        "default by chip.",
    )
    era: Annotated[str, choice(sorted(ERAS))] | None = Field(
        default=None, description="Software era of the time constants; default the framework's."
    )
    assumptions: NameOrPath = Field(
        default=PRESETS[0],
        description=f"{', '.join(PRESETS)}, or path of a YAML file of overrides.",
    )
    calibration: NameOrPath | None = Field(
        default=None,
        description="Path of a local calibration, as planner calibrate writes it.",
    )
    mfu: Share | None = Field(
        default=None,
        description="Share of the peak at which chips compute, under roofline; default 1.",
    )
    torus_axes: Annotated[
        dict[str, float] | None,
        BeforeValidator(lambda value: value if value is None else read_torus_axes(value)),
        WithJsonSchema(torus_axes_schema()),
    ] = Field(
        default=None,
        description="Torus axes that serve mesh axes smaller than the slice, e.g. fsdp: 2, tp: 1; "
        "default as the placement has them.",
    )
    objective: Annotated[str, choice(OBJECTIVES)] = Field(
        default="time",
        description="What the best plan minimizes: step time, energy per step, their product "
        "(edp), memory per chip, money (chip-hours without a price), or mean power.",
    )
    front: Annotated[tuple[str, ...], choices(OBJECTIVES, text=2), AfterValidator(_front)] = Field(
        default=("time", "energy"),
        description="Objectives of the Pareto front: time, energy, and memory if wanted; or time "
        "and money or power. Default that of the objective.",
    )
    chips_exact: bool = Field(default=False, description="The front keeps to exactly `chips`.")
    axes: Annotated[tuple[str, ...], choices(MESH_AXES, text=1)] | None = Field(
        default=None, description="Mesh axes that may exceed 1; default all."
    )
    fix: Annotated[
        dict[str, tuple[str, ...]], BeforeValidator(read_fixes), WithJsonSchema(fix_schema())
    ] = Field(
        default={}, description="Fields of the plan and the values that each may take, e.g. pp: 8."
    )
    layout: LayerLayout = Field(
        default=LAYOUTS[0],
        description="Pipeline stages: uniform, uneven (their layers, recomputation, sharding and "
        "clocks may differ), or the layers of every chunk, e.g. 7,8*14,7 "
        "(8*14: 14 chunks of 8); the rest is found.",
    )
    gap: Share | None = Field(
        default=None,
        description="With uneven stages: stop when no plan can be better by more than this share.",
    )
    front_points: FrontPoints | None = Field(
        default=None,
        description="With uneven stages: time limits of the front, or all; default 20.",
    )
    offload: bool = Field(default=False, description="State and activations may move to the host.")
    placement: Annotated[str, choice(PLACEMENTS)] = Field(
        default="framework",
        description="Orders of the axes: the rank layouts of the framework, or all; torus: beside "
        "them every way to lay parts of the axes along the physical axes of a torus.",
    )
    runnable_in: Annotated[tuple[str, ...], choices(TARGETS, text=1)] | None = Field(
        default=None,
        description=f"What has to run the plans, e.g. {next(iter(TARGETS))}: those that planner "
        "export writes for it; several: all of them.",
    )
    clocks: bool = Field(
        default=True, description="Clock levels are a decision where the chip has them."
    )
    pes: Pes | None = Field(
        default=None,
        description="Processing elements per chip, e.g. 64,132,264; several are a decision. "
        "Default those of the record.",
    )
    scale: Annotated[tuple[str, ...], choices(SCALES, text=1)] = Field(
        default=(),
        description="What else grows with the PEs of a chip: memory (bytes and rate), links (of "
        "the scale-up level), network (cards); default nothing.",
    )
    topology: Annotated[
        tuple[str, ...], BeforeValidator(read_wirings), WithJsonSchema(wirings_schema())
    ] = Field(
        default=(),
        description="Wirings of the scale-up level, or after scale-out= of the network cards; "
        "several are a decision. Default as the record has them.",
    )
    collectives: Annotated[str, choice(COLLECTIVES)] | None = Field(
        default=None,
        description="Collectives that plans assume: those of the library (nccl), schedules "
        "synthesized for the wiring, or the faster of both at each size (best). Default nccl.",
    )
    degrade_link: Annotated[
        tuple[str, ...], BeforeValidator(read_degraded), WithJsonSchema(degraded_schema())
    ] = Field(
        default=(),
        description="Links between chips that carry only a share of their rate, e.g. "
        "nvlink:0-2=0.25, in every domain of the level; 0: failed.",
    )
    total_pes: TotalPes | None = Field(
        default=None, description="Processing elements of all chips together, e.g. 8192x132."
    )
    max_area: SquareMillimetres | None = Field(
        default=None,
        description="Silicon of all chips together, in square millimetres; 67cm2 will do.",
    )
    max_links: Count | None = Field(default=None, description="Links of all levels together.")
    max_ports: Count | None = Field(
        default=None, description="Ports of a chip, a switched level counted as one."
    )
    max_memory: Bytes | None = Field(
        default=None,
        description="Bytes per chip that a plan may fill; default the framework's share.",
    )
    memory_margin: Margin | None = Field(
        default=None,
        description="Share of a chip's memory, less the framework's reserve, that a plan may "
        "fill; default the framework's.",
    )
    power_cap: Watts | None = Field(
        default=None,
        description="Power limit of each chip, in watts: lowers its clock; default none.",
    )
    cooling: Annotated[str, choice(COOLINGS)] | None = Field(
        default=None,
        description="Of the nodes, where the chip's record tells them apart; default air.",
    )
    pue: Pue | None = Field(
        default=None,
        description="Power of the facility over that of its machines, 1 to 3; default 1.1.",
    )
    max_power: Watts | None = Field(
        default=None, description="Mean power of the whole job, in watts."
    )
    max_step_time: Seconds | None = Field(default=None, description="Longest step, in seconds.")
    min_mfu: Share | None = Field(default=None, description="Least MFU, as a share.")
    time_limit: Seconds | None = Field(
        default=None, description="Seconds of search; default no limit."
    )
    train_tokens: Count | None = Field(
        default=None,
        description="Tokens of the whole training run; adds days and energy to the answer.",
    )
    price_per_chip_hour: Amount | None = Field(
        default=None,
        description="Money per chip and hour; adds the price of the run, and is what the objective "
        "money counts.",
    )
    carbon_intensity: Amount | None = Field(
        default=None, description="Grams of CO2 per kWh; adds the CO2 of the run."
    )


def request_from(
    values: dict[str, Any], origin: Origin = ARGUMENTS, needed: tuple[str, ...] = ()
) -> Request:
    """A validated request.

    Args:
        values: Fields of `Request`.
        origin: Where they come from, for messages.
        needed: Optional fields that this question cannot do without.

    Raises:
        InputError: One line per mistake, names that are in no database included.
    """
    problems, there = [], {name for name, value in values.items() if value is not None}
    try:
        values = _counted(values)
    except InputError as error:
        problems = [origin.blame(str(error), {"chips"})]
        values = {name: value for name, value in values.items() if name != "chips"}
    try:
        request = Request.model_validate(values)
    except ValidationError as error:
        problems += mistakes(error, origin.label, Request.model_fields)
        there |= misspelt(error, Request.model_fields)
    problems += [f"{origin.label([name])}: is missing" for name in needed if name not in there]
    if problems:
        lines = problems + unknown_names(values, origin)
        raise InputError("\n".join(_with_examples(lines, origin)))
    return request


def _counted(values: dict[str, Any]) -> dict[str, Any]:
    """Fields whose `chips`, where they are a slice of a torus such as 16x16x16, are a number.

    Raises:
        InputError: The cluster has no such slice.
    """
    chips, hardware = values.get("chips"), values.get("hardware") or DEFAULT_HARDWARE
    if not isinstance(chips, str) or SHAPE.fullmatch(chips) is None:
        return values
    try:
        cluster = cluster_named(str(hardware))
    except InputError:  # which is refused as well, and first of all
        return {**values, "chips": product_of(chips)}
    return {**values, "chips": slice_chips(chips, cluster)}


def unknown_names(values: Mapping[str, Any], origin: Origin) -> list[str]:
    """What is wrong with the records that a faulty question names, one line per mistake."""
    tried = Attempts(origin, Request.model_fields)
    for name, load in (("model", model_named), ("hardware", cluster_named)):
        if isinstance(given := values.get(name), str):
            tried.attempt(load, given)
    return tried.problems


def _with_examples(lines: list[str], origin: Origin) -> list[str]:
    """Lines about what is missing on a command line, with an example."""
    examples = {
        "model": "; name one, e.g. --model llama2-13b (planner models list)",
        "chips": "; say how many chips to plan for, e.g. --chips 4096",
    }
    endings = {f"{origin.label([name])}: is missing": text for name, text in examples.items()}
    return [line + endings.get(line, "") for line in lines] if origin.dashes else lines
