"""Launches of frameworks read as plans: what the readers of all frameworks share.

`shell` fills shell text in without running it, `python` reads recipes so, `commands` finds the
command and `launchers` on how many chips it is started, `settings` keeps account of what was read.
A framework's own names belong to its folder. Begin with `imported`, which every reader returns.
"""
