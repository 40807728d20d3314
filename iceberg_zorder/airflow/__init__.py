"""Scheduled maintenance in Airflow 3: an operator that runs a pass, and a sensor that waits for work."""

from iceberg_zorder.airflow.maintain_operator import MaintainOperator
from iceberg_zorder.airflow.needs_rewrite_sensor import TableNeedsRewriteSensor

__all__ = ["MaintainOperator", "TableNeedsRewriteSensor"]
