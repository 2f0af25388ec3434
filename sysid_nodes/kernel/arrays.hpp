// SPDX-License-Identifier: Apache-2.0
// Arrays that NumPy takes over from a kernel.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

using Array = nanobind::ndarray<nanobind::numpy, double>;

inline Array as_array(std::vector<double> &&values, std::initializer_list<std::size_t> shape) {
  auto held = std::make_unique<std::vector<double>>(std::move(values));
  double *data = held->data();
  nanobind::capsule owner(held.get(), [](void *p) noexcept { delete static_cast<std::vector<double> *>(p); });
  held.release();
  return Array(data, shape, owner);
}
