#include "engine/codec/protobuf_fields.h"

#include <utility>

#include "base/strings.h"

namespace portcullis::engine::protobuf {

Fields::Fields(std::string_view text) {
  std::string package;
  for (std::string_view line : base::Split(text, '\n')) {
    if (line.empty() || line.front() == '#') continue;
    if (line.front() == '@') {
      package = std::string(line.substr(1));
    } else {
      AddMessage(package, line);
    }
  }
}

const Message* Fields::Find(std::string_view package, std::string_view message) const {
  const auto found = messages_.find(base::StrCat(package, ".", message));
  return found == messages_.end() ? nullptr : &found->second;
}

void Fields::AddMessage(const std::string& package, std::string_view line) {
  const auto words = base::Split(line, ' ');
  Message& message = messages_[base::StrCat(package, ".", words[0])];
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::size_t equals = words[i].find('=');
    std::string_view rest = words[i].substr(equals + 1);
    const std::size_t digits = rest.find_first_not_of("0123456789");
    const auto number = base::ParseInt(rest.substr(0, digits));
    rest.remove_prefix(digits);
    FieldLine field;
    field.name = words[i].substr(0, equals);
    const std::size_t mode = std::string_view("*%^").find(rest.front());
    if (mode != std::string_view::npos) {
      field.mode = static_cast<Mode>(mode + 1);
      rest.remove_prefix(1);
    }
    const std::size_t dot = rest.rfind('.');
    field.package = dot == std::string_view::npos ? package : std::string(rest.substr(0, dot));
    field.type = dot == std::string_view::npos ? rest : rest.substr(dot + 1);
    message[static_cast<std::uint32_t>(number.value_or(0))] = std::move(field);
  }
}

}  // namespace portcullis::engine::protobuf
