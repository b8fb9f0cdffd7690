"""Every kind of mistake in a file: its id, its place, what is said and what to do."""

from __future__ import annotations

from typing import Annotated, Literal

import pytest
from declarations import ENVIRONMENT, TEAM, assert_well_formed, environment, findings, team
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from config.errors import findings_of
from config.findings import Finding, Severity, did_you_mean, printable, quoted
from config.yamlsource import Layered, parse


def only(found: list[Finding]) -> Finding:
    errors = [finding for finding in found if finding.severity is Severity.ERROR]
    for finding in errors:
        assert_well_formed(finding)
    assert len(errors) == 1, errors
    return errors[0]


TEAM_MISTAKES = [
    # what stands from line 3 on, id, line, column, in the message, in the remedy
    ("wieght: 1", "unknown-key", 3, 1, "unknown key `wieght`", "did you mean `weight`?"),
    ("enviroments: {}", "unknown-key", 3, 1, "unknown key `enviroments`", "did you mean `environments`?"),
    ("zzzzzzzz: 1", "unknown-key", 3, 1, "unknown key `zzzzzzzz`", "remove it"),
    ("sharing: {stratgy: lend}", "unknown-key", 3, 11, "unknown key `stratgy` in `sharing`", "did you mean `strategy`?"),
    (
        "sharing: {borrow: {ml.p5.48xlarge: {gpus: 1}}}",
        "unknown-key",
        3,
        37,
        "`gpus` in `sharing.borrow",
        "known: `accelerators`",
    ),
    ("weight: 101", "less-than-equal", 3, 9, "weight: `101` is out of range", "at most 100"),
    ("weight: -1", "greater-than-equal", 3, 9, "weight: `-1` is out of range", "at least 0"),
    ('weight: "10"', "int-type", 3, 9, "weight: `10` is not a whole number", "remove the quotes"),
    ("weight: 1.5", "int-type", 3, 9, "weight: `1.5` is not a whole number", "write a whole number"),
    ("weight: true", "int-type", 3, 9, "weight: `true` is not a whole number", "write a whole number"),
    ("weight:", "int-type", 3, 8, "weight: nothing is not a whole number", "remove the key"),
    ("weight: [1]", "int-type", 3, 9, "weight: a list is not a whole number", "write a whole number"),
    ("description: 5", "string-type", 3, 14, "description: `5` is not text", 'quote it: "5"'),
    ("labels: {tier: 1}", "string-type", 3, 16, "labels.tier: `1` is not text", 'quote it: "1"'),
    ("labels: {tier: true}", "string-type", 3, 16, "labels.tier: `true` is not text", 'quote it: "true"'),
    ("labels: {tier: a b}", "label-value", 3, 16, "`a b` is not a label value", "at most 63"),
    ("labels: {-x: a}", "label-key", 3, 10, "`-x` is not a label key", "[prefix/]name"),
    ("labels: {a/b/c: a}", "label-key", 3, 10, "`a/b/c` is not a label key", "[prefix/]name"),
    ("default_queue: 1", "bool-type", 3, 16, "default_queue: `1` is not true or false", "write true or false"),
    ("default_queue: yes", "yaml-word", 3, 16, "`yes` is a word", "write true"),
    ("state: paused", "literal-error", 3, 8, "`paused` is not one of `active`, `held`, `draining`", "known: `active`"),
    ("state: Held", "literal-error", 3, 8, "`Held` is not one of", "did you mean `held`?"),
    ("sharing: lend_and_borow", "literal-error", 3, 10, "`lend_and_borow` is not one of", "did you mean `lend_and_borrow`?"),
    ("sharing: {strategy: DontLend}", "literal-error", 3, 21, "`DontLend` is not one of", "did you mean `dont_lend`?"),
    ("sharing: [lend]", "model-type", 3, 10, "sharing: a list is not a map", "write a map"),
    ("quota: [1]", "dict-type", 3, 8, "quota: a list is not a map", "write a map"),
    ("quota:", "dict-type", 3, 7, "quota: nothing is not a map", "remove the key"),
    ("quota: {ml.p5.4xlarge: 2}", "model-type", 3, 24, "`2` is not a map", "write a map"),
    (
        "quota: {ml.p5.48xlarg: {instances: 1}}",
        "instance-type-unknown",
        3,
        9,
        "`ml.p5.48xlarg`",
        "did you mean `ml.p5.48xlarge`?",
    ),
    ("quota: {p5.48xlarge: {instances: 1}}", "instance-type-unknown", 3, 9, "`p5.48xlarge`", "did you mean `ml.p5.48xlarge`?"),
    ("quota: {nvida: {accelerators: 1}}", "instance-type-unknown", 3, 9, "accelerator kind", "did you mean `nvidia`?"),
    ("quota: {qqq: {accelerators: 1}}", "instance-type-unknown", 3, 9, "`qqq`", "a family as `p5`"),
    ("quota: {ml.p5.48xlarge: {}}", "amounts-empty", 3, 25, "no amount is given", "give instances"),
    ("quota: {ml.p5.48xlarge: {instances: null}}", "amounts-empty", 3, 25, "no amount is given", "give instances"),
    ("quota: {ml.p5.48xlarge: {instances: -1}}", "greater-than-equal", 3, 37, "`-1` is out of range", "at least 0"),
    ("quota: {ml.p5.48xlarge: {vcpu: 0}}", "greater-than-equal", 3, 32, "`0` is out of range", "at least 0.001"),
    (
        "quota: {ml.p5.48xlarge: {memory_gib: .inf}}",
        "finite-number",
        3,
        38,
        "`inf` is not a finite number",
        "write a finite number",
    ),
    ("quota: {ml.p5.48xlarge: {vcpu: 10000001}}", "less-than-equal", 3, 32, "is out of range", "at most 10,000,000"),
    ("quota: {ml.p5.48xlarge: {vcpu: 0.50}}", "yaml-number", 3, 32, "`0.50` is read as the number 0.5", "0.5 for the number"),
    (
        "quota: {ml.p5.48xlarge: {partitions: {mig-1g.10g: 1}}}",
        "mig-profile-unknown",
        3,
        39,
        "is not a MIG profile",
        "`mig-1g.10gb`",
    ),
    ("quota: {ml.p5.48xlarge: {partitions: {mig-1g.10gb: 0}}}", "greater-than-equal", 3, 52, "`0` is out of range", "at least 1"),
    ("flavors: [ml.p5.48xl]", "instance-type-unknown", 3, 11, "`ml.p5.48xl`", "did you mean `ml.p5.48xlarge`?"),
    ("flavors: ml.p5.48xlarge", "tuple-type", 3, 10, "is not a list", "write a list: [ml.p5.48xlarge]"),
    ("flavors: [ml.p5.48xlarge, ml.p5.48xlarge]", "duplicate-item", 3, 10, "`ml.p5.48xlarge` stands twice", "keep one"),
    ("only: []", "too-short", 3, 7, "only: a list is empty", "at least 1"),
    ("only: [prd]", "environment-unknown", 3, 8, "there is no environment `prd`", "did you mean `prod`?"),
    ("environments: {prodd: {weight: 1}}", "environment-unknown", 3, 16, "`prodd`", "did you mean `prod`?"),
    ("environments: {prod: 1}", "dict-type", 3, 16, "`1` is not a map", "write the fields that differ"),
    ("environments: [prod]", "dict-type", 3, 1, "environments: a list is not a map", "a map of environment names"),
    ("environments: {dev: {name: x}}", "override-identity", 3, 22, "`name` can't differ by environment", "remove it"),
    ("environments: {dev: {weight: x}}", "int-type", 3, 30, "weight: `x` is not a whole number", "write a whole number"),
    ("max_run_time: 5", "duration", 3, 15, "`5` is not a duration", "as in 5m"),
    ("max_run_time: 5 m", "duration", 3, 15, "`5 m` is not a duration", "as in 5m"),
    ("max_run_time: 0s", "duration", 3, 15, "`0s` is out of range", "from 1s"),
    ("max_run_time: 99999d", "duration", 3, 15, "`99999d` is out of range", "999,999,999 seconds"),
    ("max_run_time: {a: 1}", "duration", 3, 15, "a map is not a duration", "as in 5m"),
    ("max_pods: 0", "greater-than-equal", 3, 11, "`0` is out of range", "at least 1"),
    ("access: {iam_roles: [admin]}", "role-arn", 3, 22, "`admin` is not the ARN", "arn:aws:iam::<12 digits>"),
    ("access: {groups: ['system:masters']}", "group-reserved", 3, 19, "`system:masters`", "identity provider"),
    ("access: {groups: ['']}", "string-too-short", 3, 19, "is empty", "at least 1"),
    ("names: {namespace: My_Team}", "name-syntax", 3, 20, "`My_Team` is not a name", "start and end"),
    ("names: {cluster_queue: a..b}", "name-syntax", 3, 24, "`a..b` is not a Kubernetes object name", "at most 253"),
    (f"names: {{local_queue: {'x' * 64}}}", "name-too-long", 3, 22, "has 64 characters; at most 63", "shorten it"),
    (f"description: {'x' * 1025}", "string-too-long", 3, 14, "is too long", "at most 1024 characters"),
    ("name: beta", "team-name", 3, 7, "the file is named `alpha`, the team in it `beta`", "same name"),
    ("sharing: {strategy: lend, borrow_limit: 5}", "borrow-without-strategy", 3, 27, "`lend`", "use lend_and_borrow"),
    ("sharing: {strategy: dont_lend, lend_limit: 5}", "lend-without-strategy", 3, 32, "`dont_lend`", "use lend"),
    ("sharing: {borrow_limit: 5, borrow: {ml.p5.48xlarge: {instances: 1}}}", "borrow-twice", 3, 28, "a percentage", "keep one"),
    ("sharing: {lend_limit: 5, lend: {ml.p5.48xlarge: {instances: 1}}}", "lend-twice", 3, 26, "a percentage", "keep one"),
]


