"""Which software a published run used: the first rule that its row fits decides.

A publication says where a run comes from, not which of our profiles describes it. The rules are
data, read from the top: a pattern of the row's source, or the maker of its chip. Each gives the
software era (speed of kernels and host), the framework (what stays in memory) and, where several
runs of one installation were published, the key of its site factor. The rule that was used is
part of every result.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from planner.assumptions.software import ERAS
from planner.base.errors import InputError
from planner.frameworks.profiles import FRAMEWORKS


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """The software and the installation of a published run.

    Attributes:
        era: Key of `planner.assumptions.software.ERAS`.
        framework: Key of `planner.frameworks.profiles.FRAMEWORKS`.
        site: Key of the calibration's site factors; empty: none.
        rule: Why, in words.
    """

    era: str
    framework: str
    site: str
    rule: str

    @property
    def deals_by_share(self) -> bool:
        """Whether stages whose layers cost exactly their share take no more."""
        return self.framework in _BY_SHARE

    @property
    def ties_below(self) -> int:
        """The width of MLPs below which embeddings are tied."""
        return _TIED_BELOW.get(self.framework, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A pattern of a row's source (any case) and the profile of the rows that match it."""

    pattern: str
    era: str
    framework: str
    site: str = ""
    because: str


_RULES = (
    Rule(
        pattern="vtrain",
        era="megatron-deepspeed",
        framework="megatron",
        because="vTrain measured Megatron-DeepSpeed",
    ),
    Rule(
        pattern="tr3m-1B3|megatron-deepspeed-lock-clock",
        era="megatron-deepspeed",
        framework="megatron",
        site="v100tune",
        because="Megatron-DeepSpeed on V100",
    ),
    Rule(
        pattern="bigscience.*gpt2",
        era="megatron-deepspeed",
        framework="megatron",
        site="v100gpt2",
        because="Megatron-DeepSpeed on V100",
    ),
    Rule(
        pattern="bigscience",
        era="megatron-2022",
        framework="megatron",
        site="bloomtune",
        because="BLOOM was trained with Megatron-DeepSpeed of 2022",
    ),
    Rule(
        pattern="mt-nlg",
        era="megatron-2022",
        framework="megatron",
        site="mtnlg",
        because="Megatron-LM of 2021",
    ),
    Rule(
        pattern="nemo megatron 22",
        era="megatron-2022",
        framework="megatron",
        site="nemo2208",
        because="NeMo before fused attention",
    ),
    Rule(
        pattern="korthikanti|narayanan|megatron-lm readme",
        era="megatron-2022",
        framework="megatron",
        site="selene",
        because="Megatron-LM before fused attention",
    ),
    Rule(
        pattern="nanotron",
        era="nanotron",
        framework="nanotron",
        because="Hugging Face nanotron",
    ),
    Rule(
        pattern="llm-foundry|mosaicml",
        era="llm-foundry",
        framework="fsdp",
        because="MosaicML llm-foundry, PyTorch FSDP",
    ),
    Rule(
        pattern="torchtitan docs/performance",
        era="torch-fsdp",
        framework="torchtitan-2024",
        site="titanold",
        because="torchtitan of early 2024",
    ),
    Rule(
        pattern="torchtitan benchmarks/llama3_h100_202412",
        era="torch-fsdp",
        framework="torchtitan-2024",
        site="titan",
        because="torchtitan of December 2024, its loss not compiled",
    ),
    Rule(
        pattern="torchtitan",
        era="torch-fsdp",
        framework="torchtitan",
        site="titan",
        because="torchtitan",
    ),
    Rule(
        pattern="kempnerforge",
        era="torch-fsdp",
        framework="fsdp",
        site="kempner",
        because="KempnerForge, fully_shard per block with bf16 states",
    ),
    Rule(
        pattern="ibm/meta|using pytorch fsdp",
        era="torch-fsdp",
        framework="torchtitan",
        site="ibm",
        because="PyTorch FSDP at IBM",
    ),
    Rule(
        pattern="fms-fsdp",
        era="torch-fsdp",
        framework="torchtitan",
        site="fmsfsdp",
        because="PyTorch FSDP at IBM",
    ),
    Rule(
        pattern="automodel",
        era="megatron-core",
        framework="torchtitan",
        site="automodel",
        because="NeMo AutoModel runs PyTorch FSDP2 with NVIDIA's kernels",
    ),
    Rule(
        pattern="stas00/ml-engineering insights",
        era="torch-fsdp",
        framework="deepspeed-liger",
        because="DeepSpeed with Liger kernels",
    ),
    Rule(
        pattern="simumax",
        era="megatron-core-2025",
        framework="megatron-fp32-grads",
        site="simumax",
        because="SimuMax measured Megatron-Core with --accumulate-allreduce-grads-in-fp32",
    ),
    Rule(
        pattern=r"nemo (framework )?2[45]\.|nemo launcher|mlperf training v([1-4]|5\.0)",
        era="megatron-core-2025",
        framework="megatron",
        because="NeMo of 2024 and 2025",
    ),
    Rule(
        pattern=r"nemo 26\.0[1-5]|mlperf training v5\.1",
        era="megatron-core-2026.04",
        framework="megatron",
        because="NeMo up to 26.04",
    ),
    Rule(
        pattern="gpu-recipes.*maxtext|tpu-recipes|maxtext|levanter|pytorch/xla",
        era="jax",
        framework="jax",
        because="MaxText and other XLA frameworks",
    ),
    Rule(
        pattern="neuron",
        era="neuron",
        framework="jax",
        because="AWS Neuron",
    ),
    Rule(
        pattern="fsdp",
        era="torch-fsdp",
        framework="torchtitan",
        because="PyTorch FSDP",
    ),
)
_BY_SHARE = ("nanotron",)
"""Frameworks whose published runs dealt layers out as `planner.evidence.runs.rows` says."""
_TIED_BELOW = {"nanotron": 10_000}
"""Width of MLPs below which models of published runs had tied embeddings: nanotron's
scripts/scaling_benchmarks.py."""
_OF_VENDOR = {"tpu": ("jax", "jax"), "trainium": ("neuron", "jax")}


def profile_of(row: Mapping[str, str]) -> Profile:
    """The profile of a row: its own columns `era` and `framework`, else the first rule that fits.

    Raises:
        InputError: The row names an era or a framework that does not exist.
    """
    found = _by_rule(row)
    era, framework = row.get("era") or found.era, row.get("framework") or found.framework
    for name, known, column in ((era, ERAS, "era"), (framework, FRAMEWORKS, "framework")):
        if name not in known:
            raise InputError(f"{column}: {name!r} is not one of {', '.join(sorted(known))}")
    if (era, framework) == (found.era, found.framework):
        return found
    return Profile(era=era, framework=framework, site=found.site, rule="given in the row")


def _by_rule(row: Mapping[str, str]) -> Profile:
    source, hardware = row.get("source", ""), row["hardware"]
    for rule in _RULES:
        if re.search(rule.pattern, source, re.IGNORECASE):
            return Profile(
                era=rule.era,
                framework=rule.framework,
                site=rule.site,
                rule=f"source matches '{rule.pattern}': {rule.because}",
            )
    for start, (era, framework) in _OF_VENDOR.items():
        if hardware.startswith(start):
            return Profile(era=era, framework=framework, site="", rule=f"chip is a {start}")
    return Profile(
        era="megatron-core", framework="megatron", site="", rule="no other rule: Megatron-Core"
    )
