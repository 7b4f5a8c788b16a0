"""Which meter a published power figure was read from, and which figures are no measurement.

A figure counts only if a meter showed it, over training, at a known boundary. Chip-hours times a
rated or typical power is no measurement: comparing with it would test the assumption against
itself. The rules are data, read from the top; each refusal says why.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from frozen_records import dataclass

NOT_TRAINING = "not the mean of a training run"


@dataclass(frozen=True, slots=True, kw_only=True)
class Meter:
    """How a power figure was measured.

    Attributes:
        boundary: What was inside, of `planner.cost.energy.energy.BOUNDARIES`.
        chip: Key of the chip.
        cooling: Of the nodes, "air" or "liquid".
        busy_share: Share of the window at busy power, where it follows from a publication or must
            be assumed; None where the time model is to say it.
        busy_share_sigma: One standard deviation of it.
        basis: Where the busy share comes from: "throughput", "kernel times",
            "assumed" or "time model".
        limit_w: Power limit of the metered part, where it is not the rated power of the record.
        clock: Its full clock over that of the record.
        full_rate: Tokens per second and chip at which the chip never waits, where the throughput of
            a row over it is the busy share.
    """

    boundary: str
    chip: str
    cooling: str = "air"
    busy_share: float | None = None
    busy_share_sigma: float = 0.0
    basis: str = "assumed"
    limit_w: float | None = None
    clock: float = 1.0
    full_rate: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A pattern of `id source system workload model notes` (any case), and what follows.

    Attributes:
        pattern: Regular expression; the first rule whose pattern is found decides.
        meter: How the figure was measured; None: it is refused.
        because: Why, in words.
    """

    pattern: str
    meter: Meter | None = None
    because: str


# One node has little to wait for; throughput per chip is published for 92 to 100 % busy.
_SHARE, _SHARE_SIGMA = 0.96, 0.025


def assumed_meter(chip: str, cooling: str = "liquid", boundary: str = "node") -> Meter:
    """A meter of chips whose busy share is not said: that of one node."""
    return Meter(
        boundary=boundary,
        chip=chip,
        cooling=cooling,
        busy_share=_SHARE,
        busy_share_sigma=_SHARE_SIGMA,
    )


def _relative(share: float, cooling: str = "liquid") -> Meter:
    """Nodes with LoRA, whose throughput per chip is known relative to one node."""
    return Meter(
        boundary="node",
        chip="h100-sxm5-80",
        cooling=cooling,
        busy_share=share,
        busy_share_sigma=0.02,
        basis="throughput",
    )


# Parts whose clock or limit is not that of the record: V100 boosts to 1530 MHz there.
_V100_PCIE = Meter(
    boundary="chip",
    chip="v100-sxm2-32",
    busy_share=_SHARE,
    busy_share_sigma=_SHARE_SIGMA,
    limit_w=250.0,
    clock=1380 / 1530,
)
_DGX2 = Meter(
    boundary="chip",
    chip="v100-sxm2-32",
    busy_share_sigma=0.02,
    basis="throughput",
    limit_w=350.0,
    clock=1597 / 1530,
    full_rate=131.4,  # of tp 4, dp 4, the fastest plan of the job
)
_A100_PCIE = Meter(boundary="chip", chip="a100-sxm4-80", basis="kernel times", limit_w=300.0)
# A100 with a limit of 500 W: what a record at 400 W draws at 1290 MHz it draws at 1410 MHz.
_A100_500W = Meter(
    boundary="chip",
    chip="a100-sxm4-80",
    busy_share_sigma=0.1,
    basis="throughput",
    limit_w=500.0,
    clock=1410 / 1290,
)
# Nothing says how busy the chips were: any share from 0.3 to 1.
_ANY_SHARE, _ANY_SHARE_SIGMA = 0.65, 0.2


def _any_share(chip: str) -> Meter:
    meter = assumed_meter(chip, "air", "chip")
    return replace(meter, busy_share=_ANY_SHARE, busy_share_sigma=_ANY_SHARE_SIGMA)


