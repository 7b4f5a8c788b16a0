"""Small jobs on several machines, dense and with experts, that solve well within a second."""

from typing import Any

H100 = ("--hardware", "h100-sxm5-80")
A100 = ("--hardware", "a100-sxm4-80")

JOBS: dict[str, tuple[str, ...]] = {
    "dense, GPU, clocks": ("--model", "gpt3-125m", *H100, "--chips", "8"),
    "dense, GPU, pipeline": (
        "--model", "llama2-70b", *H100, "--chips", "64", "--fix", "pp=4,8", "--fix", "tp=4,8",
    ),
    "dense, TPU": ("--model", "llama2-13b", "--chips", "256"),
    "mixture of experts, GPU": (
        "--model", "mixtral-8x7b", *H100, "--chips", "64", "--axes", "dp,ep,pp,cp",
    ),
    "mixture of experts, latent attention, TPU": (
        "--model", "deepseek-v2-lite", "--chips", "64",
    ),
    "offload": (
        "--model", "llama2-13b", *A100, "--chips", "8", "--offload", "--no-clocks",
        "--axes", "tp,dp,fsdp", "--runnable-in", "any",
    ),
    "all placements": (
        "--model", "llama2-7b", *A100, "--chips", "32", "--placement", "all",
        "--no-clocks", "--axes", "tp,pp,dp",
    ),
    "LoRA": ("--model", "llama3-8b", "--hardware", "mi300x", "--chips", "8", "--job", "lora",
             "--lora-rank", "64"),
    "zero-bubble": ("--model", "llama2-13b", *H100, "--chips", "16", "--framework", "megatron-zb",
                    "--fix", "schedule=zero-bubble",
                    "--fix", "pp=4"),
    "another framework and era": (
        "--model", "gpt3-1.3b", *A100, "--chips", "16", "--framework", "deepspeed",
        "--seq-len", "2048", "--batch-tokens", "512Ki",
    ),
    "Trainium": ("--model", "llama3-8b", "--hardware", "trainium2", "--chips", "64"),
    "fp8": ("--model", "llama3-8b", *H100, "--chips", "8", "--precision", "fp8"),
}  # fmt: skip


BASE: dict[str, Any] = {
    "model": "gpt3-125m", "hardware": "h100-sxm5-80", "chips": 4, "batch_tokens": 2**18,
}  # fmt: skip


BASE_FLAGS = (
    "--model", "gpt3-125m", "--hardware", "h100-sxm5-80", "--chips", "4", "--batch-tokens", "256Ki",
)  # fmt: skip
