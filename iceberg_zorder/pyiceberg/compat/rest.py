"""Requests to a REST catalog that are not Iceberg's, in the session that PyIceberg has with it.

PyIceberg (0.12) keeps the session that authenticates, what renews its token, and what makes errors of answers to
itself. When a release has a public way to ask what it does not know, it belongs here; else look at what ``load_table``
of ``RestCatalog`` calls.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyiceberg.catalog import Catalog
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.catalog.rest.response import _handle_non_200_response
from pyiceberg.exceptions import NoSuchTableError
from requests import HTTPError

_EXPIRED = (401, 419)


def is_rest(catalog: Catalog) -> bool:
    """Tell whether a catalog is one that is asked over REST."""
    return isinstance(catalog, RestCatalog)


def ask(catalog: Catalog, root: str, endpoint: str, parameters: Mapping[str, str]) -> Any:
    """Ask a REST catalog for something that lies beside what Iceberg defines."""
    assert isinstance(catalog, RestCatalog)  # noqa: S101
    parts = (catalog.uri.rstrip("/"), root, "v1", catalog.properties.get("prefix", ""), endpoint)
    address = "/".join(filter(None, parts))
    answer = catalog._session.get(address, params=dict(parameters))
    if answer.status_code in _EXPIRED:
        catalog._refresh_token()
        answer = catalog._session.get(address, params=dict(parameters))
    try:
        answer.raise_for_status()
    except HTTPError as error:
        _handle_non_200_response(error, {404: NoSuchTableError})
    return answer.json()
