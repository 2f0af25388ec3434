// SPDX-License-Identifier: Apache-2.0
// Residuals of a walking robot's sensors and their derivatives by stages, constants and readings, sample by sample.
//
// The same as sensors/ and systems/prime/sensing.py, which say what the terms mean, for sensors on joints and on the
// floating base; NumPy makes some hundred passes over arrays of a few dozen samples.
#include "stage_arrays.hpp"
#include "stage_math.hpp"

#include <cmath>

namespace {

using stage_math::skew;
using Vector6 = Eigen::Matrix<double, 6, 1>;
using Rows = Eigen::Matrix<double, Eigen::Dynamic, 6, Eigen::RowMajor, 6, 6>;      // by the base's tangent
using Small = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor, 6, 6>;
using Column = Eigen::Matrix<double, Eigen::Dynamic, 1, 0, 6, 1>;

enum Kind { kPosition, kVelocity, kGyroscope, kAccelerometer, kOrientation, kPose };
enum Window { kPoint, kBefore, kAfter, kAround };

Eigen::Quaterniond quaternion(const double *xyzw) { return {xyzw[3], xyzw[0], xyzw[1], xyzw[2]}; }

Eigen::Quaterniond quaternion_exp(const Vector3 &rotation) {
  const Vector3 half = 0.5 * rotation;
  const double angle = half.norm(), ratio = angle > 0.0 ? std::sin(angle) / angle : 1.0;
  Eigen::Quaterniond out;
  out.vec() = ratio * half;
  out.w() = std::cos(angle);
  return out;
}

// Configurations of a window and the motion between them (models/discrete_motion.py).
struct Motion {
  explicit Motion(const nb::tuple &from)
      : q(nb::cast<In<double, nb::ndim<2>>>(from[0])), mean(nb::cast<In<double, nb::ndim<2>>>(from[1])),
        turn(nb::cast<In<double, nb::shape<-1, 3, 3>>>(from[2])), velocity(nb::cast<In<double, nb::ndim<2>>>(from[3])),
        acceleration(nb::cast<In<double, nb::ndim<2>>>(from[4])),
        rotation(nb::cast<In<double, nb::shape<-1, 3, 3>>>(from[5])) {
    const std::size_t n = q.shape(0), nv = mean.shape(1);
    require(n >= 3 && nv >= 6 && q.shape(1) == nv + 1 && mean.shape(0) + 1 == n && turn.shape(0) + 1 == n &&
                velocity.shape(0) + 2 == n && velocity.shape(1) == nv && acceleration.shape(0) + 2 == n &&
                acceleration.shape(1) == nv && rotation.shape(0) == n,
            "the motion's arrays do not fit one another");
  }
  std::size_t stages() const { return q.shape(0); }
  std::size_t size() const { return mean.shape(1); }
  Matrix3 turned(std::size_t k) const { return MapOf<RowMajor3>(rotation.data() + 9 * k); }
  Matrix3 turning(std::size_t k) const { return MapOf<RowMajor3>(turn.data() + 9 * k); }

