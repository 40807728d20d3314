"""Look at the tables of policy.yaml, beside this file, each five minutes, and run a pass when one needs it."""

from datetime import timedelta

from airflow.sdk import DAG

from iceberg_zorder.airflow import MaintainOperator, TableNeedsRewriteSensor

with DAG("zorder_maintenance", schedule="@hourly", catchup=False, max_active_runs=1) as dag:
    policy = {
        "policy": "{{ dag.folder }}/policy.yaml",
        "environment": {
            "LAKE_URI": "{{ var.value.lake_uri }}",
            "LAKE_CREDENTIAL": "{{ conn.lake.login }}:{{ conn.lake.password }}",
        },
    }
    needs_rewrite = TableNeedsRewriteSensor(
        task_id="needs_rewrite",
        mode="reschedule",
        poke_interval=timedelta(minutes=5),
        timeout=timedelta(minutes=50),
        soft_fail=True,
        **policy,
    )
    maintain = MaintainOperator(task_id="maintain", retries=1, execution_timeout=timedelta(hours=2), **policy)
    needs_rewrite >> maintain
