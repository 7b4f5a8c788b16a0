"""The records of answers: plans with what they cost, certificates, fronts, gains, parts.

Data alone: immutable, printable, turned into JSON. What is worked out stands in `answers`, how it
is shown in `report`. Imports `question` and what lies below. Begin with `result`.
"""
