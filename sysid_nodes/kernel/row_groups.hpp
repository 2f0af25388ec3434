// SPDX-License-Identifier: Apache-2.0
// Rows of residual blocks that share a product, and where its numbers go. Included by block_rows.hpp.
//
// Rows that follow one another and have nearly the same columns share a product: a foot's know nothing of the other
// legs. Which columns those are is looked for in the first blocks, for blocks of a group are alike, and made anew where
// one has others.
#pragma once

#include "arrow.hpp"

namespace {

// Cost of a group besides its numbers, in units of an addition.
constexpr std::size_t kGroup = 60;

// Where numbers of a product go in one array: eight or four that follow one another here and there, or one.
class Scatter {
 public:
  void push(std::size_t from, std::size_t to, std::size_t count) {
    const auto push_all = [&](std::vector<Places> &places, std::size_t wide) {
      for (; count >= wide; count -= wide, from += wide, to += wide)
        places.push_back({static_cast<int>(from), static_cast<int>(to)});
    };
    push_all(eights_, 8);
    push_all(fours_, 4);
    push_all(ones_, 1);
  }

  INTO_CALLER void add(const double *product, double *out) const {
    for (const Places &at : eights_) add_some<tiles::Eight>(product + at.from, out + at.to);
    for (const Places &at : fours_) add_some<tiles::Four>(product + at.from, out + at.to);
    for (const Places &at : ones_) out[at.to] += product[at.from];
  }

 private:
  struct Places {
    int from, to;
  };

  template <typename V>
  static INTO_CALLER void add_some(const double *from, double *to) {
    V mine, theirs;
    std::memcpy(&mine, from, sizeof(V));
    std::memcpy(&theirs, to, sizeof(V));
    theirs += mine;
    std::memcpy(to, &theirs, sizeof(V));
  }

  std::vector<Places> eights_, fours_, ones_;
};

// Rows begin to end of a block, and the columns that they have: of local variables, stages, parameters and the
// residual, each counted from the first of its kind. Places `stage`, `theta`, `residual` are where the last three begin.
struct RowGroup {
  std::size_t begin, end, stage = 0, theta = 0, residual = 0, wide = 0;
  std::vector<int> columns;
  Scatter hessian, by_stage, by_parameter, local_gradient, band, border, gradient, corner, parameter_gradient;
};

// Blocks of one shape. Empty parameter, local or root arrays (no columns) are none; last axes must be contiguous.
struct BlockRows {
  explicit BlockRows(const nb::tuple &from)
      : first(nb::cast<Indices>(from[0])), residual(nb::cast<In<nb::ndim<2>>>(from[1])),
        jacobian(nb::cast<In<nb::ndim<3>>>(from[2])), parameter(nb::cast<In<nb::ndim<3>>>(from[3])),
        local(nb::cast<In<nb::ndim<3>>>(from[4])), owner(nb::cast<Indices>(from[5])),
        root(nb::cast<In<nb::ndim<2>>>(from[6])) {}

  Indices first;
  In<nb::ndim<2>> residual;
  In<nb::ndim<3>> jacobian, parameter, local;
  Indices owner;
  In<nb::ndim<2>> root;

  std::size_t count() const { return residual.shape(0); }
  std::size_t rows() const { return residual.shape(1); }
  std::size_t across() const { return jacobian.shape(2); }
  static const double *row(const In<nb::ndim<3>> &from, std::size_t block, std::size_t r) {
    return from.data() + static_cast<int64_t>(block) * from.stride(0) + static_cast<int64_t>(r) * from.stride(1);
  }
  static double value(const In<nb::ndim<2>> &from, std::size_t block, std::size_t r) {
    return from.data()[static_cast<int64_t>(block) * from.stride(0) + static_cast<int64_t>(r) * from.stride(1)];
  }

