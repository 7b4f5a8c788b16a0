"""The fields of the question as types, for editors and type checkers.

Made by `python benchmarks/fields.py` from `planner.question.asked`; a test compares them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Required, TypedDict

FilePath = str | os.PathLike[str]
"""A name of the database, or the path of a file."""
Several = str | list[str] | tuple[str, ...]
"""Words, or text with commas between them."""
TowerRecompute = Literal["none", "selective", "full"]
Precision = Literal["bf16", "fp16", "fp32", "fp8", "mxfp8", "fp4", "int8"]
Fp8Recipe = Literal["delayed", "current", "blockwise"]
Job = Literal["pretrain", "finetune", "lora", "sft", "qlora", "dora", "dpo", "dpo-lora"]
Adapter = Literal["lora", "dora"]
Reference = Literal["model", "adapters", "precomputed"]
FrozenWeights = Literal["16-bit", "fp8", "int4", "nf4"]
Optimizer = Literal["adam", "adam-bf16", "adam-fp8", "adam-8bit", "adafactor", "lion", "muon"]
Collectives = Literal["nccl", "synthesized", "best"]
Placement = Literal["framework", "all", "torus"]
PowerBoundary = Literal["chip", "node", "node_and_fabric", "facility", "chips", "nodes", "it"]
Cooling = Literal["air", "liquid"]
CheckpointWrites = Literal["async", "blocking", "peer-memory"]
OnFailure = Literal["spare", "wait", "shrink"]


class FeasibleFields(TypedDict, total=False):
    """Fields of `planner.feasible`, beside its own."""

    assumptions: FilePath
    """calibrated, roofline (a textbook's limits), rack-zero or rack-energy (two reports on racks),
    or YAML file of overrides. Default: calibrated."""
    calibration: FilePath | None
    """Local calibration of your own measurements, as planner calibrate writes it. Default: none,
    the shipped constants."""
    collectives: Collectives | None
    """Collectives that plans assume: nccl (those of the library), synthesized (schedules made for
    the wiring) or best (the faster of both at each size). Default: nccl."""
    degrade_link: Several
    """A link between two chips of a level that carries only a share of its rate, e.g.
    nvlink:0-2=0.25, or 0 where it failed; of a chip to a switch leaf:3=0.5; in every domain.
    Default: none."""
    set: Mapping[str, Any] | Several
    """What if: a field of chip, cluster, model, assumptions or calibration, times a factor or with
    another value, e.g. memory.bandwidth=2x or levels.leaf.latency=2us. A mapping or a list of
    texts. Default: none."""
    mfu: float | str | None
    """Under roofline: share of the peak, e.g. 0.4. Default: 1."""
    torus_axes: Mapping[str, float | str] | str | None
    """Torus axes that serve mesh axes, e.g. fsdp=2,tp=1. Default: as the placement has them."""
    seq_len: int | str | None
    """Tokens per sequence. Default: the model's own; of finetune and lora 4096 if that is less."""
    lengths: Mapping[str, float | str] | str | None
    """Tokens that attention spans inside of packed sequences, with their shares of the tokens, e.g.
    512=0.4,2048=0.6, or mean=600,cv=1.2 of documents. Also of a warm-up: the lengths of its
    sequences, over the tokens of the run. Default: whole sequences."""
    precision: Precision | None
    """bf16, fp16, fp8, mxfp8, fp4, fp32 or int8. Of the matrix multiplications. Default: the chip's
    16 bits."""
    job: Job
    """pretrain, finetune (sft is another word for it) or lora; also qlora, dora, dpo and dpo-lora.
    The first two train all parameters, lora trains adapters; qlora is lora with frozen_weights nf4,
    dora lora with adapter dora, dpo finetune with reference model, dpo-lora lora with reference
    adapters. Default: pretrain."""
    lora_rank: int | str
    """Rank of LoRA adapters. The default is the median of published recipes. Default: 16."""
    adapter: Adapter
    """Of a lora job: lora, or dora, which has a magnitude for each output as well. Default:
    lora."""
    lora_targets: Several
    """Matrices with adapters: all, attention, mlp, or of q, k, v, o, gate, up, down. Of latent
    attention all or none have them. Default: all."""
    lora_dropout: float | str | None
    """Share of the inputs of an adapter that is dropped; its masks take memory. Default: 0."""
    reference: Reference | None
    """Preference pairs (DPO): log-probabilities of the reference model come from a second model,
    from the model without its adapters, or are precomputed: model, adapters or precomputed. A pair
    is two sequences of the step. Default: no pairs."""
    frozen_weights: FrozenWeights
    """Format of the matrices that a lora job does not train: 16-bit, fp8, int4 or nf4. Embedding
    and head keep 16 bits. Default: 16-bit."""
    optimizer: Optimizer
    """Optimizer whose state memory counts: adam, adam-bf16, adam-8bit, muon and others. Its step
    takes the time of Adam's. Default: adam."""
    framework: str | None
    """megatron, megatron-fp32-grads (gradients in 32 bits), megatron-zb (zero-bubble), hai-llm
    (dualpipe), torchtitan, torchtitan-2024, deepspeed, deepspeed-liger, fsdp, jax, nanotron or
    textbook; decides memory profile, schedules, layer splits and rank layouts. Default: by chip; of
    finetune on GPUs fsdp."""
    era: str | None
    """Software era of the time constants. Default: the framework's."""
    offload: bool
    """State and activations may move to the host. Default: false."""
    max_memory: float | str | None
    """Bytes per chip a plan may fill, e.g. 72GB. Default: the framework's share."""
    memory_margin: float | str | None
    """Share of the chip's memory, less the framework's reserve, that a plan may fill, e.g. 0.8 or
    80%. Default: the framework's, mostly 0.9."""
    max_oom_risk: float | str | None
    """Most chance of running out of memory that a plan may have, e.g. 0.1 or 10%; 100%: any, within
    the framework's share. Default: 5%; 100% where another field limits memory."""
    runnable_in: Several | None
    """Only plans that these can run as they are, e.g. megatron; several: runnable in all of
    megatron, megatron-bridge, torchtitan, deepspeed, accelerate, trl, torchtune, axolotl, maxtext,
    jax and nanotron that are named, in the version that export writes by default; any: every plan
    of the framework. Default: what launches the framework."""
    mtbf: float | str | None
    """Mean time between failures of the whole job, e.g. 3h. In seconds. Default: by chip, from
    published sites."""
    chip_hours_per_failure: float | str | None
    """Chip-hours between failures, e.g. 50000, instead of mtbf."""
    failure_site: FilePath | None
    """A published site whose failure rate is taken: llama-3, rsc-1, rsc-2, opt-175b, bloom,
    lablup-b200; or your own, a file of planner calibrate failures. Default: a site not seen."""
    checkpoint_store: float | str | None
    """What the store of checkpoints takes in from the whole job, e.g. 200GB/s. In bytes per second.
    Default: 122 MB/s per chip, as of Llama 3."""
    checkpoint_writes: CheckpointWrites | None
    """async (copied to the host, then written beside the work), blocking (the job waits for the
    store) or peer-memory (copied to hosts of another failure domain too). Default: async."""
    detection: float | str | None
    """From a failure until it is known, e.g. 2min. In seconds. Default: 2min."""
    restart: float | str | None
    """From then until the job works again, its checkpoint loaded, e.g. 10min. In seconds. Default:
    10min."""
    spares: int | str | None
    """Nodes that wait to take the place of broken ones. Default: enough."""
    repair: float | str | None
    """Until a node that a failure pulled is a spare again, e.g. 72h. In seconds. Default: 72h."""
    straggler_loss: float | str | None
    """Share of the time lost to slow chips, which no step time has, e.g. 0.05 or 5%. Default: 0."""
    failure_domain: str | None
    """What one failure takes out: node, rack (a scale-up domain of several nodes), rail (a leaf of
    the network) or the name of a level. Default: node."""
    on_failure: OnFailure | None
    """What takes the place of broken nodes: spare, wait (for the repair) or shrink (run on with
    fewer data ranks). Default: spare."""
    peer_covers: float | str | None
    """Share of the failures that stay within one failure domain, e.g. 90%. After these the state
    comes back from peers under checkpoint_writes peer-memory. Default: 77 %, as of Llama 3."""
    maintenance: float | str | None
    """Planned maintenance: share of the time or hours a month, e.g. 2% or 15h. Default: none."""
    while_down: bool | None
    """Whether failures strike during detection and restart too. Default: yes."""


class ExportFields(TypedDict, total=False):
    """Fields of `planner.export_file`, beside its own."""

    optimizer: Optimizer
    """Optimizer whose state memory counts: adam, adam-bf16, adam-8bit, muon and others. Its step
    takes the time of Adam's. Default: adam."""


class CommonFields(FeasibleFields, total=False):
    """Fields of every question about a plan."""

    hardware: FilePath
    """Cluster or chip name (planner hardware list) or YAML file. Default: tpu-v5p."""
    chips: int | str | None
    """Chips to plan for, all of them used; a range such as 512..4096 leaves their number to the
    search. Of a torus also a slice such as 16x16x16."""
    chips_at_most: int | str | None
    """Any number of chips up to this one, instead of chips; the front is over all."""
    pools: Mapping[str, float | str] | str | None
    """Pools of different chips in one job, instead of hardware and chips, e.g.
    dgx-h100-ndr=512,dgx-a100-80-hdr=512; with layout uneven."""
    batch_tokens: float | str | None
    """Tokens per step, e.g. 4Mi or 3e6. Rounded to whole sequences. Default: 4Mi; of finetune and
    lora 32 sequences."""
    images: int | str
    """Images per sequence, which a vision tower encodes. Of a model with one; 0 is text alone.
    Default: 0."""
    tower_recompute: TowerRecompute
    """What layers of a vision tower recompute: none, selective or full. Needs images; layers of the
    decoder have their own, which a search decides. Default: full."""
    fp8_recipe: Fp8Recipe | None
    """How operands are scaled at fp8: delayed or current (by tensor) or blockwise. MXFP8 and NVFP4
    are precisions. Default: as the software does."""
    front: Several
    """Objectives of the front: time,energy or time,energy,memory or time,money or time,power or
    days,run-energy or days,run-money. Default: that of the objective."""
    chips_exact: bool | None
    """Plans use all of the chips that chips gives, or none is the answer; where budgets alone end
    their number, the most that they allow. Default: the most below, where no uniform plan fits on
    all."""
    axes: Several | None
    """Mesh axes that may exceed 1, e.g. fsdp,tp. Default: all."""
    fix: dict[str, Any]
    """Fix a field of the plan, e.g. pp=8 or sharding=zero1,zero3. With uneven stages sharding and
    recompute are what each stage and layer may take."""
    layout: str
    """Pipeline stages: uniform, uneven (layers, recomputation, sharding and clock of each are
    decided, proved over all meshes), or the layers of every chunk, e.g. 7,8*14,7 (8*14: 14 chunks
    of 8), of which the rest is decided. Default: uniform."""
    gap: float | str | None
    """Stop when no plan can be better by more than this, e.g. 0.01 or 1% (uneven stages and pools;
    uniform plans are always searched to the end). Default: proved optimal."""
    front_points: int | str | None
    """With uneven stages: at most so many time limits of the front, or all for the exact whole
    front. Default: 20."""
    placement: Placement
    """Orders of the axes: framework (its rank layouts), all, or torus (all, and parts of the axes
    along the physical axes of a torus). Default: framework."""
    resume_from: str | None
    """A run that exists: its plan file, a row of a front such as front.json:2, its launch, or its
    mesh such as tp=4,pp=2,dp=8. Only plans that the framework can load its checkpoint into."""
    checkpoint: str | None
    """Form of the checkpoint of resume_from: torch_dist, torch_dist-reshardable, torch,
    fsdp_dtensor, dcp, zero, universal, sharded, full, whole, orbax or nanotron. Default: the usual
    one of the framework."""
    clocks: bool | Literal["per-operation"]
    """Clock levels are a decision where the chip has them, or full clock only; per-operation: also
    what a clock for every pass saves on the front, with the bound over all plans. Default: true."""
    time_limit: float | str | None
    """Stop the search after this long, e.g. 10s; the bound stays valid. In seconds. Default: no
    limit."""
    pes: int | str | list[int] | tuple[int, ...] | None
    """Processing elements per chip, e.g. 64,132,264; several are a decision. Default: the
    record's."""
    topology: Several
    """Wirings of the scale-up level, e.g. ring,torus,switch; of the network cards after scale-out=,
    e.g. scale-out=fat-tree,torus. Default: the record's."""
    scale: Several
    """What grows with the PEs: memory, links, network. Default: nothing."""
    total_pes: int | str | None
    """Most PEs of all chips, e.g. 8192x132."""
    max_area: float | str | None
    """Most silicon of all chips, e.g. 6.7e6 (mm^2) or 6000mm2."""
    max_links: float | str | None
    """Most links of all levels."""
    max_ports: float | str | None
    """Most ports of a chip; a switched level takes one."""
    max_power: float | str | None
    """Mean power of the whole job at power_boundary, e.g. 10MW. In watts."""
    power_boundary: PowerBoundary
    """Where max_power holds: chip (chips alone), node (with hosts), node_and_fabric (with the
    network, PUE 1) or facility (PUE times that). Also chips, nodes and it. Default: facility."""
    max_step_time: float | str | None
    """Longest step, e.g. 2s. In seconds."""
    min_mfu: float | str | None
    """Least MFU, e.g. 0.4 or 40%."""
    deadline: float | str | None
    """Longest wall time of the whole run, failures included, e.g. 60d, or with a chance, 60d@90%.
    Of the mean time; with a chance of what it stays within at that chance. In seconds."""
    budget: float | str | None
    """Most money of the whole run, e.g. 5M: chip-hours, and priced electricity."""
    max_run_energy: float | str | None
    """Most energy of the whole run with the facility, e.g. 20GWh. In joules."""
    power_cap: float | str | None
    """Power limit of each chip, e.g. 500W: lowers its clock. In watts. Default: rated power."""
    cooling: Cooling | None
    """Of the nodes: air or liquid, where the chip's record has both. Default: air."""
    pue: float | None
    """Power of the facility over that of its machines, 1 to 3. Default: 1.1."""
    train_tokens: float | str | None
    """Tokens of the whole run: adds days and MWh, e.g. 2e12."""
    price_per_chip_hour: float | None
    """Adds the price of the run. Money per chip and hour, which the objective money counts too;
    without it that counts chip-hours."""
    electricity_price: float | None
    """Money per kWh: adds what the electricity of the run costs, the facility's included. Beside
    the price of chip-hours; the objective money counts those alone, run-money both."""
    carbon_intensity: float | None
    """Grams of CO2 per kWh: adds the CO2 of the run."""
    prices: Several | None
    """Published prices by name, of a chip-hour and of a kWh, e.g. aws-blocks-h100,eia-texas. They
    say their source and date, and fill price_per_chip_hour and electricity_price."""
    phases: Sequence[Mapping[str, Any] | str] | str
    """A phase of the run: its tokens and what else is its own, of batch_tokens, seq_len and chips,
    e.g. 800e9,seq_len=131072; plan=same keeps the plan of the phase before. Each has its plan, and
    days, energy and money are summed. A list of such texts, or of mappings. Default: one phase."""
    down: str | None
    """What the run of resume_from has just lost, e.g. 3nodes or 24chips: what to run on the rest,
    and whether that pays against waiting for the repair."""


class SolveFields(CommonFields, total=False):
    """Fields of `planner.solve`."""

    model: Required[FilePath]
    """Model name (planner models list) or YAML file."""
    objective: str
    """What the best plan minimizes: time, energy, edp, memory, money, power, days, run-money or
    run-energy. Energy and power are those of nodes and fabric (PUE 1). Default: time."""


class EvaluateFields(CommonFields, total=False):
    """Fields of `planner.evaluate`."""

    model: FilePath
    """Model name (planner models list) or YAML file."""
    objective: str
    """What the best plan minimizes: time, energy, edp, memory, money, power, days, run-money or
    run-energy. Energy and power are those of nodes and fabric (PUE 1). Default: time."""


class ExplainFields(CommonFields, total=False):
    """Fields of `planner.explain`, beside its objective."""

    model: FilePath
    """Model name (planner models list) or YAML file."""
