// SPDX-License-Identifier: Apache-2.0
// A floating-base robot with contact spheres on pinocchio: what the classes of stages.cpp are made of.
#pragma once

#include <pinocchio/algorithm/jacobian.hpp>
#include <pinocchio/algorithm/kinematics.hpp>
#include <pinocchio/algorithm/regressor.hpp>
#include <pinocchio/algorithm/rnea-derivatives.hpp>
#include <pinocchio/algorithm/rnea.hpp>

#include "stage_arrays.hpp"

#include <memory>
#include <string>
#include <tuple>
#include <vector>

namespace pin = pinocchio;

using Rows3 = Eigen::Matrix<double, 3, Eigen::Dynamic>;
using Vector10 = Eigen::Matrix<double, 10, 1>;

class FloatingModel {
 public:
  FloatingModel(In<int64_t, nb::ndim<1>> parents, In<double, nb::shape<-1, 3, 3>> rotation,
                In<double, nb::shape<-1, 3>> translation, In<double, nb::shape<-1, 3>> axis,
                In<bool, nb::ndim<1>> revolute, In<double, nb::shape<3>> gravity, In<int64_t, nb::ndim<1>> contact_bodies,
                In<double, nb::shape<-1, 3>> contact_offsets) {
    const std::size_t n = parents.shape(0);
    require(rotation.shape(0) == n && translation.shape(0) == n && axis.shape(0) == n && revolute.shape(0) == n,
            "arrays differ in their number of joints");
    require(contact_offsets.shape(0) == contact_bodies.shape(0), "arrays differ in their number of contacts");
    model_.gravity.linear() = MapOf<Vector3>(gravity.data());
    model_.addJoint(0, pin::JointModelFreeFlyer(), pin::SE3::Identity(), "base");
    for (std::size_t i = 0; i < n; ++i) {
      const int64_t parent = parents.data()[i];
      require(parent >= 0 && parent <= static_cast<int64_t>(i), "parents must come first");
      const pin::SE3 placement(MapOf<RowMajor3>(rotation.data() + 9 * i), MapOf<Vector3>(translation.data() + 3 * i));
      const Vector3 direction = MapOf<Vector3>(axis.data() + 3 * i);
      const std::string name = "joint" + std::to_string(i);
      if (revolute.data()[i])
        model_.addJoint(parent + 1, pin::JointModelRevoluteUnaligned(direction), placement, name);
      else
        model_.addJoint(parent + 1, pin::JointModelPrismaticUnaligned(direction), placement, name);
    }
    for (std::size_t i = 0; i < contact_bodies.shape(0); ++i) {
      const int64_t body = contact_bodies.data()[i];
      require(body >= 0 && body <= static_cast<int64_t>(n), "a contact is on a body that is not there");
      contacts_.push_back({static_cast<pin::JointIndex>(body + 1), MapOf<Vector3>(contact_offsets.data() + 3 * i)});
    }
    data_ = pin::Data(model_);
    external_.assign(model_.njoints, pin::Force::Zero());
    jacobian_ = pin::Data::Matrix6x::Zero(6, model_.nv);
  }

 protected:
  struct Contact {
    pin::JointIndex joint;
    Vector3 offset;
  };

  void set(const In<double, nb::shape<-1, 10>> &inertia) {
    for (std::size_t body = 0; body < inertia.shape(0); ++body)
      model_.inertias[body + 1] = pin::Inertia::FromDynamicParameters(MapOf<Vector10>(inertia.data() + 10 * body));
  }

  template <typename Configuration>
  void set_external(const Configuration &q, const double *force, const double *moment) {
    pin::forwardKinematics(model_, data_, q);
    for (const Contact &contact : contacts_) external_[contact.joint].setZero();
    for (std::size_t i = 0; i < contacts_.size(); ++i) {
      const Matrix3 &rotation = data_.oMi[contacts_[i].joint].rotation();
      const Vector3 pushed = rotation.transpose() * MapOf<Vector3>(force + 3 * i);
      const Vector3 turned = rotation.transpose() * MapOf<Vector3>(moment + 3 * i) + contacts_[i].offset.cross(pushed);
      external_[contacts_[i].joint] += pin::Force(pushed, turned);
    }
  }

  // Jacobians of a sphere's centre and of its body's rotation, in the world; data_ holds the joints' Jacobians, and
  // jacobian_ the body's where the contact before was on the same.
  template <typename Linear, typename Angular>
  void contact_jacobian(const Contact &contact, Linear &linear, Angular &angular, bool same = false) {
    if (!same) {
      jacobian_.setZero();
      pin::getJointJacobian(model_, data_, contact.joint, pin::LOCAL_WORLD_ALIGNED, jacobian_);
    }
    const Vector3 arm = data_.oMi[contact.joint].rotation() * contact.offset;
    angular = jacobian_.bottomRows<3>();
    linear = jacobian_.topRows<3>() - pin::skew(arm) * jacobian_.bottomRows<3>();
  }

  // Pinocchio's derivative by q holds wrenches in the turning body; ours holds them in the world.
  template <typename Matrix>
  void hold_in_world(const double *force, const double *moment, Matrix &by_q) {
    Rows3 linear = Rows3::Zero(3, model_.nv), turn = Rows3::Zero(3, model_.nv);
    for (std::size_t i = 0; i < contacts_.size(); ++i) {
      contact_jacobian(contacts_[i], linear, turn);
      const Rows3 pushed = pin::skew(Vector3(MapOf<Vector3>(force + 3 * i))) * turn;
      const Rows3 turned = pin::skew(Vector3(MapOf<Vector3>(moment + 3 * i))) * turn;
      by_q.noalias() -= linear.transpose() * pushed;
      by_q.noalias() -= turn.transpose() * turned;
    }
  }

  // Columns of one body: J' times its Newton-Euler regressor, for the joints that move it.
  void add_regressor(pin::JointIndex body, double *memory, std::size_t k, std::size_t b, std::size_t bodies) {
    // The derivatives' forward pass leaves motions in the world.
    const pin::SE3 &place = data_.oMi[body];
    const Eigen::Matrix<double, 6, 10> wrench =
        pin::bodyRegressor(place.actInv(data_.ov[body]), place.actInv(data_.oa_gf[body]));
    jacobian_.setZero();
    pin::getJointJacobian(model_, data_, body, pin::LOCAL, jacobian_);
    Eigen::Map<RowMajor, 0, Eigen::OuterStride<>> rows(memory + (k * model_.nv * bodies + b) * 10, model_.nv, 10,
                                                       Eigen::OuterStride<>(10 * bodies));
    rows.noalias() = jacobian_.transpose() * wrench;
  }

  pin::Model model_;
  pin::Data data_;
  std::vector<Contact> contacts_;
  decltype(pin::Data::f) external_;  // the type differs between versions of pinocchio
  pin::Data::Matrix6x jacobian_;
};
