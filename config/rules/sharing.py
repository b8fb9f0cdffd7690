"""Rules about lending, borrowing and departments."""

from __future__ import annotations

from functools import partial

from config.rules.model import Category, Example, error, warning

_contradiction = partial(error, waivable=False)
_STRATEGY = "SageMaker API, ResourceSharingConfig"
_LIMIT = "Kueue 0.16, ClusterQueue webhook: lendingLimit is at most nominalQuota"

SHARING = Category(
    "sharing",
    "Sharing",
    "Who lends, who borrows, and who comes first when idle compute is given away.",
    (
        _contradiction(
            "borrow-without-strategy",
            "A borrow limit of a team that doesn't borrow",
            "The team believes that it may borrow, and never does. A team that doesn't lend can't borrow either.",
            "Use `lend_and_borrow`, or remove the limit.",
            source=_STRATEGY,
            example=Example(team="sharing: {strategy: lend, borrow_limit: 50}"),
        ),
        _contradiction(
            "lend-without-strategy",
            "A lending limit of a team that doesn't lend",
            "Others plan with a loan that never comes.",
            "Use `lend` or `lend_and_borrow`, or remove the limit.",
            source=_STRATEGY,
            example=Example(team="sharing: {strategy: dont_lend, lend_limit: 50}"),
        ),
        _contradiction(
            "borrow-twice",
            "Two borrow limits",
            "A percentage and absolute amounts can't both hold, and the API takes one.",
            "Keep `borrow_limit` or `borrow`.",
            source=_STRATEGY,
            example=Example(team="sharing: {borrow_limit: 50, borrow: {ml.p5.48xlarge: {accelerators: 8}}}"),
        ),
        _contradiction(
            "lend-twice",
            "Two lending limits",
            "A percentage and absolute amounts can't both hold.",
            "Keep `lend_limit` or `lend`.",
            example=Example(team="sharing: {lend_limit: 50, lend: {ml.p5.48xlarge: {accelerators: 4}}}"),
        ),
        error(
            "lend-above-quota",
            "A lending limit above the quota",
            "Nobody can lend what it doesn't own; Kueue refuses the queue. Set aside, the team lends all of its quota.",
            "Lend at most the quota.",
            source=_LIMIT,
            example=Example(team="sharing: {lend: {ml.p5.48xlarge: {accelerators: 9}}}"),
        ),
        error(
            "lend-without-quota",
            "A lending limit for a type without quota",
            "There is nothing to lend: the type is most likely another one. Set aside, the limit has no effect.",
            "Correct the type, remove the limit, or add a quota.",
            source=_LIMIT,
            example=Example(team="sharing: {lend: {ml.g6.12xlarge: {accelerators: 1}}}"),
        ),
        warning(
            "weight-zero",
            "A weight of 0 beside others",
            "In fair sharing a weight of 0 loses to every other: the team, or the whole department, gets idle compute only when "
            "nobody else wants it.",
            "Give it a weight of 1 or more; or give all siblings 0, which makes them equal.",
            source="SageMaker API, FairShareWeight (default 0); Kueue 0.16, fairSharing.weight",
            example=Example(team="weight: 0"),
        ),
        _contradiction(
            "department-unknown",
            "A department that there is not",
            "Its teams would share with everybody instead of with their department first.",
            "Correct the spelling, or add the department to `governance.departments`.",
            example=Example(environment="governance: {departments: {research: {parent: sciences}}}"),
        ),
        _contradiction(
            "department-cycle",
            "Departments that stand above each other in a circle",
            "Kueue stops admitting to every queue of a circle of cohorts.",
            "Break the circle of parents.",
            source="Kueue 0.16, Cohort: cycles make all queues of the tree inactive",
            example=Example(environment="governance: {departments: {research: {parent: vision}, vision: {parent: research}}}"),
        ),
        _contradiction(
            "department-name",
            "A department with the name of the root cohort",
            "It would stand above itself.",
            "Choose another name.",
            example=Example(environment="governance: {departments: {hyperpod: {weight: 1}}}"),
        ),
    ),
)
