"""The comparison of compute quotas and scheduler configurations, on answers of the shape that the API's model gives them."""

from __future__ import annotations

import copy
import struct
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import botocore.session
import botocore.validate
import pytest
from botocore.stub import Stubber
from declarations import cluster, team
from hypothesis import given
from hypothesis import strategies as st
from managed_support import MANAGED, managed_teams
from oracles import api

from config.catalogue import instance_types
from governance.managed import compute_quota
from governance.model import ClusterPlan
from live.connection import UnreachableError
from live.drift import managed
from live.drift.model import Finding, Kind, Report
from live.drift.state import Side, deployed
from live.sagemaker import Governance, read_governance

ARN = "arn:aws:sagemaker:us-west-2:123456789012:cluster/abcdefghijkl"
WHEN = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
SOMEBODY = {"IamIdentity": {"Arn": "arn:aws:sts::123456789012:assumed-role/admin/alice", "PrincipalId": "AROA:alice"}}
ALPHA = "quota: {ml.p5.48xlarge: {accelerators: 3}, ml.m5.4xlarge: {instances: 2}}\nweight: 10\n"


def float32(value: Any) -> Any:
    """As the service holds an amount."""
    return struct.unpack("f", struct.pack("f", value))[0]


def filled(entry: dict[str, Any]) -> dict[str, Any]:
    """An entry of a quota with what the service fills in, and its own precision."""
    kind = instance_types()[entry["InstanceType"]]
    found = dict(entry)
    if "Count" in found:
        found |= {"Accelerators": 0, "VCpu": found["Count"] * (kind.vcpu or 0), "MemoryInGiB": found["Count"] * 7.7}
    return {key: float32(value) if key in ("VCpu", "MemoryInGiB") else value for key, value in found.items()}


def described(kind: str, properties: Mapping[str, Any], *, turned: bool = True) -> dict[str, Any]:
    """What the Describe call answers for properties, its lists in another order; checked against the API's own model."""
    found: dict[str, Any] = {key: copy.deepcopy(value) for key, value in properties.items() if key != "Tags"}
    ids = "ComputeQuota" if kind == managed.QUOTA else "ClusterSchedulerConfig"
    path = "compute-quota" if kind == managed.QUOTA else "cluster-scheduler-config"
    found |= {
        f"{ids}Arn": f"arn:aws:sagemaker:us-west-2:123456789012:{path}/abcdefghijkl",
        f"{ids}Id": "abcdefghijkl",
        f"{ids}Version": 7,
        "Status": "Updated",
        "ClusterArn": ARN,
        "CreationTime": WHEN,
        "CreatedBy": {},
        "LastModifiedTime": WHEN,
        "LastModifiedBy": SOMEBODY,
    }
    config = found.get("ComputeQuotaConfig", {})
    for holder, name in ((config, "ComputeQuotaResources"), (config.get("ResourceSharingConfig", {}), "AbsoluteBorrowLimits")):
        if holder.get(name):
            holder[name] = [filled(entry) for entry in holder[name]][:: -1 if turned else 1]
    report = botocore.validate.ParamValidator().validate(found, api().operation_model(f"Describe{ids}").output_shape)
    assert not report.has_errors(), report.generate_report()
    return found


def there(wanted: Side, *, turned: bool = True) -> Governance:
    """SageMaker's side, as it was asked for."""
    (scheduler,) = wanted.schedulers.values()
    quotas = tuple(described(managed.QUOTA, quota, turned=turned) for quota in wanted.quotas.values())
    return Governance(ARN, described(managed.SCHEDULER, scheduler), quotas)


def on(teams: Mapping[str, Any]) -> tuple[ClusterPlan, Side]:
    plan = cluster(teams, MANAGED)
    return plan, managed.declared(plan)


def drift(state: Side, live: Governance, wanted: Side | None = None) -> list[Finding]:
    return list(managed.compare("main", wanted or state, state, managed.there(live)))


