"""What files held that answers were found from: what counts is what was read, not what is named.

A question is asked with files as they are when its key is made. A worker reads them later, perhaps
on another host, and some lead to others. So a result comes with notes of all files that were read
for it (`strict_yaml.contents`); those that its key does not count are kept with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from planner.base.errors import UnfinishedError
from planner.base.messages import one_line
from planner.studies.sweep.store import READ, Solved
from strict_yaml import contents

_SAID = "read other contents than the run began with, and what it found is not kept"


class Reads:
    """Compares what was read for results with what there is.

    Args:
        of_keys: Files whose contents keys count, with their notes; more may come.
    """

    def __init__(self, of_keys: Mapping[str, str]) -> None:
        self._of_keys = of_keys
        self._beside = dict[tuple[str, str], str]()

    def changed(self, notes: Iterable[tuple[str, str]]) -> str:
        """The first file that held something else; empty: none did."""
        return next((name for name, note in notes if self._now(name, note) != note), "")

    def _now(self, name: str, note: str) -> str:
        """What a file held when a key counted it; of others when they were asked for first."""
        if name in self._of_keys:
            return self._of_keys[name]
        part = name, note.rpartition(":")[0]
        if part not in self._beside:
            self._beside[part] = contents.note_of(name, note)
        return self._beside[part]

    def parted(self, results: Sequence[Solved]) -> tuple[list[Solved], str]:
        """Results that count, as they are kept, and why the others do not; empty: all count."""
        sound, why = list[Solved](), ""
        for one in results:
            if name := self.changed(one.read):
                host = one.run.get("host", "its host")
                why = why or f"{one_line(name)}: a worker on {one_line(str(host))} {_SAID}"
                continue
            beside = {name: note for name, note in one.read if name not in self._of_keys}
            sound.append(one._replace(run={**one.run, READ: beside}) if beside else one)
        return sound, why

    def kept(self, result: Solved) -> Solved:
        """A result as it is kept.

        Raises:
            UnfinishedError: It does not count.
        """
        sound, why = self.parted([result])
        if why:
            raise UnfinishedError(why)
        return sound[0]
