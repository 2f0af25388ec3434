// SPDX-License-Identifier: Apache-2.0
// The blocks of the inverse that covariances need. Included by normal_equations.cpp.
#pragma once

#include "leverage.hpp"

namespace {

// Rows of known stages and the parameters: stage k in slot k modulo the number of slots, then p parameters. A new stage
// takes the slot of the one that is needed no longer, so that nothing moves.
struct Slots {
  std::size_t n, count, p;
  std::size_t of(std::size_t stage) const { return count ? stage % count * n : 0; }
  std::size_t parameters() const { return count * n; }
  std::size_t all() const { return count * n + p; }
};

// X' = -L^-T [B', border] (n, slots) and L^-T (n, n) from the last row up; L' is the upper factor, whose row j of the
// panel of stage k starts at j and is followed by what the `known` stages after it couple to; the border's rows are the
// parameters'.
FOR_EVERY_PROCESSOR
void solve_upper(const Slots &slots, std::size_t k, std::size_t known, const double *panel, std::size_t reach,
                 const double *border, double *gain, double *inverse) {
  const std::size_t n = slots.n, p = slots.p, joint = slots.all();
  for (std::size_t j = n; j-- > 0;) {
    double *row = gain + j * joint, *unit = inverse + j * n;
    std::fill_n(row, slots.parameters(), 0.0);
    for (std::size_t s = 1; s <= known; ++s)
      for (std::size_t v = 0; v < n; ++v) row[slots.of(k + s) + v] = -panel[j * reach + s * n + v];
    for (std::size_t v = 0; v < p; ++v) row[slots.parameters() + v] = -border[j * p + v];
    std::fill_n(unit, n, 0.0);
    unit[j] = 1.0;
    for (std::size_t i = j + 1; i < n; ++i) {
      const double factor = panel[j * reach + i];
      if (factor == 0.0) continue;
      const double *below = gain + i * joint, *other = inverse + i * n;
#pragma GCC ivdep
      for (std::size_t v = 0; v < joint; ++v) row[v] -= factor * below[v];
#pragma GCC ivdep
      for (std::size_t v = i; v < n; ++v) unit[v] -= factor * other[v];
    }
    const double scale = 1.0 / panel[j * reach + j];
    for (std::size_t v = 0; v < joint; ++v) row[v] *= scale;
    for (std::size_t v = j; v < n; ++v) unit[v] *= scale;
  }
}

// Covariance (l, l) of local variables, -root' (coupled [stage k, slots] + e): own = root' times what they couple to
// stage k, known = the same to the slots; of stage k the covariance is `stage` (n, n), with the slots `cross` (n, full),
// of these `window` (full, full). `moved`, `through` have room for l rows of `full`.
inline void local_covariance(const Slots &slots, std::size_t l, const double *root, const double *own,
                             const double *known, const double *stage, const double *cross, const double *window,
                             std::size_t full, double *moved, double *through, double *out) {
  const std::size_t n = slots.n, joint = slots.all(), apart = padded(n);
  tiles::multiply(known, l, joint, joint, window, joint, full, moved);
  tiles::multiply(own, l, n, n, cross, joint, full, through);
  for (std::size_t i = 0; i < l; ++i)
    for (std::size_t v = 0; v < joint; ++v) moved[i * full + v] += 2.0 * through[i * full + v];
  tiles::multiply(own, l, n, n, stage, n, apart, through);
  for (std::size_t i = 0; i < l; ++i)
    for (std::size_t j = 0; j < l; ++j)
      out[i * l + j] = dot(through + i * apart, own + j * n, n) +
                       0.5 * (dot(moved + i * full, known + j * joint, joint) +
                              dot(moved + j * full, known + i * joint, joint));
  for (std::size_t r = 0; r < l; ++r)
    for (std::size_t i = 0; i <= r; ++i)
      for (std::size_t j = 0; j <= r; ++j) out[i * l + j] += root[r * l + i] * root[r * l + j];
}

// root' (l, l) times l rows of `coupled` to the stages from k on and to the parameters: of stage k to own (l, n), of the
// others to known (l, slots).
FOR_EVERY_PROCESSOR
void turn_back(const Slots &slots, std::size_t k, std::size_t known_stages, const double *root, const double *coupled,
               std::size_t l, std::size_t apart, std::size_t width, double *own, double *known) {
  const std::size_t n = slots.n, joint = slots.all();
  std::fill_n(own, l * n, 0.0);
  std::fill_n(known, l * joint, 0.0);
  const auto add = [](double factor, const double *from, std::size_t count, double *to) {
#pragma GCC ivdep
    for (std::size_t v = 0; v < count; ++v) to[v] += factor * from[v];
  };
  for (std::size_t i = 0; i < l; ++i)
    for (std::size_t j = i; j < l; ++j) {
      const double factor = root[j * l + i], *row = coupled + j * apart;
      if (factor == 0.0) continue;
      add(factor, row, n, own + i * n);
      for (std::size_t s = 1; s <= known_stages; ++s) add(factor, row + s * n, n, known + i * joint + slots.of(k + s));
      add(factor, row + width * n, slots.p, known + i * joint + slots.parameters());
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
  const Slots slots{n, width - 1, p};
  const std::size_t reach = band.shape(1) / n - 1, joint = slots.all(), full = padded(joint), apart = padded(n);
  nb::gil_scoped_release release;
  std::vector<std::vector<std::size_t>> owners(stages);
  for (std::size_t k = 0; l > 0 && k < stages; ++k)
    if (used.data()[k]) owners[local_first.data()[k]].push_back(k);
  std::vector<double> window(joint * full + full, 0.0), gain(n * joint), moved(n * full), inverse(n * n), own(n * apart, 0.0);
  std::vector<double> turned(l * n), known(l * joint), room(2 * l * std::max(full, apart));
  for (std::size_t i = 0; i < p; ++i)
    std::copy_n(parameter.data() + i * parameter.stride(0), p,
                window.data() + (slots.parameters() + i) * full + slots.parameters());
  for (std::size_t k = stages; k-- > begin;) {
    const std::size_t after = std::min(slots.count, stages - 1 - k);
    const double *panel = band.data() + k * band.shape(1);
    solve_upper(slots, k, after, panel, reach, border.data() + k * n * p, gain.data(), inverse.data());
    tiles::multiply(gain.data(), n, joint, joint, window.data(), joint, full, moved.data());
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j <= i; ++j)
        own[i * apart + j] = own[j * apart + i] =
            dot(inverse.data() + i * n + i, inverse.data() + j * n + i, n - i) +
            dot(moved.data() + i * full, gain.data() + j * joint, joint);
    for (std::size_t i = 0; i < n; ++i) {
      const double *with = moved.data() + i * full;
      std::copy_n(own.data() + i * apart, n, stage.data() + (k * n + i) * n);
      std::copy_n(with + slots.parameters(), p, cross.data() + (k * n + i) * p);
      if (after > 0) std::copy_n(with + slots.of(k + 1), n, neighbour.data() + (k * n + i) * n);
      if (after > 1) std::copy_n(with + slots.of(k + 2), n, second.data() + (k * n + i) * n);
    }
    for (const std::size_t owner : owners[k]) {
      const double *root = roots.data() + owner * l * l, *coupled = rows.data() + owner * l * rows.shape(2);
      turn_back(slots, k, after, root, coupled, l, rows.shape(2), width, turned.data(), known.data());
      local_covariance(slots, l, root, turned.data(), known.data(), own.data(), moved.data(), window.data(), full,
                       room.data(), room.data() + l * std::max(full, apart), local.data() + owner * l * l);
    }
    if (slots.count == 0) continue;
    const std::size_t at = slots.of(k);
    for (std::size_t i = 0; i < n; ++i) {
      double *row = window.data() + (at + i) * full;
      std::copy_n(moved.data() + i * full, joint, row);
      std::copy_n(own.data() + i * apart, n, row + at);
      for (std::size_t u = 0; u < joint; ++u) window[u * full + at + i] = row[u];
    }
  }
}

}  // namespace