def paths(found: list[Finding]) -> list[str]:
    return [prop.path for one in found for prop in one.properties]


TEAMS = st.dictionaries(st.sampled_from(["alpha", "beta"]), managed_teams(), min_size=1)


@given(TEAMS)
def test_what_the_service_fills_in_and_rounds_is_no_drift(teams: dict[str, Any]) -> None:
    _, wanted = on(teams)
    assert drift(wanted, there(wanted)) == []


@given(TEAMS)
def test_what_a_refresh_leaves_in_the_state_is_no_drift(teams: dict[str, Any]) -> None:
    """The state then holds what the service filled in, too."""
    _, wanted = on(teams)
    live = there(wanted)
    assert list(managed.compare("main", managed.there(live), managed.there(live), managed.there(live))) == []
    assert [one for one in drift(managed.there(live), live, wanted) if one.drifted] == []


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if items is None:
        yield path
        return
    for key, item in items:
        yield from leaves(item, (*path, key))


@given(TEAMS, st.data())
def test_whatever_is_declared_is_watched(teams: dict[str, Any], data: st.DataObject) -> None:
    """Any amount, switch, weight or name that is changed in what the service has is told."""
    _, wanted = on(teams)
    live = managed.there(there(wanted, turned=False))
    kind = data.draw(st.sampled_from(["quotas", "schedulers"]))
    name = data.draw(st.sampled_from(sorted(getattr(wanted, kind))))
    declared, at = getattr(wanted, kind)[name], getattr(live, kind)[name]
    path = data.draw(st.sampled_from([path for path in leaves(declared) if path[0] != "Tags" and path != ("Name",)]))
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = at[path[-1]] + 1 if isinstance(at[path[-1]], int | float) else f"{at[path[-1]]}x"
    found = list(managed.compare("main", wanted, wanted, live))
    assert [one.thing.name for one in found if one.drifted] == [name], path


def test_a_change_is_told_with_its_path_unit_and_author() -> None:
    _, wanted = on({"alpha": team(ALPHA)})
    live = there(wanted)
    entry = next(
        one for one in live.quotas[0]["ComputeQuotaConfig"]["ComputeQuotaResources"] if one["InstanceType"] == "ml.p5.48xlarge"
    )
    entry |= {"Accelerators": 8, "VCpu": 192.0}
    (found,) = drift(wanted, live)
    assert (found.kinds, found.thing.kind, found.thing.team) == ((Kind.CHANGED,), "ComputeQuota", "alpha")
    where = "ComputeQuotaConfig.ComputeQuotaResources[ml.p5.48xlarge]"
    assert [(prop.path, prop.state, prop.live, prop.unit) for prop in found.properties] == [
        (f"{where}.Accelerators", 3, 8, ""),
        (f"{where}.VCpu", 72.0, 192.0, "vCPU"),
    ]
    assert found.author is not None
    assert (found.author.name, found.author.time) == (SOMEBODY["IamIdentity"]["Arn"], "2026-11-20T09:30:00Z")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"Accelerators": 1}, []),  # the service's own, of an entry by count
        ({"Count": 3}, ["ComputeQuotaConfig.ComputeQuotaResources[ml.m5.4xlarge].Count"]),
    ],
)
def test_amounts_that_we_leave_out_are_the_services(change: dict[str, Any], told: list[str]) -> None:
    _, wanted = on({"alpha": team(ALPHA)})
    live = there(wanted)
    entry = next(
        one for one in live.quotas[0]["ComputeQuotaConfig"]["ComputeQuotaResources"] if one["InstanceType"] == "ml.m5.4xlarge"
    )
    entry |= change
    assert paths(drift(wanted, live)) == told


