// SPDX-License-Identifier: Apache-2.0
// Rollout of one joint with forward sensitivities; kernel/joint_rollout_reference.py derives and does the same in NumPy,
// kernel/joint_law.py has the law and the order of its parameters.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <vector>

namespace nb = nanobind;

template <typename T, typename... Extent>
using In = nb::ndarray<const T, Extent..., nb::c_contig, nb::device::cpu>;
using Rows = nb::ndarray<nb::numpy, double, nb::ndim<2>>;

namespace {

constexpr double kTheta = 0.51, kTolerance = 1e-9;
constexpr int kMost = 50;

enum Law { kArmature, kDelay, kGain, kBias, kLimit, kNoLoad, kViscous, kStribeck, kStribeckSpeed, kLaw };
enum Signal { kCommand, kCommandRate, kCommandSlope, kRateSlope, kStiffness, kDamping, kInertia, kLoad, kSignals };

void require(bool holds, const char *message) {
  if (!holds) throw std::invalid_argument(message);
}

// The torque at one state, and what its derivatives are made of.
class JointLaw {
 public:
  JointLaw(const double *law, std::size_t levels, double smoothing, bool hard, bool bumpy)
      : law_(law), levels_(levels), square_(smoothing * smoothing), hard_(hard), bumpy_(bumpy),
        limited_(std::isfinite(law[kLimit])) {}

  double torque, by_position, by_velocity;

  void evaluate(double q, double w, const double *signal) {
    wanted_ = signal[kStiffness] * (signal[kCommand] - q - law_[kBias]) + signal[kDamping] * (signal[kCommandRate] - w);
    const double drive = limited_ ? saturated(law_[kGain] * wanted_, w) : law_[kGain] * wanted_;
    const double inverse = 1.0 / std::sqrt(w * w + square_);
    sign_ = w * inverse;
    const double sign_slope = square_ * inverse * inverse * inverse;
    double level = 0.0;
    for (std::size_t b = 0; b < levels_; ++b) level += law_[kLaw + b] * signal[kSignals + b];
    real_ = level > 0.0;  // dry friction never drives
    double amplitude = real_ ? level : 0.0;
    by_wanted_ = by_drive_ * law_[kGain];
    by_position = -by_wanted_ * signal[kStiffness];
    by_velocity = -by_wanted_ * signal[kDamping] + by_available_ * available_by_speed_ - law_[kViscous];
    if (bumpy_) {
      const double ratio = w / law_[kStribeckSpeed];
      bump_ = std::exp(-ratio * ratio);
      bump_slope_ = -2.0 * ratio / law_[kStribeckSpeed] * bump_;
      amplitude += law_[kStribeck] * bump_;
      by_velocity -= law_[kStribeck] * bump_slope_ * sign_;
    }
    by_velocity -= amplitude * sign_slope;
    torque = drive - amplitude * sign_ - law_[kViscous] * w;
  }

  // Derivative by a parameter, at the state evaluated last; armature is inertia and not in here.
  double by_parameter(std::size_t index, double w, const double *signal) const {
    switch (index) {
      case kDelay:
        return by_wanted_ * (signal[kStiffness] * signal[kCommandSlope] + signal[kDamping] * signal[kRateSlope]);
      case kGain: return by_drive_ * wanted_;
      case kBias: return -by_wanted_ * signal[kStiffness];
      case kLimit: return by_available_ * available_by_limit_;
      case kNoLoad: return by_available_ * available_by_no_load_;
      case kViscous: return -w;
      case kStribeck: return -bump_ * sign_;
      case kStribeckSpeed: return law_[kStribeck] * bump_slope_ * w / law_[kStribeckSpeed] * sign_;
      default: return real_ ? -sign_ * signal[kSignals + index - kLaw] : 0.0;
    }
  }

 private:
  double saturated(double torque, double w) {
    const double towards = torque > 0.0 ? 1.0 : torque < 0.0 ? -1.0 : 0.0, ahead = w * towards;
    const double share = 1.0 - std::fmax(ahead, 0.0) / law_[kNoLoad];
    const double slope = ahead > 0.0 && share > 0.0 ? law_[kLimit] / law_[kNoLoad] : 0.0;
    available_by_limit_ = std::fmax(share, 0.0);
    available_by_speed_ = -slope * towards;
    available_by_no_load_ = slope * std::fabs(w) / law_[kNoLoad];
    const double available = law_[kLimit] * available_by_limit_;
    if (hard_ || !(available > 0.0)) {
      const bool inside = std::fabs(torque) < available;
      by_drive_ = inside ? 1.0 : 0.0;
      by_available_ = inside ? 0.0 : towards;
      return inside ? torque : towards * available;
    }
    const double ratio = torque / available, tanh = std::tanh(ratio);
    by_drive_ = 1.0 - tanh * tanh;
    by_available_ = tanh - ratio * by_drive_;
    return available * tanh;
  }

