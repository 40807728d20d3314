"""An asset that keeps the tables of a policy clustered, and is materialized each hour."""

import os
from pathlib import Path

import dagster as dg

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.maintain.policy.read import read_policy
from iceberg_zorder.passes import run_pass

POLICY = Path(__file__).with_name("policy.yaml")


@dg.asset(group_name="maintenance", compute_kind="iceberg", pool="zorder_maintenance")
def clustered_tables(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
    """One pass over the tables of the policy."""
    try:
        policy = read_policy(POLICY, os.environ)
    except InvalidInputError as error:
        raise dg.Failure(str(error), allow_retries=False) from error
    report = run_pass(policy, say=context.log.info)
    metadata = {
        "rewritten_bytes": report.rewritten_bytes,
        "tables": len(report.tables),
        "report": dg.MetadataValue.json(report.to_dict()),
    }
    if report.failures:
        raise dg.Failure("; ".join(report.failures), metadata)
    return dg.MaterializeResult(metadata=metadata)


job = dg.define_asset_job("zorder_maintenance", [clustered_tables])
defs = dg.Definitions(
    assets=[clustered_tables],
    jobs=[job],
    schedules=[dg.ScheduleDefinition(job=job, cron_schedule="17 * * * *")],
)