def test_instances_on_top_of_accelerators_are_drift() -> None:
    _, wanted = on({"alpha": team(ALPHA)})
    live = there(wanted)
    entries = live.quotas[0]["ComputeQuotaConfig"]["ComputeQuotaResources"]
    entry = next(one for one in entries if one["InstanceType"] == "ml.p5.48xlarge")
    entry["Count"] = 0
    assert drift(wanted, live) == []
    entry["Count"] = 1
    assert paths(drift(wanted, live)) == ["ComputeQuotaConfig.ComputeQuotaResources[ml.p5.48xlarge].Count"]


def test_types_on_top_are_drift_unless_they_give_nothing() -> None:
    _, wanted = on({"alpha": team(ALPHA)})
    live = there(wanted)
    entries = live.quotas[0]["ComputeQuotaConfig"]["ComputeQuotaResources"]
    entries.append({"InstanceType": "ml.g6.12xlarge", "Count": 0, "VCpu": 0.0})
    assert drift(wanted, live) == []
    entries.append({"InstanceType": "ml.p4d.24xlarge", "AcceleratorPartition": {"Type": "mig-1g.5gb", "Count": 2}})
    assert paths(drift(wanted, live)) == ["ComputeQuotaConfig.ComputeQuotaResources[ml.p4d.24xlarge/mig-1g.5gb]"]


@pytest.mark.parametrize(
    ("sharing", "limit", "told"),
    [
        ("lend", 50, False),
        ("dont_lend", 50, False),
        ("{borrow: {ml.p5.48xlarge: {accelerators: 2}}}", 50, False),
        ("{borrow: {ml.p5.48xlarge: {accelerators: 2}}}", 200, True),
        ("{borrow_limit: 30}", 30, False),
        ("{borrow_limit: 30}", 31, True),
    ],
)
def test_a_limit_counts_where_there_is_borrowing(sharing: str, limit: int, told: bool) -> None:
    _, wanted = on({"alpha": team(f"{ALPHA}sharing: {sharing}\n")})
    live = there(wanted)
    live.quotas[0]["ComputeQuotaConfig"]["ResourceSharingConfig"]["BorrowLimit"] = limit
    assert bool(drift(wanted, live)) is told


def test_switches_that_the_service_leaves_out_have_their_defaults() -> None:
    _, wanted = on({"alpha": team(ALPHA)})
    live = there(wanted)
    del live.quotas[0]["ActivationState"]
    assert drift(wanted, live) == []
    live.quotas[0]["ActivationState"] = "Disabled"
    assert paths(drift(wanted, live)) == ["ActivationState"]
    before = Side(quotas={"alpha": {key: value for key, value in wanted.quotas["alpha"].items() if key != "ActivationState"}})
    assert paths(drift(before, Governance(ARN, None, live.quotas))) == ["ActivationState"]


def test_a_priority_class_on_top_is_drift() -> None:
    _, wanted = on({})
    live = there(wanted)
    assert live.scheduler is not None
    live.scheduler["SchedulerConfig"]["PriorityClasses"].insert(0, {"Name": "mine", "Weight": 100})
    assert paths(drift(wanted, live)) == ["SchedulerConfig.PriorityClasses[mine]"]


def test_three_sides() -> None:
    _, before = on({"alpha": team(ALPHA)})
    plan, wanted = on({"alpha": team(ALPHA.replace("weight: 10", "weight: 20")), "beta": team(ALPHA)})
    live = there(before)
    (alpha, beta) = drift(before, live, wanted)
    assert (alpha.kinds, beta.kinds) == ((Kind.PENDING,), (Kind.PENDING,))
    assert [(prop.path, prop.declared, prop.state) for prop in alpha.pending] == [("ComputeQuotaTarget.FairShareWeight", 20, 10)]
    stranger = described(
        managed.QUOTA, {**before.quotas["alpha"], "Name": "console", "ComputeQuotaTarget": {"TeamName": "console"}}
    )
    gone = Governance(ARN, live.scheduler, (stranger,), (described(managed.SCHEDULER, {"Name": "second"}),))
    found = {one.thing.name: one.kinds for one in drift(before, gone)}
    assert found == {"alpha": (Kind.MISSING,), "console": (Kind.UNMANAGED,), "second": (Kind.UNMANAGED,)}
    assert set(plan.teams) == {"alpha", "beta"}


