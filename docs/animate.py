# SPDX-License-Identifier: Apache-2.0
"""Makes a short animation of a report's scene for the gallery: python docs/animate.py REPORT.html docs/images/NAME.webp

Needs Chromium (or Chrome) on the PATH, which draws the page's own scene without a window, and Pillow, which comes with
matplotlib.
"""

from __future__ import annotations

import argparse
import base64
import io
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

_PAPER = (29, 38, 48)  # behind the scene, as the page has it in the dark, where light robots are seen best
_PATIENCE = 1800.0  # for a machine without a graphics card that has other things to do [s]

# Turns the page's own slider and takes a picture of each moment; drawing is over when the slider's event is.
_SCRIPT = """<style>.scene3d { width: %(width)dpx }</style><pre id="frames"></pre><script>
  const wait = setInterval(() => {
    const canvas = document.querySelector(".scene3d canvas"), slider = document.querySelector(".scene3d [type=range]");
    if (!canvas || !slider) return;
    clearInterval(wait);
    const frames = [];
    for (let k = 0; k < %(count)d; k += 1) {
      slider.value = %(begin)f + (1 - %(begin)f) * k / (%(count)d - 1);
      slider.dispatchEvent(new Event("input"));
      frames.push(canvas.toDataURL("image/png").split(",")[1]);
    }
    document.getElementById("frames").textContent = frames.join(" ");
  }, 200);
</script>"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("report", type=Path, help="report.html of a demo or replay")
    parser.add_argument("out", type=Path, help="animation to write (.webp)")
    parser.add_argument("--from", type=float, default=0.0, dest="begin", help="share of the scene's time left out")
    parser.add_argument("--seconds", type=float, default=5.0, help="length of the animation")
    parser.add_argument("--frames", type=int, default=40)
    parser.add_argument("--width", type=int, default=420, help="in pixels")
    args = parser.parse_args()
    frames = draw(args.report.read_text(encoding="utf-8"), args.width, args.frames, args.begin)
    first, *rest = frames
    each = round(1e3 * args.seconds / len(frames))
    first.save(args.out, save_all=True, append_images=rest, duration=each, loop=0, quality=55, method=4)
    sys.stdout.write(f"{args.out}: {len(frames)} pictures, {args.out.stat().st_size / 1e3:.0f} kB\n")
    return 0


def draw(page: str, width: int, count: int, begin: float) -> list[Image.Image]:
    """Pictures of a page's scene, evenly over what is left of its time.

    Raises:
        SystemExit: there is no browser, or the page has no scene.
    """
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        raise SystemExit("animate: needs chromium or google-chrome on the PATH")
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "page.html"
        script = _SCRIPT % {"width": width, "count": count, "begin": begin}
        copy.write_text(page.replace("</body>", f"{script}</body>"), encoding="utf-8")
        command = [
            browser, "--headless", "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader",
            "--enable-unsafe-swiftshader", "--virtual-time-budget=20000", "--dump-dom",
            f"--user-data-dir={folder}/profile", f"file://{copy}",
        ]  # fmt: skip
        told = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE, check=True).stdout
    found = re.search(r'<pre id="frames">([^<]+)</pre>', told)
    if found is None:
        raise SystemExit("animate: the page has no scene in three dimensions, or the browser cannot draw it")
    return [_on_paper(base64.b64decode(frame)) for frame in found[1].split()]


def _on_paper(png: bytes) -> Image.Image:
    with Image.open(io.BytesIO(png)) as drawn:
        paper = Image.new("RGBA", drawn.size, (*_PAPER, 255))
        paper.alpha_composite(drawn.convert("RGBA"))
    return paper.convert("RGB")


if __name__ == "__main__":
    sys.exit(main())
