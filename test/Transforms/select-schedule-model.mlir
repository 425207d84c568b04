// RUN: env LNBWD_MODEL=%S/Inputs/narrow-rows.trees lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule=rows=8192 | FileCheck %s
// RUN: env LNBWD_MODEL=%S/Inputs/narrow-rows.trees lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-select-schedule=rows=8192 | FileCheck %s --check-prefix=FAMILY-WITHOUT-ONE
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-select-schedule=rows=8192 | FileCheck %s --check-prefix=FAMILY-WITHOUT-ONE
// RUN: env LNBWD_MODEL=%t.none not lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule 2>&1 | FileCheck %s --check-prefix=NO-FILE
// RUN: env LNBWD_MODEL=%s not lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule 2>&1 | FileCheck %s --check-prefix=NO-TREES
// RUN: sed 's/,rounds,/,turns,/' %S/Inputs/narrow-rows.trees > %t.stale
// RUN: env LNBWD_MODEL=%t.stale not lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule 2>&1 | FileCheck %s --check-prefix=NO-TREES
// RUN: sed 's/ 1.0$//' %S/Inputs/narrow-rows.trees > %t.short
// RUN: env LNBWD_MODEL=%t.short not lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule 2>&1 | FileCheck %s --check-prefix=NO-NODES
// RUN: sed 's/ 1.0$/ 1.0 2.0/' %S/Inputs/narrow-rows.trees > %t.long
// RUN: env LNBWD_MODEL=%t.long not lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline=chip=sm_90 2>&1 | FileCheck %s --check-prefix=NO-NODES
// RUN: sed 's/,12 /,254 /' %S/Inputs/narrow-rows.trees > %t.feature
// RUN: env LNBWD_MODEL=%t.feature not lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule 2>&1 | FileCheck %s --check-prefix=NO-NODES
// RUN: sed 's/-1e-1/-1,e-1/' %S/Inputs/narrow-rows.trees > %t.comma
// RUN: env LNBWD_MODEL=%t.comma not lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule 2>&1 | FileCheck %s --check-prefix=NO-NODES

// CHECK: schedule = #lnbwd.schedule<threads_per_row = 16,
// FAMILY-WITHOUT-ONE: schedule = #lnbwd.schedule<threads_per_row = 128,
// NO-FILE: error: LNBWD_MODEL names '{{.*}}.none': No such file
// NO-TREES: error: LNBWD_MODEL names '{{.*}}': expected trees of this compiler's features; train them again
// NO-NODES: error: LNBWD_MODEL names '{{.*}}': expected a tree, got '
func.func @square(%x: memref<?x1024xbf16>, %y: memref<?x1024xbf16>) {
  lnbwd.rowwise @square domain(m | n) ins(%x[m, n] : memref<?x1024xbf16>) outs(%y[m, n] : memref<?x1024xbf16>) {
  ^row(%xr: vector<1024xbf16>):
    %0 = arith.extf %xr : vector<1024xbf16> to vector<1024xf32>
    %1 = arith.mulf %0, %0 : vector<1024xf32>
    %2 = arith.truncf %1 : vector<1024xf32> to vector<1024xbf16>
    lnbwd.yield %2 : vector<1024xbf16>
  }
  return
}
