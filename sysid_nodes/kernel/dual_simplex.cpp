// SPDX-License-Identifier: Apache-2.0
// Linear programs whose rows enter once an optimum breaks them, by the dual simplex method on a dense tableau;
// solvers/lazy_program.py, solvers/dual_simplex.py and kernel/dual_simplex_reference.py say what the terms mean.
#include "arrays.hpp"

#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

namespace nb = nanobind;

namespace {

using Doubles = std::vector<double>;
template <typename T, typename... Extent>
using In = nb::ndarray<const T, Extent..., nb::c_contig, nb::device::cpu>;
using Vector = In<double, nb::ndim<1>>;

// Wider registers where the processor has them; the same numbers, for nothing is fused or summed in another order.
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__)
#define SYSID_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define SYSID_WIDE
#endif

// entries += factor * row; returns 1 + the squared length of what comes out.
SYSID_WIDE double add_row(double *__restrict entries, const double *__restrict row, double factor, std::size_t d) {
  double sums[4] = {1.0, 0.0, 0.0, 0.0};
  std::size_t k = 0;
  for (; k + 4 <= d; k += 4)
    for (std::size_t s = 0; s < 4; ++s) {
      entries[k + s] += factor * row[k + s];
      sums[s] += entries[k + s] * entries[k + s];
    }
  for (; k < d; ++k) {
    entries[k] += factor * row[k];
    sums[0] += entries[k] * entries[k];
  }
  return sums[0] + sums[1] + sums[2] + sums[3];
}

// values[k] = rows[k] . x
SYSID_WIDE void products(const double *__restrict rows, const double *__restrict x, double *__restrict values,
                         std::size_t m, std::size_t d) {
  for (std::size_t h = 0; h < m; ++h, rows += d) {
    double sums[8] = {};
    std::size_t k = 0;
    for (; k + 8 <= d; k += 8)
      for (std::size_t s = 0; s < 8; ++s) sums[s] += rows[k + s] * x[k + s];
    for (; k < d; ++k) sums[0] += rows[k] * x[k];
    values[h] = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
  }
}

// out += factor * row.
SYSID_WIDE void add(double *__restrict out, const double *__restrict row, double factor, std::size_t d) {
  for (std::size_t k = 0; k < d; ++k) out[k] += factor * row[k];
}

struct Candidate {
  double ratio, gain;
  std::size_t column;
};

// Of solvers/dual_simplex.py and solvers/lazy_program.py, whose constants these are.
struct Constants {
  double feasible, smallest, stable, perturbation;
  int64_t iterations, entering;
};

enum End : int64_t { OPTIMAL = -1, ENDLESS = -2 };
enum Status : int { SOLVED = 0, INFEASIBLE = 1, FAILED = 2 };

// One objective's vertex, and the rows that have entered. Variables 0 .. d - 1 are the unknowns, the others the rows.
class LazyProgram {
 public:
  explicit LazyProgram(std::size_t d) : d_(d), nonbasic_(d), at_upper_(d, 0) {
    std::iota(nonbasic_.begin(), nonbasic_.end(), int64_t{0});
  }

  LazyProgram copy() const { return *this; }

  // Drops the rows that `keep` (m,) does not; where one of them was binding, the next solve starts afresh.
  void remove(In<bool, nb::ndim<1>> keep, In<double, nb::ndim<2>> rows) {
    const bool *stays = keep.data();
    std::vector<int64_t> number(d_ + entered_.size()), at, place(keep.shape(0));
    int64_t count = 0;
    for (std::size_t k = 0; k < place.size(); ++k) place[k] = stays[k] ? count++ : -1;
    if (static_cast<std::size_t>(count) != rows.shape(0) || rows.shape(1) != d_)
      throw std::invalid_argument("rows are not those kept");
    for (std::size_t k = 0; k < number.size(); ++k) {
      if (k < d_) {
        number[k] = static_cast<int64_t>(k);
      } else if (const int64_t to = place.at(static_cast<std::size_t>(entered_[k - d_])); to < 0) {
        number[k] = -1;
      } else {
        number[k] = static_cast<int64_t>(d_ + at.size());
        at.push_back(to);
      }
    }
    entered_ = std::move(at);
    if (std::any_of(nonbasic_.begin(), nonbasic_.end(), [&](int64_t k) { return number[k] < 0; })) {
      restart(rows.data());
      return;
    }
    for (int64_t &k : nonbasic_) k = number[k];
    std::size_t to = 0;
    for (std::size_t h = 0; h < basic_.size(); ++h) {
      if (number[basic_[h]] < 0) continue;
      basic_[to] = number[basic_[h]];
      length_[to] = length_[h];
      if (to != h) std::copy_n(&table_[h * d_], d_, &table_[to * d_]);
      ++to;
    }
    resize(to);
  }

