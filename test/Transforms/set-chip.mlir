// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942:xnack+:sramecc- | FileCheck %s
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 | lnbwd-opt --lnbwd-set-chip=chip=sm_90 | FileCheck %s --check-prefix=TWICE

// CHECK:   module attributes {dlti.target_system_spec = #dlti.target_system_spec<"GPU" = #dlti.target_device_spec<"chip" = "gfx942:sramecc-:xnack+">>} {
// TWICE:   module attributes {dlti.target_system_spec = #dlti.target_system_spec<"GPU" = #dlti.target_device_spec<"chip" = "sm_90">>} {
module {
}
