"""The engine: windows and batches, workers that die, points that kill them, watchdog, versions."""

import logging
import sqlite3
from collections import Counter
from contextlib import AbstractContextManager, closing
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from planner.base.errors import InputError, UnfinishedError
from planner.studies.sweep.answer import SweepResult
from planner.studies.sweep.question.study import Study, study_of
from planner.studies.sweep.running import run
from planner.studies.sweep.running.queued import ClusterFile, QueuedWorkers, read_cluster
from planner.studies.sweep.running.run import Run, run_study
from planner.studies.sweep.running.workers import ScheduledWorkers, configured
from planner.studies.sweep.store import Counts
from studies.sweep.stand_in import Here, Questions, known

_WITH_JOBQUEUE = pytest.mark.skipif(
    find_spec("dask_jobqueue") is None, reason="dask-jobqueue is not installed"
)

STUDY = study_of(
    {"model": "gpt3-125m", "hardware": "h100-sxm5-80"},
    cross={"chips": {"from": 8, "to": 1600, "step": 8}},
)
POISON = 800


def ran(path: Path, workers: Here, study: Study = STUDY, **how: Any) -> Counts:
    return run_study(study, path, Run(solve=how.pop("solve", known), workers=workers, **how))


def has(questions: Questions, chips: int) -> bool:
    return any(fields["chips"] == chips for _, fields in questions)


def test_every_point_is_solved_once_in_batches_that_grow_and_shrink(tmp_path: Path) -> None:
    workers = Here()
    told = list[str]()
    counts = ran(tmp_path / "s.db", workers, on_progress=lambda *said: told.append(said[3]))
    assert counts[:4] == (200, 200, 0, 0)
    sizes = [len(batch) for batch in workers.client.batches]
    assert sizes[0] == sizes[-1] == 1
    assert max(sizes) == 4  # of half a second each
    assert max(Counter(key for batch in workers.client.batches for key in batch).values()) == 1
    assert workers.closed
    assert told[-1].startswith("200 of 200")
    assert ", 0 s left" in told[-1]


def test_a_run_goes_on_where_it_was_interrupted(tmp_path: Path) -> None:
    calls = list[int]()

    def interrupted(questions: Questions) -> str:
        calls.append(len(questions))
        if len(calls) == 20:
            raise KeyboardInterrupt
        return "finished"

    workers = Here(interrupted)
    with pytest.raises(KeyboardInterrupt):
        ran(tmp_path / "s.db", workers)
    assert workers.closed
    rest = Here()
    assert ran(tmp_path / "s.db", rest).done == 200
    asked = [key for batch in rest.client.batches for key in batch]
    assert len(asked) == len(set(asked)) == 200 - sum(calls[:19])
    again = Here()
    assert ran(tmp_path / "s.db", again).done == 200
    assert again.client.batches == []


def test_what_is_lost_is_solved_again(tmp_path: Path) -> None:
    lost = Counter[str]()

    def unlucky(questions: Questions) -> str:
        lost[questions[0][0]] += 1
        return "finished" if lost[questions[0][0]] > 2 else "cancelled"

    assert ran(tmp_path / "s.db", Here(unlucky)).by_status == {"optimal": 200}


def test_a_point_that_kills_workers_is_stored_as_failed_and_its_neighbours_live(
    tmp_path: Path,
) -> None:
    workers = Here(lambda questions: "killed" if has(questions, POISON) else "finished")
    counts = ran(tmp_path / "s.db", workers)
    assert counts.by_status == {"optimal": 199, "failed": 1}
    counted = Counter(key for batch in workers.client.batches for key in batch)
    suspects = [key for key, times in counted.items() if times > 1]
    assert len(suspects) == 4  # the batch that the point was in
    assert workers.client.batches[-4:] == [[key] for key in suspects]
    assert "out of memory, or a crash" in SweepResult(tmp_path / "s.db").reasons()[0]
    healed = Here()
    assert ran(tmp_path / "s.db", healed, retry=True).by_status == {"optimal": 200}
    assert len(healed.client.batches) == 1