  In<double, nb::ndim<2>> q, mean;
  In<double, nb::shape<-1, 3, 3>> turn;
  In<double, nb::ndim<2>> velocity, acceleration;
  In<double, nb::shape<-1, 3, 3>> rotation;
};

// Readings; without rates they are not late.
struct Samples {
  explicit Samples(const nb::tuple &from)
      : steps(nb::cast<In<int64_t, nb::ndim<1>>>(from[0])), values(nb::cast<In<double, nb::ndim<2>>>(from[1])),
        weights(nb::cast<In<double, nb::ndim<1>>>(from[2])), rates(nb::cast<In<double, nb::ndim<3>>>(from[3])) {}
  In<int64_t, nb::ndim<1>> steps;
  In<double, nb::ndim<2>> values;
  In<double, nb::ndim<1>> weights;
  In<double, nb::ndim<3>> rates;
};

class SensorRows {
 public:
  // kernel/sensor_rows.py says what the constants are.
  SensorRows(int kind, int window, double step, In<double, nb::shape<6, 6>> adjoint, In<double, nb::shape<3>> offset,
             In<double, nb::shape<4>> turn, In<double, nb::ndim<1>> sigma, In<double, nb::shape<3>> extra, bool has_bias,
             bool has_offset, bool late)
      : kind_(static_cast<Kind>(kind)), window_(static_cast<Window>(window)), dt_(step),
        adjoint_(MapOf<Eigen::Matrix<double, 6, 6, Eigen::RowMajor>>(adjoint.data())),
        offset_(MapOf<Vector3>(offset.data())), extra_(MapOf<Vector3>(extra.data())), turn_(quaternion(turn.data())),
        sigma_(MapOf<Eigen::VectorXd>(sigma.data(), sigma.shape(0))), has_bias_(has_bias), has_offset_(has_offset),
        late_(late), moves_(kind == kVelocity || kind == kGyroscope || kind == kAccelerometer) {
    require(kind_ <= kVelocity || sigma_.size() == (kind_ == kPose ? 6 : 3), "there are not as many sigmas as rows");
  }

  // (B, m) whitened.
  Out<2> residual(nb::tuple motion, nb::tuple samples, In<double, nb::ndim<1>> constants) const {
    const Motion moved(motion);
    const Samples read(samples);
    check(moved, read, constants.shape(0));
    const std::size_t count = read.steps.shape(0), m = sigma_.size();
    auto [out, data] = make<2>({count, m});
    Terms terms(m);
    for (std::size_t b = 0; b < count; ++b) {
      Eigen::Map<Eigen::VectorXd> row(data + b * m, m);
      if (kind_ <= kVelocity) {
        row = joint_error(moved, read, b, constants.data());
      } else {
        evaluate(moved, read, b, constants.data(), false, terms);
        row = terms.error;
      }
      row.array() *= read.weights.data()[b] / sigma_.array();
    }
    return out;
  }

  // The same with its derivatives by one, two or three stages, by all constants and by the reading.
  std::tuple<Out<2>, Out<3>, Out<3>, Out<3>> linearise(nb::tuple motion, nb::tuple samples,
                                                       In<double, nb::ndim<1>> constants, std::size_t column,
                                                       std::size_t all) const {
    const Motion moved(motion);
    const Samples read(samples);
    check(moved, read, constants.shape(0));
    const std::size_t count = read.steps.shape(0), m = sigma_.size(), own = constants.shape(0), nv = moved.size();
    require(column + own <= all, "there are not as many constants");
    const std::size_t width = !moves_ ? 1 : window_ == kBefore || window_ == kAfter ? 2 : 3;
    const std::size_t d = kind_ <= kVelocity ? 0 : m, in_time = own - (late_ ? 1 : 0);
    auto [out, data] = make<2>({count, m});
    auto [by_stage, stage_data] = make<3>({count, m, width * nv});
    auto [by_constant, constant_data] = make<3>({count, m, own > 0 ? all : 0});
    auto [by_reading, reading_data] = make<3>({count, m, d});
    Terms terms(m);
    for (std::size_t b = 0; b < count; ++b) {
      Eigen::Map<Eigen::VectorXd> row(data + b * m, m);
      Eigen::Map<RowMajor> stages(stage_data + b * m * width * nv, m, width * nv);
      Eigen::Map<RowMajor> slopes(constant_data + (own > 0 ? b * m * all : 0), m, own > 0 ? all : 0);
      if (kind_ <= kVelocity) {
        row = joint_error(moved, read, b, constants.data());
        joint_stages(nv, stages);
        if (own > 0) slopes.middleCols(column, own).setIdentity();
      } else {
        evaluate(moved, read, b, constants.data(), true, terms);
        row = terms.error;
        write_stages(moved, read.steps.data()[b], terms, stages);
        if (in_time > 0) slopes.middleCols(column, in_time) = terms.constants.leftCols(in_time);
        if (late_) slopes.col(column + own - 1) = terms.reading * terms.rate;
        Eigen::Map<RowMajor>(reading_data + b * m * d, m, d) = terms.reading;
      }
      const Eigen::ArrayXd scale = read.weights.data()[b] / sigma_.array();
      row.array() *= scale;
      stages.array().colwise() *= scale;
      slopes.array().colwise() *= scale;
      Eigen::Map<RowMajor>(reading_data + b * m * d, m, d).array().colwise() *= scale;
    }
    return {out, by_stage, by_constant, by_reading};
  }

