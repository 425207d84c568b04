// RUN: not lnbwd-opt %s --lnbwd-print-schedule-features="chip=sm_90 schedules=%t.none" -o %t 2>&1 | FileCheck %s

// CHECK: error: {{.*}}cannot read
func.func @f() {
  return
}
