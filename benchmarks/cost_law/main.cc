// SPDX-License-Identifier: Apache-2.0

// cost_law: sends growing requests of every kind to a server in this process and fails where a byte
// costs more the more of them there are. See README.md.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/strings.h"
#include "generated.h"
#include "measure.h"
#include "named.h"
#include "world.h"

namespace portcullis::cost_law {
namespace {

constexpr const char* kUsage =
    R"(cost_law: what a byte of a request costs as requests grow.

  --small       every field of every type once, requests of up to 96 KB (./check)
  --named       only the families of named_*.cc, not those made from schemas
  --match=TEXT  only families whose name contains TEXT (repeatable)
  --bytes=N     size of a request at 8n (default 1 MiB)
  --seconds=S   ends after so long; families are taken in an order that spreads them evenly
  --part=I/N    the I-th of N parts of all families, in that order; I from 1
  --list        prints the names of the families
  --all         prints a line for every family, not only for those that grow
)";

struct Flags {
  bool small = false;
  bool named = false;
  bool list = false;
  bool all = false;
  std::vector<std::string> match;
  std::size_t bytes = 1 << 20;
  std::int64_t seconds = 0;  // 0: until all are measured
  std::size_t part = 1;      // of `parts`
  std::size_t parts = 1;
};

bool ReadPart(std::string_view text, Flags& flags) {
  const auto cut = base::Cut(text, "/");
  if (!cut) return false;
  const auto part = base::ParseInt(cut->first);
  const auto parts = base::ParseInt(cut->second);
  if (!part || !parts || *part < 1 || *part > *parts) return false;
  flags.part = static_cast<std::size_t>(*part);
  flags.parts = static_cast<std::size_t>(*parts);
  return true;
}

bool Read(int argc, char** argv, Flags& flags) {
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const auto cut = base::Cut(argument, "=");
    const std::string_view name = cut ? cut->first : std::string_view(argument);
    if (argument == "--small") {
      flags.small = true;
      flags.bytes = 96 << 10;
    } else if (argument == "--named") {
      flags.named = true;
    } else if (argument == "--list") {
      flags.list = true;
    } else if (argument == "--all") {
      flags.all = true;
    } else if (cut && name == "--match") {
      flags.match.emplace_back(cut->second);
    } else if (cut && name == "--bytes") {
      flags.bytes = static_cast<std::size_t>(base::ParseInt(cut->second).value_or(1 << 20));
    } else if (cut && name == "--seconds") {
      flags.seconds = base::ParseInt(cut->second).value_or(0);
    } else if (!cut || name != "--part" || !ReadPart(cut->second, flags)) {
      return false;
    }
  }
  return true;
}

bool IsWanted(const Flags& flags, const Family& family) {
  return flags.match.empty() ||
         std::any_of(flags.match.begin(), flags.match.end(), [&](const std::string& text) {
           return family.name.find(text) != std::string::npos;
         });
}

void PrintLine(const Family& family, const Finding& finding) {
  if (finding.verdict == Finding::Verdict::kNotMade) {
    std::printf("not made   %s: %s\n", family.name.c_str(), finding.why.c_str());
    return;
  }
  const bool grows = finding.verdict == Finding::Verdict::kGrows;
  std::printf("%s %4d %-70s n %zu..%zu  work/B %.0f -> %.0f (x%.2f)  peak/B %.1f -> %.1f (x%.2f)",
              grows ? "GROWS" : "holds", finding.status, family.name.c_str(), finding.n.front(),
              finding.n.back(), finding.cost.front().work / finding.bytes.front(),
              finding.cost.back().work / finding.bytes.back(), finding.WorkGrowth(),
              finding.cost.front().peak / finding.bytes.front(),
              finding.cost.back().peak / finding.bytes.back(), finding.MemoryGrowth());
  std::printf("  allocated x%.2f%s%s\n", finding.AllocationGrowth(), grows ? "  " : "",
              finding.why.c_str());
}

struct Totals {
  std::size_t holds = 0;
  std::size_t grows = 0;
  std::size_t not_made = 0;
  double work = 0;    // the worst growth of those that hold
  double memory = 0;  // likewise

