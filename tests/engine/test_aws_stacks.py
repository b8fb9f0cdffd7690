"""The example stacks from nothing to nothing: a real engine and API server, and a fake AWS that checks every input."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from aws_support import ROOT, ROWS, AwsProject, disorder, of_row
from fakecloud import FakeCloud

from config.findings import ConfigError
from config.hyperpod import HyperPodCluster
from config.load import Project
from live.connection import connect, parse_kubeconfig
from live.losses import losses, protected_finding
from sandbox.engine import Progress
from sandbox.local import Sandbox

pytestmark = pytest.mark.engine
PLATFORM_TYPES = ("aws:ec2/", "aws:kms/", "aws:s3/", "aws:vpc/", "eks:index:", "aws:eks/cluster:", "aws-native:sagemaker:Cluster")


def cloud_of(sandbox: Sandbox, account: str = "111122223333") -> FakeCloud:
    return FakeCloud(str(sandbox.kubeconfig), account=account)


@contextmanager
def project_of(cloud: FakeCloud, folder: Path, *stacks: str) -> Iterator[AwsProject]:
    """The project, of whose stacks nothing stays in the shared API server."""
    project = AwsProject(folder, cloud)
    try:
        yield project
    finally:
        cloud.heal()
        project.clear(*stacks)


@pytest.fixture(scope="module")
def prod(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AwsProject]:
    """Production from nothing, in one stack."""
    with cloud_of(sandbox) as cloud:
        project = AwsProject(tmp_path_factory.mktemp("prod"), cloud)
        project.preview("prod")
        assert not cloud.changes(), "a preview touches nothing"
        project.up("prod")
        try:
            yield project
        finally:
            project.clear("prod")


def team_namespaces(sandbox: Sandbox) -> set[str]:
    api = connect(str(sandbox.kubeconfig), "", "")
    found = api.request("GET", "/api/v1/namespaces").body["items"]
    return {item["metadata"]["name"] for item in found if item["metadata"]["name"].startswith("hyperpod-ns-")}


# Production, in the order of its life -------------------------------------------------------------------------------------------


def test_prod_is_built_in_the_order_that_aws_asks_for(prod: AwsProject) -> None:
    empty = [row.name for row in ROWS if not of_row(prod.cloud, "create", row)]
    assert empty == []
    assert disorder(prod.cloud, "create") == []
    assert prod.account("prod") == prod.cloud.account


def test_nothing_is_public_and_no_secret_is_in_clear(prod: AwsProject, sandbox: Sandbox) -> None:
    assert not [c for c in prod.cloud.find("create", "aws:ec2/subnet:Subnet") if c.inputs.get("mapPublicIpOnLaunch")]
    (cluster,) = prod.cloud.find("create", "aws:eks/cluster:Cluster")
    assert cluster.inputs["vpcConfig"]["endpointPublicAccess"] is False
    assert cluster.inputs["accessConfig"] == {"authenticationMode": "API", "bootstrapClusterCreatorAdminPermissions": False}
    assert_no_secret_in_clear(prod, "prod", sandbox)


def assert_no_secret_in_clear(project: AwsProject, stack: str, sandbox: Sandbox) -> None:
    """What the kubeconfig holds is nowhere in the stack's state, neither exported nor on disk."""
    (user,) = parse_kubeconfig(sandbox.kubeconfig.read_text())["users"]
    secrets = [value for value in user["user"].values() if isinstance(value, str) and len(value) > 10]
    assert secrets, "the sandbox's kubeconfig has credentials"
    with project.engine(stack) as engine:
        found = json.dumps(engine.state())
        assert secrets[0] in json.dumps(engine.outputs()), "the stack knows them"
    files = [file.read_text() for file in project.state.rglob("*.json")]
    assert any(f"{stack}::" in text for text in files), "the state is on disk"
    for text in (found, *files):
        assert not [secret for secret in secrets if secret in text]


def test_teams_have_quota_namespace_and_access(prod: AwsProject, sandbox: Sandbox) -> None:
    quotas = {c.inputs["computeQuotaTarget"]["teamName"] for c in prod.cloud.find("create", "aws-native:sagemaker:ComputeQuota")}
    assert quotas
    assert team_namespaces(sandbox) == {f"hyperpod-ns-{team}" for team in quotas}
    api = connect(str(sandbox.kubeconfig), "", "")
    for team in sorted(quotas):
        path = f"/apis/rbac.authorization.k8s.io/v1/namespaces/hyperpod-ns-{team}/rolebindings"
        (binding,) = api.request("GET", path).body["items"]
        assert f"hyperpod-ns-{team}-namespace-level-group" in [subject["name"] for subject in binding["subjects"]]


def test_a_second_up_changes_nothing(prod: AwsProject) -> None:
    prod.cloud.forget_calls()
    changes = prod.up("prod").changes
    assert (changes.total, bool(changes.same)) == (0, True)
    assert prod.cloud.changes() == []


