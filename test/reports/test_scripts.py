# SPDX-License-Identifier: Apache-2.0
"""A page's scripts are complete, of the versions named, and work in a browser where there is one."""

from __future__ import annotations

import base64
import gzip
import html
import re
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

import numpy as np
import pinocchio
import pytest
from matplotlib.figure import Figure

from sysid_nodes.reports.drawing.moving_scene import MovingScene, robot_bodies
from sysid_nodes.reports.drawing.plots import to_svg
from sysid_nodes.reports.page import template
from sysid_nodes.reports.scripts import page_scripts
from sysid_nodes.robots import load_robot

VENDOR = files("sysid_nodes.reports") / "vendor"
PAGE = (files("sysid_nodes.reports") / "templates" / "prime.html.j2").read_text(encoding="utf-8")
(POLICY,) = re.findall("<meta http-equiv.*>", PAGE)
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

_NARROWEST = 500  # window that Chromium opens: narrower pages go into a frame [pixels]

PROBE = """<script>setTimeout(() => {
  const shown = !document.querySelector(".scene3d").hidden, fits = document.documentElement.scrollWidth <= innerWidth;
  parent.document.title = [shown, document.querySelectorAll("canvas").length, fits].join();
}, 6000)</script>"""


def test_libraries_are_those_that_the_readme_names() -> None:
    told = (VENDOR / "README.md").read_text(encoding="utf-8")
    core = (VENDOR / "three.core.min.js").read_text(encoding="utf-8")
    plots = (VENDOR / "uPlot.iife.min.js").read_text(encoding="utf-8")
    for release in (re.search(r'const [a-z]+="(180)"', core), re.search(r"\(v([0-9.]+)\)", plots)):
        assert release is not None
        assert release[1] in told
    for name in ("three", "uplot"):
        assert "Permission is hereby granted" in (VENDOR / f"LICENSE.{name}").read_text(encoding="utf-8")


def test_pages_have_no_ink_of_their_own() -> None:
    """In the dark the ink is light: a key in the ink of the light page is not seen there, and no line is black."""
    for page in (files("sysid_nodes.reports") / "templates").iterdir():
        if page.name.endswith(".j2"):
            text = page.read_text(encoding="utf-8")
            assert "#1c2733" not in text, page.name
            assert "black" not in text, page.name


def test_packed_modules_unpack_to_themselves() -> None:
    found = re.findall(r'<script type="application/gzip" id="(.*?)">(.*?)</script>', page_scripts(True))
    assert len(found) == 3
    for name, packed in found:
        assert gzip.decompress(base64.b64decode(packed)).decode() == (VENDOR / name).read_text(encoding="utf-8")
    assert len(page_scripts(True)) < 500_000
    assert "three" not in page_scripts(False)


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
@pytest.mark.parametrize("width", [1280, 400])
def test_scene_and_plot_are_drawn_and_nothing_sticks_out(width: int, tmp_path: Path) -> None:
    """In a headless browser, from a file: the scene is shown, the plot has replaced its picture, no side scrolling."""
    robot = load_robot("kinova_gen3")
    q = np.linspace(pinocchio.neutral(robot.model), 0.5 * np.ones(robot.model.nq), 5)
    scene = MovingScene(np.linspace(0.0, 1.0, 5), "robot")
    scene.bodies.extend(robot_bodies(robot, q, colour="#ffffff", joint_colour="#000000", group="robot"))
    figure = Figure(figsize=(9.2, 3.0))
    figure.subplots().plot(np.arange(50.0), np.arange(50.0) ** 2)
    style = (files("sysid_nodes.reports") / "templates" / "report.css").read_text(encoding="utf-8")
    body = f"{scene.markup()}<figure>{to_svg(figure, 'a curve')}</figure>{template('foot.html.j2').render(scene=True)}"
    page = f'<!DOCTYPE html><html><head><meta charset="utf-8">{POLICY}<style>{style}</style></head><body>{body}{PROBE}'
    if width < _NARROWEST:
        page = f'<title></title><iframe srcdoc="{html.escape(page)}" style="width: {width}px; height: 900px"></iframe>'
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    command = [
        str(CHROMIUM), "--headless", "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader",
        "--enable-unsafe-swiftshader", f"--window-size={width},900", "--virtual-time-budget=20000", "--dump-dom",
        f"--user-data-dir={tmp_path / 'profile'}", f"file://{tmp_path / 'page.html'}",
    ]  # fmt: skip
    told = subprocess.run(command, capture_output=True, text=True, timeout=300.0, check=True).stdout
    assert re.search(r"<title>(.*?)</title>", told)[1] == "true,2,true"
