"""The state of shell text: variables, arguments, functions, files, and what is kept of them."""

from __future__ import annotations

import posixpath
from dataclasses import field, replace
from typing import Any, TypeVar

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.frameworks.reading.settings import Beside, no_file
from planner.frameworks.reading.shell.expansion.silence import OUT
from planner.frameworks.reading.shell.states import Array, Layer, Lost, Stop
from planner.frameworks.reading.shell.steps.nodes import Function
from planner.frameworks.reading.shell.values import is_known
from planner.frameworks.reading.work import Work

S = TypeVar("S", bound="State")
ALL = "*"
"""In `changed`: no variable is known that is not set again."""
LAYERS = ("variables", "changed", "functions", "exported", "supposed", "unsettled", "files")
Layers = tuple[Layer[Any], ...]


@dataclass(slots=True)
class State:
    """What there is while a text is gone through.

    Attributes:
        name: What messages call the text.
        variables: Values by name; of arrays an `Array`. Options are those that begin with `-`.
        arguments: Of the script, or of the function that is read.
        exact: Whether it has no others.
        open_ended: Whether those behind them are not known.
        commands: Simple commands, every one a list of words.
        places: Where each of them stands.
        folders: The folder in which each is started; empty: the first one.
        comments: Lines after `#`.
        options: Of Slurm, on the lines of commands.
        notes: What was left out, one line each.
        changed: Variables that are not known since then, by name with the place.
        exported: Those that scripts get which it starts.
        supposed: Those whose value rests on what is not given: on arguments or the environment.
        supposing: Whether what was last looked at does.
        unsettled: Those that a trap or a reference may set at any time.
        beside: The text of a file that it sources; None where there is none.
        files: Texts that the script writes, by name.
        history: When each was written: after how many commands, its name and its text.
        missing: Scripts that it starts and that do not lie beside it.
        functions: By name, each that it may be; None: that there is none.
        called: Those that were.
        piped: What the command before prints to the next one; None: that is not known.
        local: Of each function that is read, what its local variables were before.
        depth: How deep in files and functions the state is.
        outputs: How deep in outputs of commands.
        called_at: Where the outermost of these functions is called.
        status: Of the last command; None: that is not known.
        taken: Whether one that is not known is taken for success.
        guarded: How deep in conditions, where no failure ends the script.
        asking: Whether that is a condition itself, in which nothing is taken for success.
        loops, within: How deep in loops, and in functions and files that `return` ends.
        inside: How deep in parts that `exit` ends without the script.
        pending: States of parts that may have ended more than themselves.
        left_out: How many commands were left out.
        may_exit: Whether the text names `exit`.
        revision: How often anything has changed.
        line: Where it is.
    """

    name: str
    variables: Layer[str | Array] = field(default_factory=Layer)
    arguments: list[str] = field(default_factory=list)
    exact: bool = False
    open_ended: bool = False
    commands: list[list[str]] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)
    options: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    changed: Layer[str] = field(default_factory=Layer)
    exported: Layer[str] = field(default_factory=Layer)
    supposed: Layer[str] = field(default_factory=Layer)
    supposing: bool = False
    unsettled: Layer[str] = field(default_factory=Layer)
    beside: Beside = no_file
    files: Layer[str | Lost] = field(default_factory=Layer)
    history: list[tuple[int, str, str | Lost]] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    functions: Layer[tuple[Function | Lost | None, ...]] = field(default_factory=Layer)
    called: set[str] = field(default_factory=set)
    piped: str | None = None
    local: list[Layer[tuple[str | Array | None, str | None]]] = field(default_factory=list)
    _work: Work = field(default_factory=Work)
    depth: int = 0
    outputs: int = 0
    status: int | None = 0
    taken: bool = False
    guarded: int = 0
    asking: bool = False
    loops: int = 0
    within: int = 0
    inside: int = 0
    pending: list[tuple[Stop, Any]] = field(default_factory=list)
    left_out: int = 0
    revision: int = 0
    may_exit: bool = False
    _reads: int = 0
    _without: bool = False
    _file: str = ""
    called_at: str = ""
    line: int = 0

    def now(self) -> Layers:
        """What there is now."""
        return tuple(getattr(self, name) for name in LAYERS)

    def layers(self) -> Layers:
        """What there is now, to be gone back to; the state goes on above it."""
        found = self.now()
        for name, layer in zip(LAYERS, found, strict=True):
            setattr(self, name, Layer(layer))
        return found

    def back(self, layers: Layers, *, files: bool = True) -> None:
        """Gives up all changes since then; `files`: of files and of what is printed too."""
        printed, lost = self.variables.get(OUT), self.changed.get(OUT)
        for name, layer in zip(LAYERS, layers, strict=True):
            if files or name != "files":
                setattr(self, name, layer)
        if not files:
            self.files = self.files.settled(layers[-1])
            hears = OUT in self.variables or OUT in self.changed
            for name, value in (("variables", printed), ("changed", lost)) if hears else ():
                getattr(self, name).pop(OUT, None)
                if value is not None:
                    getattr(self, name)[OUT] = value

    def alone(self) -> None:
        """Keeps what is exported alone."""
        for name in ("variables", "changed"):
            own = getattr(self, name)
            kept = {one: own[one] for one in (*self.exported, ALL, OUT) if one in own}
            setattr(self, name, Layer[Any]())
            getattr(self, name).update(kept)
        self.functions, self.unsettled = Layer(), Layer()

    def keep(self, layers: Layers) -> None:
        """Takes all changes since then for good."""
        for name, layer in zip(LAYERS, layers, strict=True):
            own = getattr(self, name)
            if own is not layer:
                setattr(self, name, own.settled(layer))

    def says(self, status: int | None, *, taken: bool = False) -> None:
        """Sets the status; `taken`: where it is not known, it is taken for success in lists."""
        self.status, self.taken = status, taken and status is None

    def path(self, name: str) -> str:
        """How a file is called from the first folder, as far as that is known."""
        folder = self.variables.get("PWD", "")
        within = isinstance(folder, str) and is_known(folder) and name[:1] not in ("/", "$", "~")
        return posixpath.normpath(posixpath.join(str(folder), name) if within else name)

    def put_file(self, path: str, text: str | Lost) -> None:
        """Says what a file holds, by its path from the first folder."""
        self.revision += self.files.get(path) != text
        self.files[path] = text
        self.history.append((len(self.commands), path, text))

    def file(self, path: str) -> str | None:
        """The text of a file that the script writes, or that lies beside it.

        Raises:
            InputError: The script was read, and what the file holds then is not known.
        """
        if self.is_lost(path):
            return None
        own = self.written(path)
        return (self.beside(self.path(path)) or self.beside(path)) if own is None else own

    def is_lost(self, path: str) -> bool:
        """Whether it is not known what a file holds, while the script is read."""
        own = self.files.get(self.path(path), self.files.get(posixpath.normpath(path)))
        return self._reads > 0 and isinstance(own, Lost)

    def written(self, path: str) -> str | None:
        """The text of a file that the script writes; see `file`."""
        own = self.files.get(self.path(path), self.files.get(posixpath.normpath(path)))
        if isinstance(own, Lost):
            what = f"{path} is not known after {own.place}, which is not followed"
            raise InputError(f"{self.name}: {what}; give the command with the file beside it")
        return own

    def at(self: S, command: int) -> S:
        """The state with the files that there are when a command is started."""
        files = Layer[str | Lost]()
        for count, name, text in self.history:
            if count <= command:
                files[name] = text
        variables = Layer(self.variables)
        variables["PWD"] = self.folders[command]
        return replace(self, files=files, variables=variables)

    def restore_arguments(self, given: tuple[list[str], bool, bool]) -> None:
        """Gives the arguments back that there were."""
        self.arguments, self.exact, self.open_ended = given
