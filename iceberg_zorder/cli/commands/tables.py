"""The commands on one table: each calls an engine and shows the result."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from rich.console import Console
from rich.text import Text

from iceberg_zorder.cli.failure import FAILED, Failure
from iceberg_zorder.cli.files import replace_text
from iceberg_zorder.cli.output import Output
from iceberg_zorder.cli.pyiceberg_engine import PyIcebergEngine, failures
from iceberg_zorder.cli.table import NamedTable, by_text
from iceberg_zorder.errors import InvalidInputError, RewriteFailedError
from iceberg_zorder.figures import rewrite_text
from iceberg_zorder.printable import printable, printable_lines
from iceberg_zorder.pyiceberg.catalog import load_table
from iceberg_zorder.pyiceberg.plan.rewrite_plan import RewritePlan
from iceberg_zorder.pyiceberg.plan.rewrite_spec import remember
from iceberg_zorder.pyiceberg.reporting.history import rewrite_history
from iceberg_zorder.pyiceberg.undo import undo as undo_rewrite
from iceberg_zorder.render.history_text import history_renderable
from iceberg_zorder.render.plan_text import plan_text
from iceberg_zorder.render.report_text import WIDTH, comparison_renderable, report_renderable
from iceberg_zorder.render.result_tables import result_tables
from iceberg_zorder.rewrite.cpu_seconds import of_rewrite
from iceberg_zorder.rewrite.result import RewriteResult
from iceberg_zorder.rewrite.sort_order import parse_sort_order

if TYPE_CHECKING:
    from iceberg_zorder.cli.spark_engine import SparkEngine

Engine: TypeAlias = "PyIcebergEngine | SparkEngine"


def asked_for(by: str | None, where: str | None = None, branch: str | None = None, **more: Any) -> dict[str, Any]:
    """Return arguments that both engines' functions share; raises InvalidInputError for an invalid sort order."""
    if by is not None:
        parse_sort_order(by)
    return {"columns": None if by is None else by.strip(), "where": where, "branch": branch, **more}


def read_plan(path: Path) -> RewritePlan:
    """Read a plan from a file, or from standard input if ``path`` is ``-``."""
    try:
        text = sys.stdin.read() if str(path) == "-" else path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInputError(f"Cannot read the plan {path}, because {error}") from error
    return RewritePlan.from_json(text)


def engine_of(name: Literal["auto", "spark", "pyiceberg"], table: NamedTable, conf: dict[str, str]) -> Engine:
    """Return the engine of a name; ``auto`` is Spark if PySpark is installed, else PyIceberg."""
    if name == "spark" or (name == "auto" and find_spec("pyspark")):
        from iceberg_zorder.cli.spark_engine import SparkEngine
        from iceberg_zorder.spark.catalogs import spark_catalog

        if wrong := next((each for each in conf if not each.startswith("spark.")), None):
            raise InvalidInputError(f"Cannot set --conf {wrong}, because Spark's settings start with 'spark.'")
        return SparkEngine(table.name, spark_catalog(table.catalog.name, table.catalog.properties), conf)
    if conf:
        raise InvalidInputError(f"Cannot set --conf {next(iter(conf))}, because it needs the engine spark")
    return PyIcebergEngine(table)


def show_result(table: str, asked: Mapping[str, Any], result: RewriteResult, output: Output, engine: str) -> int:
    """Show the result of a rewrite or dry run; returns exit code 1 if data files failed, else 0."""
    count, done = result.failed_data_files_count, result.to_dict()
    why = f"{count} data files of {table} could not be rewritten"
    failed = Failure(RewriteFailedError.__name__, why, FAILED) if count else None

    def render(console: Console) -> None:
        message = printable(output.unsaid(result.message))
        if result.nothing_to_do:
            console.print(Text(message), soft_wrap=True)
            return
        did = "Would rewrite" if result.dry_run else "Rewrote"
        console.print(Text(printable(f"{did} {table} by {by_text(asked)}")), soft_wrap=True)
        for each in result_tables(done):
            console.print(each)
        if message:
            console.print(Text(message), soft_wrap=True)

    shares = {
        f"scan_fractions{when}": {each["column"]: each[key] for each in done["scan_fractions"] if each[key] is not None}
        for key, when in (("before", "_before"), ("predicted", ""), ("actual", "_actual"))
    }
    error = failed.to_dict() if failed else {}
    output.show({"table": table, "sort_order": asked["columns"], "engine": engine, **done, **shares, **error}, render)
    if failed:
        output.incomplete(failed)
    return FAILED if failed else 0


