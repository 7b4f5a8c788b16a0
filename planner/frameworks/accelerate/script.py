"""The training script that goes with a configuration of Accelerate.

It stands as texts below constants: the model, whole or split among ranks; a step on whole sequences
or on parts of them; and what every run has. Names: Accelerate 1.15.0 accelerator.py; transformers
5.23 distributed/mixin.py, distributed/configuration_utils.py, initialization.py.
"""

from __future__ import annotations

from typing import Any

from planner.frameworks.accelerate.progress import PROGRESS
from planner.frameworks.writing.python_text import assignments

_DATA = '''
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
'''

_WHOLE = '''

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
'''

_SPLIT = '''

MESH = ParallelismConfig(dp_replicate_size=REPLICAS, dp_shard_size=SHARDS, tp_size=TP)


def made(accelerator):
    """The model, split and sharded before its weights are made."""
    with torch.device("meta"), no_tie_weights():
        model = built()
    sizes = DistributedConfig(tp_size=TP, fsdp_size=SHARDS, dp_replicate_size=REPLICAS)
    sizes, _, mesh = model.prepare_distribute_model(sizes)
    model = model.maybe_distribute_model(model, sizes, mesh)
    model.to_empty(device=accelerator.device)
    model.tie_weights()
    model.initialize_weights()
    return model
'''

_SEQUENCES = '''

def loss_of(accelerator, model, tokens):
    """The loss, after its gradients are computed."""
    loss = mean_loss(model(input_ids=tokens[:, :-1]).logits, tokens[:, 1:])
    accelerator.backward(loss)
    return loss.detach()
'''

_PARTS = '''

def loss_of(accelerator, model, tokens):
    """The loss of this rank's part of each sequence, after its gradients are computed.

    A mask of ones keeps transformers from reading positions as packed documents.
    """
    inputs, targets = tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()
    given = {
        "attention_mask": torch.ones_like(inputs),
        "position_ids": torch.arange(SEQ_LEN, device=inputs.device).repeat(len(inputs), 1),
    }
    parts = [inputs, targets, *given.values()]
    with accelerator.maybe_context_parallel(
        buffers=parts, buffer_seq_dims=[1] * len(parts), no_restore_buffers=set(parts)
    ):
        loss = mean_loss(model(input_ids=inputs, **given).logits, targets)
        accelerator.backward(loss)
    return loss.detach()
'''

_MAIN = """

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
"""


def script(comment: str, constants: dict[str, Any], *, split: bool, in_parts: bool) -> str:
    """The script under comment lines, with the constants that its text reads.

    Args:
        comment: Lines that start with `#`.
        constants: Name to value.
        split: Tensors are split among ranks.
        in_parts: Sequences are.
    """
    parts = (
        _DATA,
        _SPLIT if split else _WHOLE,
        _PARTS if in_parts else _SEQUENCES,
        PROGRESS,
        _MAIN,
    )
    return comment + assignments(constants) + "".join(parts)
