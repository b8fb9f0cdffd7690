"""What a pod requests, counted twice: for the topology and simulations, and for `hpctl why`. Both have to say the same."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from live.topologyamounts import requests
from live.why.amounts import pod_amounts

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


@given(_PODS)
def test_both_count_the_same(spec: dict[str, Any]) -> None:
    assert {name: amount for name, amount in requests(spec).items() if amount} == {
        name: amount for name, amount in pod_amounts(spec).items() if amount
    }
