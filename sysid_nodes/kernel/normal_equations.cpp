// SPDX-License-Identifier: Apache-2.0
// J'J and J'r of residual blocks, added to a banded matrix with an arrow; its Cholesky factor, local variables eliminated
// first; and the blocks of the inverse that covariances need.
//
// The same as solvers/trajectory_least_squares does with NumPy, which says what the arrays are. Here a block's product
// is added while it is in the cache, only half of it is computed, and only of the columns that its rows have: a foot's
// know nothing of the other legs.
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
// Columns that a row may lack to share a product with its neighbour.
constexpr std::size_t kSpare = 6;
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

// Where the local variables of a block's owner are; l = 0 without any.
struct Local {
  Inout<nb::ndim<3>> hessian, by_stage, by_parameter;
  Inout<nb::ndim<2>> gradient;
  std::size_t l;

  double *stage_row(std::size_t own, std::size_t i) const { return by_stage.data() + (own * l + i) * by_stage.shape(2); }
};

// Adds the product of some columns of [stages, parameters, residual, local variables], `c` to a row.
void add_columns(const Arrow &arrow, const Local &local, const std::vector<int> &columns, const double *products,
                 std::size_t c, std::size_t across, std::size_t first, std::size_t own, std::size_t shift) {
  const std::size_t n = arrow.n(), p = arrow.p(), reach = arrow.reach(), count = columns.size(), l = local.l;
  const auto begin = [&](std::size_t from) {
    return static_cast<std::size_t>(
        std::lower_bound(columns.begin(), columns.end(), static_cast<int>(from)) - columns.begin());
  };
  const std::size_t theta = begin(across), residual = begin(across + p), variables = begin(across + p + 1);
  for (std::size_t u = 0; u < theta; ++u) {
    const double *row = products + u * c;
    const std::size_t at = columns[u], stage = first + at / n, j = at % n;
    double *column = arrow.band.data() + stage * arrow.band.shape(1) + j * reach + j;
    for (std::size_t v = u; v < theta; ++v) column[columns[v] - at] += row[v];
    double *edge = arrow.border.data() + (stage * n + j) * p;
    for (std::size_t v = theta; v < residual; ++v) edge[columns[v] - across] += row[v];
    for (std::size_t v = residual; v < variables; ++v) arrow.gradient.data()[stage * n + j] += row[v];
    for (std::size_t v = variables; v < count; ++v)
      local.stage_row(own, columns[v] - across - p - 1)[shift + at] += row[v];
  }
  for (std::size_t u = theta; u < residual; ++u) {
    const double *row = products + u * c;
    const std::size_t at = columns[u] - across;
    arrow.corner.data()[at * p + at] += row[u];
    for (std::size_t v = u + 1; v < residual; ++v) {
      arrow.corner.data()[at * p + columns[v] - across] += row[v];
      arrow.corner.data()[(columns[v] - across) * p + at] += row[v];
    }
    for (std::size_t v = residual; v < variables; ++v) arrow.parameter_gradient.data()[at] += row[v];
    for (std::size_t v = variables; v < count; ++v)
      local.by_parameter.data()[(own * l + columns[v] - across - p - 1) * p + at] += row[v];
  }
  for (std::size_t u = residual; u < count; ++u) {
    const double *row = products + u * c;
    const std::size_t at = columns[u] - across - p - 1;
    for (std::size_t v = std::max(u, variables); v < count; ++v) {
      const std::size_t other = columns[v] - across - p - 1;
      if (u < variables) {
        local.gradient.data()[own * l + other] += row[v];
      } else {
        local.hessian.data()[(own * l + at) * l + other] += row[v];
        if (v > u) local.hessian.data()[(own * l + other) * l + at] += row[v];
      }
    }
  }
}

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
  const std::size_t c = across + p + 1 + l, room = padded(c), words = (c + 63) / 64;
  const Local terms{hessian, by_stage, by_parameter, local_gradient, l};
  std::vector<double> a(m * c, 0.0), dense(m * room), products(room * room);
  std::vector<uint64_t> seen(m * words), together(words), both(words);
  std::vector<int> rows(m), columns;
  const auto size = [&](const std::vector<uint64_t> &mask) {
    std::size_t bits = 0;
    for (const uint64_t word : mask) bits += __builtin_popcountll(word);
    return bits;
  };
  for (std::size_t b = 0; b < count; ++b) {
    copy_rows(jacobian, b, a.data(), c);
    if (parameter.shape(2)) copy_rows(parameter, b, a.data() + across, c);
    for (std::size_t r = 0; r < m; ++r)
      a[r * c + across + p] = residual.data()[b * residual.stride(0) + r * residual.stride(1)];
    if (l) copy_rows(local, b, a.data() + across + p + 1, c);
    std::fill(seen.begin(), seen.end(), 0);
    for (std::size_t r = 0; r < m; ++r)
      // A NaN is not zero.
      for (std::size_t j = 0; j < c; ++j) seen[r * words + j / 64] |= static_cast<uint64_t>(a[r * c + j] != 0.0) << (j % 64);
    const std::size_t own = l ? owner.data()[b] : 0;
    const std::size_t shift = l ? (first.data()[b] - local_first.data()[own]) * n : 0;
    for (std::size_t begin = 0, end; begin < m; begin = end) {
      // Rows that follow one another and have nearly the same columns go together.
      std::copy_n(seen.begin() + begin * words, words, together.begin());
      for (end = begin + 1; end < m; ++end) {
        std::size_t alone = 0;
        for (std::size_t w = 0; w < words; ++w) {
          both[w] = together[w] | seen[end * words + w];
          alone += __builtin_popcountll(seen[end * words + w]);
        }
        if (size(both) > std::min(size(together), alone) + kSpare) break;
        together = both;
      }
      columns.clear();
      for (std::size_t j = 0; j < c; ++j)
        if (together[j / 64] >> (j % 64) & 1) columns.push_back(static_cast<int>(j));
      if (columns.empty()) continue;
      const std::size_t wide = padded(columns.size());
      for (std::size_t r = begin; r < end; ++r) {
        double *row = dense.data() + (r - begin) * wide;
        for (std::size_t j = 0; j < columns.size(); ++j) row[j] = a[r * c + columns[j]];
        std::fill(row + columns.size(), row + wide, 0.0);
      }
      product(dense.data(), end - begin, wide, wide, rows.data(), products.data());
      add_columns(arrow, terms, columns, products.data(), wide, across, first.data()[b], own, shift);
    }
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
      for (std::size_t v = j; v < c; ++v) row[v] -= factor * above[v];
    }
    if (!(row[j] > 0.0)) return false;
    const double scale = 1.0 / std::sqrt(row[j]);
    for (std::size_t v = j; v < c; ++v) row[v] *= scale;
  }
  return true;
}

