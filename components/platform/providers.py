"""The account's providers: explicit, bound to one region, and refusing every other account."""

import pulumi
import pulumi_aws as aws
import pulumi_aws_native as aws_native
import pulumi_eks as eks

from governance.platform.model import PlatformPlan


def cloud_providers(plan: PlatformPlan) -> tuple[pulumi.ProviderResource, pulumi.ProviderResource]:
    """Providers of pulumi-aws and pulumi-aws-native. Credentials come from the environment, as everywhere on AWS."""
    account = [plan.declared.account]
    return (
        aws.Provider(plan.cluster, region=plan.declared.region, allowed_account_ids=account),
        aws_native.Provider(plan.cluster, region=plan.declared.region, allowed_account_ids=account),
    )


def eks_provider(plan: PlatformPlan) -> pulumi.ProviderResource:
    """The provider of pulumi-eks's component, which itself works through the account's. Default providers are switched off."""
    return eks.Provider(plan.cluster)
