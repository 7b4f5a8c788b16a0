"""Seconds of the host that DeepSpeed's ZeRO-3 adds to a layer: run by hand, prints one line.

One rank on a processor, a Llama of Hugging Face of tiny matrices with checkpointing, so that little
but the host takes time; layers alone, by the difference of two depths.
"""

import os
import time
from collections.abc import Callable

import deepspeed
import torch
from transformers import LlamaConfig, LlamaForCausalLM

DEPTHS = (4, 12)
SETTINGS = {
    "train_micro_batch_size_per_gpu": 1,
    "gradient_accumulation_steps": 1000,
    "bf16": {"enabled": True},
    "zero_optimization": {"stage": 3, "stage3_param_persistence_threshold": 0},
    "optimizer": {"type": "Adam", "params": {"lr": 1e-4, "torch_adam": True}},
}


def model(layers: int) -> LlamaForCausalLM:
    """A tiny model of some layers, in 16 bits, whose layers are checkpointed."""
    shape = {"hidden_size": 64, "intermediate_size": 128, "num_attention_heads": 4}
    config = LlamaConfig(num_hidden_layers=layers, vocab_size=128, use_cache=False, **shape)
    made = LlamaForCausalLM(config).to(torch.bfloat16)
    made.gradient_checkpointing_enable()
    return made.train()


def seconds(step: Callable[[], None]) -> float:
    """Median of the calling thread's own seconds in a step."""
    found = []
    for _ in range(15):
        start = time.thread_time()
        step()
        found.append(time.thread_time() - start)
    return sorted(found[3:])[6]


def plain(layers: int, tokens: torch.Tensor) -> float:
    """Seconds of both passes without DeepSpeed."""
    made = model(layers)

    def step() -> None:
        made(input_ids=tokens, labels=tokens).loss.backward()
        made.zero_grad(set_to_none=True)

    return seconds(step)


def hooked(layers: int, tokens: torch.Tensor) -> float:
    """Seconds of both passes of a micro-batch under ZeRO-3."""
    made = model(layers)
    engine, *_ = deepspeed.initialize(
        model=made, config=SETTINGS, model_parameters=made.parameters()
    )

    def step() -> None:
        engine.backward(engine(input_ids=tokens, labels=tokens).loss)
        engine.step()

    return seconds(step)


def main() -> None:
    """Print milliseconds of a layer without and with hooks."""
    alone = {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "MASTER_ADDR": "127.0.0.1"}
    os.environ |= alone | {"MASTER_PORT": "29577", "DS_ACCELERATOR": "cpu"}
    torch.set_num_threads(1)
    tokens = torch.randint(0, 128, (1, 16))
    few, many = DEPTHS
    without, under = (
        1e3 * (of(many, tokens) - of(few, tokens)) / (many - few) for of in (plain, hooked)
    )
    print(f"a layer: {without:.1f} ms, under ZeRO-3 {under - without:.1f} ms more")


if __name__ == "__main__":
    main()
