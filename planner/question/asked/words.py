"""Which words the fields of a question take: validation, schema, completion and types read them.

Each set is asked for when it is needed; none takes numpy to list.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from planner.base.vocabulary import (
    ADAPTERS,
    ANY,
    BOUNDARIES,
    CHECKPOINT_WRITES,
    COOLINGS,
    FAILURE_SITES,
    LAYOUTS,
    MATRICES,
    MESH_AXES,
    ON_FAILURE,
    OTHER_WORDS,
    PLACEMENTS,
    PRICES,
    RECOMPUTES,
    REFERENCES,
    SCALES,
    TARGET_GROUPS,
)


def words_of(name: str) -> Collection[str]:
    """The words that a field takes, or may take beside paths and other text.

    Args:
        name: Of a field; `FIELDS_WITH_WORDS` has those that take words.
    """
    return _WORDS[name]()


def _precisions() -> Collection[str]:
    from planner.assumptions.assumptions import PRECISIONS  # noqa: PLC0415  (pydantic; not for --help)

    return PRECISIONS


def _recipes() -> Collection[str]:
    from planner.assumptions.recipes import FP8_RECIPES  # noqa: PLC0415  (not for --help)

    return FP8_RECIPES


def _presets() -> Collection[str]:
    from planner.assumptions.assumptions import PRESETS  # noqa: PLC0415  (pydantic; not for --help)

    return PRESETS


def _collectives() -> Collection[str]:
    from planner.assumptions.assumptions import COLLECTIVES  # noqa: PLC0415  (pydantic; not for --help)

    return COLLECTIVES


def _jobs() -> Collection[str]:
    from planner.cost.job import JOB_KINDS  # noqa: PLC0415  (pydantic; not for --help)

    return (*JOB_KINDS, *OTHER_WORDS["job"])


def _frozen() -> Collection[str]:
    from planner.assumptions.optimizers import FROZEN  # noqa: PLC0415  (not for --help)

    return FROZEN


def _optimizers() -> Collection[str]:
    from planner.assumptions.optimizers import OPTIMIZERS  # noqa: PLC0415  (not for --help)

    return OPTIMIZERS


def _eras() -> Collection[str]:
    from planner.assumptions.software import ERAS  # noqa: PLC0415  (not for --help)

    return sorted(ERAS)


def _frameworks() -> Collection[str]:
    from planner.frameworks.registry import FRAMEWORKS  # noqa: PLC0415  (not for --help)

    return FRAMEWORKS


class _Runners(Collection[str]):
    """The targets, or any; only to list them takes those of other packages."""

    def __contains__(self, name: object) -> bool:
        from planner.frameworks.registry import TARGETS  # noqa: PLC0415  (not for --help)

        return name == ANY or name in TARGETS

    def __iter__(self) -> Iterator[str]:
        from planner.frameworks.registry import TARGETS  # noqa: PLC0415  (not for --help)

        return iter((*TARGETS, ANY))

    def __len__(self) -> int:
        return sum(1 for _ in self)


class _Checkpoints(Collection[str]):
    """The forms of checkpoints of all frameworks, which are listed when one is asked about."""

    def __contains__(self, name: object) -> bool:
        return any(name == one for one in self)

    def __iter__(self) -> Iterator[str]:
        from planner.frameworks.registry import every  # noqa: PLC0415  (not for --help)

        found = (one.name for framework in every() for one in framework.checkpoints())
        return iter(dict.fromkeys(found))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _objectives() -> Collection[str]:
    from planner.objectives import OBJECTIVES  # noqa: PLC0415  (not for --help)

    return OBJECTIVES


def _models() -> Collection[str]:
    from models_db import list_models  # noqa: PLC0415  (not for --help)

    return list_models()


def _hardware() -> Collection[str]:
    from hardware_db import list_chips, list_clusters  # noqa: PLC0415  (not for --help)

    return (*list_clusters(), *list_chips())


class _OfFronts(Collection[str]):
    """The objectives that fronts are of; only to list them takes those of other packages."""

    def __contains__(self, name: object) -> bool:
        from planner.objectives import FRONTS, OBJECTIVES  # noqa: PLC0415  (not for --help)

        own = OBJECTIVES[name].front if isinstance(name, str) and name in OBJECTIVES else ()
        return any(name in front for front in (own, *FRONTS)) or any(name == one for one in self)

    def __iter__(self) -> Iterator[str]:
        from planner.objectives import fronts  # noqa: PLC0415  (not for --help)

        return iter(dict.fromkeys(name for front in fronts() for name in front))

    def __len__(self) -> int:
        return sum(1 for _ in self)


_WORDS: dict[str, Callable[[], Collection[str]]] = {
    "model": _models,
    "hardware": _hardware,
    "tower_recompute": lambda: RECOMPUTES,
    "precision": _precisions,
    "fp8_recipe": _recipes,
    "job": _jobs,
    "adapter": lambda: ADAPTERS,
    "lora_targets": lambda: (*TARGET_GROUPS, *MATRICES),
    "reference": lambda: REFERENCES,
    "frozen_weights": _frozen,
    "optimizer": _optimizers,
    "framework": _frameworks,
    "era": _eras,
    "assumptions": _presets,
    "collectives": _collectives,
    "objective": _objectives,
    "front": _OfFronts,
    "axes": lambda: MESH_AXES,
    "layout": lambda: LAYOUTS,
    "placement": lambda: PLACEMENTS,
    "runnable_in": _Runners,
    "checkpoint": _Checkpoints,
    "scale": lambda: SCALES,
    "cooling": lambda: COOLINGS,
    "failure_site": lambda: FAILURE_SITES,
    "checkpoint_writes": lambda: CHECKPOINT_WRITES,
    "on_failure": lambda: ON_FAILURE,
    "prices": lambda: PRICES,
    "power_boundary": lambda: (*BOUNDARIES, *OTHER_WORDS["power_boundary"]),
}
FIELDS_WITH_WORDS = tuple(_WORDS)
