"""`planner ridgeline`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from planner.cli.completing import one_of
from planner.cli.field_flags import field_option
from planner.cli.options import OUTPUT, AsJson, option
from planner.cli.output import print_json
from planner.cli.writing import before_printing

_MACHINE = "Machine"
_POINTS = "Points (one of)"
_HOW = "How they are counted"
FEW = {
    "hardware": "Cluster or chip, or YAML file (default: tpu-v5p).",
    "level": "A level of its network, or e.g. 12GB/s.",
    "case": "",
    "workload": "fc, conv, ffn, attention, ... or a file.",
    "gemm": "Matrix multiplications, e.g. 512x4096x4096.",
    "model": "One layer of a model, or of a YAML file.",
    "plan": "A plan file, or a front with --row.",
    "csv": "Your own points (columns: --help-all).",
    "batches": "Items per chip: 512, 16,64 or 16..16384.",
    "plot": "",
    "as_json": "",
}
"""What `--help` shows, with its help there."""


def ridgeline(
    *,
    hardware: Annotated[
        str | None,
        option(
            "Cluster or chip, or YAML file (default: tpu-v5p; the paper's for --case; the plan's "
            "for --plan).",
            _MACHINE,
            complete=one_of("hardware"),
        ),
    ] = None,
    set: Annotated[list[str] | None, field_option("set")] = None,
    level: Annotated[
        str | None,
        option(
            "A level of its network, or a bandwidth such as 12GB/s (default: a ridgeline for each "
            "level).",
            _MACHINE,
        ),
    ] = None,
    precision: Annotated[str | None, field_option("precision")] = None,
    case: Annotated[str | None, option("The paper's case study: mlp-4096.", _POINTS)] = None,
    workload: Annotated[
        str | None,
        option(
            "Operators: fc, conv, ffn, attention, attention-mha, or a YAML file of einsums.",
            _POINTS,
        ),
    ] = None,
    gemm: Annotated[
        list[str] | None,
        option(
            "Matrix multiplications M x K x N (tokens, inputs, outputs), e.g. 512x4096x4096 "
            "(repeatable, or with commas).",
            _POINTS,
        ),
    ] = None,
    model: Annotated[
        str | None,
        option(
            "The operators of one layer of a model, or of a YAML file.",
            _POINTS,
            complete=one_of("model"),
        ),
    ] = None,
    plan: Annotated[
        Path | None,
        option(
            "A plan file, or a front with --row: its whole step on the levels that it uses.",
            _POINTS,
        ),
    ] = None,
    csv: Annotated[
        Path | None,
        option(
            "Your own points: columns name, flop, memory_bytes, network_bytes (per chip) and "
            "perhaps measured_s.",
            _POINTS,
        ),
    ] = None,
    batches: Annotated[
        list[str] | None,
        option(
            "Items of the batch per chip (of a layer: sequences), e.g. 512, 16,64 or 16..16384 (by "
            "doubling).",
            _HOW,
        ),
    ] = None,
    counting: Annotated[
        str | None,
        option(
            "Bytes of memory: step (operands once a step), gemm (once a multiplication) or blocked "
            "(what the chip's last memory allows); default: blocked, step for --case.",
            _HOW,
        ),
    ] = None,
    chips: Annotated[
        str | None,
        option(
            "Chips that all-reduce (default: very many; with --model those of a node); 1: no "
            "network.",
            _HOW,
        ),
    ] = None,
    tp: Annotated[str | None, option("Tensor parallelism of a layer (default: 1).", _HOW)] = None,
    ep: Annotated[
        str | None, option("Expert parallelism of a layer with experts (default: 1).", _HOW)
    ] = None,
    seq_len: Annotated[
        str | None, option("Tokens per sequence of a layer (default: the model's own).", _HOW)
    ] = None,
    forward: Annotated[
        bool, option("The forward pass alone, which sends no gradients.", _HOW, "--forward")
    ] = False,
    sweep: Annotated[
        str | None,
        option("The path of a plan as batch, micro-batch, tp or chips grows.", _HOW),
    ] = None,
    row: Annotated[
        str | None, option("Which plan of a front, from 1.", _HOW, metavar="INTEGER")
    ] = None,
    figure: Annotated[
        str | None,
        option(
            "Charts of --plot, some of ridgeline,roofline,intensity,times,projected,energy "
            "(default: all that the points have); how a ridgeline comes about: naive,surface,"
            "arithmetic,bandwidth,quadrants,products; or the paper's, with commas: 1, 2a to 2e, 3, "
            "4a to 4c, 6a, 6b.",
            OUTPUT,
        ),
    ] = None,
    plot: Annotated[Path | None, option("Draw them: .svg, .html or .png.", OUTPUT)] = None,
    as_json: AsJson = False,
) -> None:
    """What binds a piece of work: compute, memory or a level of the network, on one plane.

    Examples:
      planner ridgeline --hardware xeon-clx-socket --case mlp-4096

      planner ridgeline --hardware gb200-nvl72

      planner ridgeline --hardware h100-sxm5-80 --gemm 8192x8192x28672,512x8192x28672 --level leaf

      planner ridgeline --hardware h100-sxm5-80 --model llama3-8b --chips 16 --tp 8 --batches 1..8

      planner ridgeline --hardware gb200-nvl72 --model mixtral-8x7b --chips 8 --ep 8 --batches 1

      planner ridgeline --hardware xeon-clx-socket --case mlp-4096 --batches 512 --counting gemm
        --json

      planner ridgeline --hardware xeon-clx-socket --case mlp-4096 --figure 4a,4b,4c,6a,6b
        --plot mlp.svg
    """
    asked = {
        "hardware": hardware,
        "set": set,
        "level": level,
        "precision": precision,
        "case": case,
        "workload": workload,
        "gemm": gemm,
        "model": model,
        "plan": plan,
        "csv": csv,
        "batches": batches,
        "counting": counting,
        "chips": chips,
        "tp": tp,
        "ep": ep,
        "seq_len": seq_len,
        "forward": forward,
        "sweep": sweep,
        "row": row,
    }
    _run(asked, plot, figure, as_json=as_json)


def _run(asked: dict[str, Any], plot: Path | None, figure: str | None, *, as_json: bool) -> None:
    """Asks, writes the picture, then prints."""
    from planner.report.charts.ridgeline import ridgeline_picture  # noqa: PLC0415  (not for --help)
    from planner.report.charts.ridgeline_figures import check_drawn, check_figures  # noqa: PLC0415
    from planner.report.pages.picture_file import write_picture  # noqa: PLC0415  (numpy; not for --help)
    from planner.studies.ridgeline.asking import ridgeline as ask  # noqa: PLC0415
    from planner.studies.ridgeline.question import question_of  # noqa: PLC0415

    figures = check_figures(plot, figure)
    result = ask(question_of(asked))
    if plot is not None:
        is_path = len(set(result.steps)) > 1
        check_drawn(figures, is_path=is_path, is_degenerate=result.is_degenerate)
        with before_printing():
            write_picture(ridgeline_picture(result, figures), plot)
    if as_json:
        print_json(result.to_dict())
        return
    from planner.report.tables.ridgeline import ridgeline_view  # noqa: PLC0415
    from planner.report.tables.tables import print_view  # noqa: PLC0415

    print_view(ridgeline_view(result))
