// SPDX-License-Identifier: Apache-2.0

#include "registry/validation/unified_diff.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "base/strings.h"

namespace portcullis::registry {
namespace {

using Lines = std::vector<std::string_view>;
using Ids = std::vector<std::uint32_t>;

constexpr std::uint32_t kAbsent = static_cast<std::uint32_t>(-1);

// Both texts as numbers: equal lines have equal numbers, kAbsent is a line of the old text that the
// new one does not have.
struct Numbered {
  Ids before;
  Ids after;
  std::uint32_t distinct = 0;
};

Numbered Number(const Lines& before, const Lines& after) {
  Numbered out;
  std::map<std::string_view, std::uint32_t> ids;
  out.after.reserve(after.size());
  for (const std::string_view line : after) {
    const auto [entry, is_new] = ids.try_emplace(line, out.distinct);
    if (is_new) ++out.distinct;
    out.after.push_back(entry->second);
  }
  out.before.reserve(before.size());
  for (const std::string_view line : before) {
    const auto entry = ids.find(line);
    out.before.push_back(entry == ids.end() ? kAbsent : entry->second);
  }
  return out;
}

// Where each line of the new text occurs, ascending, without the lines that begin no block.
class Occurrences {
 public:
  Occurrences(const Numbered& lines, std::size_t pairs) : first_(lines.distinct + 1, 0) {
    for (const std::uint32_t id : lines.after) ++first_[id + 1];
    const std::uint32_t limit = Limit(lines, pairs);
    for (std::size_t id = 0; id < lines.distinct; ++id) {
      first_[id + 1] = first_[id] + (first_[id + 1] <= limit ? first_[id + 1] : 0);
    }
    places_.resize(first_.back());
    Ids next(first_.begin(), first_.end() - 1);
    for (std::uint32_t j = 0; j < lines.after.size(); ++j) {
      const std::uint32_t id = lines.after[j];
      if (first_[id] != first_[id + 1]) places_[next[id]++] = j;
    }
  }

  const std::uint32_t* begin(std::uint32_t id) const { return places_.data() + first_[id]; }
  const std::uint32_t* end(std::uint32_t id) const { return places_.data() + first_[id + 1]; }

 private:
  // Lines that occur more often begin no block. first_[id + 1] is the number of occurrences here.
  std::uint32_t Limit(const Numbered& lines, std::size_t pairs) const {
    constexpr std::size_t kLongText = 200;
    const std::size_t size = lines.after.size();
    const std::size_t usual = size >= kLongText ? size / 100 + 1 : size;
    std::vector<std::size_t> pairs_of(usual + 1, 0);  // by the number of occurrences
    for (const std::uint32_t id : lines.before) {
      if (id != kAbsent && first_[id + 1] <= usual) pairs_of[first_[id + 1]] += first_[id + 1];
    }
    const std::size_t allowed = std::max(pairs, lines.before.size());
    std::size_t sum = 0;
    std::size_t limit = 0;
    while (limit < usual && sum + pairs_of[limit + 1] <= allowed) sum += pairs_of[++limit];
    return static_cast<std::uint32_t>(limit);
  }

  Ids first_;
  Ids places_;
};

// All maximal runs of equal lines that may begin a block.
std::vector<MatchingBlock> FindRuns(const Numbered& lines, const Occurrences& occurrences) {
  std::vector<MatchingBlock> runs;
  std::vector<MatchingBlock> open;  // those that reach the line before; ascending
  std::vector<MatchingBlock> reached;
  for (std::uint32_t i = 0; i < lines.before.size(); ++i) {
    reached.clear();
    auto candidate = open.begin();
    const std::uint32_t id = lines.before[i];
    if (id != kAbsent) {
      for (const std::uint32_t* j = occurrences.begin(id); j != occurrences.end(id); ++j) {
        for (; candidate != open.end() && candidate->new_line + candidate->size < *j; ++candidate) {
          runs.push_back(*candidate);
        }
        if (candidate != open.end() && candidate->new_line + candidate->size == *j) {
          reached.push_back({candidate->old_line, candidate->new_line, candidate->size + 1});
          ++candidate;
        } else {
          reached.push_back({i, *j, 1});
        }
      }
    }
    runs.insert(runs.end(), candidate, open.end());
    open.swap(reached);
  }
  runs.insert(runs.end(), open.begin(), open.end());
  return runs;
}

// Chooses blocks from runs, the best first. The recursion of Ratcliff and Obershelp picks the best
// run of each gap between blocks; gaps do not depend on each other, so picking the best run of all of
// them gives the same blocks. A run is cut to its gap when it comes up, and put back if that made it
// shorter. What is left of a run lies in one gap at most: a run that reached past both ends of a
// block would be longer than the block.
class BlockChooser {
 public:
  BlockChooser(const Numbered& lines, const std::vector<MatchingBlock>& runs)
      : lines_(lines), runs_(LongestFirst(runs)) {
    blocks_.insert({static_cast<std::uint32_t>(lines.before.size()),
                    static_cast<std::uint32_t>(lines.after.size()), 0});
  }

