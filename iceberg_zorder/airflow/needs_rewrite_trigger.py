"""What waits for a sensor that has let its worker go."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

from iceberg_zorder.airflow.pass_log import log_event
from iceberg_zorder.airflow.policy_source import PolicySource
from iceberg_zorder.errors import InvalidInputError

if TYPE_CHECKING:
    from iceberg_zorder.maintain.pass_report import PassReport


class TableNeedsRewriteTrigger(BaseTrigger):
    """Looks at the tables of a policy, again and again until a pass would rewrite one.

    Its one event has either ``report``, that of a dry run which would rewrite a table; or ``failures``, with what went
    wrong with tables or catalogs while no table needs a rewrite; or ``refused``, with what is wrong with the policy.

    Parameters
    ----------
    text : str
        The policy, in YAML.
    name : str
        What messages call it.
    environment : mapping of str to str
        Variables for ``${VARIABLE}`` of the policy's catalogs, beside those of the triggerer.
    poke_interval : float
        Seconds between two looks, in [0, inf).
    silent_fail : bool
        Whether to go on where something went wrong.
    """

    def __init__(
        self, *, text: str, name: str, environment: Mapping[str, str], poke_interval: float, silent_fail: bool
    ) -> None:
        super().__init__()
        self._source = PolicySource(text, name, environment)
        self._poke_interval, self._silent_fail = poke_interval, silent_fail

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Tell the class, and the arguments that make another one like this."""
        return f"{__name__}.{type(self).__name__}", {
            "text": self._source.text,
            "name": self._source.name,
            "environment": dict(self._source.environment),
            "poke_interval": self._poke_interval,
            "silent_fail": self._silent_fail,
        }

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Look in another thread, as catalogs and files are waited for, and sleep in between."""
        while True:
            try:
                report = await asyncio.to_thread(look, self._source, self.log)
            except InvalidInputError as error:
                yield TriggerEvent({"refused": str(error)})
                return
            if would_rewrite(report):
                yield TriggerEvent({"report": report.to_dict()})
                return
            if report.failures and not self._silent_fail:
                yield TriggerEvent({"failures": list(report.failures)})
                return
            await asyncio.sleep(self._poke_interval)


def look(source: PolicySource, logger: Any) -> PassReport:
    """Decide what a pass would do, from metadata alone; raises InvalidInputError where the policy is refused."""
    from iceberg_zorder.passes import run_pass

    return run_pass(source.read(), dry_run=True, tell=partial(log_event, logger))


def would_rewrite(report: PassReport) -> bool:
    """Tell whether a pass would rewrite any table."""
    return any(each.decision is not None and each.decision.action == "rewrite" for each in report.tables)