def test_what_cannot_be_fetched_again_and_again_is_a_failed_point(tmp_path: Path) -> None:
    """Not asked for without an end."""
    few = study_of(STUDY.fixed, cross={"chips": [784, 792, POISON, 808]})
    workers = Here(lambda questions: "unfetched" if has(questions, POISON) else "finished")
    assert ran(tmp_path / "s.db", workers, few).by_status == {"optimal": 3, "failed": 1}
    assert "connection closed" in SweepResult(tmp_path / "s.db").reasons()[0]
    counted = Counter(key for batch in workers.client.batches for key in batch)
    assert max(counted.values()) < 10


def test_stale_answers_are_found_again_where_that_is_asked_for(tmp_path: Path) -> None:
    """As after another version of the planner: without it they stay, and count as done."""
    path, again, fresh = tmp_path / "s.db", Here(), Here()
    few = study_of(STUDY.fixed, cross={"chips": [8, 16, 24, 32]})
    ran(path, Here(), few)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE result SET version = '0.0.1+old'")
    assert ran(path, again, few)[:3] == (4, 4, 4)
    assert again.client.batches == []
    assert ran(path, fresh, few, refresh=True)[:3] == (4, 4, 0)
    assert sum(map(len, fresh.client.batches)) == 4


def test_an_estimate_is_of_points_from_the_first_to_the_last() -> None:
    found = run.estimated(STUDY, known)
    assert [values["chips"] for values, _ in found.solved] == [8, 408, 808, 1200, 1600]
    assert (found.points, found.left_out, found.families) == (200, 0, 1)
    assert found.cpu_s == pytest.approx(200 * 0.5)


def test_a_task_that_breaks_is_a_failed_point_with_its_reason(tmp_path: Path) -> None:
    workers = Here(lambda questions: "broken" if has(questions, POISON) else "finished")
    assert ran(tmp_path / "s.db", workers).failed == 1


def test_workers_without_the_planner_or_with_another_one_end_the_run(tmp_path: Path) -> None:
    with pytest.raises(UnfinishedError, match=r"cannot load the planner .*same command goes on"):
        ran(tmp_path / "s.db", Here(lambda _: "unloadable"))

    def other(questions: Questions) -> list[Any]:
        return [one._replace(version="0.0.1+old") for one in known(questions)]

    with pytest.raises(UnfinishedError, match=r"run planner 0.0.1\+old, and this is 0.1.0"):
        ran(tmp_path / "s.db", Here(), solve=other)


def test_a_run_whose_workers_are_gone_ends(tmp_path: Path) -> None:
    with pytest.raises(UnfinishedError, match=r"are gone; 0 of 200 points are stored; the same"):
        ran(tmp_path / "s.db", Here(lambda _: "pending", threads=0))


def test_a_scheduler_that_is_not_there_is_told_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: Any, **__: Any) -> None:
        raise OSError("connection refused")

    monkeypatch.setattr("distributed.Client", refused)
    workers = ScheduledWorkers("tcp://127.0.0.1:1")
    with pytest.raises(UnfinishedError, match=r"tcp://127.0.0.1:1: no Dask scheduler answers"):
        run_study(STUDY, tmp_path / "s.db", Run(solve=known, workers=workers))


def test_dask_logs_nothing_while_a_study_runs() -> None:
    """That a scheduler goes away is told by the run, once."""
    pytest.importorskip("distributed.client")  # which sets its level as it is imported
    client = logging.getLogger("distributed.client")
    before = client.level
    with configured():
        assert client.getEffectiveLevel() > logging.ERROR
        assert not client.isEnabledFor(logging.ERROR)
    assert client.level == before


def test_points_that_cannot_be_asked_stop_a_run_before_it_begins(tmp_path: Path) -> None:
    workers = Here()
    with pytest.raises(InputError, match="at chips=0: chips: 0"):
        ran(tmp_path / "s.db", workers, study_of(STUDY.fixed, cross={"chips": [8, 0]}))
    assert workers.client.batches == []