@pytest.mark.parametrize(("text", "id_", "line", "column", "message", "remedy"), TEAM_MISTAKES)
def test_a_mistake_in_a_team_file(text: str, id_: str, line: int, column: int, message: str, remedy: str) -> None:
    rest = "" if text.startswith(("quota", "sharing")) else "\nquota: {ml.p5.48xlarge: {instances: 1}}"
    if "lend:" in text:
        rest = "\nquota: {ml.p5.48xlarge: {instances: 1}}"
    finding = only(findings({"alpha": team(text + rest + "\n")}, prod=environment("")))
    assert (finding.id, finding.where.file, finding.where.line, finding.where.column) == (id_, "teams/alpha.yaml", line, column)
    assert message in finding.message
    assert remedy in finding.remedy


ENVIRONMENT_MISTAKES = [
    ("governence: {}", "unknown-key", 7, 1, "unknown key `governence`", "did you mean `governance`?"),
    ("governance: {backend: kue}", "literal-error", 7, 23, "`kue` is not one of `kueue`, `managed`", "did you mean `kueue`?"),
    ("governance: {topology: {levels: []}}", "too-short", 7, 33, "is empty", "at least 1"),
    (
        "governance: {topology: {levels: [kubernetes.io/hostname, a]}}",
        "topology-hostname",
        7,
        34,
        "not the last",
        "move it to the end",
    ),
    ("governance: {task_ranking: priority_classes}", "ranking-classes", 7, 28, "needs priority_classes", "name at least one"),
    (
        "governance: {task_ranking: first_come_first_served, priority_classes: {a: {weight: 1}}}",
        "ranking-classes",
        7,
        28,
        "ranks by no class",
        "remove one",
    ),
    ("governance: {priority_classes: {A: {weight: 1}}}", "name-syntax", 7, 33, "`A` is not a name", "start and end"),
    (
        "governance: {priority_classes: {a: {}}}",
        "missing-key",
        7,
        33,
        "`weight` is missing in `governance.priority_classes.a`",
        "add",
    ),
    (
        "governance: {priority_classes: {a: {weight: 3000000000}}}",
        "less-than-equal",
        7,
        45,
        "out of range",
        "at most 2,147,483,647",
    ),
    ("governance: {departments: {hyperpod: {}}}", "department-name", 7, 28, "the root cohort", "choose another"),
    ("governance: {departments: {a: {parent: b}}}", "department-unknown", 7, 40, "no department `b`", "known: `a`"),
    ("governance: {departments: {a: {parent: a}}}", "department-cycle", 7, 40, "above itself", "break the circle"),
    (
        "governance: {departments: {a: {parent: b}, b: {parent: a}}}",
        "department-cycle",
        7,
        40,
        "above itself",
        "break the circle",
    ),
    ("governance: {gang: {timeout: 5x}}", "duration", 7, 30, "`5x` is not a duration", "as in 5m"),
    ("base: other", "environment-unknown", 7, 7, "there is no environment `other`", "known: `dev`"),
    ("base: ../teams/alpha", "environment-unknown", 7, 7, "no environment `../teams/alpha`", "known: `dev`"),
    ("base: /etc/passwd", "environment-unknown", 7, 7, "no environment `/etc/passwd`", "known: `dev`"),
    ("base: dev", "base-cycle", 7, 7, "dev → dev", "remove `base`"),
    ("base: 5", "string-type", 7, 7, "base: `5` is not text", "quote it"),
    ("teams: {select: {Bad Key: x}}", "label-key", 7, 18, "`Bad Key` is not a label key", "[prefix/]name"),
]


