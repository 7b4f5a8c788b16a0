"""`planner calibrate`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from planner.base.apart import check_apart
from planner.base.errors import InputError
from planner.cli.completing import one_of
from planner.cli.options import OUTPUT, AsJson, option, whole
from planner.cli.output import print_json, progress_bar
from planner.cli.writing import before_printing
from planner.question.asked.field import JOB
from strict_yaml.inputs import replacing

if TYPE_CHECKING:
    from planner.evidence.calibration.asking import Question
    from planner.evidence.calibration.measurement.measure import Measured

_MEASURED = "Measurements"
_DEFAULT = Path("local.yaml")
_SITE = Path("site.yaml")
FEW = {
    "runs": "CSV of your training runs (repeatable).",
    "nccl": "Output of nccl-tests or rccl-tests.",
    "measurements": "Folder of planner measure, after it ran.",
    "failures": "CSV of jobs with what ended each.",
    "gemm": "CSV or log of matrix multiplications.",
    "measure": "Measure the GPU of this machine.",
    "hardware": "What was measured (default: as logs and runs say).",
    "output": "",
    "as_json": "",
}
"""What `--help` shows, with its help there."""


def calibrate(
    *,
    runs: Annotated[
        list[Path] | None,
        option("CSV of your training runs, the columns of docs/calibration.md.", _MEASURED),
    ] = None,
    assume_network: Annotated[
        bool,
        option(
            "Take the cluster's own network where the text of a run is not understood.",
            _MEASURED,
            "--assume-network",
        ),
    ] = False,
    nccl: Annotated[
        list[Path] | None, option("Output of nccl-tests or rccl-tests (repeatable).", _MEASURED)
    ] = None,
    measurements: Annotated[
        Path | None,
        option(
            "Folder of short launches, as planner measure writes it, after they ran.", _MEASURED
        ),
    ] = None,
    gemm: Annotated[
        list[Path] | None,
        option(
            "Matrix multiplications: CSV (m,n,k,dtype,seconds), hipblaslt-bench, mamf-finder "
            "(repeatable).",
            _MEASURED,
        ),
    ] = None,
    failures: Annotated[
        list[Path] | None,
        option(
            "How often your chips fail: CSV of jobs (start, end, chips, cause; dates or hours; "
            "cause empty: nothing failed), by itself; --failure-site takes the file (repeatable).",
            _MEASURED,
        ),
    ] = None,
    measure: Annotated[
        bool, option("Measure the GPU of this machine; needs PyTorch.", _MEASURED, "--measure")
    ] = False,
    quick: Annotated[
        bool, option("Fewer shapes and shorter readings of --measure.", _MEASURED, "--quick")
    ] = False,
    gpus: Annotated[
        int | None,
        option("Ranks of a log of --nccl that lists none.", _MEASURED, reads=whole("gpus")),
    ] = None,
    nodes: Annotated[
        int | None,
        option(
            "Hosts of a log of --nccl that does not list them.", _MEASURED, reads=whole("nodes")
        ),
    ] = None,
    hardware: Annotated[
        str | None,
        option(
            "Cluster or chip that was measured (default: as logs and runs say).",
            JOB,
            complete=one_of("hardware"),
        ),
    ] = None,
    model: Annotated[
        str | None,
        option(
            "Model whose shapes are measured, and of the reference plans.",
            JOB,
            complete=one_of("model"),
        ),
    ] = None,
    era: Annotated[
        str | None,
        option(
            "Software era of the reference plans (default: by chip).", JOB, complete=one_of("era")
        ),
    ] = None,
    fit: Annotated[
        str,
        option(
            "What is fitted to the runs: auto (what predicts best the runs left out), "
            "site-factor or constants.",
            _MEASURED,
        ),
    ] = "auto",
    output: Annotated[
        Path | None,
        option(f"File to write (default: {_DEFAULT}).", OUTPUT, "-o", "--output"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """A local calibration from a few measurements of your own, and what it changed.

    Constants start as shipped and move as far as measurements outweigh them.

    Use the file with --calibration in solve, evaluate and feasible.

    --measure takes about two minutes; under torchrun it measures collectives too.

    Examples:
      planner calibrate --runs runs.csv -o local.yaml

      planner calibrate --nccl all_reduce_perf.txt --gemm gemms.csv --hardware h100-sxm5-80

      planner calibrate --measurements measurements/ -o local.yaml

      planner calibrate --runs runs.csv --nccl all_reduce_perf.txt --json

      planner calibrate --failures failures.csv -o site.yaml

      planner solve --model llama3-70b --hardware h100-sxm5-80 --chips 512
        --calibration local.yaml
    """
    from planner.assumptions.local_file import read_local  # noqa: PLC0415  (not for --help)
    from planner.evidence.calibration.asking import Question  # noqa: PLC0415  (numpy)

    others = (runs, nccl, measurements, gemm, measure, quick, hardware, model, era, gpus, nodes)
    if failures:
        if any(one not in (None, False) for one in others):
            raise InputError("failures: is a question by itself; leave out the other options")
        _answer_failures(failures, output or _SITE, given=output is not None, as_json=as_json)
        return
    target = output or _DEFAULT
    _check_target(target, read_local, "local calibration", given=output is not None)
    if quick and not measure:
        raise InputError("quick: has no effect without --measure; leave it out")
    question = Question(
        runs=tuple(runs or ()),
        assume_network=assume_network,
        nccl=tuple(nccl or ()),
        gemm=tuple(gemm or ()),
        measurements=measurements,
        hardware=hardware,
        ranks=gpus,
        nodes=nodes,
        model=model,
        era=era,
        fit=fit,
    )
    measured, leads = _measured(model, quick=quick, as_json=as_json) if measure else (None, True)
    if leads:
        _answer(question, measured, target, as_json=as_json)


def _answer_failures(logs: list[Path], target: Path, *, given: bool, as_json: bool) -> None:
    """Counts failures, writes their rate, prints."""
    from planner.base.files import write_atomically  # noqa: PLC0415  (not for --help)
    from planner.cost.goodput.own_site import read_own_site  # noqa: PLC0415
    from planner.evidence.failure_log.result import failure_rate, site_text  # noqa: PLC0415

    _check_target(target, read_own_site, "failure rate", given=given)
    found = failure_rate(logs, target)
    with before_printing():
        write_atomically(target, site_text(found))
    if as_json:
        print_json(found.to_dict())
        return
    from planner.report.tables.failure_log import failure_log_view  # noqa: PLC0415
    from planner.report.tables.tables import print_view  # noqa: PLC0415

    print_view(failure_log_view(found))


def _check_target(path: Path, read: Callable[[str], object], kind: str, *, given: bool) -> None:
    """Finds out before measuring that the file could not be written.

    Args:
        path: The file.
        read: Reads one of its kind.
        kind: What it is called.
        given: Whether the name was given.

    Raises:
        InputError: It cannot, or the default name is another kind of file.
    """
    from planner.base.files import check_writable  # noqa: PLC0415  (not for --help)

    if not str(path).strip() or str(path) == ".":
        raise InputError("output: the name of the file is empty")
    if path.suffix.lower() not in (".yaml", ".yml"):
        raise InputError(f"output: {path}: must end in .yaml or .yml")
    if not given and path.exists():
        try:
            with replacing():
                read(str(path))
        except InputError as error:
            raise InputError(
                f"output: {path} is there and is no {kind}; name a file with -o"
            ) from error
    check_apart([("output", path)])
    check_writable(path)


def _measured(model: str | None, *, quick: bool, as_json: bool) -> tuple[Measured, bool]:
    """What the device of this process gives, and whether this process is the one that answers."""
    from planner.evidence.calibration.measurement.measure import measure  # noqa: PLC0415  (not for --help)
    from planner.evidence.calibration.measurement.torch_device import open_device  # noqa: PLC0415
    from planner.question.records import model_named  # noqa: PLC0415

    shapes = None if model is None else model_named(model)
    device = open_device()
    try:
        leads = device.rank == 0
        with progress_bar(wanted=leads and not as_json, verb="measuring") as on_progress:
            found = measure(device, shapes, quick=quick, on_progress=on_progress)
    finally:
        device.close()
    return found, leads


def _answer(question: Question, measured: Measured | None, target: Path, *, as_json: bool) -> None:
    """Fits, writes, prints."""
    from planner.base.files import write_atomically  # noqa: PLC0415  (not for --help)
    from planner.evidence.calibration.asking import calibrate as ask  # noqa: PLC0415
    from planner.evidence.calibration.asking import changed_findings  # noqa: PLC0415
    from planner.evidence.calibration.writing import local_text  # noqa: PLC0415

    result = ask(replace(question, measured=measured))
    if changed_findings(result):
        with before_printing():
            write_atomically(target, local_text(result))
            result = replace(result, file=str(target))
    if as_json:
        print_json(result.to_dict())
        return
    from planner.report.tables.calibration import calibration_view  # noqa: PLC0415
    from planner.report.tables.tables import print_view  # noqa: PLC0415

    print_view(calibration_view(result))