def test_groups_in_another_order_are_no_change(prod: AwsProject) -> None:
    file = prod.root / "environments/prod.yaml"
    before = file.read_text()
    start, end = before.index("      system: {instance_type"), before.index("      h100-a:")
    l4 = before.index("    task_governance:")
    moved = before[:start] + before[end:l4].rstrip() + "\n\n" + before[start:end].rstrip() + "\n\n" + before[l4:]
    file.write_text(moved)
    try:
        assert prod.preview("prod").total == 0
    finally:
        file.write_text(before)


def test_a_count_is_an_update_in_place(prod: AwsProject) -> None:
    prod.edit("environments/prod.yaml", "ml.m5.4xlarge, count: 3,", "ml.m5.4xlarge, count: 4,")
    prod.cloud.forget_calls()
    changes = prod.up("prod").changes
    assert (changes.update, changes.create, changes.delete, changes.replace) == (1, 0, 0, 0)
    (call,) = prod.cloud.changes()
    assert (call.op, call.type) == ("update", "aws-native:sagemaker:Cluster")
    counts = {group["instanceGroupName"]: group["instanceCount"] for group in call.inputs["instanceGroups"]}
    assert counts["system"] == 4


def test_another_name_is_refused_and_nothing_is_touched(prod: AwsProject) -> None:
    prod.cloud.forget_calls()
    with prod.edited(
        "environments/prod.yaml", "      node_recovery: automatic", "      name: another\n      node_recovery: automatic"
    ):
        for verb in ("preview", "up"):
            assert "protect" in prod.refused("prod", verb)
    assert prod.cloud.changes() == []


def test_an_unsafe_jump_of_the_add_on_is_refused_in_the_preview(prod: AwsProject) -> None:
    """Down is as unsafe as 1.3 → 1.5: the Kueue inside can't read what the newer one has stored."""
    prod.cloud.forget_calls()
    with prod.edited("environments/prod.yaml", "version: v1.6.0-eksbuild.1", "version: v1.3.1-eksbuild.1"):
        for verb in ("preview", "up"):
            assert "v1.6.0-eksbuild.1" in prod.refused("prod", verb)
    assert prod.cloud.changes() == []


def test_what_would_be_lost_is_told_from_the_state(prod: AwsProject) -> None:
    with prod.engine("prod") as engine:
        contracts, resources = engine.outputs()["teams"], engine.state()["deployment"]["resources"]
    told = losses(contracts, {}, resources)
    assert f"team nlp on main: namespace {contracts[1]['namespace']} with all that is in it" in told
    (cluster,) = Project(prod.root).load("prod").environment.clusters.values()
    instances = sum(group.count for group in cluster.instance_groups.values())
    assert f"HyperPod cluster prod-main: {instances} instances, and what is on their disks" in told
    for words in ("EKS cluster prod-main with", "bucket sagemaker-", "key arn:aws:kms:", "log group /aws/", "VPC vpc-"):
        assert any(sentence.startswith(words) for sentence in told), words
    (finding,) = protected_finding("prod", resources)
    assert finding.id == "stack-protected"


def test_destroy_is_refused_and_then_goes_in_reverse(prod: AwsProject, sandbox: Sandbox) -> None:
    prod.cloud.forget_calls()
    assert "protect" in prod.refused("prod", "destroy")
    assert [call.name for call in prod.cloud.changes()] == [], "what is refused takes nothing with it"
    # The documented way: protection off, up, and then what Pulumi itself protects of the teams.
    prod.edit("environments/prod.yaml", "protection: true", "protection: false")
    prod.up("prod")
    with prod.engine("prod") as engine:
        engine.unprotect()
    prod.cloud.forget_calls()
    prod.destroy("prod")
    assert disorder(prod.cloud, "delete") == []
    assert [row.name for row in ROWS if not of_row(prod.cloud, "delete", row)] == []
    assert prod.cloud.things() == []
    assert team_namespaces(sandbox) == set()


# The other examples ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stack", ["dev", "staging"])
def test_an_example_comes_stays_and_goes(stack: str, sandbox: Sandbox, tmp_path: Path) -> None:
    with cloud_for(stack, sandbox) as cloud, project_of(cloud, tmp_path, stack) as project:
        assert project.preview(stack).create > 50
        project.up(stack)
        assert disorder(cloud, "create") == []
        assert project.up(stack).changes.total == 0
        with project.engine(stack) as engine:
            engine.unprotect()
        project.destroy(stack)
        left = Counter(thing.noun for thing in cloud.things())
        # Kueue stays by its own declaration: with it would go every queue and workload.
        assert left == (Counter({"helm release": 1}) if stack == "dev" else Counter())
        assert team_namespaces(sandbox) == set()


