// SPDX-License-Identifier: Apache-2.0

#include "registry/validation/unified_diff.h"

#include <algorithm>
#include <map>
#include <numeric>

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

// All maximal runs of two or more equal lines that may begin a block. Single lines are found without
// a list of them (BlockChooser::PlaceSingleLines): texts of repeated elements have as many as the
// square of their length.
std::vector<MatchingBlock> FindRuns(const Numbered& lines, const Occurrences& occurrences) {
  std::vector<MatchingBlock> runs;
  std::vector<MatchingBlock> open;  // those that reach the line before; ascending
  std::vector<MatchingBlock> reached;
  const auto close = [&](const MatchingBlock& run) {
    if (run.size > 1) runs.push_back(run);
  };
  for (std::uint32_t i = 0; i < lines.before.size(); ++i) {
    reached.clear();
    auto candidate = open.begin();
    const std::uint32_t id = lines.before[i];
    if (id != kAbsent) {
      for (const std::uint32_t* j = occurrences.begin(id); j != occurrences.end(id); ++j) {
        for (; candidate != open.end() && candidate->new_line + candidate->size < *j; ++candidate) {
          close(*candidate);
        }
        if (candidate != open.end() && candidate->new_line + candidate->size == *j) {
          reached.push_back({candidate->old_line, candidate->new_line, candidate->size + 1});
          ++candidate;
        } else {
          reached.push_back({i, *j, 1});
        }
      }
    }
    for (; candidate != open.end(); ++candidate) close(*candidate);
    open.swap(reached);
  }
  for (const MatchingBlock& run : open) close(run);
  return runs;
}

// Chooses blocks from runs, the best first. The recursion of Ratcliff and Obershelp picks the best
// run of each gap between blocks; gaps do not depend on each other, so picking the best run of all of
// them gives the same blocks. A run is cut to its gap when it comes up, and put back if that made it
// shorter. What is left of a run lies in one gap at most: a run that reached past both ends of a
// block would be longer than the block.
class BlockChooser {
 public:
  BlockChooser(const Numbered& lines, const Occurrences& occurrences)
      : lines_(lines),
        occurrences_(occurrences),
        runs_(LongestFirst(FindRuns(lines, occurrences))),
        old_gaps_(lines.before.size(), 0),
        new_gaps_(lines.after.size(), 0) {
    gaps_.push_back({0, static_cast<std::uint32_t>(lines.before.size()), 0,
                     static_cast<std::uint32_t>(lines.after.size())});
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
    PlaceSingleLines();
    ExtendIntoRemainingGaps();
    std::sort(blocks_.begin(), blocks_.end(), [](const MatchingBlock& a, const MatchingBlock& b) {
      return a.old_line < b.old_line;
    });
    std::vector<MatchingBlock> out;
    for (const MatchingBlock& block : blocks_) {
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
  // Lines between two blocks. Each line knows the index of its gap, or kAbsent inside a block.
  struct Gap {
    std::uint32_t old_begin = 0;
    std::uint32_t old_end = 0;
    std::uint32_t new_begin = 0;
    std::uint32_t new_end = 0;

    std::uint32_t size() const { return old_end - old_begin + new_end - new_begin; }
  };

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

  void Label(const Gap& gap, std::uint32_t index) {
    std::fill(old_gaps_.begin() + gap.old_begin, old_gaps_.begin() + gap.old_end, index);
    std::fill(new_gaps_.begin() + gap.new_begin, new_gaps_.begin() + gap.new_end, index);
  }

  bool IsFree(std::uint32_t old_line, std::uint32_t new_line) const {
    return old_gaps_[old_line] != kAbsent && old_gaps_[old_line] == new_gaps_[new_line];
  }

  // The lines of `run` from the first that lie in one gap, as many as do; nothing: size 0.
  MatchingBlock Rest(const MatchingBlock& run) const {
    std::uint32_t skipped = 0;
    while (skipped < run.size && !IsFree(run.old_line + skipped, run.new_line + skipped)) ++skipped;
    MatchingBlock rest{run.old_line + skipped, run.new_line + skipped, run.size - skipped};
    if (rest.size == 0) return rest;
    const Gap& gap = gaps_[old_gaps_[rest.old_line]];
    rest.size = std::min({rest.size, gap.old_end - rest.old_line, gap.new_end - rest.new_line});
    return rest;
  }

  void Place(const MatchingBlock& run) {
    const MatchingBlock rest = Rest(run);
    if (rest.size == run.size) return Add(rest);
    if (rest.size < 2) return;  // see PlaceSingleLines
    cut_.push_back(rest);
    std::push_heap(cut_.begin(), cut_.end(), IsWorse);
  }

  bool Equal(std::uint32_t old_line, std::uint32_t new_line) const {
    return lines_.before[old_line] == lines_.after[new_line];
  }

  // Extends the block within its gap and parts the gap. The smaller part gets the new index, so that
  // a line changes its gap a logarithmic number of times.
  void Add(MatchingBlock block) {
    const std::uint32_t index = old_gaps_[block.old_line];
    const Gap gap = gaps_[index];
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
    blocks_.push_back(block);
    const Gap left{gap.old_begin, block.old_line, gap.new_begin, block.new_line};
    const Gap right{block.old_line + block.size, gap.old_end, block.new_line + block.size,
                    gap.new_end};
    Label({left.old_end, right.old_begin, left.new_end, right.new_begin}, kAbsent);
    const bool left_is_smaller = left.size() < right.size();
    gaps_[index] = left_is_smaller ? right : left;
    gaps_.push_back(left_is_smaller ? left : right);
    Label(gaps_.back(), static_cast<std::uint32_t>(gaps_.size() - 1));
  }

  // When no longer run is left, the best of a gap is its first old line that the new text has in the
  // same gap, there its first. Going through the old text once finds all of them in order.
  void PlaceSingleLines() {
    for (std::uint32_t i = 0; i < lines_.before.size(); ++i) {
      const std::uint32_t id = lines_.before[i];
      if (id == kAbsent || old_gaps_[i] == kAbsent) continue;
      const Gap& gap = gaps_[old_gaps_[i]];
      const std::uint32_t* const j =
          std::lower_bound(occurrences_.begin(id), occurrences_.end(id), gap.new_begin);
      if (j != occurrences_.end(id) && *j < gap.new_end) Add({i, *j, 1});
    }
  }

  // Where no run is left, a gap's equal first lines are a block.
  void ExtendIntoRemainingGaps() {
    for (std::size_t index = 0; index < gaps_.size(); ++index) {
      const Gap& gap = gaps_[index];
      if (gap.old_begin == gap.old_end || gap.new_begin == gap.new_end) continue;
      if (Equal(gap.old_begin, gap.new_begin)) Add({gap.old_begin, gap.new_begin, 1});
    }
  }

  const Numbered& lines_;
  const Occurrences& occurrences_;
  const std::vector<MatchingBlock> runs_;
  std::vector<MatchingBlock> cut_;  // a heap
  std::vector<MatchingBlock> blocks_;
  std::vector<Gap> gaps_;
  Ids old_gaps_;  // by line
  Ids new_gaps_;
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
  const Occurrences occurrences(lines, pairs);
  return BlockChooser(lines, occurrences).Choose();
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
