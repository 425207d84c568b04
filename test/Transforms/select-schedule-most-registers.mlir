// RUN: lnbwd-opt %s --lnbwd-lower-to-rowwise --lnbwd-fix-order --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule > %t.first
// RUN: FileCheck %s --check-prefix=BOUND < %t.first
// RUN: sed -n "s/.*schedule = \(#lnbwd.schedule<[^>]*>\).*/s|{layer_norm_bwd = ..}|{layer_norm_bwd = [\1]}|/p" %t.first > %t.sed
// RUN: sed -f %t.sed %s | lnbwd-opt --lnbwd-lower-to-rowwise --lnbwd-fix-order --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule | FileCheck %s --check-prefix=FREE
// RUN: lnbwd-opt %s --lnbwd-lower-to-rowwise --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule | FileCheck %s --check-prefix=DEFAULT
// RUN: lnbwd-opt %s --lnbwd-pipeline='chip=sm_90 order=canonical' --emit=ptx -o - | FileCheck %s --check-prefix=PTX
// RUN: lnbwd-opt %s --lnbwd-pipeline='chip=sm_90 order=canonical' --emit=ptx --max-registers=96 -o - | FileCheck %s --check-prefix=OPTION

// In the canonical order three workgroups of 128 lanes have their leaves at
// once, so that all three have to fit a compute unit. A bound by which the
// kernel has spilled goes, and the schedule stays.

// BOUND:   threads_per_row = 128, {{.*}}workgroups_per_compute_unit = 3, {{.*}}most_registers = 168>
// FREE:    lnbwd.rowwise @layer_norm_bwd
// FREE:    threads_per_row = 128, {{.*}}workgroups_per_compute_unit = 3,
// FREE-NOT: most_registers
// DEFAULT: lnbwd.rowwise
// DEFAULT-NOT: most_registers
// PTX:     .entry layer_norm_bwd(
// PTX:     .maxnreg 168
// PTX:     .entry layer_norm_bwd_finalize(
// PTX-NOT: .maxnreg
// OPTION:  .entry layer_norm_bwd(
// OPTION:  .maxnreg 96
module attributes {lnbwd.rejected_schedules = {layer_norm_bwd = []}} {
  func.func @backward(%dy: memref<9472x5944xf16>, %x: memref<9472x5944xf16>, %gamma: memref<5944xf16>,
      %mean: memref<9472xf32>, %rstd: memref<9472xf32>, %dx: memref<9472x5944xf16>, %dgamma: memref<5944xf16>, %dbeta: memref<5944xf16>) {
    lnbwd.layer_norm_bwd dy(%dy : memref<9472x5944xf16>) x(%x : memref<9472x5944xf16>) gamma(%gamma : memref<5944xf16>)
        mean(%mean : memref<9472xf32>) rstd(%rstd : memref<9472xf32>)
        outs dx(%dx : memref<9472x5944xf16>) dgamma(%dgamma : memref<5944xf16>) dbeta(%dbeta : memref<5944xf16>)
    return
  }
}
