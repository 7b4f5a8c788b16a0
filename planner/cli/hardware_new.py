"""`planner hardware new`: a file that says what a chip or a cluster is like, and what differs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from planner.base.apart import check_apart
from planner.base.commands import path_typed
from planner.base.errors import InputError
from planner.base.files import YAML_SUFFIXES, check_writable, names_a_file, write_all
from planner.base.version import SCHEMA_VERSION
from planner.cli.completing import changed_paths, one_of, only_in_shells
from planner.cli.output import print_json
from planner.report.printing import print_lines

_HEAD = (
    "# What differs from {like}; all other numbers are that record's.\n"
    "# Nobody measured this machine: what differs is assumed.\n"
)
_WIDTH = 100


def new(
    *,
    like: Annotated[
        str,
        typer.Option(
            help="Chip or cluster that it is like, or YAML file.",
            autocompletion=only_in_shells(one_of("hardware")),
        ),
    ],
    name: Annotated[str, typer.Option(help="Its own name.")],
    set: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="A field of it, times a factor or with another value, e.g. memory.bandwidth=2x "
            "(repeatable).",
            metavar="PATH=VALUE",
            autocompletion=only_in_shells(changed_paths),
        ),
    ] = None,
    output: Annotated[
        Path, typer.Option("-o", "--output", help="The file (.yaml or .yml).", metavar="FILE")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Writes the short file of a chip or a cluster that differs from another one.

    A chip's file stands for its default cluster with that chip wherever a cluster is expected.

    Examples:
      planner hardware new --like h100-sxm5-80 --name my-chip
        --set memory.bandwidth=2x -o my-chip.yaml

      planner solve --model llama3-70b --hardware my-chip.yaml --chips 512
    """
    from strict_yaml.writing import dump  # noqa: PLC0415  (not for --help)

    if not names_a_file(str(output)):
        raise InputError(f"output: {output}: a file is written as {' or '.join(YAML_SUFFIXES)}")
    check_apart([("output", output)], {"hardware": like if names_a_file(like) else None})
    check_writable(output)
    data = short_file(like, name, set or [], output.parent)
    _check_loads(data, output)
    text = _HEAD.format(like=like) + dump(data, leaves_in_flow=True, width=_WIDTH)
    write_all({output: text})
    if as_json:
        print_json(_document(data, name, like, output))
        return
    show = f"planner hardware show {path_typed(output)}"
    print_lines(f"{output}: {name}, like {like}; {show} prints it whole")


def _document(data: dict[str, Any], name: str, like: str, output: Path) -> dict[str, Any]:
    """The fields of the JSON document."""
    from hardware_db.likeness import LABELS, LIKE, is_cluster  # noqa: PLC0415  (not for --help)
    from strict_yaml.merging import leaf_paths  # noqa: PLC0415

    labels = (LIKE, *LABELS)
    changed = [path for path in leaf_paths(data) if path.rpartition(".")[2] not in labels]
    return {
        "schema_version": SCHEMA_VERSION,
        "name": name,
        "output": str(output),
        "like": like,
        "kind": "cluster" if is_cluster(data) else "chip",
        "changed": changed,
        "content": data,
    }


def short_file(like: str, name: str, texts: list[str], folder: Path) -> dict[str, Any]:
    """What the file holds.

    Args:
        like: Of what it says what differs.
        name: Its own.
        texts: What differs, `PATH=VALUE`.
        folder: Where it will lie.

    Raises:
        InputError: A change cannot be made, or the name is taken.
    """
    from planner.question.changes.changes import changes_of  # noqa: PLC0415  (not for --help)
    from planner.question.changes.texts import with_changes  # noqa: PLC0415
    from planner.question.records import cluster_named  # noqa: PLC0415

    before = cluster_named(like)
    _check_name(name, like)
    found = changes_of(with_changes((), texts), "", like)
    if wrong := [one for one in found.fields if one.leaf.record not in ("chip", "cluster")]:
        raise InputError("\n".join(f"set: {one.change}: is no field of hardware" for one in wrong))
    outside = found.hardware
    inside = outside.pop("chip", {})
    if found.hardware:
        cluster_named(like, {**outside, **({"chip": inside} if inside else {})})  # is it possible?
    of_chip = before.chip.name if before.name != before.chip.name else like
    own = {"like": _seen_from(like, folder), "name": name, "title": name}
    if _is_chip(like) and not outside:
        return {**own, **_rest(inside)}
    if _is_chip(like):
        own["like"] = before.chip.default_cluster
        inside = inside or {"name": f"{name}-chip"}
    if inside:
        chip = {"like": of_chip, "name": f"{name}-chip", "title": f"{name}-chip"}
        return {**own, "chip": {**chip, **_rest(inside)}, **_rest(outside)}
    return {**own, **_rest(outside)}


def _check_loads(data: dict[str, Any], output: Path) -> None:
    """Refuses what would not be read again from where it will lie.

    Raises:
        InputError: One line per mistake.
    """
    from hardware_db import HardwareError  # noqa: PLC0415  (not for --help)
    from hardware_db.likeness import is_cluster  # noqa: PLC0415
    from hardware_db.making import completed, made_chip, made_cluster  # noqa: PLC0415
    from strict_yaml.text import YamlText  # noqa: PLC0415

    try:
        whole = completed(data, YamlText(str(output)), (str(output),))
        made_cluster(whole) if is_cluster(whole.data) else made_chip(whole)
    except HardwareError as error:
        raise InputError(str(error)) from error


def _rest(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: node for name, node in fields.items() if name != "name"}


def _is_chip(like: str) -> bool:
    """Whether a name, or a file, is of a chip rather than of a cluster."""
    from hardware_db.likeness import is_cluster  # noqa: PLC0415  (not for --help)
    from hardware_db.loading import cluster_parts  # noqa: PLC0415

    if names_a_file(like):
        from hardware_db.making import whole_file  # noqa: PLC0415

        return not is_cluster(whole_file(Path(like)).data)
    return cluster_parts(like).cluster.data.get("name") != like.strip().lower()


def _check_name(name: str, like: str) -> None:
    """Refuses a name that a record has, or none.

    Raises:
        InputError: See above.
    """
    import hardware_db  # noqa: PLC0415  (not for --help)

    if not name.strip():
        raise InputError("name: is empty; give it a name of its own, e.g. my-chip")
    if name.lower() in (*hardware_db.list_chips(), *hardware_db.list_clusters(), like.lower()):
        raise InputError(f"name: {name!r} is taken by a record; nearest: my-{name}")


def _seen_from(like: str, folder: Path) -> str:
    """A name as it is; the path of a file as it is seen from a folder."""
    return os.path.relpath(like, folder) if names_a_file(like) else like
