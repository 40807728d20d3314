"""The names of catalogs' properties in PyIceberg and in Iceberg Java."""

from __future__ import annotations

# PyIceberg's name -> Iceberg Java's name, where the value stays as it is. Later lines give way to earlier ones.
RENAMED = {
    "s3.access-key-id": "s3.access-key-id",
    "s3.secret-access-key": "s3.secret-access-key",
    "s3.session-token": "s3.session-token",
    "s3.region": "client.region",
    "glue.region": "client.region",
    "client.region": "client.region",
    "client.access-key-id": "s3.access-key-id",
    "client.secret-access-key": "s3.secret-access-key",
    "client.session-token": "s3.session-token",
    "s3.proxy-uri": "http-client.proxy-endpoint",
    "s3.sse-kms-key-id": "s3.sse.key",
    "s3.role-arn": "client.assume-role.arn",
    "client.role-arn": "client.assume-role.arn",
    "s3.role-session-name": "client.assume-role.session-name",
    "client.role-session-name": "client.assume-role.session-name",
}

# Properties that only PyIceberg has a use for.
PYTHON_ONLY = {
    "type",
    "uri",
    "warehouse",
    "auth",
    "ssl",
    "ugi",
    "echo",
    "pool_pre_ping",
    "schema_version",
    "init_catalog_tables",
    "py-io-impl",
    "downcast-ns-timestamp-to-us-on-write",
    "s3.anonymous",
    "s3.connect-timeout",
    "s3.force-virtual-addressing",
    "s3.request-timeout",
    "s3.resolve-region",
    "s3.retry-strategy-impl",
    "s3.server-side-encryption",
    "s3.signer",
    "rest.sigv4-enabled",
}

# Whose identity these give can be told to Iceberg Java only outside of the catalog's properties.
ENVIRONMENT_INSTEAD = {
    "client.profile-name": "AWS_PROFILE",
    "s3.profile-name": "AWS_PROFILE",
    "glue.profile-name": "AWS_PROFILE",
    "glue.access-key-id": "AWS_ACCESS_KEY_ID",
    "glue.secret-access-key": "AWS_SECRET_ACCESS_KEY",
    "glue.session-token": "AWS_SESSION_TOKEN",
    "botocore_session": "AWS_PROFILE",
}

SSE_TYPES = {"AES256": "s3", "aws:kms": "kms", "aws:kms:dsse": "dsse-kms"}

# libpq's parameter -> the JDBC driver's.
POSTGRESQL_PARAMETERS = {
    "application_name": "ApplicationName",
    "connect_timeout": "connectTimeout",
    "options": "options",
    "sslcert": "sslcert",
    "sslkey": "sslkey",
    "sslmode": "sslmode",
    "sslrootcert": "sslrootcert",
}