def test_what_is_being_deleted_is_missing() -> None:
    _, wanted = on({"alpha": team(ALPHA)})
    live = there(wanted)
    live.quotas[0]["Status"] = "Deleting"
    assert [one.kinds for one in drift(wanted, live)] == [(Kind.MISSING,)]


@pytest.mark.parametrize("status", ["CreateFailed", "UpdateFailed", "UpdateRollbackFailed", "DeleteFailed"])
def test_what_failed_differs_though_its_properties_are_as_they_should(status: str) -> None:
    _, wanted = on({"alpha": team(ALPHA)})
    live = there(wanted)
    live.quotas[0].update({"Status": status, "FailureReason": "no Kueue"})
    live.scheduler["Status"] = status  # type: ignore[index]
    scheduler, quota = drift(wanted, live)
    assert (scheduler.kinds, quota.kinds) == ((Kind.CHANGED,), (Kind.CHANGED,))
    assert [(one.path, one.live) for one in quota.properties] == [("Status", status)]
    assert (scheduler.remark, quota.remark) == (f"{status}: no reason given", f"{status}: no Kueue")
    report = Report("prod", "prod", "managed", deployed=True, with_state=True, findings=(quota,))
    assert report.exit_code() == 3


def test_a_failed_thing_that_nobody_deployed_says_so_too() -> None:
    _, wanted = on({"alpha": team(ALPHA)})
    live = there(wanted)
    live.quotas[0]["Status"] = "CreateFailed"
    found = list(managed.compare("main", Side(), Side(schedulers=wanted.schedulers), managed.there(live)))
    (alpha,) = (one for one in found if one.thing.name == "alpha")
    assert (alpha.kinds, alpha.remark) == ((Kind.UNMANAGED,), "on the cluster of this stack; CreateFailed: no reason given")


@pytest.mark.parametrize("status", ["Created", "Updated", "Creating", "Updating"])
def test_what_is_under_way_has_not_failed(status: str) -> None:
    _, wanted = on({"alpha": team(ALPHA)})
    live = there(wanted)
    live.quotas[0]["Status"] = status
    assert drift(wanted, live) == []


def test_identities_in_words() -> None:
    arn = "arn:aws:sts::123456789012:assumed-role/ci/run"
    assert managed.identity({"IamIdentity": {"Arn": arn, "SourceIdentity": "alice"}}) == f"{arn} for alice"
    assert managed.identity({"UserProfileName": "alice", "IamIdentity": {}}) == "alice"
    assert managed.identity({}) == ""
    assert managed.last_change({"CreatedBy": {"UserProfileName": "bob"}, "CreationTime": WHEN}).action == "created"  # type: ignore[union-attr]
    assert managed.last_change({}) is None


def test_the_state_of_aws_native_is_the_declaration() -> None:
    """The typed resource keeps its properties in camelCase, the extension resource as they were given."""
    plan, wanted = on({"alpha": team(ALPHA)})
    (scheduler,) = wanted.schedulers.values()
    camel = _camel(compute_quota(plan.teams["alpha"], plan)) | {"clusterArn": ARN}
    name = "urn:pulumi:main::hyperpod-platform::x$y::main"
    resources = [
        {"urn": f"{name}/alpha/quota", "type": "aws-native:sagemaker:ComputeQuota", "custom": True, "inputs": camel},
        {
            "urn": f"{name}/scheduler/config",
            "type": "aws-native:index:ExtensionResource",
            "custom": True,
            "inputs": {"type": "AWS::SageMaker::ClusterSchedulerConfig", "properties": {**scheduler, "ClusterArn": ARN}},
        },
    ]
    state = deployed({"deployment": {"resources": resources}})["main"]
    assert (list(state.quotas), list(state.schedulers)) == (["alpha"], [scheduler["Name"]])
    assert drift(state, there(wanted), wanted) == []


