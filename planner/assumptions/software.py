"""What a training framework keeps in memory, sends, overlaps and allows, as data.

Two things differ between frameworks for the same plan: the *memory profile* (bytes kept per
parameter and per token) and the *software era* (how fast its kernels and host code are; those
constants live in `hardware_db/data/calibration`). `FrameworkProfile` holds the first and names the
second.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from frozen_records import dataclass
from planner.assumptions.experts import ExpertSoftware
from planner.assumptions.optimizers import ADAM
from planner.base.errors import InputError
from planner.base.units import GIB

if TYPE_CHECKING:
    from hardware_db import Chip

LOSS_PASSES = 2.5
"""How often the loss reads or writes a byte that it keeps of a logit, both passes. Every buffer is
written once and read at least once; what is reduced over the vocabulary (the largest logit, the
sum) is read again. Counted in Megatron-LM (core/tensor_parallel/cross_entropy.py): 3.7 unfused; in
PyTorch's `log_softmax` of a copy in 32 bits: 2.9; in flash-attn's kernel: 1.8."""
DATA_INSIDE = ("tp", "cp", "fsdp", "dp", "pp")
PIPELINE_INSIDE = ("tp", "cp", "pp", "fsdp", "dp")
_GROUPED = ExpertSoftware()
_PERMUTED = ExpertSoftware(kernels="permuted")
_BY_COMPILER = ExpertSoftware(launches_each=False)


FAMILIES = {"hopper": "cudnn", "ampere": "fa2_ampere"}
"""Chips whose attention runs at the rate of the software's kernel, and the key of today's best."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Era:
    """A generation of software: which kernels it uses and what it hides.

    Attributes:
        name: As typed by the user.
        constants: Key of the calibration file's `era` group; empty: the name.
        experts: How layers with experts run where a run does not say.
        overlaps_p2p: Whether stages of an interleaved schedule send while they compute.
        hides_reduction: Whether gradients are reduced during the backward pass; Megatron-LM got
            `--overlap-grad-reduce` in 2023.
        hides_gather: Whether zero1 and zero2 gather the updated weights behind the next forward
            pass; else that gathering ends the step.
        fused_attention: FlashAttention-like kernels (no S x S matrix in memory).
        hopper_attention: Key of `attention_efficiency` on Hopper and newer GPUs.
        ampere_attention: The same on Ampere: `fa2_ampere` since FlashAttention-2 (July 2023).
        overlaps_tp: Whether tensor-parallel collectives hide behind GEMMs.
        gradient_wire_bytes: Bytes per gradient element in the data-parallel reduction.
        gradient_sum_bytes: Least bytes per element where gradients of micro-batches add up.
        bucket_bytes: Size of the buckets of that reduction.
        splits_p2p: Pipeline messages are divided among the tensor-parallel ranks.
        adapts_mlp: LoRA adapters stand beside all matrices of a layer, not those of attention
            alone.
        fp8_recipe: How 8-bit operands are scaled where nothing else is said, a name of
            `planner.assumptions.recipes.FP8_RECIPES`.
        gathers_quantized: Zero1 gathers updated weights as products at fp8 take them, in 8 bits.
            NVIDIA's recipes set `fp8_param_gather` (Megatron-Bridge, training/mixed_precision.py,
            `bf16_with_fp8_delayed_scaling_mixed` and `_current_`). MXFP8 and NVFP4, whose scales
            differ between rows and columns, are made from gathered 16 bits.
        generation: Eras of one keep the same in memory; empty: the name.
        vendor, architecture: Of the only chips that its compiler is for: the maker, and how the
            name of the architecture begins; empty: any.
    """

    name: str
    fused_attention: bool
    hopper_attention: str
    ampere_attention: str = "fa2_ampere"
    overlaps_tp: bool = False
    gradient_wire_bytes: float = 4.0
    gradient_sum_bytes: float = 0.0
    bucket_bytes: float = 200e6
    splits_p2p: bool = False
    adapts_mlp: bool = False
    fp8_recipe: str = "delayed"
    gathers_quantized: bool = False
    constants: str = ""
    experts: ExpertSoftware = _GROUPED
    overlaps_p2p: bool = False
    hides_reduction: bool = True
    hides_gather: bool = False
    generation: str = ""
    vendor: str = ""
    architecture: str = ""

    def compiles_for(self, chip: Chip) -> bool:
        """Whether a chip is one of those that its compiler is for."""
        of_maker = self.vendor in ("", chip.vendor)
        return of_maker and chip.architecture.startswith(self.architecture)

    def attention_on(self, family: str) -> str:
        """Key of `attention_efficiency` on chips of one of `FAMILIES`."""
        return self.hopper_attention if family == "hopper" else self.ampere_attention

    @property
    def keeps_as(self) -> str:
        """What the era's memory is known by."""
        return self.generation or self.name

    @property
    def key(self) -> str:
        """Key of the calibration file's `era` group."""
        return self.constants or self.name


