"""A tiny llama of random weights with a tokenizer of bytes, and texts: a program.

    python tiny_llama.py FOLDER

FOLDER then has what `from_pretrained` loads, and `data.jsonl`.
"""

import json
import sys
from pathlib import Path

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

END = "<end>"


def main():
    """Writes all files."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    known = {letter: at for at, letter in enumerate(letters)} | {END: len(letters)}
    bytewise = Tokenizer(models.BPE(vocab=known, merges=[]))
    bytewise.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bytewise.decoder = decoders.ByteLevel()
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=bytewise, eos_token=END, pad_token=END
    ).save_pretrained(folder)
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        hidden_size=128,
        intermediate_size=352,
        num_hidden_layers=4,
        num_attention_heads=8,
        num_key_value_heads=4,
        vocab_size=len(known),
        max_position_embeddings=256,
        eos_token_id=len(letters),
    )
    transformers.AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    lines = [{"text": f"{a} plus {b} is {a + b}. " * 12} for a in range(20) for b in range(10)]
    texts = "".join(f"{json.dumps(line)}\n" for line in lines)
    (folder / "data.jsonl").write_text(texts, encoding="utf-8")


if __name__ == "__main__":
    main()
