// SPDX-License-Identifier: Apache-2.0

#include "measure.h"

#include <algorithm>
#include <cmath>

#include "base/strings.h"

namespace portcullis::cost_law {
namespace {

// Below these a request costs so little that its growth says nothing.
constexpr double kQuietNanoseconds = 400'000;
constexpr double kQuietFactor = 16;  // bytes of memory for a byte of the request

double BytesOf(const Sample& sample) {
  double bytes = static_cast<double>(sample.measured.body.size() + sample.measured.path.size());
  for (const auto& [name, value] : sample.measured.headers) {
    bytes += static_cast<double>(name.size() + value.size());
  }
  for (const Ask& ask : sample.before) bytes += static_cast<double>(ask.body.size());
  return bytes;
}

// The n at which the request has about that many bytes.
std::size_t SizeFor(const Family& family, std::size_t bytes) {
  constexpr std::size_t kProbe = 64;
  const double small = BytesOf(family.make(kProbe));
  const double large = BytesOf(family.make(2 * kProbe));
  const double each = std::max(0.01, (large - small) / kProbe);
  const auto wanted = static_cast<std::size_t>(static_cast<double>(bytes) / each);
  return std::max<std::size_t>(64, std::min(wanted, family.most));
}

struct Measured {
  Cost cost;
  int status = 0;
  std::string problem;  // the request could not be made
};

// `quietly`: in a process that does nothing else, which takes a moment.
Measured MeasureOnce(Subject& subject, Meter& meter, const Sample& sample, int times,
                     bool quietly) {
  Measured out;
  std::string text;
  for (const Ask& ask : sample.before) {
    const int status = subject.Send(ask, &text);
    if (status < 200 || status > 299) {
      out.problem = base::StrCat(std::to_string(status), " ", text.substr(0, 300));
      break;
    }
  }
  for (int i = 0; i < times && out.problem.empty(); ++i) {
    net::ClientRequest request = subject.Prepare(sample.measured);
    if (quietly) meter.AwaitIdle();
    meter.Start();
    const int status = subject.Send(std::move(request));
    const Cost cost = meter.Stop();
    out.cost.work = i == 0 ? cost.work : std::min(out.cost.work, cost.work);
    out.cost.allocated = i == 0 ? cost.allocated : std::min(out.cost.allocated, cost.allocated);
    out.cost.peak = i == 0 ? cost.peak : std::min(out.cost.peak, cost.peak);
    out.status = status;
    if (status == 0) out.problem = "no answer";
  }
  for (const std::string& path : sample.after) subject.Remove(path);
  return out;
}

// What the smallest request costs is a part of every other only if it went the same way.
Cost SameFor(int status, const Measured& least) {
  return status == least.status ? least.cost : Cost{};
}

// `repeat`: how often each size is measured; the least counts.
Finding MeasureAll(Subject& subject, Meter& meter, const Family& family, std::size_t largest,
                   int repeat) {
  Finding finding;
  const Sample smallest = family.make(1);
  const double least_bytes = BytesOf(smallest);
  const bool quietly = repeat > 1;
  const Measured least = MeasureOnce(subject, meter, smallest, repeat + 2, quietly);
  for (std::size_t i = 0; i < kSizes; ++i) {
    finding.n[i] = largest >> (kSizes - 1 - i);
    const Sample sample = family.make(finding.n[i]);
    const Measured measured = MeasureOnce(subject, meter, sample, repeat, quietly);
    if (!measured.problem.empty()) {
      finding.verdict = Finding::Verdict::kNotMade;
      finding.why = measured.problem;
      return finding;
    }
    finding.bytes[i] = BytesOf(sample) - least_bytes;
    const Cost shared = SameFor(measured.status, least);
    finding.cost[i] = {std::max(0.0, measured.cost.work - shared.work),
                       std::max(0.0, measured.cost.allocated - shared.allocated),
                       std::max(0.0, measured.cost.peak - shared.peak)};
    finding.status = measured.status;
  }
  return finding;
}

// Per byte from n to 8n, if it grew as it did from each size to the last: the least of the three
// estimates, for what really grows does so at every size.
double Growth(const Finding& finding, double Cost::*part, double quiet) {
  const double last = finding.cost[kSizes - 1].*part / finding.bytes[kSizes - 1];
  if (finding.cost[kSizes - 1].*part < quiet) return 1;
  double growth = 0;
  for (std::size_t i = 0; i + 1 < kSizes; ++i) {
    const double first = finding.cost[i].*part / std::max(1.0, finding.bytes[i]);
    const double factor = last / std::max(first, last / 64);
    const double doublings = static_cast<double>(kSizes - 1 - i);
    const double estimate = std::pow(factor, 3 / doublings);
    growth = i == 0 ? estimate : std::min(growth, estimate);
  }
  return growth;
}

void Judge(Finding& finding, const Limits& limits) {
  if (finding.verdict == Finding::Verdict::kNotMade) return;
  finding.why.clear();
  const auto check = [&](std::string_view what, double growth, double limit) {
    if (growth <= limit) return;
    finding.why += base::StrCat(finding.why.empty() ? "" : ", ", what);
  };
  check("work", finding.WorkGrowth(), limits.work_growth);
  check("peak memory", finding.MemoryGrowth(), limits.memory_growth);
  check("allocations", finding.AllocationGrowth(), limits.memory_growth);
  finding.verdict = finding.why.empty() ? Finding::Verdict::kHolds : Finding::Verdict::kGrows;
}

Finding MeasureAs(Subject& subject, Meter& meter, const Family& family, const Limits& limits) {
  std::size_t largest = SizeFor(family, limits.bytes);
  Finding finding = MeasureAll(subject, meter, family, largest, 1);
  Judge(finding, limits);
  // Processor time is disturbed by whatever else runs, and memory comes in blocks, of which the last one may have just
  // begun: what grows must do so again and again, at other sizes, too.
  for (int repeat = 3; repeat <= 9 && finding.verdict == Finding::Verdict::kGrows; repeat += 3) {
    largest -= largest / 8;
    finding = MeasureAll(subject, meter, family, largest, repeat);
    Judge(finding, limits);
  }
  return finding;
}

}  // namespace

double Finding::WorkGrowth() const { return Growth(*this, &Cost::work, kQuietNanoseconds); }
double Finding::MemoryGrowth() const {
  return Growth(*this, &Cost::peak, kQuietFactor * bytes.back());
}
double Finding::AllocationGrowth() const {
  return Growth(*this, &Cost::allocated, 2 * kQuietFactor * bytes.back());
}

Finding Measure(Subject& subject, Meter& meter, const Family& family, const Limits& limits) {
  Finding finding = MeasureAs(subject, meter, family, limits);
  if (finding.verdict != Finding::Verdict::kNotMade || !family.otherwise) return finding;
  return MeasureAs(subject, meter, {family.name, family.otherwise, family.most, {}}, limits);
}

}  // namespace portcullis::cost_law
