"""Makes the kept tables of Slurm's options and the kept schema of a JobSet; a program of its own.

    python tables.py sbatch SLURM_OPT_C > sbatch.txt
    python tables.py srun SLURM_OPT_C > srun.txt
    python tables.py jobset CRD > jobset.json

SLURM_OPT_C is src/common/slurm_opt.c of Slurm 26.05.3 (slurm-26-05-3-1, 56fe867884): a line is an
option with how many values it takes: 0, 1, or ? for one that may be left out. CRD is
config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml of JobSet v0.12.0 (f22e565ac3, Apache-2.0):
names, types, enumerations and required fields of v1alpha2, without texts; below fields that no
export writes, the type alone.
"""

import json
import re
import sys
from pathlib import Path

from ruamel.yaml import YAML

_WORDS = """
    spec replicatedJobs template network failurePolicy metadata containers env resources limits
    volumeMounts volumes configMap emptyDir securityContext capabilities add command name image
    workingDir restartPolicy nodeSelector parallelism completions completionMode backoffLimit
    replicas annotations enableDNSHostnames publishNotReadyAddresses maxRestarts value mountPath
    medium apiVersion kind * []
"""
WRITTEN = frozenset(_WORDS.split())
"""Fields whose own fields are kept; `*` is any key, `[]` the items of a list."""
KEPT = ("type", "enum", "required", "pattern", "minimum", "maxLength")
TAKES = {"no_argument": "0", "required_argument": "1", "optional_argument": "?"}


def options(program, text):
    """Options of a program of Slurm."""
    for found in re.finditer(r"slurm_cli_opt_t slurm_opt_\w+ = \{(.*?)\n\};", text, re.S):
        body = found[1]
        name, taken = re.search(r'\.name = "([^"]+)"', body), re.search(r"has_arg = (\w+)", body)
        if name and re.search(rf"\.set_func(_{program})? =", body):
            yield f"--{name[1]} {TAKES[taken[1]] if taken else '0'}"


def trimmed(schema, written=True):
    """A schema with what is checked of it."""
    if schema.get("x-kubernetes-int-or-string"):
        return {"type": ["integer", "string"]}
    if not written:
        return {"type": schema["type"]} if "type" in schema else {}
    kept = {key: schema[key] for key in KEPT if key in schema}
    if "properties" in schema:
        found = schema["properties"].items()
        kept["properties"] = {name: trimmed(one, name in WRITTEN) for name, one in found}
        kept["additionalProperties"] = False
    elif isinstance(schema.get("additionalProperties"), dict):
        kept["additionalProperties"] = trimmed(schema["additionalProperties"])
    if "items" in schema:
        kept["items"] = trimmed(schema["items"])
    return kept


def jobset(text):
    """The schema of a JobSet."""
    versions = YAML(typ="safe", pure=True).load(text)["spec"]["versions"]
    [schema] = [one["schema"]["openAPIV3Schema"] for one in versions if one["name"] == "v1alpha2"]
    return json.dumps(trimmed(schema), indent=1, sort_keys=True)


def main():
    """Prints a table."""
    kind, path = sys.argv[1:]
    text = Path(path).read_text(encoding="utf-8")
    print(jobset(text) if kind == "jobset" else "\n".join(sorted(options(kind, text))))


if __name__ == "__main__":
    main()
