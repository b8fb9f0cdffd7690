"""What a pod requests, against a count of its own: what is held at each moment of the pod's life."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from live.podamounts import amounts_of, pod_amounts

_AMOUNTS = st.dictionaries(
    st.sampled_from(["cpu", "memory", "nvidia.com/gpu"]),
    st.sampled_from(["0", "1", "2", "8", "100m", "1500m", "1Gi"]),
    max_size=3,
)
_CONTAINER = st.fixed_dictionaries({"resources": st.fixed_dictionaries({}, optional={"requests": _AMOUNTS, "limits": _AMOUNTS})})
_STARTING = st.builds(
    lambda container, stays: container | ({"restartPolicy": "Always"} if stays else {}), _CONTAINER, st.booleans()
)
_PODS = st.fixed_dictionaries(
    {"containers": st.lists(_CONTAINER, min_size=1, max_size=3)},
    optional={
        "initContainers": st.lists(_STARTING, max_size=4),
        "overhead": _AMOUNTS,
        "resources": st.fixed_dictionaries({"requests": _AMOUNTS}),
    },
)


def counted(spec: dict[str, Any]) -> Counter[str]:
    """The most that is held at one moment; `Counter` leaves out what is 0."""
    stays: Counter[str] = Counter()
    peak: Counter[str] = Counter()
    for container in spec.get("initContainers", ()):
        asked = Counter(_asked(container))
        peak |= stays + asked
        stays += asked if container.get("restartPolicy") == "Always" else Counter()
    peak |= sum((Counter(_asked(container)) for container in spec["containers"]), stays)
    whole = amounts_of(spec.get("resources", {}).get("requests"))
    return Counter({**peak, **whole}) + Counter(amounts_of(spec.get("overhead")))


def _asked(container: dict[str, Any]) -> dict[str, int]:
    return amounts_of({**container["resources"].get("limits", {}), **container["resources"].get("requests", {})})


@given(_PODS)
def test_a_pod_takes_the_most_that_it_holds_at_once(spec: dict[str, Any]) -> None:
    assert {name: amount for name, amount in pod_amounts(spec).items() if amount} == dict(counted(spec))
