// SPDX-License-Identifier: Apache-2.0
// Window integrals of the momentum regressors, two samples at a time, the lanes of a vector register.
//
// Everything is in the body's own frame: a joint's unit motion J and its rate, v x J, are taken from body to body down
// the tree, so that each pair of a joint and a body that it moves costs two changes of frame (kernel/reference.py).
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#define SYSID_INLINE inline __attribute__((always_inline))

namespace lanes {

constexpr std::size_t kLanes = 2;
using Lane = double __attribute__((vector_size(8 * kLanes)));

struct Vector {
  Lane x, y, z;
};
struct Motion {
  Vector linear, angular;
};
// Of a child in its parent: columns are the child's axes.
struct Frame {
  Vector a, b, c, origin;
};

struct Tree {
  std::size_t n;
  const int64_t *parents;
  const double *rotation, *translation, *axis;
  const bool *revolute;
  const double *gravity;
};

SYSID_INLINE Lane all(double value) { return Lane{value, value}; }
SYSID_INLINE Vector all(const double *v) { return {all(v[0]), all(v[1]), all(v[2])}; }
SYSID_INLINE Vector operator+(const Vector &a, const Vector &b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
SYSID_INLINE Vector operator-(const Vector &a, const Vector &b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
SYSID_INLINE Vector operator*(const Lane &s, const Vector &a) { return {s * a.x, s * a.y, s * a.z}; }
SYSID_INLINE Lane dot(const Vector &a, const Vector &b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
SYSID_INLINE Vector cross(const Vector &a, const Vector &b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
SYSID_INLINE Vector into(const Frame &frame, const Vector &v) { return {dot(frame.a, v), dot(frame.b, v), dot(frame.c, v)}; }
SYSID_INLINE Motion into(const Frame &frame, const Motion &m) {
  return {into(frame, m.linear + cross(m.angular, frame.origin)), into(frame, m.angular)};
}
SYSID_INLINE Motion cross(const Motion &a, const Motion &b) {
  return {cross(a.angular, b.linear) + cross(a.linear, b.angular), cross(a.angular, b.angular)};
}

SYSID_INLINE Frame frame_at(const Tree &tree, std::size_t i, const Lane &q) {
  const double *r = tree.rotation + 9 * i, *u = tree.axis + 3 * i;
  const Vector origin = all(tree.translation + 3 * i);
  const auto turned = [r](const Vector &v) -> Vector {
    return {all(r[0]) * v.x + all(r[1]) * v.y + all(r[2]) * v.z, all(r[3]) * v.x + all(r[4]) * v.y + all(r[5]) * v.z,
            all(r[6]) * v.x + all(r[7]) * v.y + all(r[8]) * v.z};
  };
  if (!tree.revolute[i]) {
    const double x[3] = {r[0], r[3], r[6]}, y[3] = {r[1], r[4], r[7]}, z[3] = {r[2], r[5], r[8]};
    return {all(x), all(y), all(z), origin + q * turned(all(u))};
  }
  Lane s, c;
  for (std::size_t k = 0; k < kLanes; ++k) {
    s[k] = std::sin(q[k]);
    c[k] = std::cos(q[k]);
  }
  const Lane rest = all(1.0) - c, x = rest * all(u[0]), y = rest * all(u[1]), z = rest * all(u[2]);  // Rodrigues
  const Lane sx = s * all(u[0]), sy = s * all(u[1]), sz = s * all(u[2]);
  return {turned({x * all(u[0]) + c, x * all(u[1]) + sz, x * all(u[2]) - sy}),
          turned({y * all(u[0]) - sz, y * all(u[1]) + c, y * all(u[2]) + sx}),
          turned({z * all(u[0]) + sy, z * all(u[1]) - sx, z * all(u[2]) + c}), origin};
}

// Adds x' I y as the row that multiplies [m, mc, Ixx, Ixy, Iyy, Ixz, Iyz, Izz], weighted.
SYSID_INLINE void add_form(Lane *row, const Lane &weight, const Motion &x, const Motion &y) {
  const Vector a = weight * x.angular, linear = weight * x.linear, &b = y.angular;
  const Vector first = cross(linear, b) + cross(y.linear, a);
  row[0] += dot(linear, y.linear);
  row[1] += first.x;
  row[2] += first.y;
  row[3] += first.z;
  row[4] += a.x * b.x;
  row[5] += a.x * b.y + a.y * b.x;
  row[6] += a.y * b.y;
  row[7] += a.x * b.z + a.z * b.x;
  row[8] += a.y * b.z + a.z * b.y;
  row[9] += a.z * b.z;
}

// The same of a motion without rotation.
SYSID_INLINE void add_form(Lane *row, const Lane &weight, const Motion &x, const Vector &y) {
  const Vector linear = weight * y, first = cross(linear, x.angular);
  row[0] += dot(x.linear, linear);
  row[1] += first.x;
  row[2] += first.y;
  row[3] += first.z;
}

struct Body {
  Motion velocity;
  Vector gravity;
  std::vector<Motion> jacobian, turn;  // of the joints that move it, at the joint's index
};

// The trapezoidal integral of W_c over samples first to last, and W_m at the last less W_m at the first: (n, 10 n) each.
inline void window(const Tree &tree, const double *t, const double *q, const double *qd, int64_t first,
                                int64_t last, double *integral, double *difference) {
  const std::size_t n = tree.n;
  std::vector<Lane> sums(10 * n * n, all(0.0)), ends(10 * n * n, all(0.0));
  std::vector<Body> bodies(n);
  for (Body &body : bodies) {
    body.jacobian.resize(n);
    body.turn.resize(n);
  }
  const Vector zero = {all(0.0), all(0.0), all(0.0)};
  for (int64_t start = first; start <= last; start += kLanes) {
    Lane weight = all(0.0), sign = all(0.0);
    int64_t sample[kLanes];
    for (std::size_t k = 0; k < kLanes; ++k) {
      const int64_t s = start + static_cast<int64_t>(k);
      sample[k] = s > last ? last : s;
      if (s > last) continue;
      weight[k] = 0.5 * ((s > first ? t[s] - t[s - 1] : 0.0) + (s < last ? t[s + 1] - t[s] : 0.0));
      sign[k] = double(s == last) - double(s == first);
    }
    const bool at_end = start == first || start + static_cast<int64_t>(kLanes) > last;
    for (std::size_t i = 0; i < n; ++i) {
      Lane position, speed;
      for (std::size_t k = 0; k < kLanes; ++k) {
        position[k] = q[sample[k] * n + i];
        speed[k] = qd[sample[k] * n + i];
      }
      const Frame frame = frame_at(tree, i, position);
      const Vector axis = all(tree.axis + 3 * i);
      const Motion unit = tree.revolute[i] ? Motion{zero, axis} : Motion{axis, zero};
      Body &body = bodies[i];
      const int64_t parent = tree.parents[i];
      body.velocity = {speed * unit.linear, speed * unit.angular};
      body.gravity = into(frame, parent < 0 ? all(tree.gravity) : bodies[parent].gravity);
      for (int64_t joint = parent; joint >= 0; joint = tree.parents[joint]) {
        body.jacobian[joint] = into(frame, bodies[parent].jacobian[joint]);
        body.turn[joint] = into(frame, bodies[parent].turn[joint]);
      }
      if (parent >= 0) {
        const Motion carried = into(frame, bodies[parent].velocity);
        body.velocity = {body.velocity.linear + carried.linear, body.velocity.angular + carried.angular};
      }
      body.jacobian[i] = unit;
      body.turn[i] = cross(body.velocity, unit);
      for (int64_t joint = static_cast<int64_t>(i); joint >= 0; joint = tree.parents[joint]) {
        const std::size_t at = (joint * n + i) * 10;
        add_form(&sums[at], weight, body.turn[joint], body.velocity);
        add_form(&sums[at], weight, body.jacobian[joint], body.gravity);
        if (at_end) add_form(&ends[at], sign, body.jacobian[joint], body.velocity);
      }
    }
  }
  for (std::size_t k = 0; k < 10 * n * n; ++k) {
    integral[k] = sums[k][0] + sums[k][1];
    difference[k] = ends[k][0] + ends[k][1];
  }
}

}  // namespace lanes
