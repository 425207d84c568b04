// RUN: not lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-set-chip=chip=sm_80 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: not lnbwd-opt %s --lnbwd-set-chip=chip=mi300 2>&1 | FileCheck %s --check-prefix=CHIP
// RUN: not lnbwd-opt %s --lnbwd-set-chip 2>&1 | FileCheck %s --check-prefix=NO-CHIP
// RUN: sed 's/^module {/module attributes {dlti.target_system_spec = #dlti.target_system_spec<"GPU" = #dlti.target_device_spec<"chip" = "mi300">>} {/' %s | not lnbwd-opt --lnbwd-select-schedule 2>&1 | FileCheck %s --check-prefix=WRONG
// RUN: echo 'module { module { func.func private @f() } }' | not lnbwd-opt --lnbwd-pipeline=chip=gfx942 2>&1 | FileCheck %s --check-prefix=NESTED

// NESTED:  <stdin>:1:10: error: expected no module within the module that is compiled; move its functions out of it
// OTHER:   error: loc("option chip"): expected the target that the module is for, #dlti.target_system_spec<"GPU" = #dlti.target_device_spec<"chip" = "sm_90">>, got sm_80
// CHIP:    error: loc("option chip"): unknown chip 'mi300', expected one of: gfx908, {{.*}}, sm_120
// NO-CHIP: error: loc("option chip"): expected the option chip, one of: gfx908, {{.*}}, sm_120
// WRONG:   error: unknown chip 'mi300', expected one of: gfx908, {{.*}}, sm_120
module {
}
