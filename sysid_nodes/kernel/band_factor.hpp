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

// What to eliminate from: rows of local variables, each with their own, those of stages, of parameters and the
// gradient; then band, border, corner and gradients.
using Equations = std::tuple<In<nb::ndim<3>>, In<nb::ndim<3>>, In<nb::ndim<3>>, In<nb::ndim<2>>, Inout<nb::ndim<2>>,
                             Inout<nb::ndim<3>>, Inout<nb::ndim<2>>, Inout<nb::ndim<2>>, Inout<nb::ndim<1>>>;

// Of given equations into others, which become the factor's: band, border and gradient; the corner becomes the
// parameters' Schur complement.
class Elimination {
 public:
  Elimination(const Equations &from, const Arrow &arrow, double damping, std::size_t l)
      : hessian_(std::get<0>(from)), by_stage_(std::get<1>(from)), by_parameter_(std::get<2>(from)),
        pull_(std::get<3>(from)),
        given_(std::get<4>(from), std::get<5>(from), std::get<6>(from), std::get<7>(from), std::get<8>(from)),
        arrow_(arrow), damping_(damping), l_(l), across_(arrow.reach + arrow.p + 1) {
    require(given_.stages == arrow.stages && given_.n == arrow.n && given_.p == arrow.p && given_.reach == arrow.reach,
            "equations do not fit");
    require(l == 0 || (fits(hessian_, l) && fits(by_stage_, arrow.reach) && fits(by_parameter_, arrow.p) &&
                       pull_.shape(0) == arrow.stages && pull_.shape(1) == l),
            "local terms do not fit");
    const std::size_t rows = std::max(l, arrow.n), most = padded(2 * rows + across_);
    a_.resize(rows * most), packed_.resize(rows * most), product_.resize(most * most), list_.resize(rows);
    std::copy_n(given_.corner, arrow.p * arrow.p, arrow.corner);
    std::copy_n(given_.parameter_gradient, arrow.p, arrow.parameter_gradient);
  }

  // The equations of a stage, before anything is taken off them.
  void begin_stage(std::size_t k) const {
    const std::size_t n = arrow_.n, p = arrow_.p;
    std::copy_n(given_.band + k * given_.stride, given_.stride, arrow_.band + k * arrow_.stride);
    std::copy_n(given_.border + k * n * p, n * p, arrow_.border + k * n * p);
    std::copy_n(given_.gradient + k * n, n, arrow_.gradient + k * n);
  }

  // Local variables of owner k, whose window begins at `first`: root (l, l) becomes the inverse factor of their Hessian,
  // rows (l, reach + p + 1) this times what they couple to. False where it is not positive definite.
  bool eliminate_local(std::size_t k, std::size_t first, double *root, double *rows) {
    // [H | rows | 1]: the factor leaves [L' | L^-1 rows | L^-1].
    const std::size_t wide = 2 * l_ + across_, reach = arrow_.reach;
    for (std::size_t i = 0; i < l_; ++i) {
      double *row = a_.data() + i * wide;
      take(hessian_, k, i, row);
      row[i] += damped(row[i], damping_);
      take(by_stage_, k, i, row + l_);
      take(by_parameter_, k, i, row + l_ + reach);
      row[l_ + across_ - 1] =
          pull_.data()[static_cast<int64_t>(k) * pull_.stride(0) + static_cast<int64_t>(i) * pull_.stride(1)];
      std::fill_n(row + l_ + across_, l_, 0.0);
      row[l_ + across_ + i] = 1.0;
    }
    if (!factor_rows(a_.data(), l_, wide)) return false;
    for (std::size_t i = 0; i < l_; ++i) {
      std::copy_n(a_.data() + i * wide + l_, across_, rows + i * across_);
      std::copy_n(a_.data() + i * wide + l_ + across_, l_, root + i * l_);
    }
    leave(a_.data() + l_, l_, wide, across_, first, reach / arrow_.n);
    return true;
  }

  // Stage k, once all that couples to it alone has been taken off; false where it is not positive definite.
  bool eliminate_stage(std::size_t k) {
    const std::size_t n = arrow_.n, p = arrow_.p, reach = arrow_.reach;
    const std::size_t below = std::min(reach / n - 1, arrow_.stages - 1 - k) * n, wide = n + below + p + 1;
    double *panel = arrow_.band + k * arrow_.stride;
    for (std::size_t j = 0; j < n; ++j) {
      double *row = a_.data() + j * wide;
      std::copy_n(panel + j * reach, n + below, row);
      row[j] += damped(given_.band[k * given_.stride + j * reach + j], damping_);
      std::copy_n(arrow_.border + (k * n + j) * p, p, row + n + below);
      row[wide - 1] = arrow_.gradient[k * n + j];
    }
    if (!factor_rows(a_.data(), n, wide)) return false;
    for (std::size_t j = 0; j < n; ++j) {
      const double *row = a_.data() + j * wide;
      std::fill_n(panel + j * reach, j, 0.0);
      std::copy(row + j, row + n + below, panel + j * reach + j);
      std::fill(panel + j * reach + n + below, panel + (j + 1) * reach, 0.0);
      std::copy_n(row + n + below, p, arrow_.border + (k * n + j) * p);
      arrow_.gradient[k * n + j] = row[wide - 1];
    }
    leave(a_.data() + n, n, wide, wide - n, k + 1, below / n);
    return true;
  }

