// SPDX-License-Identifier: Apache-2.0
// What the samples of windows say about their positions, and where velocities keep their sign, one pass over each;
// systems/interval/positions.py and row_builder.py say what the terms mean and do the same in NumPy.
#include "arrays.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <vector>

namespace nb = nanobind;

namespace {

template <typename T, typename... Extent>
using In = nb::ndarray<const T, Extent..., nb::c_contig, nb::device::cpu>;
using Matrix = In<double, nb::ndim<2>>;
using Doubles = std::vector<double>;

// (M, n) positions, (W, n) largest error, error of the travel, and how far the highest place is above the lowest.
nb::tuple bound_positions(Matrix q_, Matrix qd_, In<double, nb::ndim<1>> dt_, In<int64_t, nb::shape<-1, 2>> edges_,
                          Matrix error_, Matrix creep_, double rounding) {
  const std::size_t samples = q_.shape(0), n = q_.shape(1), windows = edges_.shape(0);
  if (qd_.shape(0) != samples || qd_.shape(1) != n || dt_.shape(0) + 1 != samples || error_.shape(0) != windows ||
      error_.shape(1) != n || creep_.shape(0) + 1 != samples || creep_.shape(1) != n)
    throw std::invalid_argument("arrays do not fit the samples");
  std::size_t entries = 0;
  for (std::size_t w = 0; w < windows; ++w) {
    const int64_t first = edges_.data()[2 * w], last = edges_.data()[2 * w + 1];
    if (first < 0 || last < first || last >= static_cast<int64_t>(samples))
      throw std::invalid_argument("window edges are out of range");
    entries += static_cast<std::size_t>(last - first) + 1;
  }
  const double *q = q_.data(), *qd = qd_.data(), *dt = dt_.data(), *creep = creep_.data();
  Doubles position(entries * n), error(windows * n), travel(windows * n), room(windows * n);
  {
    nb::gil_scoped_release release;
    Doubles moved(n), crept(n), low(n), high(n);
    double *out = position.data();
    for (std::size_t w = 0; w < windows; ++w) {
      const auto first = static_cast<std::size_t>(edges_.data()[2 * w]);
      const auto last = static_cast<std::size_t>(edges_.data()[2 * w + 1]);
      std::fill(moved.begin(), moved.end(), 0.0);
      std::fill(crept.begin(), crept.end(), 0.0);
      std::fill(low.begin(), low.end(), -std::numeric_limits<double>::infinity());
      std::fill(high.begin(), high.end(), std::numeric_limits<double>::infinity());
      double *own = out;
      for (std::size_t s = first; s <= last; ++s, out += n)
        for (std::size_t j = 0; j < n; ++j) {
          if (s > first) {
            moved[j] += 0.5 * dt[s - 1] * (qd[s * n + j] + qd[(s - 1) * n + j]);
            crept[j] += creep[(s - 1) * n + j];
          }
          const double reading = q[s * n + j], offset = reading - moved[j];
          const double slack = crept[j] + rounding * (1.0 + std::abs(reading));
          low[j] = std::max(low[j], offset - slack);
          high[j] = std::min(high[j], offset + slack);
          if (!std::isfinite(offset) || !std::isfinite(slack))  // nothing is known; max and min keep it as it is
            low[j] = high[j] = std::numeric_limits<double>::quiet_NaN();
          out[j] = moved[j];
        }
      for (std::size_t j = 0; j < n; ++j) {
        const double stated = error_.data()[w * n + j], below = low[j] - stated, above = high[j] + stated;
        const double found = std::max(0.5 * (above - below), 0.0) + crept[j] + rounding * (1.0 + std::abs(below));
        const bool better = found < stated;
        error[w * n + j] = better ? found : stated;
        travel[w * n + j] = better ? crept[j] + rounding : 2.0 * stated;
        room[w * n + j] = above - below;
        for (std::size_t s = first; s <= last; ++s) {
          double &place = own[(s - first) * n + j];
          place = better ? place + 0.5 * (below + above) : q[s * n + j];
        }
      }
    }
  }
  return nb::make_tuple(as_array(std::move(position), {entries, n}), as_array(std::move(error), {windows, n}),
                        as_array(std::move(travel), {windows, n}), as_array(std::move(room), {windows, n}));
}

// (N - 1, n) whether no velocity (N, n) within its error and bound on acceleration can reach zero between two samples.
nb::ndarray<nb::numpy, bool> sign_certain(In<double, nb::ndim<1>> dt_, Matrix v_, In<double, nb::ndim<1>> error_,
                                          In<double, nb::ndim<1>> acceleration_) {
  const std::size_t intervals = dt_.shape(0), n = v_.shape(1);
  if (v_.shape(0) != intervals + 1 || error_.shape(0) != n || acceleration_.shape(0) != n)
    throw std::invalid_argument("arrays do not fit the samples");
  auto held = std::make_unique<bool[]>(intervals * n);
  bool *out = held.get();
  const double *v = v_.data(), *error = error_.data(), *acceleration = acceleration_.data();
  for (std::size_t s = 0; s < intervals; ++s, v += n, out += n) {
    const double half = 0.5 * dt_.data()[s];
    for (std::size_t j = 0; j < n; ++j) {
      const double a = std::abs(v[j]), b = std::abs(v[n + j]);
      out[j] = (v[j] * v[n + j] > 0.0) & (std::min(a, b) - error[j] > 0.0) &
               (0.5 * (a + b) - error[j] - half * acceleration[j] > 0.0);
    }
  }
  bool *data = held.get();
  nb::capsule owner(held.release(), [](void *p) noexcept { delete[] static_cast<bool *>(p); });
  return nb::ndarray<nb::numpy, bool>(data, {intervals, n}, owner);
}

}  // namespace

NB_MODULE(_windows, m) {
  using namespace nb::literals;
  m.doc() = "What the samples of windows say about their positions and signs.";
  m.def("bound_positions", &bound_positions, "q"_a, "qd"_a, "dt"_a, "edges"_a, "error"_a, "creep"_a, "rounding"_a);
  m.def("sign_certain", &sign_certain, "dt"_a, "v"_a, "error"_a, "acceleration"_a);
}
