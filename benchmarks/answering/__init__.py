"""The saved answers: questions, how they are asked, where an answer stands, and what differs.

Begin with `questions`, then `asking`. `places` is the one table that says where in today's JSON
each compared value stands; when the JSON changes its shape, only that table changes.
"""
