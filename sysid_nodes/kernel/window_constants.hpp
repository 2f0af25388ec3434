// SPDX-License-Identifier: Apache-2.0
// WindowKernel's robot and ground as the unknown constants have them, and the derivatives by these constants:
// systems/prime/surroundings.py and DynamicsRows.constant_columns in C++. Included by window_kernel.hpp.
#pragma once

inline void WindowKernel::check(const Configurations &q, const Variables &w, const Surroundings &around) const {
  require(q.shape(1) == static_cast<std::size_t>(model_.nq), "configurations have the wrong size");
  require(q.shape(0) >= 3, "a window needs three stages");
  require(w.shape(0) == q.shape(0) && w.shape(1) == nc_, "contact variables have the wrong shape");
  require(around.inertia.shape(0) + 1 == static_cast<std::size_t>(model_.njoints),
          "every body needs inertial parameters");
  require(around.offsets.shape(0) == nc_ && around.friction.shape(1) == n_, "offsets or friction do not fit the robot");
  require(around.torque.shape(0) + 2 == q.shape(0) && around.torque.shape(1) == n_, "torques have the wrong shape");
  require(around.firmness.shape(0) + 2 == q.shape(0) && around.firmness.shape(1) == nc_,
          "contacts' firmness has the wrong shape");
  require(around.scale.shape(0) + 2 == q.shape(0) && around.scale.shape(1) == nv_, "scales have the wrong shape");
}

inline void WindowKernel::check(const Columns &columns) const {
  const std::size_t bodies = columns.bodies.shape(0);
  require(columns.slopes.shape(0) == bodies && columns.weight.shape(0) == columns.count(), "parameters do not fit");
  for (std::size_t b = 0; b < bodies; ++b)
    require(columns.bodies.data()[b] >= 0 && columns.bodies.data()[b] < model_.njoints - 1, "a body is not there");
  const auto fits = [&](int64_t first, std::size_t wide) {
    return first < 0 || (first >= static_cast<int64_t>(10 * bodies) && first + wide <= columns.count());
  };
  std::size_t feet = 0;
  for (std::size_t c = 0; c < columns.foot.shape(0); ++c) {
    require(columns.foot.data()[c] >= 0, "a foot is not there");
    feet = std::max<std::size_t>(feet, columns.foot.data()[c] + 1);
  }
  const bool joints = columns.shares.shape(0) == n_ && columns.factor.shape(0) == n_ && columns.limits.shape(0) == n_ &&
                      columns.rotors.shape(0) == n_;
  require(joints && columns.foot.shape(0) == nc_, "columns do not fit the robot");
  require(columns.height() >= 0 && fits(columns.height(), 1) && fits(columns.tilt(), 2) && fits(columns.feet(), 3 * feet) &&
              fits(columns.gains(), columns.shares.shape(1)) && fits(columns.drives(), 3) && fits(columns.masses(), 1) &&
              fits(columns.give(), 1) && fits(columns.lag(), 1) && fits(columns.friction(), 1),
          "columns do not fit");
}

inline void WindowKernel::set_surroundings(const Surroundings &around) {
  set(around.inertia);
  for (std::size_t c = 0; c < nc_; ++c) contacts_[c].offset = MapOf<Vector3>(around.offsets.data() + 3 * c);
  friction_ = MapOf<RowMajor>(around.friction.data(), 4, n_);
  force_sigma_ = around.force_sigma;
  plane_height_ = level_height_ + around.ground.data()[0];
  compliance_ = around.ground.data()[3];
  mu_ = around.ground.data()[5];
  per_force_[0] = per_force_[1] / mu_;
  scale_[0] = dt_ * mu_ * per_gap_;
  const double lag = around.ground.data()[4], slowed = std::abs(lag) + dt_;
  kept_ = lag / slowed;
  kept_slope_ = dt_ / (slowed * slowed);
  give_ = (1.0 - kept_) * compliance_ / (dt_ * mu_);
  // The level axes turned by R = exp(turn); dR = R [J turn'] with the inverse of the logarithm's derivative.
  const Vector3 turn = level_.bottomRows<2>().transpose() * MapOf<stage_math::Vector2>(around.ground.data() + 1);
  const double angle = turn.norm();
  const Matrix3 rotation = angle > 0.0 ? Eigen::AngleAxisd(angle, Vector3(turn / angle)).toRotationMatrix()
                                       : Matrix3(Matrix3::Identity());
  const Matrix3 right = stage_math::right_log_jacobian(turn).inverse();
  axes_ = level_ * rotation.transpose();
  for (int axis = 0; axis < 2; ++axis)
    axes_slope_[axis] =
        -level_ * stage_math::skew(right * level_.row(1 + axis).transpose()) * rotation.transpose();
}

