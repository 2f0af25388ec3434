// SPDX-License-Identifier: Apache-2.0
// J'J and J'r of residual blocks, added to the equations. Included by normal_equations.cpp.
//
// Rows that follow one another and have nearly the same columns share a product: a foot's know nothing of the other
// legs. Which columns those are is looked for in some blocks at a time, for blocks of a group are alike.
#pragma once

#include "arrow.hpp"

namespace {

// Columns that a row may lack to share a product with its neighbour.
constexpr std::size_t kSpare = 6;
// Blocks whose columns are looked at before they are added, while they are in the cache.
constexpr std::size_t kTogether = 8;

// Where the local variables of a block's owner are; l = 0 without any.
struct Local {
  double *hessian, *by_stage, *by_parameter, *gradient;
  std::size_t l;
};

// Rows begin to end of a block, and the columns that they have: of stages, parameters, the residual and local
// variables, each counted from the first of its kind. Places `theta`, `residual`, `local` are where the last three begin.
struct RowGroup {
  std::size_t begin, end, theta, residual, local, wide;
  std::vector<int> columns;
  // Places where columns that follow one another begin, and the end.
  std::vector<std::size_t> runs;
  // Of the stages' columns: where their diagonals are in the band, from the first stage on.
  std::vector<std::size_t> diagonals;
};

// Blocks of one shape.
struct BlockRows {
  const In<nb::ndim<2>> &residual;
  const In<nb::ndim<3>> &jacobian, &parameter, &local;

  std::size_t rows() const { return residual.shape(1); }
  std::size_t across() const { return jacobian.shape(2); }
  static const double *row(const In<nb::ndim<3>> &from, std::size_t block, std::size_t r) {
    return from.data() + static_cast<int64_t>(block) * from.stride(0) + static_cast<int64_t>(r) * from.stride(1);
  }
  double value(std::size_t block, std::size_t r) const {
    const auto at = static_cast<int64_t>(block) * residual.stride(0) + static_cast<int64_t>(r) * residual.stride(1);
    return residual.data()[at];
  }
};

inline void gather_bits(const double *row, std::size_t count, uint64_t *bits) {
  for (std::size_t j = 0; j < count; ++j) {
    uint64_t word;
    std::memcpy(&word, row + j, sizeof word);
    bits[j] |= word;
  }
}

// Bits of the numbers of row r, all together those of any that is not zero in blocks begin to end; a NaN is none.
FOR_EVERY_PROCESSOR
void gather_bits(const BlockRows &blocks, std::size_t begin, std::size_t end, std::size_t r, std::size_t across,
                 std::size_t p, uint64_t *bits) {
  for (std::size_t b = begin; b < end; ++b) {
    const double value = blocks.value(b, r);
    gather_bits(BlockRows::row(blocks.jacobian, b, r), across, bits);
    if (blocks.parameter.shape(2)) gather_bits(BlockRows::row(blocks.parameter, b, r), p, bits + across);
    gather_bits(&value, 1, bits + across + p);
    gather_bits(BlockRows::row(blocks.local, b, r), blocks.local.shape(2), bits + across + p + 1);
  }
}

// The columns of each row that are not zero in some block so far, and the groups that follow from them.
class Pattern {
 public:
  Pattern(std::size_t rows, const Arrow &arrow, std::size_t across, std::size_t l)
      : arrow_(arrow), across_(across), p_(arrow.p), c_(across + p_ + 1 + l), words_((c_ + 63) / 64),
        bits_(rows * c_, 0), seen_(rows * words_, 0) {}

  void look_at(const BlockRows &blocks, std::size_t begin, std::size_t end) {
    bool changed = groups_.empty();
    for (std::size_t r = 0; r < blocks.rows(); ++r) {
      gather_bits(blocks, begin, end, r, across_, p_, bits_.data() + r * c_);
      for (std::size_t w = 0; w < words_; ++w) {
        uint64_t word = 0;
        const uint64_t *bits = bits_.data() + r * c_ + 64 * w;
        // Without the sign: -0.0 is a zero.
        for (std::size_t j = 0, last = std::min<std::size_t>(64, c_ - 64 * w); j < last; ++j)
          word |= static_cast<uint64_t>(bits[j] << 1 != 0) << j;
        changed |= word != seen_[r * words_ + w];
        seen_[r * words_ + w] = word;
      }
    }
    if (changed) group_rows();
  }

  const std::vector<RowGroup> &groups() const { return groups_; }

