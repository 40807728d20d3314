"""What is left alone where Airflow is not installed: it has an environment of its own, see `make test-airflow`."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("airflow") else ["iceberg_zorder/airflow", "tests/airflow"]
