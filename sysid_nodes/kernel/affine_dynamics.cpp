// SPDX-License-Identifier: Apache-2.0
// Frames and torque coefficients of an arm of turning joints in affine arithmetic, one time interval after the other.
//
// systems/certified/certificate/bodies.py does the same with arrays and says what is computed.
#include "affine_forms.hpp"
#include "arrays.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <type_traits>
#include <vector>

namespace nb = nanobind;

namespace {

template <typename... Extent>
using In = nb::ndarray<const double, Extent..., nb::c_contig, nb::device::cpu>;
using Joints = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

struct Tree {
  std::size_t n;
  const int64_t *parents;
  const double *rotation, *translation, *axis;
  double gravity[3];

  Numbers axis_of(std::size_t i) const { return {axis[3 * i], axis[3 * i + 1], axis[3 * i + 2]}; }
  Numbers shift(std::size_t i) const { return {translation[3 * i], translation[3 * i + 1], translation[3 * i + 2]}; }
};

// Arrays of forms (T, n) as Python has them: centre, terms (S', T, n), remainder.
struct Given {
  const double *centre, *terms, *remainder;
  std::size_t symbols, count, n;

  template <int S>
  Form<S> at(std::size_t interval, std::size_t joint) const {
    Form<S> out;
    const std::size_t where = interval * n + joint;
    out.c = centre[where];
    out.r = remainder[where];
    for (std::size_t s = 0; s < symbols; ++s) out.t[s] = terms[s * count * n + where];
    out.gather();
    out.scale = grow(out.size() + out.spread, S + 2);
    return out;
  }
};

// The same, (T, width), to be written: centre, terms and remainder one after the other.
struct Taken {
  std::size_t symbols, count, width;
  std::vector<double> centre, terms, remainder;

  Taken(std::size_t symbols_, std::size_t count_, std::size_t width_)
      : symbols(symbols_), count(count_), width(width_), centre(count_ * width_),
        terms(symbols_ * count_ * width_), remainder(count_ * width_) {}

  template <int S>
  void put(std::size_t interval, std::size_t entry, const Form<S> &x) {
    const std::size_t where = interval * width + entry;
    if (!std::isfinite(x.c + x.spread + x.r)) {  // too large for a number: any value at all
      remainder[where] = std::numeric_limits<double>::infinity();
      return;
    }
    centre[where] = x.c;
    remainder[where] = x.r;
    for (std::size_t s = 0; s < symbols; ++s) terms[s * count * width + where] = x.t[s];
  }

