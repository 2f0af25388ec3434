// SPDX-License-Identifier: Apache-2.0
// Leverages of residual blocks from the blocks of the inverse (influence.py). Included by normal_equations.cpp.
#pragma once

#include "arrow.hpp"

namespace {

FOR_EVERY_PROCESSOR
double dot(const double *a, const double *b, std::size_t count) {
  tiles::Eight sums{}, x, y;
  std::size_t i = 0;
  for (; i + tiles::kColumns <= count; i += tiles::kColumns) {
    std::memcpy(&x, a + i, sizeof x);
    std::memcpy(&y, b + i, sizeof y);
    sums += x * y;
  }
  double sum = ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
  for (; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

// Covariances of neighbouring stages and of the parameters.
struct Covariances {
  const Inout<nb::ndim<3>> &stage, &neighbour, &second, &cross;
  const Inout<nb::ndim<2>> &parameter;

  // Upper half, in rows `full` apart, of the joint covariance of stages first to first + reach - 1 and of p parameters:
  // a stage's rows from its own columns on. Those of the parameters never change.
  void join(std::size_t first, std::size_t reach, std::size_t p, std::size_t full, bool anew, double *out) const {
    const std::size_t n = stage.shape(1), at = reach * n;
    const Inout<nb::ndim<3>> *apart[3] = {&stage, &neighbour, &second};
    for (std::size_t i = 0; i < reach; ++i)
      for (std::size_t r = 0; r < n; ++r) {
        double *row = out + (i * n + r) * full;
        for (std::size_t j = i; j < reach; ++j)
          std::copy_n(apart[j - i]->data() + ((first + i) * n + r) * n, n, row + j * n);
        std::copy_n(cross.data() + ((first + i) * n + r) * cross.shape(2), p, row + at);
      }
    for (std::size_t r = 0; anew && r < p; ++r) std::copy_n(parameter.data() + r * p, p, out + (at + r) * full + at);
  }
};

// Adds the diagonal of D S D' to own (m,), D (m, d), S (d, d) of which `joint` has the upper half in parts of `size` rows
// and one of what is left; `part` and `moved` are room for as much as D and for D S.
inline void add_quadratic(const double *dense, std::size_t m, std::size_t d, const double *joint, std::size_t full,
                          std::size_t size, std::size_t parts, double *part, double *moved, double *own) {
  for (std::size_t i = 0; i <= parts; ++i) {
    const std::size_t begin = i * size, count = i < parts ? size : d - begin, rest = d - begin;
    if (count == 0) continue;
    for (std::size_t r = 0; r < m; ++r) std::copy_n(dense + r * d + begin, count, part + r * count);
    tiles::multiply(part, m, count, joint + begin * full + begin, rest, full, moved);
    for (std::size_t r = 0; r < m; ++r) {
      const double *row = dense + r * d + begin;
      own[r] += dot(moved + r * full, row, count) + 2.0 * dot(moved + r * full + count, row + count, rest - count);
    }
  }
}

// (B, m) leverages of blocks whose windows of `reach` stages begin at `first`, `shift` coordinates before their own
// columns do. Empty parameter or local arrays (no columns) are zero. Last axes must be contiguous.
void leverages(std::size_t reach, Indices first, Indices shift, In<nb::ndim<3>> jacobian, In<nb::ndim<3>> parameter,
               In<nb::ndim<3>> local, Indices owner, Inout<nb::ndim<3>> roots, Inout<nb::ndim<3>> rows,
               Inout<nb::ndim<3>> stage, Inout<nb::ndim<3>> neighbour, Inout<nb::ndim<3>> second,
               Inout<nb::ndim<3>> cross, Inout<nb::ndim<2>> covariance, Inout<nb::ndim<2>> out) {
  const std::size_t count = jacobian.shape(0), m = jacobian.shape(1), across = jacobian.shape(2), n = stage.shape(1);
  const std::size_t l = local.shape(2), shared = l || parameter.shape(2) ? cross.shape(2) : 0, p = cross.shape(2);
  const std::size_t d = reach * n + shared, full = padded(d), stages = stage.shape(0);
  require(reach >= 1 && reach <= 3 && first.shape(0) == count && shift.shape(0) == count && out.shape(0) == count &&
              out.shape(1) == m,
          "windows do not fit");
  require(stage.shape(2) == n && cross.shape(0) == stages && cross.shape(1) == n && covariance.shape(0) == p &&
              neighbour.shape(0) + 1 >= stages && second.shape(0) + 2 >= stages,
          "covariances do not fit");
  require(parameter.shape(2) == 0 || (parameter.shape(2) == p && parameter.shape(1) == m && parameter.shape(0) == count),
          "parameter jacobian does not fit");
  require(l == 0 || (local.shape(0) == count && local.shape(1) == m && owner.shape(0) == count && roots.shape(1) == l &&
                     roots.shape(2) == l && rows.shape(0) == roots.shape(0) && rows.shape(1) == l &&
                     rows.shape(2) == d + 1),
          "local jacobian does not fit");
  for (std::size_t b = 0; b < count; ++b) {
    require(first.data()[b] >= 0 && first.data()[b] + reach <= stages && shift.data()[b] >= 0 &&
                shift.data()[b] + across <= reach * n,
            "a window leaves the trajectory");
    require(l == 0 || (owner.data()[b] >= 0 && owner.data()[b] < static_cast<int64_t>(roots.shape(0))),
            "an owner leaves the trajectory");
  }
  nb::gil_scoped_release release;
  const Covariances known{stage, neighbour, second, cross, covariance};
  // Products are of whole tiles: those of the last rows read beyond their end.
  std::vector<double> joint(d * full + full, 0.0), dense(m * d), part(m * d), moved(m * full), turned(m * l),
      coupled(l * full, 0.0);
  const auto row = [](const In<nb::ndim<3>> &from, std::size_t b, std::size_t r) {
    return from.data() + static_cast<int64_t>(b) * from.stride(0) + static_cast<int64_t>(r) * from.stride(1);
  };
  for (std::size_t b = 0; b < count; ++b) {
    known.join(first.data()[b], reach, shared, full, b == 0, joint.data());
    std::fill(dense.begin(), dense.end(), 0.0);
    double *own = out.data() + b * m;
    std::fill_n(own, m, 0.0);
    if (l) {
      // Local variables are -root' (coupling x + e) of stages and parameters x, e of unit variance.
      const double *root = roots.data() + owner.data()[b] * l * l;
      for (std::size_t r = 0; r < m; ++r)
        for (std::size_t i = 0; i < l; ++i) turned[r * l + i] = dot(row(local, b, r), root + i * l, l);
      for (std::size_t i = 0; i < l; ++i)
        std::copy_n(rows.data() + (owner.data()[b] * l + i) * (d + 1), d, coupled.data() + i * full);
      tiles::multiply(turned.data(), m, l, coupled.data(), d, full, moved.data());
      for (std::size_t r = 0; r < m; ++r) {
        for (std::size_t v = 0; v < d; ++v) dense[r * d + v] = -moved[r * full + v];
        own[r] = dot(turned.data() + r * l, turned.data() + r * l, l);
      }
    }
    for (std::size_t r = 0; r < m; ++r) {
      double *to = dense.data() + r * d + shift.data()[b];
      for (std::size_t v = 0; v < across; ++v) to[v] += row(jacobian, b, r)[v];
      for (std::size_t v = 0; v < parameter.shape(2); ++v) dense[r * d + reach * n + v] += row(parameter, b, r)[v];
    }
    add_quadratic(dense.data(), m, d, joint.data(), full, n, reach, part.data(), moved.data(), own);
  }
}

}  // namespace
