# SPDX-License-Identifier: Apache-2.0
"""The statistical estimate that stands beside the guaranteed interval: robust, with errors that the residuals show."""