def test_a_store_that_another_run_has_made_meanwhile_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another run makes and ends its study after this one is asked for and before it holds."""
    path, held = tmp_path / "study.db", run.holding
    small = study_of(STUDY.fixed, cross={"chips": [8, 16]})

    def late(store: Path) -> AbstractContextManager[None]:
        monkeypatch.setattr(run, "holding", held)
        ran(path, Here(), small)
        return held(store)

    monkeypatch.setattr(run, "holding", late)
    with pytest.raises(InputError, match="at chips=0: chips: 0"):
        ran(path, Here(), study_of(STUDY.fixed, cross={"chips": [8, 0]}))
    assert SweepResult(path).counts.done == 2


def test_a_study_that_changed_keeps_what_it_has_in_common(tmp_path: Path) -> None:
    ran(tmp_path / "s.db", Here(), study_of(STUDY.fixed, cross={"chips": [8, 16]}))
    more = Here()
    counts = ran(tmp_path / "s.db", more, study_of(STUDY.fixed, cross={"chips": [16, 24]}))
    assert counts[:2] == (2, 2)
    assert sum(map(len, more.client.batches)) == 1


def test_a_file_of_a_cluster_is_checked(tmp_path: Path) -> None:
    path = tmp_path / "slurm.yaml"
    path.write_text("kind: slrm\nworkers: 0\n", encoding="utf-8")
    with pytest.raises(InputError) as refused:
        read_cluster(path)
    assert "line 1: kind: 'slrm' is not one of slurm" in str(refused.value)
    assert "line 2: workers: 0: must be at least 1" in str(refused.value)


@_WITH_JOBQUEUE
def test_the_script_of_a_batch_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As dask-jobqueue writes it: a process for each core, of one thread."""
    path = tmp_path / "slurm.yaml"
    options = "{queue: cpu, cores: 2, memory: 8GB, walltime: '02:00:00', interface: lo}"
    path.write_text(f"kind: slurm\nworkers: 4\noptions: {options}\n", encoding="utf-8")
    workers = QueuedWorkers(read_cluster(path), str(path))
    script = workers.cluster().job_script()
    assert "#SBATCH -p cpu\n" in script
    assert "#SBATCH --cpus-per-task=2\n" in script
    assert "#SBATCH -t 02:00:00\n" in script
    assert "--nthreads 1 " in script
    assert "--nworkers 2 " in script
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="sbatch is not here; run this where jobs are submitted"):
        workers.client  # noqa: B018  (it connects)


@_WITH_JOBQUEUE
def test_a_batch_system_that_takes_no_job_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "sbatch"
    program.write_text("#!/bin/sh\necho 'sbatch: error: invalid partition: cpu' >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    form = ClusterFile(kind="slurm", workers=2, options={"queue": "cpu", "interface": "lo"})
    said = r"slurm.yaml: sbatch takes no job: sbatch: error: invalid partition: cpu; 0 of 200"
    run = Run(solve=known, workers=QueuedWorkers(form, "slurm.yaml"))
    with pytest.raises(UnfinishedError, match=said):
        run_study(STUDY, tmp_path / "s.db", run)
    assert capfd.readouterr().err == ""


def test_a_refusal_counts_only_while_no_job_is_there() -> None:
    workers = QueuedWorkers(ClusterFile(kind="slurm", workers=2), "slurm.yaml")
    jobs = {0: SimpleNamespace(job_id=None), 1: SimpleNamespace(job_id="7")}
    workers._cluster = SimpleNamespace(workers=jobs, scale=lambda _: None)
    workers._hear("busy")
    assert workers.refused == ""
    del jobs[1]
    assert workers.refused == "cluster: slurm.yaml: sbatch takes no job: busy"
    workers._asked -= 60
    workers.refill()
    assert jobs == {}, "is asked for again"


def test_what_a_cluster_needs_is_named() -> None:
    form = ClusterFile(kind="kubernetes", workers=2)
    with pytest.raises(InputError, match="kubernetes needs dask-kubernetes: pip install"):
        QueuedWorkers(form, "k.yaml").cluster()