@pytest.mark.parametrize(("text", "id_", "line", "column", "message", "remedy"), ENVIRONMENT_MISTAKES)
def test_a_mistake_in_an_environment(text: str, id_: str, line: int, column: int, message: str, remedy: str) -> None:
    finding = only(findings({}, environment(text + "\n")))
    assert (finding.id, finding.where.file, finding.where.line, finding.where.column) == (
        id_,
        "environments/dev.yaml",
        line,
        column,
    )
    assert message in finding.message
    assert remedy in finding.remedy


GROUP_MISTAKES = [
    (
        "g: {instance_type: ml.p5, count: 1}",
        "instance-type-unknown",
        6,
        26,
        "`ml.p5` is not an instance type",
        "name one of `ml.p5.",
    ),
    (
        "g: {instance_type: ml.g5.xlarge}",
        "missing-key",
        6,
        7,
        "`count` is missing in `clusters.main.instance_groups.g`",
        "add `count:`",
    ),
    ("g: {instance_type: ml.g5.xlarge, count: 6759}", "less-than-equal", 6, 47, "`6759` is out of range", "at most 6,758"),
    ("G: {instance_type: ml.g5.xlarge, count: 1}", "name-syntax", 6, 7, "`G` is not a name", "start and end"),
    (
        "g: {instance_type: ml.g5.xlarge, count: 1, taints: [{key: a, effect: NoExec}]}",
        "literal-error",
        6,
        76,
        "`NoExec` is not one of",
        "did you mean `NoExecute`?",
    ),
    ("g: {instance_type: ml.g5.xlarge, count: 1, taints: {}}", "tuple-type", 6, 58, "a map is not a list", "write a list"),
    (
        "g: {instance_type: ml.g5.xlarge, count: 1, labels: {kubernetes.io/hostname: a}}",
        "label-reserved",
        6,
        59,
        "the node sets",
        "remove it",
    ),
    (
        "g: {instance_type: ml.g5.xlarge, count: 1, partitions: {mig-1g.5gb: 1}}",
        "mig-profile-type",
        6,
        63,
        "no MIG profile",
        "use a type",
    ),
    (
        "g: {instance_type: ml.p4d.24xlarge, count: 1, partitions: {mig-7g.40gb: 9}}",
        "mig-capacity",
        6,
        53,
        "need 9 GPUs",
        "lower them",
    ),
    (
        "g: {instance_type: ml.p5.48xlarge, count: 1, network: {nodes_per_block: 0}}",
        "greater-than-equal",
        6,
        79,
        "out of range",
        "at least 1",
    ),
]