 private:
  void group_rows() {
    groups_.clear();
    std::vector<uint64_t> together(words_), both(words_);
    const std::size_t rows = seen_.size() / words_;
    const auto size = [](const uint64_t *mask, std::size_t words) {
      std::size_t bits = 0;
      for (std::size_t w = 0; w < words; ++w) bits += __builtin_popcountll(mask[w]);
      return bits;
    };
    for (std::size_t begin = 0, end; begin < rows; begin = end) {
      std::copy_n(seen_.begin() + begin * words_, words_, together.begin());
      for (end = begin + 1; end < rows; ++end) {
        const uint64_t *own = seen_.data() + end * words_;
        for (std::size_t w = 0; w < words_; ++w) both[w] = together[w] | own[w];
        if (size(both.data(), words_) > std::min(size(together.data(), words_), size(own, words_)) + kSpare) break;
        together = both;
      }
      if (size(together.data(), words_)) add_group(begin, end, together);
    }
  }

  void add_group(std::size_t begin, std::size_t end, const std::vector<uint64_t> &mask) {
    RowGroup group{begin, end, 0, 0, 0, 0, {}, {}, {}};
    for (std::size_t j = 0; j < c_; ++j) {
      if (!(mask[j / 64] >> (j % 64) & 1)) continue;
      if (j < across_) group.diagonals.push_back(j / arrow_.n * arrow_.stride + j % arrow_.n * (arrow_.reach + 1));
      group.theta += j < across_;
      group.residual += j < across_ + p_;
      group.local += j < across_ + p_ + 1;
      const std::size_t from = j < across_ ? 0 : j < across_ + p_ ? across_ : j == across_ + p_ ? j : across_ + p_ + 1;
      group.columns.push_back(static_cast<int>(j - from));
    }
    const auto &at = group.columns;
    for (std::size_t v = 0; v < at.size(); ++v)
      if (v == 0 || v == group.theta || v == group.residual || v == group.local || at[v] != at[v - 1] + 1)
        group.runs.push_back(v);
    group.runs.push_back(at.size());
    group.wide = padded(at.size());
    groups_.push_back(std::move(group));
  }

