// SPDX-License-Identifier: Apache-2.0
// Closest points of zonotopes to the origin, and ways that take it out of them, one after the other;
// models/closest_point.py and models/separation.py derive and do the same in NumPy.
#include "arrays.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <vector>

namespace nb = nanobind;

namespace {

template <typename... Extent>
using In = nb::ndarray<const double, Extent..., nb::c_contig, nb::device::cpu>;
using Vector = std::array<double, 3>;

constexpr double kNothing = 1e-290, kTiny = 1e-12;
constexpr int kSweeps = 2;
constexpr int kSubsets[7][4] = {{1, 0}, {1, 1}, {1, 2}, {2, 0, 1}, {2, 0, 2}, {2, 1, 2}, {3, 0, 1, 2}};  // size, members

double dot(const Vector &a, const Vector &b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
double norm(const Vector &a) { return std::sqrt(dot(a, a)); }
Vector cross(const Vector &a, const Vector &b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
Vector minus(const Vector &a, const Vector &b) { return {a[0] - b[0], a[1] - b[1], a[2] - b[2]}; }
void add(Vector &a, double share, const Vector &b) {
  for (int k = 0; k < 3; ++k) a[k] += share * b[k];
}

// Points of a hull beside its newest one, with their coefficients; only the used ones count.
struct Hull {
  Vector y[3];
  std::vector<double> e[3];
  bool used[3];
};

struct Nearest {
  double weight[3];
  Vector point;
  bool inside;
};

// The normal equations of a subset by Cramer's rule; false where they are singular.
bool solve(const double m[3][3], const double b[3], const int *subset, double *solution) {
  double determinant, scale, numerator[3];
  if (subset[0] == 1) {
    const int i = subset[1];
    determinant = scale = m[i][i];
    numerator[0] = b[i];
  } else if (subset[0] == 2) {
    const int i = subset[1], j = subset[2];
    scale = m[i][i] * m[j][j];
    determinant = scale - m[i][j] * m[i][j];
    numerator[0] = b[i] * m[j][j] - b[j] * m[i][j];
    numerator[1] = b[j] * m[i][i] - b[i] * m[i][j];
  } else {
    const double c00 = m[1][1] * m[2][2] - m[1][2] * m[1][2], c01 = m[0][2] * m[1][2] - m[0][1] * m[2][2];
    const double c02 = m[0][1] * m[1][2] - m[0][2] * m[1][1], c11 = m[0][0] * m[2][2] - m[0][2] * m[0][2];
    const double c12 = m[0][1] * m[0][2] - m[0][0] * m[1][2], c22 = m[0][0] * m[1][1] - m[0][1] * m[0][1];
    scale = m[0][0] * m[1][1] * m[2][2];
    determinant = m[0][0] * c00 + m[0][1] * c01 + m[0][2] * c02;
    numerator[0] = c00 * b[0] + c01 * b[1] + c02 * b[2];
    numerator[1] = c01 * b[0] + c11 * b[1] + c12 * b[2];
    numerator[2] = c02 * b[0] + c12 * b[1] + c22 * b[2];
  }
  if (!(determinant > 1e-14 * scale + kNothing)) return false;
  for (int k = 0; k < subset[0]; ++k) solution[k] = numerator[k] / determinant;
  return true;
}

Nearest nearest_of_hull(const Vector &w, const Hull &hull) {
  Vector a[3];
  double m[3][3], b[3];
  for (int i = 0; i < 3; ++i) a[i] = minus(hull.y[i], w);
  for (int i = 0; i < 3; ++i) {
    b[i] = -dot(a[i], w);
    for (int j = 0; j < 3; ++j) m[i][j] = dot(a[i], a[j]);
  }
  Nearest out{{0.0, 0.0, 0.0}, w, false};
  double shortest = dot(w, w);
  for (const auto &subset : kSubsets) {
    double solution[3], sum = 0.0;
    bool valid = true;
    for (int k = 1; k <= subset[0]; ++k) valid = valid && hull.used[subset[k]];
    if (!valid || !solve(m, b, subset, solution)) continue;
    Vector candidate = w;
    for (int k = 0; k < subset[0]; ++k) {
      valid = valid && solution[k] > 0.0;
      sum += solution[k];
      add(candidate, solution[k], a[subset[k + 1]]);
    }
    const double squared = dot(candidate, candidate);
    if (!valid || !(sum < 1.0) || !(squared < shortest)) continue;
    shortest = squared;
    out = {{0.0, 0.0, 0.0}, candidate, subset[0] == 3};
    for (int k = 0; k < subset[0]; ++k) out.weight[subset[k + 1]] = solution[k];
  }
  return out;
}

// One zonotope {c + sum e_i g_i: |e_i| <= 1}.
struct Zonotope {
  Vector c;
  std::vector<Vector> g;

  // Its point that comes first along a direction, and its coefficients.
  Vector support(const Vector &direction, std::vector<double> &e) const {
    Vector point = c;
    for (std::size_t i = 0; i < g.size(); ++i) {
      e[i] = dot(g[i], direction) > 0.0 ? -1.0 : 1.0;
      add(point, e[i], g[i]);
    }
    return point;
  }

  // How far it lies in front of the origin along the unit vector to a point, and that vector.
  double height(const Vector &point, Vector &unit) const {
    const double length = norm(point);
    unit = length > 0.0 ? Vector{point[0] / length, point[1] / length, point[2] / length} : Vector{0.0, 0.0, 1.0};
    double out = dot(unit, c);
    for (const Vector &generator : g) out -= std::abs(dot(unit, generator));
    return out;
  }
};

struct Wanted {
  double enough, tolerance;
  int iterations;
};

void closest_point(const Zonotope &body, const Wanted &wanted, Vector &point, std::vector<double> &e, Vector &direction,
                   double &lower) {
  const std::size_t count = body.g.size();
  double size = norm(body.c);
  point = body.c;
  for (std::size_t i = 0; i < count; ++i) {
    size += norm(body.g[i]);
    e[i] = 0.0;
  }
  for (int sweep = 0; sweep < kSweeps; ++sweep)
    for (std::size_t i = 0; i < count; ++i) {
      const double squared = dot(body.g[i], body.g[i]), old = e[i];
      if (squared > kNothing) e[i] = std::min(std::max(old - dot(body.g[i], point) / squared, -1.0), 1.0);
      add(point, e[i] - old, body.g[i]);
    }
  lower = body.height(point, direction);
  const auto unsolved = [&](const Vector &at) {
    const double upper = norm(at);
    return !(upper - lower <= wanted.tolerance * upper || lower >= wanted.enough || upper <= kTiny * size);
  };
  if (!unsolved(point)) return;
  Vector v = point;
  Hull hull;
  for (int i = 0; i < 3; ++i) {
    hull.y[i] = Vector{0.0, 0.0, 0.0};
    hull.e[i].assign(count, 0.0);
    hull.used[i] = i == 0;
  }
  hull.y[0] = v;
  hull.e[0] = e;
  std::vector<double> ew(count);
  for (int iteration = 0; iteration < wanted.iterations; ++iteration) {
    const Vector w = body.support(v, ew);
    const Nearest nearest = nearest_of_hull(w, hull);
    const bool better = dot(nearest.point, nearest.point) < dot(v, v) * (1.0 - 1e-15);
    if (better) {
      v = nearest.point;
      const double rest = 1.0 - (nearest.weight[0] + nearest.weight[1] + nearest.weight[2]);
      for (std::size_t i = 0; i < count; ++i) {
        e[i] = rest * ew[i];
        for (int k = 0; k < 3; ++k) e[i] += nearest.weight[k] * hull.e[k][i];
      }
    }
    point = v;
    Vector unit;
    const double height = body.height(v, unit);
    if (height > lower) {
      lower = height;
      direction = unit;
    }
    if (!better || nearest.inside || !unsolved(v)) return;
    // The new point takes the place of one without weight.
    int slot = 0;
    for (int k = 2; k >= 0; --k) {
      hull.used[k] = nearest.weight[k] > 0.0;
      if (!hull.used[k]) slot = k;
    }
    hull.y[slot] = w;
    hull.e[slot] = ew;
    hull.used[slot] = true;
  }
}

// Minus the shortest way that takes the origin out of a body, through one of its facets, and the way's direction.
double way_out(const Zonotope &body, Vector &out) {
  const std::size_t count = body.g.size();
  double depth = std::numeric_limits<double>::infinity(), longest = 0.0;
  out = {0.0, 0.0, 1.0};
  for (const Vector &generator : body.g) {
    // Points and segments in line share no volume: any direction across the longest generator will do.
    if (norm(generator) <= longest) continue;
    longest = norm(generator);
    int least = 0;
    for (int k = 1; k < 3; ++k)
      if (std::abs(generator[k]) < std::abs(generator[least])) least = k;
    Vector unit{0.0, 0.0, 0.0};
    unit[least] = 1.0;
    const Vector across = cross(generator, unit);
    const double length = norm(across);
    for (int k = 0; k < 3; ++k) out[k] = across[k] / length;
  }
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t j = 0; j < i; ++j) {
      Vector normal = cross(body.g[i], body.g[j]);
      const double length = norm(normal);
      if (!(length > 1e-9 * norm(body.g[i]) * norm(body.g[j]))) continue;
      for (double &x : normal) x /= length;
      const double along = dot(normal, body.c);
      double inside = -std::abs(along);
      for (const Vector &generator : body.g) inside += std::abs(dot(normal, generator));
      if (!(inside < depth)) continue;
      depth = inside;
      for (int k = 0; k < 3; ++k) out[k] = along < 0.0 ? -normal[k] : normal[k];
    }
  return std::isfinite(depth) ? -depth : 0.0;
}

void read(Zonotope &body, const double *centre, const double *generators) {
  std::copy_n(centre, 3, body.c.begin());
  for (std::size_t i = 0; i < body.g.size(); ++i) std::copy_n(generators + 3 * i, 3, body.g[i].begin());
}

nb::tuple ways_out(In<nb::shape<-1, 3>> centre, In<nb::shape<-1, -1, 3>> generators) {
  const std::size_t number = centre.shape(0), count = generators.shape(1);
  if (generators.shape(0) != number) throw std::invalid_argument("arrays differ in their number of bodies");
  std::vector<double> depths(number), directions(3 * number);
  {
    nb::gil_scoped_release release;
    Zonotope body{{}, std::vector<Vector>(count)};
    for (std::size_t k = 0; k < number; ++k) {
      read(body, centre.data() + 3 * k, generators.data() + 3 * k * count);
      Vector out;
      depths[k] = way_out(body, out);
      std::copy_n(out.begin(), 3, directions.begin() + 3 * k);
    }
  }
  return nb::make_tuple(as_array(std::move(depths), {number}), as_array(std::move(directions), {number, 3}));
}

nb::tuple closest_points(In<nb::shape<-1, 3>> centre, In<nb::shape<-1, -1, 3>> generators, In<nb::ndim<1>> enough,
                         double tolerance, int iterations) {
  const std::size_t number = centre.shape(0), count = generators.shape(1);
  if (generators.shape(0) != number || enough.shape(0) != number)
    throw std::invalid_argument("arrays differ in their number of bodies");
  std::vector<double> points(3 * number), coefficients(count * number), directions(3 * number), lowers(number);
  {
    nb::gil_scoped_release release;
    Zonotope body{{}, std::vector<Vector>(count)};
    std::vector<double> e(count);
    for (std::size_t k = 0; k < number; ++k) {
      read(body, centre.data() + 3 * k, generators.data() + 3 * k * count);
      Vector point, direction;
      closest_point(body, {enough.data()[k], tolerance, iterations}, point, e, direction, lowers[k]);
      std::copy_n(point.begin(), 3, points.begin() + 3 * k);
      std::copy_n(direction.begin(), 3, directions.begin() + 3 * k);
      std::copy_n(e.begin(), count, coefficients.begin() + count * k);
    }
  }
  return nb::make_tuple(as_array(std::move(points), {number, 3}), as_array(std::move(coefficients), {number, count}),
                        as_array(std::move(directions), {number, 3}), as_array(std::move(lowers), {number}));
}

}  // namespace

NB_MODULE(_closest_points, m) {
  using namespace nb::literals;
  m.doc() = "Closest points of zonotopes to the origin.";
  m.def("closest_points", &closest_points, "centre"_a, "generators"_a, "enough"_a, "tolerance"_a, "iterations"_a);
  m.def("ways_out", &ways_out, "centre"_a, "generators"_a);
}
