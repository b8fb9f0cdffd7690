"""Ways to AWS's services that don't leave the VPC."""

from collections.abc import Sequence

import pulumi
import pulumi_aws as aws

from components.base import PlatformComponent
from components.platform.security import declare_rule
from governance.platform.model import PlatformPlan
from governance.platform.rules import Rule, blocks


class Endpoints(PlatformComponent, module="platform"):
    """The gateway endpoint of S3, which costs nothing, and interface endpoints where the plan has them."""

    s3_prefix_list: pulumi.Output[str]
    """Id of S3's prefix list, for rules of security groups in a closed network."""
    ready: list[pulumi.Resource]

    def __init__(
        self,
        name: str,
        plan: PlatformPlan,
        vpc_id: pulumi.Input[str],
        subnets: Sequence[pulumi.Input[str]],
        tables: Sequence[pulumi.Input[str]],
        opts: pulumi.ResourceOptions,
    ) -> None:
        super().__init__(name, {"cluster": plan.cluster, "services": list(plan.network.endpoints)}, opts)
        gateway = aws.ec2.VpcEndpoint(
            self.child_name("s3"),
            vpc_id=vpc_id,
            service_name=service_name(plan, "s3"),
            vpc_endpoint_type="Gateway",
            route_table_ids=list(tables),
            tags=self._tags(plan, "s3"),
            opts=self.child_options(),
        )
        self.s3_prefix_list = gateway.prefix_list_id
        self.ready = [gateway]
        if plan.network.endpoints:
            self.ready += self._interfaces(plan, vpc_id, subnets)
        self.finish()

    def _interfaces(
        self, plan: PlatformPlan, vpc_id: pulumi.Input[str], subnets: Sequence[pulumi.Input[str]]
    ) -> list[pulumi.Resource]:
        group = aws.ec2.SecurityGroup(
            self.child_name("group"),
            name=f"{plan.names.prefix}-endpoints",
            description="Interface endpoints of AWS services",
            vpc_id=vpc_id,
            tags=self._tags(plan, "endpoints"),
            opts=self.child_options(),
        )
        rules = [
            declare_rule(
                self,
                plan,
                group.id,
                Rule("ingress", "tcp", 443, 443, cidr=block, name=f"https-in-{index}", description="HTTPS from the VPC"),
            )
            for index, block in enumerate(blocks(plan))
        ]
        return [
            *rules,
            *(
                aws.ec2.VpcEndpoint(
                    self.child_name(service),
                    vpc_id=vpc_id,
                    service_name=service_name(plan, service),
                    vpc_endpoint_type="Interface",
                    private_dns_enabled=True,
                    subnet_ids=list(subnets),
                    security_group_ids=[group.id],
                    tags=self._tags(plan, service),
                    opts=self.child_options(),
                )
                for service in plan.network.endpoints
            ),
        ]

    def _tags(self, plan: PlatformPlan, part: str) -> dict[str, str]:
        return {**plan.tags, "Name": f"{plan.names.prefix}-{part}"}


def service_name(plan: PlatformPlan, service: str) -> str:
    """The endpoint service of the region."""
    return f"com.amazonaws.{plan.declared.region}.{service}"
