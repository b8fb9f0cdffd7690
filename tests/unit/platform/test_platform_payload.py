"""Arguments of the HyperPod cluster, and values of its dependency chart, from plans."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from platform_support import CPU, KARPENTER_ROLE, KEY, OTHER_KEY, ROLE, TRAINING_PLAN, full, inputs_for, plan_of
from strategies import hyperpod_clusters

from config.hyperpod import HyperPodCluster
from governance.platform.chartvalues import chart_values, merged, node_types
from governance.platform.payload import Shift, cluster_args, ignored_counts, shifted_counts
from governance.platform.plan import platform_plan

H100 = {"instance_type": "ml.p5.48xlarge", "count": 1, "availability_zone": "us-west-2a"}
A100 = {"instance_type": "ml.p4d.24xlarge", "count": 1, "availability_zone": "us-west-2a"}
TRAINIUM = {"instance_type": "ml.trn1.32xlarge", "count": 1, "availability_zone": "us-west-2a"}
SECURITY_GROUPS = ["sg-0123456789abcdef0"]


def args_of(groups: dict[str, Any] | None = None, **settings: Any) -> dict[str, Any]:
    plan = plan_of(groups, **settings)
    return cluster_args(plan, inputs_for(plan))


def group_of(**settings: Any) -> dict[str, Any]:
    """What one group of CPU nodes becomes."""
    (group,) = args_of({"cpu": {**CPU, **settings}})["instance_groups"]
    assert isinstance(group, dict)
    return group


# -- the cluster ---------------------------------------------------------------------------------------------------------------


def test_a_plain_cluster() -> None:
    """Nothing is sent that is not declared, but what makes the cluster safe and ours."""
    args = args_of()
    assert args.pop("tags") == [
        {"key": "hyperpod-platform/cluster", "value": "main"},
        {"key": "hyperpod-platform/environment", "value": "dev"},
        {"key": "hyperpod-platform/managed-by", "value": "pulumi"},
    ]
    assert args == {
        "cluster_name": "dev-main",
        "orchestrator": {"eks": {"cluster_arn": "arn:aws:eks:us-west-2:111122223333:cluster/dev-main"}},
        "vpc_config": {
            "security_group_ids": SECURITY_GROUPS,
            "subnets": ["subnet-us-west-2a", "subnet-us-west-2b", "subnet-us-west-2c"],
        },
        "node_recovery": "Automatic",
        "node_provisioning_mode": "Continuous",
        "instance_groups": [
            {"instance_group_name": "cpu", "instance_type": "ml.m5.4xlarge", "instance_count": 2, "execution_role": ROLE}
        ],
    }


def test_switches_of_the_cluster() -> None:
    args = args_of(hyperpod={"node_recovery": "none", "continuous_provisioning": False, "tiered_storage": {}, "name": "other"})
    assert args["node_recovery"] == "None"
    assert "node_provisioning_mode" not in args
    assert args["tiered_storage_config"] == {"mode": "Enable"}
    assert args["cluster_name"] == "other"
    assert not {"cluster_role", "auto_scaling", "restricted_instance_groups", "restricted_instance_groups_config"} & set(args)


def test_karpenter_has_its_role() -> None:
    args = args_of(hyperpod={"karpenter": True})
    assert args["cluster_role"] == KARPENTER_ROLE
    assert args["auto_scaling"] == {"mode": "Enable", "auto_scaler_type": "Karpenter"}
    plan = plan_of(hyperpod={"karpenter": True})
    with pytest.raises(ValueError, match="no role"):
        cluster_args(plan, inputs_for(plan, karpenter_role_arn=None))


def test_a_reordered_declaration_is_no_difference() -> None:
    """Nothing but the order of groups, zones, taints, checks, alarms and tags differs."""
    groups = {"a": {**H100, "deep_health_checks": ["instance_stress", "instance_connectivity"]}, "b": CPU}
    taints = [{"key": key, "effect": effect} for key in "xy" for effect in ("NoSchedule", "NoExecute")]
    groups["b"] = {**CPU, "taints": taints}
    mirrored = {
        "b": {**CPU, "taints": taints[::-1]},
        "a": {**H100, "deep_health_checks": ["instance_connectivity", "instance_stress"]},
    }
    zones = ["us-west-2a", "us-west-2b", "us-west-2c"]
    one = plan_of(groups, tags={"k": "1", "l": "2"}, network={"availability_zones": zones})
    other = plan_of(mirrored, tags={"l": "2", "k": "1"}, network={"availability_zones": zones[::-1]})
    assert json.dumps(cluster_args(one, inputs_for(one)), sort_keys=True) == json.dumps(
        cluster_args(other, inputs_for(other)), sort_keys=True
    )


@given(hyperpod_clusters(), st.randoms(use_true_random=False))
def test_the_order_of_groups_in_the_file_means_nothing(data: dict[str, Any], random: Any) -> None:
    shuffled = list(data["instance_groups"].items())
    random.shuffle(shuffled)
    one, other = (
        platform_plan("dev", "main", HyperPodCluster.model_validate(found), managed=False)
        for found in (data, {**data, "instance_groups": dict(shuffled)})
    )
    assert cluster_args(one, inputs_for(one)) == cluster_args(other, inputs_for(other))
    assert ignored_counts(one) == ignored_counts(other)


def test_a_fourth_zone_leaves_the_clusters_own_network_alone() -> None:
    """Another VpcConfig would be another cluster, and all nodes with it."""
    plan = plan_of()
    three = {f"us-west-2{letter}": f"subnet-{letter}" for letter in "bac"}
    four = {**three, "us-west-2d": "subnet-d"}
    before, after = (cluster_args(plan, inputs_for(plan, node_subnets=subnets)) for subnets in (three, four))
    assert before["vpc_config"] == after["vpc_config"]
    assert after["vpc_config"]["subnets"] == ["subnet-a", "subnet-b", "subnet-c"]


def test_volumes_take_no_key_of_ours_without_continuous_provisioning() -> None:
    groups = {"cpu": {**CPU, "volumes": [{"size_gib": 100}]}}
    for continuous, keys in ((True, {"volume_kms_key_id": KEY}), (False, {})):
        plan = plan_of(groups, hyperpod={"continuous_provisioning": continuous})
        (group,) = cluster_args(plan, inputs_for(plan))["instance_groups"]
        assert group["instance_storage_configs"] == [{"ebs_volume_config": {"volume_size_in_gb": 100, **keys}}]


def test_outputs_pass_untouched() -> None:
    """What other resources answer may have no truth value and no order."""

    class Unresolved:
        def __bool__(self) -> bool:
            raise AssertionError("its value is not known")

        __eq__ = __lt__ = __iter__ = __hash__ = None  # type: ignore[assignment]

    plan = full()
    zones = {zone.zone: Unresolved() for zone in plan.network.zones}
    names = ("execution_role_arn", "eks_arn", "key_arn", "karpenter_role_arn", "lifecycle_uri")
    given_ = inputs_for(plan, node_subnets=zones, **{name: Unresolved() for name in names})
    args = cluster_args(plan, given_)
    assert args["orchestrator"]["eks"]["cluster_arn"] is given_.eks_arn
    assert args["vpc_config"]["subnets"][1] is zones["us-west-2b"]
    assert args["instance_groups"][0]["execution_role"] is given_.execution_role_arn


# -- a group -------------------------------------------------------------------------------------------------------------------


def test_a_full_group() -> None:
    group = {group["instance_group_name"]: group for group in cluster_args(full(), inputs_for(full()))["instance_groups"]}["gpu"]
    batches = {
        "maximum_batch_size": {"type": "INSTANCE_COUNT", "value": 2},
        "rollback_maximum_batch_size": {"type": "CAPACITY_PERCENTAGE", "value": 50},
    }
    assert group == {
        "instance_group_name": "gpu",
        "instance_type": "ml.p5.48xlarge",
        "instance_count": 4,
        "min_instance_count": 2,
        "execution_role": ROLE,
        "threads_per_core": 1,
        "on_start_deep_health_checks": ["InstanceConnectivity", "InstanceStress"],
        "override_vpc_config": {"security_group_ids": SECURITY_GROUPS, "subnets": ["subnet-us-west-2b"]},
        "training_plan_arn": TRAINING_PLAN,
        "life_cycle_config": {"source_s3_uri": "s3://sagemaker-dev-main/lifecycle", "on_create": "on_create.sh"},
        "instance_storage_configs": [
            {"ebs_volume_config": {"volume_size_in_gb": 500, "volume_kms_key_id": KEY}},
            {"ebs_volume_config": {"root_volume": True, "volume_kms_key_id": OTHER_KEY}},
            {
                "fsx_lustre_config": {
                    "dns_name": "fs-0123456789abcdef0.fsx.us-west-2.amazonaws.com",
                    "mount_name": "abcdefgh",
                    "mount_path": "/fsx",
                }
            },
            {
                "fsx_open_zfs_config": {
                    "dns_name": "fs-0123456789abcdef1.fsx.us-west-2.amazonaws.com",
                    "mount_path": "/home",
                }
            },
        ],
        "image_id": "ami-0123456789abcdef0",
        "kubernetes_config": {
            "labels": {"example.com/pool": "training", "instance_type": "kept"},
            "taints": [
                {"key": "example.com/bare", "effect": "NoExecute"},
                {"key": "example.com/gpu", "value": "true", "effect": "NoSchedule"},
            ],
        },
        "network_interface": {"interface_type": "efa-only"},
        "scheduled_update_config": {
            "schedule_expression": "cron(0 3 ? * SUN *)",
            "deployment_config": {
                "rolling_update_policy": batches,
                "wait_interval_in_seconds": 600,
                "auto_rollback_configuration": [{"alarm_name": "first"}, {"alarm_name": "second"}],
            },
        },
    }


def test_flexible_types_replace_the_type_and_follow_it() -> None:
    group = group_of(flexible_types=["ml.m6i.4xlarge", "ml.c5.4xlarge"])
    assert group["instance_requirements"] == {"instance_types": ["ml.m5.4xlarge", "ml.m6i.4xlarge", "ml.c5.4xlarge"]}
    assert "instance_type" not in group


@pytest.mark.parametrize("capacity", ["spot", "on_demand"])
def test_capacity_is_a_key_without_settings(capacity: str) -> None:
    assert group_of(capacity=capacity)["capacity_requirements"] == {capacity: {}}


def test_patches_and_releases() -> None:
    group = group_of(
        image_release="1.2.3",
        auto_patch={"strategy": "when_all_idle", "deployment": {"batch": {"percent": 10}}},
        scheduled_update={"schedule": "cron(0 3 1 * ? *)"},
    )
    assert group["image_release_version"] == "1.2.3"
    assert group["scheduled_update_config"] == {"schedule_expression": "cron(0 3 1 * ? *)"}
    policy = {"maximum_batch_size": {"type": "CAPACITY_PERCENTAGE", "value": 10}}
    assert group["auto_patch_config"] == {
        "patching_strategy": "WhenAllIdle",
        "deployment_config": {"rolling_update_policy": policy},
    }


def test_keys_of_volumes() -> None:
    """A volume's own key, else the declared key of all volumes, else the cluster's."""
    volumes = {"volumes": [{"size_gib": 1}, {"root": True, "key": OTHER_KEY}]}
    of_all = "arn:aws:kms:us-west-2:111122223333:key/volumes"
    (group,) = args_of({"cpu": {**CPU, **volumes}}, hyperpod={"volume_key": of_all})["instance_groups"]
    keys = [volume["ebs_volume_config"]["volume_kms_key_id"] for volume in group["instance_storage_configs"]]
    assert keys == [of_all, OTHER_KEY]
    (volume,) = group_of(volumes=[{"root": True}])["instance_storage_configs"]
    assert volume == {"ebs_volume_config": {"root_volume": True, "volume_kms_key_id": KEY}}


def test_scripts() -> None:
    script = {"source_uri": "s3://sagemaker-own/folder", "script": "run.sh", "when": "on_init_complete"}
    plan = plan_of({"a": CPU, "b": {**CPU, "bootstrap": True}}, hyperpod={"lifecycle": script})
    one, other = cluster_args(plan, inputs_for(plan, lifecycle_uri=None))["instance_groups"]
    assert one["life_cycle_config"] == {"source_s3_uri": "s3://sagemaker-own/folder", "on_init_complete": "run.sh"}
    assert "life_cycle_config" not in other
    assert "life_cycle_config" not in group_of()
    local = plan_of(hyperpod={"lifecycle": {"folder": "lifecycle"}})
    with pytest.raises(ValueError, match="no bucket"):
        cluster_args(local, inputs_for(local, lifecycle_uri=None))


def test_a_group_in_a_zone_without_a_subnet() -> None:
    plan = plan_of({"gpu": H100})
    with pytest.raises(ValueError, match="`gpu` of cluster `main` stands in us-west-2a"):
        cluster_args(plan, inputs_for(plan, node_subnets={"us-west-2b": "subnet-1"}))


def test_restricted_groups() -> None:
    args = cluster_args(full(), inputs_for(full()))
    assert args["restricted_instance_groups"] == [
        {
            "instance_group_name": "nova",
            "instance_type": "ml.p5.48xlarge",
            "instance_count": 2,
            "execution_role": ROLE,
            "threads_per_core": 2,
            "on_start_deep_health_checks": ["InstanceStress"],
            "override_vpc_config": {"security_group_ids": SECURITY_GROUPS, "subnets": ["subnet-us-west-2a"]},
            "training_plan_arn": TRAINING_PLAN,
            "instance_storage_configs": [{"ebs_volume_config": {"volume_size_in_gb": 100}}],
            "environment_config": {"f_sx_lustre_config": {"size_in_gi_b": 1200, "per_unit_storage_throughput": 125}},
        }
    ]
    assert args["restricted_instance_groups_config"] == {
        "shared_environment_config": {
            "f_sx_lustre_config": {"size_in_gi_b": 2400, "per_unit_storage_throughput": 250},
            "f_sx_lustre_deletion_policy": "DeleteIfNotUsed",
        }
    }


# -- counts that an autoscaler owns --------------------------------------------------------------------------------------------


def test_only_autoscaled_counts_are_ignored() -> None:
    auto = {**CPU, "autoscaled": True}
    plan = plan_of({"c": auto, "a": CPU, "b": auto}, hyperpod={"karpenter": True})
    assert [group["instance_group_name"] for group in cluster_args(plan, inputs_for(plan))["instance_groups"]] == ["a", "b", "c"]
    assert ignored_counts(plan) == ["instanceGroups[1].instanceCount", "instanceGroups[2].instanceCount"]
    assert ignored_counts(plan_of()) == []


names = st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=6).map(sorted)


@given(names, names, st.data())
def test_shifts_are_found_exactly_where_the_engine_would_change_a_count(old: list[str], new: list[str], data: Any) -> None:
    """Against the engine's rule: at an ignored place stands what stood there before; beyond the old list, what is declared."""
    counts = {name: data.draw(st.integers(0, 2)) for name in old}
    declared = {name: data.draw(st.integers(0, 2)) for name in new}
    autoscaled = {name: declared[name] for name in new if data.draw(st.booleans())}
    sent = {
        name: counts[old[place]] if name in autoscaled and place < len(old) else declared[name] for place, name in enumerate(new)
    }
    wrong = {name for name in autoscaled if sent[name] != (counts[name] if name in counts else declared[name])}
    assert {shift.group for shift in shifted_counts(counts, sent, autoscaled)} == wrong