 private:
  // Of one sample, not whitened.
  struct Terms {
    explicit Terms(std::size_t m)
        : error(m <= 6 ? m : 0), rate(error.size()), by_q(error.size(), 6), by_v(by_q), by_a(by_q),
          reading(error.size(), error.size()), constants(error.size(), 6) {
      by_v.setZero();
      by_a.setZero();
      constants.setZero();
    }
    Column error, rate;
    Rows by_q, by_v, by_a;
    Small reading, constants;
    Vector6 velocity, acceleration;
  };

  void check(const Motion &motion, const Samples &samples, std::size_t constants) const {
    const std::size_t count = samples.steps.shape(0), m = sigma_.size();
    const std::size_t bias = kind_ <= kVelocity ? m : kind_ == kOrientation ? 1 : 3;
    const std::size_t width = kind_ <= kVelocity ? m : kind_ == kOrientation ? 4 : kind_ == kPose ? 7 : 3;
    require(samples.values.shape(0) == count && samples.values.shape(1) == width && samples.weights.shape(0) == count,
            "samples have the wrong shape");
    require(kind_ > kVelocity || motion.size() == m + 6, "there are not as many joints as readings");
    require(constants == (has_bias_ ? bias : 0) + (has_offset_ ? 3 : 0) + (late_ ? 1 : 0),
            "there are not as many constants as the sensor has");
    require(samples.rates.shape(0) == 0 || (late_ && samples.rates.shape(0) == count && samples.rates.shape(2) == m),
            "rates have the wrong shape");
    const int64_t first = moves_ && window_ != kAfter ? 1 : 0;
    const int64_t last = static_cast<int64_t>(motion.stages()) - 1 - (moves_ && window_ != kBefore ? 1 : 0);
    for (std::size_t b = 0; b < count; ++b)
      require(samples.steps.data()[b] >= first && samples.steps.data()[b] <= last,
              "a sample is at no stage of the window");
  }

  Eigen::VectorXd joint_error(const Motion &motion, const Samples &samples, std::size_t b,
                              const double *constants) const {
    const std::size_t m = sigma_.size(), step = samples.steps.data()[b], nv = motion.size();
    Eigen::VectorXd out = -MapOf<Eigen::VectorXd>(samples.values.data() + b * m, m);
    if (has_bias_) out += MapOf<Eigen::VectorXd>(constants, m);
    if (kind_ == kPosition)
      out += MapOf<Eigen::VectorXd>(motion.q.data() + step * (nv + 1) + 7, m);
    else if (window_ == kBefore || window_ == kAfter)
      out += MapOf<Eigen::VectorXd>(motion.mean.data() + (step - (window_ == kBefore)) * nv + 6, m);
    else
      out += MapOf<Eigen::VectorXd>(motion.velocity.data() + (step - 1) * nv + 6, m);
    return out;
  }

  void joint_stages(std::size_t nv, Eigen::Map<RowMajor> &stages) const {
    const std::size_t m = sigma_.size(), last = stages.cols() - m;
    if (kind_ == kPosition) {
      stages.rightCols(m).setIdentity();
      return;
    }
    const double by = (static_cast<std::size_t>(stages.cols()) == 2 * nv ? 1.0 : 0.5) / dt_;
    stages.middleCols(6, m).diagonal().setConstant(-by);
    stages.middleCols(last, m).diagonal().setConstant(by);
  }

