"""Launches of frameworks read as plans: what the readers of all frameworks share.

`shell_words` and `shell_run` expand shell text without running it, `commands` finds the command,
`settings` keeps account of what was read. A framework's own names belong to its folder. Begin with
`imported`, which every reader returns.
"""
