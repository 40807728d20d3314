"""The arguments that commands share, as the parser of arguments takes them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

Table = Annotated[str, typer.Argument(help="The table with its namespace, as db.events.", show_default=False)]
By = Annotated[
    str | None,
    typer.Option(
        help="Clustering columns: user_id,ts. Nested fields are dotted, special characters stand in backticks. "
        "Or a sort order: 'region DESC, hilbert(user_id, ts)'.",
        show_default="what the table remembers",
    ),
]
Where = Annotated[
    str | None,
    typer.Option(help="Rewrite only data files that may hold rows for which this condition of Spark SQL is true."),
]
Options = Annotated[
    list[str] | None, typer.Option("--option", metavar="K=V", help="An option of the rewrite; repeat for more.")
]
Branch = Annotated[str | None, typer.Option(help="The branch to rewrite.")]
Engine = Annotated[
    Literal["auto", "spark", "pyiceberg"],
    typer.Option(help="What does the work; auto is Spark where it is installed."),
]
Catalog = Annotated[
    str | None,
    typer.Option(help="The catalog's name in PyIceberg's configuration.", show_default="PyIceberg's default"),
]
Uri = Annotated[str | None, typer.Option(help="The catalog's URI, as for PyIceberg.")]
Warehouse = Annotated[str | None, typer.Option(help="The catalog's warehouse, as for PyIceberg.")]
Conf = Annotated[
    list[str] | None,
    typer.Option(metavar="K=V", help="A setting of Spark, as spark.driver.memory=4g; repeat for more."),
]
FileKind = Literal["sql", "rows", "conditions", "event-log", "workload"]
OutputKind = Annotated[
    Literal["text", "json"], typer.Option("--output", help="How the result, or the error, is written to stdout.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
Predicate = Annotated[
    list[str] | None,
    typer.Option(help='A condition whose share of the data is told, as "a = 5 AND b > 3"; repeat for more.'),
]
QueryFiles = Annotated[
    list[Path],
    typer.Option("--from", help="A file of SQL, conditions, a query log, Spark's event log; repeat for more."),
]
WorkloadFiles = Annotated[
    list[Path],
    typer.Option("--workload", help="A workload, or a file of queries as for workload --from; repeat for more."),
]
QueryFileKind = Annotated[
    FileKind | None, typer.Option("--format", help="What the files are.", show_default="what each looks like")
]
Dialect = Annotated[
    str | None, typer.Option(help="The dialect of SQL, as trino or snowflake.", show_default="what most share")
]
AsOf = Annotated[
    str | None, typer.Option(help="When queries ran, for current_date.", show_default="as a log tells, else now")
]
