"""One question for several values of a field: which plan wins at each, and where that changes.

`axes` reads `PATH=VALUE,VALUE`, `turning` finds where the winner changes, `vary` answers, which is
where to begin.
"""
