// SPDX-License-Identifier: Apache-2.0
// Dynamics and contact rows of a window of stages at once, and its contact variables at their best.
//
// The same as systems/prime's ReferenceRows, which says what the terms mean; here a stage is worked off while it is in the
// cache, where NumPy makes some hundred passes over small arrays. One kernel serves a model; a lock lets one call in.
#pragma once

#include "floating_model.hpp"
#include "stage_math.hpp"

#include <algorithm>
#include <mutex>

class WindowKernel : public FloatingModel {
  using Matrix = Eigen::MatrixXd;
  using Vector = Eigen::VectorXd;
  using Rows = Eigen::Map<RowMajor, 0, Eigen::OuterStride<>>;

 public:
  using Configurations = In<double, nb::ndim<2>>;
  using Variables = In<double, nb::shape<-1, -1, 3>>;

  // axes: of the level ground; contact: dt, impulse scale, rounding of |v_t|, whether Coulomb's, scales of gap and of
  // sliding velocity; rest: joint speed within which Coulomb friction turns over.
  WindowKernel(In<int64_t, nb::ndim<1>> parents, In<double, nb::shape<-1, 3, 3>> rotation,
               In<double, nb::shape<-1, 3>> translation, In<double, nb::shape<-1, 3>> axis,
               In<bool, nb::ndim<1>> revolute, In<double, nb::shape<3>> gravity, In<int64_t, nb::ndim<1>> contact_bodies,
               In<double, nb::shape<-1, 3>> contact_offsets, In<double, nb::shape<3, 3>> axes,
               In<double, nb::ndim<1>> radii, double height, In<double, nb::shape<6>> contact, double rest)
      : FloatingModel(parents, rotation, translation, axis, revolute, gravity, contact_bodies, contact_offsets),
        n_(parents.shape(0)), nv_(model_.nv), nc_(contacts_.size()), level_(MapOf<RowMajor3>(axes.data())),
        radii_(MapOf<Vector>(radii.data(), radii.shape(0))), level_height_(height), dt_(contact.data()[0]),
        rounding_(contact.data()[2]), coulomb_(contact.data()[3] > 0.0), per_gap_(contact.data()[4]), rest_(rest),
        scale_(Vector3::Constant(contact.data()[5])), per_force_(Vector3::Constant(1.0 / (contact.data()[1] * dt_))) {
    require(radii.shape(0) == nc_, "constants do not fit the robot");
  }

  // The robot and the ground as the unknown constants have them (kernel/window.py).
  struct Surroundings {
    explicit Surroundings(const nb::tuple &from)
        : inertia(nb::cast<decltype(inertia)>(from[0])), offsets(nb::cast<decltype(offsets)>(from[1])),
          friction(nb::cast<decltype(friction)>(from[2])), ground(nb::cast<decltype(ground)>(from[3])),
          smoothing(nb::cast<double>(from[4])), torque(nb::cast<Configurations>(from[5])),
          scale(nb::cast<Configurations>(from[6])), force_sigma(nb::cast<double>(from[7])),
          firmness(nb::cast<decltype(firmness)>(from[8])) {}

    In<double, nb::shape<-1, 10>> inertia;
    In<double, nb::shape<-1, 3>> offsets;
    In<double, nb::shape<4, -1>> friction;
    In<double, nb::shape<6>> ground;
    double smoothing;
    Configurations torque, scale;
    double force_sigma;
    In<double, nb::shape<-1, -1, 2>> firmness;
  };

  // Where the derivatives by the constants go, and what they need (kernel/window.py).
  struct Columns {
    explicit Columns(const nb::tuple &from)
        : bodies(nb::cast<decltype(bodies)>(from[0])), slopes(nb::cast<decltype(slopes)>(from[1])),
          at(nb::cast<decltype(at)>(from[2])), foot(nb::cast<decltype(foot)>(from[3])),
          shares(nb::cast<Configurations>(from[4])), factor(nb::cast<decltype(factor)>(from[5])),
          limits(nb::cast<decltype(limits)>(from[6])), weight(nb::cast<decltype(weight)>(from[7])),
          rotors(nb::cast<decltype(rotors)>(from[8])) {}