def _camel(value: Any) -> Any:
    if isinstance(value, dict):
        names = {"memory_in_gi_b": "memoryInGiB"}
        return {
            names.get(k) or k.split("_")[0] + "".join(p.title() for p in k.split("_")[1:]): _camel(v) for k, v in value.items()
        }
    return [_camel(item) for item in value] if isinstance(value, list) else value


# -- reading -------------------------------------------------------------------------------------------------------------------


def summary(kind: str, answer: Mapping[str, Any]) -> dict[str, Any]:
    ids = "ComputeQuota" if kind == managed.QUOTA else "ClusterSchedulerConfig"
    names = (
        f"{ids}Arn",
        f"{ids}Id",
        "Name",
        "Status",
        "CreationTime",
        *(("ComputeQuotaTarget",) if kind == managed.QUOTA else ()),
    )
    return {name: answer[name] for name in names}


@pytest.fixture
def sagemaker() -> Iterator[tuple[Any, Stubber]]:
    client = botocore.session.get_session().create_client(
        "sagemaker", region_name="us-west-2", aws_access_key_id="x", aws_secret_access_key="x"
    )
    with Stubber(client) as stub:
        yield client, stub
        stub.assert_no_pending_responses()


def test_all_pages_are_read_and_what_vanished_meanwhile_is_left_out(sagemaker: tuple[Any, Stubber]) -> None:
    client, stub = sagemaker
    _, wanted = on({"alpha": team(ALPHA), "beta": team(ALPHA)})
    live = there(wanted)
    assert live.scheduler is not None
    beta, alpha = ({**quota, "ComputeQuotaId": f"{index}bcdefghijkl"} for index, quota in enumerate(reversed(live.quotas)))
    answer = {"ClusterArn": ARN, "ClusterStatus": "InService", "InstanceGroups": []}
    stub.add_response("describe_cluster", answer, {"ClusterName": "ml"})
    stub.add_response(
        "list_cluster_scheduler_configs",
        {"ClusterSchedulerConfigSummaries": [summary(managed.SCHEDULER, live.scheduler)]},
        {"ClusterArn": ARN},
    )
    stub.add_response("describe_cluster_scheduler_config", dict(live.scheduler), {"ClusterSchedulerConfigId": "abcdefghijkl"})
    gone = {**summary(managed.QUOTA, alpha), "Name": "gone", "ComputeQuotaId": "9bcdefghijkl"}
    pages = [[summary(managed.QUOTA, beta)], [gone, summary(managed.QUOTA, alpha)]]
    stub.add_response("list_compute_quotas", {"ComputeQuotaSummaries": pages[0], "NextToken": "more"}, {"ClusterArn": ARN})
    stub.add_response("list_compute_quotas", {"ComputeQuotaSummaries": pages[1]}, {"ClusterArn": ARN, "NextToken": "more"})
    stub.add_response("describe_compute_quota", beta, {"ComputeQuotaId": beta["ComputeQuotaId"]})
    stub.add_client_error(
        "describe_compute_quota", "ResourceNotFound", "gone", 400, expected_params={"ComputeQuotaId": "9bcdefghijkl"}
    )
    stub.add_response("describe_compute_quota", alpha, {"ComputeQuotaId": alpha["ComputeQuotaId"]})
    found = read_governance(client, "ml")
    assert [quota["Name"] for quota in found.quotas] == ["alpha", "beta"]
    assert drift(wanted, found) == []


def test_what_aws_says_against_a_call_is_passed_on(sagemaker: tuple[Any, Stubber]) -> None:
    client, stub = sagemaker
    stub.add_client_error("describe_cluster", "AccessDeniedException", "not authorized to perform: sagemaker:DescribeCluster")
    with pytest.raises(UnreachableError, match=r"cluster ml: .*not authorized to perform: sagemaker:DescribeCluster"):
        read_governance(client, "ml")
