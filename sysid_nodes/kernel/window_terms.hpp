// SPDX-License-Identifier: Apache-2.0
// The terms of WindowKernel, stage by stage. Included by window_kernel.hpp.
#pragma once

inline WindowKernel::Motion::Motion(const WindowKernel &robot, std::size_t stages)
    : mean(make<2>({stages - 1, robot.nv_}).first), velocity(make<2>({stages - 2, robot.nv_}).first),
      acceleration(make<2>({stages - 2, robot.nv_}).first), turn(make<3>({stages - 1, 3, 3}).first),
      rotation(make<3>({stages, 3, 3}).first), centre(stages * robot.nc_), contact_turn((stages - 1) * robot.nc_),
      contact_turn_jacobian((stages - 1) * robot.nc_), foot(stages * robot.nc_),
      linear(stages * robot.nc_, Rows3::Zero(3, robot.nv_)),
      angular(stages * robot.nc_, Rows3::Zero(3, robot.nv_)) {}

inline WindowKernel::Stage::Stage(const WindowKernel &robot)
    : scale(robot.nv_), rigid(robot.nv_), wanted(robot.nv_), velocity(3 * robot.nc_), firm(3 * robot.nc_), force(3 * robot.nc_),
      root(robot.nc_),
      depth(robot.nc_), deepens(robot.nc_), columns(robot.nv_, 3 * robot.nc_), touching(3 * robot.nc_, 3 * robot.nv_) {}

inline WindowKernel::Terms::Terms(const WindowKernel &robot)
    : by_q(robot.nv_, robot.nv_), slow(by_q), fast(by_q), before(by_q), after(by_q), all(robot.nv_, 3 * robot.nv_),
      pushes(3 * robot.nc_), turns(3 * robot.nc_) {}

// Kinematics of all stages and the motion between them (models/discrete_motion.py, models/contact_motion.py).
inline void WindowKernel::follow(const Configurations &q, Motion &motion, bool derivatives) {
  const std::size_t count = q.shape(0);
  Eigen::Map<RowMajor> mean(motion.mean.data(), count - 1, nv_), velocity(motion.velocity.data(), count - 2, nv_),
      acceleration(motion.acceleration.data(), count - 2, nv_);
  for (std::size_t k = 0; k < count; ++k) {
    const MapOf<Vector> here(q.data() + k * model_.nq, model_.nq);
    const Eigen::Quaterniond turned(here[6], here[3], here[4], here[5]);
    const Matrix3 rotation = turned.toRotationMatrix();
    Eigen::Map<RowMajor3>(motion.rotation.data() + 9 * k) = rotation;
    pin::computeJointJacobians(model_, data_, here);
    for (std::size_t c = 0; c < nc_; ++c) {
      const std::size_t at = k * nc_ + c;
      const pin::SE3 &place = data_.oMi[contacts_[c].joint];
      motion.centre[at] = place.act(contacts_[c].offset);
      const bool same = c > 0 && contacts_[c].joint == contacts_[c - 1].joint;
      contact_jacobian(contacts_[c], motion.linear[at], motion.angular[at], same);
      motion.foot[at] = place.rotation();
      if (k == 0) continue;
      const Vector3 turn = stage_math::matrix_log(place.rotation() * motion.foot[at - nc_].transpose());
      motion.contact_turn[at - nc_] = turn;
      if (derivatives) motion.contact_turn_jacobian[at - nc_] = stage_math::right_log_jacobian(turn);
    }
    if (k == 0) continue;
    const MapOf<Vector> before(q.data() + (k - 1) * model_.nq, model_.nq);
    const Eigen::Quaterniond previous(before[6], before[3], before[4], before[5]);
    const Vector3 turn = stage_math::quaternion_log(previous.conjugate() * turned);
    Eigen::Map<RowMajor3>(motion.turn.data() + 9 * (k - 1)) = stage_math::right_log_jacobian(turn);
    auto row = mean.row(k - 1);
    row.head<3>() = (here.head<3>() - before.head<3>()).transpose() / dt_;
    row.segment<3>(3) = turn.transpose() / dt_;
    row.tail(n_) = (here.tail(n_) - before.tail(n_)).transpose() / dt_;
  }
  for (std::size_t k = 0; k + 2 < count; ++k) {
    const MapOf<RowMajor3> rotation(motion.rotation.data() + 9 * (k + 1));
    velocity.row(k) = 0.5 * (mean.row(k + 1) + mean.row(k));
    acceleration.row(k) = (mean.row(k + 1) - mean.row(k)) / dt_;
    const Vector3 linear = rotation.transpose() * velocity.row(k).head<3>().transpose();
    const Vector3 fast = rotation.transpose() * acceleration.row(k).head<3>().transpose();
    const Vector3 angular = velocity.row(k).segment<3>(3).transpose();
    velocity.row(k).head<3>() = linear.transpose();
    acceleration.row(k).head<3>() = (fast - angular.cross(linear)).transpose();
  }
}

