"""The project's own example stacks on the fake cloud: the files as they are, but for the chart's source."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from fakecloud import FakeCloud
from fakecloud.calls import Call
from fakecloud.project import given_pulumi

from config.load import Project
from sandbox.engine import Changes, Engine, EngineError, EngineSettings, OnEvent, UpResult

ROOT = Path(__file__).parents[2]
DATA = ("Pulumi.yaml", "__main__.py", *(path.name for path in ROOT.glob("Pulumi.*.yaml")))
FOLDERS = ("environments", "teams", "lifecycle")


class AwsProject:
    """A copy of the project's data and program, with a state of its own for all its stacks."""

    def __init__(self, folder: Path, cloud: FakeCloud) -> None:
        self.root = folder / "project"
        self.root.mkdir(parents=True)
        self.state = folder / "state"
        self.state.mkdir()
        for name in DATA:
            shutil.copy(ROOT / name, self.root / name)
        for name in FOLDERS:
            shutil.copytree(ROOT / name, self.root / name)
        stand_in_chart(self.root / "chart")
        for environment in ("dev", "prod"):
            self.edit(
                f"environments/{environment}.yaml", *_with_chart((self.root / f"environments/{environment}.yaml").read_text())
            )
        self.cloud = cloud
        self._people()
        self._settings = EngineSettings(
            project_dir=self.root,
            stack="",
            backend_url=f"file://{folder / 'state'}",
            pulumi=given_pulumi(),
            passphrase="test",
            env=cloud.env,
            kubernetes_provider="plugin",
            pulumi_home=folder / "home",
            skip_checkpoints=True,
        )

    def _people(self) -> None:
        """The roles that the declarations name and the organisation has: of admins, and of teams."""
        roles = set()
        for environment in ("dev", "staging", "prod"):
            platform = Project(self.root).load(environment)
            (cluster,) = platform.environment.clusters.values()
            roles |= {*cluster.eks.admins, *(role for team in platform.teams.values() for role in team.access.iam_roles)}  # type: ignore[union-attr]
        for role in sorted(role for role in roles if f"::{self.cloud.account}:" in role):
            self.cloud.existing("role", role.rpartition("/")[2], arn=role)

    def edit(self, file: str, old: str, new: str) -> None:
        """Replace text that stands once in a file."""
        text = (self.root / file).read_text()
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {file}"
        (self.root / file).write_text(text.replace(old, new))

    @contextmanager
    def edited(self, file: str, old: str, new: str) -> Iterator[None]:
        """The same for a block of code."""
        before = (self.root / file).read_text()
        self.edit(file, old, new)
        try:
            yield
        finally:
            (self.root / file).write_text(before)

    def account(self, environment: str) -> str:
        (cluster,) = Project(self.root).load(environment).environment.clusters.values()
        return str(cluster.account)  # type: ignore[union-attr]

    def engine(self, stack: str) -> Engine:
        work = self._settings.state_folder.parent / "work" / stack  # type: ignore[union-attr]
        return Engine(replace(self._settings, stack=stack, work_dir=work))

    def up(self, stack: str, on_event: OnEvent | None = None) -> UpResult:
        with self.engine(stack) as engine:
            return engine.up(on_event=on_event)

    def preview(self, stack: str, on_event: OnEvent | None = None) -> Changes:
        with self.engine(stack) as engine:
            return engine.preview(on_event=on_event)

    def destroy(self, stack: str) -> Changes:
        with self.engine(stack) as engine:
            return engine.destroy()

    def clear(self, *stacks: str) -> None:
        """Remove stacks, protected or not, however far they came."""
        for thing in self.cloud.things("eks cluster"):
            thing.properties["deletionProtection"] = False
        for stack in stacks:
            with self.engine(stack) as engine:
                if engine.state():
                    engine.unprotect()
                    engine.destroy()

    def refused(self, stack: str, verb: str = "up") -> str:
        """The words of the error with which an up, preview or destroy ends."""
        try:
            getattr(self, verb)(stack)
        except EngineError as error:
            return str(error)
        raise AssertionError(f"{verb} of {stack} was not refused")