def test_a_shift_tells_both_counts() -> None:
    assert shifted_counts({"k": 3, "n": 2}, {"a": 3, "k": 2, "n": 2}, {"a": 1, "k": 3}) == [Shift("a", 3, 1), Shift("k", 2, 3)]


@given(names, st.data())
def test_marking_groups_as_autoscaled_shifts_nothing(group_names: list[str], data: Any) -> None:
    """So that a refused change has its way around: counts of our own first, the mark again after."""
    counts = {name: data.draw(st.integers(0, 9)) for name in group_names}
    marked = {name: data.draw(st.integers(0, 9)) for name in group_names if data.draw(st.booleans())}
    assert shifted_counts(counts, counts, marked) == []


# -- values of the dependency chart --------------------------------------------------------------------------------------------


def plugins(values: dict[str, Any]) -> set[str]:
    kinds = ("nvidia-device-plugin", "neuron-device-plugin", "aws-efa-k8s-device-plugin")
    found = {kind for kind in kinds if values[kind]["devicePlugin"]["enabled"]}
    return found | ({"gpu-operator"} if values["gpu-operator"]["enabled"] else set())


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ({"cpu": CPU}, set()),
        ({"cpu": CPU, "gpu": H100}, {"nvidia-device-plugin", "aws-efa-k8s-device-plugin"}),
        ({"neuron": TRAINIUM}, {"neuron-device-plugin", "aws-efa-k8s-device-plugin"}),
        ({"gpu": {"instance_type": "ml.g5.xlarge", "count": 1}}, {"nvidia-device-plugin"}),
        ({"cpu": {**CPU, "flexible_types": ["ml.g5.xlarge"]}}, {"nvidia-device-plugin"}),
        ({"mig": {**A100, "partitions": {"mig-3g.20gb": 16}}, "gpu": H100}, {"gpu-operator", "aws-efa-k8s-device-plugin"}),
    ],
)
def test_plugins_only_where_types_need_them(groups: dict[str, Any], expected: set[str]) -> None:
    assert plugins(chart_values(plan_of(groups))) == expected


