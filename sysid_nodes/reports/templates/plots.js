// SPDX-License-Identifier: Apache-2.0
// Puts a plot to zoom and to read values from in place of every picture whose data the page has (drawing/plot_data.py).
(() => {
  "use strict";

  const dark = matchMedia("(prefers-color-scheme: dark)");
  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const shades = { "#1c2733": "--ink", "#d5dbe1": "--rule" };
  const shade = (colour) => (shades[colour] ? style(shades[colour]) : colour);
  const text = (value) => (value == null ? "–" : Number(value.toPrecision(5)).toString());

  function polygons(u, shapes) {
    const c = u.ctx;
    c.save();
    c.beginPath();
    c.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
    c.clip();
    for (const shape of shapes) {
      c.globalAlpha = shape.opacity;
      c.fillStyle = shade(shape.colour);
      c.beginPath();
      shape.x.forEach((x, k) => c.lineTo(u.valToPos(x, "x", true), u.valToPos(shape.y[k], "y", true)));
      c.fill();
    }
    c.restore();
  }

  function overlay(u, notes, marks) {
    const c = u.ctx;
    c.save();
    for (const mark of marks) {
      const x = u.valToPos(mark.x, "x", true);
      if (x < u.bbox.left || x > u.bbox.left + u.bbox.width) continue;
      c.strokeStyle = shade(mark.colour);
      c.setLineDash(mark.dash.map((length) => length * devicePixelRatio));
      c.lineWidth = mark.width * devicePixelRatio;
      c.beginPath();
      c.moveTo(x, u.bbox.top);
      c.lineTo(x, u.bbox.top + u.bbox.height);
      c.stroke();
    }
    c.font = `${11 * devicePixelRatio}px sans-serif`;
    c.textBaseline = "middle";
    for (const note of notes) {
      c.fillStyle = shade(note.colour);
      c.textAlign = note.align;
      c.fillText(note.text, u.valToPos(note.x, "x", true), u.valToPos(note.y, "y", true));
    }
    c.restore();
  }

  function options(axes, width, height, key) {
    const ink = style("--soft"), rule = style("--grid");
    const axis = { stroke: ink, grid: { stroke: rule, width: 1 }, ticks: { stroke: rule, width: 1 }, font: "11px sans-serif", labelFont: "11px sans-serif", labelSize: 16 };
    const size = (u, values) => 20 + 6.5 * Math.max(1, ...(values || []).map((v) => String(v).length));
    return {
      width, height,
      cursor: { sync: { key, scales: ["x", null] }, drag: { x: true, y: false }, points: { size: 6 } },
      legend: { show: false },
      scales: {
        x: { time: false, range: (_u, low, high) => (low === high ? axes.xlim : [low, high]) },
        y: { distr: axes.log ? 3 : 1, range: () => axes.ylim },
      },
      axes: [
        { ...axis, size: 26, label: axes.xlabel || undefined },
        { ...axis, size, space: 22, label: axes.ylabel || undefined, values: (_u, values) => values.map((v) => (v == null ? "" : text(v))) },
      ],
      series: [{}, ...axes.lines.map((line) => ({
        stroke: () => shade(line.colour), alpha: line.opacity, width: line.width, dash: line.dash, spanGaps: false, points: { show: line.dots },
        paths: line.dots ? () => null : line.steps ? uPlot.paths.stepped({ align: 1 }) : undefined,
      }))],
      hooks: {
        drawClear: [(u) => polygons(u, axes.areas)],
        draw: [(u) => overlay(u, axes.notes, axes.marks)],
        ready: [(u) => read(u, axes)],
        setCursor: [(u) => read(u, axes)],
      },
    };
  }

  // The names of the lines; where the cursor is, its place and the value of every line there.
  function read(u, axes) {
    const index = u.cursor.idx, box = u.root.parentElement.nextElementSibling;
    box.replaceChildren(index == null ? "" : `${text(u.data[0][index])}: `);
    axes.lines.forEach((line, k) => {
      if (index == null && !line.name) return;
      const values = u.data[k + 1], dot = document.createElement("span"), words = document.createElement("span");
      let row = index ?? 0;
      while (row > 0 && values[row] == null) row -= 1;
      dot.style.color = shade(line.colour);
      dot.style.opacity = line.opacity;
      dot.textContent = line.dash.length ? "◌" : "●";
      words.textContent = ` ${line.name} ${index == null ? "" : text(values[row])}`;
      words.className = "value";
      words.prepend(dot);
      box.append(words, " ");
    });
  }

  function build(figure, svg, data) {
    const shape = svg.viewBox.baseVal, holder = document.createElement("div");
    holder.className = "plot";
    svg.after(holder);
    const whole = Math.max(0.42 * figure.clientWidth, Math.min(shape.height * 1.25, 0.8 * figure.clientWidth, 420)) * (shape.height / shape.width > 0.3 ? 1 : 0.75);
    const plots = data.axes.map((axes) => {
      const place = document.createElement("div"), reading = document.createElement("p");
      reading.className = "reading";
      holder.append(place, reading);
      const table = axes.lines.map((line) => [line.x, line.y]);
      return new uPlot(options(axes, figure.clientWidth, Math.max(110, whole * axes.share), data.key), uPlot.join(table), place);
    });
    svg.style.display = "none";
    new ResizeObserver(() => plots.forEach((plot) => plot.setSize({ width: holder.clientWidth, height: plot.height }))).observe(holder);
    dark.addEventListener("change", () => plots.forEach((plot) => plot.redraw(false)));
  }

  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries.filter((item) => item.isIntersecting)) {
      seen.unobserve(entry.target);
      const svg = entry.target.querySelector("svg"), source = entry.target.querySelector("script.plot-data");
      build(entry.target, svg, JSON.parse(source.textContent));
    }
  }, { rootMargin: "400px" });
  document.querySelectorAll("figure").forEach((figure) => {
    if (figure.querySelector("script.plot-data")) seen.observe(figure);
  });
})();
