"""Goodput of a run without a plan: over chips, with checkpoints as given, simulated where asked.

`question` reads what was typed, `kept` is the run that is meant, `asking` answers, `answer` has the
records; `curve` is goodput over chips for pictures. Begin with `asking`.
"""
