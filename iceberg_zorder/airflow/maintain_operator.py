"""A task that runs a maintenance pass."""

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
    """The task was killed; a KeyboardInterrupt, so that no handler of table failures catches it."""


class MaintainOperator(BaseOperator):
    """Runs one pass over the tables of a policy, in the task's process.

    The task returns the pass report, as in ``iceberg-zorder maintain --output json``. If the task fails, it pushes the
    report to XCom before.

    Parameters
    ----------
    policy : str or mapping
        Path of the policy; ``{{ dag.folder }}`` is the folder of the DAG's file. Or the policy itself, as text of
        several lines or as a mapping. Templated.
    environment : mapping of str to str, optional
        Values for ``${VARIABLE}`` in the policy's catalogs, in addition to the worker's environment. Templated, so they
        may come from Airflow's connections and variables.
    conf : mapping of str to str, optional
        Spark settings, for tables that need Spark. Templated.
    dry_run : bool, optional
        Whether only to decide, and write nothing.
    **kwargs
        Arguments of every operator.

    Raises
    ------
    AirflowFailException
        When the policy is refused. The task is not retried.
    AirflowException
        When tables or catalogs failed, after the pass has done the others. The message names the failed ones.

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
        """Run the pass, and return its report."""
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
        """Cancel the pass as Ctrl-C does; uncommitted files are deleted.

        Airflow calls this method in its SIGTERM handler, which runs in the pass's thread. Airflow also calls it after a
        timeout, when the pass has already ended.
        """
        if self._is_at_work:
            self._is_at_work = False
            raise _KilledError("the pass was cancelled")
