// RUN: not lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-print-schedule-features=schedules=%t.none -o %t 2>&1 | FileCheck %s

// CHECK: error: {{.*}}cannot read
func.func @f() {
  return
}
