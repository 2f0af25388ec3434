#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the messages and the kernel, and installs them into the virtual environment that holds the ROS 2 wheels.
# usage: build_into.sh PREFIX BUILD_FOLDER KERNEL, from the project's root; both folders absolute, KERNEL is ON or OFF
#
# Without a compiler nothing is built and that is no error: what needs no ROS (replay, calibrate, report) works.
set -e
prefix=$1
build=$2
kernel=$3
log=$build.log

skip() {
    echo "make setup: messages and kernel not built, so no nodes and no live demo: $1" >&2
    exit 0
}

command -v "${CC:-cc}" >/dev/null && command -v "${CXX:-c++}" >/dev/null ||
    skip "no C and C++ compiler (Debian: apt install g++)"
"$prefix/bin/python" -c '
import pathlib, sys, sysconfig
sys.exit(not pathlib.Path(sysconfig.get_path("include"), "Python.h").exists())' ||
    skip "Python.h is missing (Debian: apt install python3-dev)"

run() {
    words=$1
    shift
    cmake/progress.sh "make setup: $words" "$log" "$@" || {
        echo "make setup: KERNEL=OFF leaves the C++ kernel out" >&2
        exit 1
    }
}

run "looking for compiler and ROS" cmake -G Ninja -S . -B "$build" -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=OFF -DSYSID_EDITABLE=ON -DSYSID_PYTHON_MESSAGES=ON -DSYSID_KERNEL="$kernel" \
    -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_INSTALL_PREFIX="$prefix" -DPython3_EXECUTABLE="$prefix/bin/python" \
    -DCMAKE_PROJECT_INCLUDE="$PWD/cmake/ros_wheels.cmake"
grep -- '-- Kernel:' "$log" | cut -c 4- || true
run "compiling messages and kernel" cmake --build "$build"
run "installing them" cmake --install "$build"
