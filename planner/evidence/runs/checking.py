"""What is wrong with a row of measurements, before any prediction: one sentence per fault."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from functools import cache, lru_cache

from hardware_db import HardwareError, list_chips, list_clusters, load_cluster
from models_db import list_models
from planner.assumptions.assumptions import PRECISIONS
from planner.assumptions.optimizers import OPTIMIZERS as COSTED
from planner.assumptions.software import ERAS
from planner.base.errors import InputError
from planner.base.files import names_a_file
from planner.base.messages import did_you_mean, nearest, not_one_of, shown
from planner.base.numerals import beyond, number_of
from planner.base.units import show_percent
from planner.base.vocabulary import BOUNDARIES, COOLINGS
from planner.evidence.runs.models import OF_EXPERTS, said_of_architecture
from planner.evidence.runs.profiles import framework_fault
from planner.evidence.runs.rows import JOBS, Run
from planner.plan.recomputations import recomputation

NEEDED = ("hardware", "n_chips", "seq_len", "global_batch_seqs")
STEP_TIME = "step_time_s"
DIMENSIONS = ("n_layers", "d_model", "n_heads", "d_ff", "vocab")
FILLED = (
    "n_kv_heads", "gated_mlp", "moe_experts", "moe_topk", "moe_d_ff", "chips_per_node",
    "inter_node_net", "intra_node_net", "tp", "sp", "pp", "interleave_v", "cp", "ep", "sharding",
    "micro_batch_seqs", "precision", "recompute",
)  # fmt: skip
LABELS = ("id", "group", "source", "model_name", "architecture", "set", "gold", "split", "era",
          "framework", "framework_version", "flags", "optimizer", "job",
          "complete", "sharding_as_printed")  # fmt: skip
MEASURED = ("peak_mem_gib_per_chip", "power_w_per_chip")
METER = ("power_boundary", "cooling")
IGNORED = (
    "source_url", "confidence", "chip_as_printed", "dp",
    "tokens_per_s_per_chip", "notes", "cell",
)  # fmt: skip
COLUMNS = (*NEEDED, STEP_TIME, *DIMENSIONS, *FILLED, *LABELS, *MEASURED, *METER, *IGNORED)

OPTIMIZERS = (*COSTED, "adamw", "sgd", "shampoo")
_COUNTS = ("n_chips", "global_batch_seqs", "seq_len", *DIMENSIONS, "n_kv_heads", "moe_experts",
           "moe_topk", "moe_d_ff", "chips_per_node", "tp", "pp", "interleave_v", "cp", "ep",
           "micro_batch_seqs")  # fmt: skip
_AMOUNTS = (STEP_TIME, *MEASURED)
_FLAGS = ("gated_mlp", "sp", "gold", "complete")
_CHOICES: dict[str, Collection[str]] = {
    "sharding": ("ddp", "zero1", "zero2", "zero3"),
    "precision": (*PRECISIONS, "nvfp4"),
    "era": tuple(sorted(ERAS)),
    "optimizer": OPTIMIZERS,
    "job": tuple(JOBS),
    "split": ("fit", "test"),
    "power_boundary": BOUNDARIES,
    "cooling": COOLINGS,
}
_NEAR = 3.0  # a prediction is nearer than this factor to all but a few runs
_MOST_POWER = 3.0  # times the chip's limit: more than node and network add to it
_WHOLE_MEMORY = 1.05  # some publications round or count GB
_LARGEST = 2**24
_SMALLER = dict.fromkeys(("n_layers", "n_heads", "n_kv_heads", "chips_per_node"), 2**14)


def is_incomplete(cells: Mapping[str, str], measured: str = STEP_TIME) -> str:
    """Why a row is not complete, where nothing in it is wrong; empty: it is.

    Args:
        cells: All of `COLUMNS`.
        measured: The column of what was measured; empty: none.
    """
    if cells.get("complete") == "0":
        return "marked as not complete"
    named = known_model(cells["model_name"])
    needed = (*NEEDED[1:], *filter(None, [measured]), *(() if named else DIMENSIONS))
    lacking = [name for name in needed if not cells[name]]
    if cells["moe_experts"] and cells["moe_d_ff"]:
        lacking = [name for name in lacking if name != "d_ff"]
    unknown = _unknown_model(cells) if set(DIMENSIONS) <= set(lacking) else ""
    return f"no {', '.join(lacking)}{unknown}" if lacking else ""


def known_model(name: str) -> str:
    """The model of the database that a name in any case is; empty: none."""
    word = _as_named(name)
    return word if word in list_models() else ""


def _as_named(name: str) -> str:
    return name.lower().replace(" ", "-").replace("_", "-")


def _unknown_model(cells: Mapping[str, str]) -> str:
    """What to say of a row whose model is not known and not described either."""
    name = cells["model_name"]
    if not name:
        return f" (a model_name of planner models list suffices instead of {', '.join(DIMENSIONS)})"
    word = _as_named(name).rsplit("/", 1)[-1]
    hint = did_you_mean(word, list_models())
    return f"; model_name: {shown(name)} is no model of the database (planner models list){hint}"


def faults(cells: Mapping[str, str]) -> list[str]:
    """What cannot be read in a row; empty cells are no faults.

    Args:
        cells: All of `COLUMNS`, without blanks around the text.
    """
    found = [*_number_faults(cells), *_word_faults(cells)]
    return found or [*_size_faults(cells)]


def _number_faults(cells: Mapping[str, str]) -> Iterator[str]:
    for name in (*_COUNTS, *_AMOUNTS):
        if (text := cells[name]) and (wrong := _number_fault(name, text)):
            yield f"{name}: {wrong}"


@lru_cache(maxsize=2**12)
def _number_fault(name: str, text: str) -> str:
    """What is wrong with a number of a column, which many rows share; else nothing."""
    number = as_number(text)
    if number is None:
        return f"{shown(text)} is not a number"
    if not math.isfinite(number):
        return f"{shown(text)} is not a finite number"
    if name in _AMOUNTS and number <= 0:
        return f"{text} is not positive"
    if name in _AMOUNTS and (rule := beyond(number)):
        return f"{text}: {rule}"
    if name in _COUNTS and not _is_count(name, number):
        return f"{text} is not a positive whole number of at most {_most(name):,}"
    return ""


def _is_count(name: str, number: float) -> bool:
    least = 0 if name.startswith("moe") else 1
    return least <= number <= _most(name) and number == int(number)


def _most(name: str) -> int:
    return _SMALLER.get(name, _LARGEST)


def _word_faults(cells: Mapping[str, str]) -> Iterator[str]:
    for name in _FLAGS:
        if cells[name] not in ("", "0", "1"):
            yield f"{name}: {shown(cells[name])} is not 0 or 1"
    for name, allowed in _CHOICES.items():
        said = cells[name].lower() if name == "optimizer" else cells[name]
        if said and said not in allowed:
            yield f"{name}: {not_one_of(cells[name], allowed)}"
    if cells["recompute"] and (wrong := _recompute_fault(cells["recompute"])):
        yield wrong
    if cells["framework"] and (wrong := framework_fault(cells["framework"])):
        yield f"framework: {wrong}"
    if cells["architecture"] and (wrong := _architecture_fault(cells)):
        yield f"architecture: {wrong}"
    if not cells["hardware"]:
        yield "hardware: is empty; planner hardware list shows the names"
    elif problem := hardware_fault(cells["hardware"]):
        yield from problem.split("\n")


@cache
def _recompute_fault(text: str) -> str:
    """What is wrong with a recomputation; else nothing."""
    try:
        recomputation(text)
    except InputError as error:
        return str(error)
    return ""


def _architecture_fault(cells: Mapping[str, str]) -> str:
    """What is wrong with what a row says of its model beside the dimensions; else nothing."""
    try:
        said = said_of_architecture(cells["architecture"])
    except ValueError as error:
        return str(error)
    if known_model(cells["model_name"]):
        return f"{cells['model_name']} of the database has its own; leave it empty"
    of_experts = [name for name in OF_EXPERTS if name in said]
    return "" if cells["moe_experts"] or not of_experts else f"{of_experts[0]} needs moe_experts"


def as_number(text: str) -> float | None:
    """The number in a cell, None where it is none."""
    try:
        return number_of(text)
    except ValueError:
        return None


@cache
def hardware_fault(name: str) -> str:
    """What is wrong with a name of a chip or cluster, or with the file that it is; else nothing."""
    try:
        load_cluster(name)
    except HardwareError as error:
        return str(error) if names_a_file(name) else f"hardware: {_unknown_hardware(name)}"
    return ""


def _unknown_hardware(name: str) -> str:
    names = [*list_chips(), *list_clusters()]
    word = name.lower().replace(" ", "-").replace("_", "-")
    near = nearest(word, names) or [known for known in names if word.split("-")[0] in known][:4]
    hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
    return f"{shown(name)} is no chip or cluster of the database{hint} (see planner hardware list)"


def _size_faults(cells: Mapping[str, str]) -> Iterator[str]:
    """Numbers that contradict one another."""

    def whole(name: str, default: int = 1) -> int:
        return int(float(cells[name] or default))

    chips, inside = whole("n_chips"), whole("tp") * whole("pp") * whole("cp")
    if chips % inside:
        below, above = chips // inside * inside, (chips // inside + 1) * inside
        near = f"{below} or {above}" if below else f"{above}"
        yield (f"n_chips: {chips} is not a multiple of tp x pp x cp = {inside}; nearest: {near}")
    data = max(chips // inside, 1)
    if not known_model(cells["model_name"]) or cells["n_layers"]:
        if whole("d_model") < whole("n_heads"):
            yield f"n_heads: {cells['n_heads']} exceeds d_model {cells['d_model']}"
        experts = whole("moe_experts", 0)
        if experts and not (whole("moe_topk", 0) and (whole("moe_d_ff", 0) or whole("d_ff", 0))):
            yield "moe_experts: needs moe_topk and moe_d_ff or d_ff beside it"
        if whole("ep") > 1 and experts % whole("ep"):
            yield f"ep: {cells['ep']} does not divide the {experts} experts"
    ranks = data * whole("cp") * whole("tp")
    if ranks % whole("ep"):
        yield f"ep: {cells['ep']} does not divide the {ranks} ranks of a stage"
    if cells["micro_batch_seqs"] and whole("micro_batch_seqs") * data > whole("global_batch_seqs"):
        yield (
            f"global_batch_seqs: {cells['global_batch_seqs']} is less than micro_batch_seqs x data "
            f"ranks = {whole('micro_batch_seqs')} x {data}"
        )


def unit_faults(run: Run, predicted_s: float, mfu: float) -> list[str]:
    """Measurements whose size says that they are in another unit.

    A time is taken for milliseconds from a third of 1000 times the predicted one on (the slowest
    published run takes 114 times the prediction). No run does more
    than the peak rate of its chips; memory does not exceed the chip's, power not three times the
    chip's limit.

    Args:
        run: The run.
        predicted_s: Predicted step time.
        mfu: Model FLOP of the step over what the peak rate of all chips does in that time.
    """
    return [*_time_unit(run.measured_step_time_s, predicted_s, mfu), *_other_units(run)]


def _time_unit(seconds: float, predicted_s: float, mfu: float) -> Iterator[str]:
    implied = mfu * predicted_s / seconds
    said = f"step_time_s: {seconds:g} implies an MFU of {show_percent(implied)}"
    for unit, factor in (("microseconds", 1e-6), ("milliseconds", 1e-3)):
        if seconds * factor / predicted_s >= 1 / _NEAR:
            yield (
                f"{said}; if it is in {unit}, write {seconds * factor:g} "
                f"({show_percent(implied / factor)})"
            )
            return
    if implied > 1:
        minutes = 1 / _NEAR <= seconds * 60 / predicted_s <= _NEAR
        hint = f"; if it is in minutes, write {seconds * 60:g}" if minutes else ""
        yield f"{said}, more than the chips can do{hint}"


def held_faults(run: Run) -> list[str]:
    """Measured memory and power whose size says that they are in another unit."""
    return [*_other_units(run)]


def _other_units(run: Run) -> Iterator[str]:
    chip = run.cluster.chip
    held, power = run.measured_memory_bytes, run.measured_power_w
    if held is not None and held > _WHOLE_MEMORY * chip.memory_bytes:
        gib, whole = held / 2**30, chip.memory_bytes / 2**30
        yield (
            f"peak_mem_gib_per_chip: {gib:g} exceeds the {whole:.4g} GiB of {chip.name}"
            + _scaled_hint(gib, whole, {"MiB": 2.0**10, "KiB": 2.0**20, "bytes": 2.0**30})
        )
    limit = _MOST_POWER * (chip.tdp_w or math.inf)
    if power is not None and power > limit:
        yield (
            f"power_w_per_chip: {power:g} W is more than three times the {chip.tdp_w:g} W of "
            f"{chip.name}"
            + _scaled_hint(power, limit, {"milliwatts": 1e3})
            + f"; a node has {run.cluster.node_chips} chips"
        )


def _scaled_hint(value: float, most: float, units: Mapping[str, float]) -> str:
    for unit, factor in units.items():
        if value / factor <= most:
            return f"; if it is in {unit}, it would be {value / factor:.4g}"
    return ""
