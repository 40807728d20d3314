"""Where a task has its policy from.

The scheduler imports the modules of DAGs over and over, so that what only a task needs is imported in the functions.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from iceberg_zorder.maintain.policy.policy import Policy


@dataclass(frozen=True)
class PolicySource:
    """A policy that is yet to be read.

    Parameters
    ----------
    text : str
        The policy, in YAML.
    name : str
        What messages call it.
    environment : mapping of str to str
        Variables for ``${VARIABLE}`` of catalogs, beside those of the process; they win over these.
    """

    text: str
    name: str
    environment: Mapping[str, str]

    @staticmethod
    def of(policy: str | Mapping[str, Any], environment: Mapping[str, str] | None, task_id: str) -> PolicySource:
        r"""Find the text of a policy.

        Examples
        --------
        >>> PolicySource.of({"version": 1, "tables": {"*": {}}}, None, "maintain").text
        "version: 1\ntables:\n  '*': {}\n"
        >>> PolicySource.of("version: 1\ntables: {'*': {}}", None, "maintain").name
        'the policy of task maintain'
        """
        import yaml

        from iceberg_zorder.errors import InvalidInputError
        from iceberg_zorder.maintain.policy.read import policy_text

        name, given = f"the policy of task {task_id}", dict(environment or {})
        if isinstance(policy, Mapping):
            try:
                return PolicySource(yaml.safe_dump(dict(policy), sort_keys=False), name, given)
            except yaml.YAMLError as error:
                raise InvalidInputError(f"Cannot use {name}, because {str(error).splitlines()[0]}") from error
        if "\n" in policy:
            return PolicySource(policy, name, given)
        return PolicySource(policy_text(policy), policy, given)

    def read(self) -> Policy:
        r"""Read the policy; raises InvalidInputError where it cannot be honoured.

        Examples
        --------
        >>> text = "version: 1\ncatalogs: {lake: {uri: '${LAKE}'}}\ntables: {'*': {}}"
        >>> PolicySource(text, "the policy", {"LAKE": "sqlite:///lake.db"}).read().catalogs["lake"].properties["uri"]
        'sqlite:///lake.db'
        """
        from iceberg_zorder.maintain.policy.read import parse_policy

        return parse_policy(self.text, self.name, {**os.environ, **self.environment})