@pytest.mark.parametrize(("text", "id_", "line", "column", "message", "remedy"), GROUP_MISTAKES)
def test_a_mistake_in_an_instance_group(text: str, id_: str, line: int, column: int, message: str, remedy: str) -> None:
    finding = only(findings({}, environment("", groups=text)))
    assert (finding.id, finding.where.line, finding.where.column) == (id_, line, column)
    assert message in finding.message
    assert remedy in finding.remedy


CLUSTER_MISTAKES = [
    ("kind: hyperpods", "literal-error", "`hyperpods` is not one of `existing`, `hyperpod`", "did you mean `hyperpod`?"),
    ("sandbox: true", "sandbox-kueue", "a sandbox runs Kueue itself", "kueue.install: false"),
    ("sandbox: true\n    context: x\n    kueue: {install: false}", "sandbox-connection", "its own context", "remove it"),
    ("kueue: {version: 0.16.5}", "literal-error", "`0.16.5` is not one of `0.16.6`", "did you mean `0.16.6`?"),
    ("kueue: {frameworks: [batch/jobs]}", "framework-unknown", "`batch/jobs` is not a framework", "did you mean `batch/job`?"),
    ("kueue: {frameworks: [pod, pod]}", "duplicate-item", "`pod` stands twice", "keep one"),
    ("kueue: {external_frameworks: [Job]}", "string-pattern-mismatch", "`Job` is not of the form", "the form is"),
    (
        "kueue: {feature_gates: {LendingLimits: true}}",
        "feature-gate-unknown",
        "no feature gate `LendingLimits`",
        "did you mean `LendingLimit`?",
    ),
    ("kueue: {replicas: 0}", "greater-than-equal", "out of range", "at least 1"),
]