  std::tuple<int, Array, Array> maximise(Vector objective, In<double, nb::ndim<2>> rows, Vector row_lower,
                                         Vector row_upper, Vector scale, Vector lower, Vector upper, double tolerance,
                                         In<double, nb::shape<4>> constants, int64_t iterations, int64_t entering) {
    const std::size_t m = rows.shape(0);
    if (objective.shape(0) != d_ || rows.shape(1) != d_ || row_lower.shape(0) != m || row_upper.shape(0) != m ||
        scale.shape(0) != m || lower.shape(0) != d_ || upper.shape(0) != d_)
      throw std::invalid_argument("arrays do not fit the program");
    for (const int64_t k : entered_)
      if (k < 0 || k >= static_cast<int64_t>(m)) throw std::invalid_argument("a row that has entered is missing");
    const double *by = constants.data();
    const Constants chosen{by[0], by[1], by[2], by[3], iterations, entering};
    Doubles point(d_), multipliers(m);
    int status;
    {
      nb::gil_scoped_release release;
      const Rows all{rows.data(), row_lower.data(), row_upper.data(), scale.data(), m};
      status = solve(objective.data(), all, lower.data(), upper.data(), tolerance, chosen, point, multipliers);
    }
    return {status, as_array(std::move(point), {d_}), as_array(std::move(multipliers), {m})};
  }

  // The tableau itself, for tests that wear it.
  nb::ndarray<nb::numpy, double, nb::ndim<2>> table(nb::handle self) {
    return {table_.data(), {basic_.size(), d_}, self};
  }

 private:
  struct Rows {
    const double *entries, *lower, *upper, *scale;
    std::size_t count;
  };

  void resize(std::size_t w) {
    basic_.resize(w);
    length_.resize(w);
    table_.resize(w * d_);
  }

  // Goes back to the vertex at which no row binds.
  void restart(const double *rows) {
    resize(entered_.size());
    for (std::size_t h = 0; h < entered_.size(); ++h) {
      std::copy_n(rows + entered_[h] * d_, d_, &table_[h * d_]);
      basic_[h] = static_cast<int64_t>(d_ + h);
      length_[h] = squared(&table_[h * d_]);
    }
    std::iota(nonbasic_.begin(), nonbasic_.end(), int64_t{0});
    std::fill(at_upper_.begin(), at_upper_.end(), char{0});
  }

  double squared(const double *entries) const {
    double sum = 1.0;
    for (std::size_t k = 0; k < d_; ++k) sum += entries[k] * entries[k];
    return sum;
  }

  // Appends a row of all, expressed by the nonbasic variables.
  void enter(const double *rows, std::size_t row, const std::vector<int64_t> &place) {
    const std::size_t w = basic_.size();
    resize(w + 1);
    basic_[w] = static_cast<int64_t>(d_ + entered_.size());
    entered_.push_back(static_cast<int64_t>(row));
    double *own = &table_[w * d_];
    std::fill_n(own, d_, 0.0);
    for (std::size_t k = 0; k < d_; ++k) {
      const double entry = rows[row * d_ + k];
      if (entry == 0.0) continue;
      if (place[k] >= 0)
        add(own, &table_[place[k] * d_], entry, d_);
      else
        own[-1 - place[k]] += entry;
    }
    length_[w] = squared(own);
  }

  // Where the unknowns are: h, basic in row h, or -1 - k, nonbasic in column k.
  std::vector<int64_t> places() const {
    std::vector<int64_t> place(d_);
    for (std::size_t k = 0; k < d_; ++k)
      if (nonbasic_[k] < static_cast<int64_t>(d_)) place[nonbasic_[k]] = -1 - static_cast<int64_t>(k);
    for (std::size_t h = 0; h < basic_.size(); ++h)
      if (basic_[h] < static_cast<int64_t>(d_)) place[basic_[h]] = static_cast<int64_t>(h);
    return place;
  }

  // The objective as a sum of the nonbasic variables.
  Doubles costs(const double *objective) const {
    Doubles cost(d_, 0.0);
    const std::vector<int64_t> place = places();
    for (std::size_t k = 0; k < d_; ++k) {
      if (objective[k] == 0.0) continue;
      if (place[k] >= 0)
        add(cost.data(), &table_[place[k] * d_], objective[k], d_);
      else
        cost[-1 - place[k]] += objective[k];
    }
    return cost;
  }