# NVIDIA's performance recipes reduce gradients in 16 bits (`grad_reduce_in_fp32 = False`).
_MEGATRON_CORE = Era(
    name="megatron-core",
    fused_attention=True,
    hopper_attention="cudnn",
    overlaps_tp=True,
    gradient_wire_bytes=2.0,
    experts=ExpertSoftware(kernels="fused"),
    overlaps_p2p=True,
    hides_gather=True,
    gathers_quantized=True,
    generation="megatron-core",
)
ERAS = {
    era.name: era
    for era in (
        Era(
            name="megatron-deepspeed",
            fused_attention=False,
            hopper_attention="fa2_hopper",
            gradient_wire_bytes=2.0,
            gradient_sum_bytes=4.0,  # beside DeepSpeed's engine, not in Megatron's own buffer
            splits_p2p=True,
        ),
        Era(
            name="megatron-2022",
            fused_attention=False,
            hopper_attention="fa2_hopper",
            hides_reduction=False,
        ),
        Era(
            name="nanotron", fused_attention=True, hopper_attention="fa2_hopper", bucket_bytes=25e6
        ),
        Era(
            name="llm-foundry",
            fused_attention=True,
            hopper_attention="fa2_hopper",
            ampere_attention="a100",  # its table of A100 is of before July 2023
            gradient_wire_bytes=2.0,
            generation="torch-fsdp",  # PyTorch FSDP too
        ),
        Era(  # torchao scales by the tensor at hand
            name="torch-fsdp",
            fused_attention=True,
            hopper_attention="fa2_hopper",
            fp8_recipe="current",
        ),
        Era(  # Hugging Face models in PyTorch, launched kernel by kernel, with FlashAttention
            name="torch-eager",
            fused_attention=True,
            hopper_attention="fa2_hopper",
            adapts_mlp=True,
            generation="torch-fsdp",
        ),
        Era(  # graphs of the Gaudi compiler, built anew by the host (lazy mode)
            name="gaudi",
            fused_attention=True,
            hopper_attention="fa2_hopper",
            adapts_mlp=True,
            vendor="Intel",
            architecture="Gaudi",
        ),
        replace(_MEGATRON_CORE, name="megatron-core-2025", constants="", experts=_PERMUTED),
        replace(
            _MEGATRON_CORE,
            name="megatron-core-2026.04",
            constants="megatron-core",
            experts=_GROUPED,
            fp8_recipe="current",
        ),
        replace(_MEGATRON_CORE, fp8_recipe="current"),  # NeMo 26.06 and later
        Era(  # XLA cuts products and their collectives into parts that overlap: Wang et al., ASPLOS
            # 2023, doi:10.1145/3567955.3567959
            name="jax",
            fused_attention=True,
            hopper_attention="cudnn",
            overlaps_tp=True,
            experts=_BY_COMPILER,
            hides_gather=True,
        ),
        Era(
            name="neuron",
            fused_attention=True,
            hopper_attention="cudnn",
            experts=_BY_COMPILER,
            hides_gather=True,
            vendor="AWS",
        ),
    )
}


def era_on(name: str, chip: Chip) -> Era:
    """The era of a name, on a chip.

    Raises:
        InputError: There is none of the name, or its compiler is not for the chip.
    """
    if name not in ERAS:
        raise InputError(f"era: {name!r} is not one of {', '.join(sorted(ERAS))}")
    era = ERAS[name]
    if not era.compiles_for(chip):
        there = sorted(one.name for one in ERAS.values() if one.compiles_for(chip))
        only = f"{era.architecture} chips of {era.vendor}".strip()
        raise InputError(
            f"era: {name} is the compiler for {only} alone, not for {chip.name}; "
            f"allowed there: {', '.join(there)}"
        )
    return era


COMPILERS = tuple(era for era in ERAS.values() if era.vendor)
"""Eras of compilers that are for some chips alone."""


