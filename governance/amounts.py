"""From what a quota entry says to exact amounts of every resource.

Filling rule (SageMaker API, ComputeQuotaResourceConfig, and what the service was seen to do): accelerators bring vCPU and memory
in proportion to the instance; vCPUs given bring memory by *their* proportion; memory alone brings vCPUs by its own; what is given
always stands. EFA interfaces follow the accelerators (the vCPUs on types without), rounded down. Whole instances add their full
specification. Several entries of one type add up, and what follows from them is rounded once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache

from config.catalogue import MIG_SLICES, InstanceType, mig_slices
from config.team import Amounts
from governance.units import CPU, EFA, MEMORY, Resources, mig_resource, times, total


class AmountError(Exception):
    """A quota entry that its instance type can't satisfy; `field` is the key at fault."""

    def __init__(self, kind: str, field_: str, message: str, remedy: str) -> None:
        super().__init__(message)
        self.kind, self.field, self.message, self.remedy = kind, field_, message, remedy


@dataclass(frozen=True, slots=True)
class Request:
    """One entry in base units; None where the entry is silent."""

    instances: int = 0
    accelerators: int | None = None
    cpu: int | None = None
    memory: int | None = None
    partitions: Mapping[str, int] = field(default_factory=dict)

    @property
    def whole(self) -> bool:
        """Whether it is of whole instances alone."""
        return (self.accelerators, self.cpu, self.memory) == (None,) * 3 and not self.partitions


def request_of(amounts: Amounts) -> Request:
    """The entry in base units; fractions of a milli-vCPU or MiB are dropped."""
    return Request(
        instances=amounts.instances or 0,
        accelerators=amounts.accelerators,
        cpu=None if amounts.vcpu is None else _base_units(amounts.vcpu, 1000),
        memory=None if amounts.memory_gib is None else _base_units(amounts.memory_gib, 1024),
        partitions=amounts.partitions,
    )


def _base_units(amount: float, units: int) -> int:
    """The amount as it was written, in decimal: 0.7 GiB are 716 MiB, whatever a binary float makes of 0.7."""
    return int(amount) * units if amount.is_integer() else int(Fraction(str(amount)) * units)


def specification(kind: InstanceType) -> dict[str, int]:
    """All that one instance has. Raises AmountError where the catalogue doesn't know the type's numbers."""
    return dict(_specification(kind))


@cache
def _specification(kind: InstanceType) -> dict[str, int]:
    if not kind.known or kind.vcpu is None or kind.memory_mib is None:
        message = f"the catalogue has no numbers for {kind.name}"
        raise AmountError("instance-type-numbers", "", message, "use another type, or add its row to the catalogue")
    resources = {CPU: kind.vcpu * 1000, MEMORY: kind.memory_mib, EFA: kind.efa or 0}
    if kind.resource and kind.accelerators:
        resources[kind.resource] = kind.accelerators
    return resources


def resolve(request: Request, kind: InstanceType) -> dict[str, int]:
    """Amounts of every resource that the request means on this type; resources with none are left out.

    Raises AmountError for the first of `problems`.
    """
    for problem in problems(request, kind):
        raise problem
    return together((request,), kind)


def together(requests: Sequence[Request], kind: InstanceType) -> dict[str, int]:
    """The same for several requests of one type, none of which has `problems`.

    What follows by ratio follows from their sum: 3 GPUs and 1 GPU bring the EFA interfaces of 4.
    """
    if not requests:
        return {}
    whole = _specification(kind)
    beyond = total(_granular(request, kind, whole) for request in _alike(requests))
    beyond[EFA] = _efa(whole, beyond.get(kind.resource or "", 0), beyond[CPU], kind)
    parts = total((times(whole, sum(request.instances for request in requests)), beyond))
    return {name: amount for name, amount in parts.items() if amount}


def _alike(requests: Sequence[Request]) -> Iterable[Request]:
    """Requests that the filling rule treats in one way, added up; apart from whole instances."""
    if len(requests) == 1:
        return requests
    sums: dict[tuple[bool, bool, bool], Request] = {}
    for request in requests:
        shape = (bool(request.accelerators or request.partitions), request.cpu is None, request.memory is None)
        sums[shape] = _sum(sums[shape], request) if shape in sums else request
    return sums.values()


def _sum(one: Request, other: Request) -> Request:
    """Both of one shape, hence silent on the same amounts."""
    return Request(
        accelerators=(one.accelerators or 0) + (other.accelerators or 0),
        cpu=None if one.cpu is None or other.cpu is None else one.cpu + other.cpu,
        memory=None if one.memory is None or other.memory is None else one.memory + other.memory,
        partitions=total((one.partitions, other.partitions)),
    )


