"""Find a catalog's configuration the way PyIceberg does.

``pyiceberg.catalog.load_catalog`` (0.12) merges, the later winning: ``.pyiceberg.yaml`` (the first of PYICEBERG_HOME,
the home directory and the current directory), PYICEBERG_CATALOG__ variables, arguments.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import cast

from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table
from pyiceberg.typedef import RecursiveDict

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.layout.columns import quoted_name
from iceberg_zorder.pyiceberg.catalog.retry import load_first, masked_address, reaching
from iceberg_zorder.pyiceberg.compat.catalogs import (
    CatalogType,
    configured,
    infer_catalog_type,
    load_catalog,
    merge_config,
)


@dataclass(frozen=True)
class CatalogConfiguration:
    """A catalog as PyIceberg would load it."""

    name: str
    properties: dict[str, object]  # text, or nested dictionaries of text; ``type`` is always there
    flags: tuple[str, ...] = ()  # of the command line, which find it again, without passwords


def catalog_properties(
    name: str | None = None, *, uri: str | None = None, warehouse: str | None = None
) -> CatalogConfiguration:
    """Find a catalog's properties as :func:`pyiceberg.catalog.load_catalog` does, without connecting.

    Examples
    --------
    >>> catalog_properties("doc", uri="sqlite:////data/catalog.db", warehouse="/data").properties["type"]
    'sql'
    """
    found = configured(name)
    given: RecursiveDict = {key: each for key, each in (("uri", uri), ("warehouse", warehouse)) if each is not None}
    if found.properties is None and uri is None:
        raise InvalidInputError(
            f"Cannot find catalog '{found.name}', because neither .pyiceberg.yaml nor PYICEBERG_CATALOG__ variables "
            f"configure it (they configure: {', '.join(found.known) or 'none'}): name one with --catalog, or pass "
            "--uri and --warehouse"
        )
    properties = merge_config(found.properties or {}, given)
    if "py-catalog-impl" not in properties:
        properties["type"] = _catalog_type(found.name, properties)
    flags = [word for key, value in given.items() for word in (f"--{key}", masked_address(str(value)))]
    return CatalogConfiguration(found.name, {**properties}, tuple(flags))


def _catalog_type(name: str, properties: RecursiveDict) -> str:
    given, uri = properties.get("type"), properties.get("uri")
    known = [each.value for each in CatalogType]
    if given and str(given).lower() in known:
        return str(given).lower()
    if given:
        why = f"its type is '{given}': use {', '.join(known)}"
    elif not uri:
        why = f"it has no 'uri': pass --uri or set PYICEBERG_CATALOG__{name.upper()}__URI"
    else:
        with suppress(ValueError):
            if inferred := infer_catalog_type(name, properties):
                return inferred.value
        # The uri may hold a password.
        why = f"its uri starts with '{str(uri).partition(':')[0]}:', which tells no type: set 'type'"
    raise InvalidInputError(f"Cannot find catalog '{name}', because {why}")


def has_tables(catalog: CatalogConfiguration, *identifiers: tuple[str, ...]) -> bool:
    """Return whether a catalog has all of some tables; not where it does not say, as loading one then says why."""
    # Libraries of catalogs raise what they like.
    with suppress(Exception), load_catalog(catalog.name, **cast(dict[str, str], catalog.properties)) as source:
        return all(map(source.table_exists, identifiers))
    return False


def load_table(catalog: CatalogConfiguration, identifier: tuple[str, ...]) -> Table:
    """Load a table from a catalog; one that fails is asked again."""
    properties = cast(dict[str, str], catalog.properties)
    try:
        with reaching(catalog.name, properties.get("uri")):
            return load_first(lambda: load_catalog(catalog.name, **properties).load_table(identifier))
    except NoSuchTableError as error:
        name = quoted_name((catalog.name, *identifier))
        raise InvalidInputError(
            f"Cannot load table {name}, because there is no such table in catalog {catalog.name}"
        ) from error
