// RUN: lnbwd-opt %s --lnbwd-attach-nvvm-target="chip=sm_80" --split-input-file --verify-diagnostics

// expected-error@+1 {{expected lnbwd.target to be a target of sm_80, which its code is for, got 'sm_90a'; convert its products for that chip}}
gpu.module @later attributes {lnbwd.target = "sm_90a"} {
}