  void Count(const Finding& finding) {
    if (finding.verdict == Finding::Verdict::kNotMade) {
      ++not_made;
    } else if (finding.verdict == Finding::Verdict::kGrows) {
      ++grows;
    } else {
      ++holds;
      work = std::max(work, finding.WorkGrowth());
      memory = std::max({memory, finding.MemoryGrowth(), finding.AllocationGrowth()});
    }
  }
};

base::Result<std::vector<Family>> Families(const api::catalog::Catalog& catalog,
                                           const Flags& flags) {
  std::vector<Family> families;
  if (!flags.named) families = TRY(GeneratedFamilies(catalog, {.once = flags.small}));
  for (Family& family : NamedFamilies()) families.push_back(std::move(family));
  std::erase_if(families, [&](const Family& family) { return !IsWanted(flags, family); });
  return families;
}

// All indices below the count, neighbours far apart: the named families, which stand last, come as
// early as the others.
std::vector<std::size_t> Spread(std::size_t count) {
  std::vector<std::size_t> out;
  constexpr std::size_t kStride = 61;
  for (std::size_t first = 0; first < kStride; ++first) {
    for (std::size_t i = first; i < count; i += kStride) out.push_back(count - 1 - i);
  }
  return out;
}

base::Status Run(const Flags& flags, Totals& totals) {
  Meter meter;  // before any thread is started
  const auto catalog = TRY(api::catalog::Catalog::BuiltIn({{"api/all", true}}));
  const auto families = TRY(Families(*catalog, flags));
  if (flags.list) {
    for (const Family& family : families) std::printf("%s\n", family.name.c_str());
    return base::OkStatus();
  }
  const auto subject = TRY(Subject::Start());
  TRY(MakeWorld(*subject));
  Limits limits;
  limits.bytes = flags.bytes;
  const auto started = base::SystemClock().Steady();
  const std::vector<std::size_t> order = Spread(families.size());
  const std::size_t first = order.size() * (flags.part - 1) / flags.parts;
  const std::size_t end = order.size() * flags.part / flags.parts;
  const auto report = [&](const Family& family, const Finding& finding) {
    totals.Count(finding);
    if (flags.all || finding.verdict == Finding::Verdict::kGrows) PrintLine(family, finding);
    std::fflush(stdout);
  };
  std::vector<const Family*> suspects;
  for (std::size_t i = first; i < end; ++i) {
    const Family& family = families[order[i]];
    const auto elapsed = base::SystemClock().Steady() - started;
    if (flags.seconds > 0 && elapsed > std::chrono::seconds(flags.seconds)) break;
    const Finding finding = Measure(*subject, meter, family, limits);
    if (finding.verdict == Finding::Verdict::kGrows) {
      suspects.push_back(&family);
    } else {
      report(family, finding);
    }
  }
  // What disturbed a measurement for longer than its repetitions took is over by now.
  for (const Family* family : suspects) report(*family, Measure(*subject, meter, *family, limits));
  const std::size_t measured = totals.holds + totals.grows + totals.not_made;
  std::printf(
      "cost law: %zu families hold (a byte costs at most x%.2f work, x%.2f memory at 8n), %zu "
      "grow, "
      "%zu could not be made, SKIP %zu for want of time; work in %s%s\n",
      totals.holds, totals.work, totals.memory, totals.grows, totals.not_made,
      end - first - measured, std::string(meter.unit()).c_str(),
      meter.exact() ? "" : ", SKIP instructions: no hardware counter");
  return base::OkStatus();
}

}  // namespace
}  // namespace portcullis::cost_law

int main(int argc, char** argv) {
  using namespace portcullis::cost_law;
  Flags flags;
  if (!Read(argc, argv, flags)) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  Totals totals;
  const auto status = Run(flags, totals);
  if (!status.ok()) {
    std::fprintf(stderr, "cost_law: %s\n", status.message().c_str());
    return 2;
  }
  return totals.grows == 0 ? 0 : 1;
}
