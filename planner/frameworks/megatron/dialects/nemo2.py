"""NeMo 2: recipes in Python that change one of NeMo's own, whose settings stand there.

Names: NVIDIA/NeMo nemo/collections/llm/recipes (llama3_8b.py: `trainer` and `pretrain_recipe`).
"""

from __future__ import annotations

import re

from planner.base.errors import InputError
from planner.frameworks.reading.python_recipe import PythonRecipe, python_recipe
from planner.frameworks.reading.texts import whole

_NEMO2 = re.compile(r"(?m)^\s*(?:import nemo_run\b|from nemo\.collections(?:\.llm)?\b)")
_BASE = re.compile(r"\b(?:llm\.)?(?:recipes\.)?(\w+)\.(pretrain|finetune)_recipe\(")
_STRATEGY = "trainer.strategy."
_FIXED = {
    f"{_STRATEGY}tensor_model_parallel_size": "tp",
    f"{_STRATEGY}pipeline_model_parallel_size": "pp",
    f"{_STRATEGY}context_parallel_size": "cp",
    f"{_STRATEGY}expert_model_parallel_size": "ep",
    f"{_STRATEGY}virtual_pipeline_model_parallel_size": "interleave",
    "data.micro_batch_size": "micro_batch",
}


def unread(text: str) -> str:
    """What a recipe of NeMo 2 lacks, with the question that what it sets amounts to.

    Empty: it is none.
    """
    if not _NEMO2.search(text):
        return ""
    base = _BASE.search(text)
    try:
        found = python_recipe(text, "", "", "Partial")
    except InputError:
        found = PythonRecipe(name="", values={}, built={})
    model = base[1].replace("_", "-") if base else "NAME"
    where = f"{base[1]}.{base[2]}_recipe" if base else "a recipe"
    settings = {axis: whole(found.values.get(name)) for name, axis in _FIXED.items()}
    said = "".join(f" --fix {axis}={value}" for axis, value in settings.items() if value)
    nodes, each = (whole(found.values.get(one)) for one in ("num_nodes", "num_gpus_per_node"))
    chips = nodes * each if nodes and each else "N"
    length, batch = (whole(found.values.get(f"data.{one}"))
                     for one in ("seq_length", "global_batch_size"))  # fmt: skip
    tokens = length * batch if length and batch else "N"
    open_ones = "".join(
        f"; {line}" for line in dict.fromkeys((*found.notes, *found.computed.values()))
    )
    tuned = " --job finetune" if base and base[2] == "finetune" else ""
    return (
        f"is a recipe of NeMo 2, most of whose settings stand in {where} of NeMo, which is not "
        f"read{open_ones}. With what is set here, and the rest of that recipe "
        f"as further --fix: planner solve --framework megatron --model {model}{tuned} "
        f"--chips {chips} --seq-len {length or 'N'} --batch-tokens {tokens} --hardware NAME{said}"
    )
