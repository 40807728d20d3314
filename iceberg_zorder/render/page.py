"""What all pages have: the templates beside this module, a style, and how numbers are written."""

from __future__ import annotations

from importlib.resources import files

from jinja2 import Environment, FunctionLoader, Template
from rich.filesize import decimal


def template(name: str) -> Template:
    """Read a template."""
    environment = Environment(loader=FunctionLoader(_read), autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters.update(
        size=lambda size: decimal(round(size)),
        percent=lambda share: "–" if share is None else f"{100 * share:.1f}%",
        decimals=lambda number: "–" if number is None else f"{number:,.2f}",
    )
    environment.globals["style"] = _read("page.css")
    return environment.get_template(name)


def _read(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