@pytest.mark.parametrize(("text", "id_", "message", "remedy"), CLUSTER_MISTAKES)
def test_a_mistake_in_a_cluster(text: str, id_: str, message: str, remedy: str) -> None:
    kind = "" if text.startswith("kind") else "kind: existing\n    "
    env = f"apiVersion: hyperpod-platform/v1\nclusters:\n  main:\n    {kind}{text}\n    instance_groups: {{}}\n"
    finding = only(findings({}, env))
    assert finding.id == id_
    assert finding.where.line >= 3
    assert message in finding.message
    assert remedy in finding.remedy


@pytest.mark.parametrize(
    ("env", "message"),
    [
        ("apiVersion: hyperpod-platform/v1\nclusters: {}\n", "clusters: a map is empty"),
        ("apiVersion: hyperpod-platform/v1\n", "`clusters` is missing"),
        (
            "apiVersion: hyperpod-platform/v2\nclusters: {a: {kind: existing, instance_groups: {}}}\n",
            "is not one of `hyperpod-platform/v1`",
        ),
        ("clusters: {a: {kind: existing, instance_groups: {}}}\n", "`apiVersion` is missing"),
        ("apiVersion: hyperpod-platform/v1\nclusters: {a: {instance_groups: {}}}\n", "`kind` is missing in `clusters.a`"),
        ("apiVersion: hyperpod-platform/v1\nclusters: {a: {kind: existing}}\n", "`instance_groups` is missing in `clusters.a`"),
        ("- a\n", "the file is not a map but a list"),
        ("hello\n", "the file is not a map but `hello`"),
        ("~\n", "the file is not a map but nothing"),
    ],
)
def test_a_mistake_of_a_whole_environment(env: str, message: str) -> None:
    assert message in only(findings({}, env)).message


def test_a_missing_field_of_a_team_is_told_at_the_file_even_with_an_override() -> None:
    text = "apiVersion: hyperpod-platform/v1\nquota: {ml.p5.48xlarge: {instances: 1}}\nenvironments: {dev: {weight: 5}}\n"
    finding = only(findings({"alpha": text}))
    assert (finding.id, finding.where.line, finding.where.column) == ("missing-key", 1, 1)


@pytest.mark.parametrize("name", ["Alpha", "a_b", "-a", "x" * 41, "a.b", "ä", "a b"])
def test_a_file_whose_name_is_no_teams(name: str) -> None:
    finding = only(findings({name: TEAM}))
    assert finding.id in ("name-syntax", "name-too-long")
    assert finding.where.file == f"teams/{name}.yaml"
    assert "name" in finding.message


def test_every_mistake_of_every_file_is_told_in_one_run() -> None:
    broken = {
        "alpha": team("weight: 101\nstate: x\nquota: {p9: {instances: 1}, ml.p5.48xlarge: {vcpu: -1}}\nwieght: 1\n"),
        "beta": "a: [\n",
        "gamma": team(
            "quota: {ml.m5.4xlarge: {accelerators: 1}}\ndefault_priority: nobody\nsharing: {strategy: lend, borrow_limit: 1}\n"
        ),
        "delta": team("environments: {prdo: {}}\nquota: {ml.p5.48xlarge: {instances: 9}}\nclusters: [mian]\n"),
    }
    found = findings(broken)
    for finding in found:
        assert_well_formed(finding)
    assert sorted({(finding.where.file, finding.id) for finding in found}) == [
        ("teams/alpha.yaml", "greater-than-equal"),
        ("teams/alpha.yaml", "instance-type-unknown"),
        ("teams/alpha.yaml", "less-than-equal"),
        ("teams/alpha.yaml", "literal-error"),
        ("teams/alpha.yaml", "unknown-key"),
        ("teams/beta.yaml", "yaml-syntax"),
        ("teams/delta.yaml", "cluster-unknown"),
        ("teams/delta.yaml", "environment-unknown"),
        ("teams/gamma.yaml", "accelerators-none"),
        ("teams/gamma.yaml", "borrow-without-strategy"),
        ("teams/gamma.yaml", "priority-class-unknown"),
    ]
    assert found == sorted(found, key=lambda f: (f.where, f.id, f.message))


def test_an_error_of_the_environment_hides_none_of_the_teams() -> None:
    found = findings({"alpha": team("weight: 101\n")}, ENVIRONMENT + "wrong: 1\n")
    assert [(f.where.file, f.id) for f in found] == [
        ("environments/dev.yaml", "unknown-key"),
        ("teams/alpha.yaml", "less-than-equal"),
    ]


