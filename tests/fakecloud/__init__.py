"""A fake AWS account for engine tests, served as Pulumi providers on loopback. See :class:`FakeCloud`.

Oracles are published ones, read at test time: the installed SDK packages (names and types of properties), the CloudFormation
schemas and IAM's grammar that cfn-lint carries, and botocore's model of SageMaker.
"""

from __future__ import annotations

from fakecloud.calls import AwsError, Call, Fault
from fakecloud.cloud import FakeCloud
from fakecloud.world import Thing

__all__ = ["AwsError", "Call", "FakeCloud", "Fault", "Thing"]
