"""A task that waits until a table needs a rewrite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseSensorOperator, PokeReturnValue
from airflow.sdk.exceptions import AirflowException

from iceberg_zorder.airflow.pass_of_task import pass_of_task

if TYPE_CHECKING:
    from airflow.sdk import Context


class TableNeedsRewriteSensor(BaseSensorOperator):
    """Waits until a pass over a policy's tables would rewrite one of them.

    It decides by metadata alone, as a pass does, and returns the report of that dry run. With ``mode="reschedule"`` it
    occupies no worker while it waits.

    Parameters
    ----------
    policy : str or mapping
        As for :class:`~iceberg_zorder.airflow.maintain_operator.MaintainOperator`. Templated.
    environment : mapping of str to str, optional
        Values for ``${VARIABLE}`` in the policy's catalogs, in addition to the worker's environment. Templated.
    **kwargs
        Arguments of every sensor.

    Raises
    ------
    AirflowFailException
        When the policy is refused. The task is not retried.
    AirflowException
        When tables or catalogs failed and no other table needs a rewrite. With ``silent_fail`` the sensor keeps
        waiting.

    Examples
    --------
    >>> TableNeedsRewriteSensor(task_id="needs_rewrite", policy="/etc/policy.yaml", mode="reschedule").mode
    'reschedule'
    """

    template_fields: Sequence[str] = ("policy", "environment")
    template_fields_renderers = {"policy": "yaml", "environment": "json"}  # noqa: RUF012
    ui_color = "#d7e8d4"

    def __init__(
        self, *, policy: str | Mapping[str, Any], environment: Mapping[str, str] | None = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.policy = policy
        self.environment = environment

    def poke(self, context: Context) -> PokeReturnValue:  # noqa: ARG002
        """Run one dry pass."""
        report = pass_of_task(self.policy, self.environment, self.task_id, self.log, dry_run=True)
        if any(each.decision is not None and each.decision.action == "rewrite" for each in report.tables):
            return PokeReturnValue(is_done=True, xcom_value=report.to_dict())
        if report.failures:
            raise AirflowException(f"Cannot tell whether a table needs a rewrite, because {'; '.join(report.failures)}")
        return PokeReturnValue(is_done=False)