double damped(double diagonal, double damping) { return damping * (diagonal > 0.0 ? diagonal : 1.0); }

// Eliminates local variables, then the stages, in place: band, border and gradient become the factor's, the corner the
// parameters' Schur complement, roots (stages, l, l) inverse factors of the local Hessians, rows (stages, l,
// reach + p + 1) these times what they couple to. False where a matrix is not positive definite.
bool factorise(double damping, Indices local_first, nb::ndarray<const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu> used,
               In<nb::ndim<3>> hessian, Inout<nb::ndim<3>> roots, Inout<nb::ndim<3>> rows, Inout<nb::ndim<2>> band,
               Inout<nb::ndim<3>> border, Inout<nb::ndim<2>> corner, Inout<nb::ndim<2>> gradient,
               Inout<nb::ndim<1>> parameter_gradient) {
  Arrow arrow{band, border, corner, gradient, parameter_gradient};
  arrow.check();
  const std::size_t n = arrow.n(), p = arrow.p(), reach = arrow.reach(), stages = band.shape(0), width = reach / n;
  const std::size_t l = roots.shape(1), across = reach + p + 1;
  require(l == 0 || (roots.shape(0) == stages && rows.shape(0) == stages && rows.shape(1) == l && rows.shape(2) == across &&
                     hessian.shape(0) == stages && hessian.shape(1) == l && hessian.shape(2) == l && roots.shape(2) == l &&
                     used.shape(0) == stages && local_first.shape(0) == stages),
          "local terms do not fit");
  nb::gil_scoped_release release;
  const std::size_t most = std::max(l, n) + across + std::max(l, n), c = padded(most);
  std::vector<double> a(std::max(l, n) * c, 0.0), packed(a.size()), products(c * c);
  std::vector<int> list(std::max(l, n));
  std::vector<double> diagonal(stages * n), parameters(p);
  for (std::size_t k = 0; k < stages; ++k)
    for (std::size_t j = 0; j < n; ++j) diagonal[k * n + j] = band.data()[k * band.shape(1) + j * reach + j];
  for (std::size_t j = 0; j < p; ++j) parameters[j] = corner.data()[j * p + j];
  for (std::size_t k = 0; l > 0 && k < stages; ++k) {
    double *root = roots.data() + k * l * l, *own = rows.data() + k * l * across;
    if (!used.data()[k]) {
      for (std::size_t i = 0; i < l; ++i) root[i * l + i] = 1.0;
      continue;
    }
    // [H | rows | 1]: the factor leaves [L' | L^-1 rows | L^-1].
    const std::size_t wide = l + across + l;
    for (std::size_t i = 0; i < l; ++i) {
      double *row = a.data() + i * wide;
      for (std::size_t j = 0; j < l; ++j) row[j] = hessian.data()[k * hessian.stride(0) + i * hessian.stride(1) + j];
      row[i] += damped(row[i], damping);
      std::copy_n(own + i * across, across, row + l);
      std::fill_n(row + l + across, l, 0.0);
      row[l + across + i] = 1.0;
    }
    if (!factor_rows(a.data(), l, wide)) return false;
    const std::size_t room = padded(across);
    for (std::size_t i = 0; i < l; ++i) {
      const double *row = a.data() + i * wide;
      std::copy_n(row + l, across, own + i * across);
      std::copy_n(row + l + across, l, root + i * l);
      std::copy_n(row + l, across, packed.data() + i * room);
      std::fill(packed.data() + i * room + across, packed.data() + (i + 1) * room, 0.0);
    }
    product(packed.data(), l, room, room, list.data(), products.data());
    arrow.add(products.data(), room, local_first.data()[k], width, -1.0);
  }
  for (std::size_t k = 0; k < stages; ++k) {
    const std::size_t below = std::min(width - 1, stages - 1 - k) * n, wide = n + below + p + 1, rest = wide - n;
    double *panel = band.data() + k * band.shape(1);
    for (std::size_t j = 0; j < n; ++j) {
      double *row = a.data() + j * wide;
      std::copy_n(panel + j * reach, n + below, row);
      row[j] += damped(diagonal[k * n + j], damping);
      std::copy_n(border.data() + (k * n + j) * p, p, row + n + below);
      row[wide - 1] = gradient.data()[k * n + j];
    }
    if (!factor_rows(a.data(), n, wide)) return false;
    const std::size_t room = padded(rest);
    for (std::size_t j = 0; j < n; ++j) {
      const double *row = a.data() + j * wide;
      std::fill_n(panel + j * reach, j, 0.0);
      std::copy(row + j, row + n + below, panel + j * reach + j);
      std::fill(panel + j * reach + n + below, panel + (j + 1) * reach, 0.0);
      std::copy_n(row + n + below, p, border.data() + (k * n + j) * p);
      gradient.data()[k * n + j] = row[wide - 1];
      std::copy_n(row + n, rest, packed.data() + j * room);
      std::fill(packed.data() + j * room + rest, packed.data() + (j + 1) * room, 0.0);
    }
    product(packed.data(), n, room, room, list.data(), products.data());
    arrow.add(products.data(), room, k + 1, below / n, -1.0);
  }
  for (std::size_t j = 0; j < p; ++j) corner.data()[j * p + j] += damped(parameters[j], damping);
  return true;
}

