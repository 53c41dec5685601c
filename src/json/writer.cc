// SPDX-License-Identifier: Apache-2.0

#include "json/writer.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <memory>

#include "base/gotext.h"
#include "json/indentation.h"
#include "json/scan.h"
#include "json/sorted.h"

namespace portcullis::json {
namespace {

// A growing buffer that is written without a capacity check per byte. What it holds reaches `out` by
// Flush(), which may fail to allocate; so the destructor does not call it.
class Sink {
 public:
  explicit Sink(std::string& out) : out_(out) {}
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  void Put(char c) {
    Reserve(1);
    *next_++ = c;
  }
  void Put(std::string_view text) {
    Reserve(text.size());
    PutReserved(text);
  }
  void Reserve(std::size_t size) {
    if (static_cast<std::size_t>(end_ - next_) < size) [[unlikely]] {
      Grow(size);
    }
  }
  // REQUIRES: reserved.
  void PutReserved(char c) { *next_++ = c; }
  void PutReserved(std::string_view text) {
    if (!text.empty()) std::memcpy(next_, text.data(), text.size());
    next_ += text.size();
  }
  char* next() { return next_; }
  char* end() { return end_; }
  void Advance(char* next) { next_ = next; }
  void Flush() {
    out_.append(begin_, static_cast<std::size_t>(next_ - begin_));
    next_ = begin_;
  }

 private:
  static constexpr std::size_t kBlock = 16 * 1024;

  void Grow(std::size_t size) {
    Flush();
    const std::size_t wanted = std::max(size, kBlock);
    if (static_cast<std::size_t>(end_ - next_) >= wanted) return;
    block_.reset(new char[wanted]);
    begin_ = block_.get();
    next_ = begin_;
    end_ = begin_ + wanted;
  }

  std::string& out_;
  std::unique_ptr<char[]> block_;
  char first_[256];  // so that short texts need no block
  char* begin_ = first_;
  char* next_ = first_;
  char* end_ = first_ + sizeof(first_);
};

constexpr char kHex[] = "0123456789abcdef";

void PutUnicodeEscape(unsigned code, Sink& sink) {
  sink.Reserve(6);
  sink.PutReserved("\\u");
  for (int shift = 12; shift >= 0; shift -= 4) sink.PutReserved(kHex[(code >> shift) & 0xF]);
}

void PutEscaped(unsigned char c, Sink& sink) {
  constexpr std::string_view kSpecial = "\"\\\b\f\n\r\t";
  constexpr std::string_view kNames = "\"\\bfnrt";
  const std::size_t found = kSpecial.find(static_cast<char>(c));
  if (found == std::string_view::npos) return PutUnicodeEscape(c, sink);
  sink.Reserve(2);
  sink.PutReserved('\\');
  sink.PutReserved(kNames[found]);
}

// The character at the beginning of a text, which needs a second look; returns the rest.
std::string_view PutFirst(std::string_view text, bool escape_html, Sink& sink) {
  const auto c = static_cast<unsigned char>(text[0]);
  if (c == '"') {
    sink.Put("\\\"");
    return text.substr(1);
  }
  if (c < 0x80) {
    const bool html = escape_html && (c == '<' || c == '>' || c == '&');
    if (c < 0x20 || c == '"' || c == '\\' || html) {
      PutEscaped(c, sink);
    } else {
      sink.Put(static_cast<char>(c));
    }
    return text.substr(1);
  }
  std::size_t size = 0;
  const char32_t rune = base::DecodeRune(text, size);
  const bool invalid = rune == 0xFFFD && size == 1;
  if (invalid || rune == 0x2028 || rune == 0x2029) {
    PutUnicodeEscape(static_cast<unsigned>(rune), sink);
  } else {
    sink.Put(text.substr(0, size));
  }
  return text.substr(size);
}

// What is left of a string, of which some characters need a second look.
[[gnu::noinline]] void PutRest(std::string_view text, bool escape_html, Sink& sink) {
  while (!text.empty()) {
    sink.Reserve(text.size());
    const std::size_t plain = internal::CopyUpToFirst(text.data(), text.size(), sink.next());
    sink.Advance(sink.next() + plain);
    text.remove_prefix(plain);
    // Letters beyond ASCII seldom stand alone.
    while (!text.empty()) {
      text = PutFirst(text, escape_html, sink);
      if (text.empty() || static_cast<unsigned char>(text[0]) < 0x80) break;
    }
  }
  sink.Put('"');
}

// What stands around a string; 0 for nothing.
struct Around {
  char before = 0;
  char after = 0;
};

// Most strings are copied while they are looked at. Inlined, as compilers would not do by themselves: an object
// writes two for most of its members.
[[gnu::always_inline]] inline void PutString(std::string_view text, bool escape_html, Sink& sink,
                                             Around around = {}) {
  sink.Reserve(text.size() + 4);
  char* out = sink.next();
  if (around.before != 0) *out++ = around.before;
  *out++ = '"';
  const std::size_t plain = internal::CopyPlain(text.data(), text.size(), out);
  out += plain;
  if (plain < text.size()) [[unlikely]] {
    sink.Advance(out);
    PutRest(text.substr(plain), escape_html, sink);
    if (around.after != 0) sink.Put(around.after);
    return;
  }
  *out++ = '"';
  if (around.after != 0) *out++ = around.after;
  sink.Advance(out);
}

void PutInt(std::int64_t value, Sink& sink) {
  sink.Reserve(24);
  sink.Advance(std::to_chars(sink.next(), sink.end(), value).ptr);
}

// Lays out the shortest digits that read back as `value` as Go does: without an exponent from 1e-6
// up to 1e21, and with the fewest exponent digits otherwise.
void PutDouble(double value, Sink& sink) {
  if (!std::isfinite(value)) return sink.Put("null");  // Go refuses; nothing here produces them
  char buffer[40];
  const char* const end =
      std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::scientific).ptr;
  const char* p = buffer;
  if (*p == '-') {
    sink.Put('-');
    ++p;
  }
  const char* const exponent_mark = std::find(p, end, 'e');
  char digits[32];
  std::size_t count = 0;
  for (; p != exponent_mark; ++p) {
    if (*p != '.') digits[count++] = *p;
  }
  int exponent = 0;
  const char* number = exponent_mark + 1;
  if (*number == '+') ++number;
  std::from_chars(number, end, exponent);
  const std::string_view all(digits, count);
  const double magnitude = std::fabs(value);
  if (magnitude != 0 && (magnitude < 1e-6 || magnitude >= 1e21)) {
    sink.Put(all.substr(0, 1));
    if (count > 1) {
      sink.Put('.');
      sink.Put(all.substr(1));
    }
    sink.Put(exponent < 0 ? "e-" : "e+");
    // Go keeps two digits in e+05 forms but strips the zero of e-0N; below 1e21 there are none.
    PutInt(std::abs(exponent), sink);
    return;
  }
  if (exponent < 0) {
    sink.Put("0.");
    for (int i = -1; i > exponent; --i) sink.Put('0');
    sink.Put(all);
    return;
  }
  const auto whole = static_cast<std::size_t>(exponent) + 1;
  sink.Put(all.substr(0, whole));
  for (std::size_t i = count; i < whole; ++i) sink.Put('0');
  if (count > whole) {
    sink.Put('.');
    sink.Put(all.substr(whole));
  }
}

class Writer {
 public:
  Writer(Sink& sink, const WriteOptions& options)
      : sink_(sink),
        options_(options),
        splice_(options.splice_source && !options.sort_keys && options.indent == 0) {}

