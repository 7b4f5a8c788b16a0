"""A small language model trained on CPUs over gloo, logged as torchtitan logs and profiled.

    torchrun --nproc-per-node 2 small_training.py FOLDER NAME

It stands for the framework of a short launch where there is no GPU: it reads the launch from the
manifest of the folder, trains so many layers with so many micro-batches, and leaves a log and
traces where those of the framework would be.
"""

from __future__ import annotations

import sys
import time
from contextlib import nullcontext
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

from planner.evidence.calibration.launches.folder import PROFILED
from planner.evidence.calibration.launches.manifest import read_manifest
from planner.evidence.calibration.launches.measured import planned_runs
from planner.evidence.runs.rows import Run


class Layer(nn.Module):
    """Causal attention and a gated MLP, each behind a norm."""

    def __init__(self, hidden: int, heads: int, width: int) -> None:
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList(nn.RMSNorm(hidden) for _ in range(2))
        self.qkv = nn.Linear(hidden, 3 * hidden, bias=False)
        self.out = nn.Linear(hidden, hidden, bias=False)
        self.up = nn.Linear(hidden, 2 * width, bias=False)
        self.down = nn.Linear(width, hidden, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """One layer of (sequences, tokens, hidden)."""
        batch, tokens, hidden = x.shape
        parts = self.qkv(self.norms[0](x)).chunk(3, dim=-1)
        query, key, value = (
            one.view(batch, tokens, self.heads, -1).transpose(1, 2) for one in parts
        )
        seen = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(batch, tokens, hidden))
        gate, up = self.up(self.norms[1](x)).chunk(2, dim=-1)
        return x + self.down(functional.silu(gate) * up)


def model_of(run: Run) -> nn.Module:
    """The model of a launch."""
    shape = run.job.model
    layers = [Layer(shape.hidden, shape.heads, shape.mlp.hidden or 0) for _ in range(shape.layers)]
    head = nn.Linear(shape.hidden, shape.vocab_size, bias=False)
    return nn.Sequential(
        nn.Embedding(shape.vocab_size, shape.hidden), *layers, nn.RMSNorm(shape.hidden), head
    )


def train(run: Run, home: Path) -> None:
    """All steps of a launch, with a line each."""
    plan, job = run.plan, run.job
    count = job.global_batch // (plan.dp * plan.fsdp * plan.micro_batch)
    model = DistributedDataParallel(model_of(run))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    vocabulary, length = job.model.vocab_size, int(job.seq_len)
    tokens = torch.randint(vocabulary, (count, plan.micro_batch, length + 1))
    wait = PROFILED.steps - PROFILED.recorded - 1
    rank = dist.get_rank()
    path = home / "outputs" / "profiling" / "traces" / "iteration_20"
    path.mkdir(parents=True, exist_ok=True)
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU],
        schedule=torch.profiler.schedule(wait=wait, warmup=1, active=PROFILED.recorded, repeat=1),
        on_trace_ready=lambda p: p.export_chrome_trace(f"{path}/rank{rank}_trace.json.gz"),
    ) as profiler:
        for step in range(1, PROFILED.steps + 1):
            begin = time.perf_counter()
            loss = torch.zeros(())
            for at in range(count):
                with model.no_sync() if at < count - 1 else nullcontext():
                    logits = model(tokens[at, :, :-1]).flatten(0, 1)
                    loss = functional.cross_entropy(logits, tokens[at, :, 1:].flatten()) / count
                    loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            rate = count * plan.micro_batch * length / (time.perf_counter() - begin)
            print(
                f"[titan] - root - INFO - step: {step:2}  loss: {float(loss) * count:8.5f}  "
                f"grad_norm:  1.0000  memory:  0.50GiB(1.00%)  tps: {round(rate):,}  "
                "tflops: 0.01  mfu: N/A",
                flush=True,
            )
            profiler.step()


def main() -> None:
    """The launch of that name."""
    folder, name = Path(sys.argv[1]), sys.argv[2]
    torch.set_num_threads(1)
    runs = {run.key: run for run in planned_runs(folder, read_manifest(folder))[1]}
    dist.init_process_group("gloo")
    train(runs[name], folder / name)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
