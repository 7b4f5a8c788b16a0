"""A job: what is to be trained, independent of how it is split over chips."""

from __future__ import annotations

from frozen_records import dataclass
from models_db import Model
from planner.assumptions.assumptions import PRECISIONS
from planner.assumptions.experts import ExpertSoftware
from planner.assumptions.optimizers import ADAM, FROZEN, OPTIMIZERS, QUANTIZED, UNQUANTIZED
from planner.assumptions.recipes import check_recipe
from planner.assumptions.software import ERAS, FrameworkProfile
from planner.base.errors import InputError
from planner.base.vocabulary import ADAPTERS, MATRICES, TOWER_RECOMPUTE

JOB_KINDS = ("pretrain", "finetune", "lora")
LONGEST_SEQUENCE = 2**24
LARGEST_BATCH = 2**24
USUAL_RANK = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One training job.

    Attributes:
        model: What is trained.
        seq_len: Tokens per sequence; a fraction where a step's tokens divide evenly among chips
            (`Assumptions.token_granularity`: then a "sequence" is the share of one chip).
        global_batch: Sequences per step, over all chips.
        lengths: What attention spans inside of a sequence, (tokens, share of all tokens) each;
            empty: whole sequences.
        precision: Of the matrix multiplications, one of `PRECISIONS`.
        kind: "pretrain", "finetune" (all parameters) or "lora" (adapters on a frozen model).
        lora_rank: Rank of the adapters of a "lora" job.
        adapter: "lora", or "dora": a trained magnitude for each output beside it.
        lora_targets: Matrices with adapters, of `planner.base.vocabulary.MATRICES`; empty: all of
            them, and time as runs of the era had it.
        lora_dropout: Share of an adapter's inputs that is dropped.
        reference: DPO: where the log-probabilities of the reference model come from, of
            `planner.base.vocabulary.REFERENCES`; empty: there is none.
        trained_ends: A "lora" job trains embedding and head too.
        frozen_weights: Format of the matrices that a "lora" job does not train, a key of
            `planner.assumptions.optimizers.FROZEN`; embedding and head have 16 bits.
        optimizer: A key of `planner.assumptions.optimizers.OPTIMIZERS`.
        framework: Whose memory profile and rules apply.
        era: Software era of the time constants, a key of `planner.assumptions.software.ERAS`.
        experts: How layers with experts run; None: as the framework or the era has it.
        fp8_recipe: How operands are scaled at fp8, a name of
            `planner.assumptions.recipes.FP8_RECIPES`; empty: as the framework or the era has it.
        images: Images of a sequence, which a vision tower encodes; 0: it does not run.
        tower_recompute: What the tower's layers compute again, of
            `planner.base.vocabulary.RECOMPUTES`.
    """

    model: Model
    seq_len: float
    global_batch: int
    lengths: tuple[tuple[float, float], ...] = ()
    precision: str = "bf16"
    kind: str = "pretrain"
    lora_rank: int = USUAL_RANK
    adapter: str = ADAPTERS[0]
    lora_targets: tuple[str, ...] = ()
    lora_dropout: float = 0.0
    reference: str = ""
    trained_ends: bool = False
    frozen_weights: str = UNQUANTIZED
    optimizer: str = ADAM
    framework: FrameworkProfile
    era: str
    experts: ExpertSoftware | None = None
    fp8_recipe: str = ""
    images: int = 0
    tower_recompute: str = TOWER_RECOMPUTE

    def __post_init__(self) -> None:
        if not 1 <= self.seq_len <= LONGEST_SEQUENCE:
            raise InputError(f"seq-len: {self.seq_len} is not in 1..{LONGEST_SEQUENCE}")
        if not 1 <= self.global_batch <= LARGEST_BATCH:
            raise InputError(
                f"batch-tokens: {self.global_batch:,.6g} sequences of {self.seq_len:,} tokens; "
                f"allowed: 1..{LARGEST_BATCH:,} sequences"
            )
        if self.precision not in PRECISIONS:
            raise InputError(f"precision: {self.precision!r} is not one of {', '.join(PRECISIONS)}")
        if self.kind not in JOB_KINDS:
            raise InputError(f"job: {self.kind!r} is not one of {', '.join(JOB_KINDS)}")
        if self.era not in ERAS:
            raise InputError(f"era: {self.era!r} is not one of {', '.join(sorted(ERAS))}")
        if self.lora_rank < 1:
            raise InputError(f"lora-rank: {self.lora_rank} is not positive")
        if self.frozen_weights not in FROZEN:
            known = ", ".join(FROZEN)
            raise InputError(f"frozen-weights: {self.frozen_weights!r} is not one of {known}")
        if self.optimizer not in OPTIMIZERS:
            known = ", ".join(OPTIMIZERS)
            raise InputError(f"optimizer: {self.optimizer!r} is not one of {known}")
        check_mixers(self)
        check_images(self)
        usual = self.framework.fp8_recipe or ERAS[self.era].fp8_recipe
        check_recipe(self.fp8_recipe, self.precision, self.framework, usual)

    @property
    def batch_tokens(self) -> float:
        """Tokens per step."""
        return self.global_batch * self.seq_len

    @property
    def expert_software(self) -> ExpertSoftware | None:
        """How layers with experts run: as the job says, else the framework; None: as the era."""
        return self.experts or self.framework.experts

    @property
    def recipe(self) -> str:
        """How operands are scaled at fp8: as the job says, the framework, or the era."""
        return self.fp8_recipe or self.framework.fp8_recipe or ERAS[self.era].fp8_recipe

    @property
    def trains_all(self) -> bool:
        """Whether every parameter gets a gradient (False for LoRA)."""
        return self.kind != "lora"

    @property
    def adapted(self) -> tuple[str, ...]:
        """Which matrices have adapters; those of a job that does not say are all."""
        return self.lora_targets or MATRICES

    @property
    def widens(self) -> bool:
        """Whether frozen weights have less than 16 bits, so that what reads them widens them."""
        return not self.trains_all and self.frozen_weights in QUANTIZED

    @property
    def widens_for_products(self) -> bool:
        """Whether products widen them: weights in fp8 are multiplied as they are in fp8.

        Source: Llama 2 70B on eight MI325X in MLPerf Training v5.1 (AMD, `fp8_params`), 2.82 s a
        step: 2.87 s are predicted so, 3.39 with a widening.
        """
        return self.widens and not self.frozen_weights == self.precision == "fp8"

    @property
    def reference_passes(self) -> int:
        """Forward passes of a reference model for each of the trained one: 1, or 0.

        Rafailov et al., arXiv:2305.18290, equation 7: the loss takes log-probabilities of both.
        """
        return int(self.reference in ("model", "adapters"))

    @property
    def reference_copies(self) -> int:
        """Models that are held beside the trained one, of all its weights in 16 bits: 1, or 0."""
        return int(self.reference == "model")

    @property
    def learns(self) -> str:
        """What kind of launch it needs: its kind, or "dpo"."""
        return "dpo" if self.reference else self.kind


def check_mixers(job: Job) -> None:
    """Refuses what of a model with recurrences is not modelled.

    Raises:
        InputError: Says what, and why.
    """
    model = job.model
    if model.order is None or model.recurrence is None:
        return
    from planner.cost.kernels.recurrence import WHY_NOT  # noqa: PLC0415  (few models have one)

    if (reason := WHY_NOT.get(model.recurrence.kind)) is not None:
        raise InputError(
            f"model: {model.name} has layers of kind {model.recurrence.kind}, whose parameters are "
            f"counted, but not their cost: {reason}"
        )
    if job.kind == "lora":
        raise InputError(
            f"job: lora of {model.name} is not modelled: which projections of a recurrence get "
            "adapters differs among libraries; allowed: pretrain, finetune"
        )


def check_images(job: Job) -> None:
    """Refuses images that a model cannot take, or whose tower is not modelled.

    Raises:
        InputError: Says what, and why.
    """
    images, model, tower = job.images, job.model, job.model.vision
    if not images:
        return
    if tower is None:
        raise InputError(
            f"images: {images} have no effect: the record of {model.name} has no vision tower; "
            "leave them out, or use a model with one (planner models show qwen3.5-9b)"
        )
    if job.kind == "lora":
        raise InputError(
            "images: of a lora job they are not modelled: which parts of a vision tower are "
            "trained or have adapters differs among libraries; allowed: pretrain, finetune"
        )
    if images * tower.tokens > job.seq_len:
        raise InputError(
            f"images: {images} of {tower.tokens:,} tokens each do not fit into a sequence of "
            f"{job.seq_len:,g} tokens; at most {job.seq_len // tower.tokens:,g}"
        )


def sequences_in(batch_tokens: float, seq_len: int) -> int:
    """Whole sequences in a batch of tokens.

    Raises:
        InputError: The batch is not a positive multiple of the sequence length; the message
            names the nearest batches that are.
    """
    sequences = batch_tokens / seq_len
    if sequences >= 1 and sequences == int(sequences):
        return int(sequences)
    low, high = int(sequences) * seq_len, (int(sequences) + 1) * seq_len
    nearest = f"{low:,} or {high:,}" if low else f"{high:,}"
    raise InputError(
        f"batch-tokens: {batch_tokens:,.15g} tokens is not a whole number of sequences of "
        f"{seq_len:,} tokens; nearest: {nearest}"
    )
