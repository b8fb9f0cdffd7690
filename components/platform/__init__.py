"""The platform layer: network, EKS, HyperPod and all that they stand on."""
