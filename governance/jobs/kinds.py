"""Kinds of jobs, and how Kueue takes part in each.

Kueue 0.16 suspends and admits Job, PyTorchJob, RayJob, JobSet and TrainJob as wholes, by the labels of the object. A Deployment
is admitted pod by pod; its webhook copies the labels to the pod template. HyperPodPyTorchJob is integrated by HyperPod's
training operator (`externalFrameworks`), a Workspace by the Deployment that its operator
makes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

HYPERPOD_JOB_FRAMEWORK: Final = "HyperPodPytorchJob.v1.sagemaker.amazonaws.com"
"""As AWS's documentation writes it for `externalFrameworks`."""
_NAME: Final = 50
"""Longest name of most kinds: what controllers append to it still has to fit into 63 characters."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of object that a job can be."""

    name: str
    """As --kind names it."""
    api: str
    kind: str
    plural: str
    frameworks: tuple[str, ...]
    """`integrations.frameworks` that must be on; or the external one."""
    longest_name: int = _NAME
    ends: bool = True
    """Whether it is work that ends, which a maximum run time concerns."""
    single: bool = False
    """Whether it is one pod."""
    elastic: bool = False
    needs_image: bool = True

    @property
    def path(self) -> str:
        """The API's path, before the namespace."""
        return f"/apis/{self.api}" if "/" in self.api else f"/api/{self.api}"


KINDS: Final = {
    kind.name: kind
    for kind in (
        Kind("job", "batch/v1", "Job", "jobs", ("batch/job",), elastic=True),
        Kind("pytorchjob", "kubeflow.org/v1", "PyTorchJob", "pytorchjobs", ("kubeflow.org/pytorchjob",)),
        Kind(
            "hyperpodpytorchjob",
            "sagemaker.amazonaws.com/v1",
            "HyperPodPyTorchJob",
            "hyperpodpytorchjobs",
            (HYPERPOD_JOB_FRAMEWORK,),
            elastic=True,
        ),
        # KubeRay refuses longer ones.
        Kind("rayjob", "ray.io/v1", "RayJob", "rayjobs", ("ray.io/rayjob",), longest_name=47),
        Kind("jobset", "jobset.x-k8s.io/v1alpha2", "JobSet", "jobsets", ("jobset.x-k8s.io/jobset",)),
        Kind("trainjob", "trainer.kubeflow.org/v1alpha1", "TrainJob", "trainjobs", ("trainer.kubeflow.org/trainjob",)),
        Kind("deployment", "apps/v1", "Deployment", "deployments", ("deployment", "pod"), ends=False),
        Kind(
            "space",
            "workspace.jupyter.org/v1alpha1",
            "Workspace",
            "workspaces",
            ("deployment", "pod"),
            ends=False,
            single=True,
            needs_image=False,
        ),
        Kind("pod", "v1", "Pod", "pods", ("pod",), single=True),
    )
}
SERVICE: Final = Kind("service", "v1", "Service", "services", (), ends=False)
"""What gives the pods of a Job names."""
BY_OBJECT: Final = {(kind.api, kind.kind): kind for kind in (*KINDS.values(), SERVICE)}

MANAGED_FRAMEWORKS: Final = frozenset(
    ("batch/job", "kubeflow.org/pytorchjob", "ray.io/rayjob", "pod", "deployment", HYPERPOD_JOB_FRAMEWORK)
)
"""What AWS's add-on for task governance is known to queue."""
