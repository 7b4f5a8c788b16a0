"""Plans as the files and command lines of the frameworks that run them: what all of them share.

`export_plan` checks a plan against the rules of a target and writes it; each target has a module
with one pure function `export(launch) -> Export`. A framework's own keys belong to its folder.
Begin with `exporting`.
"""

from planner.frameworks.writing.export import Export, Lost, TextFile
from planner.frameworks.writing.exporting import export_plan
from planner.frameworks.writing.launch import Launch, Profiled

__all__ = ["Export", "Launch", "Lost", "Profiled", "TextFile", "export_plan"]