  void Write(const Value& value, int level) {
    switch (value.type()) {
      case Type::kNull:
        return sink_.Put("null");
      case Type::kBool:
        return sink_.Put(value.AsBool() ? "true" : "false");
      case Type::kInt:
        return PutInt(value.AsInt(), sink_);
      case Type::kDouble:
        if (std::isinf(value.AsDouble()) && !value.NumberLiteral().empty()) {
          return sink_.Put(value.NumberLiteral());  // what no float64 holds is only ever quoted
        }
        return PutDouble(value.AsDouble(), sink_);
      case Type::kString:
        return PutString(value.AsString(), options_.escape_html, sink_);
      case Type::kArray:
        return WriteArray(value, level);
      case Type::kObject:
        return WriteObject(value, level);
    }
  }

 private:
  bool Splice(const Value& value) {
    if (!splice_) return false;
    const std::string_view source = value.source();
    if (source.empty()) return false;
    sink_.Put(source);
    return true;
  }

  void WriteArray(const Value& value, int level) {
    if (value.empty()) return sink_.Put("[]");
    if (Splice(value)) return;
    char separator = '[';
    for (const Value& element : value.elements()) {
      sink_.Put(separator);
      separator = ',';
      NewLine(level + 1);
      Write(element, level + 1);
    }
    NewLine(level);
    sink_.Put(']');
  }

  void WriteObject(const Value& value, int level) {
    if (value.empty()) return sink_.Put("{}");
    if (Splice(value)) return;
    if (options_.sort_keys) return WriteSorted(value, level);
    char separator = '{';
    for (const Member& member : value.members()) {
      WriteMember(separator, member, level);
      separator = ',';
    }
    NewLine(level);
    sink_.Put('}');
  }

  void WriteSorted(const Value& value, int level) {
    char separator = '{';
    for (const Member* member : MembersByName(value)) {
      WriteMember(separator, *member, level);
      separator = ',';
    }
    NewLine(level);
    sink_.Put('}');
  }

  void WriteMember(char separator, const Member& member, int level) {
    if (options_.indent == 0) {
      PutString(member.name(), options_.escape_html, sink_, {separator, ':'});
    } else {
      sink_.Put(separator);
      NewLine(level + 1);
      PutString(member.name(), options_.escape_html, sink_);
      sink_.Put(": ");
    }
    if (member.value.is_string()) {
      return PutString(member.value.AsString(), options_.escape_html, sink_);
    }
    Write(member.value, level + 1);
  }

  void NewLine(int level) {
    if (options_.indent == 0) return;
    sink_.Put('\n');
    const int spaces = std::min(level, kMaxIndentedLevels) * options_.indent;
    for (int i = 0; i < spaces; ++i) sink_.Put(' ');
  }

  Sink& sink_;
  const WriteOptions& options_;
  const bool splice_;
};

}  // namespace

void Write(Value value, std::string& out, const WriteOptions& options) {
  if (value.is_string()) return WriteString(value.AsString(), out, options.escape_html);
  Sink sink(out);
  Writer(sink, options).Write(value, 0);
  sink.Flush();
}

std::string ToString(Value value, const WriteOptions& options) {
  std::string out;
  Write(value, out, options);
  return out;
}

void WriteString(std::string_view text, std::string& out, bool escape_html) {
  // Where there is nothing to escape it is copied to its place at once.
  const std::size_t begin = out.size();
  out.resize(begin + text.size() + 2, '"');
  if (internal::CopyPlain(text.data(), text.size(), &out[begin + 1]) == text.size()) return;
  out.resize(begin);
  Sink sink(out);
  PutString(text, escape_html, sink);
  sink.Flush();
}

void WriteDouble(double value, std::string& out) {
  Sink sink(out);
  PutDouble(value, sink);
  sink.Flush();
}

}  // namespace portcullis::json
