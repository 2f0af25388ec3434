// SPDX-License-Identifier: Apache-2.0
// A stage's contact variables at their best for its motion: systems/prime/elimination.py. Included by window_kernel.hpp.
#pragma once

// |wanted + columns f(w)|^2 + |S (z + give f_n(w) - p(w))|^2 + |f / sigma|^2 of one stage, and room to lower it.
class WindowKernel::ContactFit {
 public:
  explicit ContactFit(const WindowKernel &robot)
      : robot_(robot), nl_(3 * robot.nc_), gram_(nl_, nl_), hessian_(nl_, nl_), linear_(nl_), force_(nl_), step_(nl_),
        here_(nl_), there_(nl_), best_(nl_), turned_(nl_), by_force_(robot.nc_), by_gap_(robot.nc_), factor_(nl_) {}

  void set(const Stage &stage, double smoothing) {
    stage_ = &stage;
    smoothing_ = smoothing;
    gram_.noalias() = stage.columns.transpose() * stage.columns;
    gram_.diagonal().array() += 1.0 / (robot_.force_sigma_ * robot_.force_sigma_);
    linear_.noalias() = stage.columns.transpose() * stage.wanted;
    constant_ = stage.wanted.squaredNorm();
  }

  // A sum of squares, but for that of `wanted`, and its derivatives by forces and gaps.
  struct At {
    explicit At(std::size_t nl) : w(nl), slope(nl), gap(nl) {}
    Vector w, slope, gap;
    double cost = 0.0;
  };

  // Levenberg-Marquardt from at.w, until a step changes the sum by no more than `tolerance`.
  void descend(int iterations, double tolerance, At &at) {
    evaluate(at);
    double damping = 1e-6;
    for (int iteration = 0; iteration < iterations; ++iteration) {
      linearise(at);
      hessian_.diagonal() *= 1.0 + damping;
      factor_.compute(hessian_);
      there_.w = at.w - factor_.solve(step_);
      evaluate(there_);
      const double gain = at.cost - there_.cost;
      if (gain > 0.0) {
        std::swap(at, there_);
        damping = std::max(0.1 * damping, 1e-9);
      } else {
        damping = std::max(30.0 * damping, 1e-3);
      }
      if (std::abs(gain) <= tolerance) break;
    }
  }

  // w after a descent and, if asked for and where the stage fits badly, after others from each contact lifted or pressed
  // instead.
  void solve(int iterations, double tolerance, bool turns, double *w) {
    here_.w = MapOf<Vector>(w, nl_);
    descend(iterations, tolerance, here_);
    const double expected = static_cast<double>(robot_.nv_ + nl_);
    for (std::size_t round = 0; turns && round < robot_.nc_ && here_.cost + constant_ > expected; ++round) {
      best_ = here_;
      for (std::size_t c = 0; c < robot_.nc_; ++c) {
        turned_.w = here_.w;
        turned_.w.segment<3>(3 * c) *= -1.0;
        descend(iterations, tolerance, turned_);
        if (turned_.cost < best_.cost) best_ = turned_;
      }
      if (!(best_.cost < here_.cost - kWorth)) break;
      here_ = best_;
    }
    Eigen::Map<Vector>(w, nl_) = here_.w;
  }

 private:
  void evaluate(At &at) {
    for (std::size_t c = 0; c < robot_.nc_; ++c) {
      const Vector3 here = at.w.segment<3>(3 * c);
      force_.segment<3>(3 * c) =
          robot_.per_force_.cwiseProduct(stage_math::smooth_projection(-here, smoothing_).value);
      at.gap.segment<3>(3 * c) = stage_->firm.segment<3>(3 * c).cwiseProduct(
          stage_->velocity.segment<3>(3 * c) - stage_math::smooth_projection(here, smoothing_).value);
      at.gap[3 * c] += stage_->firm[3 * c] * robot_.give_ * force_[3 * c];
    }
    at.slope = linear_;
    at.slope.noalias() += gram_ * force_;
    at.cost = force_.dot(at.slope + linear_) + at.gap.squaredNorm();
  }

  // Gauss-Newton matrix, of which the factorisation reads the lower half alone, and gradient.
  void linearise(const At &at) {
    for (std::size_t c = 0; c < robot_.nc_; ++c) {
      const Vector3 here = at.w.segment<3>(3 * c);
      by_force_[c] = -(robot_.per_force_.asDiagonal() * stage_math::smooth_projection(-here, smoothing_).slope);
      by_gap_[c] = stage_->firm.segment<3>(3 * c).asDiagonal() * stage_math::smooth_projection(here, smoothing_).slope;
      by_gap_[c].row(0) -= stage_->firm[3 * c] * robot_.give_ * by_force_[c].row(0);
      step_.segment<3>(3 * c) = by_force_[c].transpose() * at.slope.segment<3>(3 * c) -
                                by_gap_[c].transpose() * at.gap.segment<3>(3 * c);
      for (std::size_t d = 0; d <= c; ++d)
        hessian_.block<3, 3>(3 * c, 3 * d) = by_force_[c].transpose() * gram_.block<3, 3>(3 * c, 3 * d) * by_force_[d];
      hessian_.block<3, 3>(3 * c, 3 * c) += by_gap_[c].transpose() * by_gap_[c];
    }
  }

  static constexpr double kWorth = 1.0;
  const WindowKernel &robot_;
  std::size_t nl_;
  Matrix gram_, hessian_;
  Vector linear_, force_, step_;
  At here_, there_, best_, turned_;
  std::vector<Matrix3> by_force_, by_gap_;
  Eigen::LLT<Matrix> factor_;
  const Stage *stage_ = nullptr;
  double smoothing_ = 0.0, constant_ = 0.0;
};

inline auto WindowKernel::solve_contacts(Configurations q, Variables w, nb::tuple surroundings, int iterations,
                                         double tolerance, bool turns) {
  const Surroundings around(surroundings);
  check(q, w, around);
  const std::size_t count = q.shape(0), inner = count - 2, nl = 3 * nc_;
  auto [best, best_data] = make<3>({count, nc_, 3});
  std::copy(w.data(), w.data() + nl * count, best_data);
  auto [out, out_data] = make<2>({inner, rows()});
  Motion motion(*this, count);
  {
    nb::gil_scoped_release release;
    const std::lock_guard<std::mutex> lock(mutex_);
    set_surroundings(around);
    follow(q, motion, false);
    Stage stage(*this);
    ContactFit fit(*this);
    for (std::size_t k = 0; k < inner; ++k) {
      double *here = best_data + nl * (k + 1);
      wanted(q, motion, k, around, stage);
      deepen(motion, k, around, w.data() + nl * k, stage);
      touch(motion, k, false, stage);
      fit.set(stage, around.smoothing);
      fit.solve(iterations, tolerance, turns, here);
      deepen(motion, k, around, here - nl, stage);
      touch(motion, k, false, stage);
      write_residual(stage, here, around.smoothing, out_data + k * rows());
    }
  }
  return std::make_tuple(best, out, motion.mean, motion.turn, motion.velocity, motion.acceleration, motion.rotation);
}