    In<int64_t, nb::ndim<1>> bodies;
    In<double, nb::shape<-1, 10, 10>> slopes;
    In<int64_t, nb::shape<10>> at;
    In<int64_t, nb::ndim<1>> foot;
    Configurations shares;
    In<double, nb::ndim<1>> factor, limits, weight, rotors;
    std::size_t count() const { return at.data()[9]; }
    int64_t height() const { return at.data()[0]; }
    int64_t tilt() const { return at.data()[1]; }
    int64_t feet() const { return at.data()[2]; }
    int64_t gains() const { return at.data()[3]; }
    int64_t drives() const { return at.data()[4]; }
    int64_t masses() const { return at.data()[5]; }
    int64_t give() const { return at.data()[6]; }
    int64_t lag() const { return at.data()[7]; }
    int64_t friction() const { return at.data()[8]; }
  };

  // (K, rows) residual of inner stages, and the motion that sensors need.
  auto residual(Configurations q, Variables w, nb::tuple surroundings) {
    const Surroundings around(surroundings);
    check(q, w, around);
    const std::size_t inner = q.shape(0) - 2;
    auto [out, out_data] = make<2>({inner, rows()});
    Motion motion(*this, q.shape(0));
    {
      nb::gil_scoped_release release;
      const std::lock_guard<std::mutex> lock(mutex_);
      set_surroundings(around);
      follow(q, motion, false);
      Stage stage(*this);
      for (std::size_t k = 0; k < inner; ++k) {
        wanted(q, motion, k, around, stage);
        deepen(motion, k, around, w.data() + 3 * nc_ * k, stage);
        touch(motion, k, false, stage);
        write_residual(stage, w.data() + 3 * nc_ * (k + 1), around.smoothing, out_data + k * rows());
      }
    }
    return std::make_tuple(out, motion.mean, motion.turn, motion.velocity, motion.acceleration, motion.rotation);
  }

  // The residual with its derivatives by three stages, by the constants and by contact variables, and the motion.
  auto blocks(Configurations q, Variables w, nb::tuple surroundings, nb::tuple by) {
    const Surroundings around(surroundings);
    const Columns columns(by);
    check(q, w, around);
    check(columns);
    const std::size_t inner = q.shape(0) - 2, m = rows(), nl = 3 * nc_, p = columns.count();
    auto [out, out_data] = make<2>({inner, m});
    auto [by_stage, stage_data] = make<3>({inner, m, 3 * nv_});
    auto [by_parameter, parameter_data] = make<3>({inner, m, p});
    auto [by_local, local_data] = make<3>({inner, m, nl});
    Motion motion(*this, q.shape(0));
    {
      nb::gil_scoped_release release;
      const std::lock_guard<std::mutex> lock(mutex_);
      set_surroundings(around);
      follow(q, motion, true);
      Stage stage(*this);
      Terms terms(*this);
      for (std::size_t k = 0; k < inner; ++k) {
        const double *here = w.data() + nl * (k + 1);
        wanted(q, motion, k, around, stage);
        deepen(motion, k, around, here - nl, stage);
        touch(motion, k, true, stage);
        write_residual(stage, here, around.smoothing, out_data + k * m);
        double *rows_stage = stage_data + k * m * 3 * nv_;
        dynamics_by_stage(q, motion, k, stage, terms, rows_stage);
        Rows(rows_stage + nv_ * 3 * nv_, nl, 3 * nv_, Eigen::OuterStride<>(3 * nv_)) = stage.touching;
        constant_columns(motion, k, stage, around, columns, here, out_data + k * m, parameter_data + k * m * p);
        write_local(stage, here, around.smoothing, local_data + k * m * nl);
      }
    }
    return std::make_tuple(out, by_stage, by_parameter, by_local, motion.mean, motion.turn, motion.velocity,
                           motion.acceleration, motion.rotation);
  }