  std::vector<MatchingBlock> Choose() {
    auto next = runs_.begin();
    while (next != runs_.end() || !cut_.empty()) {
      if (cut_.empty() || (next != runs_.end() && IsWorse(cut_.front(), *next))) {
        Place(*next++);
        continue;
      }
      std::pop_heap(cut_.begin(), cut_.end(), IsWorse);
      const MatchingBlock run = cut_.back();
      cut_.pop_back();
      Place(run);
    }
    ExtendIntoRemainingGaps();
    std::vector<MatchingBlock> out;
    for (const MatchingBlock& block : blocks_) {
      if (block.size == 0) continue;
      if (!out.empty() && out.back().old_line + out.back().size == block.old_line &&
          out.back().new_line + out.back().size == block.new_line) {
        out.back().size += block.size;
      } else {
        out.push_back(block);
      }
    }
    return out;
  }

 private:
  struct Gap {
    std::uint32_t old_begin = 0;
    std::uint32_t old_end = 0;
    std::uint32_t new_begin = 0;
    std::uint32_t new_end = 0;
  };
  struct OldLine {
    std::uint32_t line;
  };
  struct NewLine {
    std::uint32_t line;
  };
  // Blocks ascend in both texts, so one set is searched by either.
  struct ComesBefore {
    using is_transparent = void;
    bool operator()(const MatchingBlock& a, const MatchingBlock& b) const {
      return a.old_line < b.old_line;
    }
    bool operator()(OldLine a, const MatchingBlock& b) const { return a.line < b.old_line; }
    bool operator()(NewLine a, const MatchingBlock& b) const { return a.line < b.new_line; }
  };
  using Blocks = std::set<MatchingBlock, ComesBefore>;  // the last one is empty, behind all lines

  static bool IsWorse(const MatchingBlock& a, const MatchingBlock& b) {
    if (a.size != b.size) return a.size < b.size;
    if (a.old_line != b.old_line) return a.old_line > b.old_line;
    return a.new_line > b.new_line;
  }

  // FindRuns closes runs of one length in the order of IsWorse, so sorting by length is enough; by
  // counting, because there may be millions.
  static std::vector<MatchingBlock> LongestFirst(const std::vector<MatchingBlock>& runs) {
    std::uint32_t longest = 0;
    for (const MatchingBlock& run : runs) longest = std::max(longest, run.size);
    std::vector<std::size_t> place(longest + 1, 0);  // of the next run of each length
    for (const MatchingBlock& run : runs) ++place[longest - run.size];
    std::exclusive_scan(place.begin(), place.end(), place.begin(), std::size_t{0});
    std::vector<MatchingBlock> sorted(runs.size());
    for (const MatchingBlock& run : runs) sorted[place[longest - run.size]++] = run;
    return sorted;
  }

  // The gap that ends where `next` begins.
  Gap GapBefore(Blocks::const_iterator next) const {
    Gap gap;
    gap.old_end = next->old_line;
    gap.new_end = next->new_line;
    if (next != blocks_.begin()) {
      const MatchingBlock& previous = *std::prev(next);
      gap.old_begin = previous.old_line + previous.size;
      gap.new_begin = previous.new_line + previous.size;
    }
    return gap;
  }

  // The first gap that ends behind the first line of the run in both texts.
  Gap GapOf(const MatchingBlock& run) const {
    const auto by_old = blocks_.upper_bound(OldLine{run.old_line});
    const auto by_new = blocks_.upper_bound(NewLine{run.new_line});
    return GapBefore(by_old->old_line < by_new->old_line ? by_new : by_old);
  }

  void PutBack(const MatchingBlock& run) {
    cut_.push_back(run);
    std::push_heap(cut_.begin(), cut_.end(), IsWorse);
  }

  void Place(const MatchingBlock& run) {
    const Gap gap = GapOf(run);
    const std::uint32_t skipped =
        std::max(gap.old_begin > run.old_line ? gap.old_begin - run.old_line : 0,
                 gap.new_begin > run.new_line ? gap.new_begin - run.new_line : 0);
    if (skipped >= run.size) return;
    MatchingBlock rest{run.old_line + skipped, run.new_line + skipped, run.size - skipped};
    if (rest.old_line < gap.old_end && rest.new_line < gap.new_end) {
      rest.size = std::min({rest.size, gap.old_end - rest.old_line, gap.new_end - rest.new_line});
      if (rest.size == run.size) return Add(rest, gap);
    }
    PutBack(rest);
  }

  bool Equal(std::uint32_t old_line, std::uint32_t new_line) const {
    return lines_.before[old_line] == lines_.after[new_line];
  }

  void Add(MatchingBlock block, const Gap& gap) {
    while (block.old_line > gap.old_begin && block.new_line > gap.new_begin &&
           Equal(block.old_line - 1, block.new_line - 1)) {
      --block.old_line;
      --block.new_line;
      ++block.size;
    }
    while (block.old_line + block.size < gap.old_end && block.new_line + block.size < gap.new_end &&
           Equal(block.old_line + block.size, block.new_line + block.size)) {
      ++block.size;
    }
    blocks_.insert(block);
  }

