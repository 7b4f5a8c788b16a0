"""The models that torchtune builds, and the files of their weights.

Source: torchtune 0.6.1 models/*/_model_builders.py; recipes/configs/*/*_lora.yaml for files.
"""

from __future__ import annotations

from frozen_records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """How torchtune builds a model and reads its weights.

    Attributes:
        module, builder: Of its function, which with adapters has `lora_` before its name.
        tokenizer: Its function.
        kind: `checkpointer.model_type`.
        files: How many the published weights have.
        form: Their names.
    """

    module: str
    builder: str
    tokenizer: str
    kind: str
    files: int
    form: str = "model-{}-of-{}.safetensors"


_LLAMA2 = "torchtune.models.llama2.llama2_tokenizer"
_LLAMA3 = "torchtune.models.llama3.llama3_tokenizer"
_QWEN = "torchtune.models.qwen2_5.qwen2_5_tokenizer"
_GEMMA = "torchtune.models.gemma.gemma_tokenizer"
_BIN = "pytorch_model-{}-of-{}.bin"


def _llama2(builder: str, files: int) -> Built:
    return Built(
        module="llama2", builder=builder, tokenizer=_LLAMA2, kind="LLAMA2", files=files, form=_BIN
    )


def _llama3(module: str, builder: str, files: int) -> Built:
    return Built(module=module, builder=builder, tokenizer=_LLAMA3, kind="LLAMA3", files=files)


def _qwen(builder: str, files: int) -> Built:
    return Built(module="qwen2_5", builder=builder, tokenizer=_QWEN, kind="QWEN2", files=files)


def _gemma2(builder: str, files: int) -> Built:
    return Built(module="gemma2", builder=builder, tokenizer=_GEMMA, kind="GEMMA2", files=files)


MODELS = {
    "llama2-7b": _llama2("llama2_7b", 2),
    "llama2-13b": _llama2("llama2_13b", 3),
    "llama2-70b": _llama2("llama2_70b", 15),
    "llama3-8b": _llama3("llama3", "llama3_8b", 4),
    "llama3-70b": _llama3("llama3", "llama3_70b", 30),
    "llama3.1-8b": _llama3("llama3_1", "llama3_1_8b", 4),
    "llama3.1-70b": _llama3("llama3_1", "llama3_1_70b", 30),
    "qwen2.5-7b": _qwen("qwen2_5_7b_instruct", 4),
    "qwen2.5-32b": _qwen("qwen2_5_32b_instruct", 17),
    "qwen2.5-72b": _qwen("qwen2_5_72b_instruct", 37),
    "gemma2-9b": _gemma2("gemma2_9b", 8),
    "gemma2-27b": _gemma2("gemma2_27b", 24),
}
"""By their names in the database of models."""
