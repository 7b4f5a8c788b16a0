"""Flags that several commands share: the same words, values and panel in each `--help`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

JOB = "Job"
LIMITS = "Limits"
OUTPUT = "Output"
POWER = "Power"


def option(help_text: str, panel: str, *names: str, metavar: str | None = None) -> Any:
    """A flag of a panel of `--help`; its name is the parameter's where no `names` are given."""
    return typer.Option(*names, help=help_text, rich_help_panel=panel, metavar=metavar)


SeqLen = Annotated[str | None, option("Tokens per sequence (default: the model's own).", JOB)]
Precision = Annotated[
    str | None,
    option("bf16, fp16, fp8, mxfp8, fp4, fp32 or int8 (default: the chip's 16 bits).", JOB),
]
Framework = Annotated[
    str | None,
    option(
        "{frameworks} (default: by chip); decides memory profile, schedules, layer splits and rank "
        "layouts.",
        JOB,
    ),
]
Era = Annotated[
    str | None, option("Software era of the time constants (default: the framework's).", JOB)
]
AssumptionsName = Annotated[
    str | None,
    option(
        "calibrated, roofline (a textbook's limits), rack-zero or rack-energy (two reports on "
        "racks), or YAML file of overrides (default: calibrated).",
        JOB,
    ),
]
Calibration = Annotated[
    str | None,
    option(
        "Local calibration of your own measurements, as planner calibrate writes it "
        "(default: none, the shipped constants).",
        JOB,
    ),
]
Mfu = Annotated[
    str | None, option("Under roofline: share of the peak, e.g. 0.4 (default: 1).", JOB)
]
TorusAxes = Annotated[
    str | None,
    option(
        "Torus axes that serve mesh axes smaller than the slice, e.g. fsdp=2,tp=1 (default: as "
        "the placement has them).",
        JOB,
        metavar="AXIS=NUMBER,...",
    ),
]
Collectives = Annotated[
    str | None,
    option(
        "Collectives that plans assume: nccl (those of the library), synthesized (schedules made "
        "for the wiring) or best (the faster of both at each size) (default: nccl).",
        JOB,
    ),
]
DegradeLink = Annotated[
    list[str] | None,
    option(
        "A link between two chips of a level that carries only a share of its rate, e.g. "
        "nvlink:0-2=0.25, or 0 where it failed; in every domain (repeatable; default: none).",
        JOB,
        metavar="LEVEL:CHIP-CHIP=SHARE",
    ),
]
MaxMemory = Annotated[
    str | None,
    option("Bytes per chip a plan may fill, e.g. 72GB (default: the framework's share).", LIMITS),
]
PowerCap = Annotated[
    str | None,
    option("Power limit of each chip, e.g. 500W: lowers its clock (default: rated power).", POWER),
]
Cooling = Annotated[
    str | None,
    option("Of the nodes: air or liquid, where the chip's record has both (default: air).", POWER),
]
Pue = Annotated[
    str | None,
    option("Power of the facility over that of its machines, 1 to 3 (default: 1.1).", POWER),
]
MemoryMargin = Annotated[
    str | None,
    option(
        "Share of the chip's memory, less the framework's reserve, that a plan may fill, e.g. "
        "0.8 or 80% (default: the framework's, mostly 0.9).",
        LIMITS,
    ),
]
RunnableIn = Annotated[
    str | None,
    option(
        "Only plans that these can run and be told, e.g. {target}; several: runnable in all of "
        "{all-targets} that are named, in the version that export writes by default (default: "
        "whatever the framework runs).",
        "Search",
        metavar="TARGET,...",
    ),
]
Trace = Annotated[
    Path | None,
    option(
        "Write the schedule of the best plan's pipeline, simulated, as a trace for "
        "ui.perfetto.dev (.json, .json.gz) or a picture (.svg, .png, .html).",
        OUTPUT,
        metavar="FILE",
    ),
]
AsJson = Annotated[bool, option("Print one JSON object.", OUTPUT, "--json")]
