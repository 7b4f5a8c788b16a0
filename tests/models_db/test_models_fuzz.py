"""Random damage to model files: the loader returns a model or raises ModelError, nothing else."""

import functools
from copy import deepcopy
from importlib import resources
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from support.dumping import dumped

from models_db import ModelError
from models_db.loading import model_from_bytes
from strict_yaml.reading import load as load_yaml

DATA = Path(str(resources.files("models_db") / "data"))
FILES = [
    (DATA / name).read_bytes()
    for name in ("deepseek-v3.yaml", "gpt3-13b.yaml", "gemma3-4b.yaml", "examples/my-model.yaml")
]
ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**30), 10**30),
    st.floats(),
    st.text(max_size=20),
    st.sampled_from(["", "1e9", "mla", "gqa", "moe", "learned", "assumed", "[]", "~"]),
    st.lists(st.integers(0, 3), max_size=3),
    st.dictionaries(st.text(max_size=5), st.integers(0, 3), max_size=3),
    st.builds(dict, value=st.just(3), unit=st.just("1")),  # a new one each time: tests change it
)


read = functools.cache(load_yaml)


def load(content: bytes) -> None:
    """Load, and check that what loads can be counted and what fails says why."""
    try:
        model = model_from_bytes(content, "m.yaml")
    except ModelError as error:
        message = str(error)
    else:
        assert model.total_parameters >= model.active_parameters > 0
        assert len(model.layer_kinds) == len(model.attention_windows) == model.layers
        return
    assert message.startswith("m.yaml: ")
    assert len(message) > len("m.yaml: ") + 5


def places(data: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Paths of all mapping entries."""
    found = []
    if isinstance(data, dict):
        for key, part in data.items():
            found += [(*path, key), *places(part, (*path, key))]
    return found


@settings(max_examples=250, deadline=None)
@given(data=st.data())
def test_changed_entries(data: st.DataObject) -> None:
    tree = deepcopy(read(data.draw(st.sampled_from(FILES))))
    for path in data.draw(st.lists(st.sampled_from(places(tree)), min_size=1, max_size=4)):
        part = tree
        for key in path[:-1]:
            part = part.get(key) if isinstance(part, dict) else None
        if not isinstance(part, dict):
            continue
        action = data.draw(st.sampled_from(["replace", "remove", "rename", "add"]))
        if action == "replace":
            part[path[-1]] = data.draw(ODD)
        elif action == "remove":
            part.pop(path[-1], None)
        elif action == "rename":
            part[data.draw(st.text(max_size=8))] = part.pop(path[-1], None)
        else:
            part[data.draw(st.text(max_size=8))] = data.draw(ODD)
    load(dumped(tree, unicode=True).encode("utf-8", "surrogatepass"))


@settings(max_examples=250, deadline=None)
@given(data=st.data())
def test_changed_bytes(data: st.DataObject) -> None:
    content = bytearray(data.draw(st.sampled_from(FILES)))
    for _ in range(data.draw(st.integers(1, 5))):
        start = data.draw(st.integers(0, len(content)))
        end = min(len(content), start + data.draw(st.integers(0, 40)))
        content[start:end] = data.draw(st.binary(max_size=8))
    load(bytes(content))


@settings(max_examples=150, deadline=None)
@given(text=st.text(alphabet=st.sampled_from("name: [{}]&*!|>-?,'\"#%@\n \t1a~"), max_size=60))
def test_short_yaml(text: str) -> None:
    load(text.encode())


@settings(max_examples=100, deadline=None)
@given(content=st.binary(max_size=200))
def test_binary(content: bytes) -> None:
    load(content)
