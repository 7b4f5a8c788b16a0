"""A user's own wiring: YAML of links, or a graph file as networkx writes them.

The YAML file lists the links; nodes that are not named as switches are chips:

    name: two pairs behind a switch
    chips: [a, b, c, d]      # or a number; left out: every end of a link that is no switch
    switches: [hub]
    links:
      - {between: [a, b], links: 2, bandwidth_bytes_per_s: 50e9}
      - {between: [a, hub]}
      - {between: [c, hub]}
      - {between: [c, d]}

By ending: .json (node-link), .graphml, .edgelist and .adjlist. Their nodes may have `kind`, their
edges `links` and the figures of `planner.network.topology.wiring.FIGURES`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    WithJsonSchema,
)

from planner.base.errors import InputError
from planner.base.fields import refusal
from planner.base.files import read_text, read_yaml_text, without_advice
from planner.base.jsonfile import RefusedError, whole
from planner.base.messages import LONGEST_NUMBER, Origin, printable, shown
from planner.base.mistakes import mistakes
from planner.base.numerals import is_digits
from planner.network.topology.graphs import MOST_NODES, check_nodes

if TYPE_CHECKING:
    import networkx as nx

Name = Annotated[
    str,
    BeforeValidator(lambda value: str(value) if _is_name(value) else value),
    WithJsonSchema({"type": ["string", "integer"]}),
]
Figure = Annotated[float, Field(ge=0, allow_inf_nan=False)]


def _is_name(value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _chips(value: Any) -> Any:
    """A number of chips within what is measured, or names; refused in one line."""
    if isinstance(value, list) and all(map(_is_name, value)):
        return value
    if not isinstance(value, int) or isinstance(value, bool):
        raise refusal(f"{shown(value)}: must be a number of chips or a list of their names")
    if not 2 <= value <= MOST_NODES:
        raise refusal(f"{shown(value)}: a graph has 2 to {MOST_NODES:,} chips")
    return value


Chips = Annotated[int | list[Name], BeforeValidator(_chips), WithJsonSchema(
    {"anyOf": [
        {"type": "integer", "minimum": 2, "maximum": MOST_NODES},
        {"type": "array", "items": {"type": ["string", "integer"]}},
    ]}
)]  # fmt: skip


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class LinkField(_Strict):
    """The links between two nodes."""

    between: tuple[Name, Name]
    links: int = Field(default=1, ge=1)
    bandwidth_bytes_per_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    energy_j_per_byte: Figure | None = None
    latency_s: Figure | None = None
    price: Figure | None = None


class GraphFile(_Strict):
    """Chips, switches and the links between them."""

    name: str = ""
    chips: Chips | None = None
    switches: list[Name] = Field(default_factory=list)
    links: list[LinkField]


_LONGEST_LABEL = 40
# What networkx, and the parser of Python that it calls, raise for a line that is none.
_BAD_LINES = (TypeError, ValueError, IndexError, RecursionError, MemoryError)
_FIELDS = (*GraphFile.model_fields, *LinkField.model_fields)


def read_graph(path: Path) -> nx.Graph:
    """The graph in a file; chips whose names are all numbers are in their order.

    Raises:
        InputError: The ending is unknown, or the file cannot be read as what its ending says.
    """
    ending = path.suffix.lower()
    if ending not in _READERS:
        raise InputError(f"graph: {path}: files end in {', '.join(_READERS)}")
    graph = _READERS[ending](path)
    if graph.number_of_nodes() == 0:
        raise InputError(f"graph: {path}: has no nodes")
    return _in_order(graph)


def graph_label(graph: nx.Graph, path: Path) -> str:
    """What a graph is called everywhere: `graph:` and its name, or that of the file without one."""
    name = graph.graph.get("name")
    text = printable(str(name)).strip()[:_LONGEST_LABEL] if isinstance(name, str | int) else ""
    return f"graph:{text or path.stem}"


def _in_order(graph: nx.Graph) -> nx.Graph:
    """Nodes in the order of their numbers where all of them, or all chips, are numbered."""
    chips = [node for node, data in graph.nodes(data=True) if data.get("kind") != "switch"]
    if not all(is_digits(str(node)) and len(str(node)) <= LONGEST_NUMBER for node in chips):
        return graph
    ordered = graph.__class__()
    ordered.graph.update(graph.graph)
    numbered = sorted(chips, key=lambda node: int(str(node)))
    numbers = set(chips)
    others = [node for node in graph if node not in numbers]
    ordered.add_nodes_from((node, graph.nodes[node]) for node in (*numbered, *others))
    ordered.add_edges_from(graph.edges(data=True))
    return ordered


def _yaml(path: Path) -> nx.Graph:
    data, text = read_yaml_text(path)
    origin = Origin(file=str(path), content=text.content)
    try:
        file = GraphFile.model_validate(data)
    except ValidationError as error:
        raise InputError("\n".join(mistakes(error, origin.label, _FIELDS))) from error
    return _from_fields(file, origin)


def _from_fields(file: GraphFile, origin: Origin) -> nx.Graph:
    import networkx as nx  # noqa: PLC0415  (takes a noticeable time)

    graph = nx.MultiGraph(name=file.name)
    count = isinstance(file.chips, int)
    chips = list(map(str, range(file.chips))) if isinstance(file.chips, int) else file.chips
    if both := sorted(set(chips or ()) & set(file.switches)):
        raise InputError(
            f"{origin.label(['switches'])}: {shown(both[0])} is a chip as well; keep one"
        )
    if not file.links:
        raise InputError(
            f"{origin.label(['links'])}: must have at least 1 entry; "
            "a chip without any exchanges nothing"
        )
    graph.add_nodes_from(chips or (), kind="chip")
    graph.add_nodes_from(file.switches, kind="switch")
    for at, link in enumerate(file.links):
        for end in link.between:
            if chips is not None and end not in graph:
                known = f"chips are 0 to {len(chips) - 1}" if count else "name it under chips"
                raise InputError(
                    f"{origin.label(['links', at, 'between'])}: {shown(end)} is neither a chip nor "
                    f"a switch; {known} or switches"
                )
            graph.add_node(end, **graph.nodes.get(end, {"kind": "chip"}))
        graph.add_edge(*link.between, **link.model_dump(exclude={"between"}, exclude_none=True))
    return graph


def _node_link(path: Path) -> nx.Graph:
    """Node-link JSON, whose edges are called `edges` or, by older versions, `links`."""
    import networkx as nx  # noqa: PLC0415  (takes a noticeable time)

    try:
        data = json.loads(read_text(path), parse_int=whole)
        edges = data["edges"] if "edges" in data else data["links"]
        graph = nx.MultiDiGraph() if data.get("directed") else nx.MultiGraph()
        named = data.get("graph")
        graph.graph["name"] = named.get("name", "") if isinstance(named, dict) else ""
        graph.add_nodes_from((node.pop("id"), node) for node in data["nodes"])
        for edge in edges:
            figures = {name: edge[name] for name in edge if name not in ("source", "target", "key")}
            graph.add_edge(edge["source"], edge["target"], **figures)
    except RefusedError as error:
        raise InputError(f"graph: {path}: {error}") from error
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"graph: {path}: is no node-link JSON of networkx") from error
    return graph


def _graphml(path: Path) -> nx.Graph:
    from xml.etree.ElementTree import ParseError  # noqa: PLC0415  (only such files)

    import networkx as nx  # noqa: PLC0415  (takes a noticeable time)

    text = read_text(path)
    if "<!ENTITY" in text:
        raise InputError(f"graph: {path}: entities are not used here")
    try:
        with without_advice():
            graph: nx.Graph = nx.parse_graphml(text)
    except (nx.NetworkXError, ParseError, ValueError, KeyError, IndexError) as error:
        raise InputError(f"graph: {path}: is no GraphML") from error
    return graph


def _lines(parser: str, names: int | None, words: str) -> Callable[[Path], nx.Graph]:
    """The reader of a format of one line per edge or node, by networkx's function for it.

    A line begins with so many names of nodes, or has nothing else. What has too many of them is
    refused before networkx reads it, which takes long.
    """

    def read(path: Path) -> nx.Graph:
        import networkx as nx  # noqa: PLC0415  (takes a noticeable time)

        lines = [line.removesuffix(" {}") for line in read_text(path).splitlines()]
        begins = (line.partition("#")[0].split(maxsplit=names or -1)[:names] for line in lines)
        check_nodes(len({name for begin in begins for name in begin}))
        try:
            with without_advice():
                graph: nx.Graph = getattr(nx, parser)(lines)
        except (nx.NetworkXError, *_BAD_LINES) as error:
            raise InputError(f"graph: {path}: is no {words}") from error
        return graph

    return read


_READERS: dict[str, Callable[[Path], nx.Graph]] = {
    ".yaml": _yaml,
    ".yml": _yaml,
    ".json": _node_link,
    ".graphml": _graphml,
    ".edgelist": _lines("parse_edgelist", 2, "edge list: write lines such as 0 1 {'links': 2}"),
    ".adjlist": _lines("parse_adjlist", None, "adjacency list: write lines such as 0 1 2"),
}