  const double *law_;
  std::size_t levels_;
  double square_;
  bool hard_, bumpy_, limited_, real_ = true;
  double wanted_ = 0.0, by_wanted_ = 1.0, sign_ = 0.0, bump_ = 0.0, bump_slope_ = 0.0, by_drive_ = 1.0;
  double by_available_ = 0.0, available_by_limit_ = 0.0, available_by_speed_ = 0.0, available_by_no_load_ = 0.0;
};

// The velocity within a step, from a guess; the law is left as of the last Newton step.
double velocity_within(JointLaw &joint, double q, double v, double w, const double *signal, double inertia, double span) {
  double low = -std::numeric_limits<double>::infinity(), high = -low;
  for (int k = 0; k < kMost; ++k) {
    joint.evaluate(q + span * w, w, signal);
    const double excess = inertia * (w - v) / span - joint.torque + signal[kLoad];
    if (excess < 0.0) low = w;
    if (excess > 0.0) high = w;
    double tried = w - excess / (inertia / span - joint.by_position * span - joint.by_velocity);
    const double middle = 0.5 * (low + high);
    if (!(tried >= low && tried <= high) && std::isfinite(middle)) tried = middle;
    const bool last = std::fabs(tried - w) <= kTolerance;
    w = tried;
    if (last) break;
  }
  return w;
}

std::pair<Rows, Rows> joint_rollout(In<double, nb::ndim<2>> signals, In<double, nb::ndim<1>> law,
                                    In<int64_t, nb::ndim<1>> first, In<double, nb::shape<-1, 2>> start,
                                    In<int64_t, nb::ndim<1>> active, double step, int64_t stride, double smoothing,
                                    bool hard) {
  const std::size_t total = signals.shape(0), width = signals.shape(1), count = active.shape(0), columns = count + 2;
  require(width >= kSignals && law.shape(0) == kLaw + width - kSignals, "signals and law do not fit");
  require(first.shape(0) == start.shape(0) && first.shape(0) > 0 && first.data()[0] == 0, "segments and states do not fit");
  require(stride > 0 && total % stride == 0, "the steps are no whole number of samples");
  for (std::size_t s = 0; s < first.shape(0); ++s) {
    const int64_t end = s + 1 < first.shape(0) ? first.data()[s + 1] : static_cast<int64_t>(total);
    require(first.data()[s] < end && first.data()[s] % stride == 0, "segments must begin at increasing samples");
  }
  bool bumpy = law.data()[kStribeck] != 0.0;
  for (std::size_t k = 0; k < count; ++k) {
    require(active.data()[k] >= 0 && active.data()[k] < static_cast<int64_t>(law.shape(0)), "no such parameter");
    bumpy = bumpy || active.data()[k] == kStribeck;
  }
  const std::size_t samples = total / stride + 1;
  auto state = std::make_unique<double[]>(2 * samples), slopes = std::make_unique<double[]>(columns * samples);
  {
    nb::gil_scoped_release release;
    JointLaw joint(law.data(), width - kSignals, smoothing, hard, bumpy);
    const double span = kTheta * step;
    std::vector<double> dq(columns), dv(columns);
    double q = 0.0, v = 0.0, guess = 0.0, before = 0.0;
    std::size_t segment = 0;
    for (std::size_t k = 0;; ++k) {
      if (segment < first.shape(0) && k == static_cast<std::size_t>(first.data()[segment])) {
        q = start.data()[2 * segment];
        v = guess = before = start.data()[2 * segment + 1];
        std::fill(dq.begin(), dq.end(), 0.0);
        std::fill(dv.begin(), dv.end(), 0.0);
        dq[count] = dv[count + 1] = 1.0;
        ++segment;
      }
      if (k % stride == 0) {
        const std::size_t row = k / stride;
        state[2 * row] = q;
        state[2 * row + 1] = v;
        std::copy(dq.begin(), dq.end(), slopes.get() + columns * row);
      }
      if (k == total) break;
      const double *signal = signals.data() + k * width;
      const double inertia = signal[kInertia] + law.data()[kArmature];
      const double w = velocity_within(joint, q, v, 2.0 * guess - before, signal, inertia, span);
      before = guess;
      guess = w;
      const double stiff = 1.0 / (inertia / span - joint.by_position * span - joint.by_velocity);
      const double from_v = inertia / span * stiff, from_q = joint.by_position * stiff;
      for (std::size_t c = 0; c < columns; ++c) {
        double dw = from_v * dv[c] + from_q * dq[c];
        if (c < count) {
          const auto index = static_cast<std::size_t>(active.data()[c]);
          dw += stiff * (index == kArmature ? (v - w) / span : joint.by_parameter(index, w, signal));
        }
        dv[c] += (dw - dv[c]) / kTheta;
        dq[c] += step * dw;
      }
      v += (w - v) / kTheta;
      q += step * w;
    }
  }
  double *states = state.release(), *derivatives = slopes.release();
  const auto owner = [](double *data) {
    return nb::capsule(data, [](void *p) noexcept { delete[] static_cast<double *>(p); });
  };
  return {Rows(states, {samples, 2}, owner(states)), Rows(derivatives, {samples, columns}, owner(derivatives))};
}

}  // namespace

NB_MODULE(_joint_rollout, m) {
  using namespace nb::literals;
  m.doc() = "Rollout of one joint with forward sensitivities.";
  m.def("joint_rollout", &joint_rollout, "signals"_a, "law"_a, "first"_a, "start"_a, "active"_a, "step"_a, "stride"_a,
        "smoothing"_a, "hard"_a);
}
