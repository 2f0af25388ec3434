// SPDX-License-Identifier: Apache-2.0
// J'J and J'r of residual blocks, added to a banded matrix with an arrow; its Cholesky factor, local variables eliminated
// first; the blocks of the inverse that covariances need; and leverages and gains of rows, which follow from these.
//
// The same as solvers/trajectory_least_squares does with NumPy, which says what the arrays are. Here a block's product
// is added while it is in the cache, only half of it is computed, and only of the columns that its rows have.
#include "band_factor.hpp"
#include "band_solve.hpp"
#include "block_rows.hpp"
#include "gains.hpp"
#include "leverage.hpp"
#include "selected_inverse.hpp"

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace {

// Equations of a log come and go many times in a solve. Memory that was used once is kept: to have it taken away and
// given again, zeroed, costs a tenth of an estimate's time.
void keep_memory() {
#if defined(__GLIBC__)
  constexpr int kMost = 1 << 30;
  mallopt(M_MMAP_THRESHOLD, kMost);
  mallopt(M_TRIM_THRESHOLD, kMost);
#endif
}

}  // namespace

NB_MODULE(_normal_equations, m) {
  using namespace nb::literals;
  m.doc() = "Normal equations of trajectory least squares.";
  keep_memory();
  m.attr("worthwhile") = kWorthwhile;
  m.def("add_blocks", &add_blocks, "groups"_a, "local_first"_a, "band"_a, "border"_a, "corner"_a, "gradient"_a, "parameter_gradient"_a, "hessian"_a,
        "by_stage"_a, "by_parameter"_a, "local_gradient"_a);
  m.def("factorise", &factorise, "equations"_a, "damping"_a, "local_first"_a, "used"_a, "roots"_a, "rows"_a, "band"_a,
        "border"_a, "corner"_a, "gradient"_a, "parameter_gradient"_a);
  m.def("solve_band", &solve_band, "band"_a, "first"_a, "transposed"_a, "rows"_a);
  m.def("invert", &invert, "begin"_a, "width"_a, "local_first"_a, "used"_a, "band"_a, "border"_a, "parameter"_a,
        "roots"_a, "rows"_a, "stage"_a, "cross"_a, "neighbour"_a, "second"_a, "local"_a);
  m.def("leverages", &leverages, "reach"_a, "first"_a, "shift"_a, "jacobian"_a, "parameter"_a, "local"_a, "owner"_a,
        "roots"_a, "rows"_a, "stage"_a, "neighbour"_a, "second"_a, "cross"_a, "covariance"_a, "out"_a);
  m.def("gains", &gains, "first"_a, "jacobian"_a, "parameter"_a, "local"_a, "owner"_a, "local_first"_a, "roots"_a, "rows"_a,
        "by_stage"_a, "by_parameter"_a, "out"_a);
}
