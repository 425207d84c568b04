//===- GuardedLaunch.cpp - A launch with every trap set -------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GuardedLaunch.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace lnbwd::run {

constexpr size_t kGuardBytes = 4096;
constexpr char kGuardByte = '\x5a';

static std::string gibibytes(double bytes) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.2f GiB", bytes / (1 << 30));
  return text;
}

GuardedBuffer::GuardedBuffer(const lnbwd_device *device, std::string name,
                             size_t bytes)
    : device(device), name(std::move(name)), bytes(bytes),
      memory(allocate(device, bytes + 2 * kGuardBytes)) {}

void *GuardedBuffer::data() const { return memory.get() + kGuardBytes; }

void GuardedBuffer::upload(const char *contents) const {
  std::vector<char> guard(kGuardBytes, kGuardByte);
  check(lnbwd_copy_to_device(device, memory.get(), guard.data(), kGuardBytes));
  check(lnbwd_copy_to_device(device, data(), contents, bytes));
  check(lnbwd_copy_to_device(device, memory.get() + kGuardBytes + bytes,
                             guard.data(), kGuardBytes));
}

void GuardedBuffer::fill(uint16_t pattern) const {
  std::vector<uint16_t> contents(bytes / 2 + 1, pattern);
  upload(reinterpret_cast<const char *>(contents.data()));
}

std::vector<char> GuardedBuffer::download() const {
  std::vector<char> contents(bytes);
  check(lnbwd_copy_to_host(device, contents.data(), data(), bytes));
  return contents;
}

std::string GuardedBuffer::describeGuardDamage() const {
  std::string complaint;
  for (const char *where : {"before", "after"}) {
    size_t offset = *where == 'b' ? 0 : kGuardBytes + bytes;
    std::vector<char> guard(kGuardBytes);
    check(lnbwd_copy_to_host(device, guard.data(), memory.get() + offset,
                             kGuardBytes));
    auto isDamaged = [](char byte) { return byte != kGuardByte; };
    auto first = std::find_if(guard.begin(), guard.end(), isDamaged);
    if (first != guard.end())
      complaint +=
          (complaint.empty() ? "" : "; ") +
          std::to_string(std::count_if(first, guard.end(), isDamaged)) +
          " bytes " + where + " '" + name +
          "' were overwritten, the first at byte " +
          std::to_string(first - guard.begin()) + " of the guard band";
  }
  return complaint;
}

size_t GuardedLaunch::checkMemory(const lnbwd_device *device,
                                  const lnbwd_kernel *kernel,
                                  const Problem &problem) {
  size_t workspaceBytes = 0;
  check(lnbwd_kernel_workspace_size(kernel, problem.rows, problem.groups,
                                    &workspaceBytes));
  // In floating point: the sum of sizes below 2^63 may be above.
  double needed = static_cast<double>(workspaceBytes);
  for (const Argument &argument : problem.arguments)
    needed += static_cast<double>(argument.bytes);
  uint64_t free = 0;
  check(lnbwd_device_memory(device, &free, nullptr));
  if (needed > static_cast<double>(free))
    throw Failure(BadInput,
                  "the buffers for M = " + std::to_string(problem.rows) +
                      ", N = " + std::to_string(problem.columns) + " need " +
                      gibibytes(needed) + ", the device has " +
                      gibibytes(static_cast<double>(free)) +
                      " free; take a smaller --m");
  return workspaceBytes;
}

GuardedLaunch::GuardedLaunch(const lnbwd_device *device,
                             const lnbwd_kernel *kernel, const Problem &problem,
                             const Simulator &simulator)
    : device(device), kernel(kernel), problem(problem), simulator(simulator),
      workspace(device, "workspace", checkMemory(device, kernel, problem)) {
  for (const Argument &argument : problem.arguments) {
    buffers.emplace_back(device, argument.name,
                         argument.placedOver ? 0 : argument.bytes);
    argumentPointers.push_back(buffers.back().data());
  }
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (auto place = problem.arguments[i].placedOver)
      argumentPointers[i] = buffers[*place].data();
    if (accessOf(i) == LNBWD_ACCESS_READ)
      buffers[i].upload(problem.contents[i].data());
  }
}

lnbwd_access GuardedLaunch::accessOf(size_t index) const {
  return problem.isOverwritten(index) ? LNBWD_ACCESS_READ_WRITE
                                      : problem.arguments[index].access;
}

