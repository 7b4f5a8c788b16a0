"""`planner models`, `planner hardware` and `planner schema`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from planner.base.apart import check_apart
from planner.base.errors import InputError
from planner.base.files import YAML_SUFFIXES, check_writable, names_a_file, write_all
from planner.base.messages import not_one_of
from planner.base.units import plain
from planner.base.version import SCHEMA_VERSION
from planner.cli.completing import one_of, only_in_shells
from planner.cli.hardware_detect import detect
from planner.cli.hardware_new import new
from planner.cli.models_import import import_model
from planner.cli.once import Once
from planner.cli.output import print_json

if TYPE_CHECKING:
    from hardware_db import Chip, Cluster
    from models_db import Model

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]

Output = Annotated[
    Path | None,
    typer.Option("-o", "--output", help="Write the record as a YAML file instead.", metavar="FILE"),
]

models = typer.Typer(no_args_is_help=True, help="The model database: list, show, import.")
hardware = typer.Typer(no_args_is_help=True, help="The hardware database: list, show, new, detect.")

_NUMBERS = ("params (1e9)", "parameters", "active (1e9)", "layers", "hidden", "seq-len",
            "max chips", "value", "memory GB", "GB/s", "year")  # fmt: skip
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_SIXTEEN_BITS = ("bf16", "fp16", "fp32", "fp64")
_NARROW = ("fp8", "fp4")


def _print(title: str, header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    """Prints a table with a heading; the first column and numbers are never broken."""
    from planner.report.tables.tables import print_view, section, table  # noqa: PLC0415  (not for --help)

    view = table(header, rows, right=_NUMBERS, whole=header[:1])
    print_view(section(title, view), whole_lines=True)


def _number(value: object) -> str:
    if isinstance(value, bool) or value is None:
        return "" if value is None else str(value)
    if isinstance(value, int | float):
        return f"{value:,}" if isinstance(value, int) and abs(value) < 10**15 else f"{value:.6g}"
    if isinstance(value, tuple | list):
        return ", ".join(map(_number, value))
    return str(value)


def print_record(
    name: str, rows: list[Any], *, sources: bool, as_json: bool, extra: dict[str, Any]
) -> None:
    """Prints the numbers of a record with their units, kinds and, if wanted, sources."""
    if as_json:
        fields = ("path", "value", "unit", "kind", "sources", "note")
        numbers = [{field: getattr(row, field) for field in fields} for row in rows]
        document = {"schema_version": SCHEMA_VERSION, "name": name}
        print_json({**document, **extra, "numbers": numbers})
        return
    header: tuple[str, ...] = ("number", "value", "unit", "kind")
    cells: list[tuple[str, ...]] = []
    for row in rows:
        cell = (row.path, _number(row.value), row.unit, row.kind)
        origin = "; ".join([*row.sources, *([row.note] if row.note else [])])
        cells.append((*cell, origin) if sources else cell)
    if sources:
        header = (*header, "source, note")
    shown = {key: value if isinstance(value, str) else ", ".join(value)
             for key, value in extra.items()}  # fmt: skip
    title = name + "".join(
        f"\n{key.replace('_', ' ')}: {words}" for key, words in shown.items() if words
    )
    _print(title, header, cells)


def print_parts(title: str, parts: Mapping[str, int], around: Mapping[str, int]) -> None:
    """Prints the parameters of a model by part, those around its language model apart."""
    total = sum(parts.values())
    rows = [(name, f"{count:,}") for name, count in parts.items()]
    rows.append(("language model" if around else "total", f"{total:,}"))
    rows += [(name, f"{count:,}") for name, count in around.items()]
    if around:
        rows.append(("total", f"{total + sum(around.values()):,}"))
    _print(title, ("part", "parameters"), rows)


def _guarded(field: str, name: str, load: Callable[[str], Any]) -> Any:
    """What a database says about a record; its errors become bad input, as `solve` words it."""
    from hardware_db import HardwareError  # noqa: PLC0415  (not for --help, as below)
    from models_db import ModelError  # noqa: PLC0415
    from planner.question.records import record_mistakes  # noqa: PLC0415

    try:
        return load(name)
    except (HardwareError, ModelError) as error:
        raise InputError(record_mistakes(field, name, error)) from error


def _check_shown(*, sources: bool, as_json: bool) -> None:
    """Refuses to say sources where nothing is printed.

    Raises:
        InputError: They are asked for, and only a file is.
    """
    if sources and not as_json:
        raise InputError("sources: has no effect with --output; the file has them: leave one out")


def _write(field: str, name: str, output: Path, text_of: Callable[[str], str]) -> None:
    """Writes the file of a record.

    Raises:
        InputError: There is no such record, or the file cannot be written.
    """
    if not names_a_file(str(output)):
        raise InputError(f"output: {output}: a record is written as {' or '.join(YAML_SUFFIXES)}")
    check_apart([("output", output)], {"": name if names_a_file(name) else None})
    check_writable(output)
    write_all({output: _guarded(field, name, text_of)})


@models.command("list", cls=Once)
def list_models(*, as_json: Json = False) -> None:
    """All models with their sizes."""
    import models_db  # noqa: PLC0415  (not for --help)

    loaded = [models_db.load_model(name) for name in models_db.list_models()]
    if as_json:
        records = [_model_record(model) for model in loaded]
        print_json({"schema_version": SCHEMA_VERSION, "models": records})
        return
    rows = [
        (
            m.name,
            m.title,
            f"{m.total_parameters / 1e9:,.2f}",
            "" if m.moe is None else f"{m.active_parameters / 1e9:,.2f}",
            str(m.layers),
            f"{m.hidden:,}",
            f"{m.seq_len:,}",
        )
        for m in loaded
    ]
    header = ("name", "model", "params (1e9)", "active (1e9)", "layers", "hidden", "seq-len")
    _print(f"{len(rows)} models", header, rows)


def _model_record(model: Model) -> dict[str, Any]:
    fields = ("name", "title", "total_parameters", "active_parameters", "layers", "hidden")
    record = {field: getattr(model, field) for field in fields}
    return {**record, "seq_len": model.seq_len, "aliases": list(model.aliases)}


@models.command("show", cls=Once)
def show_model(
    name: Annotated[
        str,
        typer.Argument(
            help="Model name, alias or YAML file.", autocompletion=only_in_shells(one_of("model"))
        ),
    ],
    *,
    sources: Annotated[bool, typer.Option("--sources", help="Where each number is from.")] = False,
    output: Output = None,
    as_json: Json = False,
) -> None:
    """Every number of a model with unit, kind and source.

    Examples:
      planner models show llama3-405b --sources

      planner models show llama3-8b -o mine.yaml
    """
    import models_db  # noqa: PLC0415  (not for --help)

    model = _guarded("model", name, models_db.load_model)
    if output is not None:
        _check_shown(sources=sources, as_json=as_json)
        _write("model", name, output, models_db.record_text)
        if not as_json:
            return
    rows = _guarded("model", name, models_db.describe)
    extra = {"title": model.title, "aliases": list(model.aliases)}
    print_record(model.name, list(rows), sources=sources, as_json=as_json, extra=extra)


models.command("import", cls=Once)(import_model)
hardware.command("new", cls=Once)(new)
hardware.command("detect", cls=Once)(detect)


@hardware.command("list", cls=Once)
def list_hardware(*, as_json: Json = False) -> None:
    """All clusters with their levels, and all chips."""
    import hardware_db  # noqa: PLC0415  (not for --help)

    clusters = [hardware_db.load_cluster(name) for name in hardware_db.list_clusters()]
    if as_json:
        document = {
            "schema_version": SCHEMA_VERSION,
            "clusters": [_cluster_record(cluster) for cluster in clusters],
            "chips": list(hardware_db.list_chips()),
        }
        print_json(document)
        return
    rows = [(c.name, c.chip.name, _levels(c), f"{c.max_chips:,}") for c in clusters]
    header = ("cluster", "chip", "levels: GB/s per chip and direction", "max chips")
    _print(f"{len(rows)} clusters", header, rows)
    chips = [hardware_db.load_chip(name) for name in hardware_db.list_chips()]
    _print(
        f"\n{len(chips)} chips; the name of a chip stands for its default cluster",
        ("chip", "year", "peak TFLOP/s", "memory GB", "GB/s", "default cluster"),
        [_chip_row(chip) for chip in chips],
    )


def _cluster_record(cluster: Cluster) -> dict[str, Any]:
    return {
        "name": cluster.name,
        "title": cluster.title,
        "chip": cluster.chip.name,
        "node_chips": cluster.node_chips,
        "max_chips": cluster.max_chips,
        "levels": [level.name for level in cluster.levels],
        "peak_flop_per_s": dict(cluster.chip.peak_flop_per_s),
        "memory_bytes": cluster.chip.memory_bytes,
    }


def _levels(cluster: Cluster) -> str:
    return ", ".join(
        f"{level.name} {plain(level.bandwidth_bytes_per_s / 1e9, 4)}" for level in cluster.levels
    )


def _chip_row(chip: Chip) -> tuple[str, ...]:
    return (
        chip.name,
        chip.year,
        _peaks(chip),
        plain(chip.memory_bytes / 1e9, 4),
        plain(chip.memory_bandwidth_bytes_per_s / 1e9),
        chip.default_cluster,
    )


def _peaks(chip: Chip) -> str:
    """Dense peaks of the widest format that training uses and of the narrow ones, with names."""
    peaks = chip.peak_flop_per_s
    widest = [dtype for dtype in _SIXTEEN_BITS if dtype in peaks][:1]
    names = [*widest, *(dtype for dtype in _NARROW if dtype in peaks)]
    return ", ".join(f"{dtype} {plain(peaks[dtype] / 1e12)}" for dtype in names)


@hardware.command("show", cls=Once)
def show_hardware(
    name: Annotated[
        str,
        typer.Argument(
            help="Cluster, chip, or YAML file.", autocompletion=only_in_shells(one_of("hardware"))
        ),
    ],
    *,
    sources: Annotated[bool, typer.Option("--sources", help="Where each number is from.")] = False,
    output: Output = None,
    as_json: Json = False,
) -> None:
    """Every number of a cluster or chip with unit, kind and source.

    Examples:
      planner hardware show h100-sxm5-80 --sources

      planner hardware show h100-sxm5-80 -o mine.yaml
    """
    import hardware_db  # noqa: PLC0415  (not for --help)

    if output is not None:
        _check_shown(sources=sources, as_json=as_json)
        _write("hardware", name, output, hardware_db.record_text)
        if not as_json:
            return
    rows = _guarded("hardware", name, hardware_db.describe)
    record = _hardware_record(name)
    extra = {"title": record.title}
    print_record(record.name, list(rows), sources=sources, as_json=as_json, extra=extra)


def _hardware_record(name: str) -> Any:
    """A record of any kind; of a cluster and a chip with one name, the cluster."""
    import hardware_db  # noqa: PLC0415  (not for --help)

    records: tuple[tuple[tuple[str, ...], Callable[[str], Any]], ...] = (
        (hardware_db.list_clusters(), hardware_db.load_cluster),
        (hardware_db.list_chips(), hardware_db.load_chip),
        (hardware_db.list_calibrations(), hardware_db.load_calibration),
        (hardware_db.list_references(), hardware_db.load_reference),
    )
    listed = name.strip().lower()
    name = next((listed for names, _ in records if listed in names), name)
    load = next((load for names, load in records if name in names), hardware_db.load_cluster)
    return load(name)


def schema(  # the flag is there because every command takes it
    name: Annotated[
        str | None,
        typer.Argument(
            help="chip, like-chip, cluster, like-cluster, calibration, reference, model, job, "
            "plan, study, fleet, graph, assumptions or workload."
        ),
    ] = None,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Accepted; it is JSON anyway.")] = True,
) -> None:
    """JSON Schemas of the YAML files, for editors and checks (always JSON).

    Example:
      planner schema plan > plan.schema.json
    """
    import hardware_db  # noqa: PLC0415  (not for --help)
    import models_db  # noqa: PLC0415
    from planner.assumptions.overrides import changes_schema  # noqa: PLC0415
    from planner.base.fields import schema_of  # noqa: PLC0415
    from planner.network.topology.custom import GraphFile  # noqa: PLC0415
    from planner.question.files.plan_models import PlanFile  # noqa: PLC0415
    from planner.question.request import Request  # noqa: PLC0415
    from planner.studies.fleet.form import fleet_schema  # noqa: PLC0415
    from planner.studies.rack.model.workload_file import workload_schema  # noqa: PLC0415
    from planner.studies.sweep.question.study import study_schema  # noqa: PLC0415

    schemas = {
        **hardware_db.json_schemas(),
        **models_db.json_schemas(),
        "job": schema_of(Request),
        "plan": schema_of(PlanFile),
        "fleet": fleet_schema(),
        "study": study_schema(),
        "graph": schema_of(GraphFile),
        "assumptions": changes_schema(),
        "workload": workload_schema(),
    }
    schemas = {name: {"$schema": _DIALECT, **schema} for name, schema in schemas.items()}
    if name is None:
        print_json(schemas)
    elif name in schemas:
        print_json(schemas[name])
    else:
        raise InputError(f"schema: {not_one_of(name, sorted(schemas))}")
