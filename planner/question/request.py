"""What the user asks: one record for flags, job files and Python arguments.

`Request` holds the question as typed (names, numbers, None where the default is meant);
`resolve` turns it into the cost model of a job on a cluster and lists every default it took.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
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

from planner.base.errors import InputError
from planner.base.fields import Share, choice, choices, refusal
from planner.base.messages import Attempts, Origin
from planner.base.mistakes import misspelt, mistakes
from planner.base.vocabulary import ANY, JOB_WORDS, LAYOUTS, OTHER_WORDS
from planner.machine.degraded import degraded_schema, read_degraded
from planner.machine.pool_text import pools_schema, read_pools
from planner.machine.slices import SHAPE, product_of, slice_chips
from planner.machine.torus_axes import read_torus_axes, torus_axes_schema
from planner.machine.wiring import MACHINE_FIELDS, read_wirings, wirings_schema
from planner.objectives import FRONTS, OBJECTIVES, Objective, fronts
from planner.plan.choices import fix_schema
from planner.question.asked import BY_NAME
from planner.question.asked.named import filled
from planner.question.asked.usual import OOM_RISK, RANGE, with_examples
from planner.question.asked.values import as_typed
from planner.question.asked.words import words_of
from planner.question.changes.texts import changes_schema, read_changes
from planner.question.fields import (
    Amount,
    Bytes,
    BytesPerSecond,
    Cap,
    ChipNumbers,
    Clocks,
    Count,
    Dropped,
    FrontPoints,
    Images,
    Joules,
    LayerLayout,
    Maintenance,
    Margin,
    Money,
    NameOrPath,
    Pes,
    Pue,
    Seconds,
    Some,
    SquareMillimetres,
    TotalPes,
    Watts,
    Whole,
    Within,
    range_of,
)
from planner.question.fixes import read_fixes
from planner.question.kinds.lengths import lengths_schema, read_lengths
from planner.question.kinds.rollouts import OTHER_JOBS, training_part
from planner.question.records import FIELDS, cluster_named, count_files, model_named, preset_of
from planner.question.run.outage import DOWN, read_down
from planner.question.run.phases import phases_schema, read_phases
from planner.question.run.prices import Prices, filled_prices, price_problems

ARGUMENTS = Origin()
DEFAULT_HARDWARE: str = BY_NAME["hardware"].default


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


def _runners(value: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """What has to run the plans; any stands alone."""
    if value is not None and ANY in value and len(value) > 1:
        raise refusal(f"{', '.join(value)!r} has any, which keeps to none of them; leave it out")
    return value


def _own_front(values: Mapping[str, Any]) -> dict[str, Any]:
    """The front of an objective that has its own, where the question has none and may have it."""
    name, layout = values.get("objective"), values.get("layout")
    if "front" in values or layout not in (None, LAYOUTS[0]) or not isinstance(name, str):
        return {}
    front = OBJECTIVES[name].front if name in OBJECTIVES else FRONTS[0]
    return {} if front == FRONTS[0] else {"front": front}


def _own_objective(values: Mapping[str, Any]) -> dict[str, Any]:
    """The first objective of a front without the usual one, where the question has none."""
    front = values.get("front")
    first = next((own[0] for own in fronts() if own == front), FRONTS[0][0])
    return {} if "objective" in values or first == FRONTS[0][0] else {"objective": first}


def _of_job(values: Mapping[str, Any]) -> dict[str, Any]:
    """Fields that the word for a job says as well."""
    word = values.get("job")
    return {**JOB_WORDS.get(word, {})} if isinstance(word, str) else {}


def _unlike_its_job(values: Mapping[str, Any]) -> Iterator[str]:
    """Fields that say another thing than the word for the job, one line each."""
    for name, value in _of_job(values).items():
        if values.get(name) not in (None, value):
            flag = name.replace("_", "-")
            yield (
                f"{flag}: job {values['job']} means {flag} {value}, not {values[name]}; say "
                "another job, or leave it out"
            )


def _field(name: str) -> Any:
    """The default and the description of a field."""
    return Field(default=BY_NAME[name].default, description=BY_NAME[name].description)


def _word(name: str, hinted: Collection[str] = ()) -> Any:
    """The type of a field that takes one of its words, some of which are read as another one."""
    return choice(words_of(name), meant=OTHER_WORDS[name], hinted=hinted)


def _fill_names(schema: dict[str, Any]) -> None:
    """Puts the names that registries have into the descriptions of a JSON Schema."""
    for field in schema["properties"].values():
        field["description"] = filled(field["description"])


class Request(BaseModel):
    """A question to the planner; field names are those of a job file and, with dashes, of flags."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, defer_build=True, json_schema_extra=_fill_names
    )

    @model_validator(mode="before")
    @classmethod
    def _with_tuples(cls, values: Any) -> Any:
        """Lists, and text with commas, as the tuples that strict validation wants."""
        if not isinstance(values, dict):
            return values
        lists = ("front", "axes", "scale", "runnable_in", "lora_targets", "prices")
        given = {name: _words(values[name]) for name in lists if name in values}
        priced = filled_prices(given.get("prices"))
        own = {**_own_front(values), **_own_objective({**values, **given})}
        return {**own, **_of_job(values), **priced, **values, **given}

    @property
    def minimized(self) -> Objective:
        """What the best plan has the least of."""
        return OBJECTIVES[self.objective].priced(self.price_per_chip_hour)

    @property
    def compared(self) -> tuple[Objective, ...]:
        """What plans of the front are compared by."""
        return tuple(OBJECTIVES[name].priced(self.price_per_chip_hour) for name in self.front)

    @property
    def chip_range(self) -> tuple[int, int] | None:
        """The fewest and the most chips that a plan may use; None: that is left open."""
        if self.chips is not None:
            return range_of(self.chips)
        return None if self.chips_at_most is None else (1, self.chips_at_most)

    @property
    def keeps_to_chips(self) -> bool:
        """Whether plans use all of the chips that there are: those asked for, or budgets allow."""
        if self.chip_range is None:
            return bool(self.chips_exact)
        fewest, most = self.chip_range
        return fewest == most

    @property
    def oom_risk(self) -> float | None:
        """The chance of running out of memory that a plan may have; None: memory is limited else.

        The default is that of predictions whose memory no other field limits.
        """
        if self.max_oom_risk is not None:
            return self.max_oom_risk if self.max_oom_risk < 1 else None
        limited = self.max_memory is not None or self.memory_margin is not None
        return None if limited or preset_of(self.assumptions) != "calibrated" else OOM_RISK

    @property
    def machine(self) -> dict[str, Any]:
        """What is asked of the machines themselves, as a job file holds it."""
        given = {name: list(getattr(self, name) or ()) for name in MACHINE_FIELDS}
        return {name: words for name, words in given.items() if words}

    model: NameOrPath = _field("model")
    hardware: NameOrPath = _field("hardware")
    chips: ChipNumbers | None = _field("chips")
    chips_at_most: Whole | None = _field("chips_at_most")
    pools: Annotated[
        dict[str, int] | None, BeforeValidator(read_pools), WithJsonSchema(pools_schema())
    ] = _field("pools")
    batch_tokens: Count | None = _field("batch_tokens")
    seq_len: Whole | None = _field("seq_len")
    lengths: Annotated[
        dict[str, float] | None,
        BeforeValidator(lambda value: value if value is None else read_lengths(value)),
        WithJsonSchema(lengths_schema()),
    ] = _field("lengths")
    images: Images = _field("images")
    tower_recompute: Annotated[str, choice(words_of("tower_recompute"))] = _field("tower_recompute")
    precision: Annotated[str, choice(words_of("precision"))] | None = _field("precision")
    fp8_recipe: Annotated[str, choice(words_of("fp8_recipe"))] | None = _field("fp8_recipe")
    job: Annotated[str, _word("job", hinted=OTHER_JOBS)] = _field("job")
    lora_rank: Whole = _field("lora_rank")
    adapter: Annotated[str, choice(words_of("adapter"))] = _field("adapter")
    lora_targets: Annotated[tuple[str, ...], choices(words_of("lora_targets"), text=1)] = _field(
        "lora_targets"
    )
    lora_dropout: Dropped | None = _field("lora_dropout")
    reference: Annotated[str, choice(words_of("reference"))] | None = _field("reference")
    frozen_weights: Annotated[str, choice(words_of("frozen_weights"))] = _field("frozen_weights")
    optimizer: Annotated[str, choice(words_of("optimizer"))] = _field("optimizer")
    framework: Annotated[str, choice(words_of("framework"), by_name=True)] | None = _field(
        "framework"
    )
    era: Annotated[str, choice(words_of("era"))] | None = _field("era")
    assumptions: NameOrPath = _field("assumptions")
    calibration: NameOrPath | None = _field("calibration")
    set: Annotated[
        tuple[str, ...], BeforeValidator(read_changes), WithJsonSchema(changes_schema())
    ] = _field("set")
    mfu: Share | None = _field("mfu")
    torus_axes: Annotated[
        dict[str, float] | None,
        BeforeValidator(lambda value: value if value is None else read_torus_axes(value)),
        WithJsonSchema(torus_axes_schema()),
    ] = _field("torus_axes")
    objective: Annotated[str, choice(words_of("objective"))] = _field("objective")
    front: Annotated[
        tuple[str, ...], choices(words_of("front"), text=2), AfterValidator(_front)
    ] = _field("front")
    chips_exact: bool | None = _field("chips_exact")
    axes: Annotated[tuple[str, ...], choices(words_of("axes"), text=1)] | None = _field("axes")
    fix: Annotated[
        dict[str, tuple[str, ...]], BeforeValidator(read_fixes), WithJsonSchema(fix_schema())
    ] = _field("fix")
    layout: LayerLayout = _field("layout")
    gap: Share | None = _field("gap")
    front_points: FrontPoints | None = _field("front_points")
    offload: bool = _field("offload")
    placement: Annotated[str, choice(words_of("placement"))] = _field("placement")
    runnable_in: (
        Annotated[
            tuple[str, ...], choices(words_of("runnable_in"), text=1), AfterValidator(_runners)
        ]
        | None
    ) = _field("runnable_in")
    resume_from: NameOrPath | None = _field("resume_from")
    checkpoint: Annotated[str, choice(words_of("checkpoint"))] | None = _field("checkpoint")
    clocks: Clocks = _field("clocks")
    pes: Pes | None = _field("pes")
    scale: Annotated[tuple[str, ...], choices(words_of("scale"), text=1)] = _field("scale")
    topology: Annotated[
        tuple[str, ...], BeforeValidator(read_wirings), WithJsonSchema(wirings_schema())
    ] = _field("topology")
    collectives: Annotated[str, choice(words_of("collectives"))] | None = _field("collectives")
    degrade_link: Annotated[
        tuple[str, ...], BeforeValidator(read_degraded), WithJsonSchema(degraded_schema())
    ] = _field("degrade_link")
    total_pes: TotalPes | None = _field("total_pes")
    max_area: SquareMillimetres | None = _field("max_area")
    max_links: Count | None = _field("max_links")
    max_ports: Count | None = _field("max_ports")
    max_memory: Bytes | None = _field("max_memory")
    memory_margin: Margin | None = _field("memory_margin")
    max_oom_risk: Share | None = _field("max_oom_risk")
    power_cap: Cap | None = _field("power_cap")
    cooling: Annotated[str, choice(words_of("cooling"))] | None = _field("cooling")
    pue: Pue | None = _field("pue")
    max_power: Watts | None = _field("max_power")
    power_boundary: Annotated[str, _word("power_boundary")] = _field("power_boundary")
    max_step_time: Seconds | None = _field("max_step_time")
    min_mfu: Share | None = _field("min_mfu")
    deadline: Within | None = _field("deadline")
    budget: Money | None = _field("budget")
    max_run_energy: Joules | None = _field("max_run_energy")
    time_limit: Seconds | None = _field("time_limit")
    train_tokens: Count | None = _field("train_tokens")
    price_per_chip_hour: Amount | None = _field("price_per_chip_hour")
    electricity_price: Amount | None = _field("electricity_price")
    carbon_intensity: Amount | None = _field("carbon_intensity")
    prices: Prices | None = _field("prices")
    mtbf: Seconds | None = _field("mtbf")
    chip_hours_per_failure: Count | None = _field("chip_hours_per_failure")
    failure_site: NameOrPath | None = _field("failure_site")
    checkpoint_store: BytesPerSecond | None = _field("checkpoint_store")
    checkpoint_writes: Annotated[str, choice(words_of("checkpoint_writes"))] | None = _field(
        "checkpoint_writes"
    )
    detection: Seconds | None = _field("detection")
    restart: Seconds | None = _field("restart")
    spares: Some | None = _field("spares")
    repair: Seconds | None = _field("repair")
    straggler_loss: Dropped | None = _field("straggler_loss")
    failure_domain: NameOrPath | None = _field("failure_domain")
    on_failure: Annotated[str, choice(words_of("on_failure"))] | None = _field("on_failure")
    peer_covers: Share | None = _field("peer_covers")
    maintenance: Maintenance | None = _field("maintenance")
    while_down: bool | None = _field("while_down")
    phases: Annotated[
        tuple[str, ...], BeforeValidator(read_phases), WithJsonSchema(phases_schema())
    ] = _field("phases")
    down: Annotated[str | None, BeforeValidator(read_down), WithJsonSchema(DOWN)] = _field("down")


