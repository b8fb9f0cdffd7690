"""The few policies that Pulumi sees. Each hands a resource to the rules of its type.

pulumi-policy unpacks a resource once for every policy (0.1 ms): seventy policies would double the time of a preview, two don't.
Levels are Pulumi's: a policy that refuses and one that advises, for resources before they are made, and the same for the stack.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping
from typing import Any

from pulumi_policy import (
    EnforcementLevel,
    Policy,
    PolicyConfigSchema,
    PolicyResource,
    ReportViolation,
    ResourceValidationArgs,
    ResourceValidationPolicy,
    StackValidationArgs,
    StackValidationPolicy,
)

from policies.judge import Report, Table, grouped, judge, judge_stack, reports
from policies.model import LEVELS, PAGE, Properties, Resource, Stack
from policies.rules import RULES
from policies.settings import Settings, over

NAME = "hyperpod"
"""The policy that carries the configuration of all: Pulumi configures policies, not packs, and this one comes first."""
_AMOUNTS = {"type": "object", "additionalProperties": {"type": "object", "additionalProperties": {"type": ["number", "string"]}}}
_TEXTS = {"type": "array", "items": {"type": "string"}}


class Dispatch:
    """The policies of one pack, with what they share: the table of rules and the settings."""

    def __init__(self, settings: Settings) -> None:
        self._base = self.settings = settings
        self._configured: Mapping[str, Any] = {}
        self._table = Table()
        self._declared: dict[str, Properties] = {}
        """Inputs by URN. In a preview on a cluster that is still to come, the engine shows a stack policy nothing else."""

    def policies(self) -> list[Policy]:
        """Those that refuse first: the first of all learns the configuration."""
        return [
            self._on_resources(NAME, EnforcementLevel.MANDATORY, "What must hold of every resource", schema()),
            self._on_resources(f"{NAME}-advice", EnforcementLevel.ADVISORY, "What should hold of every resource"),
            self._on_stack(f"{NAME}-stack", EnforcementLevel.MANDATORY, "What must hold of the stack as a whole"),
            self._on_stack(f"{NAME}-stack-advice", EnforcementLevel.ADVISORY, "What should hold of the stack as a whole"),
        ]

    def _on_resources(
        self, name: str, level: EnforcementLevel, description: str, config: PolicyConfigSchema | None = None
    ) -> ResourceValidationPolicy:
        def validate(args: ResourceValidationArgs, report: ReportViolation) -> None:
            if config is not None:
                self._learn(args.get_config())
                self._declared[args.urn] = args.props
            rules = self._table.of(args.resource_type)
            if rules:
                _tell(reports(judge(rules, args.props, args.urn), self.settings), level, report)

        return ResourceValidationPolicy(name, description, validate, level, config_schema=config, url=PAGE)

    def _on_stack(self, name: str, level: EnforcementLevel, description: str) -> StackValidationPolicy:
        def validate(args: StackValidationArgs, report: ReportViolation) -> None:
            stack = Stack([self._resource(one) for one in args.resources], self.settings.parameters)
            root = next((one.urn for one in args.resources if one.resource_type == "pulumi:pulumi:Stack"), "")
            _tell(grouped(reports(judge_stack(stack), self.settings, root)), level, report)

        return StackValidationPolicy(name, description, validate, level, url=PAGE)

    def _resource(self, one: PolicyResource) -> Resource:
        declared = self._declared.get(one.urn)
        properties = one.props if declared is None else ChainMap(declared, one.props)  # type: ignore[arg-type]
        refers = {key: [other.urn for other in others] for key, others in one.property_dependencies.items()}
        return Resource(one.resource_type, one.urn, one.name, properties, bool(one.opts.protect), refers)

    def _learn(self, config: Mapping[str, Any]) -> None:
        """Take the run's configuration, which is the same for every resource. Raises SettingsError."""
        if config and config != self._configured:
            self.settings = over(self._base, config, f"configuration of {NAME}")
            self._configured = config


def schema() -> PolicyConfigSchema:
    """What `--policy-pack-config` may hold for NAME: the same as the file of the settings."""
    waiver = {"type": "object", "required": ["rule", "reason", "until"]}
    levels = {rule: {"type": "string", "enum": list(LEVELS)} for rule in RULES}
    return PolicyConfigSchema(
        properties={
            "levels": {"type": "object", "properties": levels, "additionalProperties": False},
            "waivers": {"type": "array", "items": waiver},
            "tags": _TEXTS,
            "instances": _AMOUNTS,
            "capacity": _AMOUNTS,
            "lifecycle_buckets": _TEXTS,
        }
    )


def _tell(found: Iterable[Report], level: EnforcementLevel, report: ReportViolation) -> None:
    for one in found:
        if one.level == level.value:
            report(one.text, one.urn or None)
