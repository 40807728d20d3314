"""Leave file groups whose rewrite has brought nothing, and have their table remember them."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyiceberg.table import Table

from iceberg_zorder.pyiceberg.commit.table_properties import change_properties
from iceberg_zorder.pyiceberg.display import display_name
from iceberg_zorder.pyiceberg.file_groups import DataFileTask, FileGroup
from iceberg_zorder.pyiceberg.plan.selection.selection import Selected, SelectedFiles
from iceberg_zorder.pyiceberg.plan.selection.sizes import SizeRules
from iceberg_zorder.upkeep.left_groups import PROPERTY, WHY, group_key, remembered, why_nothing, with_keys
from iceberg_zorder.upkeep.settled import WRITE

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class LeftGroups:
    """The file groups that a table remembers for rewrites of one way.

    Parameters
    ----------
    table : pyiceberg.table.Table
        The table.
    sort_order : str
        The sort order, as written.
    options : Mapping of str to str
        The options, as written.
    """

    table: Table
    sort_order: str
    options: Mapping[str, str]

    def of(self, rules: SizeRules, spec_id: int) -> LeavingStep | None:
        """Prepare to leave them in a plan by some rules, with new files of a spec; None if there are none to leave."""
        known = remembered(self.table.properties)
        return None if not known or rules.options.rewrite_all else LeavingStep(self, known, rules, spec_id)

    def key(self, tasks: Sequence[DataFileTask], max_file_size: int, spec_id: int) -> str:
        """Make the key of data files that are rewritten together; see :func:`.group_key`."""
        way = f"{self.sort_order}, {max_file_size} bytes, spec {spec_id}"
        written = {name: value for name, value in self.table.properties.items() if name.startswith(WRITE)}
        return group_key(way, {**self.options, **written}, (task.data_file.file_path for task in tasks))

    def remember(self, groups: Sequence[FileGroup]) -> None:
        """Have the table remember file groups that were left; if it cannot, that is warned of."""
        if not groups:
            return
        try:
            keys = [self.key(group.tasks, group.max_output_file_size, group.spec_id) for group in groups]
            change_properties(self.table, {PROPERTY: with_keys(self.table.properties, keys)})
        except Exception as error:  # whatever it is, what was rewritten stands
            _LOG.warning("The next rewrite writes what this one left again: %s", error)


class LeavingStep:
    """Leaves what is remembered of what was chosen, unless it has to be rewritten.

    Parameters
    ----------
    left : LeftGroups
        Whose keys they are.
    known : frozenset of str
        The keys, at least one.
    rules : SizeRules
        How large new files are to be, and which files are to be rewritten whatever it brings.
    spec_id : int
        The partition spec of new files.
    """

    def __init__(self, left: LeftGroups, known: frozenset[str], rules: SizeRules, spec_id: int) -> None:
        self._left, self._known, self._rules, self._spec_id = left, known, rules, spec_id

    def leaves(self, tasks: Sequence[DataFileTask]) -> bool:
        """Tell whether data files are left, should they be a file group."""
        if any(self._rules.is_due(task) for task in tasks):
            return False
        return self._left.key(tasks, self._rules.write_max_file_size, self._spec_id) in self._known

    def without_left(self, selected: Selected) -> Selected:
        """Leave the file groups that are remembered."""
        chosen: list[SelectedFiles] = []
        left: list[SelectedFiles] = []
        for files in selected.chosen:
            if self.leaves(files.tasks):
                left.append(SelectedFiles(files.key, files.tasks, WHY))
            else:
                chosen.append(files)
        return self.taken(selected, chosen, left)

    def taken(self, selected: Selected, chosen: Sequence[SelectedFiles], left: Sequence[SelectedFiles]) -> Selected:
        """Take some of what was chosen, and leave other files; if nothing is taken, it is because all is remembered."""
        everything = (*selected.left, *left)
        message = selected.message
        if selected.chosen and not chosen:
            message = why_nothing(display_name(self._left.table), sum(files.reason == WHY for files in everything))
        return Selected(tuple(chosen), everything, message)
