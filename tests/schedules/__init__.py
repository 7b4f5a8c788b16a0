"""Pipeline schedules: registry, simulation, timelines, traces, packages from outside."""