// Whitened derivatives (rows, p) by all constants at inner stage k.
inline void WindowKernel::constant_columns(const Motion &motion, std::size_t k, const Stage &stage,
                                           const Surroundings &around, const Columns &columns, const double *w,
                                           const double *residual, double *out) {
  const std::size_t p = columns.count(), bodies = columns.bodies.shape(0);
  Rows rows(out, this->rows(), p, Eigen::OuterStride<>(p));
  Vector rest = stage.rigid;
  Eigen::Matrix<double, Eigen::Dynamic, 10, Eigen::RowMajor> regressor(nv_, 10);
  for (std::size_t b = 0; b < bodies; ++b) {
    const int64_t body = columns.bodies.data()[b];
    add_regressor(body + 1, regressor.data(), 0, 0, 1);
    rest.noalias() -= regressor * MapOf<Vector10>(around.inertia.data() + 10 * body);
    rows.block(0, 10 * b, nv_, 10).noalias() =
        stage.scale.asDiagonal() * (regressor * MapOf<RowMajor>(columns.slopes.data() + 100 * b, 10, 10));
  }
  for (std::size_t c = 0; c < nc_; ++c) {
    const double per_gap = stage.firm[3 * c] / (dt_ * mu_);
    rows(nv_ + 3 * c, columns.height()) = -per_gap * (1.0 + kept_ * stage.deepens[c]);
    if (columns.give() >= 0) rows(nv_ + 3 * c, columns.give()) = per_gap * (1.0 - kept_) * stage.force[3 * c];
    if (columns.lag() >= 0)
      rows(nv_ + 3 * c, columns.lag()) =
          per_gap * kept_slope_ * (stage.depth[c] - compliance_ * stage.force[3 * c]);
  }
  if (columns.friction() >= 0) add_friction(stage, w, around.smoothing, columns.friction(), rows);
  if (columns.tilt() >= 0) add_tilt(motion, k, stage, columns.tilt(), rows);
  if (columns.feet() >= 0) add_feet(motion, k, stage, columns, rows);
  for (std::size_t j = 0; j < n_; ++j) {
    const double scale = stage.scale[6 + j];
    if (columns.gains() >= 0) {
      const std::size_t gains = columns.shares.shape(1);
      const double wanted = residual[6 + j] + scale * around.torque.data()[k * n_ + j];
      for (std::size_t g = 0; g < gains; ++g)
        rows(6 + j, columns.gains() + g) = wanted / columns.factor.data()[j] * columns.shares.data()[j * gains + g];
    }
    if (columns.drives() >= 0) {
      const double speed = motion.velocity.data()[k * nv_ + 6 + j], limit = scale * columns.limits.data()[j];
      rows(6 + j, columns.drives()) = std::tanh(speed / rest_) * limit;
      rows(6 + j, columns.drives() + 1) = speed * limit;
      rows(6 + j, columns.drives() + 2) = scale * columns.rotors.data()[j] * motion.acceleration.data()[k * nv_ + 6 + j];
    }
  }
  // What is left of the rigid bodies' part without the identified ones is in proportion to the others' masses.
  if (columns.masses() >= 0) rows.col(columns.masses()).head(nv_) = stage.scale.cwiseProduct(rest);
  const MapOf<Vector> weight(columns.weight.data(), p);
  const auto weigh = [&](std::size_t i) { rows.row(i) -= residual[i] * weight.transpose(); };
  for (std::size_t i = 0; i < 6; ++i) weigh(i);
  for (std::size_t i = nv_ + 3 * nc_; i < this->rows(); ++i) weigh(i);
}

