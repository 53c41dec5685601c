// SPDX-License-Identifier: Apache-2.0

#include "server/discovery/debug_flags.h"

#include "base/log_level.h"
#include "base/strings.h"
#include "golang/strconv.h"
#include "server/reply.h"

namespace portcullis::server {
namespace {

constexpr std::string_view kIndex =
    "<html>\n<head>\n<title>/debug/flags/</title>\n</head>\n<body>\n/debug/flags/"
    "<br>\n<br>\nflags:<br>\n"
    "<table>\n<tr>v<br>\n</table>\n<br>\nfull flags configurable<br>\n</body>\n</html>\n";
constexpr std::string_view kName = "klog.logging.verbosity";

Reply Answer(int status, std::string text) {
  Reply reply = TextReply(status, std::move(text) + "\n");
  reply.content_type = "text/plain";
  return reply;
}

}  // namespace

Reply ServeDebugFlags(const Call& call) {
  if (call.info.path != "/debug/flags/v") {
    Reply reply;
    reply.content_type = "text/html; charset=utf-8";
    reply.body = kIndex;
    return reply;
  }
  if (call.info.method != "PUT") return Answer(406, "unsupported http method");
  if (const auto number = golang::ParseUint(call.body, 10, 32); !number.ok()) {
    return Answer(400, std::string(number.status().message()));
  }
  const auto level = golang::ParseInt(call.body, 10, 32);
  if (!level.ok()) {
    return Answer(
        400, base::StrCat("failed set ", kName, " ", call.body, ": ", level.status().message()));
  }
  base::SetLowestLogLevel(*level > 3 ? base::LogLevel::kDebug : base::LogLevel::kInfo);
  return Answer(200, base::StrCat("successfully set ", kName, " to ", call.body));
}

}  // namespace portcullis::server