// What the contacts have to supply at inner stage k, and their columns.
inline void WindowKernel::wanted(const Configurations &q, const Motion &motion, std::size_t k,
                                 const Surroundings &around, Stage &stage) {
  const MapOf<Vector> velocity(motion.velocity.data() + k * nv_, nv_);
  const MapOf<Vector> acceleration(motion.acceleration.data() + k * nv_, nv_);
  stage.scale = MapOf<Vector>(around.scale.data() + k * nv_, nv_);
  stage.rigid = pin::rnea(model_, data_, MapOf<Vector>(q.data() + (k + 1) * model_.nq, model_.nq), velocity,
                          acceleration);
  stage.wanted = stage.rigid;
  for (std::size_t j = 0; j < n_; ++j) {
    const double speed = velocity[6 + j];
    stage.wanted[6 + j] += friction_(0, j) * std::tanh(speed / rest_) + friction_(1, j) * speed + friction_(2, j) +
                           friction_(3, j) * acceleration[6 + j] - around.torque.data()[k * n_ + j];
  }
  stage.wanted.array() *= stage.scale.array();
  for (std::size_t c = 0; c < nc_; ++c) {
    const std::size_t at = (k + 1) * nc_ + c;
    const Rows3 lowest = axes_ * (motion.linear[at] - stage_math::skew(arm(c)) * motion.angular[at]);
    stage.columns.middleCols<3>(3 * c) = -(stage.scale.asDiagonal() * lowest.transpose());
    const double *firmness = around.firmness.data() + 2 * (k * nc_ + c);
    stage.firm.segment<3>(3 * c) = scale_.cwiseProduct(Vector3(firmness[0], firmness[1], firmness[1]));
  }
}

// Of a contact sphere at stage k.
inline double WindowKernel::gap(const Motion &motion, std::size_t k, std::size_t c) const {
  return axes_.row(0) * motion.centre[k * nc_ + c] - radii_[c] - plane_height_;
}

// Depth of the contacts at the stage before inner stage k, whose contact variables are given, and its slope by their gaps
// (systems/prime/contacts.py).
inline void WindowKernel::deepen(const Motion &motion, std::size_t k, const Surroundings &around, const double *before,
                                 Stage &stage) const {
  constexpr double kTurn = 1e-4;
  for (std::size_t c = 0; c < nc_; ++c) {
    const Vector3 w = MapOf<Vector3>(before + 3 * c);
    const double pressed = stage_math::smooth_projection(-w, around.smoothing).value[0];
    const double bears = pressed / (pressed + stage_math::smooth_projection(w, around.smoothing).value[0]);
    const double there = gap(motion, k, c), root = std::sqrt(there * there + kTurn * kTurn);
    stage.depth[c] = 0.5 * (root - there) - 0.5 * bears * (root + there);
    stage.deepens[c] = 0.5 * (there / root - 1.0) - 0.5 * bears * (there / root + 1.0);
  }
}

