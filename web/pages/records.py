"""A page for each chip, cluster and model: its numbers with units, kinds and sources."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import NamedTuple

import hardware_db
import models_db
from pages.markup import code, link, plain, prose, table
from planner.base.units import plain as shortened


class Shown(NamedTuple):
    """One number of a record, whichever database has it."""

    path: str
    value: object
    unit: str
    kind: str
    sources: tuple[str, ...]
    note: str


def write(into: Path) -> list[str]:
    """Writes the pages of all records and the lists that lead to them.

    Returns:
        The lists, as paths on the site.
    """
    for folder in ("chips", "clusters", "models"):
        (into / "reference" / folder).mkdir(parents=True)
    pages = {
        **{f"chips/{name}.md": _chip(name) for name in hardware_db.list_chips()},
        **{f"clusters/{name}.md": _cluster(name) for name in hardware_db.list_clusters()},
        **{f"models/{name}.md": _model(name) for name in models_db.list_models()},
        "chips.md": _chips(), "clusters.md": _clusters(), "models.md": _models(),
    }  # fmt: skip
    for name, text in pages.items():
        (into / "reference" / name).write_text(text, encoding="utf-8")
    return [f"reference/{name}.md" for name in ("chips", "clusters", "models")]


def _chip(name: str) -> str:
    chip = hardware_db.load_chip(name)
    made = ", ".join(filter(None, (chip.vendor, chip.architecture, chip.year, chip.process)))
    home = f"[{chip.default_cluster}](../clusters/{chip.default_cluster}.md)"
    head = f"{plain(made)}. As `--hardware {name}` it stands for its default cluster, {home}."
    if name in hardware_db.list_clusters():
        head = f"{plain(made)}. `--hardware {name}` is [the cluster](../clusters/{name}.md)."
    urls = {source.title: source.reference for source in chip.sources.values()}
    rows = hardware_db.describe(name)
    if name in hardware_db.list_clusters():
        rows = tuple(row._replace(path=row.path.removeprefix("chip."))
                     for row in rows if row.path.startswith("chip."))  # fmt: skip
    return _page("chips", chip.title, head, [Shown(*row) for row in rows], urls)


def _cluster(name: str) -> str:
    cluster = hardware_db.load_cluster(name)
    chip = f"[{cluster.chip.name}](../chips/{cluster.chip.name}.md)"
    head = (
        f"`--hardware {name}`: up to {cluster.max_chips:,} chips {chip}, {cluster.node_chips} in a "
        f"node. `planner hardware show {name} --sources` prints the same."
    )
    urls = {source.title: source.reference for source in cluster.sources.values()}
    rows = [Shown(*row) for row in hardware_db.describe(name) if not row.path.startswith("chip.")]
    return _page("clusters", cluster.title, head, rows, urls)


def _model(name: str) -> str:
    model = models_db.load_model(name)
    active = "" if model.moe is None else f", of which {model.active_parameters:,} are active"
    others = f" Also called {', '.join(f'`{one}`' for one in model.aliases)}."
    head = (
        f"`--model {name}`: {model.total_parameters:,} parameters{active}."
        f"{others if model.aliases else ''}"
    )
    urls = {source.title: source.url or "" for source in model.sources.values()}
    rows = [Shown(*row) for row in models_db.describe(name)]
    return _page("models", model.title, head, rows, urls)


def _page(folder: str, title: str, head: str, rows: list[Shown], urls: dict[str, str]) -> str:
    """A page: what the record is, how its numbers are known, the numbers, their sources."""
    kinds = Counter(row.kind for row in rows)
    known = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
    order = {text: at for at, text in enumerate(dict.fromkeys(_texts(rows)), 1)}
    cells = [
        (
            code(row.path), escape(_number(row.value)),
            "" if row.unit == "1" else escape(row.unit), row.kind,
            " ".join(f'<a href="#source-{order[text]}">[{order[text]}]</a>'
                     for text in row.sources),
            prose(row.note),
        )
        for row in rows
    ]  # fmt: skip
    numbers = table(("number", "value", "unit", "kind", "source", "note"), cells)
    listed = "\n".join(
        f'<li id="source-{at}">{_source(text, urls)}</li>' for text, at in order.items()
    )
    return (
        f"---\nhide: [navigation]\n---\n\n# {plain(title)}\n\n[All {folder}](../{folder}.md). "
        f"{head}\n\n{len(rows)} numbers: {known}.\n\n{numbers}\n"
        f"## Sources\n\n<ol>\n{listed}\n</ol>\n"
    )


def _texts(rows: Iterable[Shown]) -> Iterable[str]:
    for row in rows:
        yield from row.sources


def _source(text: str, urls: dict[str, str]) -> str:
    """A source with its address, where it has one."""
    title = next((title for title in urls if text in (title, f"{title} ({urls[title]})")), "")
    url = urls.get(title, "")
    return link(title, url) if url.startswith("http") else escape(text)


def _number(value: object) -> str:
    """A value as people read it, with thousands apart."""
    if value is None or isinstance(value, bool):
        return "" if value is None else str(value).lower()
    if isinstance(value, int) and abs(value) < 10**15:
        return f"{value:,}"
    if isinstance(value, int | float):
        return f"{value:.6g}"
    if isinstance(value, tuple | list):
        return ", ".join(map(_number, value))
    return str(value)


def _chips() -> str:
    rows = []
    for chip in map(hardware_db.load_chip, hardware_db.list_chips()):
        peak = chip.peak_flop_per_s.get("bf16") or max(chip.peak_flop_per_s.values())
        rows.append((
            link(chip.name, f"chips/{chip.name}.html"), escape(chip.title), escape(chip.year),
            shortened(peak / 1e12, 4), shortened(chip.memory_bytes / 1e9, 4),
            shortened(chip.memory_bandwidth_bytes_per_s / 1e9, 4),
        ))  # fmt: skip
    header = ("chip", "title", "year", "bf16 TFLOP/s, else the most", "memory GB", "memory GB/s")
    return f"# Which chips are known?\n\n{_KINDS}\n\n{table(header, rows)}"


def _clusters() -> str:
    rows = [
        (
            link(cluster.name, f"clusters/{cluster.name}.html"), escape(cluster.title),
            link(cluster.chip.name, f"chips/{cluster.chip.name}.html"),
            escape(", ".join(f"{level.name} {shortened(level.bandwidth_bytes_per_s / 1e9, 4)}"
                             for level in cluster.levels)),
        )
        for cluster in map(hardware_db.load_cluster, hardware_db.list_clusters())
    ]  # fmt: skip
    header = ("cluster", "title", "chip", "levels: GB/s per chip and direction")
    return f"# Which clusters are known?\n\n{_KINDS}\n\n{table(header, rows)}"


def _models() -> str:
    rows = [
        (
            link(model.name, f"models/{model.name}.html"), escape(model.title),
            f"{model.total_parameters / 1e9:,.2f}",
            "" if model.moe is None else f"{model.active_parameters / 1e9:,.2f}",
            f"{model.layers}", f"{model.hidden:,}", f"{model.seq_len:,}",
        )
        for model in map(models_db.load_model, models_db.list_models())
    ]  # fmt: skip
    header = ("model", "title", "parameters (1e9)", "active (1e9)", "layers", "hidden", "tokens")
    return f"# Which models are known?\n\n{_KINDS}\n\n{table(header, rows)}"


_KINDS = (
    "Each has a page with every number, its unit, its kind and its sources. Kinds: `datasheet`, "
    "`measured`, `derived` from others, and `assumed`, a guess that says why."
)
