from tests.spark.conftest import catalog, server, version_3

__all__ = ["catalog", "server", "version_3"]
