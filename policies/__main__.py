"""The policy pack: `pulumi preview --policy-pack policies`, or `--policy-pack policies/serve` without Pulumi's Python plugin."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # where the project is not installed


def main() -> None:
    """Serve the engine until it ends this process. Exits with 1 where the settings are wrong."""
    from pulumi_policy import PolicyPack

    from policies.dispatch import Dispatch
    from policies.settings import FILE, SettingsError, load

    try:
        policies = Dispatch(load(Path(os.environ.get("HYPERPOD_POLICY_SETTINGS") or FILE))).policies()
    except SettingsError as error:
        sys.exit(str(error))
    # What is loaded stays for good, and so does what is learned of resources: looking through it again and again costs a tenth.
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)
    PolicyPack("hyperpod", policies)


if __name__ == "__main__":
    main()
