"""`planner solve`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from planner.cli.completing import varied_paths
from planner.cli.field_flags import with_fields
from planner.cli.options import OUTPUT, AsJson, Trace, option
from planner.cli.showing import Quiet, ShowSolve, shown_sections
from planner.cli.solve_files import Outputs
from planner.cli.solving import answered
from planner.cli.varying import batches_of, varied
from planner.question.asked import BY_NAME
from planner.question.asked.field import JOB
from planner.report.section_names import SOLVE

FEW = {field.name: field.few for field in BY_NAME.values() if field.few} | {
    "output": "Write the plan as a YAML file.",
    "plot": "Write pictures, or as .html a whole report.",
    "show": "Sections in full: time,why,front,... or all.",
    "quiet": "",
    "as_json": "",
}
"""What `--help` shows, with its help there."""


@with_fields(*BY_NAME)
def solve(
    job_file: Annotated[
        Path | None, typer.Argument(help="Job file (YAML); flags override its fields.")
    ] = None,
    *,
    asked: dict[str, Any],
    vary: Annotated[
        list[str] | None,
        option(
            "Ask for several values of a field that --set may change, or of a field of the "
            "question: memory.bandwidth=0.5x,1x,2x or pes=66,132,264 (repeatable, two at most): "
            "the best plan of each, and where it changes. --batch-tokens takes a range of batches "
            "by doubling, 1Mi..16Mi, with their front of time per token.",
            JOB,
            metavar="PATH=VALUE,...",
            complete=varied_paths,
        ),
    ] = None,
    batch_range: Annotated[
        str | None,
        option("Another name of --batch-tokens for a range, e.g. 4Mi..16Mi.", JOB, metavar="RANGE"),
    ] = None,
    output: Annotated[
        Path | None,
        option("Write the best plan as a YAML file (.yaml or .yml).", OUTPUT, "-o", "--output"),
    ] = None,
    pareto: Annotated[
        list[Path] | None,
        option("Write the front: .csv, .json, .svg or .html (repeatable).", OUTPUT),
    ] = None,
    plot: Annotated[
        Path | None,
        option("Draw front, breakdown, memory per stage and mesh: .svg, .png or .html.", OUTPUT),
    ] = None,
    trace: Trace = None,
    certificate: Annotated[
        Path | None,
        option(
            "Write the proof for planner verify: nodes of the search with their bounds, as .json; "
            "of uneven stages and pools integer programs in MPS, as .zip.",
            OUTPUT,
            metavar="FILE",
        ),
    ] = None,
    show: ShowSolve = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """The proven optimal plan for a job on a cluster, the Pareto front, and why it wins.

    Examples:
      planner solve --model llama2-13b --chips 4096

      planner solve --model llama3-8b --hardware h100-sxm5-80 --chips 16 --show all

      planner solve --model llama3-8b --hardware mi300x --chips 8 -o mi300x.yaml

      planner solve job.yaml --chips 2048 --json

      planner solve --model llama3-8b --hardware mi300x --chips 8 --certificate cert.json

      planner solve --model llama3-70b --hardware h100-sxm5-80 --chips 512 --batch-tokens 4Mi
        --runnable-in {target}

      planner solve --model gpt3-175b --hardware a100-sxm4-80 --chips-at-most 1024 --fix pp=8
        --max-memory 70GB --pareto front.json -o gpt3.yaml --trace trace.json

      planner solve --model llama3-8b --hardware h100-sxm5-80 --chips 16 --plot llama3.html

      planner solve --model llama3-70b --hardware h100-sxm5-80 --total-pes 8192x132 --chips-exact
        --pes 64,132,264 --topology ring,torus,switch --pareto front.html

      planner solve --model llama2-13b --chips 4096 --batch-tokens 3e6
        --assumptions roofline --mfu 0.4 --axes fsdp,tp --torus-axes fsdp=2,tp=1

      planner solve --model llama3-8b --hardware v100-sxm2-32 --chips 8 --precision fp16
        --degrade-link nvlink:0-2=0.25 --collectives best

      planner solve --model llama3-8b --hardware a100-sxm4-80 --chips 32 --batch-tokens 1Mi
        --fix pp=8 --fix interleave=1 --layout uneven --front-points 5

      planner solve --model llama3-8b --pools dgx-h100-ndr=16,dgx-a100-80-hdr=16
        --batch-tokens 1Mi --layout uneven

      planner solve --model llama3-8b --hardware c2c-ndr400-rack --chips 16
        --assumptions rack-energy

      planner solve --model llama3-70b --hardware h100-sxm5-80 --chips 512
        --set levels.leaf.bandwidth=0.5x --set memory.bandwidth=2x

      planner solve --model llama3-70b --hardware h100-sxm5-80 --chips 512
        --vary memory.bandwidth=0.5x,1x,2x,4x --plot hbm.svg
    """
    if batches := batches_of(asked, batch_range):
        vary = [*(vary or []), batches]
    if vary:
        one = {
            "output": output, "pareto": pareto, "trace": trace, "certificate": certificate,
            "show": show, "quiet": quiet,
        }  # fmt: skip
        varied(job_file, asked, vary, plot, one, as_json=as_json)
        return
    outputs = Outputs(
        plan=output, pareto=tuple(pareto or ()), plot=plot, trace=trace, certificate=certificate
    )
    sections = shown_sections(show, SOLVE, quiet=quiet, as_json=as_json)
    answered(job_file, asked, outputs, sections, quiet=quiet, as_json=as_json)