  void evaluate(const Motion &motion, const Samples &samples, std::size_t b, const double *constants, bool derivatives,
                Terms &terms) const {
    const std::size_t step = samples.steps.data()[b], width = samples.values.shape(1), nv = motion.size();
    double value[7];
    for (std::size_t i = 0; i < width; ++i) value[i] = samples.values.data()[b * width + i];
    advance(samples, b, constants, value, terms);
    const Matrix3 base = motion.turned(step);
    if (moves_) follow(motion, step, base, terms);
    const double *q = motion.q.data() + step * (nv + 1);
    const Eigen::Quaterniond turned = quaternion(q + 3) * turn_;
    const Vector3 bias = has_bias_ && kind_ != kOrientation ? Vector3(MapOf<Vector3>(constants)) : Vector3::Zero();
    if (kind_ == kGyroscope) {
      terms.error = adjoint_.bottomRows<3>() * terms.velocity + bias - MapOf<Vector3>(value);
      terms.by_q.setZero();
      terms.by_v = adjoint_.bottomRows<3>();
      terms.reading = -Matrix3::Identity();
      terms.constants.leftCols<3>().setIdentity();
    } else if (kind_ == kAccelerometer) {
      const Vector6 velocity = adjoint_ * terms.velocity;
      const Vector3 linear = velocity.head<3>(), angular = velocity.tail<3>();
      const Vector3 gravity = turned.toRotationMatrix().transpose() * extra_;
      terms.error = adjoint_.topRows<3>() * terms.acceleration + angular.cross(linear) - gravity + bias;
      terms.error -= MapOf<Vector3>(value);
      if (!derivatives) return;
      terms.by_q = -skew(gravity) * adjoint_.bottomRows<3>();
      terms.by_v = skew(angular) * adjoint_.topRows<3>() - skew(linear) * adjoint_.bottomRows<3>();
      terms.by_a = adjoint_.topRows<3>();
      terms.reading = -Matrix3::Identity();
      terms.constants.leftCols<3>().setIdentity();
    } else if (kind_ == kOrientation) {
      orient(quaternion(value), turned, has_bias_ ? constants[0] : 0.0, terms);
    } else {
      place(value, turned, MapOf<Vector3>(q) + base * offset_, bias,
            has_offset_ ? Vector3(extra_ + MapOf<Vector3>(constants + (has_bias_ ? 3 : 0))) : extra_, derivatives,
            terms);
    }
  }

  // A reading as it would have been a delay later, and its rate then (sensors/late.py).
  void advance(const Samples &samples, std::size_t b, const double *constants, double *value, Terms &terms) const {
    terms.rate.setZero();
    if (samples.rates.shape(0) == 0) return;
    const std::size_t orders = samples.rates.shape(1), m = sigma_.size(), split = kind_ == kOrientation ? 0 : 3;
    const double by = constants[(has_bias_ ? (kind_ == kOrientation ? 1 : 3) : 0) + (has_offset_ ? 3 : 0)];
    Column moved = Column::Zero(m);
    double term = 1.0;
    for (std::size_t order = 1; order <= orders; ++order) {  // by^(order - 1) / order!
      term /= static_cast<double>(order);
      const MapOf<Eigen::VectorXd> rate(samples.rates.data() + (b * orders + order - 1) * m, m);
      moved += by * term * rate;
      terms.rate += static_cast<double>(order) * term * rate;
      term *= by;
    }
    for (std::size_t i = 0; i < split; ++i) value[i] += moved[i];
    if (kind_ < kOrientation) return;
    const Eigen::Quaterniond turned = quaternion(value + split) * quaternion_exp(moved.tail<3>());
    Eigen::Map<Eigen::Vector4d>(value + split) = turned.coeffs();
  }

  // Velocity and acceleration that a reading is compared with (Readings._states).
  void follow(const Motion &motion, std::size_t step, const Matrix3 &base, Terms &terms) const {
    const std::size_t nv = motion.size();
    if (window_ == kBefore || window_ == kAfter) {
      terms.velocity = MapOf<Vector6>(motion.mean.data() + (step - (window_ == kBefore)) * nv);
      terms.velocity.head<3>() = (base.transpose() * terms.velocity.head<3>()).eval();
      return;
    }
    terms.velocity = MapOf<Vector6>(motion.velocity.data() + (step - 1) * nv);
    terms.acceleration = MapOf<Vector6>(motion.acceleration.data() + (step - 1) * nv);
  }

