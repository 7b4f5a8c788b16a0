"""Parts of a whole run: recovery from failures, and choices that other failure rates favour."""

from __future__ import annotations

from typing import Any

from frozen_records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerRecovery:
    """Recovery from copies in the memory of peers.

    Attributes:
        covered: Share of the failures after which the state comes from there, not from the store.
        restart_s: From the detection of such a failure until the job works again.
        write_s: Until a peer has a copy, beside the work.
        host_bytes: Of host memory that the copies take, per chip.
    """

    covered: float
    restart_s: float
    write_s: float
    host_bytes: float

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """What a failure takes out of a job, and what the job does then.

    Attributes:
        domain, domain_nodes: What one failure takes out, and its nodes.
        store_steps: Steps between two checkpoints in the store.
        peers: Recovery from the memory of peers; None: there is none.
        no_peers: Why there is none where it was asked for; else empty.
        on_failure: What takes the place of broken nodes, as asked.
        ranks: Data ranks of a job that shrinks while 0, 1, 2, ... failure domains are away.
        not_shrunk: Why it does not shrink where that was asked for; else empty.
    """

    domain: str
    domain_nodes: int
    store_steps: int
    peers: PeerRecovery | None
    no_peers: str
    on_failure: str
    ranks: tuple[int, ...]
    not_shrunk: str

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        peers = None if self.peers is None else self.peers.to_dict()
        return {**fields, "ranks": list(self.ranks), "peers": peers}


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherChoice:
    """A choice that takes as many days at a failure rate, and fewer where chips fail more often.

    Attributes:
        chips: Of it.
        chip_hours: Per failure.
    """

    chips: int
    chip_hours: float

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data."""
        return {name: getattr(self, name) for name in self.__slots__}
