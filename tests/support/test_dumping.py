"""The text of a mapping from its parts is that of the whole."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from strict_yaml.writing import dump
from support.dumping import dumped

KEYS = st.text(max_size=8) | st.integers(0, 3) | st.sampled_from(["null", "yes", "a" * 150, "b c"])
TREES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=90),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(tree=st.dictionaries(KEYS, TREES, max_size=4))
def test_the_text_is_that_of_the_whole(tree: dict[Any, Any]) -> None:
    for unicode in (False, True):
        assert dumped(tree, unicode=unicode) == dump(tree, unicode=unicode)
