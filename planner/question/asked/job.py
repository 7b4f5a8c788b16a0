"""Fields that say what is trained, on what, and under which assumptions."""

from __future__ import annotations

from planner.question.asked.field import JOB, Asked
from planner.question.asked.usual import BATCH_MI, RECIPE_SEQ_LEN, RECIPE_SEQUENCES

JOB_FIELDS = (
    Asked(
        name="model",
        help="Model name (planner models list) or YAML file",
        panel=JOB,
        kind="path",
        default=...,
        few="Model (planner models list) or YAML file.",
    ),
    Asked(
        name="hardware",
        help="Cluster or chip name (planner hardware list) or YAML file",
        replacing="Another cluster or chip than the file's",
        panel=JOB,
        kind="path",
        default="tpu-v5p",
        few="Cluster or chip (planner hardware list), or file.",
    ),
    Asked(
        name="chips",
        help=(
            "Chips to plan for, all of them used; a range such as 512..4096 leaves their number to "
            "the search"
        ),
        more="Of a torus also a slice such as 16x16x16",
        panel=JOB,
        kind="whole",
        unit="chips",
        few="Chips; 512..4096 leaves their number open.",
    ),
    Asked(
        name="chips_at_most",
        help="Any number of chips up to this one, instead of --chips; the front is over all",
        panel=JOB,
        kind="whole",
        unit="chips",
    ),
    Asked(
        name="pools",
        help=(
            "Pools of different chips in one job, instead of --hardware and --chips, e.g. "
            "dgx-h100-ndr=512,dgx-a100-80-hdr=512; with --layout uneven"
        ),
        panel=JOB,
        kind="sizes",
        metavar="HARDWARE=CHIPS,...",
        page="uneven.md#pools-of-different-chips",
    ),
    Asked(
        name="batch_tokens",
        help="Tokens per step, e.g. 4Mi or 3e6",
        more="Rounded to whole sequences",
        panel=JOB,
        kind="quantity",
        default_text=f"{BATCH_MI}Mi; of finetune and lora {RECIPE_SEQUENCES} sequences",
        unit="tokens",
        few="Tokens per step, e.g. 3e6 (pretrain: 4Mi).",
    ),
    Asked(
        name="seq_len",
        help="Tokens per sequence",
        panel=JOB,
        kind="whole",
        default_text=f"the model's own; of finetune and lora {RECIPE_SEQ_LEN} if that is less",
        unit="tokens",
        few="Tokens per sequence (pretrain: the model's).",
    ),
    Asked(
        name="lengths",
        help=(
            "Tokens that attention spans inside of packed sequences, with their shares of the "
            "tokens, e.g. 512=0.4,2048=0.6, or mean=600,cv=1.2 of documents"
        ),
        more="Also of a warm-up: the lengths of its sequences, over the tokens of the run",
        replacing=(
            "Tokens that attention spans inside of packed sequences, e.g. 512=0.4,2048=0.6 (shares "
            "of the tokens) or mean=600,cv=1.2"
        ),
        panel=JOB,
        kind="sizes",
        default_text="whole sequences",
        metavar="TOKENS=SHARE,...",
        page="fine-tuning.md#packing",
    ),
    Asked(
        name="images",
        help="Images per sequence, which a vision tower encodes",
        more="Of a model with one; 0 is text alone",
        panel=JOB,
        kind="whole",
        default=0,
        page="models.md#vision-towers",
    ),
    Asked(
        name="tower_recompute",
        help="What layers of a vision tower recompute: none, selective or full",
        more="Needs images; layers of the decoder have their own, which a search decides",
        panel=JOB,
        kind="word",
        default="full",
        page="models.md#vision-towers",
    ),
    Asked(
        name="precision",
        help="bf16, fp16, fp8, mxfp8, fp4, fp32 or int8",
        more="Of the matrix multiplications",
        replacing="Another precision",
        panel=JOB,
        kind="word",
        default_text="the chip's 16 bits",
    ),
    Asked(
        name="fp8_recipe",
        help="How operands are scaled at fp8: delayed or current (by tensor) or blockwise",
        more="MXFP8 and NVFP4 are precisions",
        panel=JOB,
        kind="word",
        default_text="as the software does",
        page="model/kernels.md#narrow-formats-and-adapters",
    ),
    Asked(
        name="job",
        help=(
            "pretrain, finetune (sft is another word for it) or lora; also qlora, dora, dpo and "
            "dpo-lora"
        ),
        more=(
            "The first two train all parameters, lora trains adapters; qlora is lora with "
            "frozen_weights nf4, dora lora with adapter dora, dpo finetune with reference model, "
            "dpo-lora lora with reference adapters"
        ),
        panel=JOB,
        kind="word",
        default="pretrain",
        page="fine-tuning.md",
    ),
    Asked(
        name="lora_rank",
        help="Rank of LoRA adapters",
        more="The default is the median of published recipes",
        panel=JOB,
        kind="whole",
        default=16,
    ),
    Asked(
        name="adapter",
        help="Of a lora job: lora, or dora, which has a magnitude for each output as well",
        panel=JOB,
        kind="word",
        default="lora",
        page="fine-tuning.md#adapters",
    ),
    Asked(
        name="lora_targets",
        help="Matrices with adapters: all, attention, mlp, or of q, k, v, o, gate, up, down",
        more="Of latent attention all or none have them",
        panel=JOB,
        kind="words",
        default=("all",),
        default_text="all",
        page="fine-tuning.md#adapters",
    ),
    Asked(
        name="lora_dropout",
        help="Share of the inputs of an adapter that is dropped; its masks take memory",
        panel=JOB,
        kind="share",
        default_text="0",
        page="fine-tuning.md#adapters",
    ),
    Asked(
        name="reference",
        help=(
            "Preference pairs (DPO): log-probabilities of the reference model come from a second "
            "model, from the model without its adapters, or are precomputed: model, adapters or "
            "precomputed"
        ),
        more="A pair is two sequences of the step",
        panel=JOB,
        kind="word",
        default_text="no pairs",
        page="fine-tuning.md#preference-pairs",
    ),
    Asked(
        name="frozen_weights",
        help="Format of the matrices that a lora job does not train: 16-bit, fp8, int4 or nf4",
        more="Embedding and head keep 16 bits",
        replacing="Another format of the matrices that a lora job does not train",
        panel=JOB,
        kind="word",
        default="16-bit",
        page="fine-tuning.md",
    ),
    Asked(
        name="optimizer",
        help="Optimizer whose state memory counts: adam, adam-bf16, adam-8bit, muon and others",
        more="Its step takes the time of Adam's",
        replacing="Another optimizer, whose state memory counts",
        panel=JOB,
        kind="word",
        default="adam",
        page="model/weights.md#optimizers",
    ),
    Asked(
        name="framework",
        help=(
            "{frameworks} (default: by chip; of finetune on GPUs fsdp); decides memory profile, "
            "schedules, layer splits and rank layouts"
        ),
        replacing="Another framework, with its own era",
        panel=JOB,
        kind="name",
        default_text="by chip; of finetune on GPUs fsdp",
        few="{some-frameworks}, ... (default: by chip).",
    ),
    Asked(
        name="era",
        help="Software era of the time constants",
        replacing="Another software era",
        panel=JOB,
        kind="name",
        default_text="the framework's",
    ),
    Asked(
        name="assumptions",
        help=(
            "calibrated, roofline (a textbook's limits), rack-zero or rack-energy (two reports on "
            "racks), or YAML file of overrides"
        ),
        replacing="Preset, or YAML file of overrides",
        panel=JOB,
        kind="path",
        default="calibrated",
        page="model/within-chip.md#which-presets-are-the-two-reports-on-racks",
    ),
    Asked(
        name="calibration",
        help="Local calibration of your own measurements, as planner calibrate writes it",
        replacing="Local calibration, as planner calibrate writes it",
        panel=JOB,
        kind="path",
        default_text="none, the shipped constants",
        page="calibration.md",
    ),
    Asked(
        name="collectives",
        help=(
            "Collectives that plans assume: nccl (those of the library), synthesized (schedules "
            "made for the wiring) or best (the faster of both at each size)"
        ),
        replacing=(
            "Collectives that plans assume: nccl, synthesized (schedules made for the wiring) or "
            "best (the faster of both)"
        ),
        panel=JOB,
        kind="word",
        default_text="nccl",
        page="collectives/planner.md",
    ),
    Asked(
        name="degrade_link",
        help=(
            "A link between two chips of a level that carries only a share of its rate, e.g. "
            "nvlink:0-2=0.25, or 0 where it failed; of a chip to a switch leaf:3=0.5; in every "
            "domain"
        ),
        replacing=(
            "A link between two chips of a level that carries only a share of its rate, e.g. "
            "nvlink:0-2=0.25 (0: failed), of a chip to a switch leaf:3=0.5; in every domain "
            "(repeatable)"
        ),
        panel=JOB,
        kind="texts",
        default=(),
        default_text="none",
        metavar="LEVEL:CHIP-CHIP=SHARE",
        page="collectives/planner.md",
    ),
    Asked(
        name="set",
        help=(
            "What if: a field of chip, cluster, model, assumptions or calibration, times a factor "
            "or with another value, e.g. memory.bandwidth=2x or levels.leaf.latency=2us"
        ),
        replacing=(
            "What if: a field of chip, cluster, model, assumptions or calibration, e.g. "
            "memory.bandwidth=2x (repeatable)"
        ),
        more="A mapping or a list of texts",
        panel=JOB,
        kind="changes",
        default=(),
        default_text="none",
        metavar="PATH=VALUE",
        page="what-if.md",
    ),
    Asked(
        name="mfu",
        help="Under roofline: share of the peak, e.g. 0.4",
        panel=JOB,
        kind="share",
        default_text="1",
    ),
    Asked(
        name="torus_axes",
        help="Torus axes that serve mesh axes, e.g. fsdp=2,tp=1",
        panel=JOB,
        kind="sizes",
        default_text="as the placement has them",
        metavar="AXIS=NUMBER,...",
    ),
)
