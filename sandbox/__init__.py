"""A real control plane, Kueue and Pulumi engine on one machine: no root, no containers, no cloud account."""
