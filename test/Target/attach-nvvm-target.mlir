// RUN: lnbwd-opt %s --lnbwd-attach-nvvm-target="chip=sm_90" | FileCheck %s

// A module that asks for nothing is for the chip, whatever it was for before.
// CHECK: gpu.module @plain [#nvvm.target<O = 3, chip = "sm_90", features = "+ptx{{[0-9]+}}">]
gpu.module @plain [#nvvm.target<chip = "sm_70">] {
}

// Instructions of this chip alone have a target of their own.
// CHECK: gpu.module @own [#nvvm.target<O = 3, chip = "sm_90a", features = "+ptx{{[0-9]+}}">] attributes {lnbwd.target = "sm_90a"}
gpu.module @own attributes {lnbwd.target = "sm_90a"} {
}
