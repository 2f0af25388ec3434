// SPDX-License-Identifier: Apache-2.0
// Fills every .scene3d of the page: a scene to turn, with a slider over time. The data are MovingScene's.
(() => {
  "use strict";

  const numbers = (text) => new Float32Array(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);

  // A packed module as the address of an unpacked one, whose own imports are among those given.
  async function unpack(id, imports) {
    const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    let text = await new Response(stream).text();
    for (const [name, address] of Object.entries(imports)) {
      text = text.replaceAll(`from"${name}"`, `from"${address}"`).replaceAll(`from '${name}'`, `from "${address}"`);
    }
    return URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  }

  function geometry(THREE, part) {
    if (part.ball) return new THREE.SphereGeometry(part.radius, 20, 14).translate(...part.ball);
    if (part.mesh) {
      const found = new THREE.BufferGeometry();
      found.setAttribute("position", new THREE.BufferAttribute(numbers(part.mesh), 3));
      found.computeVertexNormals();
      return found;
    }
    const [start, end] = part.rod.map((point) => new THREE.Vector3(...point));
    const along = end.clone().sub(start);
    const found = new THREE.CylinderGeometry(part.radii[1], part.radii[0], along.length(), 20);
    found.applyQuaternion(new THREE.Quaternion().setFromUnitVectors(new THREE.Vector3(0, 1, 0), along.normalize()));
    return found.translate(...start.add(end).multiplyScalar(0.5).toArray());
  }

  class View {
    constructor(THREE, OrbitControls, element) {
      const data = JSON.parse(element.querySelector("script").textContent);
      this.THREE = THREE;
      this.t = numbers(data.t);
      this.scene = new THREE.Scene();
      this.groups = new Map();
      this.moves = [];
      this.box = new THREE.Box3();
      data.bodies.forEach((body) => this.addBody(body));
      data.lines.forEach((line) => this.addLine(line));
      data.arrows.forEach((arrow) => this.addArrow(arrow));
      this.addLights();
      this.renderer = new THREE.WebGLRenderer({ antialias: true, alpha: true });
      this.renderer.shadowMap.enabled = true;
      this.canvas = this.renderer.domElement;
      element.append(this.canvas, this.controls());
      this.addCamera(OrbitControls);
      new ResizeObserver(() => this.resize()).observe(element);
      element.hidden = false;
      this.resize();
      this.show(this.t[this.t.length - 1]);
    }

    addTo(group, object) {
      if (!this.groups.has(group)) {
        this.groups.set(group, new this.THREE.Group());
        this.scene.add(this.groups.get(group));
      }
      this.groups.get(group).add(object);
    }

    addBody(body) {
      const THREE = this.THREE, holder = new THREE.Group(), pose = numbers(body.pose);
      const material = new THREE.MeshStandardMaterial({
        color: body.colour, roughness: 0.65, metalness: 0.05, opacity: body.opacity, transparent: body.opacity < 1,
        polygonOffset: body.opacity < 1, polygonOffsetFactor: -1, polygonOffsetUnits: -4,  // or coinciding surfaces are speckled
        side: THREE.DoubleSide, flatShading: body.parts.some((part) => part.mesh), depthWrite: body.opacity === 1,
      });
      for (const part of body.parts) {
        const mesh = new THREE.Mesh(geometry(THREE, part), material);
        mesh.castShadow = mesh.receiveShadow = body.opacity === 1;
        holder.add(mesh);
      }
      this.addTo(body.group, holder);
      const from = new THREE.Quaternion(), to = new THREE.Quaternion(), last = pose.length / 7 - 1;
      const move = (row, share) => {
        const a = 7 * Math.min(row, last), b = 7 * Math.min(row + 1, last), mix = (k) => pose[a + k] + share * (pose[b + k] - pose[a + k]);
        holder.visible = Number.isFinite(pose[a]) && Number.isFinite(pose[b]);
        holder.position.set(mix(0), mix(1), mix(2));
        holder.quaternion.slerpQuaternions(from.fromArray(pose, a + 3), to.fromArray(pose, b + 3), share);
      };
      for (let row = 0; row <= last && body.framed; row += Math.max(1, Math.floor(last / 8))) {
        move(row, 0);
        if (holder.visible) this.box.expandByObject(holder);
      }
      if (last > 0) this.moves.push(move);
    }

    addLine(line) {
      const THREE = this.THREE, found = new THREE.BufferGeometry();
      found.setAttribute("position", new THREE.BufferAttribute(numbers(line.points), 3));
      const drawn = new THREE.Line(found, new THREE.LineBasicMaterial({ color: line.colour }));
      this.box.expandByObject(drawn);
      this.addTo(line.group, drawn);
      if (line.span) this.moves.push((_row, _share, t) => { drawn.visible = t >= line.span[0] && t < line.span[1]; });
    }

    addArrow(arrow) {
      const THREE = this.THREE, start = numbers(arrow.start), vector = numbers(arrow.vector);
      const drawn = new THREE.ArrowHelper(new THREE.Vector3(0, 0, 1), new THREE.Vector3(), 1, arrow.colour);
      const way = new THREE.Vector3();
      this.addTo(arrow.group, drawn);
      this.moves.push((row) => {
        way.fromArray(vector, 3 * row);
        const length = way.length();
        drawn.visible = length > 1e-3;  // not where it is NaN
        if (!drawn.visible) return;
        drawn.position.fromArray(start, 3 * row);
        drawn.setDirection(way.normalize());
        drawn.setLength(length, Math.min(0.04, 0.3 * length), Math.min(0.025, 0.2 * length));
      });
    }

    addLights() {
      const THREE = this.THREE, middle = this.box.getCenter(new THREE.Vector3());
      const reach = this.box.getSize(new THREE.Vector3()).length();
      const sun = new THREE.DirectionalLight(0xffffff, 2.2);
      sun.position.copy(middle).add(new THREE.Vector3(0.35, -0.5, 0.9).multiplyScalar(reach));
      sun.target.position.copy(middle);
      sun.castShadow = true;
      sun.shadow.mapSize.set(2048, 2048);
      Object.assign(sun.shadow.camera, { left: -reach, right: reach, top: reach, bottom: -reach, far: 4 * reach });
      sun.shadow.normalBias = 0.01;
      this.scene.add(new THREE.HemisphereLight(0xffffff, 0x8a94a0, 1.5), sun, sun.target);
      const cells = Math.ceil(2 * reach), grid = new THREE.GridHelper(cells, 2 * cells, 0x8a94a0, 0x8a94a0);
      grid.rotation.x = Math.PI / 2;
      grid.position.set(middle.x, middle.y, Math.min(this.box.min.z, 0) - 0.002);
      grid.material.opacity = 0.25;
      grid.material.transparent = true;
      this.scene.add(grid);
    }

    addCamera(OrbitControls) {
      const THREE = this.THREE, middle = this.box.getCenter(new THREE.Vector3());
      this.reach = 0.5 * this.box.getSize(new THREE.Vector3()).length();
      this.camera = new THREE.PerspectiveCamera(35, 1.6, 0.01, 40 * this.reach);
      this.camera.up.set(0, 0, 1);
      this.direction = new THREE.Vector3(0.75, -1, 0.55).normalize();
      this.orbit = new OrbitControls(this.camera, this.canvas);
      this.orbit.target.copy(middle);
      this.orbit.enableZoom = false;  // or nobody could scroll past the scene; a click allows it
      this.canvas.addEventListener("pointerdown", () => { this.orbit.enableZoom = true; });
      this.canvas.addEventListener("pointerleave", () => { this.orbit.enableZoom = false; });
      this.orbit.addEventListener("start", () => { this.turned = true; });
      this.orbit.addEventListener("change", () => this.draw());
    }

    controls() {
      const bar = document.createElement("div");
      bar.className = "scene-controls";
      bar.innerHTML = '<button type="button" aria-label="Play">▶</button>' +
        '<input type="range" min="0" max="1" step="any" aria-label="Time"><output></output>';
      [this.button, this.slider, this.clock] = bar.children;
      this.slider.addEventListener("input", () => { this.pause(); this.show(this.at(+this.slider.value)); });
      this.button.addEventListener("click", () => (this.playing ? this.pause() : this.play()));
      for (const [name, group] of this.groups) {
        const label = document.createElement("label"), box = document.createElement("input");
        box.type = "checkbox";
        box.checked = true;
        box.addEventListener("change", () => { group.visible = box.checked; this.draw(); });
        label.append(box, " " + name);
        bar.append(label);
      }
      return bar;
    }

    at(share) { return this.t[0] + share * (this.t[this.t.length - 1] - this.t[0]); }

    play() {
      let before = performance.now();
      const end = this.t[this.t.length - 1], first = this.now >= end ? this.t[0] : this.now;
      this.now = first;
      this.playing = true;
      this.button.textContent = "❚❚";
      const step = (moment) => {
        if (!this.playing) return;
        this.show(Math.min(this.now + 1e-3 * (moment - before), end));
        before = moment;
        this.now < end ? requestAnimationFrame(step) : this.pause();
      };
      requestAnimationFrame(step);
    }

    pause() {
      this.playing = false;
      this.button.textContent = "▶";
    }

    show(t) {
      const times = this.t, last = times.length - 1;
      let low = 0, high = last;
      while (high - low > 1) {
        const middle = (low + high) >> 1;
        if (times[middle] <= t) low = middle; else high = middle;
      }
      const row = t >= times[last] ? last : low, next = Math.min(row + 1, last);
      const share = next > row ? (t - times[row]) / (times[next] - times[row]) : 0;
      this.now = t;
      this.moves.forEach((move) => move(row, share, t));
      this.slider.value = (t - times[0]) / (times[last] - times[0] || 1);
      this.clock.textContent = `${t.toFixed(2)} s`;
      this.draw();
    }

    resize() {
      const width = this.canvas.parentElement.clientWidth, height = Math.round(Math.min(0.62 * width, 560) + 0.2 * Math.max(0, 480 - width));
      if (!width) return;
      this.renderer.setPixelRatio(Math.min(devicePixelRatio, 2));
      this.renderer.setSize(width, height);
      this.camera.aspect = width / height;
      this.camera.updateProjectionMatrix();
      if (!this.turned) {
        const half = Math.min(1, this.camera.aspect) * Math.tan(0.5 * 35 * Math.PI / 180);
        this.camera.position.copy(this.orbit.target).addScaledVector(this.direction, (1.0 * this.reach) / half);
        this.orbit.update();
      }
      this.draw();
    }

    draw() { this.renderer.render(this.scene, this.camera); }
  }

  async function start() {
    const core = await unpack("three.core.min.js", {});
    const three = await unpack("three.module.min.js", { "./three.core.min.js": core });
    const orbit = await unpack("OrbitControls.js", { three });
    const [THREE, { OrbitControls }] = await Promise.all([import(three), import(orbit)]);
    for (const element of document.querySelectorAll(".scene3d")) {
      new View(THREE, OrbitControls, element);
      document.querySelectorAll(".scene-picture").forEach((picture) => { picture.hidden = true; });
    }
  }

  // An old browser, or one without WebGL, keeps the pictures.
  start().catch((error) => {
    console.warn("no scene in three dimensions:", error);
    document.querySelectorAll(".scene3d").forEach((element) => { element.hidden = true; });
  });
})();
