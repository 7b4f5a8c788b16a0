"""`planner solve`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from planner.base.messages import Origin
from planner.cli.options import (
    JOB,
    LIMITS,
    OUTPUT,
    AsJson,
    AssumptionsName,
    Calibration,
    Collectives,
    Cooling,
    DegradeLink,
    Era,
    Framework,
    MaxMemory,
    MemoryMargin,
    Mfu,
    PowerCap,
    Precision,
    Pue,
    RunnableIn,
    SeqLen,
    TorusAxes,
    Trace,
    option,
)
from planner.cli.output import number, print_json, progress_bar
from planner.cli.solve_fields import (
    fixes_of,
    launch_fields,
    limit_fields,
    machine_fields,
    names_of,
    run_fields,
    stage_fields,
)
from planner.cli.solve_files import Outputs

if TYPE_CHECKING:
    from planner.plan import Plan
    from planner.question.request import Request
    from planner.results.result import SolveResult

_SEARCH = "Search"
_MACHINE = "Machine (decided with the plan)"
_RUN = "Whole training run"


def solve(
    job_file: Annotated[
        Path | None, typer.Argument(help="Job file (YAML); flags override its fields.")
    ] = None,
    *,
    model: Annotated[
        str | None, option("Model name (planner models list) or YAML file.", JOB)
    ] = None,
    hardware: Annotated[
        str | None,
        option(
            "Cluster or chip name (planner hardware list) or YAML file (default: tpu-v5p).", JOB
        ),
    ] = None,
    chips: Annotated[str | None, option("Chips to plan for.", JOB)] = None,
    pools: Annotated[
        str | None,
        option(
            "Pools of different chips in one job, instead of --hardware and --chips, e.g. "
            "dgx-h100-ndr=512,dgx-a100-80-hdr=512; with --layout uneven.",
            JOB,
            metavar="HARDWARE=CHIPS,...",
        ),
    ] = None,
    batch_tokens: Annotated[
        str | None, option("Tokens per step, e.g. 4Mi or 3e6 (default: 4Mi).", JOB)
    ] = None,
    seq_len: SeqLen = None,
    precision: Precision = None,
    job: Annotated[
        str | None, option("pretrain, finetune or lora (default: pretrain).", JOB)
    ] = None,
    lora_rank: Annotated[str | None, option("Rank of LoRA adapters (default: 16).", JOB)] = None,
    framework: Framework = None,
    era: Era = None,
    assumptions: AssumptionsName = None,
    calibration: Calibration = None,
    collectives: Collectives = None,
    degrade_link: DegradeLink = None,
    mfu: Mfu = None,
    torus_axes: TorusAxes = None,
    objective: Annotated[
        str | None,
        option("What the best plan minimizes: {objectives} (default: time).", _SEARCH),
    ] = None,
    front: Annotated[
        str | None,
        option(
            "Objectives of the front: {fronts} (default: that of the objective).",
            _SEARCH,
        ),
    ] = None,
    chips_exact: Annotated[
        bool | None,
        option(
            "No smaller chip counts on the front (default: they are). The front over smaller "
            "counts takes most of the time on large jobs; this leaves it out.",
            _SEARCH,
            "--chips-exact/--no-chips-exact",
        ),
    ] = None,
    axes: Annotated[
        str | None, option("Mesh axes that may exceed 1, e.g. fsdp,tp (default: all).", _SEARCH)
    ] = None,
    fix: Annotated[
        list[str] | None,
        option(
            "Fix a field of the plan, e.g. pp=8 or sharding=zero1,zero3 (repeatable). With uneven "
            "stages sharding and recompute are what each stage and layer may take.",
            _SEARCH,
            metavar="FIELD=VALUES",
        ),
    ] = None,
    layout: Annotated[
        str | None,
        option(
            "Pipeline stages: uniform, uneven (layers, recomputation, sharding and clock of each "
            "are decided, proved over all meshes), or the layers of every chunk, e.g. 7,8*14,7 "
            "(8*14: 14 chunks of 8), of which the rest is decided (default: uniform).",
            _SEARCH,
        ),
    ] = None,
    gap: Annotated[
        str | None,
        option(
            "With uneven stages: stop when no plan can be better by more than this, e.g. 0.01 or "
            "1% (default: proved optimal).",
            _SEARCH,
        ),
    ] = None,
    front_points: Annotated[
        str | None,
        option(
            "With uneven stages: at most so many time limits of the front, or all for the exact "
            "whole front (default: 20).",
            _SEARCH,
        ),
    ] = None,
    offload: Annotated[
        bool | None,
        option(
            "State and activations may move to the host (default: they stay).",
            _SEARCH,
            "--offload/--no-offload",
        ),
    ] = None,
    placement: Annotated[
        str | None,
        option(
            "Orders of the axes: framework (its rank layouts), all, or torus (all, and parts of "
            "the axes along the physical axes of a torus) (default: framework).",
            _SEARCH,
        ),
    ] = None,
    runnable_in: RunnableIn = None,
    clocks: Annotated[
        bool | None,
        option(
            "Clock levels are a decision where the chip has them, or full clock only (default: "
            "they are).",
            _SEARCH,
            "--clocks/--no-clocks",
        ),
    ] = None,
    time_limit: Annotated[
        str | None,
        option(
            "Stop the search after this long, e.g. 10s; the bound stays valid (default: no limit).",
            _SEARCH,
        ),
    ] = None,
    pes: Annotated[
        str | None,
        option(
            "Processing elements per chip, e.g. 64,132,264; several are a decision (default: the "
            "record's).",
            _MACHINE,
        ),
    ] = None,
    topology: Annotated[
        list[str] | None,
        option(
            "Wirings of the scale-up level, e.g. ring,torus,switch; of the network cards after "
            "scale-out=, e.g. scale-out=fat-tree,torus (repeatable; default: the record's).",
            _MACHINE,
        ),
    ] = None,
    scale: Annotated[
        str | None,
        option("What grows with the PEs: memory, links, network (default: nothing).", _MACHINE),
    ] = None,
    total_pes: Annotated[
        str | None, option("Most PEs of all chips, e.g. 8192x132.", _MACHINE)
    ] = None,
    max_area: Annotated[
        str | None, option("Most silicon of all chips, e.g. 6.7e6 (mm^2) or 6000mm2.", _MACHINE)
    ] = None,
    max_links: Annotated[str | None, option("Most links of all levels.", _MACHINE)] = None,
    max_ports: Annotated[
        str | None, option("Most ports of a chip; a switched level takes one.", _MACHINE)
    ] = None,
    max_memory: MaxMemory = None,
    memory_margin: MemoryMargin = None,
    max_power: Annotated[
        str | None, option("Mean power of the whole job, e.g. 10MW.", LIMITS)
    ] = None,
    max_step_time: Annotated[str | None, option("Longest step, e.g. 2s.", LIMITS)] = None,
    min_mfu: Annotated[str | None, option("Least MFU, e.g. 0.4 or 40%.", LIMITS)] = None,
    power_cap: PowerCap = None,
    cooling: Cooling = None,
    pue: Pue = None,
    train_tokens: Annotated[
        str | None, option("Tokens of the whole run: adds days and MWh, e.g. 2e12.", _RUN)
    ] = None,
    price_per_chip_hour: Annotated[str | None, option("Adds the price of the run.", _RUN)] = None,
    carbon_intensity: Annotated[
        str | None, option("Grams of CO2 per kWh: adds the CO2 of the run.", _RUN)
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
    as_json: AsJson = False,
) -> None:
    """The proven optimal plan for a job on a cluster, the Pareto front, and why it wins.

    Examples:
      planner solve --model llama2-13b --chips 4096

      planner solve --model llama3-70b --hardware h100-sxm5-80 --chips 512 --batch-tokens 4Mi
        --runnable-in {target}

      planner solve --model gpt3-175b --hardware a100-sxm4-80 --chips 1024 --fix pp=8
        --max-memory 70GB --pareto front.json -o gpt3.yaml --trace trace.json

      planner solve job.yaml --chips 2048 --json

      planner solve --model llama3-8b --hardware h100-sxm5-80 --chips 16 --plot llama3.html

      planner solve --model llama3-70b --hardware h100-sxm5-80 --total-pes 8192x132 --chips-exact
        --pes 64,132,264 --topology ring,torus,switch --pareto front.html

      planner solve --model llama2-13b --chips 4096 --chips-exact --batch-tokens 3e6
        --assumptions roofline --mfu 0.4 --axes fsdp,tp --torus-axes fsdp=2,tp=1

      planner solve --model llama3-8b --hardware v100-sxm2-32 --chips 8 --precision fp16
        --degrade-link nvlink:0-2=0.25 --collectives best

      planner solve --model llama3-8b --hardware a100-sxm4-80 --chips 32 --batch-tokens 1Mi
        --fix pp=8 --fix interleave=1 --layout uneven --front-points 3

      planner solve --model llama3-8b --pools dgx-h100-ndr=16,dgx-a100-80-hdr=16
        --batch-tokens 1Mi --layout uneven

      planner solve --model llama3-8b --hardware c2c-ndr400-rack --chips 16
        --assumptions rack-energy
    """
    flags = {
        "model": model,
        "hardware": hardware,
        "chips": chips,
        "pools": pools,
        "batch_tokens": batch_tokens,
        "seq_len": seq_len,
        "precision": precision,
        "job": job,
        "lora_rank": lora_rank,
        "framework": framework,
        "era": era,
        "assumptions": assumptions,
        "calibration": calibration,
        "collectives": collectives,
        "mfu": number(mfu),
        "torus_axes": torus_axes,
        "objective": objective,
        "front": names_of(front),
        "chips_exact": chips_exact,
        "axes": names_of(axes),
        "fix": fixes_of(fix),
        **stage_fields(layout, gap, front_points),
        "offload": offload,
        **launch_fields(placement, runnable_in),
        "clocks": clocks,
        "time_limit": time_limit,
        **machine_fields(
            pes, topology, scale, degrade_link, total_pes, max_area, max_links, max_ports
        ),
        "max_memory": max_memory,
        "memory_margin": number(memory_margin),
        **limit_fields(max_power, max_step_time, min_mfu),
        "power_cap": power_cap,
        "cooling": cooling,
        "pue": number(pue),
        **run_fields(train_tokens, price_per_chip_hour, carbon_intensity),
    }
    asked = {name: value for name, value in flags.items() if value is not None}
    _run(job_file, asked, _outputs(output, pareto, plot, trace), as_json=as_json)


def _outputs(
    plan: Path | None, fronts: list[Path] | None, plot: Path | None, trace: Path | None
) -> Outputs:
    """The files that are asked for."""
    return Outputs(plan=plan, pareto=tuple(fronts or ()), plot=plot, trace=trace)


def _run(
    job_file: Path | None,
    asked: dict[str, Any],
    outputs: Outputs,
    *,
    as_json: bool,
) -> None:
    """Asks, writes the files, then prints: a reader that stops early must not cost the files."""
    from planner.answers.api import solve_request  # noqa: PLC0415  (numpy; not for --help)

    request, origin = _question(job_file, asked)
    outputs.check(job_file, request)
    on_point = _say_point if not as_json and sys.stderr.isatty() else None
    with progress_bar(wanted=not as_json) as on_progress:
        result = solve_request(request, on_progress, origin, on_point)
    outputs.write(request, result)
    if as_json:
        print_json(result.to_dict())
    else:
        from planner.report.tables.tables import print_view  # noqa: PLC0415
        from planner.report.tables.terminal import solve_view  # noqa: PLC0415

        print_view(solve_view(result))
        _print_leaning(result)
    if result.best is None:
        for line in outputs.missing(result):
            print(line, file=sys.stderr)
        raise typer.Exit(3 if result.status == "infeasible" else 4)


def _say_point(plan: Plan, time_s: float, energy_j: float) -> None:
    """A line on standard error for a proved point of the front; a bar stays below it."""
    from planner.results.words import point_words  # noqa: PLC0415  (not for --help)

    print(point_words(plan, time_s, energy_j), file=sys.stderr, flush=True)


def _print_leaning(result: SolveResult) -> None:
    """The numbers that the best plan leans on, from evaluations of its own."""
    from planner.answers.explained import leaning_of  # noqa: PLC0415  (not for --help)
    from planner.report.tables.explain import short_leaning_view  # noqa: PLC0415
    from planner.report.tables.tables import print_view  # noqa: PLC0415

    with progress_bar(wanted=True, verb="changing") as on_progress:
        found = leaning_of(result, on_progress)
    if found:
        print()
        print_view(short_leaning_view(found))


def _question(job_file: Path | None, asked: dict[str, Any]) -> tuple[Request, Origin]:
    """The request of a job file and flags, and which of them its fields come from."""
    from planner.question.files.plan_file import read_job_file  # noqa: PLC0415  (not for --help)
    from planner.question.request import request_from  # noqa: PLC0415

    fields = {} if job_file is None else read_job_file(job_file)
    origin = Origin(
        file="" if job_file is None else str(job_file), arguments=frozenset(asked), dashes=True
    )
    return request_from({**fields, **asked}, origin, needed=_needed(asked | fields)), origin


def _needed(fields: dict[str, Any]) -> tuple[str, ...]:
    """Chips, but where a budget ends their number, or pools have theirs."""
    budgets = ("total_pes", "max_area", "pes", "topology", "pools")
    return () if any(fields.get(name) is not None for name in budgets) else ("chips",)
