"""The states of layer sequences: which chunks they allow, and how few there are."""

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solvers.stages.sequence import layer_states


def test_published_sequences_need_few_states():
    assert layer_states((0,) * 126).end == 1
    assert layer_states((0,) * 3 + (1,) * 58).end == 2
    assert layer_states((0, 1) * 24).end == 2
    assert layer_states((0,) * 3 + (0, 0, 1) * 9 + (0,)).layers == 31


def test_without_repeating_stretches_states_are_positions():
    states = layer_states((0, 0, 1, 1), repeating=0)
    assert (states.end, len(states.lengths)) == (4, 0)
    segments = states.segments(1, 2)
    assert np.all(segments.end - segments.start == segments.counts.sum(axis=1))


def test_a_sequence_needs_layers_and_kinds():
    with pytest.raises(ValueError, match="at least one layer"):
        layer_states(())
    with pytest.raises(ValueError, match="kinds from 0"):
        layer_states((0, -1))


def joined(states, segments, chunks):
    """Contents of chunks, over all chains of segments from the first state to the last."""
    found = {(0, (0,) * len(states.lengths)): {()}}
    for _ in range(chunks):
        after = {}
        for (state, used), contents in found.items():
            for row in np.flatnonzero(segments.start == state):
                use = tuple((np.array(used) + segments.use[row]).tolist())
                kinds = tuple(segments.counts[row].tolist())
                key = (int(segments.end[row]), use)
                after.setdefault(key, set()).update((*c, kinds) for c in contents)
        found = after
    return found.get((states.end, tuple(states.lengths.tolist())), set())


@given(
    st.one_of(
        st.lists(st.integers(0, 2), min_size=1, max_size=7),
        st.lists(st.sampled_from([(0,), (1,), (0, 1)]), min_size=1, max_size=4).map(
            lambda parts: [kind for part in parts for kind in part * 2][:7]
        ),
    ),
    st.integers(0, 3),
    st.integers(1, 3),
)
@settings(max_examples=150, deadline=None)
def test_chains_of_states_are_the_splits_of_the_sequence(layers, repeating, chunks):
    states = layer_states(tuple(layers), kinds=3, repeating=repeating)
    assert states.layers == len(layers)
    splits = set()
    for inner in product(range(len(layers) + 1), repeat=chunks - 1):
        bounds = (0, *inner, len(layers))
        if all(a <= b for a, b in pairwise(bounds)):
            parts = [layers[a:b] for a, b in pairwise(bounds)]
            splits.add(tuple(tuple(part.count(k) for k in range(3)) for part in parts))
    assert joined(states, states.segments(0, len(layers)), chunks) == splits


@given(st.lists(st.integers(0, 1), min_size=4, max_size=9), st.integers(0, 3), st.data())
@settings(max_examples=100, deadline=None)
def test_windows_hold_every_boundary(layers, repeating, data):
    """Of random chunk sizes, every boundary's state is within its window."""
    states = layer_states(tuple(layers), repeating=repeating)
    chunks = data.draw(st.integers(2, 4))
    cuts = sorted(
        data.draw(st.lists(st.integers(0, len(layers)), min_size=chunks - 1, max_size=chunks - 1))
    )
    bounds = [0, *cuts, len(layers)]
    sizes = np.diff(bounds)
    slack = data.draw(st.integers(0, 2))
    low, high = states.windows(np.maximum(sizes - slack, 0), sizes + slack)
    for at, position in enumerate(bounds):
        state = _state(states, position)
        assert low[at] <= state <= high[at]


def _state(states, position):
    for stretch in states.stretches:
        if position < stretch.length:
            return stretch.state + position % len(stretch.pattern)
        position -= stretch.length
    return states.end
