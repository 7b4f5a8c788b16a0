"""Files and paths made to hurt: each is refused in a few clear lines, with little work."""

import difflib
import io
import json
import re
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.cases import each

from cli.answers import SMALL, answer_to
from cli.command import refused
from planner.base.jsonfile import sealed
from strict_yaml import json_text
from strict_yaml.reading import load as load_yaml

LONG = "9" * 5000
LARGE = "1" + "0" * 399
MANY = 2_000
ON_EIGHT = ("--model", "gpt3-125m", "--hardware", "h100-sxm5-80", "--chips", "8")
TRAFFIC = ("rack", "topology", "ring:8", "--traffic")
GRAPH = ("rack", "topology", "--graph")


def array(descr: str, shape: str, content: bytes = b"", version: int = 1) -> bytes:
    """A .npy file whose header says so."""
    return header(
        f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n", version
    ) + (content)


def header(text: str, version: int = 1) -> bytes:
    """A .npy file that ends after its header."""
    length = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + length + text.encode("latin1")


def zipped(content: bytes) -> bytes:
    """A .npz file."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.npy", content)
    return file.getvalue()


SIZE = "8 chips need 8 x 8"
NO_ARRAY = "is no numpy array of numbers, as numpy.save writes it"
EIGHT = bytes(8 * 8 * 8)
ARRAYS: dict[str, tuple[bytes, str]] = {
    "more than any memory": (array("'<f8'", "(100000000, 100000000)"), SIZE),
    "more than an index holds": (array("'<f8'", f"({10**30}, 8)"), SIZE),
    "nothing of great width": (array("'|V0'", "(100000000, 100000000)"), SIZE),
    "truth values as sizes": (array("'<f8'", "(True, True)", EIGHT), SIZE),
    "a single number": (array("'<f8'", "()", EIGHT), "is a single number; 8 chips need 8 x 8"),
    "too few numbers": (array("'<f8'", "(8, 8)", EIGHT[:99]), NO_ARRAY),
    "objects": (array("'|O'", "(8, 8)", EIGHT), NO_ARRAY),
    "complex numbers": (array("'<c16'", "(8, 8)", EIGHT * 2), NO_ARRAY),
    "times": (array("'<M8[s]'", "(8, 8)", EIGHT), NO_ARRAY),
    "a wide void": (array("'V1000000000000'", "(8, 8)"), NO_ARRAY),
    "a type of empty parts": (array("[()]", "(8, 8)", EIGHT), NO_ARRAY),
    "parentheses": (header("(" * 9000 + ")" * 900 + "\n"), NO_ARRAY),
    "signs": (header("-" * 9000 + "1\n"), NO_ARRAY),
    "sums": (header("1" + "+1j" * 3000 + "\n"), NO_ARRAY),
    "nested as far as may be": (header("(" * 190 + ")" * 190 + "\n"), NO_ARRAY),
    "a long number": (array("'<f8'", f"({LONG}, 8)"), NO_ARRAY),
    "a long header": (array("'<f8'", "(8, 8)" + " " * 20_000, EIGHT), NO_ARRAY),
    "a header longer than the file": (b"\x93NUMPY\x02\x00\xff\xff\xff\x7f{", NO_ARRAY),
    "another version": (array("'<f8'", "(8, 8)", EIGHT, version=9), NO_ARRAY),
    "an archive": (zipped(array("'<f8'", "(8, 8)", EIGHT)), NO_ARRAY),
    "the beginning of an archive": (b"PK\x03\x04" + b"x" * 100, NO_ARRAY),
    "the end of an archive": (b"PK\x05\x06" + bytes(18), NO_ARRAY),
    "a pickle": (b"\x80\x04K\x01.", NO_ARRAY),
}


@each("what", ARRAYS)
def test_an_array_that_is_no_matrix_of_the_chips(what: str, tmp_path: Path) -> None:
    content, words = ARRAYS[what]
    path = tmp_path / "t.npy"
    path.write_bytes(content)
    (line,) = refused(*TRAFFIC, path)
    assert line.startswith(f"traffic: {path}: ")
    assert line.endswith(words)


def node_link(ends: str, **figures: str) -> str:
    """A node-link file with one link."""
    said = "".join(f', "{name}": {value}' for name, value in figures.items())
    edge = f'{{"source": 0, "target": {ends}{said}}}'
    return f'{{"nodes": [{{"id": 0}}, {{"id": {ends}}}], "edges": [{edge}]}}'


def graphml(node: str, links: str) -> str:
    """A GraphML file with one link."""
    return (
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
        '<key id="d" for="edge" attr.name="links" attr.type="int"/>'
        f'<graph edgedefault="undirected"><node id="0"/><node id="{node}"/>'
        f'<edge source="0" target="{node}"><data key="d">{links}</data></edge></graph></graphml>'
    )


MOST_LINKS = "links: a number of about 400 digits must be at most 1e+06"
NUMBERS: dict[str, tuple[str, str, str]] = {
    "a long name in JSON": ("g.json", node_link(LONG), "a number of 5,000 digits is too long"),
    "long links in JSON": ("g.json", node_link("1", links=LONG), "5,000 digits is too long"),
    "large links in JSON": ("g.json", node_link("1", links=LARGE), "400 digits is too large"),
    "a large figure in JSON": ("g.json", node_link("1", price=f"-{LARGE}"), "is too large"),
    "large links in YAML": (
        "g.yaml", f"links: [{{between: [0, 1], price: {LARGE}}}]", "400 digits is too large"),
    "large links in GraphML": ("g.graphml", graphml("1", LARGE), MOST_LINKS),
    "long links in GraphML": ("g.graphml", graphml("1", LONG), "is no GraphML"),
    "large links in a list": ("g.edgelist", f"0 1 {{'links': {LARGE}}}", MOST_LINKS),
    "a negative figure in a list": (
        "g.edgelist", f"0 1 {{'price': -{LARGE}}}", "must be finite and at least 0"),
    "signs in a list": ("g.edgelist", "0 1 {'links': " + "-" * 9000 + "1}", "is no edge list"),
}  # fmt: skip


@each("what", NUMBERS)
def test_a_number_of_a_graph_that_cannot_be_computed_with(what: str, tmp_path: Path) -> None:
    name, text, words = NUMBERS[what]
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    (line,) = refused(*GRAPH, path)
    assert str(path) in line
    assert words in line


def with_large_numbers(value: Any) -> list[Any]:
    """The document once for each of its first numbers and mappings, that one being too large."""
    text = json.dumps(value)
    marked = ['"chips": 8', '"seconds": ', '"objective": ']
    places = [text.index(mark) + mark.index(":") + 2 for mark in marked]
    ends = [next(at for at in range(place, len(text)) if text[at] in ",}") for place in places]
    return [text[:place] + LARGE + text[end:] for place, end in zip(places, ends, strict=True)]


def test_a_result_with_a_number_that_no_float_holds(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    for text in with_large_numbers(answer_to("dense, GPU, clocks")):
        path.write_text(json.dumps(sealed(json.loads(text))), encoding="utf-8")
        assert refused("report", path) == [f"{path}: a number of about 400 digits is too large"]
    assert [one.name for one in tmp_path.iterdir()] == ["result.json"]


class Counted(str):
    """A name that counts how often it is compared."""

    __slots__ = ()
    compared = 0

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def test_a_name_that_stands_twice_is_found_in_linear_time() -> None:
    names = [f"n{at}" for at in range(2000)]
    pairs = [(Counted(name), 1) for name in [*names, names[-1]]]
    with pytest.raises(json_text.DoubledNameError, match=names[-1]):
        json_text.unique(pairs)
    assert Counted.compared < 10 * len(pairs)


def unknown_fields(**known: Any) -> str:
    """A file of many fields that nothing knows; it is YAML as well as JSON."""
    return json.dumps(known | {f"n{at:05}": 1 for at in range(MANY)})


STAGES = ("evaluate", "FILE")
LOCAL = load_yaml((Path(__file__).parent / "local.yaml").read_bytes())
LOCAL["date"] = str(LOCAL["date"])
MISTAKES: dict[str, tuple[str, tuple[str, ...]]] = {
    "job": (unknown_fields(model="gpt3-125m", chips=8), ("solve", "FILE")),
    "plan": (unknown_fields(schema_version=1, job={}, plan={}), STAGES),
    "mesh": (json.dumps({"schema_version": 1, "job": {"model": "gpt3-125m"}, "plan": {
        "mesh": json.loads(unknown_fields())}}), STAGES),
    "assumptions": (unknown_fields(tile_m=128), ("solve", *ON_EIGHT, "--assumptions", "FILE")),
    "calibration": (unknown_fields(constants={}), ("solve", *ON_EIGHT, "--calibration", "FILE")),
    "constants": (
        json.dumps({**LOCAL, "constants": json.loads(unknown_fields())}),
        ("solve", *ON_EIGHT, "--calibration", "FILE")),
    "fix": (json.dumps({"model": "gpt3-125m", "chips": 8, "fix": json.loads(unknown_fields())}),
            ("solve", "FILE")),
    "cluster": (unknown_fields(levels=[]), ("hardware", "show", "FILE")),
    "chip": (unknown_fields(vendor="x", power={}), ("hardware", "show", "FILE")),
    "graph": (unknown_fields(links=[]), (*GRAPH, "FILE")),
    "links": (json.dumps({"links": [{"btween": [0, 1]}] * MANY}), (*GRAPH, "FILE")),
    "workload": (unknown_fields(einsums=[]), ("rack", "zero", "--workload", "FILE")),
}  # fmt: skip


@pytest.mark.parametrize("kind", MISTAKES)
def test_of_thousands_of_mistakes_the_first_are_said(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    searches = counting(monkeypatch, difflib, "get_close_matches")
    text, command = MISTAKES[kind]
    path = tmp_path / "many.yaml"
    path.write_text(text, encoding="utf-8")
    lines = refused(*(str(path) if word == "FILE" else word for word in command))
    assert 3 <= len(lines) <= 11
    assert sum("unknown field" in line for line in lines) <= 3
    assert any(re.search(r"\band ([\d,]+ )?more( mistakes)?$", line) for line in lines)
    assert len(searches) < 200, "names that are nearest are sought for what is said alone"


def test_of_a_models_mistakes_the_first_are_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    searches = counting(monkeypatch, difflib, "get_close_matches")
    path = tmp_path / "many.yaml"
    path.write_text("".join(f"n{at}: 1\n" for at in range(MANY)) + "layers: 3\n", "utf-8")
    lines = refused("models", "show", path)
    assert sum("unknown field" in line for line in lines) == 3
    assert lines[-1] == "and 2,007 more mistakes"
    assert len(searches) < 200


def counting(monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> list[int]:
    """A list that grows by one with each call of a function."""
    calls: list[int] = []
    real: Callable[..., Any] = getattr(module, name)

    def called(*given: Any, **named: Any) -> Any:
        calls.append(1)
        return real(*given, **named)

    monkeypatch.setattr(module, name, called)
    return calls


READS = [
    ("solve", "FILE.yaml"), ("solve", "--chips", "8", "--model", "FILE.yaml"),
    ("solve", "--chips", "8", "--model", "FILE.json"), ("models", "show", "FILE.yaml"),
    ("solve", "--model", "gpt3-125m", "--chips", "8", "--hardware", "FILE.yaml"),
    ("solve", *ON_EIGHT, "--assumptions", "FILE.yaml"), ("hardware", "show", "FILE.yaml"),
    ("solve", *ON_EIGHT, "--calibration", "FILE.yaml"), ("evaluate", "FILE.yaml"),
    ("evaluate", "FILE.csv"), ("evaluate", "FILE.sh", "--from", "megatron", *ON_EIGHT),
    ("explain", "FILE.json"), ("compare", "FILE.yaml", "FILE.json:1"),
    ("export", "FILE.yaml", "--to", "megatron"),
    ("measure", "FILE.yaml", "--framework", "megatron"), ("ridgeline", "--plan", "FILE.yaml"),
    ("ridgeline", "--hardware", "h100-sxm5-80", "--csv", "FILE.csv"), ("report", "FILE.json"),
    ("validate", "--data", "FILE.csv"), ("calibrate", "--runs", "FILE.csv"),
    ("calibrate", "--nccl", "FILE.txt"), ("calibrate", "--gemm", "FILE.csv"),
    ("rack", "zero", "--workload", "FILE.yaml"), ("rack", "zero", "--graph", "FILE.yaml"),
    ("rack", "solve", "--graph", "FILE.json"), (*GRAPH, "FILE.graphml"), (*GRAPH, "FILE.edgelist"),
    (*TRAFFIC, "FILE.npy"), (*TRAFFIC, "FILE.csv"), (*TRAFFIC, "FILE.yaml"),
    ("collective", "bounds", "--graph", "FILE.yaml"), ("collective", "simulate", "FILE.json"),
    ("collective", "simulate", "FILE.xml"), ("models", "import", "FILE.json"),
    ("models", "import", "FILE"), ("models", "import", "FILE/model.safetensors.index.json"),
]  # fmt: skip
WRITES = [
    ("solve", *SMALL, "-o", "FILE.yaml"), ("solve", *SMALL, "--pareto", "FILE.csv"),
    ("solve", *SMALL, "--plot", "FILE.svg"), ("solve", *SMALL, "--trace", "FILE.json"),
    ("solve", *SMALL, "--plot", "FILE.svg", "--trace", "FILE.json"),
    ("rack", "topology", "ring:8", "--plot", "FILE.svg"), ("export", "PLAN", "--to", "megatron",
     "--allow-lossy", "-o", "FILE"), ("measure", "PLAN", "--framework", "megatron", "-o", "FILE"),
    ("evaluate", "PLAN", "--plot", "FILE.html"),
]  # fmt: skip


@pytest.mark.parametrize("command", [*READS, *WRITES], ids=" ".join)
def test_a_path_that_no_file_can_have(command: tuple[str, ...], written: Path) -> None:
    before = sorted(written.parent.iterdir())
    for path in ("a" * 5000, "a" * 300, f"{'a' * 5000}/b", "/".join(["d" * 200] * 30)):
        place = written.parent / path
        words = [word.replace("FILE", str(place)).replace("PLAN", str(written)) for word in command]
        lines = refused(*words)
        assert len(lines) <= 2
        assert all(any(words in line for words in SAID) for line in lines), lines
    assert sorted(written.parent.iterdir()) == before


SAID = ("file name too long", "File name too long", "there is no config.json")


@pytest.mark.parametrize("command", [*READS, *WRITES], ids=" ".join)
def test_a_link_that_leads_to_itself(command: tuple[str, ...], written: Path) -> None:
    for word in command:
        if word.startswith("FILE"):
            name = word.replace("FILE", "loop").removesuffix(":1").split("/")[0]
            (written.parent / name).symlink_to(name)
    loop = str(written.parent / "loop")
    words = [word.replace("FILE", loop).replace("PLAN", str(written)) for word in command]
    lines = refused(*words)
    assert 1 <= len(lines) <= 3, lines


def test_a_model_file_without_an_end(tmp_path: Path) -> None:
    path = tmp_path / "zero.yaml"
    path.symlink_to("/dev/zero")
    (line,) = refused("models", "show", path)
    assert "larger than 256 KiB" in line  # so much of it is read, and no more