_RULES = (
    Rule(
        pattern=r"sosp24_data.* A100.*power limit 300 W",
        meter=_A100_PCIE,
        because="NVML of every GPU of a pipeline; the seconds of its kernels are published",
    ),
    Rule(
        pattern=r"zeus_nsdi23.*power limit 250 W",
        meter=_V100_PCIE,
        because="NVML of one GPU (250 W: a PCIe card)",
    ),
    Rule(
        pattern=r"(sosp24_data|zeus_nsdi23).*power limit",
        because="a job under power limits: used in the cap sweep instead",
    ),
    Rule(pattern=r"Perseus", because="savings or totals, without a mean power"),
    Rule(
        pattern=r"PaLM",
        because="one figure for a whole run with its breaks; the chip's host share rests on it",
    ),
    Rule(
        pattern=r"extrapolated",
        because="energy of one node extrapolated to all; no mean power printed",
    ),
    Rule(
        pattern=r"BLOOM|NOT measured|circular|by construction|energy not measured|StarCoder",
        because="chip-hours times a rated or typical power: not measured",
    ),
    Rule(
        pattern=r"interconnect_power_est",
        because="an estimate of the submitter, not a reading",
    ),
    Rule(pattern=r"confidence=memory", because="recalled, not read in the paper"),
    Rule(
        pattern=r"v100pow-.*7B shape.*over the 16 GPUs of ONE node.*default clocks",
        meter=_DGX2,
        because="NVML of all GPUs of one node; throughput over that of the fastest plan",
    ),
    Rule(
        pattern=r"jztr1-001",
        meter=Meter(boundary="chip", chip="v100-sxm2-32", busy_share_sigma=0.1, basis="throughput"),
        because="NVML of all GPUs of some nodes; seconds per iteration published",
    ),
    Rule(
        pattern=r"lock-clock",
        because="a locked clock, one node of two or a repeated row: used in the clock sweep",
    ),
    Rule(
        pattern=r"idle \(rocm-smi|rated maximum|nvidia-smi observation|node peak|power peaked at",
        because=NOT_TRAINING,
    ),
    Rule(
        pattern=r"Slurm accounting",
        because="a counter of the processors alone, without the GPUs",
    ),
    Rule(
        pattern=r"README_STRAGGLER",
        because="lowest and highest rank of a job, without the mean over ranks",
    ),
    Rule(
        pattern=r"Dodge.*256 A100",
        meter=_any_share("a100-sxm4-80"),
        because="energy of the GPUs over hours; nothing says how busy they were",
    ),
    Rule(
        pattern=r"Dodge",
        meter=_any_share("v100-sxm2-32"),
        because="energy of the GPUs over hours; nothing says how busy they were",
    ),
    Rule(
        pattern=r"arcticb300-001|ttl-001|Tucano \S+ pre-training",
        because="the same figure as another row",
    ),
    Rule(
        pattern=r"tucano-0",
        meter=_A100_500W,
        because="NVML of one node, whose mean is above the usual limit; step time published",
    ),
    Rule(
        pattern=r"TeenyTinyLlama",
        meter=assumed_meter("a100-sxm4-40", "air", "chip"),
        because="NVML of one GPU",
    ),
    Rule(
        pattern=r"qwen3-32b-dgx-station",
        meter=replace(assumed_meter("b300-sxm-288", "air", "chip"), busy_share=1.0),
        because="plateau of one GPU while kernels run, read from a picture",
    ),
    Rule(
        pattern=r"OLMo training, active",
        because="printed as 'over 600 W': a lower bound, not a figure",
    ),
    Rule(
        pattern=r"Olmo 3 7B pre-training",
        because="whether chips alone or the facility were metered is not said",
    ),
    Rule(
        pattern=r"smc\.co|SMC web page",
        because="the same runs as the logs, direct-current side, with the start of the job",
    ),
    Rule(
        pattern=r"mlperfv4\.0_smc|mlperfpow-00[2-8]|smc-ac-power gpt3 result",
        because="the same runs as another row",
    ),
    Rule(
        pattern=r"glam-001|64B/64E, 600B",
        because="the same figure as another row",
    ),
    Rule(
        pattern=r"mlperfpow-001",
        meter=Meter(boundary="node", chip="h100-sxm5-80", cooling="liquid", basis="throughput"),
        because="AC meter of 64 immersion-cooled nodes",
    ),
    Rule(
        pattern=r"Dell.*lora",
        meter=_relative(0.673 * 0.65206 / 0.55294, "air"),
        because="AC meter of 8 air-cooled nodes; step time over that of the immersion-cooled ones",
    ),
    Rule(
        pattern=r"smc-ac-power.*mean of 3 runs",
        meter=_relative(0.51),
        because="AC meter of 64 immersion-cooled nodes; training throughput of the logs",
    ),
    Rule(
        pattern=r"smc-ac-power.*llama2_70b_lora.*mean run 318",
        meter=_relative(0.673),
        because="AC meter of 8 immersion-cooled nodes; training throughput of the logs",
    ),
    Rule(
        pattern=r"smc-ac-power.*llama2_70b_lora",
        meter=_relative(1.0),
        because="AC meter of one immersion-cooled node, whose throughput is the reference",
    ),
    Rule(
        pattern=r"smc-ac-power",
        meter=assumed_meter("h100-sxm5-80"),
        because="AC meter of one immersion-cooled node",
    ),
    Rule(
        pattern=r"Lenovo.*llama2_70b_lora",
        meter=replace(_relative(1.0), chip="b200-sxm-180"),
        because="meter of one liquid-cooled node, whose throughput is the reference",
    ),
    Rule(
        pattern=r"Lenovo",
        meter=assumed_meter("b200-sxm-180"),
        because="meter of one liquid-cooled node",
    ),
    Rule(
        pattern=r"Patterson",
        meter=assumed_meter("tpu-v3", "air"),
        because="measured system power per chip, host included",
    ),
    Rule(
        pattern=r"GLaM",
        meter=assumed_meter("tpu-v4", "air"),
        because="measured system power per chip, host included",
    ),
)


_TEST = r"Nkluge-correa|snowflakedb|fsdp_qlora"


def meter_of(row: Mapping[str, str]) -> Rule:
    """The rule of a row of the published energy figures or runs.

    A row that no rule names is refused: its boundary is not known.
    """
    names = ("id", "source", "system", "workload", "model_name", "notes")
    text = " ".join(row.get(name, "") for name in names)
    for rule in _RULES:
        if re.search(rule.pattern, text, re.IGNORECASE):
            return rule
    return Rule(pattern="", because="no mean power of chips, or its boundary is not known")


def split_of(row: Mapping[str, str]) -> str:
    """Whether constants may rest on a row: "fit" or "test", by its source."""
    return "test" if re.search(_TEST, row["source"]) else "fit"
