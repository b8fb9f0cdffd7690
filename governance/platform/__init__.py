"""The platform below the queues, resolved: names, networks, policies and payloads as plain values."""