  // Tilt and heading of an orientation filter (sensors/imu_orientation.py).
  void orient(const Eigen::Quaterniond &read, const Eigen::Quaterniond &turned, double zero, Terms &terms) const {
    constexpr double kSmall = 1e-4, kUpsideDown = 1e-3;
    const Matrix3 measured = read.toRotationMatrix(), turn = turned.toRotationMatrix();
    const Vector3 up = turn.row(2).transpose(), seen = measured * up;
    const Eigen::Vector2d flat = seen.head<2>();
    const double height = seen.z(), sine = flat.norm();
    const bool small = sine < kSmall && height > 0.0;
    const double safe = std::max(sine, height > 0.0 ? kSmall : kUpsideDown), angle = std::atan2(sine, height);
    const double factor = small ? 1.0 + sine * sine / 6.0 : angle / safe;
    const double slope = small ? -1.0 / 3.0 : (angle * height - safe) / (safe * safe * safe);
    const Matrix3 by = measured * skew(up);
    Matrix3 by_body;
    by_body.topRows<2>() = factor * by.topRows<2>() + slope * flat * by.row(2);
    const Eigen::Vector2d direction = sine > 1e-12 ? Eigen::Vector2d(flat / sine) : Eigen::Vector2d(1.0, 0.0);
    const Eigen::Quaterniond error = turned * read.conjugate();
    const double x = error.x(), y = error.y(), z = error.z(), w = error.w();
    const double norm = std::max(z * z + w * w, kUpsideDown * kUpsideDown);
    by_body.row(2) = Eigen::RowVector3d((w * y + z * x) / norm, (z * y - w * x) / norm, 1.0) * turn;
    const double heading = 2.0 * std::atan2(z, w) + zero + M_PI;
    terms.error << (small ? Eigen::Vector2d(factor * flat) : Eigen::Vector2d(angle * direction)),
        heading - 2.0 * M_PI * std::floor(heading / (2.0 * M_PI)) - M_PI;
    terms.by_q = by_body * adjoint_.bottomRows<3>();
    terms.reading = -by_body;
    terms.constants(2, 0) = 1.0;
  }

  // Place and turn of markers (sensors/mocap_pose.py).
  void place(const double *value, const Eigen::Quaterniond &turned, const Vector3 &position, const Vector3 &bias,
             const Vector3 &offset, bool derivatives, Terms &terms) const {
    const Eigen::Quaterniond beside = quaternion_exp(bias);
    const Vector3 error = stage_math::quaternion_log(quaternion(value + 3).conjugate() * (turned * beside));
    const Matrix3 turn = turned.toRotationMatrix();
    terms.error << position + turn * offset - MapOf<Vector3>(value), error;
    if (!derivatives) return;
    const Matrix3 by_angle = stage_math::right_log_jacobian(error);
    terms.by_q.topRows<3>() = turn * (adjoint_.topRows<3>() - skew(offset) * adjoint_.bottomRows<3>());
    terms.by_q.bottomRows<3>() = by_angle * beside.toRotationMatrix().transpose() * adjoint_.bottomRows<3>();
    terms.reading.setZero();
    terms.reading.topLeftCorner<3, 3>() = -Matrix3::Identity();
    terms.reading.bottomRightCorner<3, 3>() = -by_angle.transpose();
    if (has_bias_) terms.constants.bottomLeftCorner<3, 3>() = by_angle * stage_math::right_log_jacobian(bias).inverse();
    if (has_offset_) terms.constants.block<3, 3>(0, has_bias_ ? 3 : 0) = turn;
  }