def test_prod_in_two_stacks(sandbox: Sandbox, tmp_path: Path) -> None:
    """A team's change in the governance layer can't touch the platform: nothing of it is in that stack."""
    stacks = ("prod-governance", "prod-platform")
    with cloud_of(sandbox) as cloud, project_of(cloud, tmp_path, *stacks) as project:
        assert project.preview("prod-platform").create > 80
        project.up("prod-platform")
        assert not cloud.find("create", "aws-native:sagemaker:ComputeQuota")
        outputs = project.up("prod-governance").outputs
        assert {contract["cluster"] for contract in outputs["teams"]} == {"main"}
        assert disorder(cloud, "create") == []
        with project.engine("prod-governance") as engine:
            types = {resource["type"] for resource in engine.state()["deployment"]["resources"]}
        assert not [type_ for type_ in types if type_.startswith(PLATFORM_TYPES)]
        for stack in stacks:
            assert project.up(stack).changes.total == 0
            assert_no_secret_in_clear(project, stack, sandbox)

        project.edit("teams/nlp.yaml", "weight: 10", "weight: 12")
        touched: list[Progress] = []
        changes = project.preview("prod-governance", touched.append)
        assert changes.total == changes.update == 1
        urns = {event.urn for event in touched if event.op in ("create", "update", "delete", "replace")}
        assert urns
        assert all("/nlp/" in urn for urn in urns), urns
        assert project.preview("prod-platform").total == 0

        project.edit("environments/prod.yaml", "protection: true", "protection: false")
        project.up("prod-platform")
        for stack in stacks:
            with project.engine(stack) as engine:
                engine.unprotect()
        project.destroy("prod-governance")
        project.destroy("prod-platform")
        assert cloud.things() == []


def test_a_platform_stack_that_is_not_named_is_a_finding(sandbox: Sandbox, tmp_path: Path) -> None:
    with cloud_of(sandbox) as cloud:
        project = AwsProject(tmp_path, cloud)
        project.edit("Pulumi.prod-governance.yaml", "  hyperpod-platform:platform_stack:", "  hyperpod-platform:another:")
        with pytest.raises(ConfigError, match=r"needs the stack that has built main.*platform_stack") as refused:
            project.up("prod-governance")
        assert [finding.id for finding in refused.value.findings] == ["platform-stack-missing"]
        assert cloud.changes() == []


# Faults ------------------------------------------------------------------------------------------------------------------------


def undisturbed(stack: str, sandbox: Sandbox, folder: Path) -> tuple[int, Counter[str]]:
    """How many calls an up takes, and what there is after it, by kind."""
    with cloud_for(stack, sandbox) as cloud, project_of(cloud, folder, stack) as project:
        project.up(stack)
        return len(cloud.changes()), Counter(thing.noun for thing in cloud.things())


def cloud_for(stack: str, sandbox: Sandbox) -> FakeCloud:
    (cluster,) = Project(ROOT).load(stack).environment.clusters.values()
    assert isinstance(cluster, HyperPodCluster)
    return cloud_of(sandbox, cluster.account)


def converges(stack: str, sandbox: Sandbox, folder: Path, nth: int, kind: str, wanted: Counter[str]) -> None:
    """An up with a fault at its nth call, then one without: everything is there, and once."""
    with cloud_for(stack, sandbox) as cloud, project_of(cloud, folder, stack) as project:
        fault = getattr(cloud, kind)(nth=nth)
        assert project.refused(stack)
        assert fault.struck
        cloud.heal()
        project.up(stack)
        assert Counter(thing.noun for thing in cloud.things()) == wanted
        assert project.up(stack).changes.total == 0


SAMPLE = [("staging", 0.35, "throttle"), ("dev", 0.7, "fail")]
"""A share of all calls at which a fault strikes; the long form strikes at every one."""


@pytest.fixture(scope="module")
def known() -> dict[str, tuple[int, Counter[str]]]:
    """What undisturbed runs have shown, by stack."""
    return {}


@pytest.mark.parametrize(("stack", "share", "kind"), SAMPLE)
def test_an_up_after_a_fault_converges(
    stack: str, share: float, kind: str, known: dict[str, tuple[int, Counter[str]]], sandbox: Sandbox, tmp_path: Path
) -> None:
    if stack not in known:
        known[stack] = undisturbed(stack, sandbox, tmp_path / "undisturbed")
    calls, wanted = known[stack]
    converges(stack, sandbox, tmp_path / "fault", max(1, int(calls * share)), kind, wanted)


@pytest.mark.full
@pytest.mark.timeout(14_400)
@pytest.mark.parametrize("stack", ["dev", "staging"])
@pytest.mark.parametrize("kind", ["fail", "throttle"])
def test_an_up_after_a_fault_at_any_call_converges(stack: str, kind: str, sandbox: Sandbox, tmp_path: Path) -> None:
    calls, wanted = undisturbed(stack, sandbox, tmp_path / "undisturbed")
    for nth in range(1, calls + 1):
        converges(stack, sandbox, tmp_path / f"fault-{nth}", nth, kind, wanted)


def test_credentials_of_another_account_are_refused(sandbox: Sandbox, tmp_path: Path) -> None:
    with cloud_of(sandbox, "999988887777") as cloud:
        project = AwsProject(tmp_path, cloud)
        assert "999988887777" in project.refused("dev", "preview")
        assert "999988887777" in project.refused("dev")
        assert cloud.changes() == []
