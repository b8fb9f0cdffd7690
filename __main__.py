"""Entry of the Pulumi program; `hpctl up` and `pulumi up` run the same file."""

from pathlib import Path

from components.program import RefusalError, declare
from config.findings import ConfigError

try:
    declare(Path(__file__).resolve().parent)
except ConfigError as error:
    raise RefusalError(error.findings) from None