def test_plugins_run_on_our_types_whatever_the_chart_lists() -> None:
    """The chart's own lists lack newer types, whose nodes would have no devices."""
    values = chart_values(plan_of({"gpu": H100, "small": {"instance_type": "ml.g7e.2xlarge", "count": 1}, "cpu": CPU}))
    affinity = values["nvidia-device-plugin"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    (term,) = affinity["nodeSelectorTerms"]
    (expression,) = term["matchExpressions"]
    assert expression == {
        "key": "node.kubernetes.io/instance-type",
        "operator": "In",
        "values": ["ml.g7e.2xlarge", "ml.p5.48xlarge"],
    }
    assert "ml.p5.48xlarge" in values["aws-efa-k8s-device-plugin"]["supportedInstanceLabels"]["values"]
    assert "ml.m5.4xlarge" not in values["aws-efa-k8s-device-plugin"]["supportedInstanceLabels"]["values"]


def test_types_of_restricted_groups_count() -> None:
    plan = plan_of(restricted_instance_groups={"nova": {"instance_type": "ml.p5.48xlarge", "count": 1}})
    assert [found.name for found in node_types(plan)] == ["ml.m5.4xlarge", "ml.p5.48xlarge"]


def test_what_is_always_on_and_always_off() -> None:
    values = chart_values(plan_of())
    on = ("trainingOperators", "mpi-operator", "deep-health-check", "job-auto-restart", "hyperpod-patching")
    assert all(values[name] == {"enabled": True} for name in on)
    off = ("cluster-role-and-bindings", "namespaced-role-and-bindings", "team-role-and-bindings")
    assert all(values[name] == {"enabled": False} for name in off)
    assert values["health-monitoring-agent"] == {"enabled": True, "region": "us-west-2"}
    assert values["global"] == {"region": "us-west-2"}


def test_declared_values_win() -> None:
    own = {"mpi-operator": {"enabled": False, "image": "x"}, "nvidia-device-plugin": {"affinity": None}, "extra": [1]}
    values = chart_values(plan_of({"gpu": H100}, hyperpod={"chart": {"values": own}}))
    assert values["mpi-operator"] == {"enabled": False, "image": "x"}
    assert values["nvidia-device-plugin"] == {"devicePlugin": {"enabled": True}, "affinity": None}
    assert values["extra"] == [1]
    assert values["job-auto-restart"] == {"enabled": True}


trees = st.recursive(st.integers(), lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3), max_leaves=8)
maps = st.dictionaries(st.sampled_from("abc"), trees, max_size=3)


@given(maps, maps)
def test_merging(base: dict[str, Any], over: dict[str, Any]) -> None:
    before = json.dumps([base, over])
    assert merged(base, {}) == base
    assert merged({}, over) == over
    assert merged(merged(base, over), over) == merged(base, over)
    assert json.dumps([base, over]) == before, "neither is changed"
