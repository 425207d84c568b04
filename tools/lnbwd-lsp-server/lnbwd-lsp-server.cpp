//===- lnbwd-lsp-server.cpp - Editor support for lnbwd's MLIR -------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream's MLIR language server with the lnbwd dialect registered.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Config.h"
#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"
#include "lnbwd/Dialect/Lane/IR/LaneDialect.h"

#include "mlir/InitAllDialects.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

int main(int argc, char **argv) {
  llvm::cl::AddExtraVersionPrinter(
      [](llvm::raw_ostream &os) { os << "lnbwd " LNBWD_VERSION "\n"; });
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  registry.insert<lnbwd::LNBwdDialect, lnbwd::lane::LaneDialect>();
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