// out (n, c) = a (n, m) b (m, c), rows of b and out `stride` apart.
FOR_EVERY_PROCESSOR
void multiply(const double *a, std::size_t n, std::size_t m, const double *b, std::size_t c, std::size_t stride,
              double *out) {
  std::size_t i = 0;
  for (; i + 3 < n; i += 4) {
    double *o0 = out + i * stride, *o1 = o0 + stride, *o2 = o1 + stride, *o3 = o2 + stride;
    for (std::size_t v = 0; v < c; ++v) o0[v] = o1[v] = o2[v] = o3[v] = 0.0;
    for (std::size_t u = 0; u < m; ++u) {
      const double x0 = a[i * m + u], x1 = a[(i + 1) * m + u], x2 = a[(i + 2) * m + u], x3 = a[(i + 3) * m + u];
      const double *row = b + u * stride;
      for (std::size_t v = 0; v < c; ++v) {
        o0[v] += x0 * row[v];
        o1[v] += x1 * row[v];
        o2[v] += x2 * row[v];
        o3[v] += x3 * row[v];
      }
    }
  }
  for (; i < n; ++i) {
    double *o = out + i * stride;
    std::fill_n(o, c, 0.0);
    for (std::size_t u = 0; u < m; ++u)
      for (std::size_t v = 0; v < c; ++v) o[v] += a[i * m + u] * b[u * stride + v];
  }
}

