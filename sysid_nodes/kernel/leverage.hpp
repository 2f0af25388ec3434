// SPDX-License-Identifier: Apache-2.0
// Leverages of residual blocks from the blocks of the inverse (influence.py). Included by normal_equations.cpp.
#pragma once

#include "arrow.hpp"

namespace {

FOR_EVERY_PROCESSOR
double dot(const double *a, const double *b, std::size_t count) {
  tiles::Eight sums{}, x, y;
  std::size_t i = 0;
  for (; i + tiles::kColumns <= count; i += tiles::kColumns) {
    std::memcpy(&x, a + i, sizeof x);
    std::memcpy(&y, b + i, sizeof y);
    sums += x * y;
  }
  double sum = ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
  for (; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

// Squares of numbers in a row for each coordinate of its window, up to which the row is worked off by itself.
constexpr std::size_t kSparse = 8;

// Covariances of neighbouring stages and of the parameters.
struct Covariances {
  const Inout<nb::ndim<3>> &stage, &neighbour, &second, &cross;
  const Inout<nb::ndim<2>> &parameter;

  // Upper half, in rows `full` apart, of the joint covariance of stages first to first + reach - 1 and of p parameters:
  // a stage's rows from its own columns on. Those of the parameters never change.
  void join(std::size_t first, std::size_t reach, std::size_t p, std::size_t full, bool anew, double *out) const {
    const std::size_t n = stage.shape(1), at = reach * n;
    const Inout<nb::ndim<3>> *apart[3] = {&stage, &neighbour, &second};
    for (std::size_t i = 0; i < reach; ++i)
      for (std::size_t r = 0; r < n; ++r) {
        double *row = out + (i * n + r) * full;
        for (std::size_t j = i; j < reach; ++j)
          std::copy_n(apart[j - i]->data() + ((first + i) * n + r) * n, n, row + j * n);
        std::copy_n(cross.data() + ((first + i) * n + r) * cross.shape(2), p, row + at);
      }
    for (std::size_t r = 0; anew && r < p; ++r) std::copy_n(parameter.data() + r * p, p, out + (at + r) * full + at);
  }

  // Of coordinates u <= v of that.
  double between(std::size_t first, std::size_t reach, std::size_t u, std::size_t v) const {
    const std::size_t n = stage.shape(1), p = parameter.shape(0), at = reach * n;
    if (u >= at) return parameter.data()[(u - at) * p + v - at];
    const std::size_t i = u / n, row = (first + i) * n + u % n;
    if (v >= at) return cross.data()[row * p + v - at];
    const Inout<nb::ndim<3>> *apart[3] = {&stage, &neighbour, &second};
    return apart[v / n - i]->data()[row * n + v % n];
  }
};

// Adds the diagonal of D S D' to own (m,), D (m, d), S (d, d) of which `joint` has the upper half in parts of `size` rows
// and one of what is left; `moved` is room for D S.
inline void add_quadratic(const double *dense, std::size_t m, std::size_t d, const double *joint, std::size_t full,
                          std::size_t size, std::size_t parts, double *moved, double *own) {
  for (std::size_t i = 0; i <= parts; ++i) {
    const std::size_t begin = i * size, count = i < parts ? size : d - begin, rest = d - begin;
    if (count == 0) continue;
    tiles::multiply(dense + begin, m, count, d, joint + begin * full + begin, rest, full, moved);
    for (std::size_t r = 0; r < m; ++r) {
      const double *row = dense + r * d + begin;
      own[r] += dot(moved + r * full, row, count) + 2.0 * dot(moved + r * full + count, row + count, rest - count);
    }
  }
}

// The numbers of a row that are not zero; a NaN is none.
struct SparseRow {
  std::vector<std::size_t> at;
  std::vector<double> value;

  void take(const double *from, std::size_t count, std::size_t first) {
    for (std::size_t v = 0; v < count; ++v)
      if (from[v] != 0.0) at.push_back(first + v), value.push_back(from[v]);
  }
};

// (B, m) leverages of blocks whose windows of `reach` stages begin at `first`, `shift` coordinates before their own
// columns do. Empty parameter or local arrays (no columns) are zero. Last axes must be contiguous.
void leverages(std::size_t reach, Indices first, Indices shift, In<nb::ndim<3>> jacobian, In<nb::ndim<3>> parameter,
               In<nb::ndim<3>> local, Indices owner, Inout<nb::ndim<3>> roots, Inout<nb::ndim<3>> rows,
               Inout<nb::ndim<3>> stage, Inout<nb::ndim<3>> neighbour, Inout<nb::ndim<3>> second,
               Inout<nb::ndim<3>> cross, Inout<nb::ndim<2>> covariance, Inout<nb::ndim<2>> out) {
  const std::size_t count = jacobian.shape(0), m = jacobian.shape(1), across = jacobian.shape(2), n = stage.shape(1);
  const std::size_t l = local.shape(2), shared = l || parameter.shape(2) ? cross.shape(2) : 0, p = cross.shape(2);
  const std::size_t d = reach * n + shared, full = padded(d), stages = stage.shape(0);
  require(reach >= 1 && reach <= 3 && first.shape(0) == count && shift.shape(0) == count && out.shape(0) == count &&
              out.shape(1) == m,
          "windows do not fit");
  require(stage.shape(2) == n && cross.shape(0) == stages && cross.shape(1) == n && covariance.shape(0) == p &&
              neighbour.shape(0) + 1 >= stages && second.shape(0) + 2 >= stages,
          "covariances do not fit");
  require(parameter.shape(2) == 0 || (parameter.shape(2) == p && parameter.shape(1) == m && parameter.shape(0) == count),
          "parameter jacobian does not fit");
  require(l == 0 || (local.shape(0) == count && local.shape(1) == m && owner.shape(0) == count && roots.shape(1) == l &&
                     roots.shape(2) == l && rows.shape(0) == roots.shape(0) && rows.shape(1) == l &&
                     rows.shape(2) == d + 1),
          "local jacobian does not fit");
  for (std::size_t b = 0; b < count; ++b) {
    require(first.data()[b] >= 0 && first.data()[b] + reach <= stages && shift.data()[b] >= 0 &&
                shift.data()[b] + across <= reach * n,
            "a window leaves the trajectory");
    require(l == 0 || (owner.data()[b] >= 0 && owner.data()[b] < static_cast<int64_t>(roots.shape(0))),
            "an owner leaves the trajectory");
  }
  nb::gil_scoped_release release;
  const Covariances known{stage, neighbour, second, cross, covariance};
  // Products are of whole tiles: those of the last rows read beyond their end.
  std::vector<double> joint(d * full + full, 0.0), dense(m * d), moved(m * full), turned(m * l), coupled(l * full, 0.0);
  SparseRow sparse;
  bool anew = true;
  const auto row = [](const In<nb::ndim<3>> &from, std::size_t b, std::size_t r) {
    return from.data() + static_cast<int64_t>(b) * from.stride(0) + static_cast<int64_t>(r) * from.stride(1);
  };
  // A row by itself where it has few numbers; false where it has many.
  const auto alone = [&](std::size_t b, std::size_t r, double &own) {
    sparse.at.clear(), sparse.value.clear();
    sparse.take(row(jacobian, b, r), across, shift.data()[b]);
    sparse.take(row(parameter, b, r), parameter.shape(2), reach * n);
    const std::size_t many = sparse.at.size();
    if (many * many > kSparse * d) return false;
    own = 0.0;
    for (std::size_t u = 0; u < many; ++u) {
      double sum = 0.0;
      for (std::size_t v = u; v < many; ++v)
        sum += (v == u ? 1.0 : 2.0) * sparse.value[v] * known.between(first.data()[b], reach, sparse.at[u], sparse.at[v]);
      own += sum * sparse.value[u];
    }
    return true;
  };
  for (std::size_t b = 0; b < count; ++b) {
    double *own = out.data() + b * m;
    std::size_t done = 0;
    while (l == 0 && done < m && alone(b, done, own[done])) ++done;
    if (done == m) continue;
    known.join(first.data()[b], reach, shared, full, anew, joint.data());
    anew = false;
    std::fill(dense.begin(), dense.end(), 0.0);
    std::fill_n(own, m, 0.0);
    if (l) {
      // Local variables are -root' (coupling x + e) of stages and parameters x, e of unit variance.
      const double *root = roots.data() + owner.data()[b] * l * l;
      for (std::size_t r = 0; r < m; ++r)
        for (std::size_t i = 0; i < l; ++i) turned[r * l + i] = -dot(row(local, b, r), root + i * l, i + 1);
      for (std::size_t i = 0; i < l; ++i)
        std::copy_n(rows.data() + (owner.data()[b] * l + i) * (d + 1), d, coupled.data() + i * full);
      tiles::multiply(turned.data(), m, l, l, coupled.data(), d, full, moved.data());
      for (std::size_t r = 0; r < m; ++r) {
        std::copy_n(moved.data() + r * full, d, dense.data() + r * d);
        own[r] = dot(turned.data() + r * l, turned.data() + r * l, l);
      }
    }
    for (std::size_t r = 0; r < m; ++r) {
      double *to = dense.data() + r * d + shift.data()[b];
      const double *from = row(jacobian, b, r), *by = row(parameter, b, r);
#pragma GCC ivdep
      for (std::size_t v = 0; v < across; ++v) to[v] += from[v];
      to = dense.data() + r * d + reach * n;
#pragma GCC ivdep
      for (std::size_t v = 0; v < parameter.shape(2); ++v) to[v] += by[v];
    }
    add_quadratic(dense.data(), m, d, joint.data(), full, n, reach, moved.data(), own);
  }
}

}  // namespace
