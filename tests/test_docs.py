"""What pages point at is there, and what they say of code, versions and benchmarks is what these say."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
import typer

import iceberg_zorder.cli.app
import iceberg_zorder.errors
import iceberg_zorder.pyiceberg
import iceberg_zorder.spark
from iceberg_zorder.maintain.metrics import _COUNTERS, _GAUGES, _PREFIX
from iceberg_zorder.rewrite.measures import size
from iceberg_zorder.rewrite.messages import _WORDS, NOT_IN_PLAN
from iceberg_zorder.rewrite.options import RewriteOptions
from iceberg_zorder.spark.session import ICEBERG_VERSIONS
from tests.pages import PAGES, REPOSITORY, commands, named, rows, snippets

MAKEFILE = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
PATH = re.compile(r"`(?:\./)?([\w./-]+(?:\.(?:py|java|md|sh|toml|xml|yml)|/))`")


def anchors(text: str) -> set[str]:
    """The anchors of a page: of headings, as Git forges make them, and of names that the site takes from docstrings."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE), re.MULTILINE)
    documented = re.findall(r"^::: (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings} | {*documented}


def broken_links(page: str, text: str) -> list[str]:
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, anchor = target.partition("#")
        if "://" in target:
            continue
        file = (REPOSITORY / page).parent / path if path else REPOSITORY / page
        if not file.exists() or (anchor and anchor not in anchors(file.read_text(encoding="utf-8"))):
            broken.append(target)
    return broken


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    assert broken_links(page, PAGES[page]) == []


def test_every_page_of_docs_is_in_the_sites_navigation() -> None:
    pages = re.findall(r": ([\w/-]+\.md)$", (REPOSITORY / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    told = {page for page in pages if not page.startswith("repository/")}
    assert told == {page.removeprefix("docs/") for page in PAGES if page.startswith("docs/")}


def test_the_home_page_lists_every_page() -> None:
    linked = set(re.findall(r"\]\(([\w/-]+\.md)\)", PAGES["docs/index.md"]))
    assert linked == {page.removeprefix("docs/") for page in PAGES if page.startswith("docs/")} - {"index.md"}


@pytest.mark.parametrize("page", PAGES)
def test_make_targets_exist(page: str) -> None:
    named = set(re.findall(r"`make ([a-z-]+)`", PAGES[page]))
    if page == "README.md":
        named |= {line.split()[1] for line in commands() if line.startswith("make ")}
    assert {target for target in named if not re.search(rf"^{target}:", MAKEFILE, flags=re.MULTILINE)} == set()


@pytest.mark.parametrize("page", [page for page in PAGES if page != "CHANGELOG.md"])
def test_paths_exist(page: str) -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=REPOSITORY, capture_output=True, text=True, check=False).stdout
    if not listed:
        pytest.skip("no Git repository")
    files = {file for file in listed.splitlines() if (REPOSITORY / file).exists()}
    known = [f"/{path}" for path in files | {f"{parent}/" for file in files for parent in Path(file).parents}]
    named = PATH.findall(PAGES[page])
    assert [path for path in named if not any(each.endswith(f"/{path}") for each in known)] == []


def test_the_java_snippet_is_that_of_the_javadoc() -> None:
    (shown,) = snippets("java")
    (source,) = REPOSITORY.glob("spark_jars/spark/**/ZOrderRewrite.java")
    javadoc = re.search(r"<pre>\{@code\n(.*?) \* \}</pre>", source.read_text(encoding="utf-8"), re.DOTALL)
    assert javadoc is not None
    assert re.sub(r"^ \* ?", "", javadoc[1], flags=re.MULTILINE) == shown


def test_the_page_on_java_has_every_public_class_and_no_method_that_is_not_there() -> None:
    (folder,) = REPOSITORY.glob("spark_jars/spark/src/main/java/**/spark/api")
    sources = {path.stem: path.read_text(encoding="utf-8") for path in folder.glob("*.java")}
    public = {name: text for name, text in sources.items() if re.search(rf"^public .*\b{name}\b", text, re.MULTILINE)}
    told = named("docs/reference/java.md", "| class |")
    assert set(told) == set(public)
    for name, row in told.items():
        methods = re.findall(r"`(\w+)[(`]", row[2])
        assert [each for each in methods if not re.search(rf"\b{each}\b(?:\(|[,)\n])", public[name])] == [], name


def test_the_page_on_python_has_every_public_name_and_error() -> None:
    page = PAGES["docs/reference/python.md"]
    shown = {each.rpartition(".")[2] for each in re.findall("^::: (.*)$", page, re.MULTILINE)}
    engines = (iceberg_zorder, iceberg_zorder.pyiceberg, iceberg_zorder.spark)
    public = {name for engine in engines for name in engine.__all__} - {"__version__"}
    imported = {
        name.strip()
        for block in snippets("python")
        for names in re.findall(r"^from iceberg_zorder[\w.]* import (.*)$", block, re.MULTILINE)
        for name in names.split(",")
    }
    assert public | imported <= shown
    bases = {name: row[1].strip("`") for name, row in named("docs/reference/python.md", "| error |").items()}
    assert bases == {
        name: each.__base__.__name__
        for name, each in vars(iceberg_zorder.errors).items()
        if isinstance(each, type) and each.__base__ is not None
    }


def test_spark_and_iceberg_are_those_that_are_tested() -> None:
    newest = f"4.1, {minor(ICEBERG_VERSIONS[(4, 1), '2.13'])}"
    lines = re.search(r"^LINES := (.*)$", MAKEFILE, flags=re.MULTILINE)
    assert lines is not None
    others = {f"{spark}, {minor(iceberg)}" for spark, _, iceberg in (each.split("@") for each in lines[1].split())}
    first, *columns = rows("docs/reference/versions.md", "| | 4.1, ")[0][1:]
    assert first == newest
    assert set(columns) == others
    runtimes = set(re.findall(r"iceberg-spark-runtime-4.1_2.13:([\d.]+)", PAGES["README.md"]))
    assert runtimes == {ICEBERG_VERSIONS[(4, 1), "2.13"]}


def minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def test_defaults_are_those_of_the_code() -> None:
    told = {name: row[1].strip("`") for name, row in named("docs/reference/options.md", "| option |").items()}
    options = RewriteOptions()
    assert told["partial-progress.max-commits"] == str(options.max_commits)
    assert told["partial-progress.enabled"] == str(options.partial_progress).lower()
    assert size(told["max-file-group-size-bytes"]) == options.max_file_group_size
    for name in (
        *("boundaries", "size-tolerance", "sample-seed", "cuts", "min-input-files", "rewrite-all", "rewrite-job-order"),
        *("delete-file-threshold", "delete-ratio-threshold", "compression-factor", "remove-dangling-deletes"),
        *("max-concurrent-file-group-rewrites", "use-starting-sequence-number"),
    ):
        key = name.replace("-", "_")
        default = getattr(options.layout if hasattr(options.layout, key) else options, key)
        assert told[name] == str(default).lower(), name


def test_exit_codes_are_those_of_the_command_line() -> None:
    told = {int(row[0]) for row in rows("docs/reference/exit-codes.md", "| exit code |")[1:]}
    sentence = str(iceberg_zorder.cli.app.__doc__).partition("Exit codes:")[2]
    assert told == {int(code) for code in re.findall(r"\d+", sentence)}


def test_commands_and_arguments_are_those_of_the_command_line() -> None:
    page = "docs/reference/command-line.md"
    application = typer.main.get_command(iceberg_zorder.cli.app.app)
    commands_of = {name: each.params for name, each in application.commands.items()}  # type: ignore[attr-defined]
    assert set(named(page, "| command | what")) == set(commands_of)
    flags = {(name, flag) for name, params in commands_of.items() for each in params for flag in each.opts}
    told = {(row[0].strip("`"), row[1].strip("`")) for row in rows(page, "| command | argument |")[1:]}
    for arguments, of, *_ in rows(page, "| argument |")[1:]:
        but = re.findall(r"`(.+?)`", of)
        names = set(commands_of).difference(but) if of.startswith("all") else but
        told |= {(name, flag) for name in names for flag in re.findall(r"`(.+?)`", arguments)}
    assert {(name, flag) for name, flag in flags if flag.startswith("-")} == told


@pytest.mark.parametrize("page", PAGES)
def test_command_lines_are_those_of_the_command_line(page: str) -> None:
    application = typer.main.get_command(iceberg_zorder.cli.app.app)
    flags = {
        name: {flag for each in command.params for flag in each.opts}
        for name, command in application.commands.items()  # type: ignore[attr-defined]
    }
    code = r"^```.*?^```$|^ {4}[^\n]*$|`[^`\n]+`"
    shown = "\n".join(re.findall(code, PAGES[page].replace("\\\n", " "), re.DOTALL | re.MULTILINE))
    lines = re.findall(r"iceberg-zorder ([a-z]+)([^`\n]*)", shown)
    named = [(name, flag) for name, rest in lines for flag in re.findall(r"\s(--[a-z-]+)", rest.partition("  #")[0])]
    assert [name for name, _ in lines if name not in flags] == []
    assert [(name, flag) for name, flag in named if flag not in {*flags[name], "--help"}] == []


def test_codes_of_reasons_are_those_of_the_code() -> None:
    codes = [
        row[0]
        for heading in ("a chosen file group", "skipped files")
        for row in rows("docs/reference/plans.md", f"| code of {heading}")[1:]
    ]
    assert {code for cell in codes for code in re.findall(r"`(.+?)`", cell)} == {*_WORDS, NOT_IN_PLAN}


def test_metrics_are_those_of_the_code() -> None:
    told = {
        name.removesuffix("_total"): re.findall("`(outcome|table|action)`", row[1])
        for name, row in named("docs/reference/metrics.md", "| metric |").items()
    }
    found = {f"{_PREFIX}{name}": list(labels) for name, (_, labels) in {**_COUNTERS, **_GAUGES}.items()}
    assert told == found
