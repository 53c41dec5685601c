// SPDX-License-Identifier: Apache-2.0

#include "cbor/diagnose.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "base/gotext.h"
#include "base/strings.h"
#include "cbor/cursor.h"
#include "json/writer.h"

namespace portcullis::cbor {
namespace {

constexpr std::uint8_t kUndefined = 23;

void AppendUnit(unsigned unit, std::string& out) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += kHex[unit >> shift & 0xF];
}

// All but printable ASCII is escaped, in UTF-16.
void AppendText(std::string_view text, char quote, std::string& out) {
  constexpr std::string_view kShort = "\t\n\r\\";
  constexpr std::string_view kNames = "tnr\\";
  out += quote;
  while (!text.empty()) {
    std::size_t size = 0;
    const char32_t rune = base::DecodeRune(text, size);
    const std::size_t at = kShort.find(text.front());
    if (text.front() == quote || at != std::string_view::npos) {
      out += '\\';
      out += text.front() == quote ? quote : kNames[at];
    } else if (rune >= ' ' && rune <= '~') {
      out += text.front();
    } else if (rune < 0x10000) {
      AppendUnit(rune, out);
    } else {
      AppendUnit(0xD800 + ((rune - 0x10000) >> 10), out);
      AppendUnit(0xDC00 + ((rune - 0x10000) & 0x3FF), out);
    }
    text.remove_prefix(size);
  }
  out += quote;
}

void AppendBytes(std::string_view bytes, std::string& out) {
  if (!bytes.empty() && base::IsValidUtf8(bytes)) return AppendText(bytes, '\'', out);
  out += base::StrCat("h'", base::HexEncode(bytes), "'");
}

// As JSON has it, but always with a point.
void AppendFloat(double number, std::string& out) {
  if (std::isnan(number)) {
    out += "NaN";
  } else if (std::isinf(number)) {
    out += number < 0 ? "-Infinity" : "Infinity";
  } else {
    std::string text;
    json::WriteDouble(number, text);
    const std::size_t exponent = text.find('e');
    if (text.find('.') == std::string::npos) {
      text.insert(exponent == std::string::npos ? text.size() : exponent, ".0");
    }
    out += text;
  }
}

// -1 - argument, which may be beyond any integer.
void AppendNegative(std::uint64_t argument, std::string& out) {
  out += argument + 1 == 0 ? "-18446744073709551616" : "-" + std::to_string(argument + 1);
}

void AppendPrimitive(const Head& head, std::string& out) {
  switch (head.info) {
    case kFalse:
      out += "false";
      return;
    case kTrue:
      out += "true";
      return;
    case kNull:
      out += "null";
      return;
    case kUndefined:
      out += "undefined";
      return;
    case kTwoBytes:
    case kFourBytes:
    case kEightBytes:
      return AppendFloat(FloatOf(head), out);
    default:
      out += base::StrCat("simple(", std::to_string(head.argument), ")");
  }
}

class Notation {
 public:
  explicit Notation(std::string_view bytes) : cursor_(bytes) {}

  std::string Write() && {
    do {
      Head head;
      if (!cursor_.Take(head)) break;
      Item(head);
      while (!open_.empty() && IsComplete()) {
        out_ += open_.back().close;
        open_.pop_back();
      }
      if (!open_.empty()) Separate();
    } while (!open_.empty());
    return std::move(out_);
  }

 private:
  struct Open {
    char close;
    bool is_map;
    bool is_indefinite;
    std::uint64_t left;      // items to come, unless the length is indefinite
    std::uint64_t done = 0;  // items written
  };

  void Item(const Head& head) {
    switch (head.major) {
      case Major::kPositive:
        out_ += std::to_string(head.argument);
        return;
      case Major::kNegative:
        return AppendNegative(head.argument, out_);
      case Major::kBytes:
      case Major::kText:
        return String(head);
      case Major::kArray:
        return Begin(head, '[', ']');
      case Major::kMap:
        return Begin(head, '{', '}');
      case Major::kTag:
        out_ += std::to_string(head.argument);
        out_ += '(';
        open_.push_back({')', false, false, 1});
        return;
      case Major::kPrimitive:
        return AppendPrimitive(head, out_);
    }
  }

  void String(const Head& head) {
    const char quote = head.major == Major::kText ? '"' : '\'';
    if (!head.is_indefinite()) {
      const std::string_view content = cursor_.TakeBytes(head.argument);
      return quote == '"' ? AppendText(content, quote, out_) : AppendBytes(content, out_);
    }
    if (cursor_.TakeBreak()) {
      out_ += {quote, quote, '_'};
      return;
    }
    Begin(head, '(', ')');
  }

  void Begin(const Head& head, char begin, char close) {
    out_ += begin;
    if (head.is_indefinite()) out_ += "_ ";
    const bool is_map = head.major == Major::kMap;
    open_.push_back(
        {close, is_map, head.is_indefinite(), is_map ? 2 * head.argument : head.argument});
  }

  bool IsComplete() {
    const Open& innermost = open_.back();
    return innermost.is_indefinite ? cursor_.TakeBreak() : innermost.done == innermost.left;
  }

  // Between the items of the innermost container, the last of which counts as written from here on.
  void Separate() {
    Open& innermost = open_.back();
    if (innermost.done > 0) out_ += innermost.is_map && innermost.done % 2 == 1 ? ": " : ", ";
    ++innermost.done;
  }

  Cursor cursor_;
  std::vector<Open> open_;
  std::string out_;
};

}  // namespace

std::string Diagnose(std::string_view bytes) { return Notation(bytes).Write(); }

}  // namespace portcullis::cbor
