"""Where HyperPod's dependency chart comes from. It is in no registry of charts."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from config.vocabulary import Model, problem

CHART_REPOSITORY = "https://github.com/aws/sagemaker-hyperpod-cli.git"
CHART_COMMIT = "9f496a6364759553f73ff534434a057ef4bdc004"
"""The commit that AWS's own Terraform modules pin."""
CHART_FOLDER = "helm_chart/HyperPodHelmChart"


class ChartSource(Model):
    """One of: a git repository at a commit (default: AWS's), an OCI reference, a local folder or archive."""

    repository: Annotated[str, Field(pattern=r"^(https|ssh|file)://\S+$|^git@\S+$")] | None = None
    """Git repository, AWS's or a mirror of it."""
    commit: Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")] = CHART_COMMIT
    """The commit; git's own hash of the content, which is verified after the download."""
    folder: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*$")] = CHART_FOLDER
    """The chart's folder in the repository."""
    oci: Annotated[str, Field(pattern=r"^oci://\S+$")] | None = None
    """OCI reference of a copy of the chart in a registry of your own."""
    version: Annotated[str, Field(min_length=1, max_length=64)] | None = None
    """Version of that copy."""
    path: Annotated[str, Field(min_length=1)] | None = None
    """Local folder or archive, from the project's folder."""
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None
    """Digest of the chart's files; checked for a repository and a path. A refusal tells the one that was found."""
    values: dict[str, object] = Field(default_factory=dict)
    """Further values for the chart, merged over ours."""

    @model_validator(mode="after")
    def _one_source(self) -> ChartSource:
        given = [name for name in ("repository", "oci", "path") if getattr(self, name) is not None]
        if len(given) > 1:
            raise problem("chart_source", f"{' and '.join(given)} are given", "keep one of them")
        if (self.oci is None) != (self.version is None):
            message = "an OCI reference needs a version" if self.oci else "only an OCI reference has a version"
            raise problem("chart_version", message, "add `version:`" if self.oci else "remove it, or give `oci`")
        if self.oci is not None and self.sha256 is not None:
            raise problem(
                "chart_digest",
                "the digest of an OCI reference is not checked",
                "remove sha256; a registry has digests of its own",
            )
        for key in ("commit", "folder"):
            if key in self.model_fields_set and (self.oci or self.path):
                raise problem("chart_source", f"`{key}` belongs to a git repository", "remove it, or `oci` and `path`")
        return self
