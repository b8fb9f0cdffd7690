"""What an import tells of a cluster that no declaration can say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from config.findings import ConfigError, Finding, Severity
from governance.adoption.kueue import declaration
from governance.adoption.model import Connection, KueueCluster
from live.adoption.adopting import Adoption, Target, declared_files, finished, note_findings, planned, refuse, write
from live.adoption.comparing import Comparison, Difference
from live.adoption.kueue import adopt_kueue

CONNECTION, OWNERS = Connection("main"), ["owner@example.com"]
AMOUNTS = {"cpu": "192", "memory": "2Ti", "nvidia.com/gpu": "8", "vpc.amazonaws.com/efa": "32"}
NOTHING = Comparison((), (), {})
OTHER = Target(Path("/nowhere"), "prod", "prod")
TYPE = {"node.kubernetes.io/instance-type": "ml.p5.48xlarge"}


def flavor(name: str, labels: dict[str, str] | None) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"nodeLabels": labels or {}}}


def queue(name: str, flavors: list[str], **spec: Any) -> dict[str, Any]:
    amounts = [{"name": name, "nominalQuota": amount} for name, amount in AMOUNTS.items()]
    group = {"coveredResources": list(AMOUNTS), "flavors": [{"name": one, "resources": amounts} for one in flavors]}
    return {"metadata": {"name": name}, "spec": {"resourceGroups": [group], "namespaceSelector": {}, **spec}}


def cluster(*queues: dict[str, Any], flavors: tuple[dict[str, Any], ...] = (flavor("h100", TYPE),)) -> KueueCluster:
    return KueueCluster(queues, (), flavors, (), (), (), ())


def told(found: KueueCluster, target: Target) -> list[tuple[str, Severity, str]]:
    notes = declaration(found, CONNECTION, target.environment, OWNERS).notes
    return [(one.id, one.severity, one.message.partition(":")[0]) for one in note_findings(notes, target)]


def test_a_flavor_whose_type_nobody_tells_is_an_error_until_somebody_does(target: Target) -> None:
    found = cluster(queue("research", ["fast"]), flavors=(flavor("fast", {"gpu": "h100"}),))
    assert told(found, target) == [("import-type-unknown", Severity.ERROR, "ResourceFlavor fast")]
    assert told(replace(found, types={"fast": "ml.p5.48xlarge"}), target) == []


def test_two_flavors_of_one_type_are_an_error(target: Target) -> None:
    found = cluster(queue("research", ["h100", "h100-spot"]), flavors=(flavor("h100", TYPE), flavor("h100-spot", TYPE)))
    assert told(found, target) == [("import-type-twice", Severity.ERROR, "ResourceFlavor h100-spot")]


def test_what_no_declaration_says_is_left_and_told(target: Target) -> None:
    checked = queue("research", ["h100"], admissionChecksStrategy={"admissionChecks": [{"name": "budget"}]})
    assert told(cluster(checked), target) == [("import-left", Severity.ADVICE, "ClusterQueue research")]
    assert told(cluster(queue("research", ["h100"])), target) == []


def test_a_cluster_without_queues_has_nothing_to_import(target: Target) -> None:
    class Nobody:
        """An API server that nobody may ask: the answer is known before."""

    with pytest.raises(ConfigError) as caught:
        adopt_kueue(Nobody(), cluster(), CONNECTION, target, OWNERS)  # type: ignore[arg-type]
    assert [finding.id for finding in caught.value.findings] == ["import-empty"]


def test_files_that_are_there_are_not_written_over(target: Target) -> None:
    found = declaration(cluster(queue("research", ["h100"])), CONNECTION, "prod", OWNERS)
    refuse([found], target)
    (target.root / "teams").mkdir()
    (target.root / "teams/research.yaml").write_text("mine")
    with pytest.raises(ConfigError) as caught:
        refuse([found], target)
    assert [(one.id, one.where.file) for one in caught.value.findings] == [("import-conflict", "teams/research.yaml")]
    adoption = finished(found, planned(declared_files(found, OTHER), OTHER), OTHER, NOTHING, {"resources": []})
    (target.root / "imports").mkdir()
    (target.root / "imports/prod.json").write_text("{}")
    with pytest.raises(ConfigError) as caught:
        finished(found, adoption.plan, target, NOTHING, {"resources": []})
    assert [one.where.file for one in caught.value.findings] == ["teams/research.yaml", "imports/prod.json"]


def test_files_of_an_earlier_run_are_taken_as_they_are(target: Target) -> None:
    found = declaration(cluster(queue("research", ["h100"])), CONNECTION, "prod", OWNERS)

    def again() -> Adoption:
        refuse([found], target)
        plan = planned(declared_files(found, target), target)
        return finished(found, plan, target, NOTHING, {"resources": []})

    first = again()
    files = {"environments/prod.yaml", "teams/research.yaml", "imports/prod.json", "Pulumi.prod.yaml"}
    assert set(write(first.files, target.root)) == files
    (target.root / "teams/research.yaml").unlink()  # as where a run was ended halfway
    assert write(again().files, target.root) == ("teams/research.yaml",)
    assert write(again().files, target.root) == ()
    assert (target.root / "teams/research.yaml").read_text() == first.files["teams/research.yaml"]


def test_files_are_written_all_or_none(target: Target) -> None:
    (target.root / "imports").write_text("a file in the place of the folder")
    with pytest.raises(OSError, match="imports"):
        write({"environments/prod.yaml": "a", "teams/a.yaml": "b", "imports/prod.json": "{}"}, target.root)
    assert [path.name for path in target.root.rglob("*") if path.is_file()] == ["imports"]


def test_what_the_first_up_would_change_is_a_warning_at_its_file(target: Target) -> None:
    found = declaration(cluster(queue("research", ["h100"])), CONNECTION, "prod", OWNERS)
    plan = planned(declared_files(found, target), target)
    differences = (
        Difference("ClusterQueue research", "spec.queueingStrategy", "StrictFIFO", "BestEffortFIFO"),
        Difference("Topology racks", "spec.levels", "nothing", "a list"),
    )
    adoption = finished(found, plan, target, Comparison(differences, (), {}), {"resources": []})
    different: list[Finding] = [one for one in adoption.findings if one.id == "import-differs"]
    assert [(one.severity, one.where.file) for one in different] == [
        (Severity.WARNING, "teams/research.yaml"),
        (Severity.WARNING, "environments/prod.yaml"),
    ]
    assert "StrictFIFO" in different[0].message
    assert "BestEffortFIFO" in different[0].message
