// SPDX-License-Identifier: Apache-2.0
// Dynamics and contact rows of a window of stages at once, and its contact variables at their best.
//
// The same as estimators/prime's DynamicsRows, ContactLaw and settle, which say what the terms mean; here a stage is
// worked off while it is in the cache, where NumPy makes some hundred passes over small arrays.
#pragma once

#include "floating_model.hpp"
#include "stage_math.hpp"

#include <algorithm>

class WindowKernel : public FloatingModel {
  using Matrix = Eigen::MatrixXd;
  using Vector = Eigen::VectorXd;
  using Rows = Eigen::Map<RowMajor, 0, Eigen::OuterStride<>>;

 public:
  // contact: dt, friction, impulse scale, force sigma, rounding of |v_t|, whether Coulomb's, three scales of velocity;
  // friction: (4, n) Coulomb, viscous, offset, armature; and the joint speed of rest.
  WindowKernel(In<int64_t, nb::ndim<1>> parents, In<double, nb::shape<-1, 3, 3>> rotation,
               In<double, nb::shape<-1, 3>> translation, In<double, nb::shape<-1, 3>> axis,
               In<bool, nb::ndim<1>> revolute, In<double, nb::shape<3>> gravity, In<int64_t, nb::ndim<1>> contact_bodies,
               In<double, nb::shape<-1, 3>> contact_offsets, In<double, nb::shape<3, 3>> axes,
               In<double, nb::ndim<1>> radii, double height, In<double, nb::shape<9>> contact,
               In<double, nb::shape<4, -1>> friction, double rest)
      : FloatingModel(parents, rotation, translation, axis, revolute, gravity, contact_bodies, contact_offsets),
        n_(parents.shape(0)), nv_(model_.nv), nc_(contacts_.size()), axes_(MapOf<RowMajor3>(axes.data())),
        radii_(MapOf<Vector>(radii.data(), radii.shape(0))), plane_height_(height), dt_(contact.data()[0]),
        mu_(contact.data()[1]), force_sigma_(contact.data()[3]), rounding_(contact.data()[4]),
        coulomb_(contact.data()[5] > 0.0), scale_(MapOf<Vector3>(contact.data() + 6)),
        friction_(MapOf<RowMajor>(friction.data(), 4, friction.shape(1))), rest_(rest) {
    require(radii.shape(0) == nc_ && friction.shape(1) == n_, "constants do not fit the robot");
    const double impulse = contact.data()[2] * dt_;
    per_force_ = Vector3(1.0 / (impulse * mu_), 1.0 / impulse, 1.0 / impulse);
  }

  // (K, rows) residual of inner stages, and the motion that sensors need.
  auto residual(In<double, nb::ndim<2>> q, In<double, nb::shape<-1, -1, 3>> w, In<double, nb::shape<-1, 10>> inertia,
                double height, double smoothing, In<double, nb::ndim<2>> torque, In<double, nb::ndim<2>> scale) {
    check(q, w, inertia, torque, scale);
    const std::size_t inner = q.shape(0) - 2;
    auto [out, out_data] = make<2>({inner, rows()});
    Motion motion(*this, q.shape(0));
    {
      nb::gil_scoped_release release;
      set(inertia);
      follow(q, motion, false);
      Stage stage(*this);
      for (std::size_t k = 0; k < inner; ++k) {
        wanted(q, motion, k, torque, scale, stage);
        touch(motion, k, height, false, stage);
        write_residual(stage, w.data() + 3 * nc_ * (k + 1), smoothing, out_data + k * rows());
      }
    }
    return std::make_tuple(out, motion.mean, motion.turn, motion.velocity, motion.acceleration, motion.rotation);
  }

