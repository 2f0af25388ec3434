// SPDX-License-Identifier: Apache-2.0
// Window integrals of the momentum regressors, the standard regressor and joints' frames; kernel/reference.py derives
// and does the same in NumPy.
#include <pinocchio/algorithm/jacobian.hpp>
#include <pinocchio/algorithm/kinematics.hpp>

#include <nanobind/stl/pair.h>

#include "arrays.hpp"
#include "lanes.hpp"

#include <stdexcept>
#include <string>
#include <vector>

namespace nb = nanobind;
namespace pin = pinocchio;

template <typename T, typename... Extent>
using In = nb::ndarray<const T, Extent..., nb::c_contig, nb::device::cpu>;
using Vector3 = Eigen::Vector3d;
using Row = Eigen::Matrix<double, 10, 1>;
template <typename Matrix>
using MapOf = Eigen::Map<const Matrix>;

namespace {

pin::Model build_model(std::size_t n, const int64_t *parents, const double *rotation, const double *translation,
                       const double *axis, const bool *revolute, const double *gravity) {
  using RowMajor3 = Eigen::Matrix<double, 3, 3, Eigen::RowMajor>;
  pin::Model model;
  model.gravity.linear() = MapOf<Vector3>(gravity);
  for (std::size_t i = 0; i < n; ++i) {
    if (parents[i] < -1 || parents[i] >= static_cast<int64_t>(i)) throw std::invalid_argument("parents must come first");
    const pin::SE3 placement(MapOf<RowMajor3>(rotation + 9 * i), MapOf<Vector3>(translation + 3 * i));
    const Vector3 direction = MapOf<Vector3>(axis + 3 * i);
    const auto parent = static_cast<pin::JointIndex>(parents[i] + 1);
    const std::string name = "joint" + std::to_string(i);
    if (revolute[i])
      model.addJoint(parent, pin::JointModelRevoluteUnaligned(direction), placement, name);
    else
      model.addJoint(parent, pin::JointModelPrismaticUnaligned(direction), placement, name);
  }
  return model;
}

// x' I y as the row that multiplies [m, mc, Ixx, Ixy, Iyy, Ixz, Iyz, Izz], for motions in the body's frame.
Row inertia_form(const pin::Motion &x, const pin::Motion &y) {
  const Vector3 a = x.angular(), b = y.angular();
  Row row;
  row << x.linear().dot(y.linear()), x.linear().cross(b) + y.linear().cross(a), a[0] * b[0],
      a[0] * b[1] + a[1] * b[0], a[1] * b[1], a[0] * b[2] + a[2] * b[0], a[1] * b[2] + a[2] * b[1], a[2] * b[2];
  return row;
}

std::pair<Array, Array> window_regressors(In<int64_t, nb::ndim<1>> parents, In<double, nb::shape<-1, 3, 3>> rotation,
                                        In<double, nb::shape<-1, 3>> translation, In<double, nb::shape<-1, 3>> axis,
                                        In<bool, nb::ndim<1>> revolute, In<double, nb::shape<3>> gravity,
                                        In<double, nb::ndim<1>> t, In<double, nb::ndim<2>> q,
                                        In<double, nb::ndim<2>> qd, In<int64_t, nb::shape<-1, 2>> edges) {
  const std::size_t n = parents.shape(0), samples = t.shape(0), windows = edges.shape(0), size = 10 * n * n;
  for (const std::size_t joints : {rotation.shape(0), translation.shape(0), axis.shape(0), revolute.shape(0),
                                   q.shape(1), qd.shape(1)})
    if (joints != n) throw std::invalid_argument("arrays differ in their number of joints");
  if (q.shape(0) != samples || qd.shape(0) != samples) throw std::invalid_argument("arrays differ in their samples");
  std::vector<double> difference(windows * size, 0.0);
  std::vector<double> integral(windows * size, 0.0);
  for (std::size_t i = 0; i < n; ++i)
    if (parents.data()[i] < -1 || parents.data()[i] >= static_cast<int64_t>(i))
      throw std::invalid_argument("parents must come first");
  for (std::size_t w = 0; w < windows; ++w) {
    const int64_t first = edges.data()[2 * w], last = edges.data()[2 * w + 1];
    if (first < 0 || last < first || last >= static_cast<int64_t>(samples))
      throw std::invalid_argument("window edges are out of range");
  }
  {
    nb::gil_scoped_release release;
    const lanes::Tree tree{n, parents.data(), rotation.data(), translation.data(), axis.data(), revolute.data(),
                           gravity.data()};
    for (std::size_t w = 0; w < windows; ++w)
      lanes::window(tree, t.data(), q.data(), qd.data(), edges.data()[2 * w], edges.data()[2 * w + 1],
                    integral.data() + w * size, difference.data() + w * size);
  }
  return {as_array(std::move(difference), {windows, n, 10 * n}), as_array(std::move(integral), {windows, n, 10 * n})};
}

Array standard_regressor(In<int64_t, nb::ndim<1>> parents, In<double, nb::shape<-1, 3, 3>> rotation,
                        In<double, nb::shape<-1, 3>> translation, In<double, nb::shape<-1, 3>> axis,
                        In<bool, nb::ndim<1>> revolute, In<double, nb::shape<3>> gravity, In<double, nb::ndim<2>> q,
                        In<double, nb::ndim<2>> qd, In<double, nb::ndim<2>> qdd) {
  const std::size_t n = parents.shape(0), samples = q.shape(0);
  for (const std::size_t joints : {rotation.shape(0), translation.shape(0), axis.shape(0), revolute.shape(0),
                                   q.shape(1), qd.shape(1), qdd.shape(1)})
    if (joints != n) throw std::invalid_argument("arrays differ in their number of joints");
  if (qd.shape(0) != samples || qdd.shape(0) != samples) throw std::invalid_argument("arrays differ in their samples");
  std::vector<double> out(samples * 10 * n * n, 0.0);
  {
    nb::gil_scoped_release release;
    const pin::Model model = build_model(n, parents.data(), rotation.data(), translation.data(), axis.data(),
                                         revolute.data(), gravity.data());
    pin::Data data(model);
    using Joints = MapOf<Eigen::VectorXd>;
    for (std::size_t s = 0; s < samples; ++s) {
      pin::forwardKinematics(model, data, Joints(q.data() + s * n, n), Joints(qd.data() + s * n, n),
                             Joints(qdd.data() + s * n, n));
      pin::computeJointJacobians(model, data);
      for (std::size_t i = 0; i < n; ++i) {
        const pin::SE3 &place = data.oMi[i + 1];
        const pin::Motion &velocity = data.v[i + 1];
        pin::Motion acceleration = data.a[i + 1];
        acceleration.linear() -= place.rotation().transpose() * model.gravity.linear();
        for (pin::JointIndex joint = i + 1; joint > 0; joint = model.parents[joint]) {
          const pin::Motion jacobian = place.actInv(pin::Motion(data.J.col(joint - 1)));
          Eigen::Map<Row>(out.data() + ((s * n + joint - 1) * n + i) * 10) =
              inertia_form(jacobian, acceleration) - inertia_form(velocity.cross(jacobian), velocity);
        }
      }
    }
  }
  return as_array(std::move(out), {samples, n, 10 * n});
}

nb::tuple joint_frames(In<int64_t, nb::ndim<1>> parents, In<double, nb::shape<-1, 3, 3>> rotation,
                       In<double, nb::shape<-1, 3>> translation, In<double, nb::shape<-1, 3>> axis,
                       In<bool, nb::ndim<1>> revolute, In<double, nb::shape<3>> gravity, In<double, nb::ndim<2>> q) {
  const std::size_t n = parents.shape(0), samples = q.shape(0);
  for (const std::size_t joints : {rotation.shape(0), translation.shape(0), axis.shape(0), revolute.shape(0), q.shape(1)})
    if (joints != n) throw std::invalid_argument("arrays differ in their number of joints");
  std::vector<double> turn(samples * n * 9);
  std::vector<double> origin(samples * n * 3);
  std::vector<double> jacobian(samples * n * 6);
  {
    nb::gil_scoped_release release;
    const pin::Model model = build_model(n, parents.data(), rotation.data(), translation.data(), axis.data(),
                                         revolute.data(), gravity.data());
    pin::Data data(model);
    for (std::size_t s = 0; s < samples; ++s) {
      pin::computeJointJacobians(model, data, MapOf<Eigen::VectorXd>(q.data() + s * n, n));
      for (std::size_t i = 0; i < n; ++i) {
        const pin::SE3 &place = data.oMi[i + 1];
        using RowMajor3 = Eigen::Matrix<double, 3, 3, Eigen::RowMajor>;
        Eigen::Map<RowMajor3>(turn.data() + (s * n + i) * 9) = place.rotation();
        Eigen::Map<Vector3>(origin.data() + (s * n + i) * 3) = place.translation();
        Eigen::Map<Eigen::Matrix<double, 6, 1>>(jacobian.data() + (s * n + i) * 6) = data.J.col(i);
      }
    }
  }
  return nb::make_tuple(as_array(std::move(turn), {samples, n, 3, 3}), as_array(std::move(origin), {samples, n, 3}),
                        as_array(std::move(jacobian), {samples, n, 6}));
}

}  // namespace

NB_MODULE(_regressors, m) {
  using namespace nb::literals;
  m.doc() = "Regressors on pinocchio.";
  m.def("window_regressors", &window_regressors, "parents"_a, "rotation"_a, "translation"_a, "axis"_a, "revolute"_a,
        "gravity"_a, "t"_a, "q"_a, "qd"_a, "edges"_a);
  m.def("standard_regressor", &standard_regressor, "parents"_a, "rotation"_a, "translation"_a, "axis"_a, "revolute"_a,
        "gravity"_a, "q"_a, "qd"_a, "qdd"_a);
  m.def("joint_frames", &joint_frames, "parents"_a, "rotation"_a, "translation"_a, "axis"_a, "revolute"_a, "gravity"_a,
        "q"_a);
}
