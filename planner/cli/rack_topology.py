"""`planner rack topology`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from planner.base.apart import check_apart
from planner.cli.options import OUTPUT, AsJson, option
from planner.cli.output import print_json, progress_bar
from planner.cli.writing import before_printing

if TYPE_CHECKING:
    from planner.studies.rack.topology.rows import LinkFigures, TopologyResult, TrafficAsked

_QUESTION = "Question"
_TRAFFIC = "Traffic"
_LINKS = "Links"
FEW = {
    "specs": "ring:8, torus:4x4x4, fat-tree:k=4, ...",
    "graph": "A wiring of your own, from a file of links.",
    "chips": "Chips of a topology given without sizes.",
    "traffic": "uniform, all-gather, ring, ... or a file.",
    "amount": "Bytes that each chip sends.",
    "bandwidth": "Of a link in each direction, e.g. 50GB/s.",
    "plot": "Draw the graphs and bars: .svg, .png or .html.",
    "as_json": "",
}
"""What `--help` shows, with its help there."""


def topology(
    specs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TOPOLOGY",
            help="linear, ring, fully-connected, mesh, torus, hypercube, hyperx, star, switch, "
            "leaf-spine, fat-tree, dragonfly or dgx-1, with sizes: ring:8, torus:4x4x4, "
            "fat-tree:k=4, dragonfly:a=4,h=2,p=2, leaf-spine:chips=16,leaf=4,spines=4 "
            "(default: all that have --chips).",
        ),
    ] = None,
    *,
    named: Annotated[
        list[str] | None,
        option(
            "The same as an option, as other commands have it: ring:8,dgx-1 (repeatable, or with "
            "commas).",
            _QUESTION,
            "--topology",
        ),
    ] = None,
    graph: Annotated[
        list[Path] | None,
        option(
            "A wiring of your own: .yaml, .json (node-link), .graphml, .edgelist or .adjlist "
            "(repeatable).",
            _QUESTION,
        ),
    ] = None,
    chips: Annotated[
        str | None, option("Chips of every topology that is given without sizes.", _QUESTION)
    ] = None,
    traffic: Annotated[
        str,
        option(
            "uniform, all-gather, ring, pipeline, opposite, permutation, or a matrix of bytes in "
            "a .csv, .yaml or .npy file.",
            _TRAFFIC,
        ),
    ] = "uniform",
    amount: Annotated[
        str,
        option(
            "Bytes that each chip sends; under all-gather, bytes of what is gathered.",
            _TRAFFIC,
            "--bytes",
        ),
    ] = "1GB",
    routing: Annotated[
        str,
        option(
            "shortest (equal split over all shortest paths) or fixed (dimension order on grids, "
            "local-global-local on dragonflies).",
            _TRAFFIC,
        ),
    ] = "shortest",
    seed: Annotated[str, option("Of permutation.", _TRAFFIC)] = "0",
    bandwidth: Annotated[
        str | None,
        option(
            "Of a link in each direction, e.g. 50GB/s (a plain number: B/s); for times.", _LINKS
        ),
    ] = None,
    energy_per_hop: Annotated[
        str | None,
        option("Of a byte over a link: 1.6e-10 (J/B), 160pJ/B or 20pJ/bit; for energy.", _LINKS),
    ] = None,
    latency: Annotated[
        str | None, option("Of a link, e.g. 500ns; for the slowest pair.", _LINKS)
    ] = None,
    link_price: Annotated[str | None, option("Of a link, in any currency.", _LINKS)] = None,
    port_price: Annotated[str | None, option("Of a port of a switch.", _LINKS)] = None,
    link_power: Annotated[str | None, option("Static, of a link, e.g. 5W.", _LINKS)] = None,
    port_power: Annotated[str | None, option("Static, of a port of a switch.", _LINKS)] = None,
    plot: Annotated[
        Path | None,
        option("Write the graphs, links coloured by load, and bars: .svg, .png or .html.", OUTPUT),
    ] = None,
    loads: Annotated[
        Path | None,
        option("Write the bytes over every link, both ways, as CSV.", OUTPUT, "--link-loads"),
    ] = None,
    time_limit: Annotated[
        str | None,
        option(
            "To prove the bisection of each dragonfly or graph, e.g. 60s (default: none for "
            "dragonflies, 10s for graphs up to 128 nodes).",
            OUTPUT,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Hops, bisection, links, load, energy and cost of topologies, or of your own graph.

    Examples:
      planner rack topology --chips 16

      planner rack topology torus:8x8x8 fat-tree:k=12 --bandwidth 50GB/s

      planner rack topology dgx-1 hypercube:8 --traffic permutation

      planner rack topology ring:12 --traffic all-gather --link-loads loads.csv

      planner rack topology linear:12 ring:12 fully-connected:12 --traffic all-gather
        --bytes 7680 --bandwidth 32GB/s --energy-per-hop 1.6e-10

      planner rack topology torus:8x8x8 fat-tree:k=12 dragonfly:a=8,h=4,p=4 --bandwidth 50GB/s
        --link-price 200 --port-price 300
    """
    given = {
        "chips": chips,
        "seed": seed,
        "time-limit": time_limit,
        "bytes": amount,
        "bandwidth": bandwidth,
        "energy-per-hop": energy_per_hop,
        "latency": latency,
        "link-price": link_price,
        "port-price": port_price,
        "link-power": link_power,
        "port-power": port_power,
    }
    topologies = [*(specs or []), *(named or [])]
    _run(topologies, graph or [], given, (traffic, routing), (plot, loads), as_json=as_json)


