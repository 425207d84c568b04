// RUN: lnbwd-opt %s --lnbwd-lower-to-rowwise --lnbwd-set-chip=chip=sm_90 --lnbwd-print-schedule-features="rows=8192 schedules=%S/Inputs/features-of-schedules.txt" -o %t | FileCheck %s --check-prefix=TREES-WERE-TRAINED-ON

// What the files of trees (lib/Analysis/ScheduleTrees.*.trees) were trained on. Where a line here
// changes, the trees see other numbers than they have learned from: run bench/chooser/train.py on
// the sweeps, and take its files and these lines together. Trees of features of other names, or in another
// order, are refused.

// TREES-WERE-TRAINED-ON:      roofline_us,roofline_log,row_bytes_log,unit_rows_log,read_share,element_bytes,column_share,late_column_share,sums,row_sums,phases,operations,functions,row_waves_log,row_groups_log,access_bytes,accesses,lane_elements,idle_share,row_workgroups,stages,prefetch,unroll,unit_workgroups,dependent_launch,prefetch_before,shifted,workgroup_waves,register_share,resident_waves,rounds,iterations_log,uneven_share,in_flight_log,line_share,issue_log,latency_log,dispatch_log,exchange,combine,partial_share,shared_share,
// TREES-WERE-TRAINED-ON-NEXT: 4.194304e+01,5.390359e+00,1.458496e+01,5.955606e+00,6.666667e-01,2.000000e+00,3.333333e-01,0.000000e+00,2.000000e+00,2.000000e+00,1.000000e+00,1.166667e+00,0.000000e+00,3.000000e+00,0.000000e+00,1.600000e+01,2.000000e+00,1.600000e+01,0.000000e+00,1.000000e+00,2.000000e+00,1.000000e+00,1.000000e+00,2.000000e+00,1.000000e+00,0.000000e+00,0.000000e+00,8.000000e+00,4.392157e-01,1.600000e+01,1.000000e+00,5.000000e+00,1.031250e+00,1.586757e+00,1.000000e+00,-1.658118e+00,-1.127325e+00,-4.390359e+00,8.000000e+00,3.200000e+01,8.593750e-02,1.447368e-01
// TREES-WERE-TRAINED-ON-NEXT: 4.194304e+01,5.390359e+00,1.458496e+01,5.955606e+00,6.666667e-01,2.000000e+00,3.333333e-01,0.000000e+00,2.000000e+00,2.000000e+00,1.000000e+00,1.166667e+00,0.000000e+00,1.000000e+00,3.000000e+00,1.600000e+01,8.000000e+00,6.400000e+01,0.000000e+00,1.000000e+00,0.000000e+00,1.000000e+00,2.000000e+00,1.000000e+00,0.000000e+00,0.000000e+00,0.000000e+00,1.600000e+01,3.937500e+00,1.600000e+01,1.000000e+00,3.000000e+00,1.031250e+00,4.171719e+00,1.000000e+00,-1.819984e+00,-3.390360e+00,-5.390359e+00,2.000000e+00,4.057504e+02,4.296875e-02,8.815789e-01
// TREES-WERE-TRAINED-ON-NEXT: 4.194304e+01,5.390359e+00,1.458496e+01,5.955606e+00,6.666667e-01,2.000000e+00,3.333333e-01,0.000000e+00,2.000000e+00,2.000000e+00,1.000000e+00,1.166667e+00,0.000000e+00,1.000000e+00,1.000000e+00,8.000000e+00,4.000000e+00,1.600000e+01,0.000000e+00,4.000000e+00,0.000000e+00,0.000000e+00,1.000000e+00,3.000000e+00,0.000000e+00,0.000000e+00,0.000000e+00,4.000000e+00,4.392157e-01,1.200000e+01,1.000000e+00,5.392317e+00,1.015137e+00,1.717192e-01,1.000000e+00,-1.617854e+00,-1.500452e-01,-3.805397e+00,8.000000e+00,5.071880e+01,3.222656e-02,6.578948e-02
// TREES-WERE-TRAINED-ON-NEXT: 4.194304e+01,5.390359e+00,1.458496e+01,5.955606e+00,6.666667e-01,2.000000e+00,3.333333e-01,0.000000e+00,2.000000e+00,2.000000e+00,1.000000e+00,1.166667e+00,0.000000e+00,-1.000000e+00,4.000000e+00,4.000000e+00,1.000000e+00,2.000000e+00,0.000000e+00,1.000000e+00,0.000000e+00,0.000000e+00,1.000000e+00,0.000000e+00,0.000000e+00,0.000000e+00,0.000000e+00,8.000000e+00,1.372549e-01,8.000000e+00,1.000000e+00,9.000000e+00,1.031250e+00,-3.413243e+00,3.000000e+00,-7.269344e-01,2.872675e+00,-5.434753e+00,0.000000e+00,1.634985e+01,0.000000e+00,1.781798e-02

func.func @f(%dy: memref<?x4096xbf16>, %x: memref<?x4096xbf16>, %gamma: memref<4096xbf16>, %mean: memref<?xf32>, %rstd: memref<?xf32>,
    %dx: memref<?x4096xbf16>, %dgamma: memref<4096xbf16>, %dbeta: memref<4096xbf16>) {
  lnbwd.layer_norm_bwd dy(%dy : memref<?x4096xbf16>) x(%x : memref<?x4096xbf16>) gamma(%gamma : memref<4096xbf16>)
      mean(%mean : memref<?xf32>) rstd(%rstd : memref<?xf32>)
      outs dx(%dx : memref<?x4096xbf16>) dgamma(%dgamma : memref<4096xbf16>) dbeta(%dbeta : memref<4096xbf16>)
  return
}