  void check(const Arrow &arrow, std::size_t l, const Indices &local_first) const {
    const std::size_t blocks = count(), m = rows(), width = across() / arrow.n;
    require(first.shape(0) == blocks && jacobian.shape(0) == blocks && jacobian.shape(1) == m &&
                across() % arrow.n == 0 && across() <= arrow.reach,
            "jacobian does not fit");
    require(parameter.shape(2) == 0 ||
                (parameter.shape(0) == blocks && parameter.shape(1) == m && parameter.shape(2) == arrow.p),
            "parameter jacobian does not fit");
    require(root.shape(1) == 0 || (root.shape(0) == blocks && root.shape(1) == m), "factors do not fit");
    const bool owned = local.shape(2) > 0;
    require(!owned || (local.shape(0) == blocks && local.shape(1) == m && local.shape(2) == l &&
                       owner.shape(0) == blocks),
            "local jacobian does not fit");
    for (std::size_t b = 0; b < blocks; ++b) {
      require(first.data()[b] >= 0 && first.data()[b] + width <= arrow.stages, "a window leaves the trajectory");
      if (!owned) continue;
      const int64_t own = owner.data()[b];
      require(own >= 0 && own < static_cast<int64_t>(arrow.stages), "an owner leaves the trajectory");
      const int64_t shift = first.data()[b] - local_first.data()[own];
      require(shift >= 0 && shift * static_cast<int64_t>(arrow.n) + static_cast<int64_t>(across()) <=
                                static_cast<int64_t>(arrow.reach),
              "a window leaves its owner's");
    }
  }
};

// Marks numbers that are not zero, with all bits; whether one was not marked before. A NaN is not zero.
INTO_CALLER bool mark(const double *row, std::size_t count, uint64_t *marks) {
  uint64_t fresh = 0;
  for (std::size_t j = 0; j < count; ++j) {
    const uint64_t word = row[j] != 0.0 ? ~uint64_t{0} : 0;
    fresh |= word & ~marks[j];
    marks[j] |= word;
  }
  return fresh != 0;
}

// Likewise row r of a block.
FOR_EVERY_PROCESSOR
bool mark(const BlockRows &blocks, std::size_t b, std::size_t r, std::size_t p, uint64_t *marks) {
  const double value = BlockRows::value(blocks.residual, b, r);
  const std::size_t l = blocks.local.shape(2), across = blocks.across();
  bool fresh = mark(BlockRows::row(blocks.local, b, r), l, marks);
  fresh |= mark(BlockRows::row(blocks.jacobian, b, r), across, marks + l);
  if (blocks.parameter.shape(2)) fresh |= mark(BlockRows::row(blocks.parameter, b, r), p, marks + l + across);
  return fresh | mark(&value, 1, marks + l + across + p);
}

// The columns of each row that are not zero in some block so far, and the groups that follow from them.
class Pattern {
 public:
  Pattern(std::size_t rows, const Arrow &arrow, std::size_t across, std::size_t l)
      : arrow_(arrow), l_(l), theta_(l + across), residual_(theta_ + arrow.p), c_(residual_ + 1),
        words_((c_ + 63) / 64), marks_(rows * c_, 0), seen_(rows * words_, 0) {}

  // Groups fit blocks begin to end and all that were looked at before.
  void look_at(const BlockRows &blocks, std::size_t begin, std::size_t end) {
    bool changed = false;
    for (std::size_t b = begin; b < end; ++b)
      for (std::size_t r = 0; r < blocks.rows(); ++r) {
        uint64_t *marks = marks_.data() + r * c_;
        if (!mark(blocks, b, r, arrow_.p, marks)) continue;
        changed = true;
        for (std::size_t j = 0; j < c_; ++j) seen_[r * words_ + j / 64] |= (marks[j] & 1) << (j % 64);
      }
    if (changed) group_rows();
  }

  const std::vector<RowGroup> &groups() const { return groups_; }

