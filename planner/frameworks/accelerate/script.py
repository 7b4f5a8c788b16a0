"""The training script that goes with a configuration of Accelerate.

It stands as texts below constants: the model, whole or split among ranks, of random weights or of
published ones; a step on whole sequences or on parts of them; and what every run has. Names:
Accelerate 1.15.0 accelerator.py; transformers 5.23 distributed/mixin.py,
distributed/configuration_utils.py, initialization.py.
"""

from __future__ import annotations

from typing import Any

from planner.frameworks.accelerate.adapters import PUBLISHED
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

_TUNED_HEAD = """
import json
import os
import time

import torch
import transformers
from accelerate import Accelerator, ParallelismConfig
from accelerate.utils import GradientAccumulationPlugin, broadcast, set_seed
from torch.distributed.fsdp import MixedPrecisionPolicy
from transformers.distributed import DistributedConfig
"""

_LOADED = """

def loaded(**where):
    return transformers.AutoModelForCausalLM.from_pretrained(
        MODEL, dtype=getattr(torch, DTYPE), attn_implementation=ATTENTION, use_cache=False, **where
    )
"""

_WHOLE_LOADED = '''

MESH = None
BUFFERS = []


def made(accelerator):
    """The model; where state is sharded, the first rank reads its weights and hands them out.

    Every rank keeps the buffers that the weights have: what is handed out is sharded.
    """
    model = loaded()
    named = model.state_dict()
    for name, buffer in list(model.named_buffers()) if FIRST_RANK_LOADS else ():
        if name in named:
            module, _, last = name.rpartition(".")
            buffer = broadcast(buffer.to(accelerator.device))
            model.get_submodule(module).register_buffer(last, buffer, persistent=False)
            BUFFERS.append(name)
    return model


def save(accelerator, model):
    weights = accelerator.get_state_dict(model)
    if accelerator.is_main_process:
        weights = {name.replace("_orig_mod.", ""): one for name, one in weights.items()}
        model = accelerator.unwrap_model(model, keep_torch_compile=False)
        weights |= {name: model.get_buffer(name) for name in BUFFERS}
        model.save_pretrained(RESULTS, state_dict=weights)
'''

_SPLIT_LOADED = '''

MESH = ParallelismConfig(dp_replicate_size=REPLICAS, dp_shard_size=SHARDS, tp_size=TP)


def made(accelerator):
    """The model, whose ranks read their parts of the weights."""
    sizes = DistributedConfig(tp_size=TP, fsdp_size=SHARDS, dp_replicate_size=REPLICAS)
    return loaded(distributed_config=sizes)


def save(accelerator, model):
    model = accelerator.unwrap_model(model)
    model.save_pretrained(RESULTS, is_main_process=accelerator.is_main_process)
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
        model.parameters(), lr={rate}, betas=(0.9, 0.95), eps=EPS, weight_decay=0.1, fused=FUSED
    )
    batches = torch.utils.data.DataLoader({tokens}, batch_size=MICRO_BATCH{rest})
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
{ends}    accelerator.end_training()


if __name__ == "__main__":
    main()
"""


_PRETRAINS = {"tokens": "RandomTokens()", "rest": "", "rate": "3e-4", "ends": ""}
_TUNES = {
    "tokens": "sequences(VOCABULARY)",
    "rest": ", drop_last=True",
    "rate": "1e-5",
    "ends": "    save(accelerator, model)\n",
}
"""Of `_MAIN`: where tokens come from, the learning rate, and what follows the last step."""


def script(
    comment: str, constants: dict[str, Any], *, split: bool, in_parts: bool, tunes: bool
) -> str:
    """The script under comment lines, with the constants that its text reads.

    Args:
        comment: Lines that start with `#`.
        constants: Name to value.
        split: Tensors are split among ranks.
        in_parts: Sequences are.
        tunes: It starts from published weights, and saves what becomes of them.
    """
    head: tuple[str, ...] = (_DATA, _SPLIT if split else _WHOLE)
    if tunes:
        head = (_TUNED_HEAD, PUBLISHED, _LOADED, _SPLIT_LOADED if split else _WHOLE_LOADED)
    main = _MAIN.format(**(_TUNES if tunes else _PRETRAINS))
    parts = (*head, _PARTS if in_parts else _SEQUENCES, PROGRESS, main)
    return comment + assignments(constants) + "".join(parts)
