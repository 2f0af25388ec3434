// SPDX-License-Identifier: Apache-2.0
// Gains of residual blocks: by how much some unknowns err with a row's noise (influence.py). Included by
// normal_equations.cpp.
#pragma once

#include "leverage.hpp"

namespace {

// out (c,) += the numbers of a row that are not zero times rows of `with`, c to a row.
FOR_EVERY_PROCESSOR
void add_rows(const double *row, std::size_t count, const double *with, std::size_t c, double *out) {
  for (std::size_t u = 0; u < count; ++u) {
    const double factor = row[u], *from = with + u * c;
    if (factor == 0.0) continue;
#pragma GCC ivdep
    for (std::size_t v = 0; v < c; ++v) out[v] += factor * from[v];
  }
}

// (B, m, c) gains of blocks whose windows begin at `first`, from covariances of c unknowns with the stages (stages, n, c)
// and with the parameters (p, c); roots and rows are the factor's, of windows that begin at `local_first`. Empty
// parameter or local arrays (no columns) are zero. Last axes must be contiguous.
void gains(Indices first, In<nb::ndim<3>> jacobian, In<nb::ndim<3>> parameter, In<nb::ndim<3>> local, Indices owner,
           Indices local_first, Inout<nb::ndim<3>> roots, Inout<nb::ndim<3>> rows, Inout<nb::ndim<3>> by_stage,
           Inout<nb::ndim<2>> by_parameter, Inout<nb::ndim<3>> out) {
  const std::size_t count = jacobian.shape(0), m = jacobian.shape(1), across = jacobian.shape(2);
  const std::size_t stages = by_stage.shape(0), n = by_stage.shape(1), c = by_stage.shape(2), p = by_parameter.shape(0);
  const std::size_t l = local.shape(2), own = parameter.shape(2), full = padded(c), coupled = l ? rows.shape(2) - 1 : 0;
  require(first.shape(0) == count && across % n == 0 && by_parameter.shape(1) == c && out.shape(0) == count &&
              out.shape(1) == m && out.shape(2) == c,
          "windows do not fit");
  require(own == 0 || (own == p && parameter.shape(0) == count && parameter.shape(1) == m),
          "parameter jacobian does not fit");
  require(l == 0 || (local.shape(0) == count && local.shape(1) == m && owner.shape(0) == count && roots.shape(1) == l &&
                     roots.shape(2) == l && rows.shape(0) == roots.shape(0) && rows.shape(1) == l && coupled >= p &&
                     (coupled - p) % n == 0 && local_first.shape(0) == roots.shape(0)),
          "local jacobian does not fit");
  const auto inside = [&](int64_t begin, std::size_t wide) { return begin >= 0 && begin + wide / n <= stages; };
  for (std::size_t b = 0; b < count; ++b) {
    require(inside(first.data()[b], across), "a window leaves the trajectory");
    require(l == 0 || (owner.data()[b] >= 0 && owner.data()[b] < static_cast<int64_t>(roots.shape(0)) &&
                       inside(local_first.data()[owner.data()[b]], coupled - p)),
            "an owner leaves the trajectory");
  }
  nb::gil_scoped_release release;
  // Covariances [local, stages, parameters] and [stages, parameters] of an owner, rows `full` apart.
  const std::size_t wide = l + across + own;
  std::vector<double> with(wide * full, 0.0), around(coupled * full, 0.0), dense(m * wide), moved(std::max(m, l) * full);
  const auto take = [&](const double *from, std::size_t many, double *to) {
    for (std::size_t i = 0; i < many; ++i) std::copy_n(from + i * c, c, to + i * full);
  };
  take(by_parameter.data(), own, with.data() + (l + across) * full);
  take(by_parameter.data(), l ? p : 0, around.data() + (l ? coupled - p : 0) * full);
  const auto row = [](const In<nb::ndim<3>> &from, std::size_t b, std::size_t r) {
    return from.data() + static_cast<int64_t>(b) * from.stride(0) + static_cast<int64_t>(r) * from.stride(1);
  };
  for (std::size_t b = 0; b < count; ++b) {
    const double *own_stages = by_stage.data() + first.data()[b] * n * c;
    if (l == 0) {
      // Sensors' rows have few numbers.
      for (std::size_t r = 0; r < m; ++r) {
        double *to = out.data() + (b * m + r) * c;
        std::fill_n(to, c, 0.0);
        add_rows(row(jacobian, b, r), across, own_stages, c, to);
        add_rows(row(parameter, b, r), own, by_parameter.data(), c, to);
      }
      continue;
    }
    // Local variables are -root' (coupling x + e).
    const std::size_t at = owner.data()[b];
    take(own_stages, across, with.data() + l * full);
    take(by_stage.data() + local_first.data()[at] * n * c, coupled - p, around.data());
    tiles::multiply(rows.data() + at * l * rows.shape(2), l, coupled, rows.shape(2), around.data(), c, full, moved.data());
    for (std::size_t i = 0; i < l; ++i) {
      double *to = with.data() + i * full;
      std::fill_n(to, c, 0.0);
      for (std::size_t j = i; j < l; ++j) {
        const double factor = roots.data()[(at * l + j) * l + i], *from = moved.data() + j * full;
#pragma GCC ivdep
        for (std::size_t v = 0; v < c; ++v) to[v] -= factor * from[v];
      }
    }
    for (std::size_t r = 0; r < m; ++r) {
      double *to = dense.data() + r * wide;
      std::copy_n(row(local, b, r), l, to);
      std::copy_n(row(jacobian, b, r), across, to + l);
      std::copy_n(row(parameter, b, r), own, to + l + across);
    }
    tiles::multiply(dense.data(), m, wide, wide, with.data(), c, full, moved.data());
    for (std::size_t r = 0; r < m; ++r) std::copy_n(moved.data() + r * full, c, out.data() + (b * m + r) * c);
  }
}

}  // namespace
