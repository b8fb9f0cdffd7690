"""Rules about priority classes."""

from __future__ import annotations

from config.rules.model import Category, Example, advice, error

PRIORITIES = Category(
    "priorities",
    "Priorities",
    "How tasks rank within a team, and who may stop whom.",
    (
        error(
            "priority-class-unknown",
            "A priority class that there is not",
            "The team's job contract would name it, and a job that follows the contract is refused, or never queued.",
            "Correct the spelling, or add the class to `governance.priority_classes`.",
            source="HyperPod task governance: tasks of an unknown class fail; Kueue: no Workload is made for them",
            waivable=False,
            example=Example(team="default_priority: trainig"),
        ),
        error(
            "ranking-classes",
            "A way of ranking that contradicts the classes",
            "Tasks would rank by arrival though classes are declared, or by classes that there are not.",
            "Remove `task_ranking` or `priority_classes`; or name at least one class.",
            source="SageMaker, cluster policy: task prioritization",
            waivable=False,
            example=Example(environment="governance: {task_ranking: first_come_first_served}"),
        ),
        advice(
            "priority-equal",
            "Two priority classes of one weight",
            "Neither goes before the other, and neither may stop the other's tasks: the two names are one rank.",
            "Give them different weights, or use one class.",
            example=Example(environment="governance: {priority_classes: {batch: {weight: 70}}}"),
        ),
        advice(
            "priority-unranked",
            "A priority class no higher than none",
            "A task that names no class ranks at 0: with a weight of 0 naming the class changes nothing, and below it whoever "
            "names the class comes after everybody who doesn't.",
            "Give the class a weight of 1 or more.",
            source="Kueue, workload priority: 0 where no class is named",
            example=Example(environment="governance: {priority_classes: {batch: {weight: 0}}}"),
        ),
    ),
)
