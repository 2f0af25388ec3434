// SPDX-License-Identifier: Apache-2.0
// J'J and J'r of residual blocks, added to a banded matrix with an arrow, and local variables eliminated from it.
//
// The same as solvers/trajectory_least_squares does with NumPy, which says what the arrays are. Here a block's product
// is added while it is in the cache, only half of it is computed, and rows that are zero in a tile's columns are left out.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace nb = nanobind;

// With plain x86-64's registers BLAS is the faster; there the product is compiled for later processors as well.
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__clang__) && __GNUC__ >= 12
#define FOR_EVERY_PROCESSOR __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
const bool kWorthwhile = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
#define FOR_EVERY_PROCESSOR
#if defined(__x86_64__)
const bool kWorthwhile = false;
#else
const bool kWorthwhile = true;
#endif
#endif

namespace {

template <typename... Extent>
using In = nb::ndarray<const double, Extent..., nb::device::cpu>;
template <typename... Extent>
using Inout = nb::ndarray<double, Extent..., nb::c_contig, nb::device::cpu>;
using Indices = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

constexpr std::size_t kRows = 4, kColumns = 8;
typedef double Four __attribute__((vector_size(32), aligned(8), may_alias));

void require(bool holds, const char *message) {
  if (!holds) throw std::invalid_argument(message);
}

// Upper half of A'A, A (m, c) with rows `stride` apart, c and stride multiples of kColumns; A is zero beyond its columns.
FOR_EVERY_PROCESSOR
void product(const double *a, std::size_t m, std::size_t c, std::size_t stride, int *rows, double *out) {
  for (std::size_t i = 0; i < c; i += kRows) {
    std::size_t count = 0;
    for (std::size_t r = 0; r < m; ++r) {
      const double *row = a + r * stride + i;
      // A NaN is not zero.
      if (row[0] != 0.0 || row[1] != 0.0 || row[2] != 0.0 || row[3] != 0.0) rows[count++] = static_cast<int>(r);
    }
    for (std::size_t j = i - i % kColumns; j < c; j += kColumns) {
      // Sums by name: an array of them would live on the stack.
      Four s00 = {}, s01 = {}, s10 = {}, s11 = {}, s20 = {}, s21 = {}, s30 = {}, s31 = {};
      for (std::size_t k = 0; k < count; ++k) {
        const double *row = a + rows[k] * stride;
        const Four left = *reinterpret_cast<const Four *>(row + j), right = *reinterpret_cast<const Four *>(row + j + 4);
        s00 += row[i] * left;
        s01 += row[i] * right;
        s10 += row[i + 1] * left;
        s11 += row[i + 1] * right;
        s20 += row[i + 2] * left;
        s21 += row[i + 2] * right;
        s30 += row[i + 3] * left;
        s31 += row[i + 3] * right;
      }
      const auto store = [&](std::size_t x, const Four &left, const Four &right) {
        *reinterpret_cast<Four *>(out + (i + x) * c + j) = left;
        *reinterpret_cast<Four *>(out + (i + x) * c + j + 4) = right;
      };
      store(0, s00, s01);
      store(1, s10, s11);
      store(2, s20, s21);
      store(3, s30, s31);
    }
  }
}

std::size_t padded(std::size_t count) { return (count + kColumns - 1) / kColumns * kColumns; }

// The equations' arrays that have no local variables in them.
struct Arrow {
  Inout<nb::ndim<2>> band;
  Inout<nb::ndim<3>> border;
  Inout<nb::ndim<2>> corner;
  Inout<nb::ndim<2>> gradient;
  Inout<nb::ndim<1>> parameter_gradient;

  std::size_t n() const { return border.shape(1); }
  std::size_t p() const { return border.shape(2); }
  std::size_t reach() const { return band.shape(1) / n() - 1; }

  void check() const {
    require(border.shape(0) == band.shape(0) && n() > 0 && band.shape(1) % n() == 0, "band and border do not fit");
    require(corner.shape(0) == p() && corner.shape(1) == p() && parameter_gradient.shape(0) == p() &&
                gradient.shape(0) == band.shape(0) && gradient.shape(1) == n(),
            "corner or gradients do not fit");
  }