FOR_EVERY_PROCESSOR
double dot(const double *a, const double *b, std::size_t count) {
  double sum = 0.0;
  for (std::size_t i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

// Selected inversion from the last stage to `begin` (posterior.py): covariances of stages, with the parameters, with the
// next stage and the one after, and of local variables, into arrays of all stages.
void invert(std::size_t begin, std::size_t width, Indices local_first,
            nb::ndarray<const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu> used, Inout<nb::ndim<2>> band,
            In<nb::ndim<3>> border, In<nb::ndim<2>> parameter, In<nb::ndim<3>> roots, In<nb::ndim<3>> rows,
            Inout<nb::ndim<3>> stage, Inout<nb::ndim<3>> cross, Inout<nb::ndim<3>> neighbour, Inout<nb::ndim<3>> second,
            Inout<nb::ndim<3>> local) {
  const std::size_t stages = band.shape(0), n = stage.shape(1), p = parameter.shape(0), l = local.shape(1);
  const std::size_t reach = band.shape(1) / n - 1, full = width * n + p;
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
    // L'x = -[B', border] from the last row up; L' is the upper factor, whose row j starts at j.
    for (std::size_t j = n; j-- > 0;) {
      double *row = gain.data() + j * joint, *unit = inverse.data() + j * n;
      for (std::size_t v = 0; v < below; ++v) row[v] = -panel[j * reach + n + v];
      for (std::size_t v = 0; v < p; ++v)
        row[below + v] = -border.data()[k * border.stride(0) + j * border.stride(1) + v * border.stride(2)];
      std::fill_n(unit, n, 0.0);
      unit[j] = 1.0;
      for (std::size_t i = j + 1; i < n; ++i) {
        const double factor = panel[j * reach + i];
        if (factor == 0.0) continue;
        for (std::size_t v = 0; v < joint; ++v) row[v] -= factor * gain[i * joint + v];
        for (std::size_t v = 0; v < n; ++v) unit[v] -= factor * inverse[i * n + v];
      }
      const double scale = 1.0 / panel[j * reach + j];
      for (std::size_t v = 0; v < joint; ++v) row[v] *= scale;
      for (std::size_t v = 0; v < n; ++v) unit[v] *= scale;
    }
    multiply(gain.data(), n, joint, window.data(), joint, full, moved.data());
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
      std::fill_n(own.begin(), l * all, 0.0);
      for (std::size_t i = 0; i < l; ++i)
        for (std::size_t j = i; j < l; ++j)
          for (std::size_t v = 0; v < all; ++v) own[i * all + v] += root[j * l + i] * coupled[j * rows.shape(2) + v];
      multiply(own.data(), l, all, next.data(), all, full, turned.data());
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

NB_MODULE(_normal_equations, m) {
  using namespace nb::literals;
  m.doc() = "Normal equations of trajectory least squares.";
  m.attr("worthwhile") = kWorthwhile;
  m.def("add_blocks", &add_blocks, "first"_a, "residual"_a, "jacobian"_a, "parameter"_a, "local"_a, "owner"_a,
        "local_first"_a, "band"_a, "border"_a, "corner"_a, "gradient"_a, "parameter_gradient"_a, "hessian"_a,
        "by_stage"_a, "by_parameter"_a, "local_gradient"_a);
  m.def("factorise", &factorise, "damping"_a, "local_first"_a, "used"_a, "hessian"_a, "roots"_a, "rows"_a, "band"_a,
        "border"_a, "corner"_a, "gradient"_a, "parameter_gradient"_a);
  m.def("invert", &invert, "begin"_a, "width"_a, "local_first"_a, "used"_a, "band"_a, "border"_a, "parameter"_a,
        "roots"_a, "rows"_a, "stage"_a, "cross"_a, "neighbour"_a, "second"_a, "local"_a);
}
