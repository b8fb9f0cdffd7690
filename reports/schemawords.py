"""What JSON Schema can say of the declarations' words: patterns and lists, by the function that checks the word.

Patterns are those of the checks themselves, hence never stricter. Each means the same to Python and to ECMAScript, which editors
run: no classes as `\\w`, which the two read differently.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any

from config import eks, groups, hyperpod, network, team, vocabulary
from config.catalogue import accelerator_kinds, families, instance_types
from config.kueue import FRAMEWORKS
from config.multikueue import DISPATCHED
from config.rules import rules

Schema = dict[str, Any]
_LABEL = r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?"
_SUBDOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"


def word(check: Any, inner: Schema) -> Schema | None:
    """A value that `inner` describes and the check is run on; None for a check that is not known here."""
    known = WORDS.get(f"{getattr(check, '__module__', '')}.{getattr(check, '__qualname__', '')}")
    return known(check, inner) if known else None


def definitions() -> dict[str, Schema]:
    """Long lists, which many places refer to."""
    types = sorted(instance_types())
    kinds = [*types, *sorted(families()), *accelerator_kinds()]
    waivable = sorted(id_ for id_, rule in rules().items() if rule.waivable)
    lists = {
        "InstanceType": ("an instance type of SageMaker HyperPod", types),
        "QuotaKey": ("an instance type, a family or an accelerator kind", kinds),
        "MigProfile": ("a MIG partition of a GPU", sorted(team._mig_profiles())),
        "WaivableRule": ("a rule that can be set aside", waivable),
    }
    # With a message of its own, an editor doesn't list them all where none fits.
    return {
        name: {"description": words, "enum": known, "errorMessage": f"this is not {words}"}
        for name, (words, known) in lists.items()
    }


def defined(name: str) -> Schema:
    """A reference to one of the lists."""
    return {"x-defined": name}


def _form(pattern: str, words: str) -> Schema:
    return {"type": "string", "pattern": pattern, "patternErrorMessage": words}


def _same(words: str, found: re.Pattern[str]) -> Callable[[Any, Schema], Schema]:
    """A pattern of Python's that is anchored at its end by `\\Z`."""
    made = _form(f"^(?:{found.pattern.removesuffix(chr(92) + 'Z')})$", words)
    return lambda _, inner: {**inner, **made}


def _fixed(made: Schema) -> Callable[[Any, Schema], Schema]:
    return lambda _, inner: {**inner, **made}


def _alone(made: Schema) -> Callable[[Any, Schema], Schema]:
    """What is written is not what the check yields."""
    return lambda _, __: dict(made)


def _nonlocal(check: Any, name: str) -> Any:
    return inspect.getclosurevars(check).nonlocals[name]


def _dns_label(check: Any, inner: Schema) -> Schema:
    form = _form(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "lower-case letters, digits and hyphens, at either end no hyphen")
    return {**inner, **form, "maxLength": _nonlocal(check, "limit")}


def _resource_id(check: Any, inner: Schema) -> Schema:
    pattern: re.Pattern[str] = _nonlocal(check, "pattern")
    return _same("an id of AWS, as vpc-0123456789abcdef0", pattern)(check, inner)


def _short_form(short: Schema) -> Callable[[Any, Schema], Schema]:
    return lambda _, inner: {"anyOf": [short, inner]}


def _listed(_: Any, inner: Schema) -> Schema:
    """A list of words may be one word; a list of maps may not be one map."""
    return inner if "$ref" in inner["items"] else {"anyOf": [inner["items"], inner]}


