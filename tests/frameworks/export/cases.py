"""Plans that every exporter is tried on."""

from dataclasses import dataclass

from hardware_db import load_cluster
from models_db import load_model
from planner.assumptions.assumptions import calibrated
from planner.cost.context import CostModel
from planner.cost.job import Job
from planner.frameworks.profiles import FRAMEWORKS
from planner.plan import Plan, Stage


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A job on a cluster with a plan.

    Attributes:
        model, hardware, framework: Names.
        global_batch: Sequences per step.
        seq_len: Tokens per sequence.
        plan: The plan.
        precision, kind, optimizer: Of the job.
    """

    model: str
    hardware: str
    framework: str
    global_batch: int
    seq_len: int
    plan: Plan
    precision: str = "bf16"
    kind: str = "pretrain"
    optimizer: str = "adam"

    def cost(self) -> CostModel:
        """The cost model of the job."""
        cluster, framework = load_cluster(self.hardware), FRAMEWORKS[self.framework]
        job = Job(
            model=load_model(self.model),
            seq_len=self.seq_len,
            global_batch=self.global_batch,
            framework=framework,
            era=framework.era,
            precision=self.precision,
            kind=self.kind,
            optimizer=self.optimizer,
        )
        rated = "bf16" if "bf16" in cluster.chip.peak_flop_per_s else self.precision
        return CostModel.build(job, cluster, calibrated(cluster.chip, framework.era, rated))


CASES = {
    "one-chip": Case(
        model="gpt3-125m", hardware="dgx-h100-ndr", framework="megatron", global_batch=8,
        seq_len=2048, plan=Plan(sharding="ddp", micro_batch=4),
    ),
    "dense-tp-pp": Case(
        model="llama3-70b", hardware="dgx-h100-ndr", framework="megatron", global_batch=1024,
        seq_len=8192, plan=Plan(dp=16, tp=8, pp=4, schedule="interleaved", interleave=5),
    ),
    "dense-sharded": Case(
        model="llama3-8b", hardware="dgx-h100-ndr", framework="torchtitan", global_batch=128,
        seq_len=8192, plan=Plan(fsdp=64, sharding="zero3", recompute="full", micro_batch=2),
    ),
    "dense-hybrid": Case(
        model="llama3.1-405b", hardware="dgx-h100-ndr", framework="torchtitan", global_batch=128,
        seq_len=8192,
        plan=Plan(dp=2, fsdp=16, tp=8, cp=2, sharding="zero3", recompute="full"),
    ),
    "uneven": Case(
        model="llama2-13b", hardware="dgx-a100-80-hdr", framework="megatron", global_batch=256,
        seq_len=4096,
        plan=Plan(
            dp=16, tp=2, pp=4,
            stages=(Stage(layers=9), Stage(layers=11), Stage(layers=11), Stage(layers=9)),
        ),
    ),
    "experts": Case(
        model="mixtral-8x7b", hardware="dgx-h100-ndr", framework="megatron", global_batch=256,
        seq_len=4096, plan=Plan(dp=32, tp=2, ep=8, pp=2),
    ),
    "latent-experts": Case(
        model="deepseek-v3", hardware="gb200-nvl72", framework="megatron", global_batch=2048,
        seq_len=4096,
        plan=Plan(
            dp=64, pp=4, ep=64, recompute="full",
            stages=(Stage(layers=16), Stage(layers=15), Stage(layers=15), Stage(layers=15)),
        ),
    ),
    "long": Case(
        model="llama3-8b", hardware="dgx-h100-ndr", framework="megatron", global_batch=32,
        seq_len=32768, plan=Plan(dp=8, tp=2, cp=4, recompute="full"),
    ),
    "slices": Case(
        model="llama2-70b", hardware="tpu-v5p", framework="jax", global_batch=1024,
        seq_len=4096, plan=Plan(fsdp=128, tp=4, sharding="zero3", recompute="full"),
    ),
}  # fmt: skip
"""Name of a case to the case."""