// Contact velocities z at inner stage k but for what a force presses down at once, and their whitened derivatives.
inline void WindowKernel::touch(const Motion &motion, std::size_t k, bool derivatives, Stage &stage) const {
  const Eigen::Matrix<double, 2, 3> tangents = axes_.bottomRows<2>();
  for (std::size_t c = 0; c < nc_; ++c) {
    const std::size_t previous = k * nc_ + c, own = previous + nc_, following = own + nc_;
    const Eigen::Matrix<double, 2, 3> lever = -(tangents * stage_math::skew(arm(c))) / dt_;
    const stage_math::Vector2 slip =
        tangents * (motion.centre[following] - motion.centre[previous]) / (2.0 * dt_) +
        0.5 * lever * (motion.contact_turn[previous] + motion.contact_turn[own]);
    const double root = stage.root[c] = std::sqrt(slip.squaredNorm() + rounding_ * rounding_);
    stage.velocity[3 * c] = (gap(motion, k + 1, c) + kept_ * stage.depth[c]) / (dt_ * mu_) +
                            (coulomb_ ? root - rounding_ : 0.0);
    stage.velocity.segment<2>(3 * c + 1) = slip;
    if (!derivatives) continue;
    const Eigen::Matrix<double, 2, 3> first = 0.5 * lever * motion.contact_turn_jacobian[previous];
    const Eigen::Matrix<double, 2, 3> first_last = 0.5 * lever * motion.contact_turn_jacobian[previous].transpose();
    const Eigen::Matrix<double, 2, 3> after = 0.5 * lever * motion.contact_turn_jacobian[own];
    const Eigen::Matrix<double, 2, 3> after_last = 0.5 * lever * motion.contact_turn_jacobian[own].transpose();
    const Eigen::Matrix<double, 2, 3> moved = tangents / (2.0 * dt_);
    auto slide = stage.touching.middleRows<2>(3 * c + 1);
    slide.leftCols(nv_) = -first * motion.angular[previous] - moved * motion.linear[previous];
    slide.middleCols(nv_, nv_) = (first_last - after) * motion.angular[own];
    slide.rightCols(nv_) = after_last * motion.angular[following] + moved * motion.linear[following];
    auto head = stage.touching.row(3 * c);
    if (coulomb_)
      head = (slip / root).transpose() * slide;
    else
      head.setZero();
    head.head(nv_) += kept_ * stage.deepens[c] / (dt_ * mu_) * axes_.row(0) * motion.linear[previous];
    head.segment(nv_, nv_) += axes_.row(0) * motion.linear[own] / (dt_ * mu_);
    head *= stage.firm[3 * c];
    slide.row(0) *= stage.firm[3 * c + 1];
    slide.row(1) *= stage.firm[3 * c + 2];
  }
}

inline void WindowKernel::write_residual(Stage &stage, const double *w, double smoothing, double *out) const {
  Eigen::Map<Vector> all(out, rows());
  for (std::size_t c = 0; c < nc_; ++c) {
    const MapOf<Vector3> here(w + 3 * c);
    stage.force.segment<3>(3 * c) =
        per_force_.cwiseProduct(stage_math::smooth_projection(-here, smoothing).value);
    all.segment<3>(nv_ + 3 * c) =
        stage.firm.segment<3>(3 * c).cwiseProduct(stage.velocity.segment<3>(3 * c) -
                                                  stage_math::smooth_projection(here, smoothing).value);
    all[nv_ + 3 * c] += stage.firm[3 * c] * give_ * stage.force[3 * c];
  }
  all.head(nv_) = stage.wanted + stage.columns * stage.force;
  all.tail(3 * nc_) = stage.force / force_sigma_;
}

// Adds what pinocchio's derivative by q, which holds the contacts' wrenches in the turning bodies, lacks of that in the
// world. Contacts of one body turn alike.
inline void WindowKernel::hold_forces(const Motion &motion, std::size_t k, const Terms &terms, Matrix &by_q) const {
  Eigen::Matrix<double, Eigen::Dynamic, 3> held(nv_, 3);
  for (std::size_t c = 0; c < nc_;) {
    const pin::JointIndex joint = contacts_[c].joint;
    const Rows3 &turn = motion.angular[(k + 1) * nc_ + c];
    held.setZero();
    for (; c < nc_ && contacts_[c].joint == joint; ++c) {
      held += motion.linear[(k + 1) * nc_ + c].transpose() * stage_math::skew(MapOf<Vector3>(terms.pushes.data() + 3 * c));
      held += turn.transpose() * stage_math::skew(MapOf<Vector3>(terms.turns.data() + 3 * c));
    }
    by_q -= held.lazyProduct(turn);
  }
}

