"""What starts a job on all of its hosts: `planner export --launcher`.

A target says what one host runs (`planner.frameworks.writing.export.HostStart`); a launcher writes
the files that have every host run it, with its number and the address of the first. Which launcher
starts which target is said in one place, `launcher.Launcher.refuses`. Begin with `table`.
"""

from planner.frameworks.writing.launchers.launcher import Launcher
from planner.frameworks.writing.launchers.table import LAUNCHERS, launched, launcher_named, started

__all__ = ["LAUNCHERS", "Launcher", "launched", "launcher_named", "started"]