def request_from(
    values: Mapping[str, Any], origin: Origin = ARGUMENTS, needed: tuple[str, ...] = ()
) -> Request:
    """A validated request.

    Args:
        values: Fields of `Request`.
        origin: Where they come from, for messages.
        needed: Optional fields that this question cannot do without.

    Raises:
        InputError: One line per mistake, names that are in no database included.
    """
    there = {name for name, value in values.items() if value is not None}
    twice = (*_unlike_its_job(values), *price_problems(values, _words(values.get("prices"))))
    problems = [origin.blame(line, BY_NAME) for line in twice]
    try:
        values = _counted(values)
    except InputError as error:
        problems.append(origin.blame(str(error), {"chips"}))
        values = {name: value for name, value in values.items() if name != "chips"}
    if isinstance(job := values.get("job"), str) and job.lower() in OTHER_JOBS:
        problems.append(f"{origin.label(['job'])}: {training_part(values)}")
        values = {name: value for name, value in values.items() if name != "job"}
    try:
        request = Request.model_validate(dict(values))
    except ValidationError as error:
        problems += mistakes(error, origin.label, Request.model_fields, as_typed(values))
        there |= misspelt(error, Request.model_fields)
    problems += [f"{origin.label([name])}: is missing" for name in needed if name not in there]
    if problems:
        lines = problems + unknown_names(values, origin)
        raise InputError("\n".join(with_examples(lines, origin)))
    count_files({name: getattr(request, name) for name in FIELDS}, request.pools or (), origin)
    return request


def _counted(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Fields whose `chips`, where they are slices of a torus such as 16x16x16, are numbers.

    Raises:
        InputError: The cluster has no such slice.
    """
    chips, hardware = values.get("chips"), values.get("hardware") or DEFAULT_HARDWARE
    if not isinstance(chips, str):
        return values
    ends = chips.split(RANGE)
    shapes = [end for end in ends if SHAPE.fullmatch(end) is not None]
    if not shapes:
        return values
    try:
        cluster = cluster_named(str(hardware))
    except InputError:  # which is refused as well, and first of all
        counts = {shape: product_of(shape) for shape in shapes}
    else:
        counts = {shape: slice_chips(shape, cluster) for shape in shapes}
    return {**values, "chips": RANGE.join(str(counts.get(end, end)) for end in ends)}


def unknown_names(values: Mapping[str, Any], origin: Origin) -> list[str]:
    """What is wrong with the records that a faulty question names, one line per mistake."""
    tried = Attempts(origin, Request.model_fields)
    for name, load in (("model", model_named), ("hardware", cluster_named)):
        if isinstance(given := values.get(name), str):
            tried.attempt(load, given)
    return tried.problems
