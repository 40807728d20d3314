"""DAGs that Airflow runs in this process, as it tests them."""

import importlib.util
import os
import uuid
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.present import present

DAG = """
from datetime import timedelta

from airflow.sdk import DAG

from iceberg_zorder.airflow import MaintainOperator, TableNeedsRewriteSensor

FAILED = []

with DAG({name!r}, schedule=None, default_args={{"on_failure_callback": lambda told: FAILED.append(told["exception"])}}) as dag:
    {tasks}
"""


@dataclass(frozen=True)
class Run:
    """What came of a run of a DAG: states, how often each task was tried, what each returned, and what one failed with."""

    states: dict[str, str]
    tries: dict[str, int]
    returned: dict[str, Any]
    failed: list[BaseException]

    @property
    def failure(self) -> BaseException:
        (only,) = self.failed
        return only


def run_tasks(*tasks: str) -> Run:
    """Run some tasks, one after the other."""
    name = f"dag_{uuid.uuid4().hex}"
    file = Path(os.environ["AIRFLOW_HOME"], "dags", f"{name}.py")
    file.write_text(DAG.format(name=name, tasks=" >> ".join(tasks)), encoding="utf-8")
    try:
        return run_dag(file)
    finally:
        file.unlink()


def run_dag(file: Path) -> Run:
    """Run the DAG of a file in Airflow's folder, triggers, too."""
    from airflow.models.xcom import XComModel
    from airflow.utils.session import create_session

    module = _load(file)
    done = module.dag.test()
    tasks = done.get_task_instances()
    with create_session() as session:
        found = session.scalars(XComModel.get_many(run_id=done.run_id, dag_ids=done.dag_id, key="return_value"))
        returned = {each.task_id: XComModel.deserialize_value(each) for each in found}
    return Run(
        {each.task_id: str(each.state) for each in tasks},
        {each.task_id: each.try_number for each in tasks},
        returned,
        getattr(module, "FAILED", []),
    )


def _load(file: Path) -> ModuleType:
    spec = present(importlib.util.spec_from_file_location(file.stem, file))
    module = importlib.util.module_from_spec(spec)
    present(spec.loader).exec_module(module)
    return module
