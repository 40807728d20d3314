"""The PyIceberg engine: rewrite a table without a JVM. Only this package imports PyIceberg.

rewrite_data_files  rewrite a :class:`pyiceberg.table.Table`
RewriteResult       the result: Iceberg's five counts, scan fractions, and why nothing was rewritten
plan_rewrite        plan a rewrite, from metadata alone
RewritePlan         the plan: file groups, files that stay, and reasons; reads and writes JSON
sample              add layouts and predictions to a plan
SampledPlan         a plan with layouts and predictions
execute             execute a plan
report              report how well a table is clustered, and what a rewrite would reach
append              append rows in files that lie in few boxes of the table
AppendResult        the result: counts of files, rows and bytes
undo                undo a rewrite, unless others have changed the table since
UndoResult          the result: the snapshots that were undone, and what filters read again
advise              advise by which columns to cluster a table, from its workload
"""

from iceberg_zorder.pyiceberg.append import append
from iceberg_zorder.pyiceberg.plan.rewrite_plan import RewritePlan, SampledPlan
from iceberg_zorder.pyiceberg.reporting.advice import advise
from iceberg_zorder.pyiceberg.reporting.report import report
from iceberg_zorder.pyiceberg.rewrite import execute, plan_rewrite, rewrite_data_files, sample
from iceberg_zorder.pyiceberg.undo import UndoResult, undo
from iceberg_zorder.rewrite.append_result import AppendResult
from iceberg_zorder.rewrite.result import RewriteResult

__all__ = [
    "AppendResult",
    "RewritePlan",
    "RewriteResult",
    "SampledPlan",
    "UndoResult",
    "advise",
    "append",
    "execute",
    "plan_rewrite",
    "report",
    "rewrite_data_files",
    "sample",
    "undo",
]
