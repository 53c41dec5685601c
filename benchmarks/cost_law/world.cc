// SPDX-License-Identifier: Apache-2.0

#include "world.h"

#include <fstream>
#include <sstream>

#include "base/strings.h"
#include "json/writer.h"
#include "json/yaml.h"

namespace portcullis::cost_law {

// world.yaml: documents of {path, object}.
base::Status MakeWorld(Subject& subject) {
  std::ifstream file(std::string(PC_SOURCE_DIR) + "/benchmarks/cost_law/world.yaml");
  std::ostringstream text;
  text << file.rdbuf();
  const std::string all = text.str();
  json::Arena arena;
  for (const std::string_view document : json::SplitYaml(all)) {
    const json::Value item = TRY(json::ParseYaml(arena, document));
    const std::string path(item["path"].AsString());
    std::string answer;
    const int status = subject.Send({"POST", path, json::ToString(item["object"])}, &answer);
    if (status != 201) {
      return base::ConfigError(
          base::StrCat("world.yaml: POST ", path, ": ", std::to_string(status), " ", answer));
    }
  }
  return base::OkStatus();
}

}  // namespace portcullis::cost_law
