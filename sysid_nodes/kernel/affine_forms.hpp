// SPDX-License-Identifier: Apache-2.0
// Affine forms, one at a time: intervals/products.py and intervals/sums.py with the same bounds, which say why each
// operation's remainder covers its roundings. They hold in any order of summation and with or without fused products, but
// for IEEE arithmetic only: no option that lets a compiler assume more may be given where this is included.
#pragma once

#include <array>
#include <cmath>

#ifdef __FAST_MATH__
#error "bounds on rounding errors need IEEE arithmetic"
#endif

constexpr double kEps = 2.220446049250313e-16, kTiny = 2.2250738585072014e-308;  // of intervals/rounding.py
constexpr int kLanes = 8;

// At least an exact number that was computed in so many roundings from terms without a sign.
inline double grow(double x, int operations) { return x * (1.0 + (operations + 2) * kEps) + kTiny; }

// centre + sum of S terms + remainder; `spread` is the sum of |terms|, `scale` at least |centre| + that.
template <int S>
struct Form {
  double c = 0.0, r = 0.0, scale = kTiny, spread = 0.0;
  alignas(64) double t[S] = {};

  double size() const { return std::abs(c); }

  void gather() {
    double lane[kLanes] = {};
    for (int s = 0; s < S; s += kLanes)
      for (int k = 0; k < kLanes; ++k) lane[k] += std::abs(t[s + k]);
    spread = ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
  }
};

template <int S>
using Vector = std::array<Form<S>, 3>;
template <int S>
using Matrix = std::array<Vector<S>, 3>;  // by row
using Numbers = std::array<double, 3>;

// sum of N products of forms x y, those from `Minus` on taken off
template <int S, int N, int Minus = N>
inline Form<S> dot(const std::array<const Form<S> *, N> &x, const std::array<const Form<S> *, N> &y) {
  Form<S> out;
  double scale = 0.0, left_over = 0.0;
  for (int k = 0; k < N; ++k) {
    const Form<S> &a = *x[k], &b = *y[k];
    const double sign = k < Minus ? 1.0 : -1.0, ac = sign * a.c, bc = sign * b.c;
    out.c += ac * b.c;
    for (int s = 0; s < S; ++s) out.t[s] += a.t[s] * bc + ac * b.t[s];
    scale += a.scale * b.scale;
    left_over += (a.size() + a.spread + a.r) * b.r + a.r * (b.size() + b.spread) + a.spread * b.spread;
  }
  out.scale = grow(scale, 2 * N + 8);
  out.r = grow(left_over + (N + 2) * kEps * out.scale, 2 * S + 2 * N + 8);
  out.gather();
  return out;
}

// The same with numbers y.
template <int S, int N, int Minus = N>
inline Form<S> dot(const std::array<const Form<S> *, N> &x, const std::array<double, N> &y) {
  Form<S> out;
  double scale = 0.0, left_over = 0.0;
  for (int k = 0; k < N; ++k) {
    const Form<S> &a = *x[k];
    const double number = k < Minus ? y[k] : -y[k], size = std::abs(number);
    out.c += a.c * number;
    for (int s = 0; s < S; ++s) out.t[s] += a.t[s] * number;
    scale += a.scale * size;
    left_over += a.r * size;
  }
  out.scale = grow(scale, 2 * N + 8);
  out.r = grow(left_over + (N + 2) * kEps * out.scale, 2 * N + 8);
  out.gather();
  return out;
}

template <int S>
inline Form<S> add(const Form<S> &x, const Form<S> &y, double sign = 1.0) {
  Form<S> out;
  out.c = x.c + sign * y.c;
  for (int s = 0; s < S; ++s) out.t[s] = x.t[s] + sign * y.t[s];
  const double scale = x.scale + y.scale;
  out.r = grow(x.r + y.r + kEps * scale, 4);
  out.scale = grow(scale, 8);
  out.gather();
  return out;
}

template <int S>
inline Form<S> constant(double x) {
  Form<S> out;
  out.c = x;
  out.scale = grow(std::abs(x), 2);
  return out;
}

template <int S>
inline Form<S> half(const Form<S> &x) {
  return dot<S, 1>({&x}, {0.5});
}

template <int S>
inline Vector<S> add(const Vector<S> &x, const Vector<S> &y, double sign = 1.0) {
  return {add(x[0], y[0], sign), add(x[1], y[1], sign), add(x[2], y[2], sign)};
}

template <int S>
inline Vector<S> half(const Vector<S> &x) {
  return {half(x[0]), half(x[1]), half(x[2])};
}

template <int S>
inline Form<S> dot(const Vector<S> &x, const Vector<S> &y) {
  return dot<S, 3>({&x[0], &x[1], &x[2]}, {&y[0], &y[1], &y[2]});
}

template <int S>
inline Vector<S> cross(const Vector<S> &x, const Vector<S> &y) {
  Vector<S> out;
  for (int i = 0; i < 3; ++i) {
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    out[i] = dot<S, 2, 1>({&x[j], &x[k]}, {&y[k], &y[j]});
  }
  return out;
}

template <int S>
inline Vector<S> cross(const Vector<S> &x, const Numbers &y) {
  Vector<S> out;
  for (int i = 0; i < 3; ++i) {
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    out[i] = dot<S, 2, 1>({&x[j], &x[k]}, {y[k], y[j]});
  }
  return out;
}

// A'x: a vector of a parent's frame in the frame whose axes are the columns of A.
template <int S>
inline Vector<S> turned(const Matrix<S> &a, const Vector<S> &x) {
  Vector<S> out;
  for (int j = 0; j < 3; ++j) out[j] = dot<S, 3>({&a[0][j], &a[1][j], &a[2][j]}, {&x[0], &x[1], &x[2]});
  return out;
}

// axis times a form, added to x.
template <int S>
inline Vector<S> along(const Vector<S> &x, const Numbers &axis, const Form<S> &rate) {
  Vector<S> out;
  for (int k = 0; k < 3; ++k) out[k] = add(x[k], dot<S, 1>({&rate}, {axis[k]}));
  return out;
}

// Coefficients of a' I b in Ixx, Ixy, Iyy, Ixz, Iyz, Izz.
template <int S>
inline std::array<Form<S>, 6> quadratic(const Vector<S> &a, const Vector<S> &b) {
  std::array<Form<S>, 6> out;
  constexpr int pairs[6][2] = {{0, 0}, {0, 1}, {1, 1}, {0, 2}, {1, 2}, {2, 2}};
  for (int q = 0; q < 6; ++q) {
    const auto [i, j] = pairs[q];
    out[q] = i == j ? dot<S, 1>({&a[i]}, {&b[i]}) : dot<S, 2>({&a[i], &a[j]}, {&b[j], &b[i]});
  }
  return out;
}