def test_a_value_that_yaml_reports_is_not_reported_again() -> None:
    found = findings({"alpha": team("weight: 010\ndefault_queue: yes\nquota: &x {ml.p5.48xlarge: {instances: 1}}\nlabels: *x\n")})
    assert [f.id for f in found] == ["yaml-number", "yaml-word", "yaml-alias"]


class _Circle(BaseModel):
    model_config = ConfigDict(extra="forbid")
    kind: Literal["circle"]
    radius: int


class _Square(BaseModel):
    model_config = ConfigDict(extra="forbid")
    kind: Literal["square"]
    side: int
    square: int = 0


class _Shapes(BaseModel):
    shapes: dict[str, Annotated[_Circle | _Square, Field(discriminator="kind")]]


@pytest.mark.parametrize(
    ("text", "line", "column", "message", "remedy"),
    [
        ("shapes:\n  square: {kind: square, side: x}\n", 2, 32, "shapes.square.side", "change the value"),
        (
            "shapes:\n  circle: {kind: square, side: 1, sid: 2}\n",
            2,
            35,
            "unknown key `sid` in `shapes.circle`",
            "did you mean `side`?",
        ),
        ("shapes:\n  a: {kind: square, side: 1, square: x}\n", 2, 38, "shapes.a.square", "change the value"),
        ("shapes:\n  a: {kind: circle}\n", 2, 3, "`radius` is missing in `shapes.a`", "add `radius:`"),
        (
            "shapes:\n  a: {kind: cricle, radius: 1}\n",
            2,
            13,
            "`cricle` is not one of `circle`, `square`",
            "did you mean `circle`?",
        ),
        ("shapes:\n  a: {radius: 1}\n", 2, 3, "`kind` is missing in `shapes.a`", "add `kind:`"),
    ],
)
def test_places_within_a_choice_of_models(text: str, line: int, column: int, message: str, remedy: str) -> None:
    document, _ = parse(text, "f.yaml")
    with pytest.raises(ValidationError) as raised:
        _Shapes.model_validate(document.data)
    finding = only(findings_of(raised.value, _Shapes, Layered(((document, ()),))))
    assert (finding.where.line, finding.where.column) == (line, column)
    assert message in finding.message
    assert remedy in finding.remedy


def test_messages_show_no_control_characters_and_no_endless_values() -> None:
    found = findings({"alpha": team('weight: "\\e[31m\\n\\u202e"\nstate: ' + "x" * 5000 + "\n" + "k" * 1000 + ": 1\n")})
    assert len(found) == 3
    for finding in found:
        assert_well_formed(finding)
        assert len(finding.message) < 400


def test_braces_in_values_are_only_braces() -> None:
    assert "`{text}%s`" in only(findings({"alpha": team("max_run_time: '{text}%s'\n")})).message


def test_words_near_and_far() -> None:
    assert did_you_mean("kueu", ["kueue", "managed"]) == "did you mean `kueue`?"
    assert did_you_mean("LendAndBorrow", ["lend", "lend_and_borrow"]) == "did you mean `lend_and_borrow`?"
    assert did_you_mean("zzz", ["b", "a"]) == "known: `a`, `b`"
    assert did_you_mean("zzz", [f"word{n}" for n in range(13)]) == ""
    assert did_you_mean("zzz", []) == ""
    many = [f"word{n}" for n in range(12)]
    assert did_you_mean("does-not-exist", ["eks-existing", *many]) == "", "among many words some are a little like any"
    assert did_you_mean("eks-exist", ["eks-existing", *many]) == "did you mean `eks-existing`?"
    assert did_you_mean("kueue" * 100, ["kueue"]) == "known: `kueue`"


def test_values_as_messages_show_them() -> None:
    assert quoted(None) == "nothing"
    assert quoted(True) == "`true`"
    assert quoted(["x"]) == "a list"
    assert quoted({}) == "a map"
    assert quoted("x" * 81) == "`" + "x" * 79 + "…`"
    assert printable("a\x1b[0m\n\ud800é") == "a\\x1b[0m\\n\\ud800é"


def test_a_contradiction_is_told_beside_errors_elsewhere_in_the_file() -> None:
    found = findings({"alpha": team("wieght: 3\nsharing: {strategy: lend, borrow_limit: 50}\n")})
    assert {finding.id for finding in found} >= {"unknown-key", "borrow-without-strategy"}
