"""What a question leaves open: the value that is taken, listed with the reason for it."""

from __future__ import annotations

from collections.abc import Collection

from hardware_db import Chip, Cluster
from models_db import Model
from planner.assumptions.recipes import FP8
from planner.assumptions.software import ERAS, FrameworkProfile, era_of_compiler
from planner.base.errors import InputError
from planner.base.units import plural
from planner.base.vocabulary import LAYOUTS
from planner.cost.job import JOB_KINDS, sequences_in
from planner.frameworks.profiles import default_framework, framework_named
from planner.frameworks.registry import framework_of_preset, tuning_framework
from planner.frameworks.targets import Target
from planner.question.asked.usual import BATCH_MI, BATCH_TOKENS
from planner.question.recipes.recipes import usual_of
from planner.question.records import preset_of
from planner.question.request import Request

PRETRAIN, _, LORA = JOB_KINDS
_FORMATS = ("bf16", "fp16", "fp32", "int8")  # preferred first

Defaults = list[tuple[str, str, str]]  # (name, value, reason)


def note_network(cluster: Cluster, defaults: Defaults) -> None:
    """Lists the network that a user's chip brings along where no cluster was given."""
    chip = cluster.chip
    if cluster.name == chip.name != chip.default_cluster:
        reason = f"levels of the default_cluster of {chip.name}; give a cluster file to change them"
        defaults.append(("network", chip.default_cluster, reason))


def note_chip(chip: Chip, defaults: Defaults) -> None:
    """Lists what a user's chip takes from the record that it is like."""
    if chip.base is None:
        return
    reason = f"its file says {', '.join(chip.changed)}; the rest is that of the record"
    if chip.derived:
        reason += f", or follows in proportion: {', '.join(chip.derived)}"
    defaults.append(("chip", f"like {chip.base.name}", reason))


def seq_len_of(asked: int | None, model: Model, job: str, defaults: Defaults | None = None) -> int:
    """Tokens per sequence; of jobs that tune a model those of recipes, as far as it goes.

    Args:
        asked: As asked for, or None.
        model: The model.
        job: Its kind.
        defaults: Grows by what was not asked for; None: it is noted already.
    """
    if asked is not None:
        return asked
    length, reason = model.seq_len, f"what {model.name} was trained with"
    known = model.quantities.get("seq_len")
    if known is not None and known.kind == "assumed":
        reason = f"assumed in the record of {model.name}: {known.note}"
    if job != PRETRAIN and (usual := usual_of(job)).seq_len <= length:
        whose = ", ".join(usual.seq_len_from)
        length, reason = usual.seq_len, f"median of {job} recipes of {whose} that pack"
    elif job != PRETRAIN:
        reason += f"; {job} recipes would have {usual.seq_len:,}"
    if defaults is not None:
        defaults.append(("seq-len", f"{length:,}", reason))
    return length


def batch_of(
    batch_tokens: float | None,
    seq_len: int,
    chips: int,
    defaults: Defaults,
    *,
    job: str = PRETRAIN,
    evenly: bool,
) -> tuple[int, float]:
    """What a step is dealt out in, and tokens of each: sequences, or one share per chip.

    Args:
        batch_tokens: As asked for, or None.
        seq_len: Tokens per sequence.
        chips: Chips of the job, which share a batch out evenly.
        defaults: Grows by what was not asked for.
        job: Its kind.
        evenly: Whether chips share a step's tokens evenly, whatever the sequences.

    Raises:
        InputError: The batch is not a whole number of sequences, or less than a token per chip.
    """
    if not evenly:
        return sequences_of(batch_tokens, seq_len, defaults, job), seq_len
    if batch_tokens is None and job != PRETRAIN:
        batch_tokens = sequences_of(None, seq_len, defaults, job) * seq_len
    elif batch_tokens is None:
        batch_tokens = BATCH_TOKENS
        defaults.append(("batch-tokens", f"{BATCH_TOKENS:,} tokens", f"{BATCH_MI} Mi tokens"))
    if batch_tokens < chips:
        raise InputError(
            f"batch-tokens: {batch_tokens:,.15g} tokens are less than one for each of "
            f"{chips:,} chips; nearest: {chips:,}"
        )
    return chips, batch_tokens / chips