  int solve(const double *objective, const Rows &rows, const double *lower, const double *upper, double tolerance,
            const Constants &constants, Doubles &point, Doubles &multipliers) {
    Doubles excess(rows.count);
    std::vector<std::size_t> worst;
    for (bool fresh = true;;) {
      const int status = settle(objective, rows, lower, upper, constants, point, multipliers);
      products(rows.entries, point.data(), excess.data(), rows.count, d_);
      for (std::size_t k = 0; k < rows.count; ++k)
        excess[k] = std::max(excess[k] - rows.upper[k], rows.lower[k] - excess[k]) / rows.scale[k];
      // "not <=" so that what is not a number is worn as well.
      bool worn = status == FAILED;
      for (const int64_t k : entered_) worn = worn || !(excess[k] <= tolerance);
      if (worn && fresh) {  // by rounding, which shows in rows that are broken although they have entered
        fresh = false;
        restart(rows.entries);
        continue;
      }
      for (const int64_t k : entered_) excess[k] = 0.0;
      worst.clear();
      for (std::size_t k = 0; k < rows.count; ++k)
        if (excess[k] > tolerance) worst.push_back(k);
      if (status != SOLVED || worst.empty()) return status;
      std::stable_sort(worst.begin(), worst.end(), [&](std::size_t a, std::size_t b) { return excess[a] > excess[b]; });
      worst.resize(std::min(worst.size(), static_cast<std::size_t>(constants.entering)));
      const std::vector<int64_t> place = places();
      for (const std::size_t k : worst) enter(rows.entries, k, place);
    }
  }

  // Pivots from where the last solve ended to the optimum over the rows that have entered.
  int settle(const double *objective, const Rows &rows, const double *lower, const double *upper,
             const Constants &constants, Doubles &point, Doubles &multipliers) {
    const std::size_t w = basic_.size();
    lower_.assign(lower, lower + d_);
    upper_.assign(upper, upper + d_);
    for (const int64_t k : entered_) {
      lower_.push_back(rows.lower[k]);
      upper_.push_back(rows.upper[k]);
    }
    Doubles cost = costs(objective), place(d_), value(w);
    for (std::size_t k = 0; k < d_; ++k) {
      if (std::abs(cost[k]) > constants.perturbation) at_upper_[k] = cost[k] > 0.0;
      const double uneven = 0.5 + std::fmod(static_cast<double>(k) * 0.618034, 1.0);
      cost[k] += (at_upper_[k] ? 1.0 : -1.0) * constants.perturbation * uneven;
      place[k] = at_upper_[k] ? upper_[nonbasic_[k]] : lower_[nonbasic_[k]];
    }
    products(table_.data(), place.data(), value.data(), w, d_);
    const int64_t end = pivot(cost, value, place, constants);
    std::fill(point.begin(), point.end(), 0.0);
    std::fill(multipliers.begin(), multipliers.end(), 0.0);
    if (end == ENDLESS) return FAILED;
    const auto multiply = [&](int64_t variable, double by) {
      if (variable >= static_cast<int64_t>(d_)) multipliers[entered_[variable - d_]] = by;
    };
    if (end != OPTIMAL) {
      // variable = table row: multiplied by the sides that the nonbasic ones are at, a contradiction (Farkas).
      const double sign = value[end] > upper_[basic_[end]] ? 1.0 : -1.0;
      for (std::size_t k = 0; k < d_; ++k) multiply(nonbasic_[k], -sign * table_[end * d_ + k]);
      multiply(basic_[end], sign);
      return INFEASIBLE;
    }
    cost = costs(objective);
    const auto set = [&](int64_t variable, double to) {
      if (variable < static_cast<int64_t>(d_)) point[variable] = to;
    };
    for (std::size_t k = 0; k < d_; ++k) {
      multiply(nonbasic_[k], cost[k]);
      set(nonbasic_[k], place[k]);
    }
    for (std::size_t h = 0; h < w; ++h) set(basic_[h], value[h]);
    return SOLVED;
  }