  // Derivatives by the stages that a sample's velocity and acceleration need (models/discrete_motion.py).
  void write_stages(const Motion &motion, std::size_t step, const Terms &terms, Eigen::Map<RowMajor> &stages) const {
    const std::size_t nv = motion.size();
    if (!moves_) {
      stages.leftCols<6>() = terms.by_q;
    } else if (window_ == kBefore || window_ == kAfter) {
      const std::size_t own = window_ == kBefore, at = step - own;
      const Matrix3 first = motion.turned(at), last = motion.turned(at + 1), turn = motion.turning(at);
      const Matrix3 read = (own ? last : first).transpose();
      const Rows scaled = terms.by_v / dt_;
      stages.middleCols<3>(0) = -scaled.leftCols<3>() * (read * first);
      stages.middleCols<3>(nv) = scaled.leftCols<3>() * (read * last);
      stages.middleCols<3>(3) = -scaled.rightCols<3>() * turn.transpose();
      stages.middleCols<3>(nv + 3) = scaled.rightCols<3>() * turn;
      const Vector3 linear = read * MapOf<Vector3>(motion.mean.data() + at * nv);
      stages.middleCols<3>(own * nv + 3) += terms.by_v.leftCols<3>() * skew(linear);
      stages.middleCols<6>(own * nv) += terms.by_q;
    } else {
      const std::size_t at = step - 1;
      const Matrix3 here = motion.turned(step).transpose(), before = motion.turning(at), after = motion.turning(at + 1);
      const Vector3 linear = terms.velocity.head<3>(), angular = terms.velocity.tail<3>();
      Rows slow = terms.by_v * (0.5 / dt_), fast = terms.by_a / (dt_ * dt_);
      const Rows pushed = fast;
      slow.leftCols<3>() -= 0.5 * dt_ * pushed.leftCols<3>() * skew(angular);
      slow.rightCols<3>() += 0.5 * dt_ * pushed.leftCols<3>() * skew(linear);
      const Rows through_before = fast - slow, through_after = fast + slow;
      stages.middleCols<3>(0) = through_before.leftCols<3>() * (here * motion.turned(at));
      stages.middleCols<3>(nv) = -2.0 * fast.leftCols<3>();
      stages.middleCols<3>(2 * nv) = through_after.leftCols<3>() * (here * motion.turned(at + 2));
      stages.middleCols<3>(3) = through_before.rightCols<3>() * before.transpose();
      const Vector3 bare = terms.acceleration.head<3>() + angular.cross(linear);
      stages.middleCols<3>(nv + 3) =
          -through_before.rightCols<3>() * before - through_after.rightCols<3>() * after.transpose() +
          dt_ * dt_ * fast.leftCols<3>() * skew(bare) + 2.0 * dt_ * slow.leftCols<3>() * skew(linear);
      stages.middleCols<3>(2 * nv + 3) = through_after.rightCols<3>() * after;
      stages.middleCols<6>(nv) += terms.by_q;
    }
  }

  Kind kind_;
  Window window_;
  double dt_;
  Eigen::Matrix<double, 6, 6> adjoint_;
  Vector3 offset_, extra_;
  Eigen::Quaterniond turn_;
  Eigen::VectorXd sigma_;
  bool has_bias_, has_offset_, late_, moves_;
};

}  // namespace

NB_MODULE(_sensor_rows, m) {
  using namespace nb::literals;
  m.doc() = "Residuals of a walking robot's sensors.";
  nb::class_<SensorRows>(m, "SensorRows")
      .def(nb::init<int, int, double, In<double, nb::shape<6, 6>>, In<double, nb::shape<3>>, In<double, nb::shape<4>>,
                    In<double, nb::ndim<1>>, In<double, nb::shape<3>>, bool, bool, bool>(),
           "kind"_a, "window"_a, "step"_a, "adjoint"_a, "offset"_a, "turn"_a, "sigma"_a, "extra"_a, "has_bias"_a,
           "has_offset"_a, "late"_a)
      .def("residual", &SensorRows::residual, "motion"_a, "samples"_a, "constants"_a)
      .def("linearise", &SensorRows::linearise, "motion"_a, "samples"_a, "constants"_a, "column"_a, "count"_a);
}
