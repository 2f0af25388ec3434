// SPDX-License-Identifier: Apache-2.0
// Rollout of one joint with forward sensitivities, and adjoint; kernel/joint_rollout_reference.py does the same in NumPy,
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

// Reciprocals of constants, because a quotient takes as long as five products and a step has a dozen of them.
constexpr double kTheta = 0.51, kByTheta = 1.0 / kTheta, kLeft = 1e-9;
constexpr double kPlayRounding = 1e-4, kZoneRounding = 1e-3;
constexpr int kMost = 50;

enum Law {
  kArmature, kDelay, kGain, kBias, kOffset, kBacklash, kDeadZone, kLimit, kNoLoad, kViscous, kStribeck,
  kStribeckSpeed, kLaw
};
enum Signal {
  kCommand, kCommandRate, kTorque, kCommandSlope, kRateSlope, kTorqueSlope, kStiffness, kDamping, kInertia, kLoad,
  kSignals
};

void require(bool holds, const char *message) {
  if (!holds) throw std::invalid_argument(message);
}

// What is left of x beyond half a width on either side, its derivatives by x and by the half width; joint_law.play.
struct Play {
  double value, slope, curvature, by_half, slope_by_half;

  Play(double x, double half, double rounding) {
    const double above = x - half, below = x + half, square = rounding * rounding;
    const double a = std::sqrt(above * above + square), b = std::sqrt(below * below + square);
    const double sharp_a = square / (a * a * a), sharp_b = square / (b * b * b);
    value = x + 0.5 * (a - b);
    slope = 1.0 + 0.5 * (above / a - below / b);
    curvature = 0.5 * (sharp_a - sharp_b);
    by_half = -0.5 * (above / a + below / b);
    slope_by_half = -0.5 * (sharp_a + sharp_b);
  }
};

// Terms of the law besides a PD drive with dry and viscous friction: those that are absent cost nothing.
struct Terms {
  bool limited, hard, bumpy, loose;  // a limit, one that cuts off, Stribeck's friction, backlash or dead zone
  bool any() const { return limited || bumpy || loose; }
};

struct Quotient {
  double over, under;
};

// The torque at one state, and what its derivatives are made of; kPlain: without any of the terms.
template <bool kPlain>
class JointLaw {
 public:
  JointLaw(const double *law, std::size_t levels, double smoothing, Terms terms)
      : law_(law), levels_(levels), square_(smoothing * smoothing), terms_(terms), gain_(law[kGain]), by_wanted_(law[kGain]) {}

  double torque, by_position, by_velocity;

  // Takes up what stays as it is within a step.
  void begin(const double *signal) {
    signal_ = signal;
    double level = 0.0;
    for (std::size_t b = 0; b < levels_; ++b) level += law_[kLaw + b] * signal[kSignals + b];
    real_ = level > 0.0;  // dry friction never drives
    level_ = real_ ? level : 0.0;
    by_error_ = signal[kStiffness];
    by_rate_ = signal[kDamping];
  }

  void evaluate(double q, double w) {
    const double error = signal_[kCommand] - q - law_[kBias], rate = signal_[kCommandRate] - w;
    const double inverse = 1.0 / std::sqrt(w * w + square_);
    speed_ = w;
    sign_ = w * inverse;
    const double drive = kPlain ? plain(error, rate) : driven(error, rate, w);
    double amplitude = level_;
    by_velocity = -by_wanted_ * by_rate_ - law_[kViscous];
    if (!kPlain) {
      by_velocity += by_available_ * available_by_speed_;
      if (terms_.bumpy) {
        const double ratio = w / law_[kStribeckSpeed];
        bump_ = std::exp(-ratio * ratio);
        bump_slope_ = -2.0 * ratio / law_[kStribeckSpeed] * bump_;
        amplitude += law_[kStribeck] * bump_;
        by_velocity -= law_[kStribeck] * bump_slope_ * sign_;
      }
    }
    by_position = -by_wanted_ * by_error_;
    by_velocity -= amplitude * square_ * inverse * inverse * inverse;
    torque = drive + law_[kOffset] - amplitude * sign_ - law_[kViscous] * w;
  }

