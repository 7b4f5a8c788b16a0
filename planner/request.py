"""What the user asks: one record for flags, job files and Python arguments.

`Request` holds the question as typed (names, numbers, None where the default is meant);
`resolve` turns it into the cost model of a job on a cluster and lists every default it took.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from hardware_db import Chip, Cluster, HardwareError, load_cluster
from models_db import Model, ModelError, load_model
from planner.assumptions import Assumptions, calibrated, overridden
from planner.cost.context import CostModel
from planner.errors import InputError
from planner.files import read_yaml
from planner.frameworks import Framework, default_framework, framework_named
from planner.job import Job, sequences_in
from planner.units import parse_bytes, parse_count, parse_seconds, parse_watts, parse_whole

DEFAULT_HARDWARE = "tpu-v5p"
DEFAULT_BATCH_TOKENS = 4 * 2**20
OBJECTIVES = ("time", "energy", "edp", "memory")
PRESETS = ("calibrated",)


def _parsed(parse: Any, what: str) -> BeforeValidator:
    """Accepts text with a unit where a number is meant."""

    def read(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return parse(value, what)
        except InputError as error:
            raise ValueError(str(error).removeprefix(f"{what}: ")) from error

    return BeforeValidator(read)


_Positive = Field(gt=0, allow_inf_nan=False)
Whole = Annotated[int, Field(ge=1), _parsed(parse_whole, "number")]
Count = Annotated[float, _Positive, _parsed(parse_count, "number")]
Bytes = Annotated[float, _Positive, _parsed(parse_bytes, "memory")]
Watts = Annotated[float, _Positive, _parsed(parse_watts, "power")]
Seconds = Annotated[float, _Positive, _parsed(parse_seconds, "time")]
Share = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Request(BaseModel):
    """A question to the planner; field names are those of a job file and, with dashes, of flags.

    Attributes:
        model, hardware: Names in the databases or paths of YAML files.
        chips: Chips to plan for; the front also ranges over smaller counts.
        batch_tokens: Tokens per step; default 4 Mi, rounded to whole sequences.
        seq_len: Tokens per sequence; default the model's own.
        precision: Of the matrix multiplications; default the chip's 16-bit format.
        job: pretrain, finetune or lora; lora_rank: rank of the adapters.
        framework: Whose memory profile and rules apply; default by chip.
        era: Software era of the time constants; default the framework's.
        assumptions: A preset or a YAML file of overrides.
        objective: What the best plan minimizes: time, energy, edp (energy-delay product), memory.
        front: Objectives of the front.
        chips_exact: The front keeps to exactly `chips`.
        axes: Mesh axes that may exceed 1.
        fix: Field of a plan to the values it may take, e.g. {"pp": ["8"]}.
        offload: State and activations may move to the host.
        placement: "framework" (rank layouts it offers) or "all" orders of the axes.
        clocks: Clock levels are a decision where the chip has them.
        max_memory: Bytes per chip; max_power: watts of the job; max_step_time: seconds;
        min_mfu: fraction.
        time_limit: Seconds of search.
        train_tokens: Tokens of the whole training run; price_per_chip_hour: money;
        carbon_intensity: grams of CO2 per kWh.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    model: str
    hardware: str = DEFAULT_HARDWARE
    chips: Whole | None = None
    batch_tokens: Count | None = None
    seq_len: Whole | None = None
    precision: str | None = None
    job: str = "pretrain"
    lora_rank: Whole = 16
    framework: str | None = None
    era: str | None = None
    assumptions: str = "calibrated"
    objective: str = "time"
    front: tuple[str, ...] = ("time", "energy")
    chips_exact: bool = False
    axes: tuple[str, ...] | None = None
    fix: dict[str, tuple[str, ...]] = {}
    offload: bool = False
    placement: str = "framework"
    clocks: bool = True
    max_memory: Bytes | None = None
    max_power: Watts | None = None
    max_step_time: Seconds | None = None
    min_mfu: Share | None = None
    time_limit: Seconds | None = None
    train_tokens: Count | None = None
    price_per_chip_hour: Amount | None = None
    carbon_intensity: Amount | None = None


def request_from(values: dict[str, Any], origin: str = "") -> Request:
    """A validated request.

    Args:
        values: Fields of `Request`.
        origin: File they come from, for messages.

    Raises:
        InputError: One line per mistake, with its path.
    """
    try:
        return Request.model_validate(_tuples(values))
    except ValidationError as error:
        raise InputError(mistakes(error, origin, tuple(Request.model_fields))) from error


