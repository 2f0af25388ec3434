// SPDX-License-Identifier: Apache-2.0
// Cholesky factor of the equations, local variables eliminated first. Included by normal_equations.cpp.
#pragma once

#include "arrow.hpp"

namespace {

// Subtracts a product of the columns [width stages, parameters, residual, ...], c to a row, the first stage `first`.
FOR_EVERY_PROCESSOR
void subtract(const Arrow &arrow, const double *products, std::size_t c, std::size_t first, std::size_t width) {
  const std::size_t n = arrow.n, p = arrow.p, across = width * n;
  for (std::size_t u = 0; u < across; ++u) {
    const double *row = products + u * c;
    double *column = arrow.band + (first + u / n) * arrow.stride + u % n * (arrow.reach + 1);
    double *edge = arrow.border + (first * n + u) * p;
#pragma GCC ivdep
    for (std::size_t v = u; v < across; ++v) column[v - u] -= row[v];
#pragma GCC ivdep
    for (std::size_t v = 0; v < p; ++v) edge[v] -= row[across + v];
    arrow.gradient[first * n + u] -= row[across + p];
  }
  for (std::size_t u = 0; u < p; ++u) {
    const double *row = products + (across + u) * c + across;
    double *corner = arrow.corner + u * p;
#pragma GCC ivdep
    for (std::size_t v = u; v < p; ++v) corner[v] -= row[v];
    arrow.parameter_gradient[u] -= row[p];
  }
}

// Lower Cholesky factor of the n leading columns of rows (n, c), of which the lower half is read, and its inverse times
// the columns that follow; false where a pivot is not positive.
FOR_EVERY_PROCESSOR
bool factor_rows(double *a, std::size_t n, std::size_t c) {
  // Row j holds column j of the symmetric matrix from j on: the rows of the upper factor.
  for (std::size_t j = 0; j < n; ++j) {
    double *row = a + j * c;
    for (std::size_t i = 0; i < j; ++i) {
      const double *above = a + i * c;
      const double factor = above[j];
      if (factor == 0.0) continue;
#pragma GCC ivdep
      for (std::size_t v = j; v < c; ++v) row[v] -= factor * above[v];
    }
    if (!(row[j] > 0.0)) return false;
    const double scale = 1.0 / std::sqrt(row[j]);
    for (std::size_t v = j; v < c; ++v) row[v] *= scale;
  }
  return true;
}

double damped(double diagonal, double damping) { return damping * (diagonal > 0.0 ? diagonal : 1.0); }

// What to eliminate from: rows of local variables, each with their own, those of stages, of parameters and the gradient;
// then band, border, corner and gradients.
using Equations = std::tuple<In<nb::ndim<3>>, In<nb::ndim<3>>, In<nb::ndim<3>>, In<nb::ndim<2>>, Inout<nb::ndim<2>>,
                             Inout<nb::ndim<3>>, Inout<nb::ndim<2>>, Inout<nb::ndim<2>>, Inout<nb::ndim<1>>>;

// Eliminates local variables, then the stages, each when it is needed. Band, border and gradient become the factor's, the
// corner the parameters' Schur complement, roots (stages, l, l) inverse factors of the local Hessians, rows (stages, l,
// reach + p + 1) these times what they couple to. False where a matrix is not positive definite.
bool factorise(const Equations &from, double damping, Indices local_first, Flags used, Inout<nb::ndim<3>> roots,
               Inout<nb::ndim<3>> rows, Inout<nb::ndim<2>> band, Inout<nb::ndim<3>> border, Inout<nb::ndim<2>> corner,
               Inout<nb::ndim<2>> gradient, Inout<nb::ndim<1>> parameter_gradient) {
  const Arrow arrow(band, border, corner, gradient, parameter_gradient);
  const auto &[hessian, by_stage, by_parameter, pull, band_, border_, corner_, gradient_, parameter_gradient_] = from;
  const Arrow given(band_, border_, corner_, gradient_, parameter_gradient_);
  const std::size_t n = arrow.n, p = arrow.p, reach = arrow.reach, stages = arrow.stages, width = reach / n;
  const std::size_t l = roots.shape(1), across = reach + p + 1;
  require(given.stages == stages && given.n == n && given.p == p && given.reach == reach, "equations do not fit");
  const auto fits = [&](const auto &of, std::size_t second) {
    return of.shape(0) == stages && of.shape(1) == l && of.shape(2) == second;
  };
  require(l == 0 || (fits(hessian, l) && fits(by_stage, reach) && fits(by_parameter, p) && pull.shape(0) == stages &&
                     pull.shape(1) == l && fits(roots, l) && fits(rows, across) && used.shape(0) == stages &&
                     local_first.shape(0) == stages),
          "local terms do not fit");
  nb::gil_scoped_release release;
  std::vector<std::vector<std::size_t>> owners(stages);
  for (std::size_t k = 0; l > 0 && k < stages; ++k)
    if (used.data()[k]) owners[local_first.data()[k]].push_back(k);
  const std::size_t most = std::max(l, n) + across + std::max(l, n), c = padded(most);
  std::vector<double> a(std::max(l, n) * c, 0.0), packed(a.size()), products(c * c);
  std::vector<int> list(std::max(l, n));
  std::copy_n(given.corner, p * p, arrow.corner);
  std::copy_n(given.parameter_gradient, p, arrow.parameter_gradient);
  // Rows (count, rest), `wide` apart, that a variable's elimination leaves: their product leaves the equations.
  const auto leave = [&](const double *left, std::size_t count, std::size_t wide, std::size_t rest, std::size_t first,
                         std::size_t windows) {
    const std::size_t room = padded(rest);
    for (std::size_t i = 0; i < count; ++i) {
      std::copy_n(left + i * wide, rest, packed.data() + i * room);
      std::fill(packed.data() + i * room + rest, packed.data() + (i + 1) * room, 0.0);
    }
    tiles::square(packed.data(), count, room, list.data(), products.data());
    subtract(arrow, products.data(), room, first, windows);
  };
  const auto eliminate_local = [&](std::size_t k) {
    // [H | rows | 1]: the factor leaves [L' | L^-1 rows | L^-1].
    const std::size_t wide = l + across + l;
    for (std::size_t i = 0; i < l; ++i) {
      double *row = a.data() + i * wide;
      const auto take = [&](const In<nb::ndim<3>> &of, double *to) {
        const double *data = of.data() + static_cast<int64_t>(k) * of.stride(0) + static_cast<int64_t>(i) * of.stride(1);
        for (std::size_t j = 0; j < of.shape(2); ++j) to[j] = data[static_cast<int64_t>(j) * of.stride(2)];
      };
      take(hessian, row);
      row[i] += damped(row[i], damping);
      take(by_stage, row + l);
      take(by_parameter, row + l + reach);
      row[l + across - 1] = pull.data()[static_cast<int64_t>(k) * pull.stride(0) + static_cast<int64_t>(i) * pull.stride(1)];
      std::fill_n(row + l + across, l, 0.0);
      row[l + across + i] = 1.0;
    }
    if (!factor_rows(a.data(), l, wide)) return false;
    for (std::size_t i = 0; i < l; ++i) {
      std::copy_n(a.data() + i * wide + l, across, rows.data() + (k * l + i) * across);
      std::copy_n(a.data() + i * wide + l + across, l, roots.data() + (k * l + i) * l);
    }
    leave(a.data() + l, l, wide, across, local_first.data()[k], width);
    return true;
  };
  const auto eliminate_stage = [&](std::size_t k) {
    const std::size_t below = std::min(width - 1, stages - 1 - k) * n, wide = n + below + p + 1;
    double *panel = arrow.band + k * arrow.stride;
    for (std::size_t j = 0; j < n; ++j) {
      double *row = a.data() + j * wide;
      std::copy_n(panel + j * reach, n + below, row);
      row[j] += damped(given.band[k * given.stride + j * reach + j], damping);
      std::copy_n(arrow.border + (k * n + j) * p, p, row + n + below);
      row[wide - 1] = arrow.gradient[k * n + j];
    }
    if (!factor_rows(a.data(), n, wide)) return false;
    for (std::size_t j = 0; j < n; ++j) {
      const double *row = a.data() + j * wide;
      std::fill_n(panel + j * reach, j, 0.0);
      std::copy(row + j, row + n + below, panel + j * reach + j);
      std::fill(panel + j * reach + n + below, panel + (j + 1) * reach, 0.0);
      std::copy_n(row + n + below, p, arrow.border + (k * n + j) * p);
      arrow.gradient[k * n + j] = row[wide - 1];
    }
    leave(a.data() + n, n, wide, wide - n, k + 1, below / n);
    return true;
  };
  for (std::size_t k = 0, here = 0; k < stages; ++k) {
    for (; here < std::min(k + width, stages); ++here) {
      std::copy_n(given.band + here * given.stride, given.stride, arrow.band + here * given.stride);
      std::copy_n(given.border + here * n * p, n * p, arrow.border + here * n * p);
      std::copy_n(given.gradient + here * n, n, arrow.gradient + here * n);
    }
    if (l > 0 && !used.data()[k]) {
      std::fill_n(rows.data() + k * l * across, l * across, 0.0);
      std::fill_n(roots.data() + k * l * l, l * l, 0.0);
      for (std::size_t i = 0; i < l; ++i) roots.data()[(k * l + i) * l + i] = 1.0;
    }
    for (const std::size_t owner : owners[k])
      if (!eliminate_local(owner)) return false;
    if (!eliminate_stage(k)) return false;
  }
  arrow.mirror_corner();
  for (std::size_t j = 0; j < p; ++j) arrow.corner[j * p + j] += damped(given.corner[j * p + j], damping);
  return true;
}

}  // namespace