  // Pivots until every basic variable is between its ends, or the row of one that stays beyond an end whatever.
  int64_t pivot(Doubles &cost, Doubles &value, Doubles &place, const Constants &constants) {
    const std::size_t w = basic_.size(), d = d_;
    const double feasible = constants.feasible, smallest = constants.smallest, stable = constants.stable;
    const int64_t limit = constants.iterations * static_cast<int64_t>(d + entered_.size());
    double *table = table_.data();
    Doubles row(d);
    std::vector<Candidate> candidates;
    std::vector<std::pair<std::size_t, double>> flipped;
    for (int64_t turn = 0; turn < limit; ++turn) {
      std::size_t leaving = w;
      double best = 0.0;
      for (std::size_t h = 0; h < w; ++h) {
        const double excess = std::max(value[h] - upper_[basic_[h]], lower_[basic_[h]] - value[h]);
        if (excess > feasible && excess * excess > best * length_[h]) {
          best = excess * excess / length_[h];
          leaving = h;
        }
      }
      if (leaving == w) return OPTIMAL;
      double *own = table + leaving * d;
      const int64_t variable = basic_[leaving];
      const bool above = value[leaving] > upper_[variable];
      const double target = above ? upper_[variable] : lower_[variable];
      double missing = std::abs(value[leaving] - target), largest = 0.0;
      candidates.clear();
      for (std::size_t k = 0; k < d; ++k) {
        const double gain = (at_upper_[k] != 0) == above ? own[k] : -own[k];
        if (gain <= smallest) continue;
        candidates.push_back({std::abs(cost[k]) / gain, gain, k});
        largest = std::max(largest, gain);
      }
      std::stable_sort(candidates.begin(), candidates.end(),
                       [](const Candidate &a, const Candidate &b) { return a.ratio < b.ratio; });
      std::size_t chosen = 0;
      for (; chosen < candidates.size(); ++chosen) {
        const Candidate &here = candidates[chosen];
        missing -= here.gain * std::max(0.0, upper_[nonbasic_[here.column]] - lower_[nonbasic_[here.column]]);
        if (missing <= 0.0) break;
      }
      if (chosen == candidates.size()) {
        if (candidates.empty() || missing > feasible) return static_cast<int64_t>(leaving);
        --chosen;  // ends that touch: rounding alone is missing
      }
      while (chosen > 0 && candidates[chosen].gain < stable * largest) --chosen;
      flipped.clear();
      for (std::size_t c = 0; c < chosen; ++c) {
        const std::size_t k = candidates[c].column;
        at_upper_[k] = !at_upper_[k];
        const double next = at_upper_[k] ? upper_[nonbasic_[k]] : lower_[nonbasic_[k]];
        flipped.emplace_back(k, next - place[k]);
        place[k] = next;
      }
      if (!flipped.empty())
        for (std::size_t h = 0; h < w; ++h)
          for (const auto &[k, step] : flipped) value[h] += table[h * d + k] * step;
      const std::size_t entering = candidates[chosen].column;
      const double by = own[entering], step = (target - value[leaving]) / by, reduced = cost[entering];
      for (std::size_t k = 0; k < d; ++k) row[k] = -own[k] / by;
      row[entering] = 1.0 / by;
      cost[entering] = 0.0;
      for (std::size_t k = 0; k < d; ++k) cost[k] += reduced * row[k];
      for (std::size_t h = 0; h < w; ++h) {
        double *entries = table + h * d;
        const double factor = h == leaving ? 0.0 : entries[entering];
        if (h == leaving) {
          std::copy(row.begin(), row.end(), entries);
        } else {
          value[h] += factor * step;
          if (factor == 0.0) continue;
          entries[entering] = 0.0;
        }
        length_[h] = add_row(entries, row.data(), factor, d);
      }
      value[leaving] = place[entering] + step;
      place[entering] = target;
      at_upper_[entering] = above;
      std::swap(basic_[leaving], nonbasic_[entering]);
    }
    return ENDLESS;
  }

  std::size_t d_;
  Doubles table_;                            // (w, d) basic variables as sums of the nonbasic ones
  std::vector<int64_t> basic_, nonbasic_;    // (w,), (d,) which variables they are
  std::vector<char> at_upper_;               // (d,) at which of its ends a nonbasic variable is
  Doubles length_;                           // (w,) 1 + squared length of each row of the tableau
  std::vector<int64_t> entered_;             // rows that have entered
  Doubles lower_, upper_;                    // (w + d,) ends of all variables in this solve
};

}  // namespace

NB_MODULE(_dual_simplex, m) {
  using namespace nb::literals;
  m.doc() = "Linear programs whose rows enter once an optimum breaks them.";
  nb::class_<LazyProgram>(m, "LazyProgram")
      .def(nb::init<std::size_t>(), "d"_a)
      .def("copy", &LazyProgram::copy)
      .def("remove", &LazyProgram::remove, "keep"_a, "rows"_a)
      .def("maximise", &LazyProgram::maximise, "objective"_a, "rows"_a, "row_lower"_a, "row_upper"_a, "scale"_a,
           "lower"_a, "upper"_a, "tolerance"_a, "constants"_a, "iterations"_a, "entering"_a)
      .def_prop_ro("table", [](nb::handle self) { return nb::cast<LazyProgram &>(self).table(self); });
}
