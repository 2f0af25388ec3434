// SPDX-License-Identifier: Apache-2.0
// Arrays of stages that the kernels of walking robots take and give.
#pragma once

#include <Eigen/Dense>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>

#include <initializer_list>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace nb = nanobind;

template <typename T, typename... Extent>
using In = nb::ndarray<const T, Extent..., nb::c_contig, nb::device::cpu>;
template <int Dimensions>
using Out = nb::ndarray<nb::numpy, double, nb::ndim<Dimensions>>;
using Vector3 = Eigen::Vector3d;
using Matrix3 = Eigen::Matrix3d;
using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using RowMajor3 = Eigen::Matrix<double, 3, 3, Eigen::RowMajor>;
template <typename Matrix>
using MapOf = Eigen::Map<const Matrix>;

// A new array and the memory it owns, zeroed.
template <int Dimensions>
std::pair<Out<Dimensions>, double *> make(std::initializer_list<std::size_t> shape) {
  std::size_t size = 1;
  for (std::size_t extent : shape) size *= extent;
  auto *memory = new double[size > 0 ? size : 1]();
  nb::capsule owner(memory, [](void *p) noexcept { delete[] static_cast<double *>(p); });
  return {Out<Dimensions>(memory, shape, owner), memory};
}

inline void require(bool holds, const char *message) {
  if (!holds) throw std::invalid_argument(message);
}
