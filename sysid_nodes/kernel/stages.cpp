// Rigid-body terms of a floating-base robot for many stages; kernel/stages_reference.py does the same in Python.
#include <pinocchio/algorithm/jacobian.hpp>
#include <pinocchio/algorithm/kinematics.hpp>
#include <pinocchio/algorithm/regressor.hpp>
#include <pinocchio/algorithm/rnea-derivatives.hpp>
#include <pinocchio/algorithm/rnea.hpp>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

namespace nb = nanobind;
namespace pin = pinocchio;

template <typename T, typename... Extent>
using In = nb::ndarray<const T, Extent..., nb::c_contig, nb::device::cpu>;
template <int Dimensions>
using Out = nb::ndarray<nb::numpy, double, nb::ndim<Dimensions>>;
using Vector3 = Eigen::Vector3d;
using Matrix3 = Eigen::Matrix3d;
using Rows3 = Eigen::Matrix<double, 3, Eigen::Dynamic>;
using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using RowMajor3 = Eigen::Matrix<double, 3, 3, Eigen::RowMajor>;
using Vector10 = Eigen::Matrix<double, 10, 1>;
template <typename Matrix>
using MapOf = Eigen::Map<const Matrix>;

namespace {

// A new array and the memory it owns, zeroed.
template <int Dimensions>
std::pair<Out<Dimensions>, double *> make(std::initializer_list<std::size_t> shape) {
  std::size_t size = 1;
  for (std::size_t extent : shape) size *= extent;
  auto *memory = new double[size > 0 ? size : 1]();
  nb::capsule owner(memory, [](void *p) noexcept { delete[] static_cast<double *>(p); });
  return {Out<Dimensions>(memory, shape, owner), memory};
}

void require(bool holds, const char *message) {
  if (!holds) throw std::invalid_argument(message);
}

class StageKernel {
 public:
  StageKernel(In<int64_t, nb::ndim<1>> parents, In<double, nb::shape<-1, 3, 3>> rotation,
              In<double, nb::shape<-1, 3>> translation, In<double, nb::shape<-1, 3>> axis, In<bool, nb::ndim<1>> revolute,
              In<double, nb::shape<3>> gravity, In<int64_t, nb::ndim<1>> contact_bodies,
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

  std::tuple<Out<3>, Out<4>, Out<4>, Out<4>> kinematics(In<double, nb::ndim<2>> q) {
    require(q.shape(1) == static_cast<std::size_t>(model_.nq), "configurations have the wrong size");
    const std::size_t count = q.shape(0), nc = contacts_.size(), nv = model_.nv;
    auto [centre, centre_data] = make<3>({count, nc, 3});
    auto [rotation, rotation_data] = make<4>({count, nc, 3, 3});
    auto [linear, linear_data] = make<4>({count, nc, 3, nv});
    auto [angular, angular_data] = make<4>({count, nc, 3, nv});
    {
      nb::gil_scoped_release release;
      for (std::size_t k = 0; k < count; ++k) {
        pin::computeJointJacobians(model_, data_, MapOf<Eigen::VectorXd>(q.data() + k * model_.nq, model_.nq));
        for (std::size_t i = 0; i < nc; ++i) {
          const std::size_t at = k * nc + i;
          const pin::SE3 &place = data_.oMi[contacts_[i].joint];
          Eigen::Map<Vector3>(centre_data + 3 * at) = place.act(contacts_[i].offset);
          Eigen::Map<RowMajor3>(rotation_data + 9 * at) = place.rotation();
          Eigen::Map<RowMajor> rows(linear_data + 3 * nv * at, 3, nv), turn(angular_data + 3 * nv * at, 3, nv);
          contact_jacobian(contacts_[i], rows, turn);
        }
      }
    }
    return {centre, rotation, linear, angular};
  }

  Out<2> dynamics(In<double, nb::ndim<2>> q, In<double, nb::ndim<2>> velocity, In<double, nb::ndim<2>> acceleration,
                  In<double, nb::shape<-1, 10>> inertia, In<double, nb::shape<-1, -1, 3>> force,
                  In<double, nb::shape<-1, -1, 3>> moment) {
    check(q, velocity, acceleration, inertia, force, moment);
    const std::size_t count = q.shape(0), nv = model_.nv;
    auto [out, out_data] = make<2>({count, nv});
    {
      nb::gil_scoped_release release;
      set(inertia);
      for (std::size_t k = 0; k < count; ++k) {
        const auto here = MapOf<Eigen::VectorXd>(q.data() + k * model_.nq, model_.nq);
        set_external(here, force.data() + 3 * k * contacts_.size(), moment.data() + 3 * k * contacts_.size());
        Eigen::Map<Eigen::VectorXd>(out_data + k * nv, nv) =
            pin::rnea(model_, data_, here, MapOf<Eigen::VectorXd>(velocity.data() + k * nv, nv),
                      MapOf<Eigen::VectorXd>(acceleration.data() + k * nv, nv), external_);
      }
    }
    return out;
  }

  std::tuple<Out<2>, Out<3>, Out<3>, Out<3>, Out<3>> dynamics_derivatives(
      In<double, nb::ndim<2>> q, In<double, nb::ndim<2>> velocity, In<double, nb::ndim<2>> acceleration,
      In<double, nb::shape<-1, 10>> inertia, In<double, nb::shape<-1, -1, 3>> force,
      In<double, nb::shape<-1, -1, 3>> moment, In<int64_t, nb::ndim<1>> bodies) {
    check(q, velocity, acceleration, inertia, force, moment);
    const std::size_t count = q.shape(0), nv = model_.nv, nc = contacts_.size(), nb_ = bodies.shape(0);
    for (std::size_t b = 0; b < nb_; ++b)
      require(bodies.data()[b] >= 0 && bodies.data()[b] < model_.njoints - 1, "a body is not there");
    auto [out, out_data] = make<2>({count, nv});
    auto [by_q, by_q_data] = make<3>({count, nv, nv});
    auto [by_v, by_v_data] = make<3>({count, nv, nv});
    auto [mass, mass_data] = make<3>({count, nv, nv});
    auto [regressor, regressor_data] = make<3>({count, nv, 10 * nb_});
    {
      nb::gil_scoped_release release;
      set(inertia);
      Rows3 linear = Rows3::Zero(3, nv), turn = Rows3::Zero(3, nv);
      for (std::size_t k = 0; k < count; ++k) {
        const auto here = MapOf<Eigen::VectorXd>(q.data() + k * model_.nq, model_.nq);
        const double *pushes = force.data() + 3 * k * nc, *turns = moment.data() + 3 * k * nc;
        set_external(here, pushes, turns);
        pin::computeRNEADerivatives(model_, data_, here, MapOf<Eigen::VectorXd>(velocity.data() + k * nv, nv),
                                    MapOf<Eigen::VectorXd>(acceleration.data() + k * nv, nv), external_);
        Eigen::Map<Eigen::VectorXd>(out_data + k * nv, nv) = data_.tau;
        Eigen::Map<RowMajor> rows(by_q_data + k * nv * nv, nv, nv);
        rows = data_.dtau_dq;
        Eigen::Map<RowMajor>(by_v_data + k * nv * nv, nv, nv) = data_.dtau_dv;
        Eigen::Map<RowMajor>(mass_data + k * nv * nv, nv, nv) = data_.M.selfadjointView<Eigen::Upper>();
        for (std::size_t i = 0; i < nc; ++i) {
          // Pinocchio held the wrench in the turning body; we hold it in the world.
          contact_jacobian(contacts_[i], linear, turn);
          const Rows3 pushed = pin::skew(Vector3(MapOf<Vector3>(pushes + 3 * i))) * turn;
          const Rows3 turned = pin::skew(Vector3(MapOf<Vector3>(turns + 3 * i))) * turn;
          rows.noalias() -= linear.transpose() * pushed;
          rows.noalias() -= turn.transpose() * turned;
        }
        for (std::size_t b = 0; b < nb_; ++b) add_regressor(bodies.data()[b] + 1, regressor_data, k, b, nb_);
      }
    }
    return {out, by_q, by_v, mass, regressor};
  }

 private:
  struct Contact {
    pin::JointIndex joint;
    Vector3 offset;
  };

  void check(const In<double, nb::ndim<2>> &q, const In<double, nb::ndim<2>> &velocity,
             const In<double, nb::ndim<2>> &acceleration, const In<double, nb::shape<-1, 10>> &inertia,
             const In<double, nb::shape<-1, -1, 3>> &force, const In<double, nb::shape<-1, -1, 3>> &moment) const {
    const std::size_t count = q.shape(0), nv = model_.nv;
    require(q.shape(1) == static_cast<std::size_t>(model_.nq), "configurations have the wrong size");
    require(velocity.shape(0) == count && velocity.shape(1) == nv && acceleration.shape(0) == count &&
                acceleration.shape(1) == nv,
            "velocities or accelerations have the wrong shape");
    require(inertia.shape(0) + 1 == static_cast<std::size_t>(model_.njoints), "every body needs inertial parameters");
    require(force.shape(0) == count && force.shape(1) == contacts_.size() && moment.shape(0) == count &&
                moment.shape(1) == contacts_.size(),
            "contact forces have the wrong shape");
  }

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

  // Jacobians of a sphere's centre and of its body's rotation, in the world; data_ holds the joints' Jacobians.
  template <typename Linear, typename Angular>
  void contact_jacobian(const Contact &contact, Linear &linear, Angular &angular) {
    jacobian_.setZero();
    pin::getJointJacobian(model_, data_, contact.joint, pin::LOCAL_WORLD_ALIGNED, jacobian_);
    const Vector3 arm = data_.oMi[contact.joint].rotation() * contact.offset;
    angular = jacobian_.bottomRows<3>();
    linear = jacobian_.topRows<3>() - pin::skew(arm) * jacobian_.bottomRows<3>();
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

}  // namespace

NB_MODULE(_stages, m) {
  using namespace nb::literals;
  m.doc() = "Rigid-body terms of a floating-base robot for many stages, on pinocchio.";
  nb::class_<StageKernel>(m, "StageKernel")
      .def(nb::init<In<int64_t, nb::ndim<1>>, In<double, nb::shape<-1, 3, 3>>, In<double, nb::shape<-1, 3>>,
                    In<double, nb::shape<-1, 3>>, In<bool, nb::ndim<1>>, In<double, nb::shape<3>>,
                    In<int64_t, nb::ndim<1>>, In<double, nb::shape<-1, 3>>>(),
           "parents"_a, "rotation"_a, "translation"_a, "axis"_a, "revolute"_a, "gravity"_a, "contact_bodies"_a,
           "contact_offsets"_a)
      .def("kinematics", &StageKernel::kinematics, "q"_a)
      .def("dynamics", &StageKernel::dynamics, "q"_a, "velocity"_a, "acceleration"_a, "inertia"_a, "force"_a, "moment"_a)
      .def("dynamics_derivatives", &StageKernel::dynamics_derivatives, "q"_a, "velocity"_a, "acceleration"_a,
           "inertia"_a, "force"_a, "moment"_a, "bodies"_a);
}
