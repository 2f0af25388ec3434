// SPDX-License-Identifier: Apache-2.0
// J'J and J'r of residual blocks, added to the equations. Included by normal_equations.cpp.
#pragma once

#include "row_groups.hpp"

namespace {

// Blocks whose columns are looked at before any is added: the next ones have the same, mostly.
constexpr std::size_t kLike = 8;
// Stages that the blocks of all groups are added to before the next ones, while they are in the cache.
constexpr std::size_t kTogether = 4;

// Where the local variables of a block's owner are; l = 0 without any.
struct Local {
  double *hessian, *by_stage, *by_parameter, *gradient;
  std::size_t l;
};

// Adds a group's product, whose window begins at stage `first` and `shift` coordinates into its owner's.
FOR_EVERY_PROCESSOR
void add_group(const Arrow &arrow, const Local &local, const RowGroup &group, const double *product, std::size_t first,
               std::size_t own, std::size_t shift) {
  const std::size_t l = local.l;
  group.hessian.add(product, local.hessian + own * l * l);
  group.by_stage.add(product, local.by_stage + own * l * arrow.reach + shift);
  group.by_parameter.add(product, local.by_parameter + own * l * arrow.p);
  group.local_gradient.add(product, local.gradient + own * l);
  group.band.add(product, arrow.band + first * arrow.stride);
  group.border.add(product, arrow.border + first * arrow.n * arrow.p);
  group.gradient.add(product, arrow.gradient + first * arrow.n);
  group.corner.add(product, arrow.corner);
  group.parameter_gradient.add(product, arrow.parameter_gradient);
}

// A block's rows of a group, columns side by side, times their factors.
inline void pack(const BlockRows &blocks, std::size_t b, const RowGroup &group, double *dense) {
  const int *at = group.columns.data();
  for (std::size_t r = group.begin; r < group.end; ++r) {
    double *row = dense + (r - group.begin) * group.wide;
    const double *variables = BlockRows::row(blocks.local, b, r), *stages = BlockRows::row(blocks.jacobian, b, r);
    const double *parameters = BlockRows::row(blocks.parameter, b, r);
    for (std::size_t v = 0; v < group.stage; ++v) row[v] = variables[at[v]];
    for (std::size_t v = group.stage; v < group.theta; ++v) row[v] = stages[at[v]];
    for (std::size_t v = group.theta; v < group.residual; ++v) row[v] = parameters[at[v]];
    for (std::size_t v = group.residual; v < group.columns.size(); ++v)
      row[v] = BlockRows::value(blocks.residual, b, r);
    std::fill(row + group.columns.size(), row + group.wide, 0.0);
    if (blocks.root.shape(1) == 0) continue;
    const double root = BlockRows::value(blocks.root, b, r);
    for (std::size_t v = 0; v < group.columns.size(); ++v) row[v] *= root;
  }
}

// Adds groups of blocks, tuples as of BlockRows. Groups whose windows are in order are added side by side.
void add_blocks(nb::list from, Indices local_first, Inout<nb::ndim<2>> band, Inout<nb::ndim<3>> border,
                Inout<nb::ndim<2>> corner, Inout<nb::ndim<2>> gradient, Inout<nb::ndim<1>> parameter_gradient,
                Inout<nb::ndim<3>> hessian, Inout<nb::ndim<3>> by_stage, Inout<nb::ndim<3>> by_parameter,
                Inout<nb::ndim<2>> local_gradient) {
  const Arrow arrow(band, border, corner, gradient, parameter_gradient);
  const std::size_t l = hessian.shape(1), stages = arrow.stages;
  require(l == 0 || (hessian.shape(0) == stages && hessian.shape(2) == l && by_stage.shape(0) == stages &&
                     by_stage.shape(1) == l && by_stage.shape(2) == arrow.reach && by_parameter.shape(0) == stages &&
                     by_parameter.shape(1) == l && by_parameter.shape(2) == arrow.p &&
                     local_gradient.shape(0) == stages && local_gradient.shape(1) == l &&
                     local_first.shape(0) == stages),
          "local terms do not fit");
  std::vector<BlockRows> groups;
  std::vector<Pattern> patterns;
  std::size_t most = 0;
  for (const nb::handle one : from) {
    const BlockRows &group = groups.emplace_back(nb::cast<nb::tuple>(one));
    group.check(arrow, l, local_first);
    Pattern &pattern = patterns.emplace_back(group.rows(), arrow, group.across(), group.local.shape(2));
    pattern.look_at(group, 0, std::min(group.count(), kLike));
    most = std::max(most, group.rows());
  }
  nb::gil_scoped_release release;
  const std::size_t room = padded(l + arrow.reach + arrow.p + 1);
  const Local terms{hessian.data(), by_stage.data(), by_parameter.data(), local_gradient.data(), l};
  std::vector<double> dense(most * room), product(room * room);
  std::vector<int> rows(most);
  std::vector<std::size_t> next(groups.size(), 0);
  for (std::size_t begin = 0; begin < stages; begin += kTogether) {
    const auto last = static_cast<int64_t>(std::min(begin + kTogether, stages));
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const BlockRows &blocks = groups[g];
      for (std::size_t &b = next[g]; b < blocks.count() && blocks.first.data()[b] < last; ++b) {
        const std::size_t first = blocks.first.data()[b], own = blocks.local.shape(2) ? blocks.owner.data()[b] : first;
        const std::size_t shift = blocks.local.shape(2) ? (first - local_first.data()[own]) * arrow.n : 0;
        patterns[g].look_at(blocks, b, b + 1);
        for (const RowGroup &group : patterns[g].groups()) {
          pack(blocks, b, group, dense.data());
          tiles::square(dense.data(), group.end - group.begin, group.wide, rows.data(), product.data());
          add_group(arrow, terms, group, product.data(), first, own, shift);
        }
      }
    }
  }
  arrow.mirror_corner();
}

}  // namespace
