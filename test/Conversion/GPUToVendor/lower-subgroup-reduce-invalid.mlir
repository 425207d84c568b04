// RUN: not lnbwd-opt %s --lnbwd-lower-subgroup-reduce=chip=gfx0 2>&1 | FileCheck %s --check-prefix=CHIP
// RUN: not lnbwd-opt %s --lnbwd-lower-subgroup-reduce 2>&1 | FileCheck %s --check-prefix=NO-CHIP

// CHIP:    error: loc("option chip"): unknown chip 'gfx0', expected one of: gfx908, {{.*}}, sm_120
// NO-CHIP: error: loc("option chip"): expected the option chip, one of: gfx908, {{.*}}, sm_120

module {
}
