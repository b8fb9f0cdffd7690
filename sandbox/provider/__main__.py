"""``python -m sandbox.provider``: serve on a free loopback port, whose number is the first line on standard output.

Ends when its parent closes its standard input or dies, or on SIGTERM. SIGINT is ignored: the engine decides what Ctrl-C ends.
"""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Final

_THREADS: Final = 128
"""Operations at once; most of them are waits."""


def main() -> int:
    """Serve until told to end."""
    parser = argparse.ArgumentParser(prog="python -m sandbox.provider", description=__doc__)
    parser.add_argument("--identity", default="", help="what tells this stack from others of the same name")
    parser.add_argument("--adopt", action="store_true", help="continue the creates that the stack's last run left half-made")
    options = parser.parse_args()
    stop = threading.Event()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: stop.set())

    import grpc
    from pulumi.runtime.proto import provider_pb2_grpc

    from live.connection import load_client
    from sandbox.provider.servicer import KubernetesProvider

    unlimited = [
        ("grpc.max_receive_message_length", 1 << 29),
        ("grpc.max_send_message_length", 1 << 29),
        ("grpc.so_reuseport", 0),
    ]
    server = grpc.server(ThreadPoolExecutor(_THREADS), options=unlimited)
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(KubernetesProvider(options.identity, adopt=options.adopt), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    threading.Thread(target=load_client, daemon=True).start()  # takes longer than all the rest; the engine is still starting
    threading.Thread(target=_watch_parent, args=(stop,), daemon=True).start()
    stop.wait()
    server.stop(grace=1).wait()
    return 0


def _watch_parent(stop: threading.Event) -> None:
    while sys.stdin.buffer.read(4096):
        continue
    stop.set()


if __name__ == "__main__":
    sys.exit(main())
