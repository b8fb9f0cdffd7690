"""Kubernetes versions of EKS: what HyperPod and Kueue go with, what kube-proxy may be, and until when EKS supports them."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from declarations import ADMINS, findings, hyperpod
from platform_support import declared

from config.findings import Severity, Where
from config.kueue import FEATURE_GATES
from governance.platform.kubernetes import HYPERPOD, KUEUE, SUPPORT, kubernetes_findings
from governance.platform.versions import kubernetes_version

ERROR, WARNING, ADVICE = Severity.ERROR, Severity.WARNING, Severity.ADVICE
TODAY = date(2026, 11, 21)
VERSION, PROXY = Where("environments/dev.yaml", 1, 1), Where("environments/dev.yaml", 2, 1)


def found(
    version: str, *, backend: str = "managed", today: date = TODAY, **settings: object
) -> list[tuple[str, Severity, Where, str]]:
    eks = {"version": version, **settings.pop("eks", {})}  # type: ignore[dict-item]
    cluster = declared(eks=eks, **settings)
    result = kubernetes_findings(cluster, backend, today, VERSION, PROXY)  # type: ignore[arg-type]
    return [(one.id, one.severity, one.where, one.message) for one in result]


@pytest.mark.parametrize(
    ("version", "severity"), [("1.27", ERROR), ("1.28", None), ("1.34", None), ("1.35", None), ("1.36", WARNING)]
)
def test_versions_that_hyperpod_is_documented_for(version: str, severity: Severity | None) -> None:
    own = [one for one in found(version) if one[0] == "hyperpod-kubernetes"]
    assert [one[1] for one in own] == ([severity] if severity else [])
    assert all(f"1.28 to 1.35, not for {version}" in message for *_, message in own)
    assert found(version, eks={"existing": "theirs"}, network=EXISTING) == []


EXISTING = {
    "vpc": "vpc-0123456789abcdef0",
    "subnets": {"us-west-2a": "subnet-0123456789abcdef0", "us-west-2b": "subnet-0123456789abcdef1"},
}


@pytest.mark.parametrize(
    ("version", "today", "severity"),
    [
        ("1.34", date(2026, 12, 1), None),
        ("1.34", date(2026, 12, 2), ADVICE),
        ("1.34", date(2027, 12, 1), ADVICE),
        ("1.34", date(2027, 12, 2), ERROR),
        ("1.30", TODAY, ERROR),
        ("1.31", TODAY, ADVICE),
        ("1.35", TODAY, None),
        ("1.99", date(2035, 1, 1), None),
    ],
)
def test_support_ends_on_a_day(version: str, today: date, severity: Severity | None) -> None:
    own = [one for one in found(version, today=today) if one[0] == "kubernetes-support"]
    assert [one[1:3] for one in own] == ([(severity, VERSION)] if severity else [])
    standard, extended = SUPPORT.get(kubernetes_version(version), (None, None))
    assert all(str(extended if severity is ERROR else standard) in message for *_, message in own)


def test_the_calendar_is_one() -> None:
    """Standard support lasts 14 months and extended support 12 more (EKS User Guide); a newer version outlasts an older one."""
    assert list(SUPPORT) == sorted(SUPPORT)
    assert [minor for _, minor in SUPPORT] == list(range(HYPERPOD[0][1], HYPERPOD[1][1] + 1))
    ends = [days for both in SUPPORT.values() for days in [both]]
    assert ends == sorted(ends)
    for standard, extended in ends:
        assert (extended.month, extended.day, extended.year) == (standard.month, standard.day, standard.year + 1)
        assert extended - standard >= timedelta(365)


@pytest.mark.parametrize(("version", "wrong"), [("1.31", True), ("1.32", False), ("1.35", False), ("1.36", True)])
def test_versions_that_kueue_is_tested_with(version: str, wrong: bool) -> None:
    own = [one for one in found(version, backend="kueue") if one[0] == "kueue-kubernetes"]
    assert [one[1] for one in own] == [WARNING] * wrong
    assert all("Kueue 0.16.6 is tested with Kubernetes 1.32 to 1.35" in message for *_, message in own)
    for settings in ({"backend": "managed"}, {"backend": "kueue", "kueue": {"install": False}}):
        assert "kueue-kubernetes" not in {one[0] for one in found(version, **settings)}  # type: ignore[arg-type]


def test_every_kueue_that_may_be_pinned_has_its_versions() -> None:
    assert KUEUE.keys() == FEATURE_GATES.keys()


@pytest.mark.parametrize(
    ("pinned", "words"),
    [
        ("v1.34.0-eksbuild.2", ""),
        ("v1.31.9-eksbuild.2", ""),
        ("v1.35.0-eksbuild.2", "is newer than the control plane's 1.34"),
        ("v1.30.0-eksbuild.2", "is more than 3 versions behind the control plane's 1.34"),
    ],
)
def test_kube_proxy_keeps_near_the_control_plane(pinned: str, words: str) -> None:
    own = found("1.34", eks={"addons": {"kube-proxy": pinned}})
    assert [one[:3] for one in own] == ([("kube-proxy-version", ERROR, PROXY)] if words else [])
    assert all(words in message for *_, message in own)


def test_findings_stand_at_the_version_and_know_the_day() -> None:
    eks = ADMINS.replace("{", "{version: '1.33', ", 1)
    told = findings({}, hyperpod(settings=f"eks: {eks}"))
    assert [(one.id, one.severity, one.where.line) for one in told] == [("kubernetes-support", ADVICE, 10)]
    assert "until 2027-07-29" in told[0].message
    assert told[0].remedy == "raise it to 1.35"
