"""Declarations that use every field between them: free of errors, on either backend."""

from __future__ import annotations

from typing import Any

from strategies import API_VERSION, ProjectData

from config.yamlsource import parse

_KUEUE = """
description: Everything that Kueue can be asked for
clusters:
  main:
    kind: existing
    kubeconfig: ~/.kube/config
    context: main
    sandbox: false
    kueue:
      version: 0.16.6
      chart: oci://example.com/charts/kueue
      namespace: queues
      install: true
      replicas: 2
      client_qps: 60
      client_burst: 90
      frameworks: [batch/job, pod]
      external_frameworks: [Example.v1.example.com]
      exclude_resources: [example.com/ignored]
      feature_gates: {TopologyAwareScheduling: true}
    instance_groups:
      h100:
        instance_type: ml.p5.48xlarge
        count: 4
        labels: {example.com/pool: training}
        taints: [{key: reserved, value: "yes", effect: NoSchedule}, {key: bare, effect: NoExecute}]
        network: {nodes_per_block: 2, blocks_per_spine: 2, spines_per_core: 2}
        availability_zone: us-west-2a
      mig: {instance_type: ml.p4d.24xlarge, count: 1, partitions: {mig-1g.5gb: 7}}
      trn: {instance_type: ml.trn1.32xlarge, count: 1}
      cpu: {instance_type: ml.m5.4xlarge, count: 9}
governance:
  backend: kueue
  task_ranking: priority_classes
  overcommit: allow
  idle_compute: first_come_first_served
  idle_sharing: true
  enforce_queue_label: true
  priority_classes: {high: {weight: 90, description: First}, low: {weight: -5}}
  gang:
    {timeout: 5m, recovery_timeout: 3m, block_admission: true, requeue_from: creation, backoff_base: 30s, backoff_max: 1h,
     backoff_limit: 5}
  departments: {research: {weight: 3}, labs: {parent: research}}
  topology:
    enabled: true
    levels: [topology.k8s.aws/network-node-layer-2, topology.k8s.aws/network-node-layer-3, kubernetes.io/hostname]
teams: {select: {tier: gold}}
waivers: {efa-unknown: {reason: not of interest here, until: 2999-01-01}}
"""
_KUEUE_TEAMS = {
    "alpha": """
name: alpha
description: Asks for all that there is
quota:
  ml.p5.48xlarge: {instances: 1, accelerators: 3, vcpu: 50, memory_gib: 100}
  ml.m5.4xlarge: {vcpu: 1.5}
  p4d: {partitions: {mig-1g.5gb: 2}}
extra_quota:
  deadline:
    quota:
      ml.p5.48xlarge: {instances: 1, accelerators: 1, vcpu: 24, memory_gib: 256}
      p4d: {partitions: {mig-1g.5gb: 1}}
    until: 2999-01-01
    reason: a paper is due
largest_job:
  ml.p5.48xlarge: {instances: 1, accelerators: 1, vcpu: 24, memory_gib: 256}
  ml.p4d.24xlarge: {partitions: {mig-1g.5gb: 1}}
weight: 10
sharing:
  strategy: lend_and_borrow
  borrow:
    ml.p5.48xlarge: {instances: 1, accelerators: 2, vcpu: 60, memory_gib: 80}
    ml.p4d.24xlarge: {partitions: {mig-1g.5gb: 1}}
  lend:
    ml.p5.48xlarge: {accelerators: 2, vcpu: 10, memory_gib: 20}
    ml.m5.4xlarge: {vcpu: 1}
    ml.p4d.24xlarge: {partitions: {mig-1g.5gb: 1}}
preemption: never
default_priority: high
access: {groups: [people], iam_roles: ["arn:aws:iam::111122223333:role/alpha"]}
state: active
labels: {tier: gold}
clusters: [main]
only: [dev]
department: labs
names: {namespace: own, cluster_queue: own.queue, local_queue: q}
default_queue: true
max_pods: 7
flavors: [ml.m5.4xlarge]
max_run_time: 1h
waivers: {iam-roles-unused: {reason: they come in otherwise, until: 2999-01-01}}
""",
    "beta": """
quota: {trainium: {accelerators: 5}, ml.p5.48xlarge: {instances: 2}}
sharing: {strategy: lend_and_borrow, borrow_limit: 50, lend_limit: 33}
labels: {tier: gold}
weight: 3
""",
    "gamma": """
quota: {ml.p5.48xlarge: {instances: 1}}
sharing: {strategy: lend, lend: {ml.p5.48xlarge: {instances: 1}}}
labels: {tier: gold}
state: held
""",
}
_GROUPS = """
      system: {instance_type: ml.m5.4xlarge, count: 3, bootstrap: false, volumes: [{root: true}]}
      h100:
        instance_type: ml.p5.48xlarge
        count: 4
        min_count: 1
        availability_zone: us-west-2a
        capacity: on_demand
        labels: {example.com/pool: training}
        taints: [{key: reserved, value: "yes", effect: NoSchedule}]
        threads_per_core: 2
        volumes: [{root: true, key: "KEY"}, {size_gib: 500, key: "KEY"}]
        fsx_lustre:
          - dns_name: fs-0123456789abcdef0.fsx.us-west-2.amazonaws.com
            mount_name: abcdefgh
            mount_path: /fsx
            availability_zone: us-west-2a
        fsx_openzfs:
          - dns_name: fs-0123456789abcdef1.fsx.us-west-2.amazonaws.com
            mount_path: /zfs
            availability_zone: us-west-2a
        deep_health_checks: [instance_stress]
        image_release: 1.2.3
        network_interface: efa
        network: {nodes_per_block: 2, blocks_per_spine: 2, spines_per_core: 2}
        scheduled_update:
          schedule: cron(0 3 ? * SUN *)
          deployment: {batch: {instances: 1}, rollback_batch: {percent: 50}, wait_seconds: 60, rollback_alarms: [alarm]}
      reserved:
        instance_type: ml.p5.48xlarge
        count: 2
        availability_zone: us-west-2a
        training_plan: arn:aws:sagemaker:us-west-2:111122223333:training-plan/h100
      mig: {instance_type: ml.p4d.24xlarge, count: 1, availability_zone: us-west-2b, partitions: {mig-3g.20gb: 8}}
      patched:
        instance_type: ml.g5.2xlarge
        count: 2
        flexible_types: [ml.g5.4xlarge]
        auto_patch:
          strategy: when_idle
          deployment: {batch: {percent: 50}, rollback_batch: {instances: 1}, wait_seconds: 60, rollback_alarms: [alarm]}
""".replace("KEY", "arn:aws:kms:us-west-2:111122223333:key/0a1b2c3d-0000-4000-8000-000000000000")
_MANAGED = f"""
description: Everything that a managed cluster can be asked for
clusters:
  main:
    kind: hyperpod
    account: "111122223333"
    region: us-west-2
    protection: true
    permissions_boundary: arn:aws:iam::111122223333:policy/boundary
    tags: {{cost-center: ml}}
    network:
      availability_zones: [us-west-2a, us-west-2b, us-west-2c]
      cidr: 10.64.0.0/16
      node_cidrs: {{us-west-2a: 10.80.0.0/16}}
      egress: nat
      interface_endpoints: true
      flow_log_days: 30
    eks:
      name: the-eks
      version: "1.33"
      admins: ["arn:aws:iam::111122223333:role/admin"]
      public_access_from: [203.0.113.0/24]
      private_access_from: [10.0.0.0/16]
      secrets_key: arn:aws:kms:us-west-2:111122223333:key/0a1b2c3d-0000-4000-8000-000000000001
      log_days: 30
      addons: {{vpc-cni: v1.20.0-eksbuild.1}}
    hyperpod:
      name: the-cluster
      node_recovery: automatic
      continuous_provisioning: true
      karpenter: false
      tiered_storage: {{memory_percent: 20}}
      execution_role: arn:aws:iam::111122223333:role/execution
      volume_key: arn:aws:kms:us-west-2:111122223333:key/0a1b2c3d-0000-4000-8000-000000000002
      lifecycle: {{source_uri: "s3://sagemaker-scripts/on-create", script: on_create.sh, when: on_create}}
      chart: {{oci: oci://example.com/charts/hyperpod, version: 1.2.3, values: {{some.value: "1"}}}}
    instance_groups:{_GROUPS}
    task_governance: {{version: v1.6.0-eksbuild.1, scheduler_name: the-policy, scheduler_description: As it was}}
governance:
  backend: managed
  priority_classes: {{high: {{weight: 90, description: First}}, low: {{weight: 5}}}}
  idle_sharing: true
  overcommit: allow
"""
_MANAGED_TEAMS = {
    "alpha": """
quota:
  ml.p5.48xlarge: {instances: 1, accelerators: 3}
  ml.m5.4xlarge: {vcpu: 1.5, memory_gib: 3}
  ml.p4d.24xlarge: {partitions: {mig-3g.20gb: 2}}
weight: 10
sharing: {strategy: lend_and_borrow, borrow: {ml.p5.48xlarge: {instances: 1}}}
access: {groups: [people], iam_roles: ["arn:aws:iam::111122223333:role/alpha"]}
default_priority: high
compute_quota: {name: the-quota, description: As it was}
""",
    "beta": "quota: {ml.p5.48xlarge: {accelerators: 8}}\nsharing: {borrow_limit: 50}\npreemption: never\nweight: 2\n",
    "gamma": "quota: {ml.m5.4xlarge: {instances: 1}}\nsharing: dont_lend\nstate: held\n",
}
_OTHER = """
description: What stands there already is used; Karpenter scales; some groups are restricted
clusters:
  main:
    kind: hyperpod
    account: "111122223333"
    region: us-west-2
    network:
      vpc: vpc-0123456789abcdef0
      subnets:
        us-west-2a: subnet-0123456789abcdef0
        us-west-2b: subnet-0123456789abcdef1
        us-west-2c: subnet-0123456789abcdef2
      control_plane_subnets: [subnet-0123456789abcdef0, subnet-0123456789abcdef1]
      security_group: sg-0123456789abcdef0
    eks: {existing: our-eks}
    hyperpod:
      karpenter: true
      continuous_provisioning: true
      lifecycle: {folder: lifecycle, script: on_create.sh}
      chart: {path: chart, values: {some.value: "1"}}
    instance_groups:
      system: {instance_type: ml.m5.4xlarge, count: 3}
      scaled: {instance_type: ml.g5.12xlarge, count: 2, availability_zone: us-west-2a, autoscaled: true}
    restricted_instance_groups:
      nova:
        instance_type: ml.p5.48xlarge
        count: 1
        availability_zone: us-west-2a
        deep_health_checks: [instance_connectivity]
        threads_per_core: 2
        training_plan: arn:aws:sagemaker:us-west-2:111122223333:training-plan/h100
        volumes: [{size_gib: 100}]
    restricted_file_system: {size_gib: 1200, throughput: 125, keep: true}
governance:
  backend: kueue
  topology: {enabled: false}
"""


