//===- Timing.cpp - How fast a kernel is ----------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Launches rotate among several copies of all buffers, together much larger
// than the device's caches, so that no launch finds its inputs there. A
// measurement is a batch of launches between two events: long enough that the
// events' own cost and resolution do not show. All batches are enqueued ahead
// of the device, so that it never waits for the host (unless a launch is
// shorter than the host takes to enqueue it).
//
//===----------------------------------------------------------------------===//

#include "RunReport.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace lnbwd::run {

constexpr int kRepeats = 50;
constexpr int kMinRepeats = 30;
constexpr int kMaxBufferSets = 1024;
constexpr double kBatchMicroseconds = 200;
constexpr double kTotalMicroseconds = 4e6;
/// Caches behind the L2 that drivers do not tell of (256 MiB on AMD's MI300)
/// are to be exceeded too.
constexpr double kMinRotationBytes = double(1 << 30);
constexpr size_t kAlignment = 512;

/// Enqueues launch number `index`.
using Launch = std::function<void(size_t index)>;

static double elapsedMicroseconds(const EventHandle &start,
                                  const EventHandle &stop) {
  double milliseconds = 0;
  check(lnbwd_event_elapsed(start.get(), stop.get(), &milliseconds),
        WrongNumbers);
  return milliseconds * 1e3;
}

static TimeReport measure(const lnbwd_device *device, const Launch &launch) {
  size_t index = 0;
  auto enqueue = [&](int count) {
    for (int i = 0; i < count; ++i)
      launch(index++);
  };
  // Warm up, then find out how long a launch takes, roughly.
  auto start = make<EventHandle>(lnbwd_event_create, device);
  auto stop = make<EventHandle>(lnbwd_event_create, device);
  enqueue(5);
  check(lnbwd_event_record(start.get(), nullptr));
  enqueue(5);
  check(lnbwd_event_record(stop.get(), nullptr));
  double estimate = std::max(elapsedMicroseconds(start, stop) / 5, 0.5);

  TimeReport result;
  result.launchesPerRepeat = static_cast<int>(
      std::clamp(std::ceil(kBatchMicroseconds / estimate), 1.0, 200.0));
  result.repeats = static_cast<int>(
      std::clamp(kTotalMicroseconds / (estimate * result.launchesPerRepeat),
                 double(kMinRepeats), double(kRepeats)));
  std::vector<EventHandle> events;
  for (int i = 0; i <= result.repeats; ++i)
    events.push_back(make<EventHandle>(lnbwd_event_create, device));

  // The first batch only keeps the device busy while the host runs ahead.
  enqueue(2 * result.launchesPerRepeat);
  check(lnbwd_event_record(events[0].get(), nullptr));
  for (int i = 1; i <= result.repeats; ++i) {
    enqueue(result.launchesPerRepeat);
    check(lnbwd_event_record(events[i].get(), nullptr));
  }
  check(lnbwd_synchronize(device, nullptr), WrongNumbers);

  std::vector<double> times;
  for (int i = 1; i <= result.repeats; ++i)
    times.push_back(elapsedMicroseconds(events[i - 1], events[i]) /
                    result.launchesPerRepeat);
  std::sort(times.begin(), times.end());
  result.minMicroseconds = times.front();
  result.medianMicroseconds =
      (times[(times.size() - 1) / 2] + times[times.size() / 2]) / 2;
  return result;
}

static size_t aligned(size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

namespace {

/// Copies of all arguments and workspaces in one piece of device memory.
class BufferSets {
public:
  BufferSets(const lnbwd_device *device, const Problem &problem,
             const GuardedLaunch &guarded, uint64_t l2Bytes)
      : setBytes(sizeOfSet(problem, guarded)),
        count(countSets(device, l2Bytes, setBytes)),
        memory(allocate(device, setBytes * count)), pointers(count) {
    for (size_t set = 0; set < count; ++set) {
      char *address = memory.get() + set * setBytes;
      for (size_t i = 0; i < problem.arguments.size(); ++i) {
        pointers[set].push_back(address);
        if (problem.arguments[i].placedOver)
          continue;
        check(lnbwd_copy_on_device(device, address, guarded.pointers()[i],
                                   problem.arguments[i].bytes, nullptr));
        address += aligned(problem.arguments[i].bytes);
      }
      for (size_t i = 0; i < problem.arguments.size(); ++i)
        if (auto place = problem.arguments[i].placedOver)
          pointers[set][i] = pointers[set][*place];
      workspaces.push_back(address);
      check(lnbwd_memset(device, address, 0xff, guarded.workspaceSize(),
                         nullptr));
    }
    check(lnbwd_synchronize(device, nullptr));
  }

  size_t size() const { return count; }
  size_t bytesOfSet() const { return setBytes; }
  const std::vector<void *> &arguments(size_t index) const {
    return pointers[index % count];
  }
  void *workspace(size_t index) const { return workspaces[index % count]; }

private:
  static size_t sizeOfSet(const Problem &problem,
                          const GuardedLaunch &guarded) {
    size_t bytes = aligned(guarded.workspaceSize());
    for (const Argument &argument : problem.arguments)
      bytes += aligned(argument.bytes);
    return std::max(bytes, kAlignment);
  }
  static size_t countSets(const lnbwd_device *device, uint64_t l2Bytes,
                          size_t setBytes) {
    uint64_t free = 0;
    check(lnbwd_device_memory(device, &free, nullptr));
    double wanted =
        std::max(5.0 * static_cast<double>(l2Bytes), kMinRotationBytes);
    double sets = std::ceil(wanted / static_cast<double>(setBytes)) + 1;
    double fitting = std::floor(0.6 * static_cast<double>(free) /
                                static_cast<double>(setBytes));
    if (fitting < 1)
      throw Failure(BadInput, "the device's memory does not suffice for a "
                              "second set of buffers, which --time needs; take "
                              "a smaller --m");
    return static_cast<size_t>(
        std::min({sets, fitting, double(kMaxBufferSets)}));
  }

  size_t setBytes;
  size_t count;
  DeviceMemory memory;
  std::vector<std::vector<void *>> pointers;
  std::vector<void *> workspaces;
};

} // namespace

TimeReport measureTime(const lnbwd_device *device, const lnbwd_kernel *kernel,
                       const Problem &problem, const GuardedLaunch &guarded) {
  lnbwd_device_info info;
  check(lnbwd_device_get_info(device, &info));
  BufferSets sets(device, problem, guarded, info.l2_bytes);

  TimeReport report = measure(device, [&](size_t index) {
    const std::vector<void *> &arguments = sets.arguments(index);
    check(lnbwd_kernel_launch(kernel, arguments.data(), arguments.size(),
                              problem.rows, problem.groups,
                              sets.workspace(index), guarded.workspaceSize(),
                              nullptr),
          WrongNumbers);
  });
  report.bufferSets = sets.size();
  report.bufferSetBytes = static_cast<double>(sets.bytesOfSet());
  report.minimalBytes = problem.minimalBytes();
  report.gigabytesPerSecond =
      report.minimalBytes / report.medianMicroseconds / 1e3;
  return report;
}

} // namespace lnbwd::run
