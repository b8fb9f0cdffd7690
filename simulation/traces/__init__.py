"""Jobs to replay: from a file, drawn at random, or from a running cluster.

`reading.read_trace(path, root, clusters, seed)`: YAML or CSV, held against one plan of a cluster, or against two to compare.
`quick.quick_trace(Quick(…), clusters)`: a plausible load for every team, from its quota.
`live.from_cluster(reader, plan)`: the Workloads of a cluster.
`sides.submittable(trace, plan)`: what of it can be submitted on one side of a comparison.
"""
