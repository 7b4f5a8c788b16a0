"""Asks a checkout of Megatron-Bridge about launches: its translator and the fields that it has.

    python bridge_checker.py MEGATRON BRIDGE < launches.json > answers.json

A launch has the texts `args`, `program` and `overrides`. An answer says which keys are no field
of a configuration class (`missing`), which values differ from what the translator makes of the
arguments of Megatron-LM (`differs`), which arguments it does not find in the overrides on the way
back (`lost`), and how many keys were compared (`checked`). Nothing of Megatron-Bridge is imported
but the translator, which needs no GPU; classes are read as text.
"""

import ast
import importlib.util
import json
import re
import sys
from pathlib import Path

SECTIONS = {
    "model": ["GPTModelProvider", "MLAModelProvider"],
    "train": ["TrainingConfig"],
    "validation": ["ValidationConfig"],
    "optimizer": ["OptimizerConfig"],
    "ddp": ["DistributedDataParallelConfig"],
    "dist": ["DistributedInitConfig"],
    "dataset": ["MockGPTDatasetConfig"],
    "logger": ["LoggerConfig"],
    "tokenizer": ["TokenizerConfig"],
    "checkpoint": ["CheckpointConfig"],
    "mixed_precision": ["MixedPrecisionConfig"],
}
FILES = (
    "src/megatron/bridge/training/config.py",
    "src/megatron/bridge/training/tokenizers/config.py",
    "src/megatron/bridge/training/mixed_precision.py",
    "src/megatron/bridge/models/gpt_provider.py",
    "src/megatron/bridge/models/mla_provider.py",
    "src/megatron/bridge/models/transformer_config.py",
)
CORE = (
    "megatron/core/transformer/transformer_config.py",
    "megatron/core/model_parallel_config.py",
    "megatron/core/optimizer/optimizer_config.py",
    "megatron/core/distributed/distributed_data_parallel_config.py",
    "megatron/core/datasets/gpt_dataset.py",
    "megatron/core/datasets/blended_megatron_dataset_config.py",
    "megatron/core/tokenizers/utils/build_tokenizer.py",
    "megatron/training/config/common_config.py",
    "megatron/training/config/training_config.py",
    "megatron/training/config/resilience_config.py",
)
NOT_TRANSLATED = {  # keys that the translator has no flag for, and values it spells otherwise
    "model.activation_func",
    "model.should_pad_vocab",
    "optimizer.use_distributed_optimizer",
}


def classes_of(folders):
    """Name of a class to its fields and the names of its bases."""
    found = {}
    for path in folders:
        if not path.exists():
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                fields = {
                    one.target.id
                    for one in node.body
                    if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)
                }
                bases = {ast.unparse(base).split(".")[-1] for base in node.bases}
                known, before = found.get(node.name, (set(), set()))
                found[node.name] = (known | fields, before | bases)
    return found


def fields_of(name, classes, seen=()):
    """All fields of a class; bases that are imported under another name lose their prefix."""
    short = re.sub(r"^(MCore|MTrain)", "", name)
    if short in seen or short not in classes:
        return set()
    fields, bases = classes[short]
    return fields.union(*(fields_of(base, classes, (*seen, short)) for base in bases))


def translator(bridge):
    """The module of the translator."""
    path = Path(bridge, "scripts/translate_mlm_to_bridge.py")
    spec = importlib.util.spec_from_file_location("translate_mlm_to_bridge", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def same(ours, theirs):
    """Whether two values are one; the translator leaves patterns and windows as text."""
    if isinstance(ours, list) and isinstance(theirs, str):
        theirs = eval(theirs, {"__builtins__": {}})
    if isinstance(ours, list) and isinstance(theirs, tuple):
        theirs = list(theirs)
    return str(ours).strip("'") == str(theirs).strip("'")


def judged(launch, module, classes):
    """What there is to say about one launch."""
    ours = module.parse_bridge_overrides(launch["overrides"].replace("\n", " "))
    named = re.findall(r"^cfg\.([a-z_]+\.[a-z_0-9]+) = ", launch["program"], flags=re.M)
    keys = {key for key in (*ours, *named) if "." in key}
    missing = [
        key
        for key in sorted(keys)
        if key.split(".")[1]
        not in set().union(*(fields_of(one, classes) for one in SECTIONS[key.split(".")[0]]))
    ]
    made, _ = module.parse_raw_args(launch["args"].replace("\n", " "))
    theirs = module.translate(made).overrides
    both = sorted(set(ours) & set(theirs) - NOT_TRANSLATED)
    differs = {
        key: [str(ours[key]), str(theirs[key])] for key in both if not same(ours[key], theirs[key])
    }
    back = module.translate_bridge_to_mlm(ours)
    mapped = {name for name, (key, _) in module.ARG_MAP.items() if key in both}
    lost = sorted(name for name in made if name in mapped and name not in back.mlm_args)
    return {"missing": missing, "differs": differs, "lost": lost, "checked": len(both)}


def main():
    """Reads launches, prints answers."""
    megatron, bridge = sys.argv[1:]
    files = [Path(bridge, name) for name in FILES] + [Path(megatron, name) for name in CORE]
    classes, module = classes_of(files), translator(bridge)
    answers = [judged(launch, module, classes) for launch in json.load(sys.stdin)]
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main()
