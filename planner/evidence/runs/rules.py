"""Rules of `planner.evidence.runs.profiles`: which software a publication describes, as data.

Read from the top. Eras say how fast kernels and host are (`planner.assumptions.software`): what is
fused, compiled, or launched kernel by kernel.
"""

from __future__ import annotations

from frozen_records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A pattern of what a row prints (any case) and the profile of the rows that match it.

    Attributes:
        pattern: Regular expression.
        era, framework, site, stalls, network, recompute: As in `profiles.Profile`.
        because: Why, in words.
    """

    pattern: str
    era: str
    framework: str
    site: str = ""
    stalls: str = ""
    network: str = ""
    recompute: str = ""
    because: str


RULES = (
    Rule(
        pattern="optimum-habana",
        era="gaudi",
        framework="fsdp",
        recompute="none",
        because="Hugging Face Trainer on Gaudi, as graphs of its compiler",
    ),
    Rule(
        pattern="habana",
        era="gaudi",
        framework="megatron",
        because="Megatron-DeepSpeed on Gaudi, as graphs of its compiler",
    ),
    Rule(
        pattern="mindformers|mindspore|mindspeed",
        era="megatron-core-2025",
        framework="megatron",
        because="Megatron's plans on Ascend with fused kernels of CANN",
    ),
    Rule(
        pattern=r"transformers \+ deepspeed \(finetune\.py\)",
        era="torch-eager",
        framework="deepspeed",
        recompute="full",
        because="Hugging Face Trainer, not compiled; its scripts set gradient_checkpointing",
    ),
    Rule(
        pattern=r"hf \+ deepspeed|accelerate deepspeed|swift \(deepspeed\)|easycontext|"
        "open-instruct|juniper.*deepspeed",
        era="torch-eager",
        framework="deepspeed",
        because="Hugging Face models under DeepSpeed, not compiled",
    ),
    Rule(
        pattern=r"fms-hf-tuning\) \+ foak",
        era="torch-fsdp",
        framework="fsdp",
        because="norms, rotary embeddings, adapted MLPs and loss in kernels of their own, fused as "
        "a compiler fuses them",
    ),
    Rule(
        pattern=r"polygl0t.*\+ liger",
        era="torch-fsdp",
        framework="fsdp",
        because="Liger kernels, fused as a compiler fuses them, but for MLPs of experts",
    ),
    Rule(
        pattern=r"\+ liger|arctictraining",
        era="torch-fsdp",
        framework="deepspeed-liger",
        because="Hugging Face models with Liger kernels, fused as a compiler fuses them",
    ),
    Rule(
        pattern=r"PyTorch FSDP \|",
        era="torch-eager",
        framework="torchtitan",
        because="scripts under PyTorch FSDP, not compiled",
    ),
    Rule(
        pattern="sfttrainer|accelerate|fsdp_qlora|litgpt|torchtune|axolotl|llama-factory|polygl0t|"
        "distributed-training-guide",
        era="torch-eager",
        framework="fsdp",
        recompute="none",
        because="Hugging Face models in PyTorch, not compiled",
    ),
    Rule(
        pattern="colossal-?ai",
        era="torch-fsdp",
        framework="megatron",
        recompute="full",
        because="ColossalAI with fused kernels; its TFLOPS count a pass computed again",
    ),
    Rule(
        pattern="fairseq",
        era="megatron-2022",
        framework="fsdp",
        because="fairseq of 2021: fairscale's FSDP, no fused attention",
    ),
    Rule(
        pattern="paddlefleet|glm-130b",
        era="megatron-2022",
        framework="megatron",
        because="Megatron's plans before fused attention",
    ),
    Rule(
        pattern="modded-nanogpt",
        era="torch-fsdp",
        framework="fsdp",
        because="PyTorch, compiled as a whole",
    ),
    Rule(
        pattern=r"llm\.c",
        era="megatron-core",
        framework="fsdp",
        because="CUDA kernels of llm.c, cuDNN's attention",
    ),
    Rule(
        pattern="internevo|flash-attention training|yafsdp|nnscaler",
        era="torch-fsdp",
        framework="torchtitan",
        because="PyTorch with fused kernels of flash-attention",
    ),
    Rule(
        pattern="llm-shearing",
        era="llm-foundry",
        framework="fsdp",
        because="MosaicML's Composer and models",
    ),
    Rule(
        pattern=r"megatron-lm( \(.*\))? \| 202[45]|megatron-swift|megatron-llama|ms-amp|"
        r"caraml|skywork-megatron",
        era="megatron-core-2025",
        framework="megatron",
        because="Megatron-LM of 2023 to 2025 with fused attention",
    ),
    Rule(
        pattern="vtrain",
        era="megatron-deepspeed",
        framework="megatron",
        because="vTrain measured Megatron-DeepSpeed",
    ),
    Rule(
        pattern="tr3m-1B3|megatron-deepspeed-lock-clock",
        era="megatron-deepspeed",
        framework="megatron",
        site="v100tune",
        because="Megatron-DeepSpeed on V100",
    ),
    Rule(
        pattern="bigscience.*gpt2",
        era="megatron-deepspeed",
        framework="megatron",
        site="v100gpt2",
        because="Megatron-DeepSpeed on V100",
    ),
    Rule(
        pattern="bigscience",
        era="megatron-2022",
        framework="megatron",
        site="bloomtune",
        because="BLOOM was trained with Megatron-DeepSpeed of 2022",
    ),
    Rule(
        pattern="mt-nlg",
        era="megatron-2022",
        framework="megatron",
        site="mtnlg",
        because="Megatron-LM of 2021",
    ),
    Rule(
        pattern=r"nemo megatron 22\.06",
        era="megatron-2022",
        framework="megatron",
        because="NeMo before fused attention",
    ),
    Rule(
        pattern="nemo megatron 22",
        era="megatron-2022",
        framework="megatron",
        site="nemo2208",
        because="NeMo before fused attention",
    ),
    Rule(
        pattern="korthikanti|narayanan|megatron-lm readme",
        era="megatron-2022",
        framework="megatron",
        site="selene",
        because="Megatron-LM before fused attention",
    ),
    Rule(
        pattern="nanotron",
        era="nanotron",
        framework="nanotron",
        stalls="huggingface",
        network="EFA 3200 Gb/s per node",  # examples/train_tiny_llama.sh sets FI_PROVIDER=efa
        because="Hugging Face nanotron",
    ),
    Rule(
        pattern="llm-foundry|mosaicml",
        era="llm-foundry",
        framework="fsdp",
        because="MosaicML llm-foundry, PyTorch FSDP",
    ),
    Rule(
        pattern="torchtitan (docs/performance|commit 3faaa1a0)",
        era="torch-fsdp",
        framework="torchtitan-2024",
        site="titanold",
        because="torchtitan of early 2024",
    ),
    Rule(
        pattern="torchtitan (benchmarks/llama3_h100_202412|2024-)",
        era="torch-fsdp",
        framework="torchtitan-2024",
        site="titan",
        because="torchtitan of December 2024, its loss not compiled",
    ),
    Rule(
        pattern="torchtitan",
        era="torch-fsdp",
        framework="torchtitan",
        site="titan",
        because="torchtitan",
    ),
    Rule(
        pattern="kempnerforge",
        era="torch-fsdp",
        framework="fsdp",
        site="kempner",
        because="KempnerForge, fully_shard per block with bf16 states",
    ),
    Rule(
        pattern="ibm/meta|using pytorch fsdp",
        era="torch-eager",
        framework="torchtitan",
        site="ibm",
        because="PyTorch FSDP at IBM",
    ),
    Rule(
        pattern="fms-fsdp",
        era="torch-fsdp",
        framework="torchtitan",
        site="fmsfsdp",
        because="PyTorch FSDP at IBM",
    ),
    Rule(
        pattern="deepseek-v3 technical report",
        era="megatron-core",
        framework="hai-llm",
        because="DeepSeek's own framework",
    ),
    Rule(
        pattern="automodel",
        era="megatron-core",
        framework="torchtitan",
        site="automodel",
        because="NeMo AutoModel runs PyTorch FSDP2 with NVIDIA's kernels",
    ),
    Rule(
        pattern="stas00/ml-engineering insights",
        era="torch-fsdp",
        framework="deepspeed-liger",
        because="DeepSpeed with Liger kernels",
    ),
    Rule(
        pattern="simumax",
        era="megatron-core-2025",
        framework="megatron-fp32-grads",
        site="simumax",
        because="SimuMax measured Megatron-Core with --accumulate-allreduce-grads-in-fp32",
    ),
    Rule(
        pattern=r"nemo (framework |\| )?2[45]\.|nemo launcher|"
        r"mlperf training (result logs )?v([1-4]|5\.0)",
        era="megatron-core-2025",
        framework="megatron",
        because="NeMo of 2024 and 2025",
    ),
    Rule(
        pattern=r"nemo (\| )?26\.0[1-5]|mlperf training (result logs )?v5\.1",
        era="megatron-core-2026.04",
        framework="megatron",
        because="NeMo up to 26.04",
    ),
    Rule(
        pattern=r"nemo (\| )?26\.",
        era="megatron-core",
        framework="megatron",
        because="NeMo of 26.06 and later",
    ),
    Rule(
        pattern="gpu-recipes.*maxtext|tpu-recipes|maxtext|levanter|pytorch/xla|easylm|"
        "mesh-transformer-jax",
        era="jax",
        framework="jax",
        because="MaxText and other XLA frameworks",
    ),
    Rule(
        pattern="neuron",
        era="neuron",
        framework="jax",
        because="AWS Neuron",
    ),
)
"""Of publications and of software with its version."""
FAMILIES = (
    Rule(
        pattern="fsdp",
        era="torch-fsdp",
        framework="torchtitan",
        because="PyTorch FSDP",
    ),
    Rule(
        pattern="megatron-deepspeed",
        era="megatron-deepspeed",
        framework="megatron",
        because="Megatron-DeepSpeed",
    ),
    Rule(
        pattern="deepspeed",
        era="torch-eager",
        framework="deepspeed",
        because="PyTorch models under DeepSpeed, not compiled",
    ),
)
"""Rules for what no rule above knows: the family of the software by its name."""
