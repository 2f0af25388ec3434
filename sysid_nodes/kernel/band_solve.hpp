// SPDX-License-Identifier: Apache-2.0
// Some columns of the inverse by the band's factor (factor.py). Included by normal_equations.cpp.
#pragma once

#include "arrow.hpp"

namespace {

// row (c,) less factor times from (c,).
INTO_CALLER void take_off(double factor, const double *from, std::size_t c, double *row) {
#pragma GCC ivdep
  for (std::size_t v = 0; v < c; ++v) row[v] -= factor * from[v];
}

// L^-1 or, transposed, L^-T times rows of c numbers, row i from `begin` on; before that they are zero and stay so.
FOR_EVERY_PROCESSOR
void solve_rows(const double *band, std::size_t reach, std::size_t n, std::size_t begin, std::size_t count,
                bool transposed, std::size_t c, double *out) {
  for (std::size_t step = transposed ? 0 : begin; step < count; ++step) {
    const std::size_t i = transposed ? count - 1 - step : step, inside = i % n;
    // Column i of L from its diagonal on.
    const double *column = band + i * (reach + 1);
    const std::size_t below = std::min(reach - inside, count - i);
    double *own = out + i * c;
    if (transposed)
      for (std::size_t v = 1; v < below; ++v) take_off(column[v], own + v * c, c, own);
    for (std::size_t v = 0; v < c; ++v) own[v] /= column[0];
    if (!transposed)
      for (std::size_t v = 1; v < below; ++v) take_off(column[v], own, c, own + v * c);
  }
}

// L^-1 or, transposed, L^-T times `rows` (stages, n, c) in place, which are zero before stage `first`.
void solve_band(Inout<nb::ndim<2>> band, std::size_t first, bool transposed, Inout<nb::ndim<3>> rows) {
  const std::size_t stages = rows.shape(0), n = rows.shape(1);
  require(band.shape(0) == stages && n > 0 && band.shape(1) % n == 0 && band.shape(1) > n * n, "rows do not fit the band");
  nb::gil_scoped_release release;
  solve_rows(band.data(), band.shape(1) / n - 1, n, first * n, stages * n, transposed, rows.shape(2), rows.data());
}

}  // namespace
