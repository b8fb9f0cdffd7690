"""Rules about what a change would take away from running work. They read running clusters and Pulumi's state."""

from __future__ import annotations

from functools import partial

from config.rules.model import Category, error

_loses = partial(error, waivable=False)

REMOVAL = Category(
    "removal",
    "Removal",
    "What a change would take from running work, told before anything is touched.",
    (
        _loses(
            "flavor-in-use",
            "A type that a queue would lose while jobs hold quota on it",
            "Kueue forgets what they use, and gives the same nodes out a second time.",
            "Set `state: draining` for the teams named, apply, wait until nothing of theirs runs, and make the change then.",
            source="Kueue 0.16: usage of a flavor that a ClusterQueue no longer lists, measured",
        ),
        _loses(
            "cluster-replaced",
            "A change that would build a protected cluster anew",
            "Name, region and account can't be changed: the cluster would be deleted, with all that runs on it.",
            "Change it back. To replace the cluster all the same, first apply `protection: false`.",
            source="SageMaker API, ClusterName; EKS, cluster names",
        ),
        _loses(
            "team-not-drained",
            "A team goes that was not drained",
            "Its namespace and everything in it would be deleted, running jobs included; the engine would stop half-way at what "
            "is protected.",
            "Put it back with `state: draining`, apply, and then take it away.",
        ),
        _loses(
            "team-still-runs",
            "A team goes that still runs something",
            "Its jobs would be stopped, and what they have not saved would be lost.",
            "Wait until they have ended, or delete them.",
        ),
        _loses(
            "cluster-unseen",
            "A team goes from a cluster that doesn't answer",
            "Nobody can say what it still runs there.",
            "Run this where the API server can be reached: from the networks in `eks.public_access_from`, or inside the VPC. A "
            "cluster that is gone for good: `hpctl down --unprotect`.",
        ),
        _loses(
            "stack-protected",
            "A stack goes whose resources are protected",
            "The engine would refuse them one by one, after it has deleted others.",
            "Drain the teams, set `protection: false` and apply; or take them all the same with `hpctl down --unprotect`.",
            source="Pulumi, the option `protect`",
        ),
    ),
)
