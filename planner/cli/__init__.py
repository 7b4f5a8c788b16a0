"""The command line: one file per command, thin; nothing else imports it.

A command reads its options, calls one public function and prints. Options that commands share are
in `options`, printing in `output`. Imports everything, and heavy rooms only when a command runs.
Begin with `main`.
"""
