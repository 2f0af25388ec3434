// SPDX-License-Identifier: Apache-2.0
// Dense products of small matrices in tiles of eight columns whose sums stay in registers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

// With plain x86-64's registers BLAS is the faster; there functions are compiled for later processors as well.
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__clang__) && __GNUC__ >= 12
#define FOR_EVERY_PROCESSOR __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#define FOR_WIDE_REGISTERS __attribute__((target("arch=x86-64-v4")))
const bool kWorthwhile = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
const bool kWide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                   __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
                   __builtin_cpu_supports("avx512cd");
#else
#define FOR_EVERY_PROCESSOR
#define FOR_WIDE_REGISTERS
#if defined(__x86_64__)
const bool kWorthwhile = false;
#else
const bool kWorthwhile = true;
#endif
const bool kWide = false;
#endif
#define INTO_CALLER inline __attribute__((always_inline))

namespace tiles {

constexpr std::size_t kColumns = 8;
inline std::size_t padded(std::size_t count) { return (count + kColumns - 1) / kColumns * kColumns; }

// Eight columns are one such vector, or two of the half.
typedef double Eight __attribute__((vector_size(64)));
typedef double Four __attribute__((vector_size(32)));

// out (R, 8), rows `apart`, is the sum over k < count of left(x, k) times eight numbers from right(k).
template <int R, typename V, typename Left, typename Right>
INTO_CALLER void sum_tile(std::size_t count, const Left &left, const Right &right, double *out, std::size_t apart) {
  constexpr int kParts = 64 / sizeof(V), kOwn = sizeof(V) / sizeof(double);
  V sums[R * kParts];
#pragma GCC unroll 16
  for (int at = 0; at < R * kParts; ++at) sums[at] = V{};
  for (std::size_t k = 0; k < count; ++k) {
    const double *row = right(k);
    V numbers[kParts];
#pragma GCC unroll 2
    for (int part = 0; part < kParts; ++part) std::memcpy(&numbers[part], row + part * kOwn, sizeof(V));
#pragma GCC unroll 8
    for (int x = 0; x < R; ++x)
#pragma GCC unroll 2
      for (int part = 0; part < kParts; ++part) sums[x * kParts + part] += left(x, k) * numbers[part];
  }
#pragma GCC unroll 8
  for (int x = 0; x < R; ++x)
#pragma GCC unroll 2
    for (int part = 0; part < kParts; ++part)
      std::memcpy(out + x * apart + part * kOwn, &sums[x * kParts + part], sizeof(V));
}

template <int R, typename V>
INTO_CALLER void square(const double *a, std::size_t m, std::size_t c, int *rows, double *out) {
  for (std::size_t i = 0; i < c; i += R) {
    std::size_t count = 0;
    for (std::size_t r = 0; r < m; ++r) {
      bool seen = false;
      // A NaN is not zero.
      for (int x = 0; x < R; ++x) seen |= a[r * c + i + x] != 0.0;
      if (seen) rows[count++] = static_cast<int>(r);
    }
    const auto left = [&](int x, std::size_t k) { return a[rows[k] * c + i + x]; };
    for (std::size_t j = i - i % kColumns; j < c; j += kColumns)
      sum_tile<R, V>(count, left, [&](std::size_t k) { return a + rows[k] * c + j; }, out + i * c + j, c);
  }
}

FOR_WIDE_REGISTERS inline void square_wide(const double *a, std::size_t m, std::size_t c, int *rows, double *out) {
  square<8, Eight>(a, m, c, rows, out);
}

FOR_EVERY_PROCESSOR void square_narrow(const double *a, std::size_t m, std::size_t c, int *rows, double *out) {
  square<4, Four>(a, m, c, rows, out);
}

// Upper half of A'A, A (m, c), c a multiple of kColumns; `rows` has room for m numbers.
inline void square(const double *a, std::size_t m, std::size_t c, int *rows, double *out) {
  kWide ? square_wide(a, m, c, rows, out) : square_narrow(a, m, c, rows, out);
}

template <int R, typename V>
INTO_CALLER std::size_t multiply_rows(const double *a, std::size_t i, std::size_t n, std::size_t m, std::size_t lead,
                                      const double *b, std::size_t stride, double *out) {
  for (; i + R <= n; i += R)
    sum_tile<R, V>(
        m, [&](int x, std::size_t k) { return a[(i + x) * lead + k]; },
        [&](std::size_t k) { return b + k * stride; }, out + i * stride, stride);
  return i;
}

template <int R, typename V>
INTO_CALLER void multiply(const double *a, std::size_t n, std::size_t m, std::size_t lead, const double *b, std::size_t c,
                          std::size_t stride, double *out) {
  for (std::size_t j = 0; j < c; j += kColumns) {
    std::size_t i = multiply_rows<R, V>(a, 0, n, m, lead, b + j, stride, out + j);
    i = multiply_rows<2, V>(a, i, n, m, lead, b + j, stride, out + j);
    multiply_rows<1, V>(a, i, n, m, lead, b + j, stride, out + j);
  }
}

FOR_WIDE_REGISTERS inline void multiply_wide(const double *a, std::size_t n, std::size_t m, std::size_t lead,
                                             const double *b, std::size_t c, std::size_t stride, double *out) {
  multiply<8, Eight>(a, n, m, lead, b, c, stride, out);
}

FOR_EVERY_PROCESSOR void multiply_narrow(const double *a, std::size_t n, std::size_t m, std::size_t lead,
                                         const double *b, std::size_t c, std::size_t stride, double *out) {
  multiply<4, Four>(a, n, m, lead, b, c, stride, out);
}

// out (n, c) = a (n, m) b (m, c), rows of a `lead` apart, of b and out `stride`, a multiple of kColumns, up to which out
// is written.
inline void multiply(const double *a, std::size_t n, std::size_t m, std::size_t lead, const double *b, std::size_t c,
                     std::size_t stride, double *out) {
  kWide ? multiply_wide(a, n, m, lead, b, c, stride, out) : multiply_narrow(a, n, m, lead, b, c, stride, out);
}

}  // namespace tiles
