"""Closed sets of words that plans and questions take.

They stand here, away from the code that gives them their meaning, since the completion of words in
shells reads them and must not wait for numpy.
"""

from __future__ import annotations

MESH_AXES = ("tp", "cp", "pp", "dp", "fsdp", "ep", "etp")
SHARDINGS = ("ddp", "zero1", "zero2", "zero3")
RECOMPUTES = ("none", "selective", "full")
MODULES = ("core_attn", "layernorm", "mla_up_proj", "mlp", "moe", "moe_act", "shared_experts")
"""Modules of a layer that may recompute while the rest of it is kept, by name."""
TOWER_RECOMPUTE = "full"
"""What layers of a vision tower recompute unless the question says more."""
CP_MODES = ("ring", "all-to-all")
SPLITS = ("even", "even-counted", "front", "front-counted", "by-cost")
CHOICES = (
    "sharding",
    "micro_batch",
    "schedule",
    "interleave",
    "split",
    "sequence_parallel",
    "cp_mode",
    "recompute",
)
"""Fields of a plan that can be fixed, beside the sizes of its axes."""
SCALES = ("memory", "links", "network")
"""What may grow with the processing elements of a chip."""
COOLINGS = ("air", "liquid")
PLACEMENTS = ("framework", "all", "torus")
LAYOUTS = ("uniform", "uneven")
PER_OPERATION = "per-operation"
ATTENTION_MATRICES = ("q", "k", "v", "o")
MATRICES = (*ATTENTION_MATRICES, "gate", "up", "down")
"""Matrices of a layer that may have adapters."""
TARGET_GROUPS = {"all": MATRICES, "attention": ATTENTION_MATRICES, "mlp": ("gate", "up", "down")}
"""Words for several of them."""
ADAPTERS = ("lora", "dora")
LAUNCHERS = ("slurm", "kubernetes", "torchrun")
REFERENCES = ("model", "adapters", "precomputed")
"""Where DPO has the log-probabilities of its reference from."""
ANY = "any"
"""In place of names: whatever there is."""
BOUNDARIES = ("chip", "node", "node_and_fabric", "facility")
"""What is inside the meter of energy and power, from the smallest to the largest."""
FAILURE_SITES = ("llama-3", "rsc-1", "rsc-2", "opt-175b", "bloom", "lablup-b200")
"""Of `hardware_db/data/reference/failures.yaml`; a test compares."""
CHECKPOINT_WRITES = ("async", "blocking", "peer-memory")
"""Beside the work, while it waits, or to the memory of peers with now and then one in the store."""
ON_FAILURE = ("spare", "wait", "shrink")
"""What takes the place of broken nodes."""
PRICES = (
    "aws-blocks-h100", "aws-blocks-h200", "aws-blocks-a100", "aws-blocks-trn1", "eia-texas",
    "eia-virginia", "eia-iowa", "eia-california",
)  # fmt: skip
"""Of `hardware_db/data/reference/prices.yaml`; a test compares."""
OTHER_WORDS = {
    "job": {
        "sft": "finetune",
        "qlora": "lora",
        "dora": "lora",
        "dpo": "finetune",
        "dpo-lora": "lora",
    },
    "power_boundary": {"chips": "chip", "nodes": "node", "it": "node_and_fabric"},
}
"""Of fields of the question: words that are read as another one, which is meant."""
JOB_WORDS = {
    "qlora": {"frozen_weights": "nf4"},
    "dora": {"adapter": "dora"},
    "dpo": {"reference": "model"},
    "dpo-lora": {"reference": "adapters"},
}
"""Words for a job that say another field of the question as well."""
