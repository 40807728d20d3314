"""A task that waits until a table needs a rewrite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseSensorOperator, PokeReturnValue, conf
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from iceberg_zorder.airflow.needs_rewrite_trigger import TableNeedsRewriteTrigger, look, would_rewrite
from iceberg_zorder.airflow.policy_source import PolicySource
from iceberg_zorder.errors import InvalidInputError

if TYPE_CHECKING:
    from airflow.sdk import Context


class TableNeedsRewriteSensor(BaseSensorOperator):
    """Waits until a pass over the tables of a policy would rewrite any of them.

    It decides as a pass does, by metadata alone, and returns the report of that dry run.

    Parameters
    ----------
    policy : str or mapping
        As for :class:`~iceberg_zorder.airflow.maintain_operator.MaintainOperator`. A file is read by the worker, which
        hands its text to the triggerer. Templated.
    environment : mapping of str to str, optional
        Variables for ``${VARIABLE}`` of the policy's catalogs, beside those of the worker or the triggerer. Templated.
    deferrable : bool, optional
        Whether to wait in the triggerer, where no worker is taken; default is Airflow's own setting
        ``operators.default_deferrable``. It looks each ``poke_interval`` then, without ``exponential_backoff``.
    **kwargs
        What every sensor takes.

    Raises
    ------
    AirflowFailException
        When the policy is refused: another try would not help.
    AirflowException
        When a table or a catalog failed, and no other table needs a rewrite; with ``silent_fail`` it waits on.

    Examples
    --------
    >>> TableNeedsRewriteSensor(task_id="needs_rewrite", policy="/etc/policy.yaml", deferrable=True).deferrable
    True
    """

    template_fields: Sequence[str] = ("policy", "environment")
    template_fields_renderers = {"policy": "yaml", "environment": "json"}  # noqa: RUF012
    ui_color = "#d7e8d4"

    def __init__(
        self,
        *,
        policy: str | Mapping[str, Any],
        environment: Mapping[str, str] | None = None,
        deferrable: bool = conf.getboolean("operators", "default_deferrable", fallback=False),
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.policy = policy
        self.environment = environment
        self.deferrable = deferrable

    def execute(self, context: Context) -> Any:
        """Wait, here or in the triggerer; returns the report."""
        if not self.deferrable:
            return super().execute(context)
        source = self._source()
        trigger = TableNeedsRewriteTrigger(
            text=source.text,
            name=source.name,
            environment=source.environment,
            poke_interval=self.poke_interval,
            silent_fail=self.silent_fail,
        )
        self.defer(trigger=trigger, method_name="execute_complete", timeout=timedelta(seconds=self.timeout))
        return None

    def poke(self, context: Context) -> PokeReturnValue:  # noqa: ARG002
        """Look once."""
        try:
            report = look(self._source(), self.log)
        except InvalidInputError as error:
            raise AirflowFailException(str(error)) from error
        if would_rewrite(report):
            return PokeReturnValue(is_done=True, xcom_value=report.to_dict())
        if report.failures:
            raise _failed(report.failures)
        return PokeReturnValue(is_done=False)

    def execute_complete(self, context: Context, event: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """Take what the trigger has found."""
        if "refused" in event:
            raise AirflowFailException(event["refused"])
        if "failures" in event:
            raise _failed(event["failures"])
        report: dict[str, Any] = event["report"]
        return report

    def _source(self) -> PolicySource:
        try:
            return PolicySource.of(self.policy, self.environment, self.task_id)
        except InvalidInputError as error:
            raise AirflowFailException(str(error)) from error


def _failed(failures: Sequence[str]) -> AirflowException:
    return AirflowException(f"Cannot tell whether a table needs a rewrite, because {'; '.join(failures)}")
