"""The training script that goes with a configuration of Accelerate and adapters of PEFT.

Names: PEFT 0.21.2 config.py and mapping_func.py; Accelerate 1.15.0 accelerator.py; transformers
5.23 utils/quantization_config.py.
"""

from __future__ import annotations

from typing import Any

from planner.frameworks.accelerate.progress import PROGRESS
from planner.frameworks.writing.python_text import assignments

_HEAD = """
import json
import os
import time

import torch
import transformers
from accelerate import Accelerator
from accelerate.utils import GradientAccumulationPlugin, set_seed
from peft import LoraConfig, get_peft_model
from safetensors.torch import save_file
"""

PUBLISHED = '''
MODEL = os.environ["MODEL"]  # the name or the folder of the weights
DATA = os.environ.get("DATA")  # lines of JSON, each with a "text"; without it random tokens


def sequences(vocabulary):
    """Sequences of SEQ_LEN + 1 tokens: the texts one after the other, or random ones."""
    if DATA is None:
        source = torch.Generator().manual_seed(0)
        return torch.randint(0, vocabulary, (SEQUENCES * STEPS, SEQ_LEN + 1), generator=source)
    tokenizer = transformers.AutoTokenizer.from_pretrained(MODEL)
    tokens = []
    with open(DATA, encoding="utf-8") as lines:
        for line in lines:
            tokens += [*tokenizer(json.loads(line)["text"])["input_ids"], tokenizer.eos_token_id]
    whole = len(tokens) // (SEQ_LEN + 1)
    if whole < SEQUENCES:
        raise SystemExit(f"DATA: {len(tokens)} tokens, less than a step of {SEQUENCES} sequences")
    return torch.tensor(tokens[: whole * (SEQ_LEN + 1)]).view(whole, SEQ_LEN + 1)
'''
"""What names weights and texts, for a script that imports `json`, `os`, torch and transformers."""

_MADE = '''

def made():
    """The frozen model with its adapters."""
    dtype = getattr(torch, DTYPE)
    quantized = None
    if FROZEN_WEIGHTS == "nf4":  # stored as numbers of the format that FSDP shards
        quantized = transformers.BitsAndBytesConfig(
            load_in_4bit=True,
            bnb_4bit_quant_type="nf4",
            bnb_4bit_use_double_quant=True,
            bnb_4bit_compute_dtype=dtype,
            bnb_4bit_quant_storage=dtype,
        )
    model = transformers.AutoModelForCausalLM.from_pretrained(
        MODEL, dtype=dtype, attn_implementation=ATTENTION, quantization_config=quantized
    )
    model.config.use_cache = False
    if RECOMPUTE:
        model.gradient_checkpointing_enable({"use_reentrant": False})
    here = os.path.dirname(os.path.abspath(__file__))
    adapters = LoraConfig.from_pretrained(here)  # adapter_config.json
    return get_peft_model(model, adapters, autocast_adapter_dtype=False)


def loss_of(model, tokens):
    logits = model(input_ids=tokens[:, :-1]).logits.float()
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())


def save(accelerator, model):
    """The adapters in PEFT's own files; of sharded models PEFT itself would write none."""
    weights = accelerator.get_state_dict(model)
    if not accelerator.is_main_process:
        return
    accelerator.unwrap_model(model).peft_config["default"].save_pretrained("adapter")
    own = {
        name.removesuffix(".default.weight" if "magnitude" in name else "").replace(".default", ""):
            one.contiguous()
        for name, one in weights.items()
        if "lora_" in name
    }
    save_file(own, "adapter/adapter_model.safetensors")
'''

_MAIN = """

def main():
    steps = GradientAccumulationPlugin(num_steps=ACCUMULATION, sync_each_batch=SHARDED)
    accelerator = Accelerator(gradient_accumulation_plugin=steps)
    set_seed(0)
    model = made()
    trained = [one for one in model.parameters() if one.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=LEARNING_RATE, weight_decay=0.0)
    data = sequences(model.config.vocab_size)
    batches = torch.utils.data.DataLoader(data, batch_size=MICRO_BATCH, drop_last=True)
    model, optimizer, batches = accelerator.prepare(model, optimizer, batches)
    model.train()
    progress = Progress()
    for tokens in batches:
        with accelerator.accumulate(model):
            loss = loss_of(model, tokens)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
        if accelerator.sync_gradients:
            progress.ends(accelerator, loss)
    save(accelerator, model)
    accelerator.end_training()


if __name__ == "__main__":
    main()
"""


def script(comment: str, constants: dict[str, Any]) -> str:
    """The script under comment lines, with the constants that its text reads."""
    return comment + assignments(constants) + _HEAD + PUBLISHED + _MADE + PROGRESS + _MAIN
