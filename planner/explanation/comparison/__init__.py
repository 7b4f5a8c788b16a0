"""Plans beside each other: what differs, what each costs, and what makes the difference.

`comparing` works it out, `answer` holds it. Begin with `comparing`.
"""
