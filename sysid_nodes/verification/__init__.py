# SPDX-License-Identifier: Apache-2.0
"""A second verifier of certificates, which shares nothing with the certifier but the record's format.

It is slow and obvious: vectors with error balls instead of affine forms, Newton and Euler in the base frame instead of
recursions in body frames, its own reading of the URDF, and parts of time finer than the certificate's. Both have to be
wrong in the same way before a wrong certificate passes. docs/certified/verification.md says what is checked and how.
"""
