//===- TargetBackend.h - What differs between code generators ---*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one interface behind which AMD's and NVIDIA's code generators differ: the
// passes from the GPU dialect to LLVM's, and the way from there to machine
// code.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_TARGET_TARGETBACKEND_H
#define LNBWD_TARGET_TARGETBACKEND_H

#include "lnbwd/Target/ChipInfo.h"
#include "lnbwd/Target/KernelResources.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/Timing.h"

#include <functional>
#include <optional>
#include <string>

namespace lnbwd {

/// What a kernel can be written out as.
enum class EmitFormat {
  MLIR,       ///< the IR after the passes that were asked for
  LLVM,       ///< LLVM IR after optimisation
  ISA,        ///< assembly of the target
  HSACO,      ///< AMD code object
  PTX,        ///< NVIDIA's portable assembly
  Cubin,      ///< NVIDIA code object, by ptxas
  Report,     ///< what the kernels cost, as text; not by a backend
  ReportJSON, ///< the same as JSON
};

/// Choices of code emission that are not part of the IR.
struct EmitOptions {
  /// Called with the suffix and contents of each intermediate ("ll", "s").
  std::function<void(llvm::StringRef, llvm::StringRef)> onIntermediate;
  /// Vector registers of a lane that kernels may use, at most; 0: as many as
  /// the chip has. Less than a kernel needs makes it spill.
  unsigned maxRegisters = 0;
  /// Given the parts of the emission, if there is one.
  mlir::TimingScope *timing = nullptr;
};

/// A module written out.
struct Emission {
  /// The module in the format that was asked for.
  std::string contents;
  /// Its machine code. Empty if none was made on the way: for NVIDIA without
  /// ptxas.
  std::string object;
  /// What the kernels of `object` take.
  llvm::SmallVector<KernelResources> kernels;
};

class TargetBackend {
public:
  virtual ~TargetBackend();

  static const TargetBackend &get(Backend backend);
  /// The backend that a GPU module was lowered for. An error if it was not.
  static mlir::FailureOr<const TargetBackend *>
  get(mlir::gpu::GPUModuleOp module);
  /// Its chip, or the same error.
  static mlir::FailureOr<const ChipInfo *>
  getChip(mlir::gpu::GPUModuleOp module);

  /// Adds the passes that take a GPU module to LLVM's dialect, for `chip`;
  /// `features` are for LLVM, those of the chip and of the target id.
  virtual void addLowering(mlir::OpPassManager &pm, const ChipInfo &chip,
                           llvm::StringRef features) const = 0;

  /// The address space of constants in device memory.
  virtual unsigned getConstantAddressSpace() const = 0;
  /// The section for the launch plan, or nothing for the format's own.
  virtual std::optional<llvm::StringRef> getPlanSection() const = 0;

  /// The machine code that every installation can emit: hsaco or ptx.
  virtual EmitFormat getCodeFormat() const = 0;
  /// The formats that emit() takes, for messages.
  virtual llvm::StringRef getFormats() const = 0;
  /// Turns a lowered GPU module into `format`. Errors have been reported.
  virtual mlir::FailureOr<Emission> emit(mlir::gpu::GPUModuleOp module,
                                         EmitFormat format,
                                         const EmitOptions &options) const = 0;

private:
  static const TargetBackend &getAMDGPU();
  static const TargetBackend &getNVPTX();
};

/// The launch plan of a GPU module, its constant of this name; empty if it has
/// none.
std::string getLaunchPlan(mlir::gpu::GPUModuleOp module);
inline constexpr llvm::StringLiteral launchPlanSymbol = "lnbwd_plan";

/// The format of this name ("mlir", "isa", ...).
std::optional<EmitFormat> parseEmitFormat(llvm::StringRef name);
llvm::StringRef getEmitFormatName(EmitFormat format);
/// The names of all formats, separated by ", ".
std::string listEmitFormats();

} // namespace lnbwd

#endif // LNBWD_TARGET_TARGETBACKEND_H
