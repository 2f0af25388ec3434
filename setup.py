# SPDX-License-Identifier: Apache-2.0
"""Builds the Python package; the version comes from package.xml, everything else from pyproject.toml."""

import xml.etree.ElementTree as ElementTree
from pathlib import Path

from setuptools import setup

VERSION = ElementTree.parse(Path(__file__).with_name("package.xml")).findtext("version")

setup(version=VERSION)