  // w with every inner stage's variables moved towards their best for the motion; the residual there and the motion.
  auto solve_contacts(Configurations q, Variables w, nb::tuple surroundings, int iterations, double tolerance,
                      bool turns);

 private:
  // A window's motion, and where its contact spheres are.
  struct Motion {
    Motion(const WindowKernel &robot, std::size_t stages);
    Out<2> mean, velocity, acceleration;
    Out<3> turn, rotation;
    std::vector<Vector3> centre, contact_turn;
    std::vector<Matrix3> contact_turn_jacobian, foot;
    std::vector<Rows3> linear, angular;
  };

  // What is needed of one stage: whitened but for z, force and rigid.
  struct Stage {
    explicit Stage(const WindowKernel &robot);
    Vector scale, rigid, wanted, velocity;
    Vector firm;  // whitening of the velocity
    Vector force, root;
    Vector depth, deepens;  // of the contacts a stage before, and its derivative by their gaps
    Matrix columns;
    RowMajor touching;
  };

  class ContactFit;

  // Room for the derivatives of the dynamics, so that no stage allocates any.
  struct Terms {
    explicit Terms(const WindowKernel &robot);
    Matrix by_q, slow, fast, before, after, all;
    std::vector<double> pushes, turns;
  };

  std::size_t rows() const { return nv_ + 6 * nc_; }
  Vector3 arm(std::size_t c) const { return -radii_[c] * axes_.row(0).transpose(); }
  void check(const Configurations &q, const Variables &w, const Surroundings &around) const;
  void check(const Columns &columns) const;
  void set_surroundings(const Surroundings &around);
  void follow(const Configurations &q, Motion &motion, bool derivatives);
  void wanted(const Configurations &q, const Motion &motion, std::size_t k, const Surroundings &around, Stage &stage);
  void touch(const Motion &motion, std::size_t k, bool derivatives, Stage &stage) const;
  void deepen(const Motion &motion, std::size_t k, const Surroundings &around, const double *before, Stage &stage) const;
  void write_residual(Stage &stage, const double *w, double smoothing, double *out) const;
  void hold_forces(const Motion &motion, std::size_t k, const Terms &terms, Matrix &by_q) const;
  void dynamics_by_stage(const Configurations &q, const Motion &motion, std::size_t k, const Stage &stage, Terms &terms,
                         double *out);
  void constant_columns(const Motion &motion, std::size_t k, const Stage &stage, const Surroundings &around,
                        const Columns &columns, const double *w, const double *residual, double *out);
  void add_friction(const Stage &stage, const double *w, double smoothing, std::size_t column, Rows &rows) const;
  void add_tilt(const Motion &motion, std::size_t k, const Stage &stage, std::size_t first, Rows &rows) const;
  void add_feet(const Motion &motion, std::size_t k, const Stage &stage, const Columns &columns, Rows &rows) const;
  double gap(const Motion &motion, std::size_t k, std::size_t c) const;
  void add_touch(const Stage &stage, std::size_t c, std::size_t column, double gap, double before,
                 const stage_math::Vector2 &slip, Rows &rows) const;
  void write_local(const Stage &stage, const double *w, double smoothing, double *out) const;

  std::size_t n_, nv_, nc_;
  Matrix3 level_;
  Vector radii_;
  double level_height_, dt_, rounding_;
  bool coulomb_;
  double per_gap_, rest_;
  // Of the present call; of the first two, normal components.
  Vector3 scale_, per_force_;
  Matrix3 axes_, axes_slope_[2];
  double mu_, plane_height_, force_sigma_, compliance_, kept_, kept_slope_;
  double give_;  // of z by a force, at once
  RowMajor friction_;
  std::mutex mutex_;
};

#include "window_terms.hpp"
#include "window_constants.hpp"
#include "window_contacts.hpp"
