"""The jobs that the benchmarks use, as cost models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from planner.cost.context import CostModel
from planner.question.request import request_from
from planner.question.resolved import resolve


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkJob:
    """A job of a benchmark.

    Attributes:
        model, hardware: Names in the databases.
        chips: Chips that it runs on.
        sequences: Global batch.
        seq_len: Tokens per sequence.
        framework: That runs it; None: the usual one of the chip's vendor.
        era: Of its software; None: the framework's own.
    """

    model: str
    hardware: str
    chips: int
    sequences: int
    seq_len: int
    framework: str | None = None
    era: str | None = None

    @property
    def title(self) -> str:
        """Model, chips and cluster."""
        return f"{self.model} @ {self.chips:,} {self.hardware}"

    def fields(self) -> dict[str, Any]:
        """The job as a question names it."""
        return {
            "model": self.model,
            "hardware": self.hardware,
            "chips": self.chips,
            "batch_tokens": self.sequences * self.seq_len,
            "seq_len": self.seq_len,
            "framework": self.framework,
            "era": self.era,
        }

    def cost_model(self) -> CostModel:
        """The cost model of the job on its cluster."""
        return resolve(request_from(self.fields())).cost


LLAMA2_13B = BenchmarkJob(
    model="llama2-13b", hardware="tpu-v5p", chips=4096, sequences=1024, seq_len=4096
)
GPT3_175B = BenchmarkJob(
    model="gpt3-175b", hardware="dgx-a100-80-hdr", chips=4096, sequences=4096, seq_len=2048
)
LLAMA31_405B = BenchmarkJob(
    model="llama3.1-405b", hardware="dgx-h100-ndr", chips=16384, sequences=2048, seq_len=8192
)
DEEPSEEK_V3 = BenchmarkJob(
    model="deepseek-v3", hardware="dgx-h100-ndr", chips=2048, sequences=15360, seq_len=4096
)
JOBS = {job.model: job for job in (LLAMA2_13B, GPT3_175B, LLAMA31_405B)}
QUICK_JOB = LLAMA2_13B.model

_H100 = "--hardware h100-sxm5-80"
_A100 = "--hardware a100-sxm4-80"
SCREENS: dict[str, str] = {
    "megatron": f"--model gpt3-1.3b {_H100} --chips 16 --framework megatron --fix tp=1,2",
    "megatron, pipeline": f"--model llama2-70b {_H100} --chips 64 --fix pp=4,8 --fix tp=4,8",
    "megatron, gradients in 32 bits": (
        f"--model gpt3-1.3b {_H100} --chips 8 --framework megatron-fp32-grads --fix pp=1"
    ),
    "megatron, zero bubble": (
        f"--model llama2-13b {_H100} --chips 16 --framework megatron-zb "
        "--fix schedule=zero-bubble --fix pp=4"
    ),
    "hai-llm": (
        f"--model llama2-13b {_H100} --chips 16 --framework hai-llm --fix pp=4 --fix tp=1 "
        "--fix schedule=dualpipe"
    ),
    "torchtitan": f"--model llama3-8b {_H100} --chips 16 --framework torchtitan --fix pp=1",
    "torchtitan of 2024": (
        f"--model llama3-8b {_H100} --chips 8 --framework torchtitan-2024 --fix pp=1"
    ),
    "deepspeed": (
        f"--model gpt3-1.3b {_A100} --chips 16 --framework deepspeed --seq-len 2048 "
        "--batch-tokens 512Ki --fix tp=1"
    ),
    "deepspeed-liger": f"--model llama3-8b {_A100} --chips 16 --framework deepspeed-liger",
    "fsdp": f"--model gpt3-2.7b {_A100} --chips 8 --framework fsdp --fix tp=1",
    "jax on GPUs": f"--model llama3-8b {_H100} --chips 16 --framework jax --fix tp=1,2",
    "nanotron": f"--model llama2-7b {_H100} --chips 16 --framework nanotron --fix pp=1,2",
    "textbook": (
        "--model llama2-13b --chips 4096 --batch-tokens 3e6 --assumptions roofline --mfu 0.4 "
        "--axes fsdp,tp --torus-axes fsdp=2,tp=1"
    ),
    "rack of a report": (
        "--model llama3-8b --hardware c2c-ndr400-rack --chips 16 --assumptions rack-energy"
    ),
    "mixture of experts, GPU": f"--model mixtral-8x7b {_H100} --chips 64 --axes dp,ep,pp,cp",
    "mixture of experts, TPU": "--model deepseek-v2-lite --chips 64 --fix tp=1",
    "mixture of experts, whole run": (
        f"--model qwen3-30b-a3b {_H100} --chips 32 --fix tp=1 --fix pp=1,2 --train-tokens 5e12 "
        "--price-per-chip-hour 2.5 --electricity-price 0.08 --carbon-intensity 300"
    ),
    "TPU": "--model llama2-13b --chips 256 --fix tp=1,2",
    "TPU, zero2 that MaxText has not": "--model llama3-8b --chips 64 --fix sharding=zero2",
    "AMD": "--model llama3-8b --hardware mi300x --chips 16 --fix pp=1",
    "Trainium": "--model llama3-8b --hardware trainium2 --chips 64 --fix tp=4,8",
    "LoRA": "--model llama3-8b --hardware mi300x --chips 8 --job lora --lora-rank 64",
    "uneven": (
        f"--model gpt3-125m {_H100} --chips 8 --batch-tokens 64Ki --layout uneven "
        "--front-points 3 --fix pp=4 --fix interleave=1 --fix micro_batch=1,2"
    ),
    "pools": (
        "--model gpt3-125m --batch-tokens 256Ki --layout uneven --fix tp=1 --fix pp=2 "
        "--no-clocks --pools dgx-a100-80-hdr=4,dgx-h100-ndr=4"
    ),
    "machines": (
        f"--model gpt3-125m {_H100} --batch-tokens 16Ki --chips-at-most 4 --pes 66,132 "
        "--topology ring,switch"
    ),
    "offload, least energy": (
        f"--model llama2-13b {_A100} --chips 8 --offload --no-clocks --axes tp,dp,fsdp "
        "--objective energy"
    ),
    "three objectives": f"--model gpt3-125m {_H100} --chips 8 --front time,energy,memory",
    "fewer chips than asked": f"--model llama3-8b {_H100} --chips 24 --fix tp=4 --fix pp=1",
    "infeasible, memory": f"--model gpt3-175b {_H100} --chips 8",
    "infeasible, time": f"--model gpt3-125m {_H100} --chips 8 --max-step-time 1ms",
}
"""Jobs whose answers are printed on one screen, as arguments of `planner solve`: one of each
framework, mixtures of experts, TPU, AMD, LoRA, uneven stages, pools, machines, no plan."""