  // By what Newton's method moves w: the excess of inertia and load over the torque, over its derivative.
  Quotient newton(double q, double v, double w, double load, double by_span, double span) {
    if (!kPlain) {
      evaluate(q + span * w, w);
      return {by_span * (w - v) - torque + load, by_span - by_position * span - by_velocity};
    }
    // Both times root^3, so that a root and one quotient are all that the next w waits for.
    const double square = w * w + square_, root = std::sqrt(square), cube = square * root;
    const double smooth = gain_ * (signal_[kStiffness] * (signal_[kCommand] - law_[kBias] - q - span * w) +
                                   signal_[kDamping] * (signal_[kCommandRate] - w) + signal_[kTorque]) +
                          law_[kOffset] - law_[kViscous] * w;
    const double slope = gain_ * (signal_[kStiffness] * span + signal_[kDamping]) + law_[kViscous];
    return {(by_span * (w - v) - smooth + load) * cube + level_ * w * square,
            (by_span + slope) * cube + level_ * square_};
  }

  // Derivative by a parameter, at the state evaluated last; armature is inertia and not in here.
  double by_parameter(std::size_t index) const {
    switch (index) {
      case kDelay:
        return by_wanted_ *
               (by_error_ * signal_[kCommandSlope] + by_rate_ * signal_[kRateSlope] + signal_[kTorqueSlope]);
      case kGain: return by_drive_ * wanted_;
      case kBias: return by_position;
      case kOffset: return 1.0;
      case kBacklash: return 0.5 * by_wanted_ * wanted_by_half_;
      case kDeadZone: return by_zone_;
      case kLimit: return by_available_ * available_by_limit_;
      case kNoLoad: return by_available_ * available_by_no_load_;
      case kViscous: return -speed_;
      case kStribeck: return -bump_ * sign_;
      case kStribeckSpeed: return law_[kStribeck] * bump_slope_ * speed_ / law_[kStribeckSpeed] * sign_;
      default: return real_ ? -sign_ * signal_[kSignals + index - kLaw] : 0.0;
    }
  }

 private:
  double plain(double error, double rate) {
    wanted_ = by_error_ * error + by_rate_ * rate + signal_[kTorque];
    return law_[kGain] * wanted_;
  }

  double driven(double error, double rate, double w) {
    const double stiffness = signal_[kStiffness], damping = signal_[kDamping];
    double sent, by_sent = 1.0;
    if (terms_.loose) {
      const Play gap(error, 0.5 * law_[kBacklash], kPlayRounding);
      wanted_ = stiffness * gap.value + damping * gap.slope * rate + signal_[kTorque];
      by_error_ = stiffness * gap.slope + damping * gap.curvature * rate;
      by_rate_ = damping * gap.slope;
      wanted_by_half_ = stiffness * gap.by_half + damping * gap.slope_by_half * rate;
      const Play zone(law_[kGain] * wanted_, law_[kDeadZone], kZoneRounding);
      sent = zone.value;
      by_sent = zone.slope;
      by_zone_ = zone.by_half;
    } else {
      sent = plain(error, rate);
    }
    by_drive_ = 1.0;
    const double drive = terms_.limited ? saturated(sent, w) : sent;
    by_zone_ *= by_drive_;
    by_drive_ *= by_sent;
    by_wanted_ = by_drive_ * law_[kGain];
    return drive;
  }

