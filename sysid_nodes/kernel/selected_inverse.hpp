// SPDX-License-Identifier: Apache-2.0
// The blocks of the inverse that covariances need. Included by normal_equations.cpp.
#pragma once

#include "leverage.hpp"

namespace {

// X' = -L^-T [B', border] (n, joint) and L^-T (n, n) from the last row up; L' is the upper factor, whose row j of the
// panel starts at j and is followed by what stages `below` couple to; the border's rows are the parameters'.
FOR_EVERY_PROCESSOR
void solve_upper(const double *panel, std::size_t n, std::size_t reach, std::size_t below, const double *border,
                 std::size_t p, double *gain, double *inverse) {
  const std::size_t joint = below + p;
  for (std::size_t j = n; j-- > 0;) {
    double *row = gain + j * joint, *unit = inverse + j * n;
    for (std::size_t v = 0; v < below; ++v) row[v] = -panel[j * reach + n + v];
    for (std::size_t v = 0; v < p; ++v) row[below + v] = -border[j * p + v];
    std::fill_n(unit, n, 0.0);
    unit[j] = 1.0;
    for (std::size_t i = j + 1; i < n; ++i) {
      const double factor = panel[j * reach + i];
      if (factor == 0.0) continue;
      for (std::size_t v = 0; v < joint; ++v) row[v] -= factor * gain[i * joint + v];
      for (std::size_t v = i; v < n; ++v) unit[v] -= factor * inverse[i * n + v];
    }
    const double scale = 1.0 / panel[j * reach + j];
    for (std::size_t v = 0; v < joint; ++v) row[v] *= scale;
    for (std::size_t v = j; v < n; ++v) unit[v] *= scale;
  }
}

// Local variables' coupling to `all` known columns, root' (l, l) times the l rows of `coupled`.
FOR_EVERY_PROCESSOR
void turn_back(const double *root, const double *coupled, std::size_t l, std::size_t apart, std::size_t all, double *out) {
  std::fill_n(out, l * all, 0.0);
  for (std::size_t i = 0; i < l; ++i)
    for (std::size_t j = i; j < l; ++j) {
      const double factor = root[j * l + i];
      if (factor == 0.0) continue;
      for (std::size_t v = 0; v < all; ++v) out[i * all + v] += factor * coupled[j * apart + v];
    }
}

// Selected inversion from the last stage to `begin` (posterior.py): covariances of stages, with the parameters, with the
// next stage and the one after, and of local variables, into arrays of all stages.
void invert(std::size_t begin, std::size_t width, Indices local_first,
            Flags used, Inout<nb::ndim<2>> band,
            Inout<nb::ndim<3>> border, In<nb::ndim<2>> parameter, In<nb::ndim<3>> roots, In<nb::ndim<3>> rows,
            Inout<nb::ndim<3>> stage, Inout<nb::ndim<3>> cross, Inout<nb::ndim<3>> neighbour, Inout<nb::ndim<3>> second,
            Inout<nb::ndim<3>> local) {
  const std::size_t stages = band.shape(0), n = stage.shape(1), p = parameter.shape(0), l = local.shape(1);
  const std::size_t reach = band.shape(1) / n - 1, full = padded(width * n + p);
  nb::gil_scoped_release release;
  std::vector<std::vector<std::size_t>> owners(stages);
  for (std::size_t k = 0; l > 0 && k < stages; ++k)
    if (used.data()[k]) owners[local_first.data()[k]].push_back(k);
  // Rows of `window`, always `full` apart: [known stages, parameters].
  std::vector<double> window(full * full, 0.0), next(full * full, 0.0), gain(n * full), moved(n * full), inverse(n * n);
  std::vector<double> own(l * full), turned(l * full);
  for (std::size_t i = 0; i < p; ++i)
    std::copy_n(parameter.data() + i * parameter.stride(0), p, window.data() + i * full);
  std::size_t known = 0;
  for (std::size_t k = stages; k-- > begin;) {
    const std::size_t below = known * n, joint = below + p;
    const double *panel = band.data() + k * band.shape(1);
    solve_upper(panel, n, reach, below, border.data() + k * n * p, p, gain.data(), inverse.data());
    tiles::multiply(gain.data(), n, joint, window.data(), joint, full, moved.data());
    // [stage, cross; cross', joint] moves to the front of the next window.
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        const double value = dot(inverse.data() + i * n, inverse.data() + j * n, n) +
                             dot(moved.data() + i * full, gain.data() + j * joint, joint);
        next[i * full + j] = next[j * full + i] = value;
      }
      for (std::size_t v = 0; v < joint; ++v)
        next[i * full + n + v] = next[(n + v) * full + i] = moved[i * full + v];
    }
    for (std::size_t u = 0; u < joint; ++u)
      std::copy_n(window.data() + u * full, joint, next.data() + (n + u) * full + n);
    for (std::size_t i = 0; i < n; ++i) {
      std::copy_n(next.data() + i * full, n, stage.data() + (k * n + i) * n);
      std::copy_n(next.data() + i * full + n + below, p, cross.data() + (k * n + i) * p);
      if (known > 0) std::copy_n(next.data() + i * full + n, n, neighbour.data() + (k * n + i) * n);
      if (known > 1) std::copy_n(next.data() + i * full + 2 * n, n, second.data() + (k * n + i) * n);
    }
    const std::size_t all = n + joint;
    for (const std::size_t owner : owners[k]) {
      const double *root = roots.data() + owner * l * l, *coupled = rows.data() + owner * l * rows.shape(2);
      double *out = local.data() + owner * l * l;
      turn_back(root, coupled, l, rows.shape(2), all, own.data());
      tiles::multiply(own.data(), l, all, next.data(), all, full, turned.data());
      for (std::size_t i = 0; i < l; ++i)
        for (std::size_t j = 0; j < l; ++j) {
          double value = dot(turned.data() + i * full, own.data() + j * all, all);
          for (std::size_t r = std::max(i, j); r < l; ++r) value += root[r * l + i] * root[r * l + j];
          out[i * l + j] = value;
        }
    }
    // What the next stage couples to: at most width - 1 stages, and the parameters.
    const std::size_t kept = std::min(known + 1, width - 1) * n, dropped = n + below - kept;
    for (std::size_t u = 0; u < kept + p; ++u) {
      const double *row = next.data() + (u < kept ? u : u + dropped) * full;
      std::copy_n(row, kept, window.data() + u * full);
      std::copy_n(row + kept + dropped, p, window.data() + u * full + kept);
    }
    known = kept / n;
  }
}

}  // namespace