  const Arrow &arrow_;
  std::size_t across_, p_, c_, words_;
  std::vector<uint64_t> bits_, seen_;
  std::vector<RowGroup> groups_;
};

// to[at[v]] += row[v], v from begin to end of a group's columns at.
INTO_CALLER void scatter(const RowGroup &group, const double *row, std::size_t begin, std::size_t end, double *to) {
  const int *at = group.columns.data();
  for (auto run = std::upper_bound(group.runs.begin(), group.runs.end(), begin); begin < end; ++run) {
    const std::size_t last = std::min(*run, end);
    double *first = to + at[begin];
    for (std::size_t v = begin; v < last; ++v) first[v - begin] += row[v];
    begin = last;
  }
}

// to[at[v]] += column[v * wide], likewise.
INTO_CALLER void scatter_column(const RowGroup &group, const double *column, std::size_t begin, std::size_t end,
                                double *to) {
  const int *at = group.columns.data();
  for (std::size_t v = begin; v < end; ++v) to[at[v]] += column[v * group.wide];
}

// Adds a group's product, whose window begins at stage `first` and `shift` coordinates into its owner's.
FOR_EVERY_PROCESSOR
void add_group(const Arrow &arrow, const Local &local, const RowGroup &group, const double *products, std::size_t first,
               std::size_t own, std::size_t shift) {
  const std::size_t p = arrow.p, count = group.columns.size(), l = local.l;
  const int *at = group.columns.data();
  double *band = arrow.band + first * arrow.stride, *border = arrow.border + first * arrow.n * p;
  double *by_stage = local.by_stage + own * l * arrow.reach + shift, *by_parameter = local.by_parameter + own * l * p;
  double *hessian = local.hessian + own * l * l;
  const bool pulled = group.residual < group.local;
  for (std::size_t u = 0; u < group.theta; ++u) {
    const double *row = products + u * group.wide;
    scatter(group, row, u, group.theta, band + group.diagonals[u] - at[u]);
    scatter(group, row, group.theta, group.residual, border + at[u] * p);
  }
  if (pulled) scatter_column(group, products + group.residual, 0, group.theta, arrow.gradient + first * arrow.n);
  for (std::size_t u = group.theta; u < group.residual; ++u)
    scatter(group, products + u * group.wide, u, group.residual, arrow.corner + at[u] * p);
  if (pulled) {
    scatter_column(group, products + group.residual, group.theta, group.residual, arrow.parameter_gradient);
    scatter(group, products + group.residual * group.wide, group.local, count, local.gradient + own * l);
  }
  for (std::size_t v = group.local; v < count; ++v) {
    scatter_column(group, products + v, 0, group.theta, by_stage + at[v] * arrow.reach);
    scatter_column(group, products + v, group.theta, group.residual, by_parameter + at[v] * p);
    for (std::size_t u = group.local; u < v; ++u) hessian[at[v] * l + at[u]] += products[u * group.wide + v];
    scatter(group, products + v * group.wide, v, count, hessian + at[v] * l);
  }
}

// A block's rows of a group, columns side by side.
inline void pack(const BlockRows &blocks, std::size_t b, const RowGroup &group, double *dense) {
  const int *at = group.columns.data();
  for (std::size_t r = group.begin; r < group.end; ++r) {
    double *row = dense + (r - group.begin) * group.wide;
    const double *stages = BlockRows::row(blocks.jacobian, b, r);
    for (std::size_t v = 0; v < group.theta; ++v) row[v] = stages[at[v]];
    const double *parameters = BlockRows::row(blocks.parameter, b, r), *variables = BlockRows::row(blocks.local, b, r);
    for (std::size_t v = group.theta; v < group.residual; ++v) row[v] = parameters[at[v]];
    for (std::size_t v = group.residual; v < group.local; ++v) row[v] = blocks.value(b, r);
    for (std::size_t v = group.local; v < group.columns.size(); ++v) row[v] = variables[at[v]];
    std::fill(row + group.columns.size(), row + group.wide, 0.0);
  }
}

// Adds a group of blocks. Empty parameter or local arrays (no columns) are zero. Last axes must be contiguous.
void add_blocks(Indices first, In<nb::ndim<2>> residual, In<nb::ndim<3>> jacobian, In<nb::ndim<3>> parameter,
                In<nb::ndim<3>> local, Indices owner, Indices local_first, Inout<nb::ndim<2>> band,
                Inout<nb::ndim<3>> border, Inout<nb::ndim<2>> corner, Inout<nb::ndim<2>> gradient,
                Inout<nb::ndim<1>> parameter_gradient, Inout<nb::ndim<3>> hessian, Inout<nb::ndim<3>> by_stage,
                Inout<nb::ndim<3>> by_parameter, Inout<nb::ndim<2>> local_gradient) {
  const Arrow arrow(band, border, corner, gradient, parameter_gradient);
  const std::size_t count = residual.shape(0), m = residual.shape(1), n = arrow.n, p = arrow.p;
  const std::size_t across = jacobian.shape(2), width = across / n, l = local.shape(2), stages = arrow.stages;
  require(first.shape(0) == count && jacobian.shape(0) == count && jacobian.shape(1) == m && across % n == 0 &&
              across <= arrow.reach,
          "jacobian does not fit");
  require(parameter.shape(2) == 0 || (parameter.shape(0) == count && parameter.shape(1) == m && parameter.shape(2) == p),
          "parameter jacobian does not fit");
  require(l == 0 || (local.shape(0) == count && local.shape(1) == m && owner.shape(0) == count &&
                     hessian.shape(0) == stages && hessian.shape(1) == l && hessian.shape(2) == l &&
                     by_stage.shape(0) == stages && by_stage.shape(1) == l && by_stage.shape(2) == arrow.reach &&
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
                              static_cast<int64_t>(arrow.reach),
            "a window leaves its owner's");
  }
  nb::gil_scoped_release release;
  const std::size_t room = padded(across + p + 1 + l);
  const Local terms{hessian.data(), by_stage.data(), by_parameter.data(), local_gradient.data(), l};
  const BlockRows blocks{residual, jacobian, parameter, local};
  std::vector<double> dense(m * room), products(room * room);
  std::vector<int> rows(m);
  Pattern pattern(m, arrow, across, l);
  for (std::size_t begin = 0; begin < count; begin += kTogether) {
    const std::size_t end = std::min(begin + kTogether, count);
    pattern.look_at(blocks, begin, end);
    for (std::size_t b = begin; b < end; ++b) {
      const std::size_t own = l ? owner.data()[b] : 0;
      const std::size_t shift = l ? (first.data()[b] - local_first.data()[own]) * n : 0;
      for (const RowGroup &group : pattern.groups()) {
        pack(blocks, b, group, dense.data());
        tiles::square(dense.data(), group.end - group.begin, group.wide, rows.data(), products.data());
        add_group(arrow, terms, group, products.data(), first.data()[b], own, shift);
      }
    }
  }
  arrow.mirror_corner();
}

}  // namespace