def era_of_compiler(chip: Chip) -> str:
    """The era of the compiler that is for such chips alone; empty: there is none."""
    return next((era.name for era in COMPILERS if era.compiles_for(chip)), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameworkProfile:
    """The memory profile and the habits of one framework.

    Attributes:
        name: As typed by the user.
        era: Default software era (key of `ERAS`).
        adapters_era: The same of jobs that train adapters; empty: no other.
        adapter_identity: DoRA multiplies the factors of an adapter by sending an identity through.
        weight_bytes, gradient_bytes, optimizer_bytes: Per parameter, before sharding. Weights
            count what stays resident beside the optimizer's master copy.
        master_bytes: The part of `optimizer_bytes` that is a copy of the weights, not moments.
        sums_as_sent: Gradients of micro-batches add up in the buffer that is reduced, so that one
            format holds for memory and wire: `planner.cost.context.one_format`. Megatron-LM
            core 0.16.1, core/distributed/distributed_data_parallel.py (`grad_dtype`).
        sent_bytes: Bytes of a gradient as it is reduced, in frameworks that do not leave it to the
            era; 0: those of the era.
        keeps_quantized: Inputs of matrix products below 16 bits are kept for backward as they were
            multiplied. Transformer Engine d0067d0da6, pytorch/module/linear.py (`saved_inputmat`).
        gated_saved, plain_saved: Bytes saved for backward per token and unit of MLP width, with
            and without gating (6: fused SwiGLU keeps its two inputs and the product; 8: eager).
        combined_saved: Bytes kept of an expert's output; 0 where its tokens are weighted inside it.
        logits_bytes: Per logit on the last stage: 14 eager fp32 loss, 10 compiled, 6 fused.
        lingering_logits_bytes: Per logit, added while the previous micro-batch's logits live.
        vocab_parallel_loss: Logits are divided by tp.
        keeps_gathered: "never", "always", or "unknown" (the expected share of
            `planner.cost.memory.memory.kept_share`): whether the gathered inputs of
            column-parallel layers are saved under sequence parallelism. nanotron: its option
            `tp_recompute_allgather`, which the published runs do not state.
        gather_buffers: Bytes per token and hidden unit, times 1 - 1/tp, that gathers hold once:
            nanotron gathers into a buffer that stays (2 B) and multiplies a gradient of full width
            before its reduce-scatter (2 B; nanotron/parallel/tensor_parallel/functional.py).
        repeats_fused: "core-attention" runs fused attention again as well, which drops nothing.
        selective: What `recompute: selective` drops: "core-attention" (the scores only: nothing
            with fused attention), "half-matmuls" (all but half of the matmul outputs),
            "second-matmuls" (every second one, as a layer runs them),
            "up-projections" (those of latent attention, norms and activations: what stays are
            inputs of norms, latents, attention's output, and what products of experts read) or
            all but what "keeps a,b" lists (`planner.cost.kernels.selection`).
        stops_early: Where a whole layer is recomputed, what backward reads ends it: the last
            product of a dense MLP is not run again, nor the exchange of its output. PyTorch's
            checkpoints that are not reentrant, from 2.1 on (torch 2.13, utils/checkpoint.py,
            `_StopRecomputationError`); compilers, which leave out what nothing reads.
        derived_from: The framework whose rules hold too; empty: none.
        most_chunks: Chunks per stage up to which interleaved plans are searched; 0: any number.
            PyTorch keeps at most three chunks of a stage gathered
            (torch/distributed/pipelining/schedules.py, `_add_unshard_reshard`).
        gathers_once_under_pp: Under zero3 with pp > 1 the whole stage and its gradients stay
            unsharded from the first micro-batch to the last: one gather of
            the weights and one reduction of the gradients per step. Without, both are done with
            every micro-batch. torchtitan: `fsdp_reshard_after_forward: default` does not reshard
            under pp, and PyTorch's `torch.distributed.pipelining.stage` reduces with the last
            backward pass only (`backward_maybe_with_nosync`).
        reduces_replicas_every_micro_batch: Without a pipeline the all-reduce of ddp and that across
            the replicas of hybrid zero3 are done with every micro-batch. torchtitan, whose trainer
            never holds them back (train.py and trainer.py, no `set_requires_all_reduce`); under pp
            PyTorch reduces with the last backward pass only, as above.
        gathers_context: Rings of context parallelism gather all keys and values at once, behind the
            first of their cp parts of attention, instead of passing them on. PyTorch
            (torch/distributed/tensor/experimental/_attention.py, `_AllGatherRotater`), whose
            gradients of both still go round; torchtitan's `context_parallel_rotate_method` is
            that by default.
        weight_gradient_buffer: Bytes per parameter of one layer kept as dummy weight gradients.
        gradient_residue: Bytes per parameter that stay beside the gradients.
        embedding_residue: Bytes per embedding parameter on the first stage.
        optimizer_phase: Bytes per parameter allocated during the optimizer step.
        widened_gradients: Bytes per parameter that a chip steps, for a copy of its gradients in 32
            bits during the step (DeepSpeed 0.16, runtime/zero/stage_1_and_2.py, `step`).
        widened_at_once: Parameters of which zero3 makes that copy at a time (DeepSpeed's default
            `sub_group_size`).
        gathered_layers: Layers that zero3 holds gathered at once, with their gradients.
        whole_gradient_bytes: Of a gradient of those before it is reduced; 0: `gradient_bytes`.
        module_hook_s: Seconds of the host for the hooks of one module of a layer in one pass under
            zero3; 0: it has none.
        live_parameters: Parameters that zero3 keeps gathered if the model has as many
            (DeepSpeed's default `stage3_max_live_parameters`).
        constant_bytes: Workspaces counted by the allocator.
        reserve_bytes: Outside the allocator: context and communication buffers.
        usable_share: Share of (capacity - reserve) that a plan may fill.
        headroom_share: Share of the whole capacity above which PyTorch's allocator may slow a
            step down, so that no plan fills more by default (`planner.cost.memory.risk`); XLA lays
            its memory out before the run, so 1 there.
        slows_without_headroom: Whether published runs of the framework were slower above it.
        memory_knowledge: How well published runs bear the profile out: "profile" or
            "unmeasured" (keys of `planner.cost.memory.risk.SPREADS`).
        vocab_multiple: The vocabulary is padded to this times tp.
        splits: Layer-to-stage rules it offers (names of `planner.plan.SPLITS`).
        schedules: Pipeline schedules it offers.
        shardings: Data-parallel shardings it offers.
        orders: Orders of the mesh axes that its rank layout offers, innermost first; empty: any.
        lacks: Mesh axes that it does not have: they must be 1.
        splits_experts: Whether experts may have a tensor parallelism of their own (etp).
        recompute_modules: Modules of a layer that it can be told to recompute, of
            `planner.base.vocabulary.MODULES`.
        takes_lists: Whether it is given the layers of every stage as a list.
        recomputes_alike: What one setting of recomputation is for, in words.
        optimizers: Optimizers that its launches can name, keys of
            `planner.assumptions.optimizers.OPTIMIZERS`.
        remark: What lists of names say beside its own; empty: nothing.
        experts: How layers with experts run; None: as the software era has it.
        fp8_recipe: Its own way to scale 8-bit operands; empty: as the software era has it.
        fp8_recipes: Those that it can be told, of `planner.assumptions.recipes`; empty: none.
    """

    name: str
    era: str
    weight_bytes: float
    gradient_bytes: float
    optimizer_bytes: float
    master_bytes: float = 4.0
    sums_as_sent: bool = False
    sent_bytes: float = 0.0
    keeps_quantized: bool = False
    gated_saved: float = 6.0
    plain_saved: float = 4.0
    combined_saved: float = 2.0
    logits_bytes: float = 6.0
    lingering_logits_bytes: float = 0.0
    vocab_parallel_loss: bool = True
    keeps_gathered: str = "never"
    gather_buffers: float = 0.0
    selective: str = "core-attention"
    repeats_fused: bool = False
    stops_early: bool = False
    gathers_once_under_pp: bool = False
    reduces_replicas_every_micro_batch: bool = False
    derived_from: str = ""
    most_chunks: int = 0
    gathers_context: bool = False
    weight_gradient_buffer: float = 0.0
    gradient_residue: float = 0.0
    embedding_residue: float = 0.0
    optimizer_phase: float = 0.0
    widened_gradients: float = 0.0
    widened_at_once: float = 1e9
    gathered_layers: float = 2.0
    whole_gradient_bytes: float = 0.0
    module_hook_s: float = 0.0
    live_parameters: float = 0.0
    constant_bytes: float = 0.5 * GIB
    reserve_bytes: float = 2.5 * GIB
    usable_share: float = 0.90
    headroom_share: float = 0.88
    slows_without_headroom: bool = False
    memory_knowledge: str = "profile"
    splits: tuple[str, ...] = ("even",)
    vocab_multiple: int = 1
    schedules: tuple[str, ...] = ("1f1b",)
    shardings: tuple[str, ...] = ("ddp", "zero1", "zero2", "zero3")
    orders: tuple[tuple[str, ...], ...] = (DATA_INSIDE,)
    lacks: tuple[str, ...] = ()
    splits_experts: bool = False
    recompute_modules: tuple[str, ...] = ()
    takes_lists: bool = False
    recomputes_alike: str = "all layers"
    optimizers: tuple[str, ...] = (ADAM,)
    adapters_era: str = ""
    adapter_identity: bool = False
    remark: str = ""
    experts: ExpertSoftware | None = None
    fp8_recipe: str = ""
    fp8_recipes: tuple[str, ...] = ()

    @property
    def loss_bytes(self) -> float:
        """What the loss moves per logit, both passes."""
        return LOSS_PASSES * self.logits_bytes