def _tuples(values: dict[str, Any]) -> dict[str, Any]:
    """Lists as YAML and flags give them, as the tuples that strict validation wants."""
    result = dict(values)
    for name in ("front", "axes"):
        if isinstance(result.get(name), list):
            result[name] = tuple(result[name])
    if isinstance(result.get("fix"), dict):
        result["fix"] = {
            key: tuple(map(_text, value)) if isinstance(value, list | tuple) else (_text(value),)
            for key, value in result["fix"].items()
        }
    return result


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def mistakes(error: ValidationError, origin: str, known: tuple[str, ...]) -> str:
    """One line per validation error: where, what is wrong, what is near."""
    import difflib  # noqa: PLC0415  (only when something is wrong)

    lines = []
    for item in error.errors():
        path = ".".join(str(part) for part in item["loc"])
        text = item["msg"].removeprefix("Value error, ")
        if item["type"] == "extra_forbidden":
            near = difflib.get_close_matches(path, known, n=1)
            text = "unknown field" + (f"; did you mean {near[0]!r}?" if near else "")
        elif item["type"] == "missing":
            text = "is missing"
        elif repr(item["input"]) not in text:
            text = f"{item['input']!r}: {text}"
        lines.append(f"{origin + ': ' if origin else ''}{path}: {text}")
    return "\n".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """A request made concrete.

    Attributes:
        request: As asked.
        cost: The cost model of the job on the cluster.
        defaults: What was not asked for, with the value taken and why: (name, value, reason).
    """

    request: Request
    cost: CostModel
    defaults: tuple[tuple[str, str, str], ...]


def resolve(request: Request) -> Resolved:
    """Loads records, applies defaults, checks what can be checked before any plan.

    Raises:
        InputError: Anything that cannot be used; one clear line.
    """
    model, cluster = _loaded(request)
    defaults: list[tuple[str, str, str]] = []
    if request.hardware == DEFAULT_HARDWARE and "hardware" not in request.model_fields_set:
        defaults.append(("hardware", DEFAULT_HARDWARE, "the default cluster"))
    framework = _framework(request, cluster, defaults)
    seq_len = request.seq_len or model.seq_len
    if request.seq_len is None:
        defaults.append(("seq-len", f"{seq_len:,}", f"what {model.name} was trained with"))
    job = Job(
        model=model,
        seq_len=seq_len,
        global_batch=_sequences(request, seq_len, defaults),
        precision=_precision(request, cluster.chip, defaults),
        kind=request.job,
        lora_rank=request.lora_rank,
        framework=framework,
        era=request.era or ("neuron" if cluster.chip.vendor == "AWS" else framework.era),
    )
    if request.era is None:
        defaults.append(("era", job.era, f"software era of {framework.name}"))
    _check_choices(request)
    cost = CostModel.build(job, cluster, _assumptions(request, cluster.chip, job))
    return Resolved(request=request, cost=cost, defaults=tuple(defaults))


def _loaded(request: Request) -> tuple[Model, Cluster]:
    try:
        return load_model(request.model), load_cluster(request.hardware)
    except (ModelError, HardwareError) as error:
        raise InputError(str(error)) from error


def _framework(
    request: Request, cluster: Cluster, defaults: list[tuple[str, str, str]]
) -> Framework:
    if request.framework is not None:
        return framework_named(request.framework)
    framework = default_framework(cluster.chip.vendor)
    defaults.append(("framework", framework.name, f"usual on {cluster.chip.vendor} chips"))
    return framework


def _sequences(request: Request, seq_len: int, defaults: list[tuple[str, str, str]]) -> int:
    if request.batch_tokens is not None:
        return sequences_in(request.batch_tokens, seq_len)
    sequences = max(1, round(DEFAULT_BATCH_TOKENS / seq_len))
    text = f"{sequences * seq_len:,} tokens = {sequences:,} sequences"
    defaults.append(("batch-tokens", text, "4 Mi tokens in whole sequences"))
    return sequences


def _precision(request: Request, chip: Chip, defaults: list[tuple[str, str, str]]) -> str:
    if request.precision is not None:
        return request.precision
    precision = next(
        (dtype for dtype in ("bf16", "fp16", "fp32", "int8") if dtype in chip.peak_flop_per_s),
        "bf16",
    )
    defaults.append(("precision", precision, f"widest matrix format of {chip.name}"))
    return precision


def _assumptions(request: Request, chip: Chip, job: Job) -> Assumptions:
    base = calibrated(chip, job.era, job.precision)
    if request.assumptions in PRESETS:
        return base
    if not request.assumptions.endswith((".yaml", ".yml")):
        raise InputError(
            f"assumptions: {request.assumptions!r} is not one of {', '.join(PRESETS)} nor a "
            "YAML file of overrides"
        )
    changes = read_yaml(Path(request.assumptions))
    return replace(overridden(base, changes), name=request.assumptions)


def _check_choices(request: Request) -> None:
    """Named choices that pydantic does not know."""
    allowed = {"objective": OBJECTIVES, "placement": ("framework", "all")}
    for name, names in allowed.items():
        if getattr(request, name) not in names:
            raise InputError(f"{name}: {getattr(request, name)!r} is not one of {', '.join(names)}")
    fronts = ("time", "energy", "memory")
    if unknown := [name for name in request.front if name not in fronts]:
        raise InputError(f"front: {unknown[0]!r} is not one of {', '.join(fronts)}")
    if request.front[:2] != ("time", "energy"):
        raise InputError("front: starts with time, energy; memory may follow")
