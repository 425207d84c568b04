//===- layer_norm_bwd.cl - Kernels for the runtime's and runner's tests ---===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LayerNorm backward in OpenCL C, with a launch plan, so that the runtime and
// the runner are tested without the compiler of this project. Float32, N
// columns, one workgroup of 64 work-items a row at a time.
//
// With a MISTAKE_... defined it makes one mistake, which the runner has to
// find.
//
//===----------------------------------------------------------------------===//

#define N 192
#define GROUP 64
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

#ifndef PLAN_CHIP
#define PLAN_CHIP TEXT(CHIP)
#endif
#ifndef PLAN_VERSION
#define PLAN_VERSION "1"
#endif
#ifndef PLAN_FINALIZE
#define PLAN_FINALIZE "layer_norm_bwd_finalize"
#endif
#ifndef PLAN_EXTRA_PARAMETER
#define PLAN_EXTRA_PARAMETER ""
#endif

#define ARGUMENT(NAME, ACCESS, KIND, LENGTH)                                   \
  "{\"name\": \"" NAME "\", \"access\": \"" ACCESS "\", \"kind\": \"" KIND     \
  "\", \"element\": \"f32\", \"row_length\": " LENGTH "}"

__attribute__((used, visibility("protected"),
               section(".lnbwd.plan"))) __constant char lnbwd_plan[] =
    "{\"format\": \"lnbwd-plan\", \"version\": " PLAN_VERSION ", "
    "\"producer\": \"clang\", \"name\": \"layer_norm_bwd\", "
    "\"chip\": \"" PLAN_CHIP "\", \"wave_size\": " TEXT(
        WAVE) ", "
              "\"operation\": {\"name\": \"layer_norm_bwd\", \"operands\": "
              "{\"dy\": 0, \"x\": 1, \"gamma\": 2, \"mean\": 3, "
              "\"rstd\": 4, \"dx\": 5, \"dgamma\": 6, \"dbeta\": 7}}, "
              "\"arguments\": [" ARGUMENT("dy", "read", "row_block", TEXT(N)) ", " ARGUMENT("x", "read", "row_block", TEXT(N)) ", " ARGUMENT(
                  "gamma", "read", "column",
                  TEXT(
                      N)) ", " ARGUMENT("mean", "read", "row_scalar",
                                        "1") ", " ARGUMENT("rstd", "read",
                                                           "row_scalar",
                                                           "1") ", " ARGUMENT("dx",
                                                                              "write",
                                                                              "row_block",
                                                                              TEXT(
                                                                                  N)) ", " ARGUMENT("dgamma",
                                                                                                    "write",
                                                                                                    "column",
                                                                                                    TEXT(N)) ", " ARGUMENT("dbeta", "write", "column", TEXT(N)) "], "
                                                                                                                                                                "\"workgroup_counts\": [{\"rows_per_workgroup\": 2, "
                                                                                                                                                                "\"workgroups_per_compute_unit\": 1}], "
                                                                                                                                                                "\"workspace\": [{\"element\": \"f32\", \"row_length\": " TEXT(N) ", "
                                                                                                                                                                                                                                  "\"rows\": {\"workgroup_count\": 0}}, {\"element\": \"f32\", "
                                                                                                                                                                                                                                  "\"row_length\": " TEXT(N) ", \"rows\": {\"workgroup_count\": 0}}], "
                                                                                                                                                                                                                                                             "\"kernels\": [{\"name\": \"layer_norm_bwd\", "
                                                                                                                                                                                                                                                             "\"grid\": [{\"workgroup_count\": 0}, 1, 1], \"block\": [64, 1, 1], "
                                                                                                                                                                                                                                                             "\"dynamic_shared_bytes\": 0, \"parameters\": [{\"argument\": 0}, "
                                                                                                                                                                                                                                                             "{\"argument\": 1}, {\"argument\": 2}, {\"argument\": 3}, "
                                                                                                                                                                                                                                                             "{\"argument\": 4}, {\"argument\": 5}, {\"workspace\": 0}, "
                                                                                                                                                                                                                                                             "{\"workspace\": 1}, {\"rows\": true}, {\"workgroup_count\": 0}]}, "
                                                                                                                                                                                                                                                             "{\"name\": \"" PLAN_FINALIZE
                                                                                                                                                                                                                                                             "\", \"grid\": [3, 1, 1], "
                                                                                                                                                                                                                                                             "\"block\": [64, 1, 1], \"dynamic_shared_bytes\": 0, "
                                                                                                                                                                                                                                                             "\"parameters\": [{\"workspace\": 0}, {\"workspace\": 1}, "
                                                                                                                                                                                                                                                             "{\"argument\": 6}, {\"argument\": 7}, "
                                                                                                                                                                                                                                                             "{\"workgroup_count\": 0}" PLAN_EXTRA_PARAMETER
                                                                                                                                                                                                                                                             "]}]}";

