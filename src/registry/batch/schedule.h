// SPDX-License-Identifier: Apache-2.0

// Schedules of CronJobs, with the errors of the parser that Kubernetes uses
// (github.com/robfig/cron, ParseStandard). Free of state; any thread.
#pragma once

#include <string>
#include <string_view>

namespace portcullis::registry {

// What is wrong with the schedule, "" if nothing.
std::string CheckSchedule(std::string_view schedule);

}  // namespace portcullis::registry
