// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942:xnack+:sramecc- | FileCheck %s
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 | lnbwd-opt --lnbwd-set-chip=chip=sm_90 | FileCheck %s --check-prefix=TWICE

// CHECK:   module attributes {lnbwd.chip = "gfx942:sramecc-:xnack+"} {
// TWICE:   module attributes {lnbwd.chip = "sm_90"} {
module {
}
