#!/usr/bin/env bash
# Installs the servers and programs that `make test-full` and `make stack` use and that no Python package brings.
set -euo pipefail
missing=()
command -v initdb >/dev/null || compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || missing+=(postgresql)
command -v docker-compose >/dev/null || missing+=(docker-compose)
command -v chromium >/dev/null || missing+=(chromium fonts-dejavu-core)
command -v strace >/dev/null || missing+=(strace)
test "${#missing[@]}" -eq 0 && exit
as_root=()
test "$(id -u)" -eq 0 || as_root=(sudo)
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
