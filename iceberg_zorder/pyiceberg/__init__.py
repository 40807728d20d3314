"""PyIceberg front end: rewrite a table without a JVM. Only this package imports PyIceberg.

rewrite_data_files  rewrites a :class:`pyiceberg.table.Table`
RewriteResult       what it did: Iceberg's five counts, and why nothing was done
plan_rewrite        says what it would do, and why
RewritePlan         that, to look at, to write as JSON and to read from it
sample              adds the layouts to a plan, and what filters are predicted to read
SampledPlan         such a plan
execute             rewrites what a plan says
report              says how well a table is clustered, and what a rewrite would attain
advise              says by what to cluster a table, from its workload, and what that is worth
"""

from iceberg_zorder.pyiceberg.plan.rewrite_plan import RewritePlan, SampledPlan
from iceberg_zorder.pyiceberg.reporting.advice import advise
from iceberg_zorder.pyiceberg.reporting.report import report
from iceberg_zorder.pyiceberg.rewrite import execute, plan_rewrite, rewrite_data_files, sample
from iceberg_zorder.rewrite.result import RewriteResult

__all__ = [
    "RewritePlan",
    "RewriteResult",
    "SampledPlan",
    "advise",
    "execute",
    "plan_rewrite",
    "report",
    "rewrite_data_files",
    "sample",
]
