# planner 0.1.0: deepseek-v3, 2048 sequences of 4096 tokens, 256 chips of gb200-nvl72, dp 64, ep 64, pp 4, micro-batch 1, zero1, 1f1b, split explicit: 16,15*3, recompute full
# For Accelerate 1.15.0, 16cb6eb (2026-07-24), and transformers 5.23.
# Data are random tokens; the learning rate and the number of steps are placeholders.
# Weights, gradients and moments of Adam are kept in float32, products have bfloat16.
DTYPE = 'float32'
ATTENTION = 'sdpa'
VOCABULARY = 129280
SEQ_LEN = 4096
SEQUENCES = 2048
CHIPS = 256
STEPS = 30
MICRO_BATCH = 1
ACCUMULATION = 8
SHARDED = True
RECOMPUTE = False
FUSED = True
EPS = 1e-08
MULTIPLIED_IN = 'bfloat16'
REDUCED_IN = 'bfloat16'
FIRST_RANK_LOADS = True

import time

import torch
import transformers
from accelerate import Accelerator, ParallelismConfig
from accelerate.utils import GradientAccumulationPlugin, set_seed
from torch.distributed.fsdp import MixedPrecisionPolicy
from transformers.distributed import DistributedConfig
from transformers.initialization import no_init_weights, no_tie_weights


class RandomTokens(torch.utils.data.Dataset):
    """Random token ids in place of your data, the same on all ranks that share a sequence."""

    def __len__(self):
        return SEQUENCES * STEPS

    def __getitem__(self, index):
        source = torch.Generator().manual_seed(index)
        return torch.randint(0, VOCABULARY, (SEQ_LEN + 1,), generator=source)


def built():
    config = transformers.AutoConfig.from_pretrained(
        "./config.json", attn_implementation=ATTENTION
    )
    return transformers.AutoModelForCausalLM.from_config(config, dtype=getattr(torch, DTYPE))


MESH = None


def made(accelerator):
    """The model; where the first rank hands its weights out, the others leave theirs empty.

    Every rank keeps the buffers that it makes: what is handed out is sharded.
    """
    if not FIRST_RANK_LOADS:
        return built()
    if accelerator.is_main_process:
        model = built()
    else:
        with no_init_weights():
            model = built()
        model.tie_weights()
    for module in model.modules():
        for name, buffer in list(module.named_buffers(recurse=False)):
            module.register_buffer(name, buffer, persistent=False)
    return model


def loss_of(accelerator, model, tokens):
    """The loss, after its gradients are computed."""
    loss = mean_loss(model(input_ids=tokens[:, :-1]).logits, tokens[:, 1:])
    accelerator.backward(loss)
    return loss.detach()


class Progress:
    """A line for each step: its loss, how long it took, and the most memory of this chip so far.

    Its sequences are those of the plan where as many processes run as that has chips.
    """

    def __init__(self):
        self.step, self.ended = 0, time.perf_counter()

    def ends(self, accelerator, loss):
        mean = accelerator.reduce(loss.detach(), "mean").item()  # waits for the step
        self.step, began, self.ended = self.step + 1, self.ended, time.perf_counter()
        held = torch.cuda.max_memory_allocated() / 2**30
        sequences = SEQUENCES * accelerator.num_processes // CHIPS
        accelerator.print(
            f"step {self.step}: loss {mean:.4f}, {self.ended - began:.4f} s, {held:.2f} GiB, "
            f"{sequences} sequences of {SEQ_LEN} tokens",
            flush=True,
        )


def mean_loss(logits, targets):
    return torch.nn.functional.cross_entropy(logits.float().flatten(0, 1), targets.flatten())


def main():
    steps = GradientAccumulationPlugin(num_steps=ACCUMULATION, sync_each_batch=SHARDED)
    accelerator = Accelerator(gradient_accumulation_plugin=steps, parallelism_config=MESH)
    if MULTIPLIED_IN:  # weights are kept in 32 bits and gathered in 16
        accelerator.state.fsdp_plugin.mixed_precision_policy = MixedPrecisionPolicy(
            param_dtype=getattr(torch, MULTIPLIED_IN), reduce_dtype=getattr(torch, REDUCED_IN)
        )
    set_seed(0)
    model = made(accelerator)
    if RECOMPUTE:
        model.gradient_checkpointing_enable()
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=3e-4, betas=(0.9, 0.95), eps=EPS, weight_decay=0.1, fused=FUSED
    )
    batches = torch.utils.data.DataLoader(RandomTokens(), batch_size=MICRO_BATCH)
    model, optimizer, batches = accelerator.prepare(model, optimizer, batches)
    model.train()
    progress = Progress()
    for tokens in batches:
        with accelerator.accumulate(model):
            if SHARDED:  # replicas reduce with the last micro-batch alone
                model.set_requires_all_reduce(accelerator.sync_gradients)
            loss = loss_of(accelerator, model, tokens)
            optimizer.step()
            optimizer.zero_grad()
        if accelerator.sync_gradients:
            progress.ends(accelerator, loss)
    accelerator.end_training()


if __name__ == "__main__":
    main()
