// RUN: not lnbwd-opt %s --lnbwd-lower-subgroup-reduce=chip=gfx0 2>&1 | FileCheck %s --check-prefix=CHIP
// RUN: not lnbwd-opt %s --lnbwd-lower-subgroup-reduce 2>&1 | FileCheck %s --check-prefix=NO-CHIP

// CHIP:    error: unknown chip 'gfx0', expected one of: gfx90a, gfx942, gfx950, gfx1100, gfx1201, sm_80, sm_90
// NO-CHIP: error: expected the option chip, one of: gfx90a, gfx942, gfx950, gfx1100, gfx1201, sm_80, sm_90

module {
}