_DURATION = _form(r"^(?!$)(?:[0-9]{1,9}d)?(?:[0-9]{1,9}h)?(?:[0-9]{1,9}m)?(?:[0-9]{1,9}s)?$", "a duration, as 5m or 1d12h")
_DAY = _form(r"^[0-9]{4}-(?:[0-9]{2}-[0-9]{2}|W[0-9]{2}-[1-7])$", "a day, as 2026-12-31")
_CIDR = _form(r"^[0-9.]+(?:/[0-9.]+)?$", "an IPv4 block, as 10.0.0.0/16")
WORDS: Mapping[str, Callable[[Any, Schema], Schema]] = {
    "config.vocabulary._dns_label.<locals>.check": _dns_label,
    "config.vocabulary._subdomain": _fixed({**_form(f"^{_SUBDOMAIN}$", "a Kubernetes object name"), "maxLength": 253}),
    "config.vocabulary._label_value": _fixed({**_form(f"^(?:{_LABEL})?$", "a label value"), "maxLength": 63}),
    "config.vocabulary._label_key": _fixed(_form(f"^(?:{_SUBDOMAIN}/)?{_LABEL}$", "a label key, as example.com/pool")),
    "config.vocabulary._duration": _alone(_DURATION),
    "config.vocabulary._moment": _alone(_DURATION),
    "config.vocabulary._log_days": _fixed({"enum": list(vocabulary.LOG_DAYS)}),
    "config.vocabulary._role_arn": _same("the ARN of an IAM role, arn:aws:iam::<12 digits>:role/<name>", vocabulary._ROLE_ARN),
    "config.vocabulary._group": _fixed(_form("^(?!system:)", "a group of your identity provider, not one of system:")),
    "config.vocabulary._unique": _fixed({"uniqueItems": True}),
    "config.vocabulary._as_tuple": _fixed({}),
    "config.waivers._day": _alone(_DAY),
    "config.team._instance_type": _alone(defined("InstanceType")),
    "config.team._quota_key": _alone(defined("QuotaKey")),
    "config.team._mig_profile": _alone(defined("MigProfile")),
    "config.team._strategy_alone": _short_form({"enum": ["lend", "dont_lend", "lend_and_borrow"]}),
    "config.team.Amounts._says_something": _fixed({}),
    "config.network._cidr": _fixed(_CIDR),
    "config.network._zone": _same("an availability zone, as us-west-2a", network._ZONE),
    "config.network._id.<locals>.check": _resource_id,
    "config.eks._version": _same('a Kubernetes version in quotes, as "1.34"', eks._VERSION),
    "config.eks._addon_version": _same("an add-on's version, as v1.18.3-eksbuild.1", eks._ADDON_VERSION),
    "config.eks._name": _same("the name of an EKS cluster", eks._NAME),
    "config.eks._key": _same("the ARN of a KMS key, arn:aws:kms:<region>:<12 digits>:key/<id>", eks._KEY_ARN),
    "config.eks._public_cidr": _fixed({}),
    "config.eks._private_cidr": _fixed(_CIDR),
    "config.groups._cron": _same("cron(minute hour day month weekday year), as cron(0 3 ? * SUN *)", groups._CRON),
    "config.groups.BatchSize._one": _fixed({}),
    "config.groups.Lifecycle._one_source": _fixed({}),
    "config.chart.ChartSource._one_source": _fixed({}),
    "config.environment.AdoptedFlavor._nodes_named": _fixed({}),
    "config.hyperpod._cluster_name": _same("1-63 letters, digits and hyphens", hyperpod._NAME),
    "config.hyperpod._account": _same('the 12 digits of an AWS account in quotes, as "012345678901"', hyperpod._ACCOUNT),
    "config.hyperpod._region": _same("an AWS region, as us-west-2", hyperpod._REGION),
    "config.hyperpod._tag": _fixed({}),
    "config.kueue._framework": _fixed({"enum": list(FRAMEWORKS)}),
    "config.multikueue._dispatched": _fixed({"enum": list(DISPATCHED)}),
    "simulation.cases.<lambda>": _fixed({"maxLength": 30}),
    "simulation.cases._listed": _listed,
    "simulation.cases._whole_node": _short_form({"const": "whole_node"}),
    "simulation.traces.file._whole_node": _short_form({"const": "whole_node"}),
    "simulation.traces.file._run_times": _short_form({"anyOf": [_DURATION, {"type": "array", "items": _DURATION}]}),
}
