"""The managed backend: the EKS add-on for task governance, and SageMaker's scheduler configuration and compute quotas."""