  double saturated(double torque, double w) {
    const double towards = torque > 0.0 ? 1.0 : torque < 0.0 ? -1.0 : 0.0, ahead = w * towards;
    const double share = 1.0 - std::fmax(ahead, 0.0) / law_[kNoLoad];
    const double slope = ahead > 0.0 && share > 0.0 ? law_[kLimit] / law_[kNoLoad] : 0.0;
    available_by_limit_ = std::fmax(share, 0.0);
    available_by_speed_ = -slope * towards;
    available_by_no_load_ = slope * std::fabs(w) / law_[kNoLoad];
    const double available = law_[kLimit] * available_by_limit_;
    if (terms_.hard || !(available > 0.0)) {
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

  const double *law_, *signal_ = nullptr;
  std::size_t levels_;
  double square_;
  Terms terms_;
  double gain_;
  bool real_ = true;
  double by_wanted_, wanted_ = 0.0, by_error_ = 0.0, by_rate_ = 0.0, by_drive_ = 1.0, by_zone_ = 0.0;
  double level_ = 0.0, speed_ = 0.0, sign_ = 0.0, bump_ = 0.0, bump_slope_ = 0.0, wanted_by_half_ = 0.0;
  double by_available_ = 0.0, available_by_limit_ = 0.0, available_by_speed_ = 0.0, available_by_no_load_ = 0.0;
};

// The velocity within a step, from a guess; the law is left as of the last Newton step.
template <bool kPlain>
double velocity_within(JointLaw<kPlain> &joint, double q, double v, double w, double load, double by_span, double span,
                       double near) {
  double low = -std::numeric_limits<double>::infinity(), high = -low, at = w;
  for (int k = 0; k < kMost; ++k) {
    at = w;
    const Quotient move = joint.newton(q, v, w, load, by_span, span);
    if (move.over < 0.0) low = w;
    if (move.over > 0.0) high = w;
    double tried = w - move.over / move.under;
    if (!(tried >= low && tried <= high)) {
      const double middle = 0.5 * (low + high);
      if (std::isfinite(middle)) tried = middle;
    }
    const double moved = tried - w;
    w = tried;
    if (moved * moved <= near) break;
  }
  if (kPlain) joint.evaluate(q + span * at, at);
  return w;
}

// What is rolled out, and where it goes.
struct Task {
  const double *signals, *law, *start;
  const int64_t *first, *active;
  std::size_t total, width, levels, segments, count, stride;
  double step, smoothing;
  double *state, *slopes;
};

template <bool kPlain>
void roll(const Task &task, Terms terms) {
  JointLaw<kPlain> joint(task.law, task.levels, task.smoothing, terms);
  const std::size_t count = task.count, begin = kSignals + task.levels, added = task.width - begin,
                    states = count + added, columns = states + 2;
  const double span = kTheta * task.step, inverse_span = 1.0 / span, near = kLeft * task.smoothing, step = task.step;
  std::vector<double> dq(columns), dv(columns), push(columns);
  double q = 0.0, v = 0.0, guess = 0.0, before = 0.0;
  std::size_t segment = 0, until_sample = 0;
  for (std::size_t k = 0;; ++k) {
    if (segment < task.segments && k == static_cast<std::size_t>(task.first[segment])) {
      q = task.start[2 * segment];
      v = guess = before = task.start[2 * segment + 1];
      std::fill(dq.begin(), dq.end(), 0.0);
      std::fill(dv.begin(), dv.end(), 0.0);
      dq[states] = dv[states + 1] = 1.0;
      ++segment;
    }
    if (until_sample-- == 0) {
      until_sample = task.stride - 1;
      const std::size_t row = k / task.stride;
      task.state[2 * row] = q;
      task.state[2 * row + 1] = v;
      std::copy(dq.begin(), dq.end(), task.slopes + columns * row);
    }
    if (k == task.total) break;
    const double *signal = task.signals + k * task.width;
    const double by_span = (signal[kInertia] + task.law[kArmature]) * inverse_span;
    joint.begin(signal);
    const double w = velocity_within(joint, q, v, 2.0 * guess - before, signal[kLoad], by_span, span, near);
    before = guess;
    guess = w;
    const double stiff = 1.0 / (by_span - joint.by_position * span - joint.by_velocity);
    const double from_v = by_span * stiff, from_q = joint.by_position * stiff;
    for (std::size_t c = 0; c < count; ++c) {
      const auto index = static_cast<std::size_t>(task.active[c]);
      push[c] = stiff * (index == kArmature ? (v - w) * inverse_span : joint.by_parameter(index));
    }
    for (std::size_t c = 0; c < added; ++c) push[count + c] = stiff * signal[begin + c];
    for (std::size_t c = 0; c < columns; ++c) {
      const double dw = from_v * dv[c] + from_q * dq[c] + push[c];
      dv[c] += (dw - dv[c]) * kByTheta;
      dq[c] += step * dw;
    }
    v += (w - v) * kByTheta;
    q += step * w;
  }
}

std::pair<Rows, Rows> joint_rollout(In<double, nb::ndim<2>> signals, In<double, nb::ndim<1>> law,
                                    In<int64_t, nb::ndim<1>> first, In<double, nb::shape<-1, 2>> start,
                                    In<int64_t, nb::ndim<1>> active, double step, int64_t stride, double smoothing,
                                    bool hard) {
  const std::size_t total = signals.shape(0), width = signals.shape(1), count = active.shape(0);
  require(law.shape(0) >= kLaw && width >= kSignals + law.shape(0) - kLaw, "signals and law do not fit");
  const std::size_t levels = law.shape(0) - kLaw, columns = count + width - kSignals - levels + 2;
  require(first.shape(0) == start.shape(0) && first.shape(0) > 0 && first.data()[0] == 0, "segments and states do not fit");
  require(stride > 0 && total % stride == 0, "the steps are no whole number of samples");
  for (std::size_t s = 0; s < first.shape(0); ++s) {
    const int64_t end = s + 1 < first.shape(0) ? first.data()[s + 1] : static_cast<int64_t>(total);
    require(first.data()[s] < end && first.data()[s] % stride == 0, "segments must begin at increasing samples");
  }
  Terms terms{std::isfinite(law.data()[kLimit]), hard, law.data()[kStribeck] != 0.0,
              law.data()[kBacklash] != 0.0 || law.data()[kDeadZone] != 0.0};
  for (std::size_t k = 0; k < count; ++k) {
    const int64_t index = active.data()[k];
    require(index >= 0 && index < static_cast<int64_t>(law.shape(0)), "no such parameter");
    terms.bumpy = terms.bumpy || index == kStribeck;
    terms.loose = terms.loose || index == kBacklash || index == kDeadZone;
  }
  const std::size_t samples = total / stride + 1;
  auto state = std::make_unique<double[]>(2 * samples), slopes = std::make_unique<double[]>(columns * samples);
  {
    nb::gil_scoped_release release;
    const Task task{signals.data(), law.data(), start.data(), first.data(), active.data(), total, width, levels,
                    first.shape(0), count, static_cast<std::size_t>(stride), step, smoothing, state.get(), slopes.get()};
    terms.any() ? roll<false>(task, terms) : roll<true>(task, terms);
  }
  double *states = state.release(), *derivatives = slopes.release();
  const auto owner = [](double *data) {
    return nb::capsule(data, [](void *p) noexcept { delete[] static_cast<double *>(p); });
  };
  return {Rows(states, {samples, 2}, owner(states)), Rows(derivatives, {samples, columns}, owner(derivatives))};
}

Rows joint_adjoint(In<double, nb::ndim<2>> by_position, In<double, nb::ndim<2>> by_velocity,
                   In<double, nb::ndim<2>> to_position, In<double, nb::ndim<2>> to_velocity, double step) {
  const std::size_t segments = by_position.shape(0), steps = by_position.shape(1);
  require(by_velocity.shape(0) == segments && by_velocity.shape(1) == steps, "derivatives do not fit");
  for (const auto *pull : {&to_position, &to_velocity}) {
    require(pull->shape(0) == segments && pull->shape(1) == steps + 1, "pulls and steps do not fit");
  }
  auto found = std::make_unique<double[]>(segments * steps);
  for (std::size_t g = 0; g < segments; ++g) {
    const double *pull_q = to_position.data() + g * (steps + 1), *pull_v = to_velocity.data() + g * (steps + 1);
    double to_q = pull_q[steps], to_v = pull_v[steps];
    for (std::size_t k = steps; k-- > 0;) {
      const std::size_t at = g * steps + k;
      const double to_w = found[at] = to_v * kByTheta + step * to_q;
      to_q += to_w * by_position.data()[at] + pull_q[k];
      to_v = to_v * (1.0 - kByTheta) + to_w * by_velocity.data()[at] + pull_v[k];
    }
  }
  double *data = found.release();
  return Rows(data, {segments, steps}, nb::capsule(data, [](void *p) noexcept { delete[] static_cast<double *>(p); }));
}

}  // namespace

NB_MODULE(_joint_rollout, m) {
  using namespace nb::literals;
  m.doc() = "Rollout of one joint with forward sensitivities, and its adjoint.";
  m.def("joint_rollout", &joint_rollout, "signals"_a, "law"_a, "first"_a, "start"_a, "active"_a, "step"_a, "stride"_a,
        "smoothing"_a, "hard"_a);
  m.def("joint_adjoint", &joint_adjoint, "by_position"_a, "by_velocity"_a, "to_position"_a, "to_velocity"_a, "step"_a);
}
