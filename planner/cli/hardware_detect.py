"""`planner hardware detect`: a cluster file of the node that it runs on, or of saved outputs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from planner.base.apart import check_apart
from planner.base.errors import InputError
from planner.base.version import SCHEMA_VERSION
from planner.cli.completing import one_of, only_in_shells
from planner.cli.options import OUTPUT, AsJson, option, whole
from planner.cli.output import print_json
from planner.cli.writing import before_printing

if TYPE_CHECKING:
    from planner.machine.detection.cluster import Detected

_CLUSTER = "Cluster"
_NAME = "my-cluster"


def detect(
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="More files of --from.", metavar="[FILE]...", show_default=False),
    ] = None,
    *,
    saved: Annotated[
        list[Path] | None,
        option(
            "Saved outputs, or a folder of them, instead of the tools of this node.", _CLUSTER,
            "--from", metavar="PATH",
        ),
    ] = None,
    nodes: Annotated[
        int | None,
        option("Nodes of the cluster, where no scheduler says it.", _CLUSTER, reads=whole("nodes")),
    ] = None,
    chip: Annotated[
        str | None,
        option(
            "Record of the chip, in place of the name that is printed.", _CLUSTER,
            complete=only_in_shells(one_of("hardware")),
        ),
    ] = None,
    partition: Annotated[
        str | None, option("Partition of Slurm, where its nodes differ.", _CLUSTER)
    ] = None,
    output: Annotated[
        Path | None,
        option("Write the cluster as a YAML file (.yaml or .yml).", OUTPUT, "-o", "--output"),
    ] = None,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """A cluster file of this node or of saved outputs: what was seen, what is assumed.

    Runs those of nvidia-smi, rocm-smi, ibstat and scontrol that are there.
    With --from it reads what they printed elsewhere, and NCCL_TOPO_DUMP_FILE.

    Examples:
      planner hardware detect --from outputs/ --nodes 16 -o my-cluster.yaml

      planner hardware detect --from outputs/topo.txt outputs/gpus.csv --json
    """
    from planner.base.files import check_writable, write_atomically  # noqa: PLC0415  (not for --help)
    from planner.machine.detection.cluster import detected  # noqa: PLC0415
    from planner.machine.detection.formats import seen_in_files  # noqa: PLC0415
    from planner.machine.detection.tools import seen_here  # noqa: PLC0415

    paths = [*(saved or ()), *(files or ())]
    if output is not None:
        _check_target(output, paths)
        check_writable(output)
    seen, missing = seen_in_files(paths) if paths else seen_here()
    name = _NAME if output is None else output.stem
    found = detected(seen, name=name, chip=chip, nodes=nodes, partition=partition)
    if output is not None:
        with before_printing() as failed:
            write_atomically(output, found.text)
        output = None if failed else output
    if as_json:
        print_json(_document(found, output, missing))
        return
    from planner.report.tables.detection import detected_view  # noqa: PLC0415  (only for people)
    from planner.report.tables.tables import print_view  # noqa: PLC0415

    print_view(detected_view(found, output, missing))


def _check_target(output: Path, paths: list[Path]) -> None:
    """A cluster file is YAML, as `--hardware` tells it by its name, and none that is read.

    Raises:
        InputError: The name says something else.
    """
    from planner.base.files import YAML_SUFFIXES, names_a_file  # noqa: PLC0415  (not for --help)

    if not names_a_file(str(output)):
        raise InputError(f"output: {output}: must end in {' or '.join(YAML_SUFFIXES)}")
    for path in paths:
        check_apart([("output", output)], {"": path})


def _document(found: Detected, output: Path | None, missing: tuple[str, ...]) -> dict[str, object]:
    """The fields of the JSON document."""
    return {
        "schema_version": SCHEMA_VERSION,
        "name": found.cluster.name,
        "output": None if output is None else str(output),
        "chip": found.cluster.chip.name,
        "node_chips": found.cluster.node_chips,
        "nodes": found.nodes,
        "same_as": list(found.same_as),
        "records": list(found.records),
        "seen": [dict(zip(("what", "value", "source"), row, strict=True)) for row in found.seen],
        "assumed": [{"part": part, "fields": fields} for part, fields in found.assumed],
        "remarks": [*found.remarks, *missing],
        "content": found.data,
    }
