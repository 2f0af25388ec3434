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
    for (std::size_t v = u; v < across; ++v) column[v - u] -= row[v];
    for (std::size_t v = 0; v < p; ++v) edge[v] -= row[across + v];
    arrow.gradient[first * n + u] -= row[across + p];
  }
  for (std::size_t u = 0; u < p; ++u) {
    const double *row = products + (across + u) * c + across;
    for (std::size_t v = u; v < p; ++v) arrow.corner[u * p + v] -= row[v];
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
      for (std::size_t v = j; v < c; ++v) row[v] -= factor * above[v];
    }
    if (!(row[j] > 0.0)) return false;
    const double scale = 1.0 / std::sqrt(row[j]);
    for (std::size_t v = j; v < c; ++v) row[v] *= scale;
  }
  return true;
}

double damped(double diagonal, double damping) { return damping * (diagonal > 0.0 ? diagonal : 1.0); }

// Eliminates local variables, then the stages, in place: band, border and gradient become the factor's, the corner the
// parameters' Schur complement, roots (stages, l, l) inverse factors of the local Hessians, rows (stages, l,
// reach + p + 1) these times what they couple to. False where a matrix is not positive definite.
bool factorise(double damping, Indices local_first, Flags used,
               In<nb::ndim<3>> hessian, Inout<nb::ndim<3>> roots, Inout<nb::ndim<3>> rows, Inout<nb::ndim<2>> band,
               Inout<nb::ndim<3>> border, Inout<nb::ndim<2>> corner, Inout<nb::ndim<2>> gradient,
               Inout<nb::ndim<1>> parameter_gradient) {
  const Arrow arrow(band, border, corner, gradient, parameter_gradient);
  const std::size_t n = arrow.n, p = arrow.p, reach = arrow.reach, stages = arrow.stages, width = reach / n;
  const std::size_t l = roots.shape(1), across = reach + p + 1;
  require(l == 0 || (roots.shape(0) == stages && rows.shape(0) == stages && rows.shape(1) == l && rows.shape(2) == across &&
                     hessian.shape(0) == stages && hessian.shape(1) == l && hessian.shape(2) == l && roots.shape(2) == l &&
                     used.shape(0) == stages && local_first.shape(0) == stages),
          "local terms do not fit");
  nb::gil_scoped_release release;
  const std::size_t most = std::max(l, n) + across + std::max(l, n), c = padded(most);
  std::vector<double> a(std::max(l, n) * c, 0.0), packed(a.size()), products(c * c);
  std::vector<int> list(std::max(l, n));
  std::vector<double> diagonal(stages * n), parameters(p);
  for (std::size_t k = 0; k < stages; ++k)
    for (std::size_t j = 0; j < n; ++j) diagonal[k * n + j] = band.data()[k * band.shape(1) + j * reach + j];
  for (std::size_t j = 0; j < p; ++j) parameters[j] = corner.data()[j * p + j];
  for (std::size_t k = 0; l > 0 && k < stages; ++k) {
    double *root = roots.data() + k * l * l, *own = rows.data() + k * l * across;
    if (!used.data()[k]) {
      for (std::size_t i = 0; i < l; ++i) root[i * l + i] = 1.0;
      continue;
    }
    // [H | rows | 1]: the factor leaves [L' | L^-1 rows | L^-1].
    const std::size_t wide = l + across + l;
    for (std::size_t i = 0; i < l; ++i) {
      double *row = a.data() + i * wide;
      for (std::size_t j = 0; j < l; ++j) row[j] = hessian.data()[k * hessian.stride(0) + i * hessian.stride(1) + j];
      row[i] += damped(row[i], damping);
      std::copy_n(own + i * across, across, row + l);
      std::fill_n(row + l + across, l, 0.0);
      row[l + across + i] = 1.0;
    }
    if (!factor_rows(a.data(), l, wide)) return false;
    const std::size_t room = padded(across);
    for (std::size_t i = 0; i < l; ++i) {
      const double *row = a.data() + i * wide;
      std::copy_n(row + l, across, own + i * across);
      std::copy_n(row + l + across, l, root + i * l);
      std::copy_n(row + l, across, packed.data() + i * room);
      std::fill(packed.data() + i * room + across, packed.data() + (i + 1) * room, 0.0);
    }
    tiles::square(packed.data(), l, room, list.data(), products.data());
    subtract(arrow, products.data(), room, local_first.data()[k], width);
  }
  for (std::size_t k = 0; k < stages; ++k) {
    const std::size_t below = std::min(width - 1, stages - 1 - k) * n, wide = n + below + p + 1, rest = wide - n;
    double *panel = band.data() + k * band.shape(1);
    for (std::size_t j = 0; j < n; ++j) {
      double *row = a.data() + j * wide;
      std::copy_n(panel + j * reach, n + below, row);
      row[j] += damped(diagonal[k * n + j], damping);
      std::copy_n(border.data() + (k * n + j) * p, p, row + n + below);
      row[wide - 1] = gradient.data()[k * n + j];
    }
    if (!factor_rows(a.data(), n, wide)) return false;
    const std::size_t room = padded(rest);
    for (std::size_t j = 0; j < n; ++j) {
      const double *row = a.data() + j * wide;
      std::fill_n(panel + j * reach, j, 0.0);
      std::copy(row + j, row + n + below, panel + j * reach + j);
      std::fill(panel + j * reach + n + below, panel + (j + 1) * reach, 0.0);
      std::copy_n(row + n + below, p, border.data() + (k * n + j) * p);
      gradient.data()[k * n + j] = row[wide - 1];
      std::copy_n(row + n, rest, packed.data() + j * room);
      std::fill(packed.data() + j * room + rest, packed.data() + (j + 1) * room, 0.0);
    }
    tiles::square(packed.data(), n, room, list.data(), products.data());
    subtract(arrow, products.data(), room, k + 1, below / n);
  }
  arrow.mirror_corner();
  for (std::size_t j = 0; j < p; ++j) corner.data()[j * p + j] += damped(parameters[j], damping);
  return true;
}

}  // namespace
