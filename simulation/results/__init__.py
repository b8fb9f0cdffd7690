"""What replays show, in numbers. Pure arithmetic.

`figures.measure(replay, trace, plan)`: the figures of one replay. `spread.as_dict(runs)`, `spread.ranges(runs)`: of several of
the same. `compare.compare(before, after)`: of two plans. `reports.simulation` draws all of them.
"""
