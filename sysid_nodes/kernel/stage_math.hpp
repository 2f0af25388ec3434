// SPDX-License-Identifier: Apache-2.0
// Rotations and the smoothed cone pair, for one stage at a time: models/rotations.py and models/contact.py in C++.
#pragma once

#include <Eigen/Dense>

#include <cmath>

namespace stage_math {

using Vector2 = Eigen::Vector2d;
using Vector3 = Eigen::Vector3d;
using Matrix3 = Eigen::Matrix3d;

inline Matrix3 skew(const Vector3 &v) {
  Matrix3 out;
  out << 0.0, -v.z(), v.y(), v.z(), 0.0, -v.x(), -v.y(), v.x(), 0.0;
  return out;
}

// angle / sine, given both sine and cosine of an angle below pi.
inline double angle_over_sine(double sine, double cosine) {
  return sine > 1e-4 ? std::atan2(sine, cosine) / sine : 1.0 + sine * sine / 6.0;
}

inline Vector3 quaternion_log(const Eigen::Quaterniond &q) {
  const double sign = q.w() < 0.0 ? -1.0 : 1.0;
  return 2.0 * sign * angle_over_sine(q.vec().norm(), std::abs(q.w())) * q.vec();
}

inline Vector3 matrix_log(const Matrix3 &r) {
  const Vector3 vector = 0.5 * Vector3(r(2, 1) - r(1, 2), r(0, 2) - r(2, 0), r(1, 0) - r(0, 1));
  return angle_over_sine(vector.norm(), 0.5 * (r.trace() - 1.0)) * vector;
}

// J with log(exp(r) exp(d)) = r + J d to first order.
inline Matrix3 right_log_jacobian(const Vector3 &r) {
  const double square = r.squaredNorm(), angle = std::sqrt(square);
  const double factor =
      angle < 1e-2 ? 1.0 / 12.0 + square / 720.0 : (1.0 - 0.5 * angle / std::tan(0.5 * angle)) / square;
  const Matrix3 cross = skew(r);
  return Matrix3::Identity() + 0.5 * cross + factor * cross * cross;
}

// p(w) of the cone pair, and its derivative.
struct Projection {
  Vector3 value;
  Matrix3 slope;
};

inline Projection smooth_projection(const Vector3 &w, double smoothing) {
  const double length = w.tail<2>().norm(), low = w[0] - length, high = w[0] + length;
  const Vector2 direction = length > 0.0 ? Vector2(w.tail<2>() / length) : Vector2::Zero();
  const double root_low = std::sqrt(low * low + 4.0 * smoothing), root_high = std::sqrt(high * high + 4.0 * smoothing);
  // For a negative eigenvalue the sum cancels; its conjugate form does not.
  const auto side = [smoothing](double value, double root) {
    return value > 0.0 ? 0.5 * (value + root) : 2.0 * smoothing / (root + std::abs(value));
  };
  const double p_low = side(low, root_low), p_high = side(high, root_high);
  const double slope_low = 0.5 * (1.0 + low / root_low), slope_high = 0.5 * (1.0 + high / root_high);
  const double mean = 0.5 * (slope_high + slope_low), half = 0.5 * (slope_high - slope_low);
  const double across = 0.5 * (1.0 + 2.0 * w[0] / (root_high + root_low));
  Projection out;
  out.value << 0.5 * (p_high + p_low), 0.5 * (p_high - p_low) * direction;
  out.slope(0, 0) = mean;
  out.slope.block<2, 1>(1, 0) = half * direction;
  out.slope.block<1, 2>(0, 1) = half * direction.transpose();
  out.slope.block<2, 2>(1, 1) =
      across * Eigen::Matrix2d::Identity() + (mean - across) * direction * direction.transpose();
  return out;
}

}  // namespace stage_math
