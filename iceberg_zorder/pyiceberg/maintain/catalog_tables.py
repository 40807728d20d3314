"""List the tables of a catalog, and refuse tables whose location holds files of another table."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError
from pyiceberg.table import Table
from pyiceberg.typedef import Identifier

from iceberg_zorder.errors import InvalidInputError, RewriteFailedError
from iceberg_zorder.pyiceberg.catalog import load_first

_LOCATIONS = ("write.data.path", "write.metadata.path", "write.object-storage.path", "write.folder-storage.path")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/*(?P<rest>.*)", re.DOTALL)


def list_tables(catalog: Catalog, is_wanted: Callable[[Identifier], bool]) -> Iterator[Identifier]:
    """Yield the tables of a catalog; errors of namespaces are raised after all others are listed."""
    problems: list[str] = []

    def asked(ask: Callable[[Identifier], Iterable[Identifier]], namespace: Identifier) -> list[Identifier]:
        try:
            return list(ask(namespace))
        except NoSuchNamespaceError:
            return []
        except Exception as error:  # other namespaces are still listed
            problems.append(f"namespace {'.'.join(namespace)}: {type(error).__name__}: {error}")
            return []

    waiting = [namespace for namespace in _inside(catalog, ()) if is_wanted(namespace)]
    seen: set[Identifier] = set()
    while waiting:
        if (namespace := waiting.pop()) in seen:
            continue
        seen.add(namespace)
        waiting += [each for each in asked(partial(_inside, catalog), namespace) if is_wanted(each)]
        yield from map(tuple, asked(catalog.list_tables, namespace))
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise RewriteFailedError(f"Cannot list {problems[0]}{more}")


def _inside(catalog: Catalog, namespace: Identifier) -> list[Identifier]:
    # SQL catalogs list a namespace inside itself.
    return [tuple(each) for each in catalog.list_namespaces(namespace) if len(each) > len(namespace)]


class FileLocations:
    """The file locations of a catalog's tables, read once."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._roots: dict[Identifier, tuple[str, ...]] | None = None

    def check_alone(self, table: Table) -> None:
        """Refuse a table if its location holds another table of the catalog, or lies in one."""
        if self._roots is None:
            self._roots = {name: self._of(name) for name in list_tables(self._catalog, lambda _: True)}
        here = plain_path(table.location())
        for name, roots in self._roots.items():
            if name != table.name() and any(root.startswith(here) or here.startswith(root) for root in roots):
                mine, theirs = ".".join(table.name()), ".".join(name)
                raise InvalidInputError(
                    f"Cannot remove orphan files of {mine}, because {theirs} may have files inside its location "
                    f"{table.location()}, which would be deleted"
                )

    def _of(self, name: Identifier) -> tuple[str, ...]:
        try:
            table = load_first(lambda: self._catalog.load_table(name))
        except NoSuchTableError:
            return ()
        except Exception as error:
            raise InvalidInputError(
                f"Cannot remove orphan files, because the file locations of {'.'.join(name)} are unknown: {error}"
            ) from error
        own = [table.properties[key] for key in _LOCATIONS if key in table.properties]
        return tuple(map(plain_path, (table.location(), *own)))


def plain_path(location: str) -> str:
    """Return a location without its scheme, because one store has several, and with a trailing slash.

    Examples
    --------
    >>> plain_path("s3a://lake/db/t"), plain_path("file:///lake/./db//t/"), plain_path("/lake/x/../db/t")
    ('lake/db/t/', 'lake/db/t/', 'lake/db/t/')
    """
    found = _SCHEME.fullmatch(location)
    return posixpath.normpath((found["rest"] if found else location).strip("/")).lstrip("/") + "/"
