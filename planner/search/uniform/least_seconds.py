"""Least seconds of all layers and both ends for a micro-batch, whatever is chosen on a mesh."""

from __future__ import annotations

from itertools import product

import numpy as np

from planner.base.arrays import FloatArray, IntArray
from planner.cost.context import CostModel
from planner.cost.pieces import layer_columns
from planner.cost.terms import LayerTerms, layer_terms
from planner.cost.vision.seconds import end_costs
from planner.frameworks.rules import heads_exchange
from planner.network.collectives import GroupCosts
from planner.plan import ALL_TO_ALL, RING


def least_seconds(
    model: CostModel,
    keys: dict[str, IntArray],
    ways: IntArray,
    nets: dict[str, GroupCosts],
    micro_batch: IntArray,
    clocks: FloatArray,
) -> list[FloatArray]:
    """(combinations, clocks) `_seconds_of`, the least over the (combinations, r) recomputations."""
    found = [
        np.copy(x)
        for x in _seconds_of(model, {**keys, "recompute": ways[:, 0]}, nets, micro_batch, clocks)
    ]
    for way in ways.T[1:]:
        if not len(some := np.flatnonzero(way != ways[:, 0])):
            continue
        few = {**{name: column[some] for name, column in keys.items()}, "recompute": way[some]}
        taken = {name: net.take(some) for name, net in nets.items()}
        for least, other in zip(
            found, _seconds_of(model, few, taken, micro_batch[some], clocks), strict=True
        ):
            least[some] = np.minimum(least[some], other)
    return found


def _seconds_of(
    model: CostModel,
    keys: dict[str, IntArray],
    nets: dict[str, GroupCosts],
    micro_batch: IntArray,
    clocks: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(combinations, clocks) least seconds, those side by side, kernel seconds of all layers.

    Of a micro-batch of each size, both ends included, with the recomputation of the key; minimized
    over sequence parallelism and context-parallel modes. Side by side: `LayerTimes.paired` less.
    """
    kinds = model.job.model.layer_kinds
    combinations, tp, cp = len(keys["tp"]), keys["tp"][:, None], keys["cp"][:, None]
    tokens, each = micro_batch[:, None] * model.job.seq_len / cp, np.arange(combinations)[:, None]
    ends = end_costs(model, tp, tokens, clocks[None, :], nets["tp"].take(each))
    times = _terms_of_variants(model, keys, nets, micro_batch, clocks)
    total = busy = beside = ends.embedding + ends.head
    for kind in ("dense", "moe"):
        layer = getattr(times, kind)
        if layer is not None:
            seconds, paired, kernels = (
                part.reshape(-1, combinations, len(clocks))
                for part in np.broadcast_arrays(layer.total, layer.paired, layer.kernels)
            )
            total = total + kinds.count(kind) * seconds
            beside = beside + kinds.count(kind) * (seconds - paired)
            busy = busy + kinds.count(kind) * kernels
    return total.min(axis=0), beside.min(axis=0), busy.min(axis=0)


def _terms_of_variants(
    model: CostModel,
    keys: dict[str, IntArray],
    nets: dict[str, GroupCosts],
    micro_batch: IntArray,
    clocks: FloatArray,
) -> LayerTerms:
    """(variants x combinations, clocks) layer times, all variants in one table.

    A variant has sequence parallelism or not, and one context-parallel mode that heads allow.
    """
    splits = (1, 0) if np.any(keys["tp"] > 1) else (0,)
    modes = (RING, ALL_TO_ALL) if np.any(keys["cp"] > 1) else (RING,)
    variants = np.array(list(product(splits, modes)))
    split, mode = np.repeat(variants, len(keys["tp"]), axis=0).T[:, :, None]
    every = {name: np.tile(column, len(variants))[:, None] for name, column in keys.items()}
    tp, cp, ep, etp = (every[name] for name in ("tp", "cp", "ep", "etp"))
    mode = np.where(heads_exchange(model, tp, cp), mode, RING)
    x = layer_columns(
        model,
        tp=tp,
        cp=cp,
        ep=ep,
        etp=etp,
        micro_batch=np.tile(micro_batch, len(variants))[:, None],
        sequence_parallel=(tp > 1) & (split == 1),
        cp_mode=mode,
        recompute=every["recompute"],
        offload=np.zeros_like(tp),
        clock=clocks[None, :],
    )
    at = np.tile(np.arange(len(keys["tp"])), len(variants))[:, None]
    tiled = {name: net.take(at) for name, net in nets.items()}
    return layer_terms(model, x, tiled, model.local_parameters(tp, ep * etp))
