// SPDX-License-Identifier: Apache-2.0
// Pivots of the dual simplex method on a dense tableau; kernel/dual_simplex_reference.py says what the terms mean.
#include "arrays.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace nb = nanobind;

namespace {

template <typename T, typename... Extent>
using InOut = nb::ndarray<T, Extent..., nb::c_contig, nb::device::cpu>;
template <typename... Extent>
using In = nb::ndarray<const double, Extent..., nb::c_contig, nb::device::cpu>;

// Wider registers where the processor has them; the same numbers, for nothing is fused or summed in another order.
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__)
#define SYSID_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define SYSID_WIDE
#endif

// entries += factor * row; returns 1 + the squared length of what comes out.
SYSID_WIDE double add_row(double *__restrict entries, const double *__restrict row, double factor, std::size_t d) {
  double sums[4] = {1.0, 0.0, 0.0, 0.0};
  std::size_t k = 0;
  for (; k + 4 <= d; k += 4)
    for (std::size_t s = 0; s < 4; ++s) {
      entries[k + s] += factor * row[k + s];
      sums[s] += entries[k + s] * entries[k + s];
    }
  for (; k < d; ++k) {
    entries[k] += factor * row[k];
    sums[0] += entries[k] * entries[k];
  }
  return sums[0] + sums[1] + sums[2] + sums[3];
}

struct Candidate {
  double ratio, gain;
  std::size_t column;
};

int64_t pivots(InOut<double, nb::ndim<2>> table_, InOut<int64_t, nb::ndim<1>> basic_,
               InOut<int64_t, nb::ndim<1>> nonbasic_, InOut<bool, nb::ndim<1>> at_upper_,
               InOut<double, nb::ndim<1>> cost_, InOut<double, nb::ndim<1>> value_, InOut<double, nb::ndim<1>> place_,
               In<nb::ndim<1>> lower_, In<nb::ndim<1>> upper_, In<nb::shape<3>> tolerances, int64_t limit) {
  const std::size_t w = table_.shape(0), d = table_.shape(1);
  if (basic_.shape(0) != w || value_.shape(0) != w || nonbasic_.shape(0) != d || at_upper_.shape(0) != d ||
      cost_.shape(0) != d || place_.shape(0) != d || lower_.shape(0) != upper_.shape(0))
    throw std::invalid_argument("arrays do not fit the tableau");
  double *table = table_.data(), *cost = cost_.data(), *value = value_.data(), *place = place_.data();
  int64_t *basic = basic_.data(), *nonbasic = nonbasic_.data();
  bool *at_upper = at_upper_.data();
  const double *lower = lower_.data(), *upper = upper_.data();
  for (std::size_t k = 0; k < w + d; ++k) {
    const int64_t variable = k < w ? basic[k] : nonbasic[k - w];
    if (variable < 0 || variable >= static_cast<int64_t>(lower_.shape(0)))
      throw std::invalid_argument("a variable of the tableau has no ends");
  }
  const double feasible = tolerances.data()[0], smallest = tolerances.data()[1], stable = tolerances.data()[2];
  nb::gil_scoped_release release;
  std::vector<double> length(w), row(d);
  std::vector<Candidate> candidates;
  for (std::size_t h = 0; h < w; ++h) {
    double sum = 1.0;
    for (std::size_t k = 0; k < d; ++k) sum += table[h * d + k] * table[h * d + k];
    length[h] = sum;
  }
  for (int64_t pivot = 0; pivot < limit; ++pivot) {
    std::size_t leaving = w;
    double best = 0.0;
    for (std::size_t h = 0; h < w; ++h) {
      const double excess = std::max(value[h] - upper[basic[h]], lower[basic[h]] - value[h]);
      if (excess > feasible && excess * excess > best * length[h]) {
        best = excess * excess / length[h];
        leaving = h;
      }
    }
    if (leaving == w) return -1;
    double *own = table + leaving * d;
    const int64_t variable = basic[leaving];
    const bool above = value[leaving] > upper[variable];
    const double target = above ? upper[variable] : lower[variable];
    double missing = std::abs(value[leaving] - target), largest = 0.0;
    candidates.clear();
    for (std::size_t k = 0; k < d; ++k) {
      const double gain = at_upper[k] == above ? own[k] : -own[k];
      if (gain <= smallest) continue;
      candidates.push_back({std::abs(cost[k]) / gain, gain, k});
      largest = std::max(largest, gain);
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate &a, const Candidate &b) { return a.ratio < b.ratio; });
    std::size_t chosen = 0;
    for (; chosen < candidates.size(); ++chosen) {
      const Candidate &here = candidates[chosen];
      missing -= here.gain * std::max(0.0, upper[nonbasic[here.column]] - lower[nonbasic[here.column]]);
      if (missing <= 0.0) break;
    }
    if (chosen == candidates.size()) {
      if (candidates.empty() || missing > feasible) return static_cast<int64_t>(leaving);
      --chosen;  // ends that touch: rounding alone is missing
    }
    while (chosen > 0 && candidates[chosen].gain < stable * largest) --chosen;
    for (std::size_t c = 0; c < chosen; ++c) {
      const std::size_t k = candidates[c].column;
      at_upper[k] = !at_upper[k];
      const double next = at_upper[k] ? upper[nonbasic[k]] : lower[nonbasic[k]], step = next - place[k];
      place[k] = next;
      for (std::size_t h = 0; h < w; ++h) value[h] += table[h * d + k] * step;
    }
    const std::size_t entering = candidates[chosen].column;
    const double by = own[entering], step = (target - value[leaving]) / by, reduced = cost[entering];
    for (std::size_t k = 0; k < d; ++k) row[k] = -own[k] / by;
    row[entering] = 1.0 / by;
    cost[entering] = 0.0;
    for (std::size_t k = 0; k < d; ++k) cost[k] += reduced * row[k];
    for (std::size_t h = 0; h < w; ++h) {
      double *entries = table + h * d;
      const double factor = h == leaving ? 0.0 : entries[entering];
      if (h == leaving) {
        std::copy(row.begin(), row.end(), entries);
      } else {
        value[h] += factor * step;
        if (factor == 0.0) continue;
        entries[entering] = 0.0;
      }
      length[h] = add_row(entries, row.data(), factor, d);
    }
    value[leaving] = place[entering] + step;
    place[entering] = target;
    at_upper[entering] = above;
    std::swap(basic[leaving], nonbasic[entering]);
  }
  return -2;
}

}  // namespace

NB_MODULE(_dual_simplex, m) {
  using namespace nb::literals;
  m.doc() = "Pivots of the dual simplex method.";
  m.def("pivots", &pivots, "table"_a.noconvert(), "basic"_a.noconvert(), "nonbasic"_a.noconvert(),
        "at_upper"_a.noconvert(), "cost"_a.noconvert(), "value"_a.noconvert(), "place"_a.noconvert(), "lower"_a,
        "upper"_a, "tolerances"_a, "limit"_a);
}