 private:
  // Rows that follow one another share a product as long as that is less work.
  void group_rows() {
    groups_.clear();
    std::vector<uint64_t> together(words_), both(words_);
    const std::size_t rows = seen_.size() / words_;
    const auto cost = [this](std::size_t count, const uint64_t *mask) {
      std::size_t wide = 0;
      for (std::size_t w = 0; w < words_; ++w) wide += __builtin_popcountll(mask[w]);
      const std::size_t tiles = padded(wide) / tiles::kColumns;
      return kGroup + 4 * count * tiles * (tiles + 1) + wide * wide / 2;
    };
    for (std::size_t begin = 0, end; begin < rows; begin = end) {
      std::copy_n(seen_.begin() + begin * words_, words_, together.begin());
      for (end = begin + 1; end < rows; ++end) {
        const uint64_t *own = seen_.data() + end * words_;
        for (std::size_t w = 0; w < words_; ++w) both[w] = together[w] | own[w];
        if (cost(end + 1 - begin, both.data()) > cost(end - begin, together.data()) + cost(1, own)) break;
        together = both;
      }
      add_group(begin, end, together);
    }
  }

  void add_group(std::size_t begin, std::size_t end, const std::vector<uint64_t> &mask) {
    RowGroup group{begin, end};
    const std::size_t starts[] = {0, l_, theta_, residual_};
    for (std::size_t j = 0; j < c_; ++j) {
      if (!(mask[j / 64] >> (j % 64) & 1)) continue;
      group.stage += j < l_;
      group.theta += j < theta_;
      group.residual += j < residual_;
      group.columns.push_back(static_cast<int>(j - *(std::upper_bound(std::begin(starts), std::end(starts), j) - 1)));
    }
    if (group.columns.empty()) return;
    group.wide = padded(group.columns.size());
    place(group);
    groups_.push_back(std::move(group));
  }

  // Tells where the upper half of a group's product goes.
  void place(RowGroup &group) const {
    const std::vector<int> &at = group.columns;
    const std::size_t p = arrow_.p, wide = group.wide;
    const auto push_row = [&](Scatter &to, std::size_t u, std::size_t begin, std::size_t end, std::size_t start) {
      for (std::size_t last; begin < end; begin = last) {
        for (last = begin + 1; last < end && at[last] == at[last - 1] + 1; ++last) {}
        to.push(u * wide + begin, start + at[begin], last - begin);
      }
    };
    const auto push_pull = [&](Scatter &to, std::size_t u) {
      if (group.residual < at.size()) to.push(u * wide + group.residual, at[u], 1);
    };
    for (std::size_t u = 0; u < group.stage; ++u) {
      push_row(group.hessian, u, u, group.stage, at[u] * l_);
      for (std::size_t v = u + 1; v < group.stage; ++v) group.hessian.push(u * wide + v, at[v] * l_ + at[u], 1);
      push_row(group.by_stage, u, group.stage, group.theta, at[u] * arrow_.reach);
      push_row(group.by_parameter, u, group.theta, group.residual, at[u] * p);
      push_pull(group.local_gradient, u);
    }
    for (std::size_t u = group.stage; u < group.theta; ++u) {
      // A column of the band begins at its diagonal.
      const std::size_t diagonal = at[u] / arrow_.n * arrow_.stride + at[u] % arrow_.n * (arrow_.reach + 1);
      push_row(group.band, u, u, group.theta, diagonal - at[u]);
      push_row(group.border, u, group.theta, group.residual, at[u] * p);
      push_pull(group.gradient, u);
    }
    for (std::size_t u = group.theta; u < group.residual; ++u) {
      push_row(group.corner, u, u, group.residual, at[u] * p);
      push_pull(group.parameter_gradient, u);
    }
  }

  const Arrow &arrow_;
  std::size_t l_, theta_, residual_, c_, words_;
  std::vector<uint64_t> marks_, seen_;
  std::vector<RowGroup> groups_;
};

}  // namespace
