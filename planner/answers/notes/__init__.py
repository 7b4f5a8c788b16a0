"""What is said beside an answer: caveats of plans, fronts and launches, and how sure it is.

Sentences from numbers; a new caveat is one function of `caveats`. Begin there.
"""
