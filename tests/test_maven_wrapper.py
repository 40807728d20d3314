"""The Maven wrapper runs no other Maven than the one whose sum is in ``mvnw.properties``."""

import os
import shutil
import subprocess
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.stack.running import running

ROOT = Path(__file__).parent.parent
TOOLS = (
    "sh",
    "uname",
    "tr",
    "mktemp",
    "rm",
    "mkdir",
    "dirname",
    "basename",
    "sha256sum",
    "wget",
    "curl",
    "tar",
    "gzip",
)


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.parametrize("has_unzip", [True, False])
def test_another_archive_is_refused(tmp_path: Path, has_unzip: bool) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in (*TOOLS, *["unzip"] * has_unzip):
        if (found := shutil.which(name)) is not None:
            (tools / name).symlink_to(found)
    if has_unzip and not (tools / "unzip").exists():
        pytest.skip("there is no unzip here")
    folder = tmp_path / "served/org/apache/maven/apache-maven/3.9.11"
    (tmp_path / "apache-maven-3.9.11/bin").mkdir(parents=True)
    (tmp_path / "apache-maven-3.9.11/bin/mvn").write_text(f"#!/bin/sh\ntouch {tmp_path}/evil\n")
    (tmp_path / "apache-maven-3.9.11/bin/mvn").chmod(0o755)
    for kind in ("zip", "gztar"):
        shutil.make_archive(str(folder / "apache-maven-3.9.11-bin"), kind, tmp_path, "apache-maven-3.9.11")
    with running(ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(tmp_path / "served")))) as server:
        environment = {
            "PATH": str(tools),
            "HOME": str(tmp_path),
            "MAVEN_USER_HOME": str(tmp_path / "m2"),
            "MVNW_REPOURL": f"http://127.0.0.1:{server.server_port}",
            "no_proxy": "127.0.0.1",
            "TMPDIR": os.environ.get("TMPDIR", "/tmp"),
        }
        done = subprocess.run(
            [ROOT / "mvnw", "--version"], capture_output=True, text=True, env=environment, timeout=60, check=False
        )
    assert done.returncode == 1, done.stdout
    assert "Failed to validate Maven distribution SHA-256" in done.stderr
    assert not (tmp_path / "evil").exists()