std::vector<char> GuardedLaunch::takeRows(size_t index,
                                          const std::vector<char> &contents,
                                          const char *before, uint16_t pattern,
                                          std::string &complaint) const {
  const Argument &argument = problem.arguments[index];
  const size_t size = getInfo(argument.format).bytes;
  if (argument.rowStride == argument.rowLength && argument.gaps.empty())
    return contents;
  const size_t length = argument.rowLength * size;
  const size_t stride = argument.rowStride * size;
  // The pattern goes on from row to row, which of bytes may be odd ones.
  std::vector<char> poison(stride + 3);
  for (size_t i = 0; i + 1 < poison.size(); i += 2)
    std::memcpy(poison.data() + i, &pattern, 2);
  auto checkGap = [&](size_t offset, size_t bytes, const std::string &between,
                      const std::string &place) {
    const char *gap = before ? before + offset : poison.data() + offset % 2;
    if (complaint.empty() &&
        std::memcmp(contents.data() + offset, gap, bytes) != 0)
      complaint = "what lies between the " + between + " of '" + argument.name +
                  "' was overwritten, first " + place;
  };
  std::vector<char> rows;
  rows.reserve(argument.elements * size);
  for (size_t offset = 0; offset < contents.size(); offset += stride) {
    const char *row = contents.data() + offset;
    rows.insert(rows.end(), row, row + length);
    checkGap(offset + length, stride - length, "rows",
             "behind row " + std::to_string(offset / stride));
  }
  // Of rows that lie in one, which is dense.
  for (size_t element : argument.gaps) {
    checkGap(element * size, size, "elements",
             "element " + std::to_string(element));
    std::memset(rows.data() + element * size, 0, size);
  }
  return rows;
}

// A driver's complaint is about what the kernel does.
void GuardedLaunch::launch() const {
  check(lnbwd_kernel_launch(kernel, argumentPointers.data(),
                            argumentPointers.size(), problem.rows,
                            problem.groups, workspace.data(), workspace.size(),
                            nullptr),
        WrongNumbers);
  check(lnbwd_synchronize(device, nullptr), WrongNumbers);
}

std::vector<std::vector<char>>
GuardedLaunch::run(uint16_t pattern, std::vector<std::string> &complaints) {
  workspace.fill(pattern);
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (accessOf(i) == LNBWD_ACCESS_WRITE)
      buffers[i].fill(pattern);
    else if (accessOf(i) == LNBWD_ACCESS_READ_WRITE)
      buffers[i].upload(problem.contents[i].data());
  }
  // The pattern is not for the kernel to read.
  simulator.describe(workspace.data(), workspace.size(), "workspace",
                     LNBWD_ACCESS_WRITE);
  for (size_t i = 0; i < buffers.size(); ++i)
    simulator.describe(buffers[i].data(), buffers[i].size(),
                       problem.arguments[i].name, accessOf(i));

  launch();

  auto complain = [&](const std::string &complaint) {
    auto said = std::find(complaints.begin(), complaints.end(), complaint);
    if (!complaint.empty() && said == complaints.end())
      complaints.push_back(complaint);
  };
  std::vector<std::vector<char>> outputs(buffers.size());
  complain(workspace.describeGuardDamage());
  for (size_t i = 0; i < buffers.size(); ++i) {
    complain(buffers[i].describeGuardDamage());
    if (accessOf(i) == LNBWD_ACCESS_READ) {
      const std::vector<char> now = buffers[i].download();
      auto changed =
          std::mismatch(now.begin(), now.end(), problem.contents[i].begin());
      if (changed.first != now.end())
        complain("the input '" + problem.arguments[i].name +
                 "' was changed, first at byte " +
                 std::to_string(changed.first - now.begin()));
      continue;
    }
    if (!problem.arguments[i].isOutput())
      continue;
    size_t place = problem.arguments[i].placedOver.value_or(i);
    bool isRead = accessOf(place) == LNBWD_ACCESS_READ_WRITE;
    std::string complaint;
    outputs[i] = takeRows(i, buffers[place].download(),
                          isRead ? problem.contents[place].data() : nullptr,
                          pattern, complaint);
    complain(complaint);
  }
  return outputs;
}

size_t countPoison(const std::vector<char> &contents, Element format,
                   uint16_t pattern) {
  const size_t size = getInfo(format).bytes;
  char poison[4];
  std::memcpy(poison, &pattern, 2);
  std::memcpy(poison + 2, &pattern, 2);
  size_t count = 0;
  for (size_t offset = 0; offset + size <= contents.size(); offset += size) {
    const char *expected = poison + offset % sizeof(pattern);
    count += std::memcmp(contents.data() + offset, expected, size) == 0 ? 1 : 0;
  }
  return count;
}

} // namespace lnbwd::run