def stand_in_chart(folder: Path) -> None:
    """A chart in the place of HyperPod's, which is in no registry."""
    (folder / "templates").mkdir(parents=True)
    (folder / "Chart.yaml").write_text("apiVersion: v2\nname: hyperpod-helm-chart\nversion: 0.1.0\n")
    (folder / "templates/none.yaml").write_text("")


def _with_chart(text: str) -> tuple[str, str]:
    """Where the chart's source goes into an environment's file."""
    for place, chart in (("\n    hyperpod:\n", "      chart: {path: chart}\n"), ("\n    instance_groups:", "")):
        if place in text:
            return place, place + chart if chart else f"\n    hyperpod: {{chart: {{path: chart}}}}{place}"
    raise AssertionError("the environment has no place for the chart")


@dataclass(frozen=True)
class Row:
    """One row of AWS's order of creation."""

    name: str
    types: tuple[str, ...]
    """Type tokens, as shell patterns."""
    names: str = "*"
    needs: tuple[str, ...] = ()


ROWS = (
    Row("vpc", ("aws:ec2/vpc:Vpc",)),
    Row(
        "network",
        ("aws:ec2/subnet:Subnet", "aws:ec2/natGateway:NatGateway", "aws:ec2/route*:Route*", "aws:ec2/vpcEndpoint:VpcEndpoint"),
        needs=("vpc",),
    ),
    Row("security group", ("aws:vpc/securityGroup*Rule:*",), "*/security/*", needs=("vpc",)),
    Row("eks", ("aws:eks/cluster:Cluster",), needs=("network", "security group")),
    Row("network add-ons", ("aws:eks/addon:Addon",), "*/addons/*", needs=("eks",)),
    Row("bucket", ("aws:s3/bucketObject*:*", "aws:s3/bucketPolicy:BucketPolicy")),
    Row("execution role", ("aws:iam/rolePolicy:*",), "*/execution-role/*", needs=("network", "security group", "eks", "bucket")),
    Row("control plane rules", ("aws:vpc/securityGroup*Rule:*",), "*/control-plane/*", needs=("eks", "security group")),
    Row("chart", ("kubernetes:helm.sh/v3:Release",), "*/chart/*", needs=("eks", "network add-ons")),
    Row(
        "hyperpod",
        ("aws-native:sagemaker:Cluster",),
        needs=("network", "security group", "network add-ons", "bucket", "execution role", "chart", "control plane rules"),
    ),
    Row("coredns", ("aws:eks/addon:Addon",), "*coredns", needs=("hyperpod",)),
    Row("task governance", ("aws:eks/addon:Addon",), "*/task-governance/*", needs=("hyperpod", "coredns")),
    Row("scheduler", ("aws-native:index:ExtensionResource",), needs=("hyperpod", "task governance")),
    Row("quotas", ("aws-native:sagemaker:ComputeQuota",), needs=("hyperpod", "task governance", "scheduler")),
    Row("entries", ("aws:eks/accessEntry:AccessEntry",), "*/access-entries/*", needs=("task governance",)),
    Row("access", ("kubernetes:rbac.authorization.k8s.io/v1:RoleBinding",), needs=("quotas",)),
)
"""Rows 1-15 of the order that AWS's documentation asks for, each with what it needs; destroyed in reverse."""


def of_row(cloud: FakeCloud, op: str, row: Row) -> list[Call]:
    """The calls of a row that succeeded."""
    return [call for type_ in row.types for call in cloud.find(op, type_, row.names) if call.ok]


def _team(call: Call) -> str:
    """The team of a resource named `<cluster>/<team>/…`."""
    return call.name.split("/")[1]


def disorder(cloud: FakeCloud, op: str, rows: Iterable[Row] = ROWS) -> list[str]:
    """Sentences on each call that began before what it needs was complete (on delete: the other way round)."""
    by_name = {row.name: of_row(cloud, op, row) for row in rows}
    wrong = []
    for row in rows:
        for need in row.needs:
            for later in by_name[row.name]:
                for earlier in by_name[need]:
                    if (row.name, need) == ("access", "quotas") and _team(earlier) != _team(later):
                        continue
                    first, second = (earlier, later) if op == "create" else (later, earlier)
                    if not first.before(second):
                        wrong.append(f"{op} of {second.name} began before that of {first.name} was complete")
    return wrong
