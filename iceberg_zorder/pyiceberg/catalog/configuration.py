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
from iceberg_zorder.pyiceberg.compat.catalogs import catalog_types, configured, inferred_type, load_catalog, merged


@dataclass(frozen=True)
class CatalogConfiguration:
    """A catalog as PyIceberg would load it.

    Parameters
    ----------
    name : str
        Its name.
    properties : dict of str to object
        Its properties; text, or nested dictionaries of text. ``type`` is always there.
    flags : tuple of str, optional
        The flags of the command line that find it again, without passwords.
    """

    name: str
    properties: dict[str, object]
    flags: tuple[str, ...] = ()


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
    given = {key: value for key, value in (("uri", uri), ("warehouse", warehouse)) if value is not None}
    if found.properties is None and uri is None:
        raise InvalidInputError(
            f"Cannot find catalog '{found.name}', because neither .pyiceberg.yaml nor PYICEBERG_CATALOG__ variables "
            f"configure it (they configure: {', '.join(found.known) or 'none'}): name one with --catalog, or pass "
            "--uri and --warehouse"
        )
    all_properties = merged(found.properties or {}, given)
    properties: dict[str, object] = dict(all_properties)
    if "py-catalog-impl" not in properties:
        properties["type"] = _catalog_type(found.name, all_properties)
    flags = [word for key, value in given.items() for word in (f"--{key}", masked_address(value))]
    return CatalogConfiguration(found.name, properties, tuple(flags))


def _catalog_type(name: str, properties: RecursiveDict) -> str:
    given = properties.get("type")
    if given:
        known = catalog_types()
        if not isinstance(given, str) or given.lower() not in known:
            raise InvalidInputError(
                f"Cannot find catalog '{name}', because its type is '{given}': use {', '.join(known)}"
            )
        return given.lower()
    uri = properties.get("uri")
    if not uri:
        raise InvalidInputError(
            f"Cannot find catalog '{name}', because it has no 'uri': pass --uri or set "
            f"PYICEBERG_CATALOG__{name.upper()}__URI"
        )
    inferred = inferred_type(name, properties)
    if inferred is None:
        # The uri may hold a password.
        scheme = str(uri).partition(":")[0]
        raise InvalidInputError(
            f"Cannot find catalog '{name}', because its uri starts with '{scheme}:', which tells no type: set 'type'"
        )
    return inferred


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
