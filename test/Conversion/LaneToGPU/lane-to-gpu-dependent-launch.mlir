// RUN: lnbwd-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(lnbwd-convert-lane-to-gpu{chip=sm_90})))' | FileCheck %s

// CHECK-LABEL: gpu.func @f
// CHECK-NEXT:    nvvm.griddepcontrol wait
// CHECK-NEXT:    nvvm.griddepcontrol launch_dependents
// CHECK-NEXT:    gpu.return
gpu.module @m {
  gpu.func @f() {
    lane.grid_dependency_wait
    lane.launch_dependents
    gpu.return
  }
}
