"""The catalogue of instance types: what one instance of each `ml.*` type of SageMaker HyperPod holds.

The numbers, their sources and where these disagree stand in `instance_types.csv`, which has every value of
the SageMaker API's `ClusterInstanceType`.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

RESOURCES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "nvidia": "nvidia.com/gpu",
        "trainium": "aws.amazon.com/neurondevice",
        "inferentia": "aws.amazon.com/neurondevice",
    }
)
"""Extended resource by accelerator kind, as HyperPod task governance counts it."""

MIG_PARTITIONS: Final = (
    "mig-1g.5gb",
    "mig-1g.10gb",
    "mig-1g.18gb",
    "mig-1g.20gb",
    "mig-1g.23gb",
    "mig-1g.35gb",
    "mig-1g.45gb",
    "mig-1g.47gb",
    "mig-2g.10gb",
    "mig-2g.20gb",
    "mig-2g.35gb",
    "mig-2g.45gb",
    "mig-2g.47gb",
    "mig-3g.20gb",
    "mig-3g.40gb",
    "mig-3g.71gb",
    "mig-3g.90gb",
    "mig-3g.93gb",
    "mig-4g.20gb",
    "mig-4g.40gb",
    "mig-4g.71gb",
    "mig-4g.90gb",
    "mig-4g.93gb",
    "mig-7g.40gb",
    "mig-7g.80gb",
    "mig-7g.141gb",
    "mig-7g.180gb",
    "mig-7g.186gb",
)
"""Partitions that a managed quota may name (SageMaker API, MIGProfileType). B300's are not among them."""

MIG_SLICES: Final = 7
"""Compute slices of a GPU that can be partitioned; SageMaker divides vCPU and memory by them."""

_MIG_PROFILE = re.compile(r"mig-([1-7])g\.\d+gb\Z")


class UnknownInstanceTypeError(KeyError):
    """A name that is no instance type of HyperPod. `str()` is a sentence, with the nearest name if any."""

    def __init__(self, name: str) -> None:
        near = suggest(name)
        hint = f"; did you mean `{near}`?" if near else ""
        self.message = f"`{name}` is not an instance type of HyperPod{hint}"
        super().__init__(self.message)

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True, slots=True)
class InstanceType:
    """One instance type. A number that is not known is None."""

    name: str
    """As the SageMaker API spells it: `ml.p5.48xlarge`."""
    family: str
    """What stands between `ml.` and the size: `p5`, `p6-b200`."""
    vcpu: int | None
    """vCPUs of the specification; a node allocates fewer."""
    memory_mib: int | None
    """Memory of the specification, in MiB; a node allocates less."""
    accelerator: str | None
    """Kind: `nvidia`, `trainium`, `inferentia`; None for a CPU type."""
    accelerators: int | None
    """GPUs or Neuron devices, as Kubernetes counts them; 0 for a CPU type."""
    model: str
    """Model and memory of one accelerator: `H100 80GB`; empty for a CPU type."""
    resource: str | None
    """Extended resource: `nvidia.com/gpu`, `aws.amazon.com/neurondevice`; None for a CPU type."""
    efa: int | None
    """Most EFA interfaces (`vpc.amazonaws.com/efa`); 0 without EFA. May be None on a type that is `known`."""
    network_layers: int
    """Layers of the network that a node's topology labels name: 0, 3 or 4. Layer 1 is the farthest.

    By AWS's list of types for HyperPod's topology-aware scheduling. EC2's longer list gives the fourth
    layer of `p6-b200` and `p6-b300`; its g6e and g7e stay at 0, since HyperPod promises no labels on them.
    """
    mig_profiles: tuple[str, ...]
    """Partitions of one GPU: `mig-1g.10gb`, …; those not in MIG_PARTITIONS can't be in a managed quota."""

    @property
    def known(self) -> bool:
        """Whether vCPU, memory and accelerators are known, so that quotas of the type can be computed."""
        return None not in (self.vcpu, self.memory_mib, self.accelerators)


@cache
def instance_types() -> Mapping[str, InstanceType]:
    """All instance types by name; read once."""
    with Path(__file__).with_name("instance_types.csv").open(encoding="utf-8", newline="") as lines:
        return MappingProxyType({found.name: found for found in parse(lines)})


def parse(lines: Iterable[str]) -> Iterator[InstanceType]:
    """Instance types of a CSV with a row of column names; lines that begin with `#` are comments."""
    for row in csv.DictReader(line for line in lines if not line.startswith("#")):
        accelerator = row["accelerator"] or None
        yield InstanceType(
            name=row["name"],
            family=row["name"].split(".")[1],
            vcpu=_number(row["vcpu"]),
            memory_mib=_number(row["memory_mib"]),
            accelerator=accelerator,
            accelerators=_number(row["accelerators"]),
            model=row["model"],
            resource=RESOURCES[accelerator] if accelerator else None,
            efa=_number(row["efa"]),
            network_layers=int(row["network_layers"]),
            mig_profiles=tuple(row["mig_profiles"].split()),
        )


def _number(cell: str) -> int | None:
    return int(cell) if cell else None


def instance_type(name: str) -> InstanceType:
    """The type of that name. Raises UnknownInstanceTypeError, a KeyError that says what was likely meant."""
    try:
        return instance_types()[name]
    except KeyError:
        raise UnknownInstanceTypeError(name) from None


@cache
def families() -> tuple[str, ...]:
    """Families that have a type, usable as quota keys: `p5`, `g6e`, …"""
    return tuple(dict.fromkeys(found.family for found in instance_types().values()))


def accelerator_kinds() -> tuple[str, ...]:
    """Accelerator kinds, usable as quota keys. The SageMaker API has no cluster type with inferentia yet."""
    return tuple(RESOURCES)


@cache
def suggest(name: str) -> str | None:
    """The instance type most like the name (`p5.48xlarge` → `ml.p5.48xlarge`); None where none is near.

    A family that is right, or begins right, is kept: `ml.p6.48xlarge` → a P6, not `ml.p5.48xlarge`.
    """
    from difflib import get_close_matches  # only for messages: not worth its import on a good run

    wanted = name.strip().lower()
    if not wanted.startswith("ml."):
        wanted = f"ml.{wanted}"
    if wanted in instance_types():
        return wanted
    family, dot, _ = wanted.removeprefix("ml.").partition(".")
    names = tuple(instance_types())
    relatives = [known for known in names if known.startswith(f"ml.{family}.")]
    if not relatives and dot:
        relatives = [known for known in names if known.startswith(f"ml.{family}")]
    near = get_close_matches(wanted, relatives, 1) or get_close_matches(wanted, names, 1, cutoff=0.8)
    return near[0] if near else None


def mig_slices(profile: str) -> int:
    """Compute slices of a MIG profile, 1 to 7: `mig-3g.40gb` → 3. Raises ValueError for anything else."""
    match = _MIG_PROFILE.match(profile)
    if not match:
        raise ValueError(f"`{profile}` is not a MIG profile such as `mig-3g.40gb`")
    return int(match[1])
