"""HyperPod clusters for tests: plans, what stands below them, and one that uses every property."""

from __future__ import annotations

from typing import Any

from config.hyperpod import HyperPodCluster
from governance.platform.model import PlatformPlan
from governance.platform.payload import PayloadInputs
from governance.platform.plan import platform_plan

ACCOUNT, REGION = "111122223333", "us-west-2"
ZONES = tuple(f"{REGION}{letter}" for letter in "abc")
KEY = f"arn:aws:kms:{REGION}:{ACCOUNT}:key/cluster"
OTHER_KEY = f"arn:aws:kms:{REGION}:{ACCOUNT}:key/other"
ROLE = f"arn:aws:iam::{ACCOUNT}:role/sagemaker-execution"
KARPENTER_ROLE = f"arn:aws:iam::{ACCOUNT}:role/sagemaker-karpenter"
EKS = f"arn:aws:eks:{REGION}:{ACCOUNT}:cluster/dev-main"
TRAINING_PLAN = f"arn:aws:sagemaker:{REGION}:{ACCOUNT}:training-plan/reserved-h100"
CPU = {"instance_type": "ml.m5.4xlarge", "count": 2}


def declared(groups: dict[str, Any] | None = None, **settings: Any) -> HyperPodCluster:
    """A declaration with a new network in three zones."""
    return HyperPodCluster.model_validate(
        {
            "kind": "hyperpod",
            "account": ACCOUNT,
            "region": REGION,
            "network": {"availability_zones": list(ZONES)},
            "instance_groups": {"cpu": CPU} if groups is None else groups,
            **settings,
        }
    )


def plan_of(groups: dict[str, Any] | None = None, **settings: Any) -> PlatformPlan:
    return platform_plan("dev", "main", declared(groups, **settings), managed=True)


def inputs_for(plan: PlatformPlan, **changed: Any) -> PayloadInputs:
    """What the rest of the platform answers."""
    return PayloadInputs(
        **{
            "node_subnets": {zone.zone: f"subnet-{zone.zone}" for zone in plan.network.zones},
            "security_groups": ["sg-0123456789abcdef0"],
            "execution_role_arn": ROLE,
            "eks_arn": EKS,
            "key_arn": KEY,
            "karpenter_role_arn": KARPENTER_ROLE if plan.declared.hyperpod.karpenter else None,
            "lifecycle_uri": "s3://sagemaker-dev-main/lifecycle" if plan.declared.hyperpod.lifecycle else None,
            **changed,
        }
    )


def full(script: str = "on_create") -> PlatformPlan:
    """Every property that a cluster can have, with a script that runs `on_create` or `on_init_complete`."""
    rolling = {
        "batch": {"instances": 2},
        "rollback_batch": {"percent": 50},
        "wait_seconds": 600,
        "rollback_alarms": ["second", "first"],
    }
    gpu = {
        "instance_type": "ml.p5.48xlarge",
        "count": 4,
        "min_count": 2,
        "availability_zone": "us-west-2b",
        "labels": {"example.com/pool": "training", "instance_type": "kept"},
        "taints": [
            {"key": "example.com/gpu", "value": "true", "effect": "NoSchedule"},
            {"key": "example.com/bare", "effect": "NoExecute"},
        ],
        "threads_per_core": 1,
        "volumes": [{"size_gib": 500}, {"root": True, "key": OTHER_KEY}],
        "fsx_lustre": [
            {
                "dns_name": "fs-0123456789abcdef0.fsx.us-west-2.amazonaws.com",
                "mount_name": "abcdefgh",
                "availability_zone": "us-west-2b",
            }
        ],
        "fsx_openzfs": [
            {"dns_name": "fs-0123456789abcdef1.fsx.us-west-2.amazonaws.com", "availability_zone": "us-west-2b"},
        ],
        "deep_health_checks": ["instance_stress", "instance_connectivity"],
        "image": "ami-0123456789abcdef0",
        "network_interface": "efa-only",
        "training_plan": TRAINING_PLAN,
        "scheduled_update": {"schedule": "cron(0 3 ? * SUN *)", "deployment": rolling},
    }
    groups = {
        "gpu": gpu,
        "flexible": {
            "instance_type": "ml.g5.12xlarge",
            "flexible_types": ["ml.g6.12xlarge", "ml.g5.24xlarge"],
            "count": 1,
            "capacity": "spot",
            "image_release": "1.2.3",
            "auto_patch": {"strategy": "when_idle", "deployment": {"batch": {"percent": 25}}},
        },
        "late": {**CPU, "capacity": "on_demand", "auto_patch": {"strategy": "when_all_idle"}},
        "elastic": {**CPU, "autoscaled": True, "bootstrap": True},
    }
    nova = {
        "instance_type": "ml.p5.48xlarge",
        "count": 2,
        "availability_zone": "us-west-2a",
        "file_system": {"size_gib": 1200, "throughput": 125},
        "training_plan": TRAINING_PLAN,
        "threads_per_core": 2,
        "volumes": [{"size_gib": 100}],
        "deep_health_checks": ["instance_stress"],
    }
    return plan_of(
        groups,
        tags={"team": "platform"},
        hyperpod={
            "karpenter": True,
            "tiered_storage": {"memory_percent": 20},
            "lifecycle": {"folder": "lifecycle", "when": script},
        },
        restricted_instance_groups={"nova": nova},
        restricted_file_system={"size_gib": 2400, "throughput": 250, "keep": False},
    )
