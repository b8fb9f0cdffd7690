"""The entry point: `hpctl`, and `python -m cli`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run a verb and exit with its code. Loading it takes a moment, in which somebody may think better of it."""
    try:
        from cli.main import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
