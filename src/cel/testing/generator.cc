// SPDX-License-Identifier: Apache-2.0

#include "cel/testing/generator.h"

#include <array>
#include <string_view>

namespace portcullis::cel::testing {
namespace {

class Generator {
 public:
  explicit Generator(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  std::string Any(int depth) {
    switch (Pick(7)) {
      case 0:
        return Bool(depth);
      case 1:
        return Int(depth);
      case 2:
        return String(depth);
      case 3:
        return List(depth);
      case 4:
        return Dyn(depth);
      case 5:
        return Map(depth);
      default:
        return Optional(depth);
    }
  }

 private:
  std::size_t Pick(std::size_t count) {
    if (at_ >= bytes_.size()) return 0;
    return bytes_[at_++] % count;
  }
  template <std::size_t count>
  std::string_view One(const std::array<std::string_view, count>& choices) {
    return choices[Pick(count)];
  }
  bool Leaf(int depth) const { return depth <= 0 || at_ >= bytes_.size(); }

  static std::string Call(std::string_view function, const std::string& a) {
    return std::string(function) + "(" + a + ")";
  }
  std::string Variable() { return variables_ > 0 ? "v" + std::to_string(Pick(variables_)) : "x"; }
  // `macro(v, body)` with a new variable in scope of the body.
  template <typename Body>
  std::string Macro(const std::string& range, std::string_view macro, bool two, Body body) {
    const std::string first = "v" + std::to_string(variables_);
    variables_ += two ? 2 : 1;
    std::string text = range + "." + std::string(macro) + "(" + first;
    if (two) text += ", v" + std::to_string(variables_ - 1);
    text += ", " + body() + ")";
    variables_ -= two ? 2 : 1;
    return text;
  }

  std::string Bool(int depth) {
    if (Leaf(depth)) return std::string(One<3>({"true", "false", "object.spec.on"}));
    const int d = depth - 1;
    switch (Pick(11)) {
      case 0:
        return "(" + Bool(d) + " && " + Bool(d) + ")";
      case 1:
        return "(" + Bool(d) + " || " + Bool(d) + ")";
      case 2:
        return "!" + Call("", Bool(d));
      case 3:
        return "(" + Int(d) + std::string(One<6>({" == ", " != ", " < ", " <= ", " > ", " >= "})) +
               Int(d) + ")";
      case 4:
        return "(" + String(d) + std::string(One<3>({" == ", " != ", " < "})) + String(d) + ")";
      case 5:
        return String(d) + "." + Call(One<3>({"startsWith", "contains", "matches"}), String(d));
      case 6:
        return Macro(List(d), One<3>({"all", "exists", "exists_one"}), Pick(2) == 0,
                     [&] { return Bool(d); });
      case 7:
        return "(" + Int(d) + " in " + List(d) + ")";
      case 8:
        return Call("has", Path(d) + ".name");
      case 9:
        return "(" + Dyn(d) + std::string(One<3>({" == ", " != ", " < "})) + Dyn(d) + ")";
      default:
        return "(" + Bool(d) + " ? " + Bool(d) + " : " + Bool(d) + ")";
    }
  }

  std::string Int(int depth) {
    if (Leaf(depth)) return std::string(One<5>({"1", "0", "-3", "number", "9223372036854775807"}));
    const int d = depth - 1;
    switch (Pick(7)) {
      case 0:
        return "(" + Int(d) + std::string(One<5>({" + ", " - ", " * ", " / ", " % "})) + Int(d) +
               ")";
      case 1:
        return Call("size", Pick(2) == 0 ? String(d) : List(d));
      case 2:
        return List(d) + "[" + Int(d) + "]";
      case 3:
        return Call("int", Pick(2) == 0 ? String(d) : Int(d));
      case 4:
        return "(" + Bool(d) + " ? " + Int(d) + " : " + Int(d) + ")";
      case 5:
        return Map(d) + "[" + String(d) + "]";
      default:
        return Optional(d) + ".orValue(" + Int(d) + ")";
    }
  }

  std::string String(int depth) {
    if (Leaf(depth)) return std::string(One<5>({"'a'", "''", "text", "'äöü'", "names[0]"}));
    const int d = depth - 1;
    switch (Pick(6)) {
      case 0:
        return "(" + String(d) + " + " + String(d) + ")";
      case 1:
        return Call("string", Pick(2) == 0 ? Int(d) : Bool(d));
      case 2:
        return String(d) + ".replace(" + String(d) + ", " + String(d) + ")";
      case 3:
        return String(d) + ".substring(" + Int(d) + ")";
      case 4:
        return "(" + Bool(d) + " ? " + String(d) + " : " + String(d) + ")";
      default:
        return String(d) + ".charAt(" + Int(d) + ")";
    }
  }

  std::string List(int depth) {
    if (Leaf(depth)) return std::string(One<4>({"[1, 2]", "[]", "[number, 3]", "lists.range(3)"}));
    const int d = depth - 1;
    switch (Pick(8)) {
      case 0:
        return "[" + Int(d) + ", " + Int(d) + "]";
      case 1:
        return "(" + List(d) + " + " + List(d) + ")";
      case 2:
        return Macro(List(d), "map", false, [&] { return Int(d); });
      case 3:
        return Macro(List(d), "filter", false, [&] { return Bool(d); });
      case 4:
        return Macro(List(d), "map", false, [&] { return Bool(d) + ", " + Int(d); });
      case 5:
        return Macro(List(d), "transformList", true, [&] { return Int(d); });
      case 6:
        return Macro(List(d), "sortBy", false, [&] { return Int(d); });
      default:
        return "[?" + Optional(d) + ", " + Int(d) + "]";
    }
  }

  std::string Map(int depth) {
    if (Leaf(depth)) return std::string(One<2>({"{'a': 1}", "{'a': number, 'b': 2}"}));
    const int d = depth - 1;
    switch (Pick(4)) {
      case 0:
        return "{" + String(d) + ": " + Int(d) + "}";
      case 1:
        return Macro(Map(d), "transformMap", true, [&] { return Int(d); });
      case 2:
        return Macro(Map(d), "transformMapEntry", true,
                     [&] { return "{" + String(d) + ": " + Int(d) + "}"; });
      default:
        return "{?" + String(d) + ": " + Optional(d) + "}";
    }
  }

  std::string Optional(int depth) {
    if (Leaf(depth)) return std::string(One<2>({"optional.of(1)", "optional.none()"}));
    const int d = depth - 1;
    switch (Pick(5)) {
      case 0:
        return Call("optional.of", Int(d));
      case 1:
        return List(d) + "[?" + Int(d) + "]";
      case 2:
        return Macro(Optional(d), "optMap", false, [&] { return Int(d); });
      case 3:
        return Optional(d) + ".or(" + Optional(d) + ")";
      default:
        return Map(d) + "[?" + String(d) + "]";
    }
  }

  std::string Path(int depth) {
    if (Leaf(depth)) return std::string(One<3>({"object", "request", Variable2()}));
    const int d = depth - 1;
    switch (Pick(6)) {
      case 0:
        return Path(d) + ".metadata";
      case 1:
        return Path(d) + ".spec.containers[" + Int(d) + "]";
      case 2:
        return Path(d) + ".?spec";
      case 3:
        return Path(d) + "[" + String(d) + "]";
      case 4:
        return Path(d) + ".nope";
      default:
        return Path(d) + "[?" + Dyn(d) + "]";
    }
  }

  std::string_view Variable2() {
    scratch_ = Variable();
    return scratch_;
  }

  std::string Dyn(int depth) {
    if (Leaf(depth)) return std::string(One<5>({"x", "y", "unbound", "oldObject", Variable2()}));
    const int d = depth - 1;
    switch (Pick(6)) {
      case 0:
        return Call("dyn", Any(d));
      case 1:
        return "(" + Dyn(d) + std::string(One<4>({" + ", " - ", " * ", " / "})) + Dyn(d) + ")";
      case 2:
        return "-" + Call("", Dyn(d));
      case 3:
        return "(" + Bool(d) + " ? " + Path(d) + " : " + Dyn(d) + ")";
      case 4:
        return Path(d) + ".name";
      default:
        return Macro(Path(d), One<3>({"all", "exists", "exists_one"}), Pick(2) == 0,
                     [&] { return "(" + Dyn(d) + " == " + Dyn(d) + ")"; });
    }
  }

  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
  std::size_t variables_ = 0;
  std::string scratch_;
};

}  // namespace

std::string GenerateExpression(std::span<const std::uint8_t> bytes) {
  constexpr int kDepth = 5;
  return Generator(bytes).Any(kDepth);
}

}  // namespace portcullis::cel::testing
