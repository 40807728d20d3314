"""What all commands have: wrong usage as JSON, how they speak, and options of the form name=value."""

from __future__ import annotations

import re
from typing import Any, Literal

from typer.core import TyperCommand

from iceberg_zorder.cli.failure import REFUSED, Failure
from iceberg_zorder.cli.output import ConsoleOutput, JsonOutput, Output
from iceberg_zorder.errors import InvalidInputError


class Command(TyperCommand):
    """A command whose wrong usage is JSON on stdout, too, where JSON is asked for."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse arguments, and raise as Click does."""
        given = " ".join(args)
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            # Typer has Click inside, or beside it, and gives no name of its own to wrong usage.
            message = getattr(error, "format_message", None)
            if message and re.search(r"(^| )--output[ =]json( |$)", given):
                JsonOutput(quiet=True).usage(Failure("UsageError", message(), REFUSED))
            raise


def output_of(kind: Literal["text", "json"], *, quiet: bool) -> Output:
    """Make what a command speaks by."""
    return (JsonOutput if kind == "json" else ConsoleOutput)(quiet=quiet)


def pairs(flag: str, texts: list[str] | None) -> dict[str, str]:
    """Read options of the form name=value; raises InvalidInputError of what is none, and of what stands twice."""
    found: dict[str, str] = {}
    for text in texts or []:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise InvalidInputError(f"Cannot read {flag} '{text}', because it is not of the form name=value")
        if name.strip() in found:
            raise InvalidInputError(f"Cannot set {name.strip()} twice, because {flag} gives it two values")
        found[name.strip()] = value.strip()
    return found