  // Adds sign times a product of the columns [width stages, parameters, residual, ...], c to a row.
  void add(const double *products, std::size_t c, std::size_t first, std::size_t width, double sign) {
    const std::size_t n = this->n(), p = this->p(), across = width * n, reach = this->reach();
    for (std::size_t u = 0; u < across; ++u) {
      const std::size_t stage = first + u / n, j = u % n;
      const double *row = products + u * c;
      double *column = band.data() + stage * band.shape(1) + j * reach + j;
      for (std::size_t v = u; v < across; ++v) column[v - u] += sign * row[v];
      double *edge = border.data() + (stage * n + j) * p;
      for (std::size_t v = 0; v < p; ++v) edge[v] += sign * row[across + v];
      gradient.data()[stage * n + j] += sign * row[across + p];
    }
    for (std::size_t u = 0; u < p; ++u) {
      const double *row = products + (across + u) * c + across;
      for (std::size_t v = u; v < p; ++v) {
        corner.data()[u * p + v] += sign * row[v];
        if (v > u) corner.data()[v * p + u] += sign * row[v];
      }
      parameter_gradient.data()[u] += sign * row[p];
    }
  }
};

template <typename Array>
void copy_rows(const Array &from, std::size_t block, double *to, std::size_t stride) {
  const std::size_t rows = from.shape(1), columns = from.shape(2);
  for (std::size_t r = 0; r < rows; ++r) {
    const double *row = from.data() + block * from.stride(0) + r * from.stride(1);
    std::copy(row, row + columns, to + r * stride);
  }
}

// Adds a group of blocks. Empty parameter or local arrays (no columns) are zero. Last axes must be contiguous.
void add_blocks(Indices first, In<nb::ndim<2>> residual, In<nb::ndim<3>> jacobian, In<nb::ndim<3>> parameter,
                In<nb::ndim<3>> local, Indices owner, Indices local_first, Inout<nb::ndim<2>> band,
                Inout<nb::ndim<3>> border, Inout<nb::ndim<2>> corner, Inout<nb::ndim<2>> gradient,
                Inout<nb::ndim<1>> parameter_gradient, Inout<nb::ndim<3>> hessian, Inout<nb::ndim<3>> by_stage,
                Inout<nb::ndim<3>> by_parameter, Inout<nb::ndim<2>> local_gradient) {
  Arrow arrow{band, border, corner, gradient, parameter_gradient};
  arrow.check();
  const std::size_t count = residual.shape(0), m = residual.shape(1), n = arrow.n(), p = arrow.p();
  const std::size_t across = jacobian.shape(2), width = across / n, l = local.shape(2), stages = band.shape(0);
  require(first.shape(0) == count && jacobian.shape(0) == count && jacobian.shape(1) == m && across % n == 0 &&
              across <= arrow.reach(),
          "jacobian does not fit");
  require(parameter.shape(2) == 0 || (parameter.shape(0) == count && parameter.shape(1) == m && parameter.shape(2) == p),
          "parameter jacobian does not fit");
  require(l == 0 || (local.shape(0) == count && local.shape(1) == m && owner.shape(0) == count &&
                     hessian.shape(0) == stages && hessian.shape(1) == l && hessian.shape(2) == l &&
                     by_stage.shape(0) == stages && by_stage.shape(1) == l && by_stage.shape(2) == arrow.reach() &&
                     by_parameter.shape(0) == stages && by_parameter.shape(1) == l && by_parameter.shape(2) == p &&
                     local_gradient.shape(0) == stages && local_gradient.shape(1) == l &&
                     local_first.shape(0) == stages),
          "local jacobian does not fit");
  for (std::size_t b = 0; b < count; ++b) {
    require(first.data()[b] >= 0 && first.data()[b] + width <= stages, "a window leaves the trajectory");
    if (l == 0) continue;
    const int64_t own = owner.data()[b];
    require(own >= 0 && own < static_cast<int64_t>(stages), "an owner leaves the trajectory");
    const int64_t shift = first.data()[b] - local_first.data()[own];
    require(shift >= 0 && shift * static_cast<int64_t>(n) + static_cast<int64_t>(across) <=
                              static_cast<int64_t>(arrow.reach()),
            "a window leaves its owner's");
  }
  nb::gil_scoped_release release;
  const std::size_t c = padded(across + p + 1 + l);
  std::vector<double> a(m * c, 0.0), products(c * c);
  std::vector<int> rows(m);
  for (std::size_t b = 0; b < count; ++b) {
    copy_rows(jacobian, b, a.data(), c);
    if (parameter.shape(2)) copy_rows(parameter, b, a.data() + across, c);
    for (std::size_t r = 0; r < m; ++r)
      a[r * c + across + p] = residual.data()[b * residual.stride(0) + r * residual.stride(1)];
    if (l) copy_rows(local, b, a.data() + across + p + 1, c);
    product(a.data(), m, c, c, rows.data(), products.data());
    arrow.add(products.data(), c, first.data()[b], width, 1.0);
    if (l == 0) continue;
    const std::size_t own = owner.data()[b], shift = (first.data()[b] - local_first.data()[own]) * n;
    for (std::size_t i = 0; i < l; ++i) {
      const std::size_t at = own * l + i, column = across + p + 1 + i;
      for (std::size_t u = 0; u < across; ++u)
        by_stage.data()[at * arrow.reach() + shift + u] += products[u * c + column];
      for (std::size_t u = 0; u < p; ++u) by_parameter.data()[at * p + u] += products[(across + u) * c + column];
      local_gradient.data()[at] += products[(across + p) * c + column];
      for (std::size_t j = i; j < l; ++j) {
        hessian.data()[at * l + j] += products[column * c + across + p + 1 + j];
        if (j > i) hessian.data()[(own * l + j) * l + i] += products[column * c + across + p + 1 + j];
      }
    }
  }
}

// Takes the products of rows (stages, l, reach + p + 1) of the owners listed off the equations.
void subtract_rows(Indices owners, Indices local_first, In<nb::ndim<3>> rows, Inout<nb::ndim<2>> band,
                   Inout<nb::ndim<3>> border, Inout<nb::ndim<2>> corner, Inout<nb::ndim<2>> gradient,
                   Inout<nb::ndim<1>> parameter_gradient) {
  Arrow arrow{band, border, corner, gradient, parameter_gradient};
  arrow.check();
  const std::size_t l = rows.shape(1), columns = arrow.reach() + arrow.p() + 1, stages = band.shape(0);
  require(rows.shape(0) == stages && rows.shape(2) == columns && local_first.shape(0) == stages, "rows do not fit");
  const std::size_t width = arrow.reach() / arrow.n();
  for (std::size_t k = 0; k < owners.shape(0); ++k) {
    const int64_t own = owners.data()[k];
    require(own >= 0 && own < static_cast<int64_t>(stages) && local_first.data()[own] >= 0 &&
                local_first.data()[own] + width <= stages,
            "an owner's window leaves the trajectory");
  }
  nb::gil_scoped_release release;
  const std::size_t c = padded(columns);
  std::vector<double> a(l * c, 0.0), products(c * c);
  std::vector<int> list(l);
  for (std::size_t k = 0; k < owners.shape(0); ++k) {
    const std::size_t own = owners.data()[k];
    copy_rows(rows, own, a.data(), c);
    product(a.data(), l, c, c, list.data(), products.data());
    arrow.add(products.data(), c, local_first.data()[own], width, -1.0);
  }
}

}  // namespace

NB_MODULE(_normal_equations, m) {
  using namespace nb::literals;
  m.doc() = "Normal equations of trajectory least squares.";
  m.attr("worthwhile") = kWorthwhile;
  m.def("add_blocks", &add_blocks, "first"_a, "residual"_a, "jacobian"_a, "parameter"_a, "local"_a, "owner"_a,
        "local_first"_a, "band"_a, "border"_a, "corner"_a, "gradient"_a, "parameter_gradient"_a, "hessian"_a,
        "by_stage"_a, "by_parameter"_a, "local_gradient"_a);
  m.def("subtract_rows", &subtract_rows, "owners"_a, "local_first"_a, "rows"_a, "band"_a, "border"_a, "corner"_a,
        "gradient"_a, "parameter_gradient"_a);
}
