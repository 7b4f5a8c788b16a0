"""Answers as HTML: tables for notebooks, and one self-contained page for the front."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from planner.report.svg import front_svg
from planner.report.terminal import cost_rows
from planner.report.words import mesh_words, plan_rows, schedule_words
from planner.results import EvaluateResult, PlanResult, SolveResult
from planner.units import show_bytes, show_joules, show_percent, show_seconds

_STYLE = (
    "body{font-family:Helvetica,Arial,sans-serif;max-width:60em;margin:2em auto;color:#222}"
    "table{border-collapse:collapse;margin:1em 0}td,th{padding:.2em .8em;text-align:left;"
    "border-bottom:1px solid #ddd}"
)


def _table(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    top = f"<thead><tr>{head}</tr></thead>" if header else ""
    return f"<table>{top}<tbody>{body}</tbody></table>"


def _plan(result: PlanResult) -> str:
    return _table((), [*plan_rows(result), *cost_rows(result)])


def _front(result: SolveResult) -> str:
    rows = [
        (
            f"{point.chips:,}",
            show_seconds(point.step_time_s),
            show_joules(point.energy_per_step_j),
            show_percent(point.mfu),
            show_bytes(point.memory_per_chip_bytes),
            mesh_words(point.plan),
            f"{point.plan.sharding}, {schedule_words(point.plan)}",
        )
        for point in result.front
    ]
    names = ("chips", "step time", "energy/step", "MFU", "memory", "mesh", "sharding, schedule")
    return _table(names, rows)


def _head(result: SolveResult | EvaluateResult) -> str:
    job = result.job
    return f"{job['model']} on {job['chip']} ({job['hardware']})"


def solve_html(result: SolveResult) -> str:
    """A fragment for a notebook: best plan, proof, front."""
    if result.best is None:
        words = result.diagnosis.explanation if result.diagnosis else "time limit"
        return f"<p><b>{escape(_head(result))}</b>: no plan ({escape(words)})</p>"
    proof = f"status {result.status}, gap {show_percent(result.gap or 0.0)}"
    return (
        f"<p><b>{escape(_head(result))}</b>: {escape(proof)}</p>{_plan(result.best)}"
        f"{_front(result)}<p>{escape(result.front_note)}</p>"
    )


def evaluate_html(result: EvaluateResult) -> str:
    """A fragment for a notebook: the plan and its costs."""
    warnings = "".join(f"<p>Warning: {escape(line)}</p>" for line in result.warnings)
    return f"<p><b>{escape(_head(result))}</b></p>{warnings}{_plan(result.result)}"


def front_page(result: SolveResult) -> str:
    """A page that works offline: the picture and the plans of the front."""
    title = f"Pareto front: {_head(result)}"
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{_STYLE}</style></head><body><h1>{escape(title)}</h1>{front_svg(result)}"
        f"{solve_html(result)}</body></html>\n"
    )