_SMALL = """
clusters:
  main:
    kind: hyperpod
    account: "111122223333"
    region: us-west-2
    network: {availability_zones: [us-west-2a, us-west-2b, us-west-2c]}
    eks: {admins: ["arn:aws:iam::111122223333:role/admin"]}
    hyperpod:
      node_recovery: none
      chart:
        repository: https://git.example.com/hyperpod.git
        commit: 0123456789abcdef0123456789abcdef01234567
        folder: chart
        sha256: 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
    instance_groups:
      system: {instance_type: ml.m5.4xlarge, count: 3, image: ami-0123456789abcdef0}
      spot: {instance_type: ml.g5.2xlarge, count: 2, capacity: spot}
      updated:
        instance_type: ml.g5.2xlarge
        count: 2
        scheduled_update:
          schedule: cron(0 3 ? * SUN *)
          deployment: {batch: {percent: 50}, rollback_batch: {instances: 1}}
      patched:
        instance_type: ml.g5.2xlarge
        count: 2
        auto_patch: {strategy: when_all_idle, deployment: {batch: {instances: 1}, rollback_batch: {percent: 20}}}
    restricted_instance_groups:
      nova:
        instance_type: ml.p5.48xlarge
        count: 1
        availability_zone: us-west-2a
        file_system: {size_gib: 1200, throughput: 125}
        volumes: [{root: true}]
"""
_ADOPTED = """
description: What stood there before keeps its names
clusters:
  main:
    kind: existing
    instance_groups:
      h100: {instance_type: ml.p5.48xlarge, count: 4}
      cpu: {instance_type: ml.m5.4xlarge, count: 9}
governance:
  priority_classes: {high: {weight: 90}}
  departments: {old: {weight: 1, alone: true}}
  resources: [cpu, memory, nvidia.com/gpu]
  names:
    root_cohort: everybody
    priority_classes: {high: urgent}
    topologies: {racks: [example.com/rack, kubernetes.io/hostname]}
    flavors: {ml.p5.48xlarge: {name: h100, node_labels: {example.com/gpu: h100}, topology: racks}}
"""
_ADOPTED_TEAMS = {
    "alpha": """
quota: {ml.p5.48xlarge: {accelerators: 8}}
sharing: {strategy: lend_and_borrow, borrow_unlimited: true}
department: old
weight: 1
names: {cluster_queue: alpha, unmarked: true, keep: [queueing_strategy, fair_sharing]}
""",
    "beta": "quota: {ml.p5.48xlarge: {accelerators: 8}}\nweight: 1\ndepartment: old\n",
}
_FLEET = """
description: Jobs go from one cluster to those that have room
clusters:
  hub: {kind: existing, instance_groups: {}}
  east: {kind: existing, instance_groups: {h100: {instance_type: ml.p5.48xlarge, count: 2}}}
  west: {kind: existing, instance_groups: {mig: {instance_type: ml.p4d.24xlarge, count: 2, partitions: {mig-1g.5gb: 7}}}}
governance:
  multi_kueue:
    manager: hub
    workers: [east, west]
    dispatcher: incremental
    frameworks: [batch/job, jobset.x-k8s.io/jobset]
    gc_interval: 30s
    worker_lost_timeout: 5m
    origin: fleet
"""
_FLEET_TEAMS = {
    "alpha": """
cluster_quota:
  east: {ml.p5.48xlarge: {instances: 1, accelerators: 1, vcpu: 24, memory_gib: 256}}
  west: {p4d: {partitions: {mig-1g.5gb: 2}}}
weight: 1
""",
    "beta": "clusters: [east]\nquota: {ml.p5.48xlarge: {accelerators: 4}}\nweight: 1\n",
}


def _data(text: str, **more: Any) -> dict[str, Any]:
    document, problems = parse(text, "text")
    assert not problems, problems
    return {"apiVersion": API_VERSION, **more, **document.data}


def _project(environment: str, teams: dict[str, str]) -> ProjectData:
    return ProjectData(_data(environment), {name: _data(text, owners=["o@example.com"]) for name, text in teams.items()})


EVERYTHING = {
    "kueue": _project(_KUEUE, _KUEUE_TEAMS),
    "managed": _project(_MANAGED, _MANAGED_TEAMS),
    "adopted": _project(_ADOPTED, _ADOPTED_TEAMS),
    "hyperpod": _project(_OTHER, {}),
    "small": _project(_SMALL, {}),
    "fleet": _project(_FLEET, _FLEET_TEAMS),
}
"""By a short name: what Kueue can be asked for, what AWS's governance can, clusters of other shapes, one that hands jobs on."""