static float sumOfGroup(local float *scratch, int lane, float value) {
  __builtin_amdgcn_s_barrier();
  scratch[lane] = value;
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  float sum = 0;
  for (int i = 0; i < GROUP; ++i)
    sum += scratch[i];
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  return sum;
}

__attribute__((amdgpu_flat_work_group_size(GROUP, GROUP))) kernel void
layer_norm_bwd(global const float *dy, global float *x,
               global const float *gamma, global const float *mean,
               global const float *rstd, global float *dx,
               global float *partialDgamma, global float *partialDbeta,
               long rows, long groups) {
  local float scratch[GROUP];
  int lane = __builtin_amdgcn_workitem_id_x();
  long group = __builtin_amdgcn_workgroup_id_x();
  float dgamma[N / GROUP] = {0}, dbeta[N / GROUP] = {0};
#ifdef MISTAKE_UNSTABLE
  uint before = as_uint(partialDgamma[0]);
#endif
  for (long row = group; row < rows; row += groups) {
    float wdy[N / GROUP], xhat[N / GROUP], s1 = 0, s2 = 0;
    for (int c = 0; c < N / GROUP; ++c) {
      int j = c * GROUP + lane;
      float d = dy[row * N + j];
      xhat[c] = (x[row * N + j] - mean[row]) * rstd[row];
      wdy[c] = gamma[j] * d;
      s1 += wdy[c] * xhat[c];
      s2 += wdy[c];
      dgamma[c] += d * xhat[c];
      dbeta[c] += d;
    }
    s1 = sumOfGroup(scratch, lane, s1);
    s2 = sumOfGroup(scratch, lane, s2);
    for (int c = 0; c < N / GROUP; ++c) {
      float value =
          rstd[row] * (wdy[c] - xhat[c] * (s1 * (1.0f / N)) - s2 * (1.0f / N));
#ifdef MISTAKE_FORMULA
      // Only the diagonal of the Jacobian.
      value = wdy[c] * rstd[row] * (1 - 1.0f / N - xhat[c] * xhat[c] / N);
#endif
#ifdef MISTAKE_UNSTABLE
      value = (before & 1) ? value * 1.00000012f : value;
#endif
#ifdef MISTAKE_UNWRITTEN
      if (row == rows - 1 && c == 1 && lane == 7)
        continue;
#endif
#ifdef MISTAKE_NAN
      if (row == 1 && c == 0 && lane == 3)
        value = __builtin_nanf("");
#endif
      dx[row * N + c * GROUP + lane] = value;
    }
  }
  for (int c = 0; c < N / GROUP; ++c) {
    partialDgamma[group * N + c * GROUP + lane] = dgamma[c];
    partialDbeta[group * N + c * GROUP + lane] = dbeta[c];
  }
#ifdef MISTAKE_INPUT
  if (group == 0 && lane == 0)
    x[5] += 1;
#endif
#ifdef MISTAKE_WORKSPACE_OVERRUN
  if (group == 0 && lane == 0)
    partialDbeta[groups * N + 64] = 0;
#endif
#ifdef MISTAKE_FAULT
  if (group == 0 && lane == 0)
    dx[rows * N + 0x1000000000] = 0;
#endif
}

__attribute__((amdgpu_flat_work_group_size(GROUP, GROUP))) kernel void
layer_norm_bwd_finalize(global const float *partialDgamma,
                        global const float *partialDbeta, global float *dgamma,
                        global float *dbeta, long groups) {
  int j = (int)__builtin_amdgcn_workgroup_id_x() * GROUP +
          (int)__builtin_amdgcn_workitem_id_x();
  float s1 = 0, s2 = 0;
  for (long g = 0; g < groups; ++g) {
    s1 += partialDgamma[g * N + j];
    s2 += partialDbeta[g * N + j];
  }
  dgamma[j] = s1;
  dbeta[j] = s2;
#ifdef MISTAKE_OVERRUN
  if (j == N - 1)
    dgamma[N] = s1;
#endif
#ifdef MISTAKE_RACE
  // The next workgroup's first column.
  if (j % GROUP == GROUP - 1 && j != N - 1)
    dgamma[j + 1] = s1;
#endif
}
