"""The cost model: pure functions from arrays of plans to time, memory and energy."""
