// SPDX-License-Identifier: Apache-2.0
// A banded symmetric matrix with an arrow, as solvers/trajectory_least_squares has it.
#pragma once

#include "tiles.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <tuple>
#include <vector>

namespace nb = nanobind;

namespace {

using tiles::padded;

template <typename... Extent>
using In = nb::ndarray<const double, Extent..., nb::device::cpu>;
template <typename... Extent>
using Inout = nb::ndarray<double, Extent..., nb::c_contig, nb::device::cpu>;
using Indices = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Flags = nb::ndarray<const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void require(bool holds, const char *message) {
  if (!holds) throw std::invalid_argument(message);
}

// The equations' arrays that have no local variables in them.
struct Arrow {
  Arrow(const Inout<nb::ndim<2>> &columns, const Inout<nb::ndim<3>> &edges, const Inout<nb::ndim<2>> &corner_,
        const Inout<nb::ndim<2>> &gradient_, const Inout<nb::ndim<1>> &parameter_gradient_)
      : stages(columns.shape(0)), n(edges.shape(1)), p(edges.shape(2)), stride(columns.shape(1)),
        reach(n > 0 ? stride / n - 1 : 0), band(columns.data()), border(edges.data()), corner(corner_.data()),
        gradient(gradient_.data()), parameter_gradient(parameter_gradient_.data()) {
    require(edges.shape(0) == stages && n > 0 && stride % n == 0, "band and border do not fit");
    require(corner_.shape(0) == p && corner_.shape(1) == p && parameter_gradient_.shape(0) == p &&
                gradient_.shape(0) == stages && gradient_.shape(1) == n,
            "corner or gradients do not fit");
  }

  // The band's rows of stages are `stride` apart, and a column couples `reach` coordinates.
  std::size_t stages, n, p, stride, reach;
  double *band, *border, *corner, *gradient, *parameter_gradient;

  // Additions go to the corner's upper half alone.
  void mirror_corner() const {
    for (std::size_t u = 0; u < p; ++u)
      for (std::size_t v = 0; v < u; ++v) corner[u * p + v] = corner[v * p + u];
  }
};

}  // namespace
