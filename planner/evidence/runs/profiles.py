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
from functools import cache

from frozen_records import dataclass
from planner.assumptions.software import ERAS
from planner.base.errors import InputError
from planner.base.messages import not_one_of
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
    def is_fallback(self) -> bool:
        """Whether no rule fits the run, so that its software is not known."""
        return self.rule == _FALLBACK

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
        pattern="torchtune|litgpt",
        era="torch-fsdp",
        framework="fsdp",
        because="PyTorch with weights and both moments in 16 bits",
    ),
    Rule(
        pattern=r"finetune\.py",
        era="torch-fsdp",
        framework="deepspeed",
        because="Transformers on DeepSpeed",
    ),
    Rule(
        pattern="paddlefleetx",
        era="megatron-2022",
        framework="megatron",
        because="PaddleFleetX of 2022, parallel as Megatron-LM, before fused attention",
    ),
    Rule(
        pattern="llm-foundry|mosaicml",
        era="llm-foundry",
        framework="fsdp",
        because="MosaicML llm-foundry, PyTorch FSDP",
    ),
    Rule(
        pattern="torchtitan (docs/performance|commit 3faaa1a0)",
        era="torch-fsdp",
        framework="torchtitan-2024",
        site="titanold",
        because="torchtitan of early 2024",
    ),
    Rule(
        pattern="torchtitan (benchmarks/llama3_h100_202412|2024-)",
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
        pattern=r"nemo 26\.",
        era="megatron-core",
        framework="megatron",
        because="NeMo of 26.06 and later",
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
    Rule(
        pattern="megatron-deepspeed",
        era="megatron-deepspeed",
        framework="megatron",
        because="Megatron-DeepSpeed",
    ),
)
PRINTED = (
    "DeepSpeed", "KempnerForge", "Levanter", "MaxText", "Megatron-Bridge", "Megatron-Core",
    "Megatron-DeepSpeed", "Megatron-LM", "NeMo", "NeMo AutoModel", "NeMo Megatron", "Neuron",
    "PyTorch FSDP", "fms-fsdp", "llm-foundry",
)  # fmt: skip
"""Names of frameworks as publications print them, beside those of `FRAMEWORKS`."""
_BY_SHARE = ("nanotron",)
"""Frameworks whose published runs dealt layers out as `planner.evidence.runs.rows` says."""
_TIED_BELOW = {"nanotron": 10_000}
"""Width of MLPs below which models of published runs had tied embeddings: nanotron's
scripts/scaling_benchmarks.py."""
_FALLBACK = "no other rule: Megatron-Core"
_OF_VENDOR = {"tpu": ("jax", "jax"), "trainium": ("neuron", "jax")}


def profile_of(row: Mapping[str, str]) -> Profile:
    """The profile of a row.

    What decides, from the first: the column `framework` where it names a profile, unless the rule
    names a version of it; a rule that fits the columns `framework` and `framework_version`
    together; one that fits the source, then one that fits the printed name of the framework; the
    chip. The column `era` always holds.

    Raises:
        InputError: The row names an era or a framework that does not exist.
    """
    found = _by_rule(row)
    era, framework = row.get("era") or found.era, row.get("framework", "")
    if framework not in FRAMEWORKS or FRAMEWORKS[found.framework].derived_from == framework:
        if framework and framework_fault(framework):
            raise InputError(f"framework: {framework_fault(framework)}")
        framework = found.framework
    if era not in ERAS:
        raise InputError(f"era: {era!r} is not one of {', '.join(sorted(ERAS))}")
    if (era, framework) == (found.era, found.framework):
        return found
    return Profile(era=era, framework=framework, site=found.site, rule="given in the row")


@cache
def framework_fault(name: str) -> str:
    """What is wrong with a framework of a row, a profile or a printed name; empty: nothing."""
    if name in FRAMEWORKS or name.lower() in map(str.lower, PRINTED):
        return ""
    return not_one_of(name, sorted({*FRAMEWORKS, *PRINTED}))


def _by_version(row: Mapping[str, str]) -> Rule | None:
    """The rule that fits framework and version together; None: no version, or no rule."""
    version = row.get("framework_version", "")
    return _fitting(f"{row.get('framework', '')} {version}") if version else None


@cache
def _fitting(text: str) -> Rule | None:
    """The first rule whose pattern is found in a text."""
    return next((rule for rule in _RULES if re.search(rule.pattern, text, re.IGNORECASE)), None)


def _by_rule(row: Mapping[str, str]) -> Profile:
    source, hardware, name = row.get("source", ""), row["hardware"], row.get("framework", "")
    of_source = _fitting(source)
    site = of_source.site if of_source else ""
    for what, rule in (
        ("framework_version", _by_version(row)),
        ("source", of_source),
        ("framework", _fitting(name)),
    ):
        if rule is not None:
            return Profile(
                era=rule.era,
                framework=rule.framework,
                site=site,
                rule=f"{what} matches '{rule.pattern}': {rule.because}",
            )
    for start, (era, framework) in _OF_VENDOR.items():
        if hardware.startswith(start):
            return Profile(era=era, framework=framework, site="", rule=f"chip is a {start}")
    return Profile(era="megatron-core", framework="megatron", site="", rule=_FALLBACK)
