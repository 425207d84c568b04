//===- ReportPrinter.cpp - A report as text and as JSON -------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Both have the same figures; docs/runner.md says what each means.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Report/Report.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

using namespace lnbwd;
namespace json = llvm::json;

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static llvm::raw_ostream &startLine(llvm::raw_ostream &os,
                                    llvm::StringRef label) {
  return os << "  " << llvm::left_justify(label, 26);
}

static llvm::format_object<double> decimal(double value) {
  return llvm::format("%.2f", value);
}

static llvm::format_object<double> micros(double seconds) {
  return llvm::format("%.2f", seconds * 1e6);
}

static void printLoop(const ProductReport &product, llvm::raw_ostream &os) {
  startLine(os, "tiles") << product.tiles << " of " << product.tileRows << " x "
                         << product.tileColumns << "\n";
  startLine(os, "loop") << product.iterations << " iterations of "
                        << product.step << " elements of the sum, in "
                        << product.parts
                        << (product.parts == 1 ? " part\n" : " parts\n");
}

static void printKernel(const KernelReport &kernel, const Report &report,
                        llvm::raw_ostream &os) {
  os << "\nkernel @" << kernel.name << "\n";
  if (!kernel.schedule.empty())
    startLine(os, "schedule") << kernel.schedule << "\n";
  if (const auto &product = kernel.product)
    printLoop(*product, os);
  startLine(os, "launch") << kernel.workgroups << " workgroups of "
                          << kernel.threads << " work-items\n";
  if (const auto &resources = kernel.resources) {
    startLine(os, "vector registers") << resources->vectorRegisters;
    if (resources->accumulationRegisters)
      os << ", " << resources->accumulationRegisters << " for accumulation";
    os << "\n";
    if (resources->scalarRegisters)
      startLine(os, "scalar registers") << resources->scalarRegisters << "\n";
    std::string spills = resources->describeSpills();
    startLine(os, "spills") << (spills.empty() ? "none" : spills) << "\n";
    startLine(os, "shared memory")
        << resources->sharedMemoryBytes + kernel.dynamicSharedMemoryBytes
        << " bytes\n";
  }
  if (const auto &occupancy = kernel.occupancy)
    startLine(os, "occupancy")
        << occupancy->workgroups << " workgroups, " << occupancy->waves
        << " waves in "
        << (report.chip->limits.computeUnitsTogether == 2 ? "two compute units"
                                                          : "a compute unit")
        << ", limited by " << occupancy->limit << "\n";
  startLine(os, "bytes by the plan")
      << llvm::format("%.0f", kernel.plannedBytes) << "\n";
  startLine(os, "busiest compute unit")
      << decimal(kernel.imbalance) << " times the mean\n";
  startLine(os, "least time, us") << micros(kernel.memoryTime) << " for memory";
  if (kernel.matrixTime)
    os << ", " << micros(*kernel.matrixTime) << " for matrix instructions";
  else if (kernel.product && kernel.product->multiplied)
    os << ", unknown for matrix instructions";
  os << "\n";
  startLine(os, "bound by") << kernel.bound << "\n";
}

void Report::printText(llvm::raw_ostream &os) const {
  os << "@" << name << " for " << chip->name << " (" << chip->product << ", "
     << chip->computeUnits << " compute units), " << rows << " rows of "
     << rowLength << "\n";
  for (const KernelReport &kernel : kernels)
    printKernel(kernel, *this, os);
  os << "\nall kernels\n";
  startLine(os, "bytes") << llvm::format(
                                "%.0f, %.3f times the fewest possible", bytes,
                                minimalBytes > 0 ? bytes / minimalBytes : 0.0)
                         << "\n";
  startLine(os, "least time, us") << micros(time) << "\n";
  startLine(os, "share of peak bandwidth")
      << llvm::format("%.1f %% of %d GB/s", getShareOfPeak() * 100,
                      int(chip->limits.gigabytesPerSecond))
      << " at most\n";
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static void printProduct(const ProductReport &product, json::OStream &stream) {
  stream.attributeObject("product", [&] {
    stream.attribute("tile_rows", product.tileRows);
    stream.attribute("tile_columns", product.tileColumns);
    stream.attribute("tiles", product.tiles);
    stream.attribute("parts", product.parts);
    stream.attribute("step", product.step);
    stream.attribute("iterations", product.iterations);
    stream.attribute("multiply_adds", product.multiplyAdds);
    std::string multiplied;
    if (product.multiplied)
      llvm::raw_string_ostream(multiplied) << product.multiplied;
    stream.attribute("multiplied_as", multiplied.empty()
                                          ? json::Value(nullptr)
                                          : json::Value(multiplied));
  });
}

static void printKernel(const KernelReport &kernel, json::OStream &stream) {
  stream.object([&] {
    stream.attribute("name", kernel.name);
    stream.attribute("schedule", kernel.schedule);
    stream.attribute("workgroups", kernel.workgroups);
    stream.attribute("threads", kernel.threads);
    stream.attribute("dynamic_shared_bytes", kernel.dynamicSharedMemoryBytes);
    if (const auto &resources = kernel.resources) {
      stream.attribute("vector_registers", resources->vectorRegisters);
      stream.attribute("accumulation_registers",
                       resources->accumulationRegisters);
      stream.attribute("scalar_registers", resources->scalarRegisters);
      stream.attribute("spilled_vector_registers",
                       resources->spilledVectorRegisters);
      stream.attribute("spilled_scalar_registers",
                       resources->spilledScalarRegisters);
      stream.attribute("scratch_bytes", resources->scratchBytes);
      stream.attribute("shared_bytes", resources->sharedMemoryBytes);
    }
    if (const auto &occupancy = kernel.occupancy)
      stream.attributeObject("occupancy", [&] {
        stream.attribute("workgroups", occupancy->workgroups);
        stream.attribute("waves", occupancy->waves);
        stream.attribute("limit", occupancy->limit);
      });
    if (const auto &product = kernel.product)
      printProduct(*product, stream);
    stream.attribute("planned_bytes", kernel.plannedBytes);
    stream.attribute("imbalance", kernel.imbalance);
    stream.attribute("memory_seconds", kernel.memoryTime);
    stream.attribute("matrix_seconds", kernel.matrixTime
                                           ? json::Value(*kernel.matrixTime)
                                           : json::Value(nullptr));
    stream.attribute("seconds", kernel.time);
    stream.attribute("bound", kernel.bound);
  });
}

void Report::printJSON(llvm::raw_ostream &os) const {
  json::OStream stream(os, /*IndentSize=*/2);
  stream.object([&] {
    stream.attribute("name", name);
    stream.attribute("chip", chip->name);
    stream.attribute("rows", rows);
    stream.attribute("row_length", rowLength);
    stream.attribute("minimal_bytes", minimalBytes);
    stream.attribute("bytes", bytes);
    stream.attribute("seconds", time);
    stream.attribute("share_of_peak", getShareOfPeak());
    stream.attributeArray("kernels", [&] {
      for (const KernelReport &kernel : kernels)
        printKernel(kernel, stream);
    });
  });
  os << "\n";
}