// By the logarithm of the ground's friction, forces being held (systems/prime/contacts.py: by_friction).
inline void WindowKernel::add_friction(const Stage &stage, const double *w, double smoothing, std::size_t column,
                                       Rows &rows) const {
  for (std::size_t c = 0; c < nc_; ++c) {
    const MapOf<Vector3> here(w + 3 * c);
    const Vector3 velocity = stage_math::smooth_projection(here, smoothing).value;
    const double pressed = stage_math::smooth_projection(-here, smoothing).value[0];
    Vector3 raw = 2.0 * pressed * velocity[0] / smoothing * velocity;
    raw[0] -= 2.0 * velocity[0];
    if (coulomb_) raw[0] += stage.root[c] - rounding_;
    rows.col(column).segment<3>(nv_ + 3 * c) = stage.firm.segment<3>(3 * c).cwiseProduct(raw);
  }
}

// By the ground's slope: forces, the arms to the lowest points, and the directions that gap and sliding have.
inline void WindowKernel::add_tilt(const Motion &motion, std::size_t k, const Stage &stage, std::size_t first,
                                   Rows &rows) const {
  for (int axis = 0; axis < 2; ++axis) {
    const Matrix3 &turned = axes_slope_[axis];
    const std::size_t column = first + axis;
    for (std::size_t c = 0; c < nc_; ++c) {
      const std::size_t previous = k * nc_ + c, own = previous + nc_, following = own + nc_;
      const Vector3 local = stage.force.segment<3>(3 * c), arm_slope = -radii_[c] * turned.row(0).transpose();
      const Vector3 force = turned.transpose() * local, held = axes_.transpose() * local;
      const Vector3 moment = arm(c).cross(force) + arm_slope.cross(held);
      rows.col(column).head(nv_) -= stage.scale.cwiseProduct(motion.linear[own].transpose() * force +
                                                             motion.angular[own].transpose() * moment);
      const Eigen::Matrix<double, 2, 3> lever =
          -(turned.bottomRows<2>() * stage_math::skew(arm(c)) + axes_.bottomRows<2>() * stage_math::skew(arm_slope)) /
          dt_;
      const stage_math::Vector2 slip =
          turned.bottomRows<2>() * (motion.centre[following] - motion.centre[previous]) / (2.0 * dt_) +
          0.5 * lever * (motion.contact_turn[previous] + motion.contact_turn[own]);
      add_touch(stage, c, column, turned.row(0).dot(motion.centre[own]), turned.row(0).dot(motion.centre[previous]),
                slip, rows);
    }
  }
}

// By the places of the feet on their links.
inline void WindowKernel::add_feet(const Motion &motion, std::size_t k, const Stage &stage, const Columns &columns,
                                   Rows &rows) const {
  for (std::size_t c = 0; c < nc_; ++c) {
    const std::size_t previous = k * nc_ + c, own = previous + nc_, following = own + nc_;
    const Vector3 held = axes_.transpose() * stage.force.segment<3>(3 * c);
    for (int axis = 0; axis < 3; ++axis) {
      const std::size_t column = columns.feet() + 3 * columns.foot.data()[c] + axis;
      const Vector3 moved = motion.foot[own].col(axis);
      rows.col(column).head(nv_) -=
          stage.scale.cwiseProduct(motion.angular[own].transpose() * moved.cross(held));
      const stage_math::Vector2 slip =
          axes_.bottomRows<2>() * (motion.foot[following].col(axis) - motion.foot[previous].col(axis)) / (2.0 * dt_);
      add_touch(stage, c, column, axes_.row(0).dot(moved), axes_.row(0).dot(motion.foot[previous].col(axis)), slip, rows);
    }
  }
}

// Adds the derivatives of a contact's gap, that of the stage before, and sliding velocity by a constant.
inline void WindowKernel::add_touch(const Stage &stage, std::size_t c, std::size_t column, double gap, double before,
                                    const stage_math::Vector2 &slip, Rows &rows) const {
  double head = (gap + kept_ * stage.deepens[c] * before) / (dt_ * mu_);
  if (coulomb_) head += stage.velocity.segment<2>(3 * c + 1).dot(slip) / stage.root[c];
  rows(nv_ + 3 * c, column) += stage.firm[3 * c] * head;
  rows(nv_ + 3 * c + 1, column) += stage.firm[3 * c + 1] * slip[0];
  rows(nv_ + 3 * c + 2, column) += stage.firm[3 * c + 2] * slip[1];
}
