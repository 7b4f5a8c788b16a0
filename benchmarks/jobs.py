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
    """

    model: str
    hardware: str
    chips: int
    sequences: int
    seq_len: int
    framework: str | None = None

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
