"""A task that runs a pass of maintenance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator
from airflow.sdk.bases.xcom import BaseXCom
from airflow.sdk.exceptions import AirflowException

from iceberg_zorder.airflow.pass_of_task import pass_of_task

if TYPE_CHECKING:
    from airflow.sdk import Context


class _KilledError(KeyboardInterrupt):
    """The task was told to end; like every KeyboardInterrupt, it is no Exception that a table fails with."""


class MaintainOperator(BaseOperator):
    """Runs one pass over the tables of a policy, in the process of the task.

    The report of the pass, as ``iceberg-zorder maintain --output json`` writes it, is what the task returns, also where
    it fails.

    Parameters
    ----------
    policy : str or mapping
        The path of the policy, for which ``{{ dag.folder }}`` is the folder of the DAG's file; or the policy itself, as
        a text of more than one line or as a mapping. Templated.
    environment : mapping of str to str, optional
        Variables for ``${VARIABLE}`` of the policy's catalogs, beside those of the worker. Templated, so that they may
        come from Airflow's connections and variables.
    conf : mapping of str to str, optional
        Settings of Spark, should a table ask for it. Templated.
    dry_run : bool, optional
        Whether to decide only: nothing is written then.
    **kwargs
        What every operator takes.

    Raises
    ------
    AirflowFailException
        When the policy is refused: another try would not help.
    AirflowException
        When a table or a catalog failed, once the pass has done the others; it names them.

    Examples
    --------
    >>> MaintainOperator(task_id="maintain", policy="{{ dag.folder }}/policy.yaml").dry_run_only
    False
    """

    template_fields: Sequence[str] = ("policy", "environment", "conf")
    template_fields_renderers = {"policy": "yaml", "environment": "json", "conf": "json"}  # noqa: RUF012
    ui_color = "#d7e8d4"

    def __init__(
        self,
        *,
        policy: str | Mapping[str, Any],
        environment: Mapping[str, str] | None = None,
        conf: Mapping[str, str] | None = None,
        dry_run: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.policy = policy
        self.environment = environment
        self.conf = conf
        # BaseOperator has a method dry_run.
        self.dry_run_only = dry_run
        self._is_at_work = False

    def execute(self, context: Context) -> dict[str, Any]:
        """Run the pass; returns its report."""
        options = {"dry_run": self.dry_run_only, "conf": self.conf or {}, "say": self.log.info}
        self._is_at_work = True
        try:
            report = pass_of_task(self.policy, self.environment, self.task_id, self.log, **options)
        finally:
            self._is_at_work = False
        described = report.to_dict()
        if report.failures:
            if self.do_xcom_push:
                context["ti"].xcom_push(key=BaseXCom.XCOM_RETURN_KEY, value=described)
            raise AirflowException(f"Cannot complete the pass, because {'; '.join(report.failures)}")
        return described

    def on_kill(self) -> None:
        """Have the pass end as after Ctrl-C: what was not committed is deleted.

        Airflow calls it in the handler of SIGTERM, in whose thread the pass runs, and after its limit of time, when the
        pass has ended already.
        """
        if self._is_at_work:
            self._is_at_work = False
            raise _KilledError("the pass was cancelled")
