"""The words of the declarations: names, amounts, durations and labels, each with its rule and the rule's source."""

from __future__ import annotations

import re
from bisect import bisect
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from config.findings import quoted

TEAM_NAME_LIMIT = 40
"""Longest team name: `hyperpod-ns-<team>-localqueue` is a label's value, and these hold 63 characters."""
MAX_AMOUNT = 10_000_000
"""Largest count in one quota entry (SageMaker API, ComputeQuotaResourceConfig.Count)."""

MAX_SECONDS = 999_999_999
"""Longest duration, about 31 years: Kueue holds run times in 32 bits."""

_DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?\Z")
_DNS_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\Z")
_LABEL_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?\Z")
_NO_TIME = re.compile(r"0{1,9}[dhms]\Z")
_DURATION = re.compile(r"(?:([0-9]{1,9})d)?(?:([0-9]{1,9})h)?(?:([0-9]{1,9})m)?(?:([0-9]{1,9})s)?\Z")
_ROLE_ARN = re.compile(r"arn:aws[a-z-]*:iam::[0-9]{12}:role/[A-Za-z0-9_+=,.@/-]{1,512}\Z")


class Model(BaseModel):
    """Base of every declaration: strict types, no unknown keys, immutable once read."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", allow_inf_nan=False)


def problem(kind: str, message: str, remedy: str, **context: Any) -> PydanticCustomError:
    """A validation error with a remedy of its own. Braces in values are safe: they travel in the context."""
    return PydanticCustomError(kind, "{text}", {"text": message, "remedy": remedy, **context})


def _dns_label(limit: int) -> AfterValidator:
    def check(value: str) -> str:
        if len(value) > limit:
            raise problem("name_too_long", f"{quoted(value)} has {len(value)} characters; at most {limit}", "shorten it")
        if not _DNS_LABEL.match(value):
            raise problem(
                "name_syntax",
                f"{quoted(value)} is not a name of lower-case letters, digits and hyphens",
                "use these alone; start and end with a letter or digit",
            )
        return value

    return AfterValidator(check)


def _subdomain(value: str) -> str:
    if len(value) > 253 or not _DNS_SUBDOMAIN.match(value):
        raise problem(
            "name_syntax", f"{quoted(value)} is not a Kubernetes object name", "lower-case letters, digits, - and ., at most 253"
        )
    return value


def _label_value(value: str) -> str:
    if len(value) > 63 or (value and not _LABEL_NAME.match(value)):
        raise problem("label_value", f"{quoted(value)} is not a label value", "at most 63 letters, digits, -, _ and .")
    return value


def _label_key(value: str) -> str:
    prefix, slash, name = value.rpartition("/")
    if (slash and (len(prefix) > 253 or not _DNS_SUBDOMAIN.match(prefix))) or len(name) > 63 or not _LABEL_NAME.match(name):
        raise problem(
            "label_key", f"{quoted(value)} is not a label key", "[prefix/]name, the name at most 63 letters, digits, -, _ and ."
        )
    return value


def _duration(value: Any) -> Any:
    match = _DURATION.match(value) if isinstance(value, str) and value else None
    if not match:
        raise problem(
            "duration", f"{quoted(value)} is not a duration", "write days, hours, minutes and seconds, as in 5m or 1d12h"
        )
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    total = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    if not 1 <= total <= MAX_SECONDS:
        raise problem("duration", f"{quoted(value)} is out of range", f"from 1s to {MAX_SECONDS:,} seconds")
    return total


def _moment(value: Any) -> Any:
    if isinstance(value, str) and _NO_TIME.match(value):
        return 0
    if isinstance(value, (str, int, float)) and str(value).startswith("-"):
        raise problem("time_negative", f"{quoted(value)} lies before the beginning", "write 0s, or a duration after it")
    return _duration(value)


LOG_DAYS = (1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653)
"""Days that CloudWatch Logs can keep logs (PutRetentionPolicy)."""


def _log_days(value: int) -> int:
    if value not in LOG_DAYS:
        place = bisect(LOG_DAYS, value)
        near = " or ".join(str(days) for days in LOG_DAYS[max(0, place - 1) : place + 1])
        remedy = f"use {near}; PutRetentionPolicy in CloudWatch's reference lists them all"
        raise problem("log_days", f"{quoted(value)} is not a number of days that CloudWatch keeps logs for", remedy)
    return value


def _role_arn(value: str) -> str:
    if not _ROLE_ARN.match(value):
        raise problem("role_arn", f"{quoted(value)} is not the ARN of an IAM role", "arn:aws:iam::<12 digits>:role/<name>")
    return value


def _group(value: str) -> str:
    if value.startswith("system:"):
        raise problem(
            "group_reserved", f"{quoted(value)} is one of Kubernetes' own groups", "name a group of your identity provider"
        )
    return value


def _unique(values: tuple[str, ...]) -> tuple[str, ...]:
    seen: set[str] = set()
    for value in values:
        if value in seen:
            raise problem("duplicate_item", f"{quoted(value)} stands twice", "keep one")
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
GroupName = Annotated[str, Field(min_length=1, max_length=253), AfterValidator(_group)]
"""A Kubernetes group, 1–253 characters; not one of `system:`, which EKS refuses too."""
Seconds = Annotated[int, BeforeValidator(_duration)]
"""A duration from 1 second to about 31 years; written `5m`, `1d12h`; held in seconds."""
Moment = Annotated[int, BeforeValidator(_moment)]
"""Seconds since a beginning, from 0; written as a duration, `0s` for the beginning itself."""
LogDays = Annotated[int, AfterValidator(_log_days)]
"""Days that logs are kept, one of `LOG_DAYS`."""
Count = Annotated[int, Field(ge=0, le=MAX_AMOUNT)]
Amount = Annotated[float, Field(ge=0.001, le=MAX_AMOUNT)]
"""An amount of vCPU or GiB from 0.001; fractions below 1 m vCPU or 1 MiB are dropped."""


def List(item: Any) -> Any:  # noqa: N802 - reads as a type
    """A list, held as a tuple."""
    return Annotated[tuple[item, ...], BeforeValidator(_as_tuple)]


def Words(item: Any) -> Any:  # noqa: N802 - reads as a type
    """A list of distinct items, held as a tuple."""
    return Annotated[tuple[item, ...], BeforeValidator(_as_tuple), AfterValidator(_unique)]
