from tests.spark.conftest import catalog

__all__ = ["catalog"]