def sequences_of(
    batch_tokens: float | None, seq_len: int, defaults: Defaults, job: str = PRETRAIN
) -> int:
    """Sequences per step.

    Raises:
        InputError: The batch that was asked for is not a whole number of sequences.
    """
    if batch_tokens is not None:
        return sequences_in(batch_tokens, seq_len)
    sequences = max(1, round(BATCH_TOKENS / seq_len))
    reason = f"{BATCH_MI} Mi tokens in whole sequences"
    if job != PRETRAIN:
        usual = usual_of(job)
        whose = ", ".join(usual.sequences_from)
        sequences, reason = usual.sequences, f"median of {job} recipes of {whose}"
    text = f"{sequences * seq_len:,} tokens = {plural(sequences, 'sequence')}"
    defaults.append(("batch-tokens", text, reason))
    return sequences


def framework_of(
    asked: str | None,
    chip: Chip,
    defaults: Defaults,
    preset: str = "calibrated",
    targets: Collection[Target] = (),
    *,
    tuned: str = "",
) -> FrameworkProfile:
    """The framework whose memory profile and rules apply; a textbook's preset has its own.

    What is to run the plan says which one, where all of that is of one framework.

    Args:
        asked: Its name, or None.
        chip: The chip.
        defaults: Grows by what was not asked for.
        preset: Of the assumptions.
        targets: What is to run the plan.
        tuned: The format of the matrix multiplications of a job that `tunes_whole`; else empty.

    Raises:
        InputError: The name is unknown.
    """
    if asked is not None:
        return framework_named(asked)
    if (own := framework_of_preset(preset)) is not None:
        profile = own.profiles[0]
        defaults.append(("framework", profile.name, own.preset_reason))
        return profile
    runs = {target.framework for target in targets}
    if len(runs) == 1:
        (name,) = runs
        defaults.append(
            ("framework", name, f"that of {' and '.join(target.name for target in targets)}")
        )
        return framework_named(name)
    if tuned and (tuner := tuning_framework(chip.vendor, tuned)) and tuner.tuning:
        profile = tuner.profiles[0]
        defaults.append(("framework", profile.name, tuner.tuning.reason))
        return profile
    framework = default_framework(chip.vendor)
    usual = "of no vendor" if chip.vendor == "none" else f"usual on {chip.vendor} chips"
    defaults.append(("framework", framework.name, usual))
    return framework


def tunes_whole(request: Request) -> bool:
    """Whether a job tunes whole models, all of their weights or adapters.

    That is without stages or experts that the question divides over chips.
    """
    divided = [values for name, values in request.fix.items() if name in ("pp", "ep")]
    whole = request.layout == LAYOUTS[0] and all("1" in values for values in divided)
    return request.job != PRETRAIN and whole


def era_of(
    asked: str | None,
    framework: FrameworkProfile,
    chip: Chip,
    defaults: Defaults,
    job: str = PRETRAIN,
) -> str:
    """The software era of the time constants; Trainium and Gaudi have compilers of their own."""
    if asked is not None:
        return asked
    own = (framework.adapters_era if job == LORA else "") or framework.era
    era = era_of_compiler(chip) or own
    whose = framework.name if era == own else f"the compiler for {chip.name}"
    whose += " with adapters" if era == framework.adapters_era != framework.era else ""
    defaults.append(("era", era, f"software era of {whose}"))
    return era


def recipe_of_software(
    request: Request,
    framework: FrameworkProfile,
    era: str,
    precision: str,
    defaults: Defaults,
) -> str:
    """How operands are scaled at fp8; listed where that counts."""
    if request.fp8_recipe is not None:
        return request.fp8_recipe
    recipe, whose = framework.fp8_recipe, framework.name
    if not recipe:
        recipe, whose = ERAS[era].fp8_recipe, era
    if precision == FP8 and preset_of(request.assumptions) == "calibrated":
        defaults.append(("fp8-recipe", recipe, f"scaling of {whose}"))
    return recipe


def precision_of(asked: str | None, chip: Chip, defaults: Defaults) -> str:
    """The format of the matrix multiplications."""
    if asked is not None:
        return asked
    precision = next((dtype for dtype in _FORMATS if dtype in chip.peak_flop_per_s), "bf16")
    defaults.append(("precision", precision, "widest matrix format of the chip"))
    return precision
