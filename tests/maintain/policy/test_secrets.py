"""What came from the environment, and what is named like a credential, stands in nothing that is shown."""

import pickle
import traceback
from pprint import pformat

import pytest

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.maintain.policy.catalogs import masked
from iceberg_zorder.maintain.policy.read import parse_policy

POLICY = """
version: 1
catalogs:
  lake:
    type: rest
    uri: https://${HOST}/catalog
    credential: ${CREDENTIAL}
    s3.secret-access-key: in-the-file
    s3.endpoint: http://s3.local
    auth: {type: basic, basic: {username: me, password: also-in-the-file}}
  pond: {type: sql, uri: "postgresql+psycopg://me:pass-in-uri@db.local/catalog"}
tables: {"*": {}}
"""
ENVIRONMENT = {"HOST": "host-of-environment", "CREDENTIAL": "credential-of-environment", "OTHER": "of-no-use"}
SECRETS = ["host-of-environment", "credential-of-environment", "in-the-file", "pass-in-uri"]


def test_no_secret_is_shown_and_the_engine_gets_them_all() -> None:
    policy = parse_policy(POLICY, "policy.yaml", ENVIRONMENT)
    shown = "\n".join(
        [repr(policy), str(policy), pformat(policy), f"{policy.catalogs}", repr(policy.settings("lake", ["a"], "b"))]
    )
    assert [secret for secret in SECRETS if secret in shown] == []
    kept = pickle.dumps([dict(catalog.properties) for catalog in policy.catalogs.values()])
    assert [secret for secret in SECRETS if secret.encode() not in kept] == []


def test_secrets_are_taken_out_of_what_libraries_say() -> None:
    policy = parse_policy(POLICY, "policy.yaml", ENVIRONMENT)
    said = "401 of https://host-of-environment/catalog for credential-of-environment, me:pass-in-uri, http://s3.local"
    assert policy.masked(said) == "401 of https://***/catalog for ***, me:***, http://s3.local"


def test_a_secret_inside_another_gives_no_part_of_it_away() -> None:
    assert masked("hunter2-and-more, hunter2, or", {"hunter2", "hunter2-and-more", "or"}) == "***, ***, or"


@pytest.mark.parametrize(
    "wrong",
    [
        POLICY.replace("type: sql", "type: [sql]"),
        POLICY.replace("credential: ", "credential: ${NO}"),
        POLICY.replace("me, password", "me: password"),
        POLICY.replace("in-the-file", "[in-the-file]"),
        POLICY.replace("pond: {", "pond: {{"),
        POLICY.replace("catalogs:", "catalog:"),
        POLICY.replace("version: 1", ""),
        POLICY.replace('{"*": {}}', '{"*": {engine: x}}'),
        POLICY.replace("  lake:", "- lake:"),
        POLICY.replace("auth:", "auth: *x"),
        POLICY.replace("auth:", "credential:"),
    ],
)
def test_no_secret_is_shown_by_an_error(wrong: str) -> None:
    with pytest.raises(InvalidInputError) as error:
        parse_policy(wrong, "policy.yaml", ENVIRONMENT)
    shown = "".join(traceback.format_exception(error.value))
    assert [secret for secret in SECRETS if secret in shown] == []
