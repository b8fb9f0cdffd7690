"""The program: what it refuses, what it says, what it exports."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path

import pulumi
import pytest
import yaml
from recording import Recording, record, write_project

from components.base import KubernetesObject, PlatformComponent
from components.program import declare
from config.findings import ConfigError
from config.load import Project
from governance.contract import job_contract
from governance.plan import plan

ROOT = Path(__file__).parents[2]
KUBECONFIG = "apiVersion: v1\nkind: Config\n"
CLUSTER = "{kind: existing, kueue: {install: false}, instance_groups: {l4: {instance_type: ml.g6.12xlarge, count: 1}}}"
ENVIRONMENT = f"clusters: {{main: {CLUSTER}}}\n"
SECRET = {"config": {"kubeconfig-main": KUBECONFIG}, "secrets": ["kubeconfig-main"]}


def refused(program: Callable[[], object], **options: object) -> tuple[ConfigError, Recording]:
    """The refusal, and what was registered in spite of it."""
    seen: list[Recording] = []
    with pytest.raises(ConfigError) as caught:
        seen.append(record(program, **options))
    return caught.value, pulumi.runtime.settings.get_monitor().recording


# The project's own environment -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def local() -> Recording:
    config = {"kubeconfig-local": KUBECONFIG}
    return record(lambda: runpy.run_path(str(ROOT / "__main__.py")), stack="local", config=config, secrets=config)


def test_main_declares_the_local_environment(local: Recording) -> None:
    kinds = local.kinds()
    teams = len(list((ROOT / "teams").glob("*.yaml")))
    assert teams >= 7
    for kind in ("Team", "Namespace", "ClusterQueue", "LocalQueue", "RoleBinding"):
        assert kinds[kind] == teams
    assert kinds["Release"] == 0  # the sandbox runs Kueue itself
    assert kinds["WorkloadPriorityClass"] == 4


def test_exports_the_contracts_and_states(local: Recording) -> None:
    resolved = plan(Project(ROOT).load("local"))
    cluster = resolved.clusters["local"]
    assert local.outputs == {
        "environment": "local",
        "backend": "kueue",
        "teams": [job_contract(cluster, team) for team in cluster.teams.values()],
        "team_states": dict.fromkeys(cluster.teams, "active"),
    }


def test_warnings_are_told(local: Recording) -> None:
    warnings = [finding for finding in plan(Project(ROOT).load("local")).findings if finding.severity == "warning"]
    assert warnings  # `planning` asks for nodes that are still to come
    told = [text for severity, text in local.logged if severity == 2]
    assert told == [f"{w.where}: {w.message} [{w.id}] ({w.remedy})" for w in warnings]


def test_project_files() -> None:
    project = yaml.safe_load((ROOT / "Pulumi.yaml").read_text())
    assert project["name"] == "hyperpod-platform"
    assert project["runtime"] == {"name": "python", "options": {"toolchain": "uv", "virtualenv": ".venv"}}
    assert "backend" not in project
    assert len((ROOT / "__main__.py").read_text().splitlines()) <= 40


# Refusals ----------------------------------------------------------------------------------------------------------------------


def test_findings_refuse_before_anything_is_declared(tmp_path: Path) -> None:
    teams = {
        "a": "quota: {ml.g6.12xlarge: {instances: 1}}\ndefault_priority: nothing",
        "b": "quota: {ml.g6.12xlarge: {instances: 1}}\ndepartment: nowhere",
    }
    root = write_project(tmp_path, ENVIRONMENT + "governance: {overcommit: forbid}\n", teams)
    error, run = refused(lambda: declare(root), **SECRET)
    assert run.registered == []
    text = str(error)
    for place in ("teams/a.yaml:4:", "teams/b.yaml:4:", "environments/test.yaml:"):
        assert place in text
    assert "(lower the quotas, add nodes, or set governance.overcommit: allow)" in text
    assert len(text.splitlines()) == 3


def test_what_is_waived_refuses_nothing_and_is_told(tmp_path: Path) -> None:
    teams = {"a": "quota: {ml.g6.12xlarge: {instances: 2}}"}
    waiver = "waivers: {overcommit: {reason: nodes come in May, until: 2999-01-01}}\n"
    root = write_project(tmp_path, ENVIRONMENT + "governance: {overcommit: forbid}\n" + waiver, teams)
    run = record(lambda: declare(root), **SECRET)
    assert run.kinds()["Team"] == 1
    told = [text for severity, text in run.logged if severity == 1 and text.startswith("waived: ")]
    assert len(told) == 1
    assert "[overcommit]" in told[0]
    assert told[0].endswith(": nodes come in May")


def test_unreadable_declarations_refuse(tmp_path: Path) -> None:
    root = write_project(tmp_path, ENVIRONMENT, {"a": "quota: {ml.p5.48xlargee: {instances: 1}}", "b": "wait: 1"})
    error, run = refused(lambda: declare(root), **SECRET)
    assert run.registered == []
    assert {f.where.file for f in error.findings} == {"teams/a.yaml", "teams/b.yaml"}


def test_main_tells_findings_without_a_traceback(tmp_path: Path) -> None:
    root = write_project(tmp_path, ENVIRONMENT, {"a": "wait: 1"})
    (root / "__main__.py").write_text((ROOT / "__main__.py").read_text())
    with pytest.raises(pulumi.RunError, match=r"^teams/a\.yaml:3:1: unknown key `wait`") as caught:
        record(lambda: runpy.run_path(str(root / "__main__.py")), **SECRET)
    assert caught.value.__suppress_context__
    assert isinstance(caught.value, ConfigError)
    assert len(caught.value.findings) == 1


def test_environment_is_the_stacks_name_unless_set(tmp_path: Path) -> None:
    write_project(tmp_path, ENVIRONMENT, {}, name="prod")
    assert record(lambda: declare(tmp_path), stack="prod", **SECRET).outputs["environment"] == "prod"
    config = {"kubeconfig-main": KUBECONFIG, "environment": "prod"}
    assert record(lambda: declare(tmp_path), stack="prod-governance", config=config).outputs["environment"] == "prod"
    error, _ = refused(lambda: declare(tmp_path), stack="prodd", **SECRET)
    assert "did you mean `prod`?" in str(error)


def test_layers(tmp_path: Path) -> None:
    root = write_project(tmp_path, ENVIRONMENT, {"a": "weight: 1"})
    platform_only = record(lambda: declare(root), config={"layers": ["platform"]})
    assert platform_only.registered == []
    assert "teams" not in platform_only.outputs, "only who declares the teams exports their contracts"
    governance_only = record(lambda: declare(root), config={"layers": ["governance"], "kubeconfig-main": KUBECONFIG})
    assert governance_only.kinds()["Team"] == 1
    for layers, words in ((["governence"], "did you mean `governance`?"), ([], "not a list"), ({"a": 1}, "not a list")):
        error, run = refused(lambda: declare(root), config={"layers": layers, "kubeconfig-main": KUBECONFIG})
        assert words in str(error)
        assert str(error.findings[0].where) == "Pulumi.test.yaml"
        assert run.registered == []


def test_the_managed_backend_is_refused(tmp_path: Path) -> None:
    root = write_project(tmp_path, ENVIRONMENT + "governance: {backend: managed}\n", {})
    error, run = refused(lambda: declare(root), **SECRET)
    assert run.registered == []
    assert "managed" in str(error)
    assert "use the kueue backend" in str(error)


# Connections -------------------------------------------------------------------------------------------------------------------


def test_all_clusters_without_a_kubeconfig_are_told_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "somebody-elses"))
    text = """