def problems(request: Request, kind: InstanceType) -> Iterator[AmountError]:
    """Why the type can't satisfy the request: unknown numbers, devices or MIG profiles that it doesn't have."""
    try:
        _specification(kind)
    except AmountError as error:
        yield error
        return
    if request.accelerators and not kind.accelerators:
        remedy = "give instances, vcpu or memory_gib"
        yield AmountError("accelerators-none", "accelerators", f"{kind.name} has no accelerators", remedy)
    for profile in request.partitions:
        if profile not in kind.mig_profiles:
            known = ", ".join(f"`{p}`" for p in kind.mig_profiles)
            remedy = f"it has {known}" if known else "use a type whose GPUs MIG can divide"
            message = f"{kind.name} has no MIG profile `{profile}`"
            yield AmountError("mig-profile-type", f"partitions.{profile}", message, remedy)


def _granular(request: Request, kind: InstanceType, whole: Resources) -> dict[str, int]:
    """The part of the request beyond whole instances, without EFA interfaces."""
    devices = request.accelerators or 0
    slices = sum(count * mig_slices(profile) for profile, count in request.partitions.items())
    cpu, memory = _fill(request, whole, devices * MIG_SLICES + slices, (kind.accelerators or 0) * MIG_SLICES)
    result = {CPU: cpu, MEMORY: memory}
    if kind.resource and devices:
        result[kind.resource] = devices
    return result | {mig_resource(profile): count for profile, count in request.partitions.items()}


def _fill(request: Request, whole: Resources, slices: int, of: int) -> tuple[int, int]:
    """vCPU and memory: as given, else by the ratio of what is given; accelerators count in `slices` of an instance's `of`."""
    if request.cpu is not None:
        memory = request.memory if request.memory is not None else request.cpu * whole[MEMORY] // whole[CPU]
        return request.cpu, memory
    if not slices:
        memory = request.memory or 0
        return memory * whole[CPU] // whole[MEMORY], memory
    memory = request.memory if request.memory is not None else whole[MEMORY] * slices // of
    return whole[CPU] * slices // of, memory


def _efa(whole: Resources, devices: int, cpu: int, kind: InstanceType) -> int:
    if kind.accelerators:
        return whole[EFA] * devices // kind.accelerators
    return whole[EFA] * cpu // whole[CPU]


def apportion(amount: int, weights: Sequence[int]) -> list[int]:
    """Split an amount in proportion to the weights by largest remainder; earlier wins a tie. All weights 0: equal parts."""
    if not any(weights):
        weights = [1] * len(weights)
    whole = sum(weights)
    parts = [amount * weight // whole for weight in weights]
    by_remainder = sorted(range(len(weights)), key=lambda i: (-(amount * weights[i] % whole), i))
    for index in by_remainder[: amount - sum(parts)]:
        parts[index] += 1
    return parts


def expand(request: Request, kinds: Sequence[tuple[InstanceType, int]]) -> dict[str, Request]:
    """A request for a family or accelerator kind, split over types: each amount in proportion to what their nodes have.

    `kinds` are the types with the number of their nodes. The parts sum to the whole. Raises AmountError where a type's numbers
    are not known, or no type has a MIG profile.
    """
    counts = [count for _, count in kinds]
    specs = [specification(kind) for kind, _ in kinds]

    def split(amount: int | None, per_node: Sequence[int]) -> list[int | None]:
        if amount is None:
            return [None] * len(kinds)
        return list(apportion(amount, [n * c for n, c in zip(per_node, counts, strict=True)]))

    instances = split(request.instances, [1] * len(kinds))
    accelerators = split(request.accelerators, [kind.accelerators or 0 for kind, _ in kinds])
    cpu = split(request.cpu, [spec[CPU] for spec in specs])
    memory = split(request.memory, [spec[MEMORY] for spec in specs])
    partitions = [_split_partitions(request.partitions, kinds, index) for index in range(len(kinds))]
    return {
        kind.name: Request(instances[i] or 0, accelerators[i], cpu[i], memory[i], partitions[i])
        for i, (kind, _) in enumerate(kinds)
    }


def _split_partitions(partitions: Mapping[str, int], kinds: Sequence[tuple[InstanceType, int]], index: int) -> dict[str, int]:
    result = {}
    for profile, amount in partitions.items():
        able = [i for i, (kind, _) in enumerate(kinds) if profile in kind.mig_profiles]
        if not able:
            raise AmountError(
                "mig-profile-type",
                f"partitions.{profile}",
                f"no type of the cluster has the MIG profile `{profile}`",
                "choose another",
            )
        if index in able:
            part = apportion(amount, [(kinds[i][0].accelerators or 0) * kinds[i][1] for i in able])[able.index(index)]
            if part:
                result[profile] = part
    return result