  void finish() const {
    const std::size_t p = arrow_.p;
    arrow_.mirror_corner();
    for (std::size_t j = 0; j < p; ++j) arrow_.corner[j * p + j] += damped(given_.corner[j * p + j], damping_);
  }

 private:
  bool fits(const In<nb::ndim<3>> &of, std::size_t columns) const {
    return of.shape(0) == arrow_.stages && of.shape(1) == l_ && of.shape(2) == columns;
  }

  static void take(const In<nb::ndim<3>> &of, std::size_t k, std::size_t i, double *to) {
    const double *from = of.data() + static_cast<int64_t>(k) * of.stride(0) + static_cast<int64_t>(i) * of.stride(1);
    for (std::size_t j = 0; j < of.shape(2); ++j) to[j] = from[static_cast<int64_t>(j) * of.stride(2)];
  }

  // Takes off the product of `count` rows of `rest` numbers, `wide` apart, that an elimination left for a window.
  void leave(const double *rows, std::size_t count, std::size_t wide, std::size_t rest, std::size_t first,
             std::size_t width) {
    const std::size_t room = padded(rest);
    for (std::size_t i = 0; i < count; ++i) {
      std::copy_n(rows + i * wide, rest, packed_.data() + i * room);
      std::fill(packed_.data() + i * room + rest, packed_.data() + (i + 1) * room, 0.0);
    }
    tiles::square(packed_.data(), count, room, list_.data(), product_.data());
    subtract(arrow_, product_.data(), room, first, width);
  }

  const In<nb::ndim<3>> &hessian_, &by_stage_, &by_parameter_;
  const In<nb::ndim<2>> &pull_;
  const Arrow given_, &arrow_;
  double damping_;
  std::size_t l_, across_;
  std::vector<double> a_, packed_, product_;
  std::vector<int> list_;
};

// Eliminates local variables, then the stages, each when it is needed (factor.py): roots (stages, l, l) and rows (stages,
// l, reach + p + 1) are those of local variables. False where a matrix is not positive definite.
bool factorise(const Equations &from, double damping, Indices local_first, Flags used, Inout<nb::ndim<3>> roots,
               Inout<nb::ndim<3>> rows, Inout<nb::ndim<2>> band, Inout<nb::ndim<3>> border, Inout<nb::ndim<2>> corner,
               Inout<nb::ndim<2>> gradient, Inout<nb::ndim<1>> parameter_gradient) {
  const Arrow arrow(band, border, corner, gradient, parameter_gradient);
  const std::size_t l = roots.shape(1), across = arrow.reach + arrow.p + 1, stages = arrow.stages;
  require(l == 0 || (roots.shape(0) == stages && roots.shape(2) == l && rows.shape(0) == stages && rows.shape(1) == l &&
                     rows.shape(2) == across && used.shape(0) == stages && local_first.shape(0) == stages),
          "local terms do not fit");
  Elimination elimination(from, arrow, damping, l);
  nb::gil_scoped_release release;
  std::vector<std::vector<std::size_t>> owners(stages);
  for (std::size_t k = 0; l > 0 && k < stages; ++k)
    if (used.data()[k]) owners[local_first.data()[k]].push_back(k);
  for (std::size_t k = 0, here = 0; k < stages; ++k) {
    for (; here < std::min(k + arrow.reach / arrow.n, stages); ++here) elimination.begin_stage(here);
    if (l > 0 && !used.data()[k]) {
      std::fill_n(rows.data() + k * l * across, l * across, 0.0);
      std::fill_n(roots.data() + k * l * l, l * l, 0.0);
      for (std::size_t i = 0; i < l; ++i) roots.data()[(k * l + i) * l + i] = 1.0;
    }
    for (const std::size_t owner : owners[k])
      if (!elimination.eliminate_local(owner, k, roots.data() + owner * l * l, rows.data() + owner * l * across))
        return false;
    if (!elimination.eliminate_stage(k)) return false;
  }
  elimination.finish();
  return true;
}

}  // namespace
