"""Rules about traces: jobs that `hpctl simulate` replays."""

from __future__ import annotations

from functools import partial

from config.rules.model import Category, error

_trace = partial(error, waivable=False)

TRACES = Category(
    "traces",
    "Traces",
    "What a file of jobs for `hpctl simulate` must not say. It is read against the plan, or against the plans before and after a "
    "change: something is unknown where no plan knows it. A quota that is too small for a job is no mistake of the trace but a "
    "result of the simulation.",
    (
        _trace(
            "trace-ending",
            "A trace that is neither YAML nor CSV",
            "How a file is read goes by the ending of its name.",
            "Let its name end in `.yaml` or `.csv`.",
        ),
        _trace(
            "trace-too-large",
            "More jobs than can be replayed",
            "A replay asks a real Kueue for every job: it would take days.",
            "Lower counts, rates, or `over`.",
        ),
        _trace(
            "jobs-none",
            "No job",
            "A simulation of nothing would succeed.",
            "List jobs, or write `generate`.",
        ),
        _trace(
            "job-twice",
            "Two jobs of one name",
            "Results are told by job: nobody could say which one is meant.",
            "Rename one of the two, or leave names out.",
        ),
        _trace(
            "job-every",
            "A time between jobs where there is one job",
            "It would have no effect.",
            "Add `count`, or remove `every`.",
        ),
        _trace(
            "time-negative",
            "A time before the trace's beginning",
            "The replay begins with an empty cluster at `0s`: nothing can have happened before.",
            "Write `0s`, or move all jobs.",
        ),
        _trace(
            "instance-type-missing",
            "Whole nodes or accelerators of no type in particular",
            "What a node holds, and which resource its accelerators are, differ by type.",
            "Add `instance_type`.",
        ),
        _trace(
            "load-rate",
            "A load with no rate of arrivals, or with two",
            "How many jobs there shall be would be anybody's guess.",
            "Keep one of `per_hour` and `every`.",
        ),
        _trace(
            "load-run-time",
            "Run times of a load that can't be drawn",
            "Either they lie about a median or they are chosen from a list, and the least is not above the most.",
            "Keep one of `median` and `choices`; lower `least`.",
        ),
        _trace(
            "csv-header",
            "A CSV file without a header, or with a column twice",
            "The header says what a column means.",
            "Write each column's name once, on the first line.",
        ),
        _trace(
            "csv-row",
            "A line of a CSV file that doesn't fit its header",
            "Its cells would be taken for something else.",
            "Write a cell for each column; put text with a comma in quotes.",
        ),
    ),
)
