"""Write a first policy for the tables of a catalog, with their known clustering columns."""

from __future__ import annotations

import glob
import json
import re
import shlex
from collections.abc import Iterator
from contextlib import suppress

from pyiceberg.catalog import Catalog
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.typedef import Identifier

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.layout.columns import quoted_name
from iceberg_zorder.layout.curve import ZORDER
from iceberg_zorder.maintain.policy.catalogs import secrets_of
from iceberg_zorder.printable import printable
from iceberg_zorder.pyiceberg.bounds import named_fields
from iceberg_zorder.pyiceberg.catalog import CatalogConfiguration, why
from iceberg_zorder.pyiceberg.listing.listing import snapshots_to
from iceberg_zorder.pyiceberg.maintain.catalog_tables import list_tables
from iceberg_zorder.pyiceberg.partitions import identity_sources, partition_fields
from iceberg_zorder.pyiceberg.plan.rewrite_spec import branch_snapshot
from iceberg_zorder.pyiceberg.plan.sort_order import known_sort_order, resolve
from iceberg_zorder.rewrite.sort_order import SortOrder, parse_sort_order
from iceberg_zorder.rewrite.table_defaults import COLUMNS_PROPERTY

_HEAD = """\
# Which tables iceberg-zorder keeps clustered, by which columns, and when.
# Show the decisions:  iceberg-zorder maintain {file} --dry-run
# Run one pass:        iceberg-zorder maintain {file}
# All settings are in docs/do/policy.md.
version: 1
catalogs:
  {name}: {properties}
# budget: {{bytes: 100 GB, minutes: 60}}  # limits of a pass; the next pass continues
# defaults: {{allowed-hours: 22:00-06:00, time-zone: Europe/Berlin}}  # settings for all tables
namespaces:  # a table without columns here uses its property zorder.columns, else the columns of its last rewrite
"""
_VARIABLE = re.compile(r"[^A-Z0-9]+")


def first_policy(catalog: Catalog, configuration: CatalogConfiguration, file: str = "policy.yaml") -> str:
    """Return a policy in YAML for all tables of a catalog; ``file`` is its name in comments."""
    tables = sorted(list_tables(catalog, lambda _: True))
    if not tables:
        raise InvalidInputError(f"Cannot write a policy, because catalog {configuration.name} has no table")
    head = _HEAD.format(
        file=printable(shlex.quote(file)), name=_quoted(configuration.name), properties=_properties(configuration)
    )
    namespaces = dict.fromkeys(".".join(name[:-1]) for name in tables)
    rules = [rule for name in tables for rule in _rule(catalog, name)]
    is_any = any(not rule.startswith("  #") for rule in rules)
    return "\n".join(
        (
            head + "\n".join(f"  {_quoted(glob.escape(each))}: {{}}" for each in namespaces),
            "tables:  # columns that queries filter by, two to four" if is_any else "# tables:",
            *rules,
            "",
        )
    )


def _properties(configuration: CatalogConfiguration) -> str:
    """Return a catalog's properties in YAML, without secrets; empty if PyIceberg's configuration has them all."""
    if not configuration.flags:
        return "{}  # as .pyiceberg.yaml or PYICEBERG_CATALOG__ variables say"

    def written(key: str, value: object) -> str:
        secrets = secrets_of({key: value})
        if any(each in str(value) for each in secrets):
            return json.dumps("${" + _VARIABLE.sub("_", f"{configuration.name}_{key}".upper()) + "}")
        return json.dumps(value, ensure_ascii=False).replace("${", "$${")

    return (
        f"{{{', '.join(f'{_quoted(key)}: {written(key, value)}' for key, value in configuration.properties.items())}}}"
    )


def _rule(catalog: Catalog, name: Identifier) -> Iterator[str]:
    """Yield the lines of a table's rule; commented out if its columns are unknown."""
    key = _quoted(glob.escape(".".join(name)))
    try:
        found = known_columns(catalog.load_table(name))
    except Exception as error:  # other tables still get rules
        yield f"  {key}:"
        yield f"    enabled: false  # {printable(why(error))}"
        return
    if found is None:
        yield f"  # {key}:"
        advise = f"iceberg-zorder advise {printable(quoted_name(name))} --workload queries.sql"
        yield f"  #   by: [...]  # columns are unknown: {advise} recommends some"
    else:
        yield f"  {key}:"
        yield f"    by: {_quoted(found[0])}  # {found[1]}"


def known_columns(table: Table) -> tuple[str, str] | None:
    """Return the known sort order of a table with its source; None without one.

    Raises InvalidInputError if a pass would fail on the table's own settings.

    Examples
    --------
    >>> table = lake.load_table("db.events")
    >>> known_columns(table) is None
    True
    >>> with table.transaction() as change:
    ...     change.set_properties({"zorder.columns": "user_id, ts"})  # doctest: +ELLIPSIS
    <...>
    >>> known_columns(table)
    ('user_id, ts', 'its property zorder.columns')
    """
    refused: InvalidInputError | None = None
    snapshots = snapshots_to(table, branch_snapshot(table, MAIN_BRANCH, "write a policy"))
    try:
        if by := known_sort_order(table, snapshots, case_sensitive=False):
            resolve(table, parse_sort_order(by))
            is_remembered = COLUMNS_PROPERTY in table.properties
            return by, f"its property {COLUMNS_PROPERTY}" if is_remembered else "its last rewrite"
    except InvalidInputError as error:
        refused = error
    sources = {
        "its sort order": [each.source_id for each in table.sort_order().fields],
        "its partitions": [each.source_id for each in partition_fields(table.schema(), table.spec())],
    }
    names = {field.field_id: name for name, field in named_fields(table.schema().as_struct())}
    constant = identity_sources(table.spec())
    for origin, ids in sources.items():
        if columns := tuple(dict.fromkeys(names[each] for each in ids if each in names and each not in constant)):
            by = SortOrder(ZORDER, columns).text
            with suppress(InvalidInputError):
                resolve(table, parse_sort_order(by))
                return by, origin
    if refused is not None:
        raise refused
    return None


def _quoted(text: str) -> str:
    """Return a text in YAML; plain names stay unquoted."""
    is_plain = re.fullmatch(r"[a-z_][a-z0-9_.]*(\([a-z0-9_., ]*\))?", text) and text not in _WORDS
    return text if is_plain else json.dumps(text, ensure_ascii=False)


_WORDS = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}
"""Texts that YAML reads as other types."""
