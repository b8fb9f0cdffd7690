"""The words of the declarations: names, amounts, durations and labels, each with its rule and the rule's source."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

TEAM_NAME_LIMIT = 40
"""Longest team name: `hyperpod-ns-<team>-localqueue` is a label's value, and these hold 63 characters."""
MAX_AMOUNT = 10_000_000
"""Largest count in one quota entry (SageMaker API, ComputeQuotaResourceConfig.Count)."""

_DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?\Z")
_DNS_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\Z")
_LABEL_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?\Z")
_DURATION = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?\Z")
_ROLE_ARN = re.compile(r"arn:aws[a-z-]*:iam::\d{12}:role/[\w+=,.@/-]{1,512}\Z")


class Model(BaseModel):
    """Base of every declaration: strict types, no unknown keys, immutable once read."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", use_attribute_docstrings=True, allow_inf_nan=False)


def problem(kind: str, message: str, remedy: str = "", **context: Any) -> PydanticCustomError:
    """A validation error with a remedy of its own. Braces in values are safe: they travel in the context."""
    return PydanticCustomError(kind, "{text}", {"text": message, "remedy": remedy, **context})


def _dns_label(limit: int) -> AfterValidator:
    def check(value: str) -> str:
        if len(value) > limit:
            raise problem("name_too_long", f"`{value}` has {len(value)} characters; at most {limit}", "shorten it")
        if not _DNS_LABEL.match(value):
            raise problem(
                "name_syntax",
                f"`{value}` is not a name of lower-case letters, digits and hyphens",
                "start and end with a letter or digit",
            )
        return value

    return AfterValidator(check)


def _subdomain(value: str) -> str:
    if len(value) > 253 or not _DNS_SUBDOMAIN.match(value):
        raise problem(
            "name_syntax", f"`{value}` is not a Kubernetes object name", "lower-case letters, digits, - and ., at most 253"
        )
    return value


def _label_value(value: str) -> str:
    if len(value) > 63 or (value and not _LABEL_NAME.match(value)):
        raise problem("label_value", f"`{value}` is not a label value", "at most 63 letters, digits, -, _ and .")
    return value


def _label_key(value: str) -> str:
    prefix, slash, name = value.rpartition("/")
    if (slash and (len(prefix) > 253 or not _DNS_SUBDOMAIN.match(prefix))) or len(name) > 63 or not _LABEL_NAME.match(name):
        raise problem(
            "label_key", f"`{value}` is not a label key", "[prefix/]name, the name at most 63 letters, digits, -, _ and ."
        )
    return value


def _duration(value: Any) -> Any:
    if isinstance(value, str):
        match = _DURATION.match(value)
        if not value or not match:
            raise problem("duration", f"`{value}` is not a duration", "write days, hours, minutes and seconds, as in 5m or 1d12h")
        days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
        return ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    raise problem("duration", "a duration is text", "write it as in 5m or 1d12h")


def _role_arn(value: str) -> str:
    if not _ROLE_ARN.match(value):
        raise problem("role_arn", f"`{value}` is not the ARN of an IAM role", "arn:aws:iam::<12 digits>:role/<name>")
    return value


def _unique(values: tuple[str, ...]) -> tuple[str, ...]:
    seen: set[str] = set()
    for value in values:
        if value in seen:
            raise problem("duplicate_item", f"`{value}` stands twice", "keep one")
        seen.add(value)
    return values


def _as_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


TeamName = Annotated[str, _dns_label(TEAM_NAME_LIMIT)]
"""1–40 characters (SageMaker API, ComputeQuotaTarget.TeamName)."""
ClassName = Annotated[str, _dns_label(40)]
"""1–40 characters (SageMaker API, PriorityClass.Name)."""
Name = Annotated[str, _dns_label(63)]
"""A DNS label: 1–63 lower-case letters, digits and hyphens."""
ObjectName = Annotated[str, AfterValidator(_subdomain)]
"""A DNS subdomain: 1–253 characters."""
LabelKey = Annotated[str, AfterValidator(_label_key)]
LabelValue = Annotated[str, AfterValidator(_label_value)]
Labels = dict[LabelKey, LabelValue]
RoleArn = Annotated[str, AfterValidator(_role_arn)]
Seconds = Annotated[int, BeforeValidator(_duration), Field(ge=1)]
"""A duration of at least a second; written `5m`, `1d12h`; held in seconds."""
Count = Annotated[int, Field(ge=0, le=MAX_AMOUNT)]
Amount = Annotated[float, Field(gt=0, le=MAX_AMOUNT)]
"""A positive amount (vCPU, GiB); fractions allowed."""


def Words(item: Any) -> Any:  # noqa: N802 - reads as a type
    """A list of distinct items, held as a tuple."""
    return Annotated[tuple[item, ...], BeforeValidator(_as_tuple), AfterValidator(_unique)]
