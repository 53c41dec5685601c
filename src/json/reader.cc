// SPDX-License-Identifier: Apache-2.0

#include "json/reader.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <memory_resource>
#include <utility>
#include <vector>

#include "base/gotext.h"
#include "base/stack_memory.h"
#include "json/duplicates.h"
#include "json/go_errors.h"
#include "json/index.h"
#include "json/scan.h"
#include "json/verbatim.h"

namespace portcullis::json {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

int HexDigit(char c) {
  if (IsDigit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool IsHighSurrogate(char32_t code) { return code >= 0xD800 && code < 0xDC00; }
bool IsLowSurrogate(char32_t code) { return code >= 0xDC00 && code < 0xE000; }

// Appends `text`, each invalid byte replaced by U+FFFD.
void AppendValidUtf8(std::string_view text, std::string& out) {
  while (!text.empty()) {
    std::size_t size = 0;
    base::AppendRune(base::DecodeRune(text, size), out);
    text.remove_prefix(size);
  }
}

// Few members, the usual case: nothing is allocated.
bool AllHashesDiffer(std::span<const Member> members) {
  for (std::size_t i = 1; i < members.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (members[i].hash == members[j].hash) return false;
    }
  }
  return true;
}

// One pass without recursion: open containers are frames, finished children wait on two stacks
// until their container closes and moves them into the arena.
class Parser {
 public:
  // kVerbatim: all containers keep their text. kSpelled: texts stay as they are spelled.
  enum class Form { kPlain, kVerbatim, kSpelled };
  Parser(Arena& arena, std::string_view text, const ParseOptions& options, Form form = Form::kPlain)
      : arena_(arena),
        options_(options),
        form_(form),
        p_(text.data()),
        end_(text.data() + text.size()),
        last_odd_(text.data() - 1) {
    frames_.reserve(kUsualFrames);
    members_.reserve(kUsualMembers);
    elements_.reserve(kUsualElements);
  }

  base::Result<Value> Run();
  // Whether an object repeated a key. REQUIRES: Run() has returned.
  bool repeats_keys() const { return repeats_keys_; }

 private:
  struct Frame {
    const char* begin;
    std::uint32_t first;  // its first child on members_ or elements_
    bool is_object;
  };
  // More than most texts need.
  static constexpr std::size_t kUsualFrames = 16;
  static constexpr std::size_t kUsualMembers = 64;
  static constexpr std::size_t kUsualElements = 32;
  static constexpr std::size_t kUsualBytes = kUsualFrames * sizeof(Frame) +
                                             kUsualMembers * sizeof(Member) +
                                             kUsualElements * sizeof(Value);
  // What reading a piece of text led to.
  enum class Step { kFailed, kOpened, kComplete };

  Step Start(Value& value);
  Step Open(bool is_object, Value& value);
  Step Store(Value& value);  // puts a value into the innermost container, which may complete it
  Value Close();
  Value CloseObject(const Frame& frame);
  bool ReadKey();
  bool ReadString(std::string_view& text);
  bool ReadEscapedString(const char* begin, std::string_view& text);
  bool ReadEscape();
  bool ReadHex4(char32_t& code);
  bool ReadLiteral(std::string_view word, Value literal, Value& value);
  bool ReadNumber(Value& value);
  bool ReadDouble(const char* begin, Value& value);
  bool SkipDigits(std::string_view context);

  void SkipSpace() {
    if (p_ != end_ && static_cast<unsigned char>(*p_) > ' ') [[likely]] {
      return;
    }
    const char* const begin = p_;
    while (p_ != end_ && (*p_ == ' ' || *p_ == '\n' || *p_ == '\r' || *p_ == '\t')) ++p_;
    if (p_ != begin) last_odd_ = p_ - 1;
  }

  // Both return false. At the end of the text Go feeds its scanner one space, which some states
  // complain about; the others report the end.
  bool Unexpected(std::string_view context) {
    error_ = InvalidCharacter(p_ == end_ ? ' ' : *p_, context);
    return false;
  }
  bool UnexpectedOrEnd(std::string_view context) {
    if (p_ != end_) return Unexpected(context);
    error_ = "unexpected end of JSON input";
    return false;
  }

  void KeepLastOfDuplicates(const Frame& frame);
  internal::Source SourceOf(const Frame& frame) const {
    if (form_ != Form::kVerbatim && last_odd_ >= frame.begin) return {};
    return {frame.begin, static_cast<std::uint32_t>(p_ - frame.begin)};
  }

  Arena& arena_;
  const ParseOptions& options_;
  const Form form_;
  const char* p_;
  const char* end_;
  // The last place where the text differs from what the writer would write.
  const char* last_odd_;
  base::StackMemory<kUsualBytes> memory_;
  std::pmr::vector<Frame> frames_{memory_.resource()};
  std::pmr::vector<Member> members_{memory_.resource()};
  std::pmr::vector<Value> elements_{memory_.resource()};
  std::string scratch_;
  std::string error_;
  std::string range_error_;  // Go reports it only if the syntax is fine to the end
  bool repeats_keys_ = false;
};

base::Result<Value> Parser::Run() {
  Value value;
  while (true) {
    Step step = Start(value);
    while (step == Step::kComplete && !frames_.empty()) step = Store(value);
    if (step == Step::kFailed) return base::BadRequest(std::move(error_));
    if (step == Step::kComplete) break;
  }
  SkipSpace();
  if (p_ != end_) {
    (void)Unexpected("after top-level value");
    return base::BadRequest(std::move(error_));
  }
  if (range_error_.empty()) return value;
  if (options_.range_error == nullptr) return base::BadRequest(std::move(range_error_));
  *options_.range_error = std::move(range_error_);
  return value;
}

Parser::Step Parser::Start(Value& value) {
  SkipSpace();
  bool ok = false;
  switch (p_ == end_ ? '\0' : *p_) {
    case '{':
      return Open(true, value);
    case '[':
      return Open(false, value);
    case '"': {
      const char* const begin = p_ + 1;
      std::string_view text;
      ok = ReadString(text);
      if (ok && form_ == Form::kSpelled) text = {begin, static_cast<std::size_t>(p_ - 1 - begin)};
      value = Value::StringView(text);
      break;
    }
    case 't':
      ok = ReadLiteral("true", Value::Bool(true), value);
      break;
    case 'f':
      ok = ReadLiteral("false", Value::Bool(false), value);
      break;
    case 'n':
      ok = ReadLiteral("null", Value(), value);
      break;
    default:
      if (p_ != end_ && (*p_ == '-' || IsDigit(*p_))) {
        ok = ReadNumber(value);
      } else {
        ok = UnexpectedOrEnd("looking for beginning of value");
      }
  }
  return ok ? Step::kComplete : Step::kFailed;
}

Parser::Step Parser::Open(bool is_object, Value& value) {
  if (frames_.size() >= static_cast<std::size_t>(options_.max_depth)) {
    (void)Unexpected("exceeded max depth");
    return Step::kFailed;
  }
  if (end_ - p_ >= 2 && p_[1] == (is_object ? '}' : ']')) {  // as most of managedFields
    const internal::Source source{p_, 2};
    p_ += 2;
    value = is_object ? MakeObject(arena_, {}, source) : MakeArray(arena_, {}, source);
    return Step::kComplete;
  }
  const std::size_t first = is_object ? members_.size() : elements_.size();
  frames_.push_back({p_, static_cast<std::uint32_t>(first), is_object});
  ++p_;
  SkipSpace();
  if (p_ != end_ && *p_ == (is_object ? '}' : ']')) {
    ++p_;
    value = Close();
    return Step::kComplete;
  }
  if (is_object && !ReadKey()) return Step::kFailed;
  return Step::kOpened;
}

Parser::Step Parser::Store(Value& value) {
  const bool in_object = frames_.back().is_object;
  if (in_object) {
    members_.back().value = value;
  } else {
    elements_.push_back(value);
  }
  SkipSpace();
  const char next = p_ == end_ ? '\0' : *p_;
  if (next == ',') {
    ++p_;
    if (!in_object) return Step::kOpened;
    SkipSpace();
    return ReadKey() ? Step::kOpened : Step::kFailed;
  }
  if (next == (in_object ? '}' : ']')) {
    ++p_;
    value = Close();
    return Step::kComplete;
  }
  (void)UnexpectedOrEnd(in_object ? "after object key:value pair" : "after array element");
  return Step::kFailed;
}

Value Parser::Close() {
  const Frame frame = frames_.back();
  frames_.pop_back();
  if (frame.is_object) return CloseObject(frame);
  const Value result =
      MakeArray(arena_, std::span<const Value>(elements_).subspan(frame.first), SourceOf(frame));
  elements_.resize(frame.first);
  return result;
}

Value Parser::CloseObject(const Frame& frame) {
  KeepLastOfDuplicates(frame);
  const Value result =
      MakeObject(arena_, std::span<const Member>(members_).subspan(frame.first), SourceOf(frame));
  members_.resize(frame.first);
  return result;
}

bool Parser::ReadKey() {
  if (p_ == end_ || *p_ != '"')
    return UnexpectedOrEnd("looking for beginning of object key string");
  std::string_view name;
  if (!ReadString(name)) return false;
  members_.emplace_back(name, Value());
  SkipSpace();
  if (p_ == end_ || *p_ != ':') return UnexpectedOrEnd("after object key");
  ++p_;
  return true;
}

// --- Strings ---

bool Parser::ReadString(std::string_view& text) {
  const char* const begin = ++p_;
  p_ = internal::SkipPlain(begin, end_);
  if (p_ == end_ || *p_ != '"') [[unlikely]] {
    return ReadEscapedString(begin, text);
  }
  text = std::string_view(begin, static_cast<std::size_t>(p_ - begin));
  ++p_;
  return true;
}

// Everything but the plain case: escapes, bytes beyond ASCII, characters the writer would escape.
bool Parser::ReadEscapedString(const char* begin, std::string_view& text) {
  scratch_.clear();
  bool escaped = false;
  bool non_ascii = false;
  for (p_ = begin;;) {
    const internal::StringScan scan = internal::ScanString(p_, end_);
    non_ascii |= scan.non_ascii;
    if (scan.html) last_odd_ = scan.stop;
    const std::string_view chunk(p_, static_cast<std::size_t>(scan.stop - p_));
    p_ = scan.stop;
    if (p_ == end_ || (*p_ != '"' && *p_ != '\\')) return UnexpectedOrEnd("in string literal");
    if (*p_ == '"' && !escaped) {
      text = chunk;
      break;
    }
    scratch_.append(chunk);
    if (*p_ == '"') break;
    escaped = true;
    if (!ReadEscape()) return false;
  }
  ++p_;
  const bool valid = !non_ascii || base::IsValidUtf8(escaped ? std::string_view(scratch_) : text);
  // U+2028 and U+2029 begin with these bytes; the writer escapes them.
  if (non_ascii && (!valid || (escaped ? std::string_view(scratch_) : text).find("\xE2\x80") !=
                                  std::string_view::npos)) {
    last_odd_ = p_ - 1;
  }
  if (!valid) {
    std::string repaired;
    AppendValidUtf8(escaped ? std::string_view(scratch_) : text, repaired);
    text = arena_.Copy(repaired);
  } else if (escaped) {
    text = arena_.Copy(scratch_);
  }
  return true;
}

// At a backslash: appends what it stands for.
bool Parser::ReadEscape() {
  ++p_;
  const char kind = p_ == end_ ? ' ' : *p_;
  switch (kind) {
    case '"':
    case '\\':
      scratch_.push_back(kind);
      break;
    case 'n':
      scratch_.push_back('\n');
      break;
    case 'r':
      scratch_.push_back('\r');
      break;
    case 't':
      scratch_.push_back('\t');
      break;
    case 'b':
      scratch_.push_back('\b');
      break;
    case 'f':
      scratch_.push_back('\f');
      break;
    case '/':
      scratch_.push_back('/');
      last_odd_ = p_;
      break;
    case 'u': {
      last_odd_ = p_;
      ++p_;
      char32_t code = 0;
      if (!ReadHex4(code)) return false;
      if (IsHighSurrogate(code) && end_ - p_ >= 2 && p_[0] == '\\' && p_[1] == 'u') {
        const char* const after_first = p_;
        p_ += 2;
        char32_t low = 0;
        if (!ReadHex4(low)) return false;
        if (IsLowSurrogate(low)) {
          code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        } else {
          p_ = after_first;  // read again on its own
        }
      }
      base::AppendRune(code, scratch_);
      return true;
    }
    default:
      return Unexpected("in string escape code");
  }
  ++p_;
  return true;
}

bool Parser::ReadHex4(char32_t& code) {
  code = 0;
  for (int i = 0; i < 4; ++i, ++p_) {
    const int digit = p_ == end_ ? -1 : HexDigit(*p_);
    if (digit < 0) return Unexpected("in \\u hexadecimal character escape");
    code = (code << 4) | static_cast<char32_t>(digit);
  }
  return true;
}

// --- Literals and numbers ---

bool Parser::ReadLiteral(std::string_view word, Value literal, Value& value) {
  for (std::size_t i = 0; i < word.size(); ++i, ++p_) {
    if (p_ != end_ && *p_ == word[i]) continue;
    return Unexpected("in literal " + std::string(word) + " (expecting '" + word[i] + "')");
  }
  value = literal;
  return true;
}

bool Parser::SkipDigits(std::string_view context) {
  if (p_ == end_ || !IsDigit(*p_)) return Unexpected(context);
  while (p_ != end_ && IsDigit(*p_)) ++p_;
  return true;
}

bool Parser::ReadNumber(Value& value) {
  const char* const begin = p_;
  const bool negative = *p_ == '-';
  if (negative) ++p_;
  if (p_ == end_ || !IsDigit(*p_)) return Unexpected("in numeric literal");
  const char* const digits = p_;
  std::uint64_t magnitude = 0;
  if (*p_ == '0') {
    ++p_;
  } else {
    for (; p_ != end_ && IsDigit(*p_); ++p_) {
      magnitude = magnitude * 10 + static_cast<std::uint64_t>(*p_ - '0');
    }
  }
  const bool is_integer = p_ == end_ || (*p_ != '.' && *p_ != 'e' && *p_ != 'E');
  if (!is_integer) return ReadDouble(begin, value);
  if (p_ - digits <= 18) {  // cannot have overflowed
    if (negative && magnitude == 0) last_odd_ = begin;
    const auto integer = static_cast<std::int64_t>(magnitude);
    value = Value::Int(negative ? -integer : integer);
    return true;
  }
  std::int64_t integer = 0;
  if (std::from_chars(begin, p_, integer).ec != std::errc()) return ReadDouble(begin, value);
  value = Value::Int(integer);
  return true;
}

// With p_ behind the integer digits.
bool Parser::ReadDouble(const char* begin, Value& value) {
  if (p_ != end_ && *p_ == '.') {
    ++p_;
    if (!SkipDigits("after decimal point in numeric literal")) return false;
  }
  if (p_ != end_ && (*p_ == 'e' || *p_ == 'E')) {
    ++p_;
    if (p_ != end_ && (*p_ == '+' || *p_ == '-')) ++p_;
    if (!SkipDigits("in exponent of numeric literal")) return false;
  }
  last_odd_ = begin;
  double number = 0;
  if (std::from_chars(begin, p_, number).ec != std::errc()) {
    // Too large or too small; the latter is a zero or a denormal number for Go.
    const std::string literal(begin, p_);
    number = std::strtod(literal.c_str(), nullptr);
    if (std::isinf(number)) {
      if (range_error_.empty()) {
        range_error_ =
            "json: cannot unmarshal number " + literal + " into Go value of type float64";
      }
    }
  }
  value = json::NumberFromLiteral(arena_, number, {begin, static_cast<std::size_t>(p_ - begin)});
  return true;
}

// --- Duplicate keys ---

// Leaves one member per name: at the place of the first, with the value of the last.
void Parser::KeepLastOfDuplicates(const Frame& frame) {
  const std::span<Member> members = std::span<Member>(members_).subspan(frame.first);
  if (members.size() <= internal::kLinearMembers && AllHashesDiffer(members)) return;
  const std::vector<std::uint32_t> first_of = internal::FirstOfEachName(members);
  if (first_of.empty()) return;
  repeats_keys_ = true;
  last_odd_ = p_ - 1;
  if (options_.keep_duplicates) return;
  members_.resize(frame.first + internal::KeepLast(members, first_of));
}

}  // namespace

base::Result<Value> Parse(Arena& arena, std::string_view text, const ParseOptions& options) {
  if (text.size() >= std::numeric_limits<std::uint32_t>::max()) {
    return base::BadRequest("document of 4 GiB or more");
  }
  if (!options.borrow_text) text = arena.Copy(text);
  Parser parser(arena, text, options);
  base::Result<Value> value = parser.Run();
  if (options.repeats_keys != nullptr) *options.repeats_keys = parser.repeats_keys();
  if (value.ok() && parser.repeats_keys() && options.duplicate_keys != nullptr) {
    // Rare, so the paths are found in a second reading, and the first one pays nothing for them.
    Arena scratch;
    ParseOptions again = options;
    again.keep_duplicates = true;
    const auto whole = Parser(scratch, text, again).Run();
    if (whole.ok()) DuplicatePaths(*whole, *options.duplicate_keys);
  }
  return value;
}

base::Result<Value> ParseVerbatim(Arena& arena, std::string_view text) {
  const ParseOptions options;
  return Parser(arena, arena.Copy(Compact(text)), options, Parser::Form::kVerbatim).Run();
}

base::Result<Value> ParseSpelled(Arena& arena, std::string_view text) {
  std::string range_error;
  ParseOptions options;
  options.range_error = &range_error;
  return Parser(arena, arena.Copy(text), options, Parser::Form::kSpelled).Run();
}

base::Result<Document> ParseDocument(std::string text, const ParseOptions& options) {
  auto arena = std::make_shared<Arena>();
  auto kept = std::make_shared<const std::string>(std::move(text));
  arena->Retain(kept);
  ParseOptions borrowed = options;
  borrowed.borrow_text = true;
  const Value root = TRY(Parse(*arena, *kept, borrowed));
  return Document(std::move(arena), root);
}

bool HasInfinity(Value value) {
  if (value.is_double()) return std::isinf(value.AsDouble());
  const auto elements = value.elements();
  const auto members = value.members();
  return std::any_of(elements.begin(), elements.end(), HasInfinity) ||
         std::any_of(members.begin(), members.end(),
                     [](const Member& member) { return HasInfinity(member.value); });
}

}  // namespace portcullis::json
