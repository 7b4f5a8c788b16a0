"""`planner models`, `planner hardware` and `planner schema`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from planner.cli.output import print_json

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]

models = typer.Typer(no_args_is_help=True, help="The model database: list, show.")
hardware = typer.Typer(no_args_is_help=True, help="The hardware database: list, show.")


def _print_table(title: str, header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    from rich.table import Table  # noqa: PLC0415  (only for people)

    from planner.report.terminal import console  # noqa: PLC0415

    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for name in header:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*row)
    console().print(table)


def _number(value: object) -> str:
    if isinstance(value, bool) or value is None:
        return "" if value is None else str(value)
    if isinstance(value, int | float):
        return f"{value:,}" if isinstance(value, int) and abs(value) < 10**15 else f"{value:.6g}"
    if isinstance(value, tuple | list):
        return ", ".join(map(_number, value))
    return str(value)


def _show(
    name: str, rows: list[Any], *, sources: bool, as_json: bool, extra: dict[str, Any]
) -> None:
    """Prints the numbers of a record with their units, kinds and, if wanted, sources."""
    if as_json:
        fields = ("path", "value", "unit", "kind", "sources", "note")
        numbers = [{field: getattr(row, field) for field in fields} for row in rows]
        print_json({"name": name, **extra, "numbers": numbers})
        return
    header: tuple[str, ...] = ("number", "value", "unit", "kind")
    cells: list[tuple[str, ...]] = []
    for row in rows:
        cell = (row.path, _number(row.value), row.unit, row.kind)
        origin = "; ".join([*row.sources, *([row.note] if row.note else [])])
        cells.append((*cell, origin) if sources else cell)
    if sources:
        header = (*header, "source, note")
    title = f"{name}" + "".join(f"\n{key}: {value}" for key, value in extra.items())
    _print_table(title, header, cells)


def _guarded(call: Callable[[], Any]) -> Any:
    """Runs a database call; its errors become bad input."""
    from hardware_db import HardwareError  # noqa: PLC0415
    from models_db import ModelError  # noqa: PLC0415
    from planner.errors import InputError  # noqa: PLC0415

    try:
        return call()
    except (HardwareError, ModelError) as error:
        raise InputError(str(error)) from error


@models.command("list")
def list_models(*, as_json: Json = False) -> None:
    """All models with their sizes."""
    import models_db  # noqa: PLC0415

    loaded = [models_db.load_model(name) for name in models_db.list_models()]
    if as_json:
        print_json(
            [
                {
                    "name": m.name,
                    "title": m.title,
                    "total_parameters": m.total_parameters,
                    "active_parameters": m.active_parameters,
                    "layers": m.layers,
                    "hidden": m.hidden,
                    "seq_len": m.seq_len,
                    "aliases": list(m.aliases),
                }
                for m in loaded
            ]
        )
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
    _print_table(f"{len(rows)} models", header, rows)


@models.command("show")
def show_model(
    name: Annotated[str, typer.Argument(help="Model name, alias or YAML file.")],
    *,
    sources: Annotated[bool, typer.Option("--sources", help="Where each number is from.")] = False,
    as_json: Json = False,
) -> None:
    """Every number of a model with unit, kind and source.

    Example:
      planner models show llama3-405b --sources
    """
    import models_db  # noqa: PLC0415

    model = _guarded(lambda: models_db.load_model(name))
    rows = _guarded(lambda: models_db.describe(name))
    extra = {"title": model.title, "aliases": ", ".join(model.aliases)}
    _show(model.name, list(rows), sources=sources, as_json=as_json, extra=extra)


@hardware.command("list")
def list_hardware(*, as_json: Json = False) -> None:
    """All clusters with their chips and levels."""
    import hardware_db  # noqa: PLC0415

    loaded = [hardware_db.load_cluster(name) for name in hardware_db.list_clusters()]
    if as_json:
        print_json(
            {
                "clusters": [
                    {
                        "name": c.name,
                        "title": c.title,
                        "chip": c.chip.name,
                        "node_chips": c.node_chips,
                        "max_chips": c.max_chips,
                        "levels": [level.name for level in c.levels],
                    }
                    for c in loaded
                ],
                "chips": list(hardware_db.list_chips()),
            }
        )
        return
    rows = [
        (
            c.name,
            c.chip.name,
            f"{max(c.chip.peak_flop_per_s.values()) / 1e12:,.4g}",
            f"{c.chip.memory_bytes / 1e9:,.4g}",
            ", ".join(
                f"{level.name} {level.bandwidth_bytes_per_s / 1e9:,.4g}" for level in c.levels
            ),
            f"{c.max_chips:,}",
        )
        for c in loaded
    ]
    header = ("cluster", "chip", "peak TFLOP/s", "memory GB", "levels (GB/s per chip)", "max chips")
    _print_table(f"{len(rows)} clusters", header, rows)
    names = ", ".join(hardware_db.list_chips())
    _print_table(f"Chips (a chip name stands for its default cluster): {names}", (), [])


@hardware.command("show")
def show_hardware(
    name: Annotated[str, typer.Argument(help="Cluster, chip, or YAML file.")],
    *,
    sources: Annotated[bool, typer.Option("--sources", help="Where each number is from.")] = False,
    as_json: Json = False,
) -> None:
    """Every number of a cluster or chip with unit, kind and source.

    Example:
      planner hardware show h100-sxm5-80 --sources
    """
    import hardware_db  # noqa: PLC0415

    rows = _guarded(lambda: hardware_db.describe(name))
    _show(name, list(rows), sources=sources, as_json=as_json, extra={})


def schema(
    name: Annotated[
        str | None, typer.Argument(help="chip, cluster, calibration, model, job or plan.")
    ] = None,
) -> None:
    """JSON Schemas of the YAML files, for editors and checks (always JSON).

    Example:
      planner schema plan > plan.schema.json
    """
    import hardware_db  # noqa: PLC0415
    import models_db  # noqa: PLC0415
    from planner.errors import InputError  # noqa: PLC0415
    from planner.planfile import PlanFile  # noqa: PLC0415
    from planner.request import Request  # noqa: PLC0415

    schemas = {
        **hardware_db.json_schemas(),
        **models_db.json_schemas(),
        "job": Request.model_json_schema(),
        "plan": PlanFile.model_json_schema(),
    }
    if name is None:
        print_json(schemas)
    elif name in schemas:
        print_json(schemas[name])
    else:
        raise InputError(f"schema: {name!r} is not one of {', '.join(sorted(schemas))}")
