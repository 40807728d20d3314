"""Results that notebooks show and ``print`` writes.

Results are data, and ``render`` stands above them. But a notebook calls ``_repr_html_`` of a result, and ``print`` its
``__str__``. These two methods are the only way up to ``render``. They import it when they are called, so that a rewrite
loads no renderer.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar


class Displayed(ABC):
    """A result that notebooks show."""

    kind: ClassVar[str]
    """The name by which ``render`` knows what the dictionary describes."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the result as a dictionary for JSON."""

    def _repr_html_(self) -> str:
        from iceberg_zorder.render.display import HTML

        return HTML[self.kind](self.to_dict())


class Printed(Displayed):
    """A result that notebooks show and ``print`` writes as text."""

    def __str__(self) -> str:
        from iceberg_zorder.render.display import TEXT

        return TEXT[self.kind](self.to_dict())
