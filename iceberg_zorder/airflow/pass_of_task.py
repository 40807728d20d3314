"""Run a maintenance pass inside a task, and write its events to the task's log.

Functions import their dependencies themselves, because the scheduler imports DAG modules repeatedly.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from airflow.sdk.exceptions import AirflowFailException

if TYPE_CHECKING:
    from iceberg_zorder.maintain.events import Event
    from iceberg_zorder.maintain.pass_report import PassReport
    from iceberg_zorder.maintain.policy.policy import Policy


def pass_of_task(
    policy: str | Mapping[str, Any], environment: Mapping[str, str] | None, task_id: str, logger: Any, **options: Any
) -> PassReport:
    """Run a pass with options of ``run_pass``; a refused policy fails the task without retries."""
    from iceberg_zorder.errors import InvalidInputError
    from iceberg_zorder.passes import run_pass

    try:
        read = read_policy(policy, environment, task_id)
    except InvalidInputError as error:
        raise AirflowFailException(str(error)) from error
    return run_pass(read, tell=partial(log_event, logger), **options)


def read_policy(policy: str | Mapping[str, Any], environment: Mapping[str, str] | None, task_id: str) -> Policy:
    r"""Read a policy: a mapping, text of several lines, or a path.

    Examples
    --------
    >>> text = "version: 1\ncatalogs: {lake: {uri: '${LAKE}'}}\ntables: {'*': {}}"
    >>> read_policy(text, {"LAKE": "sqlite:///lake.db"}, "maintain").catalogs["lake"].properties["uri"]
    'sqlite:///lake.db'
    """
    import yaml

    from iceberg_zorder.errors import InvalidInputError
    from iceberg_zorder.maintain.policy.read import parse_policy, policy_text

    name = f"the policy of task {task_id}"
    if isinstance(policy, Mapping):
        try:
            text = yaml.safe_dump(dict(policy), sort_keys=False)
        except yaml.YAMLError as error:
            raise InvalidInputError(f"Cannot use {name}, because {str(error).splitlines()[0]}") from error
    elif "\n" in policy:
        text = policy
    else:
        text, name = policy_text(policy), policy
    return parse_policy(text, name, {**os.environ, **(environment or {})})


def log_event(logger: Any, event: Event) -> None:
    """Log the decision about each table, and its result.

    Examples
    --------
    >>> import sys
    >>> from datetime import datetime, timezone
    >>> from iceberg_zorder.maintain.events import TABLE_DECIDED, Event
    >>> logger = logging.Logger("task")
    >>> logger.addHandler(logging.StreamHandler(sys.stdout))
    >>> told = {"table": "lake.db.t", "action": "leave", "reason": "no trigger is met", "error": None, "done": None}
    >>> log_event(logger, Event(TABLE_DECIDED, datetime.now(timezone.utc), told))
    lake.db.t: leave (no trigger is met)
    """
    from iceberg_zorder.maintain.events import REWRITE_ENDED, TABLE_DECIDED, TABLE_FAILED

    told = event.details
    if event.name not in (REWRITE_ENDED, TABLE_DECIDED, TABLE_FAILED):
        return
    if told["error"]:
        level = logging.WARNING if told["conflict"] else logging.ERROR
        logger.log(level, "%s", told["error"])
    elif told["done"]:
        done = told["done"]
        counts = (done["rewritten_files"], done["rewritten_bytes"], done["added_files"])
        logger.info("%s: rewrote %d data files of %d bytes to %d", told["table"], *counts)
        for each in filter(None, (done["message"], *done["follow_ups"])):
            logger.info("%s: %s", told["table"], each)
    else:
        logger.info("%s: %s (%s)", told["table"], told["action"], told["reason"])
