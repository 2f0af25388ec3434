// SPDX-License-Identifier: Apache-2.0
// Rigid-body terms of a floating-base robot for many stages; kernel/stages_reference.py does the same in Python.
#include "floating_model.hpp"
#include "window_kernel.hpp"

namespace {

class StageKernel : public FloatingModel {
 public:
  using FloatingModel::FloatingModel;

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
        hold_in_world(pushes, turns, rows);
        for (std::size_t b = 0; b < nb_; ++b) add_regressor(bodies.data()[b] + 1, regressor_data, k, b, nb_);
      }
    }
    return {out, by_q, by_v, mass, regressor};
  }

 private:
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
  nb::class_<WindowKernel>(m, "WindowKernel")
      .def(nb::init<In<int64_t, nb::ndim<1>>, In<double, nb::shape<-1, 3, 3>>, In<double, nb::shape<-1, 3>>,
                    In<double, nb::shape<-1, 3>>, In<bool, nb::ndim<1>>, In<double, nb::shape<3>>,
                    In<int64_t, nb::ndim<1>>, In<double, nb::shape<-1, 3>>, In<double, nb::shape<3, 3>>,
                    In<double, nb::ndim<1>>, double, In<double, nb::shape<6>>, double>(),
           "parents"_a, "rotation"_a, "translation"_a, "axis"_a, "revolute"_a, "gravity"_a, "contact_bodies"_a,
           "contact_offsets"_a, "axes"_a, "radii"_a, "height"_a, "contact"_a, "rest"_a)
      .def("residual", &WindowKernel::residual, "q"_a, "w"_a, "surroundings"_a)
      .def("blocks", &WindowKernel::blocks, "q"_a, "w"_a, "surroundings"_a, "columns"_a)
      .def("solve_contacts", &WindowKernel::solve_contacts, "q"_a, "w"_a, "surroundings"_a, "iterations"_a, "tolerance"_a,
           "turns"_a);
}
