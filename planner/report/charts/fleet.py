"""Who runs where and when: a row per job, a bar per size, and how full the clusters are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from planner.base.units import plural, show_watts
from planner.report.drawing.chart import HATCHES, Axis, Bar, Chart, Key, Line, Mark, Picture
from planner.report.drawing.style.looks import Look
from planner.report.tables.fleet import job_cells, plan_words, proof_words
from planner.studies.fleet.answer import FleetResult, JobRow, Segment

_TONES = ("blue", "green", "purple", "teal", "orange", "brown", "grey")
"""Of clusters; red is for what is late."""
_HALF = 0.38
_LATE: Look = ("red", "slant")
_DEADLINE = "deadline"
_WIDEST_ROW = 0.045


def fleet_picture(result: FleetResult) -> Picture:
    """The jobs over time, and below them the share of chips that they hold."""
    looks = _looks(result)
    return Picture(title="Fleet", charts=(_jobs_chart(result, looks), _use_chart(result, looks)))


def _looks(result: FleetResult) -> Mapping[str, Look]:
    """Tone and hatch of each cluster."""
    return {
        row.name: (_TONES[at % len(_TONES)], HATCHES[at // len(_TONES) % len(HATCHES)])
        for at, row in enumerate(result.clusters)
    }


def _size(result: FleetResult) -> str:
    return f"{plural(len(result.jobs), 'job')} on {plural(len(result.clusters), 'cluster')}"


def _days(result: FleetResult) -> Axis:
    last = max(job.end_day for job in result.jobs)
    deadlines = [job.deadline_day for job in result.jobs if job.deadline_day is not None]
    near = [day for day in deadlines if day <= 1.25 * last]
    return Axis(label="day", low=0.0, high=max([last, *near]) * 1.02)


def _jobs_chart(result: FleetResult, looks: Mapping[str, Look]) -> Chart:
    rows = sorted(result.jobs, key=lambda job: (job.start_day, job.end_day))
    header, cells = job_cells(result)
    marks = [mark for at, job in enumerate(rows) for mark in _row(job, at, looks)]
    return Chart(
        title="Who runs where and when",
        subtitle=f"{_size(result)}; {proof_words(result)}",
        x=_days(result),
        y=Axis(
            label="job",
            low=-0.6,
            high=len(rows) - 0.4,
            ticks=tuple((float(at), job.name) for at, job in enumerate(rows)),
            downwards=True,
        ),
        marks=tuple(marks),
        legend=tuple(_legend(result, looks)),
        notes=tuple(_notes(result)),
        description=_description(result, rows),
        header=header,
        rows=tuple(cells),
        height=min(0.16 + _WIDEST_ROW * len(rows), 1.5),
    )


def _row(job: JobRow, at: int, looks: Mapping[str, Look]) -> Iterator[Mark]:
    """The bars of a job: on time, late, and its deadline."""
    tone, hatch = looks[job.cluster]
    deadline = job.deadline_day
    for segment in job.segments:
        on_time = segment.end_day if deadline is None else min(segment.end_day, deadline)
        if on_time > segment.start_day:
            yield _bar(job, segment, at, (segment.start_day, on_time), (tone, hatch))
        late = segment.start_day if deadline is None else max(segment.start_day, deadline)
        if deadline is not None and segment.end_day > late:
            yield _bar(job, segment, at, (late, segment.end_day), _LATE)
    if deadline is not None:
        ends = ((deadline, at - 0.46), (deadline, at + 0.46))
        yield Line(
            points=ends, tone="red", bold=True, detail=f"{job.name}: due on day {deadline:.4g}"
        )


def _bar(job: JobRow, segment: Segment, at: int, ends: tuple[float, float], look: Look) -> Bar:
    return Bar(
        left=ends[0],
        right=ends[1],
        bottom=at + _HALF,
        top=at - _HALF,
        tone=look[0],
        hatch=look[1],
        words=f"{segment.chips:,}",
        detail=(
            f"{job.name} on {segment.chips:,} chips of {job.cluster}, day "
            f"{segment.start_day:.4g} to {segment.end_day:.4g}: "
            f"{plan_words(segment)}, {show_watts(segment.power_w)}"
        ),
    )


def _legend(result: FleetResult, looks: Mapping[str, Look]) -> Iterator[Key]:
    used = {job.cluster for job in result.jobs}
    for row in result.clusters:
        if row.name in used:
            tone, hatch = looks[row.name]
            yield Key(words=row.name, tone=tone, kind="bar", hatch=hatch)
    if any(job.late_days for job in result.jobs):
        yield Key(words="late", tone=_LATE[0], kind="bar", hatch=_LATE[1])
    if any(job.deadline_day is not None for job in result.jobs):
        yield Key(words=_DEADLINE, tone="red", kind="line")


def _notes(result: FleetResult) -> Iterator[str]:
    yield "Numbers in bars are chips of the plan; what does not fit is in the table."
    last = _days(result).high
    beyond = [
        job for job in result.jobs if job.deadline_day is not None and job.deadline_day > last
    ]
    if beyond:
        yield f"{len(beyond)} deadlines lie further to the right."


def _description(result: FleetResult, rows: Sequence[JobRow]) -> str:
    late = sum(job.late_days > 0 for job in rows)
    last = max(job.end_day for job in rows)
    return (
        f"{_size(result)}: a row for each job, a bar from its start to its end. The last one ends "
        f"on day {last:.4g}; {late} end after their deadline."
    )


def _use_chart(result: FleetResult, looks: Mapping[str, Look]) -> Chart:
    """The share of its chips that jobs hold on each cluster, over time."""
    marks, rows = [], []
    for row in result.clusters:
        steps = _held(result, row.name)
        points = tuple((day, 100.0 * chips / row.chips) for day, chips in _stairs(steps))
        marks.append(Line(points=points, tone=looks[row.name][0], detail=row.name, bold=True))
        rows += [(row.name, f"{day:.4g}", f"{chips:,}") for day, chips in steps]
    return Chart(
        title="Chips in use",
        subtitle="share of each cluster that jobs hold",
        x=_days(result),
        y=Axis(label="chips in use (%)", low=0.0, high=105.0),
        marks=tuple(marks),
        legend=tuple(
            Key(words=row.name, tone=looks[row.name][0], kind="line") for row in result.clusters
        ),
        description="For each cluster the share of its chips that jobs hold, over days.",
        header=("cluster", "from day", "chips in use"),
        rows=tuple(rows),
        height=0.3,
    )


def _held(result: FleetResult, cluster: str) -> list[tuple[float, int]]:
    """From which day how many chips are held."""
    changes: dict[float, int] = {0.0: 0}
    for job in result.jobs:
        for segment in job.segments if job.cluster == cluster else ():
            for day, chips in ((segment.start_day, 1), (segment.end_day, -1)):
                changes[day] = changes.get(day, 0) + chips * segment.held_chips
    held = 0
    steps: list[tuple[float, int]] = []
    for day in sorted(changes):
        held += changes[day]
        if not steps or steps[-1][1] != held:
            steps.append((day, held))
    return steps


def _stairs(steps: Sequence[tuple[float, int]]) -> Iterator[tuple[float, int]]:
    """The corners of a line of stairs."""
    before = 0
    for day, chips in steps:
        yield day, before
        yield day, chips
        before = chips
