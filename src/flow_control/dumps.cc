// SPDX-License-Identifier: Apache-2.0

#include "flow_control/dumps.h"

#include <algorithm>
#include <cstdio>
#include <ctime>

#include "base/gotext.h"
#include "base/strings.h"

namespace portcullis::flow_control {
namespace {

// Lines of cells, each but the last of a line followed by a comma and padded to its column's width
// (Go's text/tabwriter with a minimal width of 8 and a padding of 1).
class Table {
 public:
  void Add(std::vector<std::string> row) {
    for (std::size_t i = 0; i + 1 < row.size(); ++i) {
      row[i] += ',';
      if (widths_.size() <= i) widths_.push_back(kMinWidth);
      widths_[i] = std::max(widths_[i], base::RuneCount(row[i]) + 1);
    }
    rows_.push_back(std::move(row));
  }

  std::string Text() const {
    std::string text;
    for (const auto& row : rows_) {
      for (std::size_t i = 0; i < row.size(); ++i) {
        text += row[i];
        if (i + 1 < row.size()) text.append(widths_[i] - base::RuneCount(row[i]), ' ');
      }
      text += '\n';
    }
    return text;
  }

 private:
  static constexpr std::size_t kMinWidth = 8;
  std::vector<std::vector<std::string>> rows_;
  std::vector<std::size_t> widths_;
};

// RFC 3339 in UTC with as many digits of nanoseconds as are not zero.
std::string FormatNano(base::SteadyTime time, const base::Clock& clock) {
  const auto since = clock.Now().time_since_epoch() - (clock.Steady() - time);
  const auto nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
  const std::time_t seconds = nanoseconds / 1'000'000'000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[40];
  const std::size_t size = std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &parts);
  char fraction[16];
  std::snprintf(fraction, sizeof(fraction), ".%09lld",
                static_cast<long long>(nanoseconds % 1'000'000'000));
  std::string digits = fraction;
  digits.erase(digits.find_last_not_of('0') + 1);
  if (digits == ".") digits.clear();
  return base::StrCat(std::string_view(text, size), digits, "Z");
}

void AddRequest(Table& table, const LevelDump& level, int queue, int position,
                const RequestDump& request, const base::Clock& clock) {
  constexpr std::string_view kNever = "0001-01-01T00:00:00Z";
  std::vector<std::string> row = {
      level.name,
      request.schema,
      std::to_string(queue),
      std::to_string(position),
      request.distinguisher,
      FormatNano(request.arrived, clock),
      std::to_string(request.work.initial_seats),
      std::to_string(request.work.final_seats),
      base::FormatDuration(request.work.additional_latency),
      request.started ? FormatNano(*request.started, clock) : std::string(kNever)};
  if (request.details) {
    const RequestDetails& details = *request.details;
    for (const std::string& cell :
         {details.user_name, details.verb, details.path, details.ns, details.name,
          details.api_version, details.resource, details.subresource}) {
      row.push_back(cell);
    }
  }
  table.Add(std::move(row));
}

std::string_view BoolText(bool value) { return value ? "true" : "false"; }

}  // namespace

std::string FormatPriorityLevels(std::span<const LevelDump> levels) {
  Table table;
  table.Add({"PriorityLevelName", "ActiveQueues", "IsIdle", "IsQuiescing", "WaitingRequests",
             "ExecutingRequests", "DispatchedRequests", "RejectedRequests", "TimedoutRequests",
             "CancelledRequests"});
  for (const LevelDump& level : levels) {
    const QueueSetDump& set = level.queues;
    const auto active =
        std::count_if(set.queues.begin(), set.queues.end(),
                      [](const QueueDump& queue) { return !queue.waiting.empty(); });
    // Requests whose time was up are counted as cancelled.
    table.Add({level.name, std::to_string(active),
               std::string(BoolText(set.waiting == 0 && set.executing == 0)),
               std::string(BoolText(level.quiescing)), std::to_string(set.waiting),
               std::to_string(set.executing), std::to_string(set.dispatched),
               std::to_string(set.rejected), "0", std::to_string(set.cancelled)});
  }
  return table.Text();
}

std::string FormatQueues(std::span<const LevelDump> levels) {
  Table table;
  table.Add({"PriorityLevelName", "Index", "PendingRequests", "ExecutingRequests", "SeatsInUse",
             "NextDispatchR", "InitialSeatsSum", "MaxSeatsSum", "TotalWorkSum"});
  for (const LevelDump& level : levels) {
    for (std::size_t i = 0; i < level.queues.queues.size(); ++i) {
      const QueueDump& queue = level.queues.queues[i];
      table.Add({level.name, std::to_string(i), std::to_string(queue.waiting.size()),
                 std::to_string(queue.executing.size()), std::to_string(queue.seats_in_use),
                 Format(queue.next_dispatch_r), std::to_string(queue.initial_seats),
                 std::to_string(queue.max_seats), Format(queue.total_work)});
    }
  }
  return table.Text();
}

std::string FormatRequests(std::span<const LevelDump> levels, bool with_details,
                           const base::Clock& clock) {
  Table table;
  std::vector<std::string> head = {
      "PriorityLevelName", "FlowSchemaName", "QueueIndex", "RequestIndexInQueue", "FlowDistingsher",
      "ArriveTime",        "InitialSeats",   "FinalSeats", "AdditionalLatency",   "StartTime"};
  if (with_details) {
    for (std::string_view name : {"UserName", "Verb", "APIPath", "Namespace", "Name", "APIVersion",
                                  "Resource", "SubResource"}) {
      head.emplace_back(name);
    }
  }
  table.Add(std::move(head));
  for (const LevelDump& level : levels) {
    int index = 0;
    for (const QueueDump& queue : level.queues.queues) {
      int position = 0;
      for (const RequestDump& request : queue.waiting) {
        AddRequest(table, level, index, position++, request, clock);
      }
      for (const RequestDump& request : queue.executing) {
        AddRequest(table, level, index, -1, request, clock);
      }
      ++index;
    }
    for (const RequestDump& request : level.queues.queueless) {
      AddRequest(table, level, -1, -1, request, clock);
    }
  }
  return table.Text();
}

}  // namespace portcullis::flow_control
