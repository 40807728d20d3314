"""Hooks by which MkDocs builds the site as the repository is read: notebooks, and links to files outside ``docs``."""

from __future__ import annotations

import json
import logging
import os
import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

LOG = logging.getLogger("mkdocs.hooks")
"""Warnings are errors of a strict build."""
REPOSITORY = Path(__file__).resolve().parent.parent
OUTSIDE = "repository/"
"""The site's folder for files that lie outside of ``docs``."""
PAGES = ("CHANGELOG.md", "CONTRIBUTING.md")
FENCED = re.compile(r"(^ *```.*?^ *```$)", re.DOTALL | re.MULTILINE)
LIST_AFTER_TEXT = re.compile(r"^(?![-*] |[|\s]|\d+\. )(.+)\n(?=(?:-|\d+\.) )", re.MULTILINE)
ROLE = re.compile(r":[a-z]+:<code>(?:~[\w.]*\.)?")
LINK = re.compile(r"(?<=\]\()([^)\s#:]+)(?=[)#])")


class Attachment(File):
    """A file that the site shows as it is, pages of Markdown included."""

    def is_documentation_page(self) -> bool:
        """Return False."""
        return False


class Notebook(File):
    """A notebook, which is a page."""

    def is_documentation_page(self) -> bool:
        """Return True."""
        return True


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Turn notebooks into pages, and add the pages that lie outside of ``docs``."""
    for file in [file for file in files if file.src_uri.endswith(".ipynb")]:
        files.remove(file)
        files.append(Notebook.generated(config, file.src_uri, content=notebook_text(file.content_string)))
    for name in PAGES:
        files.append(File.generated(config, OUTSIDE + name, abs_src_path=str(REPOSITORY / name)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Lead links out of ``docs`` to copies in the site, and let a list follow a paragraph at once."""
    uri = page.file.src_uri
    folder = posixpath.dirname(uri.removeprefix(OUTSIDE) if uri.startswith(OUTSIDE) else f"docs/{uri}")

    def in_site(link: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(folder, link[1]))
        target = "index.md" if path == "README.md" else path.removeprefix("docs/")
        if not path.startswith("docs/") and path != "README.md":
            target = OUTSIDE + path
            if not (REPOSITORY / path).is_file():
                LOG.warning("%s links to %s, which is no file", uri, path)
            elif target not in files.src_uris:
                files.append(Attachment.generated(config, target, abs_src_path=str(REPOSITORY / path)))
        return posixpath.relpath(target, posixpath.dirname(uri) or ".")

    parts = FENCED.split(markdown)
    parts[::2] = [LIST_AFTER_TEXT.sub(r"\1\n\n", LINK.sub(in_site, text)) for text in parts[::2]]
    return "".join(parts)


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Leave Sphinx's roles out of docstrings: of ``:func:`~a.b.c``` stays c."""
    return ROLE.sub("<code>", html)


def notebook_text(notebook: str) -> str:
    """Return the Markdown of a notebook: its texts, its code, and what that put out."""
    cells = json.loads(notebook)["cells"]
    return "\n\n".join(part for cell in cells for part in _cell(cell))


def _cell(cell: dict[str, Any]) -> list[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] != "code":
        return [source]
    return [f"```python\n{source}\n```", *(_output(each) for each in cell["outputs"])]


def _output(output: dict[str, Any]) -> str:
    found = output.get("data", {})
    if "image/png" in found:
        return f'<img alt="Output" src="data:image/png;base64,{"".join(found["image/png"]).strip()}">'
    if "text/html" in found:
        lines = "".join(found["text/html"]).splitlines()
        return f"<div>{os.linesep.join(line for line in lines if line.strip())}</div>"
    text = "".join(output.get("text", found.get("text/plain", "")))
    return f"```text\n{text.rstrip()}\n```"