def _run(
    specs: list[str],
    graphs: list[Path],
    given: dict[str, str | None],
    sent: tuple[str, str],
    files: tuple[Path | None, Path | None],
    *,
    as_json: bool,
) -> None:
    """Asks, writes the picture and the loads, then prints."""
    from planner.base.files import check_writable, write_all  # noqa: PLC0415  (not for --help)
    from planner.report.charts.rack_topology import topology_picture  # noqa: PLC0415
    from planner.report.pages.picture_file import check_picture, picture_bytes  # noqa: PLC0415
    from planner.studies.rack.topology.asking import compare_topologies  # noqa: PLC0415  (numpy)

    chips, proof_s, traffic, figures = _read(given, *sent)
    plot, loads = files
    check_picture(plot)
    if loads is not None:
        check_writable(loads)
    check_apart([("plot", plot), ("link-loads", loads)])
    with progress_bar(wanted=not as_json, verb="measuring") as on_progress:
        result = compare_topologies(
            specs, graphs, chips=chips, traffic=traffic, figures=figures, proof_s=proof_s,
            on_progress=on_progress,
        )  # fmt: skip
    with before_printing():
        contents: dict[Path, str | bytes] = {}
        if plot is not None:
            contents[plot] = picture_bytes(topology_picture(result), plot)
        if loads is not None:
            contents[loads] = _loads(result)
        write_all(contents)
    if as_json:
        print_json(result.to_dict())
    else:
        from planner.report.tables.rack_topology import topology_view  # noqa: PLC0415
        from planner.report.tables.tables import print_view  # noqa: PLC0415

        print_view(topology_view(result))


def _loads(result: TopologyResult) -> str:
    """A line per edge of every topology."""
    import csv  # noqa: PLC0415  (only for such files)
    import io  # noqa: PLC0415

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("topology", "from", "to", "links", "bytes", "bytes_back"))
    for row in result.rows:
        writer.writerows((row.name, *link) for link in row.link_loads())
    return text.getvalue()


def _read(
    given: dict[str, str | None], traffic: str, routing: str
) -> tuple[int | None, float | None, TrafficAsked, LinkFigures]:
    """The numbers among the flags, all mistakes at once."""
    from planner.base.messages import Attempts, Origin  # noqa: PLC0415  (not for --help)
    from planner.base.units import parse_whole  # noqa: PLC0415
    from planner.network.topology import figures as read  # noqa: PLC0415
    from planner.studies.rack.topology.rows import LinkFigures, TrafficAsked  # noqa: PLC0415

    attempts = Attempts(Origin(), ())

    def number(name: str, parse: Any) -> Any:
        text = given[name]
        return None if text is None else attempts.attempt(parse, text, name)

    chips = number("chips", parse_whole)
    amount, seed = number("bytes", read.parse_amount), number("seed", parse_whole)
    proof_s = number("time-limit", read.parse_latency)
    links = LinkFigures(
        bandwidth_bytes_per_s=number("bandwidth", read.parse_bandwidth),
        energy_j_per_byte=number("energy-per-hop", read.parse_energy_per_byte),
        latency_s=number("latency", read.parse_latency),
        link_price=number("link-price", read.parse_price),
        port_price=number("port-price", read.parse_price),
        link_w=number("link-power", read.parse_static_power),
        port_w=number("port-power", read.parse_static_power),
    )
    if seed is not None and seed < 0:
        attempts.add([f"seed: {seed} must be at least 0"])
    if attempts.problems:
        raise attempts.error()
    asked = TrafficAsked(pattern=traffic, amount_bytes=amount, routing=routing, seed=seed)
    return chips, proof_s, asked, links