// Whitened derivatives of the dynamics by the stages k, k + 1, k + 2 (models/discrete_motion.py: chain).
inline void WindowKernel::dynamics_by_stage(const Configurations &q, const Motion &motion, std::size_t k,
                                            const Stage &stage, Terms &terms, double *out) {
  const MapOf<Vector> here(q.data() + (k + 1) * model_.nq, model_.nq);
  const MapOf<Vector> velocity(motion.velocity.data() + k * nv_, nv_);
  const MapOf<Vector> acceleration(motion.acceleration.data() + k * nv_, nv_);
  auto &[by_q, slow, fast, through_before, through_after, all, pushes, turns] = terms;
  for (std::size_t c = 0; c < nc_; ++c) {
    const Vector3 push = axes_.transpose() * stage.force.segment<3>(3 * c);
    Eigen::Map<Vector3>(pushes.data() + 3 * c) = push;
    Eigen::Map<Vector3>(turns.data() + 3 * c) = arm(c).cross(push);
  }
  set_external(here, pushes.data(), turns.data());
  pin::computeRNEADerivatives(model_, data_, here, velocity, acceleration, external_);
  by_q = data_.dtau_dq;
  slow = data_.dtau_dv;
  fast = data_.M.selfadjointView<Eigen::Upper>();
  hold_forces(motion, k, terms, by_q);
  for (std::size_t j = 0; j < n_; ++j) {
    const double turned = std::tanh(velocity[6 + j] / rest_);
    slow(6 + j, 6 + j) += friction_(0, j) * (1.0 - turned * turned) / rest_ + friction_(1, j);
    fast(6 + j, 6 + j) += friction_(3, j);
  }
  slow *= 0.5 / dt_;
  fast /= dt_ * dt_;
  const Vector3 linear = velocity.head<3>(), angular = velocity.segment<3>(3);
  slow.leftCols<3>() -= 0.5 * dt_ * fast.leftCols<3>() * stage_math::skew(angular);
  slow.middleCols<3>(3) += 0.5 * dt_ * fast.leftCols<3>() * stage_math::skew(linear);
  const auto rotation = [&](std::size_t s) -> Matrix3 { return MapOf<RowMajor3>(motion.rotation.data() + 9 * s); };
  const auto turn = [&](std::size_t s) -> Matrix3 { return MapOf<RowMajor3>(motion.turn.data() + 9 * s); };
  const Matrix3 inverse = rotation(k + 1).transpose();
  const Matrix3 to_previous = inverse * rotation(k), to_following = inverse * rotation(k + 2);
  through_before = fast - slow;
  through_after = fast + slow;
  const Vector3 bare = acceleration.head<3>() + angular.cross(linear);
  auto first = all.leftCols(nv_), own = all.middleCols(nv_, nv_), last = all.rightCols(nv_);
  first.rightCols(n_) = through_before.rightCols(n_);
  last.rightCols(n_) = through_after.rightCols(n_);
  own = by_q - 2.0 * fast;
  first.leftCols<3>() = through_before.leftCols<3>() * to_previous;
  last.leftCols<3>() = through_after.leftCols<3>() * to_following;
  first.middleCols<3>(3) = through_before.middleCols<3>(3) * turn(k).transpose();
  last.middleCols<3>(3) = through_after.middleCols<3>(3) * turn(k + 1);
  // Turning the base turns the axes in which R' p' and R' p'' are read.
  own.middleCols<3>(3) = by_q.middleCols<3>(3) - through_before.middleCols<3>(3) * turn(k) -
                         through_after.middleCols<3>(3) * turn(k + 1).transpose() +
                         dt_ * dt_ * fast.leftCols<3>() * stage_math::skew(bare) +
                         2.0 * dt_ * slow.leftCols<3>() * stage_math::skew(linear);
  Eigen::Map<RowMajor>(out, nv_, 3 * nv_) = stage.scale.asDiagonal() * all;
}

inline void WindowKernel::write_local(const Stage &stage, const double *w, double smoothing, double *out) const {
  Eigen::Map<RowMajor> all(out, rows(), 3 * nc_);
  for (std::size_t c = 0; c < nc_; ++c) {
    const MapOf<Vector3> here(w + 3 * c);
    const Matrix3 by_force = -(per_force_.asDiagonal() * stage_math::smooth_projection(-here, smoothing).slope);
    all.block(0, 3 * c, nv_, 3) = stage.columns.middleCols<3>(3 * c) * by_force;
    all.block<3, 3>(nv_ + 3 * c, 3 * c) =
        -(stage.firm.segment<3>(3 * c).asDiagonal() * stage_math::smooth_projection(here, smoothing).slope);
    all.block<1, 3>(nv_ + 3 * c, 3 * c) += stage.firm[3 * c] * give_ * by_force.row(0);
    all.block<3, 3>(nv_ + 3 * (nc_ + c), 3 * c) = by_force / force_sigma_;
  }
}
