"""The frameworks that there are: the folders of this room, and those of installed packages.

A name is looked for here first, and among entry points of the group `planner.frameworks` only
where it is none of these, or where all are listed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from planner.assumptions.software import FrameworkProfile
from planner.base.errors import InputError
from planner.base.registry import Extended, Registry
from planner.frameworks.accelerate.framework import ACCELERATE
from planner.frameworks.deepspeed.framework import DEEPSPEED
from planner.frameworks.framework import Framework, Target
from planner.frameworks.jax.framework import JAX
from planner.frameworks.megatron.framework import MEGATRON
from planner.frameworks.nanotron.framework import NANOTRON
from planner.frameworks.textbook.framework import TEXTBOOK
from planner.frameworks.torchtitan.framework import TORCHTITAN

GROUP = "planner.frameworks"
"""Entry points through which packages add frameworks."""

BUILT_IN: tuple[Framework, ...] = (
    MEGATRON,
    TORCHTITAN,
    DEEPSPEED,
    ACCELERATE,
    JAX,
    NANOTRON,
    TEXTBOOK,
)
_REGISTRY: Registry[Framework] = Registry(GROUP, Framework, BUILT_IN)


@cache
def others() -> tuple[Framework, ...]:
    """The frameworks of installed packages.

    Raises:
        InputError: One cannot be loaded, or has a name that is taken; it lacks a part.
    """
    found = tuple(_REGISTRY.others().values())
    profiles, targets = {*_profiles(BUILT_IN)}, {*_targets(BUILT_IN)}
    for framework in found:
        _check(framework, profiles, targets)
        profiles |= {*_profiles((framework,))}
        targets |= {*_targets((framework,))}
    return found


def _check(framework: Framework, profiles: set[str], targets: set[str]) -> None:
    """Refuses names that are taken, and targets that nothing writes or reads."""
    whose, kind = f"{GROUP}: {framework.name}", type(framework)
    own = [profile.name for profile in framework.profiles]
    taken = [name for name in own if name in profiles]
    taken += [target.name for target in framework.targets if target.name in targets]
    if taken:
        raise InputError(f"{whose}: the name {taken[0]!r} is taken by another framework")
    if not own:
        raise InputError(f"{whose}: has no profile")
    for target in framework.targets:
        if target.framework not in own:
            raise InputError(f"{whose}: target {target.name} has no profile {target.framework!r}")
        if kind.write is Framework.write:
            raise InputError(f"{whose}: has the target {target.name} and no write")
        if target.launches and kind.read is Framework.read:
            raise InputError(f"{whose}: has launches of {target.name} and no read")


def every() -> Iterator[Framework]:
    """Our own frameworks, then those of installed packages."""
    yield from BUILT_IN
    yield from others()


def _profiles(frameworks: tuple[Framework, ...]) -> dict[str, FrameworkProfile]:
    return {profile.name: profile for one in frameworks for profile in one.profiles}


def _targets(frameworks: tuple[Framework, ...]) -> dict[str, Target]:
    return {target.name: target for one in frameworks for target in one.targets}


FRAMEWORKS: Mapping[str, FrameworkProfile] = Extended(
    _profiles(BUILT_IN), lambda: _profiles(others())
)
"""Every profile by its name, which users type as that of a framework."""
TARGETS: Mapping[str, Target] = Extended(_targets(BUILT_IN), lambda: _targets(others()))
"""Every target by its name."""


@cache
def framework_of(profile: str) -> Framework | None:
    """The framework that has a profile of that name; None: none has."""
    found = (one for one in every() if profile in {own.name for own in one.profiles})
    return next(found, None)


def framework_of_target(target: Target) -> Framework:
    """The framework that writes and reads a target."""
    return next(one for one in every() if target in one.targets)


def target_of(profile: str) -> Target | None:
    """The target that is named like a profile; None: there is none."""
    framework = framework_of(profile)
    targets = () if framework is None else framework.targets
    return next((target for target in targets if target.name == profile), None)


def framework_of_preset(preset: str) -> Framework | None:
    """The framework whose profile goes with a preset of assumptions; None: any does."""
    return next((one for one in BUILT_IN if preset and one.preset == preset), None)


def tuning_framework(vendor: str, precision: str) -> Framework | None:
    """The framework in which full fine-tuning usually runs on chips of a maker; None: as usual."""
    for one in BUILT_IN:
        tuning = one.tuning
        if tuning and vendor.lower() in tuning.vendors and precision in tuning.formats:
            return one
    return None


def default_framework(vendor: str) -> FrameworkProfile:
    """The profile of the framework that is usual on chips of a maker, one of our own."""
    named = (one for one in BUILT_IN if vendor.lower() in one.vendors)
    return next(named, BUILT_IN[0]).profiles[0]
