#!/bin/bash
# Runs once on each new node, as root, before the node takes work. An exit code other than 0 fails the node.
# An example: keep what your nodes need. A change reaches new nodes, and others when their software is updated.
set -euo pipefail

log=/var/log/provision/provisioning.log # HyperPod sends what is in here to CloudWatch
mkdir -p "$(dirname "$log")"
exec > >(tee -a "$log") 2>&1

echo "on_create: kernel settings for data loaders and large checkpoints"
cat > /etc/sysctl.d/90-training.conf <<'SETTINGS'
fs.inotify.max_user_instances = 8192
fs.inotify.max_user_watches = 1048576
vm.max_map_count = 1048576
SETTINGS
sysctl --quiet --load /etc/sysctl.d/90-training.conf
echo "on_create: done"