  template <int S>
  void put(std::size_t interval, std::size_t entry, const Vector<S> &x) {
    for (int k = 0; k < 3; ++k) put(interval, entry + k, x[k]);
  }
};

// Rotation of joint i to its parent: fixed (1 + K^2 + K sin - K^2 cos), K the cross product with the axis.
template <int S>
Matrix<S> joint_rotation(const Tree &tree, std::size_t i, const Form<S> &sine, const Form<S> &cosine) {
  const Numbers a = tree.axis_of(i);
  const double skew[3][3] = {{0.0, -a[2], a[1]}, {a[2], 0.0, -a[0]}, {-a[1], a[0], 0.0}};
  Matrix<S> inner, out;
  for (int r = 0; r < 3; ++r)
    for (int c = 0; c < 3; ++c) {
      const Form<S> left[3] = {constant<S>(skew[r][0]), constant<S>(skew[r][1]), constant<S>(skew[r][2])};
      const Form<S> twice = dot<S, 3>({&left[0], &left[1], &left[2]}, {skew[0][c], skew[1][c], skew[2][c]});
      const Form<S> start = add(constant<S>(r == c ? 1.0 : 0.0), twice);
      const Form<S> swung = add(start, dot<S, 1>({&sine}, {skew[r][c]}));
      inner[r][c] = add(swung, dot<S, 1>({&twice}, {&cosine}), -1.0);
    }
  const double *fixed = tree.rotation + 9 * i;
  for (int r = 0; r < 3; ++r)
    for (int c = 0; c < 3; ++c)
      out[r][c] = dot<S, 3>({&inner[0][c], &inner[1][c], &inner[2][c]},
                            std::array<double, 3>{fixed[3 * r], fixed[3 * r + 1], fixed[3 * r + 2]});
  return out;
}

template <int S>
void frames(const Tree &tree, const Given &sine, const Given &cosine, Taken &rotation, Taken &origin) {
  std::vector<Matrix<S>> turn(tree.n);
  std::vector<Vector<S>> place(tree.n);
  for (std::size_t t = 0; t < sine.count; ++t)
    for (std::size_t i = 0; i < tree.n; ++i) {
      const Matrix<S> part = joint_rotation<S>(tree, i, sine.at<S>(t, i), cosine.at<S>(t, i));
      const Numbers here = tree.shift(i);
      const int64_t parent = tree.parents[i];
      for (int r = 0; r < 3; ++r) {
        if (parent < 0) {
          turn[i][r] = part[r];
          place[i][r] = constant<S>(here[r]);
        } else {
          const Vector<S> &row = turn[parent][r];
          for (int c = 0; c < 3; ++c)
            turn[i][r][c] = dot<S, 3>({&row[0], &row[1], &row[2]}, {&part[0][c], &part[1][c], &part[2][c]});
          place[i][r] = add(place[parent][r], dot<S, 3>({&row[0], &row[1], &row[2]}, here));
        }
        rotation.put(t, 9 * i + 3 * r, turn[i][r]);
      }
      origin.put(t, 3 * i, place[i]);
    }
}

template <int S>
struct Lever {
  std::size_t joint;
  Vector<S> linear, angular;
};

template <int S>
struct Body {
  Vector<S> w, u, alpha, s;
  std::vector<Lever<S>> levers;
};

template <int S>
void coefficients(const Body<S> &body, const Vector<S> &turning, const Lever<S> &lever, std::size_t interval,
                  std::size_t entry, Taken &out) {
  const Vector<S> &v = lever.linear, &o = lever.angular;
  out.put(interval, entry, dot(v, body.s));
  const Vector<S> swung = cross(cross(v, body.u), body.w);
  out.put(interval, entry + 1, add(add(cross(v, body.alpha), swung), cross(body.s, o)));
  const auto straight = quadratic(o, turning);
  const auto one = quadratic(cross(o, body.w), body.u), other = quadratic(cross(o, body.u), body.w);
  for (int q = 0; q < 6; ++q) out.put(interval, entry + 4 + q, add(straight[q], half(add(one[q], other[q]))));
}

struct Results {
  Taken motion[4], linear, angular, torque;
};

template <int S>
void dynamics(const Tree &tree, const Given &sine, const Given &cosine, const Given &qd, const Given &qd_a,
              const Given &qdd, Results &out) {
  std::vector<Body<S>> bodies(tree.n);
  for (std::size_t t = 0; t < sine.count; ++t) {
    std::size_t pair = 0;
    for (std::size_t i = 0; i < tree.n; ++i) {
      Body<S> &body = bodies[i];
      const Matrix<S> part = joint_rotation<S>(tree, i, sine.at<S>(t, i), cosine.at<S>(t, i));
      const Numbers axis = tree.axis_of(i), shift = tree.shift(i);
      body.levers.clear();
      if (tree.parents[i] < 0) {
        const Vector<S> none{};
        Vector<S> up;
        for (int k = 0; k < 3; ++k) up[k] = constant<S>(-tree.gravity[k]);
        body.w = body.u = body.alpha = none;
        body.s = turned(part, up);
      } else {
        const Body<S> &before = bodies[tree.parents[i]];
        const Vector<S> carried = add(before.s, cross(before.alpha, shift));
        body.s = turned(part, add(carried, cross(before.u, cross(before.w, shift))));
        body.w = turned(part, before.w);
        body.u = turned(part, before.u);
        body.alpha = turned(part, before.alpha);
        for (const Lever<S> &lever : before.levers)
          body.levers.push_back({lever.joint, turned(part, add(lever.linear, cross(lever.angular, shift))),
                                 turned(part, lever.angular)});
      }
      Lever<S> own{i, {}, {}};
      for (int k = 0; k < 3; ++k) own.angular[k] = constant<S>(axis[k]);
      body.levers.push_back(own);
      const Form<S> rate_a = qd_a.at<S>(t, i);
      const Vector<S> swing = cross(body.w, axis);
      body.alpha = along(body.alpha, axis, qdd.at<S>(t, i));
      for (int k = 0; k < 3; ++k) body.alpha[k] = add(body.alpha[k], dot<S, 1>({&swing[k]}, {&rate_a}));
      body.w = along(body.w, axis, qd.at<S>(t, i));
      body.u = along(body.u, axis, rate_a);
      const Vector<S> *motion[4] = {&body.w, &body.u, &body.alpha, &body.s};
      for (int part_of = 0; part_of < 4; ++part_of) out.motion[part_of].put(t, 3 * i, *motion[part_of]);
      const Vector<S> turning = add(body.alpha, half(cross(body.w, body.u)), -1.0);
      for (const Lever<S> &lever : body.levers) {
        out.linear.put(t, 3 * pair, lever.linear);
        out.angular.put(t, 3 * pair, lever.angular);
        coefficients(body, turning, lever, t, 10 * pair, out.torque);
        ++pair;
      }
    }
  }
}

// Number of pairs of a body and a joint that moves it.
std::size_t pairs_of(const Tree &tree) {
  std::size_t total = 0;
  std::vector<std::size_t> depth(tree.n);
  for (std::size_t i = 0; i < tree.n; ++i) {
    if (tree.parents[i] < -1 || tree.parents[i] >= static_cast<int64_t>(i))
      throw std::invalid_argument("parents must come first");
    depth[i] = tree.parents[i] < 0 ? 1 : depth[tree.parents[i]] + 1;
    total += depth[i];
  }
  return total;
}

nb::tuple arrays(Taken &&x) {
  return nb::make_tuple(as_array(std::move(x.centre), {x.count, x.width}),
                        as_array(std::move(x.terms), {x.symbols, x.count, x.width}),
                        as_array(std::move(x.remainder), {x.count, x.width}));
}

using Centre = In<nb::ndim<2>>;
using Terms = In<nb::ndim<3>>;

Given given(const Centre &centre, const Terms &terms, const Centre &remainder, std::size_t n) {
  const std::size_t count = centre.shape(0), symbols = terms.shape(0);
  if (centre.shape(1) != n || terms.shape(1) != count || terms.shape(2) != n || remainder.shape(0) != count ||
      remainder.shape(1) != n)
    throw std::invalid_argument("forms differ in their shape");
  return {centre.data(), terms.data(), remainder.data(), symbols, count, n};
}

Tree tree_of(const Joints &parents, const In<nb::shape<-1, 3, 3>> &rotation, const In<nb::shape<-1, 3>> &translation,
             const In<nb::shape<-1, 3>> &axis, const In<nb::shape<3>> &gravity) {
  const std::size_t n = parents.shape(0);
  if (rotation.shape(0) != n || translation.shape(0) != n || axis.shape(0) != n)
    throw std::invalid_argument("arrays differ in their number of joints");
  return {n, parents.data(), rotation.data(), translation.data(), axis.data(),
          {gravity.data()[0], gravity.data()[1], gravity.data()[2]}};
}

constexpr std::size_t kMostSymbols = 32;

// Calls f with the least multiple of kLanes that holds the symbols, as a constant.
template <typename F>
void with_symbols(std::size_t symbols, F &&f) {
  if (symbols > kMostSymbols) throw std::invalid_argument("too many symbols");
  if (symbols <= 8) f(std::integral_constant<int, 8>{});
  else if (symbols <= 16) f(std::integral_constant<int, 16>{});
  else if (symbols <= 24) f(std::integral_constant<int, 24>{});
  else f(std::integral_constant<int, 32>{});
}

nb::tuple python_frames(Joints parents, In<nb::shape<-1, 3, 3>> rotation, In<nb::shape<-1, 3>> translation,
                        In<nb::shape<-1, 3>> axis, In<nb::shape<3>> gravity, Centre sine, Terms sine_terms,
                        Centre sine_rest, Centre cosine, Terms cosine_terms, Centre cosine_rest) {
  const Tree tree = tree_of(parents, rotation, translation, axis, gravity);
  pairs_of(tree);
  const Given s = given(sine, sine_terms, sine_rest, tree.n), c = given(cosine, cosine_terms, cosine_rest, tree.n);
  if (s.count != c.count || s.symbols != c.symbols) throw std::invalid_argument("forms differ in their shape");
  Taken turn(s.symbols, s.count, 9 * tree.n), place(s.symbols, s.count, 3 * tree.n);
  {
    nb::gil_scoped_release release;
    with_symbols(s.symbols, [&](auto size) { frames<decltype(size)::value>(tree, s, c, turn, place); });
  }
  return nb::make_tuple(arrays(std::move(turn)), arrays(std::move(place)));
}

nb::tuple python_dynamics(Joints parents, In<nb::shape<-1, 3, 3>> rotation, In<nb::shape<-1, 3>> translation,
                          In<nb::shape<-1, 3>> axis, In<nb::shape<3>> gravity, Centre sine, Terms sine_terms,
                          Centre sine_rest, Centre cosine, Terms cosine_terms, Centre cosine_rest, Centre qd,
                          Terms qd_terms, Centre qd_rest, Centre qd_a, Terms qd_a_terms, Centre qd_a_rest, Centre qdd,
                          Terms qdd_terms, Centre qdd_rest) {
  const Tree tree = tree_of(parents, rotation, translation, axis, gravity);
  const std::size_t pairs = pairs_of(tree);
  const Given forms[5] = {given(sine, sine_terms, sine_rest, tree.n), given(cosine, cosine_terms, cosine_rest, tree.n),
                          given(qd, qd_terms, qd_rest, tree.n), given(qd_a, qd_a_terms, qd_a_rest, tree.n),
                          given(qdd, qdd_terms, qdd_rest, tree.n)};
  const std::size_t count = forms[0].count, symbols = forms[0].symbols;
  for (const Given &form : forms)
    if (form.count != count || form.symbols != symbols) throw std::invalid_argument("forms differ in their shape");
  const auto taken = [&](std::size_t width) { return Taken(symbols, count, width); };
  Results out{{taken(3 * tree.n), taken(3 * tree.n), taken(3 * tree.n), taken(3 * tree.n)}, taken(3 * pairs),
              taken(3 * pairs), taken(10 * pairs)};
  {
    nb::gil_scoped_release release;
    with_symbols(symbols, [&](auto size) {
      dynamics<decltype(size)::value>(tree, forms[0], forms[1], forms[2], forms[3], forms[4], out);
    });
  }
  return nb::make_tuple(arrays(std::move(out.motion[0])), arrays(std::move(out.motion[1])),
                        arrays(std::move(out.motion[2])), arrays(std::move(out.motion[3])),
                        arrays(std::move(out.linear)), arrays(std::move(out.angular)), arrays(std::move(out.torque)));
}

}  // namespace

NB_MODULE(_affine_dynamics, m) {
  m.doc() = "Frames and torque coefficients of an arm in affine arithmetic.";
  m.attr("most_symbols") = kMostSymbols;
  m.def("frames", &python_frames);
  m.def("dynamics", &python_dynamics);
}
