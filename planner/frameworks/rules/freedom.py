"""What the stages of a pipeline may choose for themselves in the words of targets.

The rules are asked: a rule takes a freedom away where it passes plans that do not use it and
refuses one that does. So a search that keeps to the freedoms offers nothing that a rule about
stages refuses, whichever rule that is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

from frozen_records import dataclass
from planner.cost.context import CostModel
from planner.frameworks.rules.demands import Demand
from planner.plan import SHARDINGS, Plan, PlanTable, Stage

LAYERS, BLOCKS, ALIKE = "layers", "blocks", "alike"
"""Recomputation of each layer; of the first N layers of every chunk, in full; of all layers."""

_MESHES = ({"dp": 2}, {"dp": 2, "cp": 2}, {"fsdp": 2}, {"fsdp": 2, "cp": 2})


@dataclass(frozen=True, slots=True, kw_only=True)
class Freedom:
    """What stages may choose.

    Attributes:
        no_lists: The demand that takes stages only as rules of the framework deal them out; None:
            any list of layers can be launched.
        sharding: Whether each stage may have a sharding of its own.
        recompute: `LAYERS`, `BLOCKS` or `ALIKE`.
    """

    no_lists: Demand | None = None
    sharding: bool = True
    recompute: str = LAYERS

    @property
    def whole(self) -> bool:
        """Whether stages may choose whatever they like."""
        return self.no_lists is None and self.sharding and self.recompute == LAYERS


def freedom_of(model: CostModel, demands: Sequence[Demand]) -> Freedom:
    """What some rules leave to the stages of a pipeline of the model."""
    if not demands:
        return Freedom()
    recompute = LAYERS
    if _refuses(demands, _alike(model), _mixed(model)):
        blocks = _refuses(demands, _alike(model), [_block(model)])
        recompute = ALIKE if blocks else BLOCKS
    return Freedom(
        no_lists=_refuses(demands, [(None, {})], [_listed(model)]),
        sharding=not any(_one_sharding(model, demands)),
        recompute=recompute,
    )


_Trial = tuple[tuple[Stage, ...] | None, dict[str, str]]


def _refuses(
    demands: Iterable[Demand], plain: Sequence[_Trial], free: Sequence[_Trial]
) -> Demand | None:
    """The first rule that passes all plain trials on some mesh, and not all free ones."""
    for mesh in _MESHES:
        for sharding in SHARDINGS:
            passed = _tables(plain, mesh, sharding), _tables(free, mesh, sharding)
            for demand in demands:
                if demand.holds(passed[0]).all() and not demand.holds(passed[1]).all():
                    return demand
    return None


def _tables(trials: Sequence[_Trial], mesh: dict[str, int], sharding: str) -> PlanTable:
    return PlanTable.from_plans(
        [
            Plan(pp=2, **mesh, **{"sharding": sharding, **fields}, stages=stages)  # type: ignore[arg-type]
            for stages, fields in trials
        ]
    )


def _one_sharding(model: CostModel, demands: Sequence[Demand]) -> Iterator[bool]:
    """Whether rules refuse two shardings beside each other that they pass alone."""
    layers = model.job.model.layers
    for one, other in combinations(SHARDINGS, 2):
        pairs = ((one, one), (other, other), (one, other))
        trials: list[_Trial] = [
            (_stages((layers - layers // 2, layers // 2), shardings=pair), {}) for pair in pairs
        ]
        yield _refuses(demands, trials[:2], trials[2:]) is not None


def _listed(model: CostModel) -> _Trial:
    """Stages that no rule deals out so."""
    return _stages((1, model.job.model.layers - 1)), {}


def _halves(model: CostModel) -> tuple[int, int]:
    """Two stages, the first of which has two layers where there are three."""
    layers = model.job.model.layers
    first = min(2, max(layers - 1, 0))
    return first, layers - first


def _alike(model: CostModel) -> list[_Trial]:
    """All layers without recomputation, all with full recomputation."""
    sizes = _halves(model)
    return [(_stages(sizes, recompute=(name, name)), {}) for name in ("none", "full")]


def _mixed(model: CostModel) -> list[_Trial]:
    """One layer that is recomputed, and two recomputations."""
    one = _first(model, 0), (0, 0)
    both = ("selective", "full")
    sizes = _halves(model)
    return [(_stages(sizes, full=one), {}), (_stages(sizes, recompute=both), {})]


def _block(model: CostModel) -> _Trial:
    """The first layer of every stage is recomputed."""
    sizes = _halves(model)
    return _stages(sizes, full=(_first(model, 0), _first(model, sizes[0]))), {}


def _first(model: CostModel, layer: int) -> tuple[int, int]:
    """One layer, dense or a mixture of experts."""
    kinds = model.job.model.layer_kinds
    return (0, 1) if layer < len(kinds) and kinds[layer] == "moe" else (1, 0)


def _stages(
    sizes: tuple[int, int],
    *,
    recompute: tuple[str, str] = ("none", "none"),
    full: tuple[tuple[int, int], tuple[int, int]] = ((0, 0), (0, 0)),
    shardings: tuple[str | None, str | None] = (None, None),
) -> tuple[Stage, ...]:
    return tuple(
        Stage(layers=size, recompute=name, full=counted, sharding=sharding)
        for size, name, counted, sharding in zip(sizes, recompute, full, shardings, strict=True)
    )
