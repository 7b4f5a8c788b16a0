"""Rows of stages that targets can launch: one row for each way to launch them.

Where stages cannot choose their sharding, a row with several becomes one row for each; where they
cannot choose what each layer recomputes, one row for each recomputation of all layers and, where
the first N layers of every chunk can recompute in full, for each N. What all ways have in common
is the row from which they come: its bounds hold for them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from planner.base.arrays import BoolArray, IntArray, ranges, repeated
from planner.cost.context import CostModel
from planner.frameworks.rules import ALIKE, BLOCKS, LAYERS, Freedom, demands_of, freedom_of
from planner.plan import FULL, NO_RECOMPUTE
from planner.question.options import SpaceOptions
from planner.search.uneven.aligned import MORE
from planner.search.uneven.rows import Rows


def launchable_rows(model: CostModel, options: SpaceOptions, rows: Rows) -> Rows:
    """The rows, each in every way that targets can launch, next to one another.

    A model whose chunks may begin with layers of one kind or the other has no N with interleaving.
    """
    freedom = freedom_of(model, demands_of(model, options.runnable_in))
    if not freedom.sharding:
        rows = _one_sharding(rows)
    if freedom.recompute != LAYERS and len(rows.recomputes) > 1:
        rows = _patterns(model, rows, freedom)
    return rows


def _one_sharding(rows: Rows) -> Rows:
    """A row for every sharding that the stages of a row may have."""
    row, code = np.nonzero(rows.shardings)
    one = np.zeros((len(row), rows.shardings.shape[1]), dtype=np.bool_)
    one[np.arange(len(row)), code] = True
    return replace(rows.take(row), shardings=one)


def _patterns(model: CostModel, rows: Rows, freedom: Freedom) -> Rows:
    """A row for every recomputation of all layers, and for every N of first layers."""
    assert freedom.recompute in (ALIKE, BLOCKS)
    places = len(rows.recomputes)
    allowed = rows.modes == np.arange(places)
    row, mode = np.nonzero(allowed)
    modes, first = np.repeat(mode[:, None], places, axis=1), np.full(len(row), -1)
    if freedom.recompute == BLOCKS and {NO_RECOMPUTE, FULL} <= {*rows.recomputes}:
        both = [rows.recomputes.index(code) for code in (NO_RECOMPUTE, FULL)]
        some = np.flatnonzero(allowed[:, both].all(axis=1) & _begins_alike(model, rows))
        counts = np.maximum(_longest_chunk(model, rows)[some] - 1, 0)
        at, numbers = repeated(some, counts), ranges(np.ones_like(counts), counts)
        row = np.concatenate([row, at])
        modes = np.concatenate([modes, rows.modes[at]])
        first = np.concatenate([first, numbers])
    order = np.argsort(row, kind="stable")
    return replace(rows.take(row[order]), modes=modes[order], first=first[order].astype(np.int64))


def _begins_alike(model: CostModel, rows: Rows) -> BoolArray:
    """(n,) rows of which the layers of a chunk say which kinds its first ones are."""
    kinds = model.job.model.layer_kinds
    ordered = list(kinds) == sorted(kinds)  # dense ones first
    plans = rows.plans
    return np.asarray(
        ~plans.schedules.values("bidirectional") & ((plans.interleave == 1) | ordered)
    )


def _longest_chunk(model: CostModel, rows: Rows) -> IntArray:
    """(n,) most layers that a chunk of a row may have."""
    layers, plans = model.job.model.layers, rows.plans
    if rows.layers is not None:
        return np.full(len(rows), max(rows.layers))
    fullest = np.maximum(-(-layers // plans.pp), plans.interleave) + MORE
    alone = layers - np.maximum(plans.pp - 2, 0)
    return np.where(plans.interleave > 1, -(-fullest // plans.interleave), alone)
