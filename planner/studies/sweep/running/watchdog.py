"""Lets no run wait for ever: workers that are gone are started anew, or the run ends."""

from __future__ import annotations

import time

from planner.base.errors import UnfinishedError
from planner.studies.sweep.running.workers import Workers


class Watchdog:
    """What is known of the workers of one run. Clocks that are set do not matter to it.

    Args:
        workers: Whom it watches.
    """

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._silent_since: float | None = None
        self._renewed = time.monotonic()
        self._renewals = 0
        self._worked = False

    def heard(self) -> None:
        """A result has come."""
        self._silent_since, self._renewals, self._worked = None, 0, True

    def renewed(self, threads: int) -> bool:
        """Looks after the workers; returns whether what was submitted before is lost.

        Args:
            threads: That they have together, as last counted.

        Raises:
            UnfinishedError: They are gone for good.
        """
        now, workers = time.monotonic(), self._workers
        if threads and workers.connected:
            self._silent_since, self._worked = None, True
            workers.refill()
            return False
        since = self._silent_since = now if self._silent_since is None else self._silent_since
        if workers.refused and (not self._worked or now - since > workers.renewed_after_s):
            raise UnfinishedError(workers.refused)
        if workers.refused:
            workers.refill()
        most = workers.patience_s / workers.renewed_after_s
        if now - since > workers.patience_s or self._renewals >= most:
            raise UnfinishedError(workers.gone)
        if now - max(since, self._renewed) < workers.renewed_after_s:
            return False
        lost = workers.renew()
        self._renewed = time.monotonic()
        self._renewals += lost
        return lost