  // The residual with its derivatives by three stages, parameters (bodies' log-Cholesky vectors first, the ground's
  // height in a column of its own) and contact variables, and the motion.
  auto blocks(In<double, nb::ndim<2>> q, In<double, nb::shape<-1, -1, 3>> w, In<double, nb::shape<-1, 10>> inertia,
              double height, double smoothing, In<double, nb::ndim<2>> torque, In<double, nb::ndim<2>> scale,
              In<int64_t, nb::ndim<1>> bodies, In<double, nb::shape<-1, 10, 10>> slopes, std::size_t column,
              std::size_t parameters) {
    check(q, w, inertia, torque, scale);
    const std::size_t inner = q.shape(0) - 2, nb_ = bodies.shape(0), m = rows(), nl = 3 * nc_;
    require(slopes.shape(0) == nb_ && 10 * nb_ <= column && column < parameters, "parameters do not fit");
    for (std::size_t b = 0; b < nb_; ++b)
      require(bodies.data()[b] >= 0 && bodies.data()[b] < model_.njoints - 1, "a body is not there");
    auto [out, out_data] = make<2>({inner, m});
    auto [by_stage, stage_data] = make<3>({inner, m, 3 * nv_});
    auto [by_parameter, parameter_data] = make<3>({inner, m, parameters});
    auto [by_local, local_data] = make<3>({inner, m, nl});
    Motion motion(*this, q.shape(0));
    {
      nb::gil_scoped_release release;
      set(inertia);
      follow(q, motion, true);
      Stage stage(*this);
      std::vector<double> regressor(nv_ * 10 * nb_);
      for (std::size_t k = 0; k < inner; ++k) {
        const double *here = w.data() + nl * (k + 1);
        wanted(q, motion, k, torque, scale, stage);
        touch(motion, k, height, true, stage);
        write_residual(stage, here, smoothing, out_data + k * m);
        double *rows_stage = stage_data + k * m * 3 * nv_, *rows_parameter = parameter_data + k * m * parameters;
        dynamics_by_stage(q, motion, k, stage, rows_stage);
        for (std::size_t b = 0; b < nb_; ++b) {
          add_regressor(bodies.data()[b] + 1, regressor.data(), 0, b, nb_);
          const Eigen::Map<const RowMajor, 0, Eigen::OuterStride<>> own(regressor.data() + 10 * b, nv_, 10,
                                                                        Eigen::OuterStride<>(10 * nb_));
          Rows(rows_parameter + 10 * b, nv_, 10, Eigen::OuterStride<>(parameters)) =
              stage.scale.asDiagonal() * (own * MapOf<RowMajor>(slopes.data() + 100 * b, 10, 10));
        }
        Rows(rows_stage + nv_ * 3 * nv_, nl, 3 * nv_, Eigen::OuterStride<>(3 * nv_)) = stage.touching;
        for (std::size_t c = 0; c < nc_; ++c)
          rows_parameter[(nv_ + 3 * c) * parameters + column] = -scale_[0] / (dt_ * mu_);
        write_local(stage, here, smoothing, local_data + k * m * nl);
      }
    }
    return std::make_tuple(out, by_stage, by_parameter, by_local, motion.mean, motion.turn, motion.velocity,
                           motion.acceleration, motion.rotation);
  }

  // w with every inner stage's variables moved towards their best for the motion.
  Out<3> settle(In<double, nb::ndim<2>> q, In<double, nb::shape<-1, -1, 3>> w, In<double, nb::shape<-1, 10>> inertia,
                double height, double smoothing, In<double, nb::ndim<2>> torque, In<double, nb::ndim<2>> scale,
                int iterations) {
    check(q, w, inertia, torque, scale);
    const std::size_t count = q.shape(0), nl = 3 * nc_;
    auto [out, out_data] = make<3>({count, nc_, 3});
    std::copy(w.data(), w.data() + nl * count, out_data);
    Motion motion(*this, count);
    {
      nb::gil_scoped_release release;
      set(inertia);
      follow(q, motion, false);
      Stage stage(*this);
      for (std::size_t k = 0; k + 2 < count; ++k) {
        wanted(q, motion, k, torque, scale, stage);
        touch(motion, k, height, false, stage);
        settle_stage(stage, smoothing, iterations, out_data + nl * (k + 1));
      }
    }
    return out;
  }

 private:
  // A window's motion, and where its contact spheres are.
  struct Motion {
    Motion(const WindowKernel &robot, std::size_t stages);
    Out<2> mean, velocity, acceleration;
    Out<3> turn, rotation;
    std::vector<Vector3> centre, contact_turn;
    std::vector<Matrix3> contact_turn_jacobian;
    std::vector<Rows3> linear, angular;
  };

  // What is needed of one stage: whitened but for z and force.
  struct Stage {
    explicit Stage(const WindowKernel &robot);
    Vector scale, wanted, velocity, force;
    Matrix columns;
    RowMajor touching;
  };

  std::size_t rows() const { return nv_ + 6 * nc_; }
  Vector3 arm(std::size_t c) const { return -radii_[c] * axes_.row(0).transpose(); }
  void check(const In<double, nb::ndim<2>> &q, const In<double, nb::shape<-1, -1, 3>> &w,
             const In<double, nb::shape<-1, 10>> &inertia, const In<double, nb::ndim<2>> &torque,
             const In<double, nb::ndim<2>> &scale) const;
  void follow(const In<double, nb::ndim<2>> &q, Motion &motion, bool derivatives);
  void wanted(const In<double, nb::ndim<2>> &q, const Motion &motion, std::size_t k,
              const In<double, nb::ndim<2>> &torque, const In<double, nb::ndim<2>> &scale, Stage &stage);
  void touch(const Motion &motion, std::size_t k, double height, bool derivatives, Stage &stage) const;
  void write_residual(Stage &stage, const double *w, double smoothing, double *out) const;
  void dynamics_by_stage(const In<double, nb::ndim<2>> &q, const Motion &motion, std::size_t k, const Stage &stage,
                         double *out);
  void write_local(const Stage &stage, const double *w, double smoothing, double *out) const;
  void settle_stage(const Stage &stage, double smoothing, int iterations, double *w) const;

  std::size_t n_, nv_, nc_;
  Matrix3 axes_;
  Vector radii_;
  double plane_height_, dt_, mu_, force_sigma_, rounding_;
  bool coulomb_;
  Vector3 scale_, per_force_;
  RowMajor friction_;
  double rest_;
};

#include "window_terms.hpp"