  // Where no run is left, a gap's equal first lines are a block.
  void ExtendIntoRemainingGaps() {
    for (auto next = blocks_.begin(); next != blocks_.end(); ++next) {
      const Gap gap = GapBefore(next);
      if (gap.old_begin == gap.old_end || gap.new_begin == gap.new_end) continue;
      if (Equal(gap.old_begin, gap.new_begin)) Add({gap.old_begin, gap.new_begin, 1}, gap);
    }
  }

  const Numbered& lines_;
  const std::vector<MatchingBlock> runs_;
  std::vector<MatchingBlock> cut_;  // a heap
  Blocks blocks_;
};

// Old and new lines of a step: equal ones, or replaced ones (either side may be empty).
struct Step {
  bool equal;
  std::uint32_t old_begin;
  std::uint32_t old_end;
  std::uint32_t new_begin;
  std::uint32_t new_end;
};

std::vector<Step> Steps(const std::vector<MatchingBlock>& blocks, std::uint32_t old_size,
                        std::uint32_t new_size) {
  std::vector<Step> steps;
  std::uint32_t i = 0;
  std::uint32_t j = 0;
  const auto change_until = [&](std::uint32_t old_end, std::uint32_t new_end) {
    if (i < old_end || j < new_end) steps.push_back({false, i, old_end, j, new_end});
  };
  for (const MatchingBlock& block : blocks) {
    change_until(block.old_line, block.new_line);
    i = block.old_line + block.size;
    j = block.new_line + block.size;
    steps.push_back({true, block.old_line, i, block.new_line, j});
  }
  change_until(old_size, new_size);
  return steps;
}

// "N" for one line, else "N,COUNT"; an empty range begins at the line before it.
std::string Range(std::uint32_t begin, std::uint32_t end) {
  const std::uint32_t count = end - begin;
  if (count == 1) return std::to_string(begin + 1);
  return base::StrCat(std::to_string(count == 0 ? begin : begin + 1), ",", std::to_string(count));
}

void AppendLines(const Lines& lines, std::uint32_t begin, std::uint32_t end, char mark,
                 std::string& out) {
  for (std::uint32_t i = begin; i < end; ++i) {
    out += mark;
    out += lines[i];
    out += '\n';
  }
}

class HunkWriter {
 public:
  HunkWriter(const Lines& before, const Lines& after) : before_(before), after_(after) {}

  // Steps are cut to the context they are shown with.
  void Add(const Step& step) { hunk_.push_back(step); }

  void Flush() {
    if (hunk_.empty()) return;
    out += base::StrCat("@@ -", Range(hunk_.front().old_begin, hunk_.back().old_end), " +",
                        Range(hunk_.front().new_begin, hunk_.back().new_end), " @@\n");
    for (const Step& step : hunk_) {
      AppendLines(before_, step.old_begin, step.old_end, step.equal ? ' ' : '-', out);
      if (!step.equal) AppendLines(after_, step.new_begin, step.new_end, '+', out);
    }
    hunk_.clear();
  }

  std::string out;

 private:
  const Lines& before_;
  const Lines& after_;
  std::vector<Step> hunk_;
};

std::string Unified(const Lines& before, const Lines& after, const std::vector<Step>& steps) {
  constexpr std::uint32_t kContext = 3;
  HunkWriter writer(before, after);
  for (std::size_t k = 0; k < steps.size(); ++k) {
    Step step = steps[k];
    if (!step.equal) {
      writer.Add(step);
      continue;
    }
    const bool first = k == 0;
    const bool last = k + 1 == steps.size();
    const std::uint32_t size = step.old_end - step.old_begin;
    if (!first && (last || size > 2 * kContext)) {
      const std::uint32_t shown = std::min(size, kContext);
      writer.Add(
          {true, step.old_begin, step.old_begin + shown, step.new_begin, step.new_begin + shown});
      writer.Flush();
    }
    if (last) continue;
    if (first || size > 2 * kContext) {
      const std::uint32_t shown = std::min(size, kContext);
      step.old_begin = step.old_end - shown;
      step.new_begin = step.new_end - shown;
    }
    writer.Add(step);
  }
  writer.Flush();
  return std::move(writer.out);
}

}  // namespace

std::vector<MatchingBlock> MatchLines(const Lines& before, const Lines& after, std::size_t pairs) {
  const Numbered lines = Number(before, after);
  return BlockChooser(lines, FindRuns(lines, Occurrences(lines, pairs))).Choose();
}

std::string UnifiedDiff(std::string_view before, std::string_view after) {
  if (before == after) return "";
  const Lines a = base::Split(before, '\n');
  const Lines b = base::Split(after, '\n');
  const auto steps = Steps(MatchLines(a, b), static_cast<std::uint32_t>(a.size()),
                           static_cast<std::uint32_t>(b.size()));
  return Unified(a, b, steps);
}

}  // namespace portcullis::registry
