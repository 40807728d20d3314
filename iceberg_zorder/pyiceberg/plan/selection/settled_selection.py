"""Leave the partitions that earlier rewrites have settled, and choose among the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from iceberg_zorder.pyiceberg.plan.selection.selection import PartitionFiles, Selected, SelectedFiles, Selection
from iceberg_zorder.pyiceberg.plan.selection.sizes import SizeRules
from iceberg_zorder.upkeep.settled import WHY, Settled, why_nothing


class SettledSelection:
    """Leaves what is settled, unless deletes or partition specs call for a rewrite.

    Parameters
    ----------
    table : str
        The table's name in messages.
    settled : Settled
        What is.
    rules : SizeRules
        Which files are to be rewritten whatever has settled them.
    others : Selection
        Chooses among what is not.
    """

    def __init__(self, table: str, settled: Settled, rules: SizeRules, others: Selection) -> None:
        self._table, self._settled, self._rules, self._others = table, settled, rules, others

    def select(self, scope: Sequence[PartitionFiles]) -> Selected:
        """Choose among what is not settled; see :meth:`Selection.select`."""
        settled: list[PartitionFiles] = []
        others: list[PartitionFiles] = []
        for each in scope:
            (settled if self._is_settled(each) else others).append(each)
        if not settled:
            return self._others.select(scope)
        left = tuple(SelectedFiles(each.key, each.tasks, WHY) for each in settled)
        if not others:
            return Selected((), left, why_nothing(self._table, sum(len(each.tasks) for each in settled)))
        selected = self._others.select(others)
        return replace(selected, left=(*selected.left, *left))

    def _is_settled(self, partition: PartitionFiles) -> bool:
        return self._settled.covers([task.added_by for task in partition.tasks]) and not any(
            self._rules.is_due(task) for task in partition.tasks
        )
