// RUN: not lnbwd-opt %s --lnbwd-expand-for-chip 2>&1 | FileCheck %s --check-prefix=NO-CHIP

// NO-CHIP: error: expected a module for a chip; run lnbwd-set-chip before

module {
}