clusters:
  one: {kind: existing, instance_groups: {}}
  two: {kind: existing, kubeconfig: kube/two, instance_groups: {}}
  three: {kind: existing, sandbox: true, kueue: {install: false}, instance_groups: {}}
"""
    error, run = refused(lambda: declare(write_project(tmp_path, text, {})))
    assert run.registered == []
    told = {f.where.line: f"{f.message}; {f.remedy}" for f in error.findings}
    assert set(told) == {4, 5, 6}
    assert "--secret kubeconfig-one" in told[4]
    assert str(tmp_path / "kube/two") in told[5]
    assert "hpctl up" in told[6]


def test_a_declared_kubeconfig_is_passed_by_its_path(tmp_path: Path) -> None:
    cluster = CLUSTER.replace("kind: existing", "kind: existing, kubeconfig: kube/config")
    root = write_project(tmp_path, f"clusters: {{main: {cluster}}}\n", {})
    (root / "kube").mkdir()
    (root / "kube/config").write_text(KUBECONFIG)
    run = record(lambda: declare(root), **SECRET)
    (provider,) = [r for r in run.registered if r.type == "pulumi:providers:kubernetes"]
    assert provider.inputs["kubeconfig"] == str(root / "kube/config")


def test_a_declared_kubeconfig_that_is_missing_is_not_made_up_for(tmp_path: Path) -> None:
    cluster = CLUSTER.replace("kind: existing", "kind: existing, kubeconfig: kube/config")
    error, run = refused(lambda: declare(write_project(tmp_path, f"clusters: {{main: {cluster}}}\n", {})), **SECRET)
    assert [finding.id for finding in error.findings] == ["kubeconfig-missing"]
    assert run.registered == []


def test_a_home_folder_is_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    (tmp_path / "home/config").write_text(KUBECONFIG)
    cluster = CLUSTER.replace("kind: existing", "kind: existing, kubeconfig: ~/config")
    run = record(lambda: declare(write_project(tmp_path / "project", f"clusters: {{main: {cluster}}}\n", {})))
    (provider,) = [r for r in run.registered if r.type == "pulumi:providers:kubernetes"]
    assert provider.inputs["kubeconfig"] == str(tmp_path / "home/config")


# The base class ----------------------------------------------------------------------------------------------------------------


class Box(PlatformComponent, module="test"):
    """A component with one child, named as told."""

    def __init__(self, name: str, child: str, opts: pulumi.ResourceOptions) -> None:
        super().__init__(name, {}, opts)
        manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}}
        KubernetesObject(child, manifest, pulumi.ResourceOptions(parent=self))
        self.finish({"answer": 42})


def test_a_child_without_the_components_name_is_refused() -> None:
    with pytest.raises(ValueError, match="children of box must be named box/…: boxed"):
        record(lambda: Box("box", "boxed", pulumi.ResourceOptions()))
    assert (
        record(lambda: Box("box", "box/child", pulumi.ResourceOptions())).one("box/child").type == "kubernetes:core/v1:Namespace"
    )


def test_a_components_aliases_and_protection_do_not_mix_up_its_children() -> None:
    opts = pulumi.ResourceOptions(aliases=[pulumi.Alias(name="crate")], protect=True)
    run = record(lambda: Box("box", "box/child", opts))
    assert run.one("box").aliases != ()
    assert run.one("box").type == "hyperpod:test:Box"
    assert run.one("box/child").aliases == ()
    assert run.one("box/child").protect  # inherited through the parent
    assert run.finished == [run.one("box").urn]
