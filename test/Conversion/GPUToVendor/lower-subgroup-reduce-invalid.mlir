// RUN: not lnbwd-opt %s --lnbwd-lower-subgroup-reduce=chip=gfx0 2>&1 | FileCheck %s --check-prefix=CHIP
// RUN: not lnbwd-opt %s --lnbwd-lower-subgroup-reduce 2>&1 | FileCheck %s --check-prefix=NO-CHIP

// CHIP:    error: unknown chip 'gfx0', expected one of: gfx908, {{.*}}, sm_120
// NO-CHIP: error: expected the option chip, one of: gfx908, {{.*}}, sm_120

module {
}
