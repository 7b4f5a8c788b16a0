"""What a training framework is to the planner: the plug-in that each folder of this room holds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from frozen_records import dataclass
from planner.assumptions.software import FrameworkProfile

if TYPE_CHECKING:
    from planner.cost.context import CostModel
    from planner.frameworks.checkpoints import Checkpoint
    from planner.frameworks.reading.edits import Setting
    from planner.frameworks.reading.imported import Imported
    from planner.frameworks.reading.settings import Asked
    from planner.frameworks.rules.rule import Rule
    from planner.frameworks.writing.export import Export
    from planner.frameworks.writing.launch import Launch
    from planner.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Something that runs plans: what `planner export --to` and `solve --runnable-in` name.

    Attributes:
        name: As typed by the user.
        title: As its authors write it.
        framework: The profile of the framework whose rules hold.
        rules: Further owners of rules (`planner.frameworks.rules.Rule.framework`).
        lists_layers: Whether it is given the layers of every stage as a list, so that any split
            can be written; else its framework deals them out.
        versions: Versions of its input that can be written, the default first.
        jobs: What kinds of jobs it runs (`planner.cost.job.Job.learns`).
        launches: What of its launches is read (`planner evaluate --from`), in a few words with
            their article: "a script or arguments"; empty: nothing is.
        processes: What a job starts (`planner export --launcher`): one process for each of the
            "chips", or for each of the "hosts" with all of its chips; empty: nothing, its texts
            are a part of the user's program.
    """

    name: str
    title: str
    framework: str
    rules: tuple[str, ...] = ()
    lists_layers: bool = False
    versions: tuple[str, ...] = ("",)
    jobs: tuple[str, ...] = ("pretrain", "finetune")
    launches: str = ""
    processes: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """Where full fine-tuning usually runs in a framework.

    Attributes:
        vendors: Makers of chips, in lower case.
        formats: Of the matrix multiplications.
        reason: Why it is taken there by default.
    """

    vendors: tuple[str, ...]
    formats: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Starter:
    """A command of a framework that starts processes, as scripts of launches have it.

    Attributes:
        name: Of the command.
        one_node: Whether it starts on one node where nothing says more; else where Slurm says.
        hosts: Whether it takes a file of hosts, each with its `slots=`.
    """

    name: str
    one_node: bool = True
    hosts: bool = False


class Framework(ABC):
    """One training framework: what it keeps and sends, what it can run, how it is launched.

    To add one, write a folder here with the parts below, and name its object in
    `planner.frameworks.registry`; or write a package of your own whose entry point of the group
    `planner.frameworks` is such an object (`docs/extending/framework.md` has a whole one).
    Nothing else needs to know: search, costs, `--help`, schemas and exports ask the registry.

    1. `profile.py`: one `FrameworkProfile` for the framework and each of its variants. It says
       which bytes stay in memory, what is sent and hidden, which schedules, splits, shardings and
       rank orders there are. This alone lets plans be searched and costed.
    2. `rules.py`: a tuple of `planner.frameworks.rules.rule.Rule`, for what a profile does not
       say. The owner of a rule (`Rule.framework`) is the name of a profile, or of a target. Rules
       with `launch` hold only where a plan has to be launched.
    3. `write.py`: a function that turns a `Launch` into an `Export`. The rules have passed the
       plan before; what the files cannot say is listed in `Export.lossy`.
    4. `read.py`: a function that turns the text of a launch into a plan, `Imported`.
    5. `checkpoints.py`: what a plan may change when a run goes on from its checkpoint.

    `rules`, `write` and `read` import these modules only when they are called: most questions
    need none of them, or the first alone.

    Attributes:
        targets: What its plans are written for, and whose launches are read.
        launched_as: The target that plans of a profile are launched with unless a question says
            another, by its name, where that is not the target named like the profile.
        vendors: Makers of chips, in lower case, on which it is the usual framework; where no
            framework names the maker, the first of the registry is.
        tuning: Where full fine-tuning usually runs in it; None: nowhere.
        preset: The preset of assumptions whose counts these are, where it is no software that
            runs; with `preset_reason`, what is said of it where it is taken by default.
        examples: Commands of `planner`, each with an example for its `--help`.
        starters: Commands of its own that start processes; PyTorch's, MPI's and Slurm's are known.
    """

    targets: tuple[Target, ...] = ()
    launched_as: Mapping[str, str] = MappingProxyType({})
    vendors: tuple[str, ...] = ()
    tuning: Tuning | None = None
    preset: str = ""
    preset_reason: str = ""
    examples: tuple[tuple[str, str], ...] = ()
    starters: tuple[Starter, ...] = ()

    @property
    @abstractmethod
    def name(self) -> str:
        """Its name, that of its folder or entry point."""

    @property
    @abstractmethod
    def profiles(self) -> tuple[FrameworkProfile, ...]:
        """Its memory profiles, the usual one first, then those of variants."""

    def rules(self) -> tuple[Rule, ...]:
        """What its plans have to obey, in the order in which a user is told."""
        return ()

    def write(self, launch: Launch, target: Target) -> Export:
        """A plan in the words of one of its targets.

        Args:
            launch: The plan, which obeys the rules of the target, or was allowed to break them.
            target: One of `targets`.
        """
        raise TypeError(f"{self.name} has targets, and does not say how to write one")

    def read(self, text: str, asked: Asked) -> Imported:
        """The plan of a launch, for targets with `launches`.

        Args:
            text: A file.
            asked: What is asked beside it.

        Raises:
            InputError: The text cannot be read, contradicts itself, or launches what no plan
                says; a line each.
        """
        raise TypeError(f"{self.name} has launches, and does not say how to read one")

    def checkpoints(self) -> tuple[Checkpoint, ...]:
        """The forms of its checkpoints, the usual ones first; empty: none is known."""
        return ()

    def recognizes(self, text: str) -> str:
        """The target whose launch a text is, by words that no other has; empty: it is none."""
        return ""

    def unread(self, text: str) -> str:
        """What a text lacks that is a launch of the framework and cannot be read; empty: nothing.

        It is a line for the user: what the text is, where the settings are, what to give instead.
        """
        return ""

    def settings_between(
        self, before: Plan, after: Plan, batch: int, layers: int, text: str
    ) -> tuple[tuple[Setting, ...], tuple[str, ...]] | None:
        """What changes in a launch from one plan to another, and settings that launches have.

        Args:
            before, after: The plans.
            batch: Sequences of a step, which stays.
            layers: Of the model.
            text: The launch.

        Returns:
            None where launches of the framework are not changed.
        """
        return None

    def recomputes_by_stage(self, model: CostModel, plan: Plan) -> bool:
        """Whether its settings can say stages that recompute differently from one another."""
        return False
