"""Schedules of collectives in files: JSON with its network, or XML for the MSCCL runtime.

`schedule_file` reads, `saving` writes, `checks` refuses a file with the place of each fault. A new
format of files is one more reader here. Begin with `schedule_file`.
"""