def show_plan(planned: Mapping[str, Any], output: Output) -> int:
    """Show a plan; the text ends with the rewrite's expected cost."""
    size = sum(group["bytes"] for group in planned["file_groups"])
    text = plan_text(planned) + (f"\n  {rewrite_text(size, size, of_rewrite(size))}" if size else "")
    output.show(planned, lambda console: console.print(Text(text), soft_wrap=True))
    return 0


def report(engine: Engine, asked: Mapping[str, Any], compared: int | None, page: Path | None, output: Output) -> int:
    """Show a report on a table; only its metadata is read."""
    if page is not None:
        check_page(page)
    found, before = engine.report(asked, compared, output)
    reports = [found] if before is None else [before, found]
    if page is not None:
        # Jinja2 is an extra and slow to import.
        from iceberg_zorder.render.pages import report_page

        replace_text(page, report_page([(each.to_dict(), each.boxes) for each in reports]), flag="--html")
    after, earlier = found.to_dict(), None if before is None else before.to_dict()

    def render(console: Console) -> None:
        width = min(WIDTH, console.width)
        # Tables fit the width, and a cropped command could not be pasted.
        console.print(report_renderable(after, earlier), width=width, crop=False)
        if earlier is not None:
            console.print(comparison_renderable(earlier, after), width=width)

    output.show(after if earlier is None else {**after, "compared_with": earlier}, render)
    if page is not None:
        output.note(f"Wrote {page}")
    return 0


def check_page(page: Path) -> None:
    """Refuse ``--html`` before the work starts if the page cannot be written."""
    if not find_spec("jinja2"):
        raise InvalidInputError(
            f"Cannot write --html {page}, because jinja2 is not installed: pip install '.[html]' in a clone"
        )
    if not page.parent.is_dir():
        raise InvalidInputError(f"Cannot write --html {page}, because the directory {page.parent} does not exist")


def set_defaults(table: NamedTable, asked: Mapping[str, Any], output: Output) -> int:
    """Store default columns and options as table properties, after validating them."""
    with failures(f"change {table.name}", output):
        properties = remember(load_table(table.catalog, table.identifier), asked["columns"], asked["options"])
    show_properties(table.name, properties, output)
    return 0


def show_properties(table: str, properties: Mapping[str, str], output: Output) -> None:
    """Show the properties that were set, one a line."""
    lines = [f"{table} remembers", *(f"  {name} = {value}" for name, value in properties.items())]
    text = Text("\n".join(map(printable, lines)))
    output.show({"table": table, "properties": properties}, lambda console: console.print(text, soft_wrap=True))


def history(table: NamedTable, branch: str | None, limit: int, output: Output) -> int:
    """Show a table's rewrites with their measures before and after; only metadata is read."""
    with failures(f"read the history of {table.name}", output), output.progress() as say:
        say(f"Reading the metadata of {table.name}")
        loaded = load_table(table.catalog, table.identifier)
        found = {"table": table.name, **rewrite_history(loaded, branch, limit=limit)}
    output.show(found, lambda console: console.print(history_renderable(found), width=min(WIDTH, console.width)))
    return 0


def undo(table: NamedTable, snapshot_id: int | None, branch: str | None, output: Output, *, dry_run: bool) -> int:
    """Undo a rewrite."""
    with failures(f"undo a rewrite of {table.name}", output), output.progress() as say:
        say(f"Reading the metadata of {table.name}")
        loaded = load_table(table.catalog, table.identifier)
        done = undo_rewrite(loaded, snapshot_id=snapshot_id, branch=branch, dry_run=dry_run)
    text = Text(printable_lines(done.message))
    output.show({**asdict(done), "message": done.message}, lambda console: console.print(text, soft_wrap=True))
    return 0


def check(table: NamedTable, asked: Mapping[str, Any], most: float, output: Output) -> int:
    """Show whether a table is clustered well enough; returns exit code 0 or 1."""
    report, _ = PyIcebergEngine(table).report(asked, None, output)
    ratio, rewrite, remedy = report.cost_ratio, report.recommendation, None
    is_ok = ratio is None or ratio <= most
    if not is_ok and rewrite is not None:
        remedy = rewrite.command or f"option rewrite-all, because a default rewrite does nothing: {rewrite.reason}"
    if ratio is None:
        said = "has nothing to measure"
    else:
        said = f"filters cost {ratio:.2f} times as much as after a full rewrite (limit {most:g})"
        said += f"; what helps: {remedy}" if remedy else ""
    text = Text(printable(f"{'ok' if is_ok else 'not ok'}: {report.table}: {said}"))
    found = {
        "table": report.table,
        "branch": report.branch,
        "ratio": ratio,
        "max_ratio": most,
        "ok": is_ok,
        "remedy": remedy,
    }
    output.show(found, lambda console: console.print(text, soft_wrap=True))
    return 0 if is_ok else FAILED
