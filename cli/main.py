"""The entry point: verbs, and what their failures mean to the shell.

Exit codes: 0 fine, 1 findings of severity error, 2 wrong usage, 3 a difference was found, 4 the environment failed,
130 interrupted.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from cli import (
    check,
    demo,
    deploy,
    diff,
    drift,
    importing,
    job,
    local,
    onboard,
    permissions,
    quotas,
    render,
    report,
    schema,
    simulate,
    topology,
    why,
)
from cli.console import Ended, count_words, no_color, print_findings, say
from config.findings import ConfigError
from live.connection import ApiError, UnreachableError
from sandbox.engine_errors import EngineError
from sandbox.errors import SandboxError

FINDINGS, USAGE, ENVIRONMENT, INTERRUPTED = 1, 2, 4, 130

app = typer.Typer(
    name="hpctl",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Platform-as-code for shared accelerators on SageMaker HyperPod.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(check.check)
app.command()(quotas.quotas)
app.command()(render.render)
app.command()(permissions.permissions)
app.command()(diff.diff)
app.command()(onboard.onboard)
app.command()(schema.schema)
app.command()(deploy.up)
app.command()(deploy.down)
app.command()(drift.drift)
app.command("import")(importing.import_)
app.command()(demo.demo)
app.command()(simulate.simulate)
app.command()(why.why)
app.command()(topology.topology)
app.command()(job.job)
app.command()(report.report)
app.add_typer(local.app, name="local")


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"hpctl {version('hyperpod-platform')}")
        raise typer.Exit


@app.callback()
def options(
    context: typer.Context,
    project: Annotated[
        Path | None, typer.Option("--project", "-C", help="The project's folder; default here or above.", file_okay=False)
    ] = None,
    no_colour: Annotated[bool, typer.Option("--no-color", help="Plain text; the variable NO_COLOR does so too.")] = False,
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")] = False,  # noqa: ARG001
) -> None:
    if no_colour:
        no_color()
    context.obj = project


def main(arguments: list[str] | None = None) -> None:
    """Run a verb and exit with its code; failures are sentences, never tracebacks."""
    sys.exit(run(arguments))


def run(arguments: list[str] | None = None) -> int:
    """The same, returning the exit code."""
    try:
        result: Any = app(arguments, standalone_mode=False)
    except typer.TyperException as error:  # wrong usage
        context = getattr(error, "ctx", None)
        if not error.format_message():  # no verb was given; the help is the answer
            return error.exit_code
        say(f"hpctl: {error.format_message()}")
        say(f"see `{context.command_path if context else 'hpctl'} --help`")
        return error.exit_code
    except ConfigError as error:
        print_findings(error.findings)
        say(count_words(error.findings))
        return FINDINGS
    except (SandboxError, EngineError, UnreachableError) as error:
        say(f"hpctl: {error}")
        return ENVIRONMENT
    except ApiError as error:
        say(f"hpctl: the API server answers {error.status}: {error}")
        return ENVIRONMENT
    except Ended as ended:
        return ended.code
    except (typer.Abort, KeyboardInterrupt):
        result = INTERRUPTED
    except BrokenPipeError:  # the reader of our output has gone
        return 0
    if result == INTERRUPTED:  # typer makes this of Ctrl-C
        say("interrupted; the same command continues, or starts anew")
    return result if isinstance(result, int) else 0
