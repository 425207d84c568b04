//===- Pipelines.cpp - From the named operation to machine code -----------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Strings the passes together.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Pipelines/Pipelines.h"

#include "lnbwd/Conversion/Passes.h"
#include "lnbwd/LaunchPlan/Passes.h"
#include "lnbwd/Target/TargetBackend.h"
#include "lnbwd/Transforms/Lane/Passes.h"
#include "lnbwd/Transforms/Passes.h"

#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/Transforms/Passes.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace lnbwd;

/// Tensors become memrefs, and the results of functions become arguments after
/// the others: the buffers that a launch is given.
static void addBufferization(OpPassManager &pm) {
  bufferization::OneShotBufferizePassOptions bufferize;
  bufferize.bufferizeFunctionBoundaries = true;
  bufferize.functionBoundaryTypeConversion =
      bufferization::LayoutMapOption::IdentityLayoutMap;
  pm.addPass(bufferization::createOneShotBufferizePass(bufferize));
  pm.addPass(createDropArgumentResultsPass());
  bufferization::BufferResultsToOutParamsPassOptions results;
  results.hoistStaticAllocs = true;
  results.hoistDynamicAllocs = true;
  results.modifyPublicFunctions = true;
  pm.addPass(bufferization::createBufferResultsToOutParamsPass(results));
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

/// Row programs to kernels, one decision of the schedule after another.
static void addLaneLevel(OpPassManager &pm) {
  pm.addPass(createDistributeRowsPass());
  OpPassManager &kernels = pm.nest<gpu::GPUModuleOp>().nest<gpu::GPUFuncOp>();
  kernels.addPass(createReloadPhasesPass());
  kernels.addPass(createPipelineRowsPass());
  kernels.addPass(createStageRowsPass());
  kernels.addPass(createLowerLayoutConversionsPass());
  kernels.addPass(createSplitFragmentsPass());
  kernels.addPass(createBlockColumnSumsPass());
  kernels.addPass(createLowerRowReductionsPass());
  kernels.addPass(createLaneToGPUPass());
}

void lnbwd::buildGPUPipeline(OpPassManager &pm,
                             const PipelineOptions &options) {
  pm.addPass(createSetChipPass({options.chip}));
  pm.addPass(createLowerToRowwisePass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  addBufferization(pm);
  pm.addNestedPass<func::FuncOp>(createRecordProgramPass());
  if (options.order != "default")
    pm.addPass(createFixOrderPass({options.order}));
  pm.addPass(createSplitSumsPass());
  pm.addPass(createSplitContractionsPass());
  pm.addPass(createSplitTwoPassPass(
      {options.twoPass, options.schedule, options.rows}));
  pm.addPass(createSelectSchedulePass({options.schedule, options.reproducible,
                                       options.rows, options.candidates}));
  pm.addPass(createSplitRowSumsPass());
  pm.addPass(createFinalizeColumnSumsPass());
  addLaneLevel(pm);
  // It compares each pair of a loop's values, whenever one of them changes.
  pm.addPass(createCanonicalizerPass(
      {}, {"(anonymous namespace)::RemoveDuplicateSuccessorInputUses"}));
  pm.addPass(createCSEPass());
  pm.addPass(createAttachLaunchPlanPass());
}

void lnbwd::buildPipeline(OpPassManager &pm, const PipelineOptions &options) {
  buildGPUPipeline(pm, options);
  // The passes above report an unknown chip; there is nothing to add for one.
  llvm::Expected<TargetId> target = parseTargetId(options.chip);
  if (!target)
    return llvm::consumeError(target.takeError());
  pm.addPass(createExpandForChipPass());
  TargetBackend::get(target->chip->backend)
      .addLowering(pm, *target->chip, target->getFeatures());
  if (options.debugInfo)
    pm.addPass(LLVM::createDIScopeForLLVMFuncOpPass());
}

void lnbwd::registerPipelines() {
  static const bool isDone = [] {
    registerAllPasses();
    registerLNBwdPasses();
    registerLNBwdLanePasses();
    registerLNBwdConversionPasses();
    registerLNBwdLaunchPlanPasses();
    PassPipelineRegistration<PipelineOptions>(
        "lnbwd-gpu-pipeline",
        "From lnbwd operations to GPU kernels in upstream's dialects",
        buildGPUPipeline);
    PassPipelineRegistration<PipelineOptions>(
        "lnbwd-pipeline",
        "From lnbwd operations to LLVM's dialect for a chip, ready for --emit",
        buildPipeline);
    return true;
  }();
  (void)isDone;
}
