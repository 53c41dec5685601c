// SPDX-License-Identifier: Apache-2.0

#include "cbor/reader.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "base/gotext.h"
#include "base/strings.h"
#include "cbor/cursor.h"
#include "golang/strconv.h"
#include "golang/time.h"

namespace portcullis::cbor {
namespace {

constexpr std::string_view kTypeNames[] = {"positive integer",
                                           "negative integer",
                                           "byte string",
                                           "UTF-8 text string",
                                           "array",
                                           "map",
                                           "tag",
                                           "primitives"};

std::string_view NameOf(Major major) { return kTypeNames[static_cast<std::size_t>(major)]; }

base::Status UnexpectedEnd() { return base::BadRequest("unexpected EOF"); }

base::Status Unmarshal(Major major, std::string_view go_type, std::string_view why = {},
                       std::string_view into = "value") {
  return base::BadRequest(base::StrCat("cbor: cannot unmarshal ", NameOf(major), " into Go ", into,
                                       " of type ", go_type, why.empty() ? "" : " (", why,
                                       why.empty() ? "" : ")"));
}

base::Status NotAccepted(Major major, std::string_view what) {
  return base::BadRequest(base::StrCat("cbor: data item of cbor type ", NameOf(major),
                                       " is not accepted by protocol: ", what));
}

// Go through the heads of an item without looking at what it says.
class Checker {
 public:
  explicit Checker(std::string_view bytes) : cursor_(bytes) {}

  base::Status Run() {
    if (cursor_.done()) return base::BadRequest("EOF");
    do {
      TRY(Step());
    } while (!open_.empty());
    if (cursor_.done()) return base::OkStatus();
    return base::BadRequest(base::StrCat("cbor: ", std::to_string(cursor_.left()),
                                         " bytes of extraneous data starting at index ",
                                         std::to_string(cursor_.position())));
  }

 private:
  // The library's limits.
  static constexpr std::uint32_t kMaxDepth = 10000;
  static constexpr std::uint64_t kMaxElements = 2147483647;
  static constexpr std::uint64_t kMaxPairs = 2097152;

  // An array or map whose end has not come.
  struct Open {
    bool is_map = false;
    bool indefinite = false;
    std::uint64_t items = 0;  // to come, or seen if the length is indefinite
    std::uint32_t depth = 0;
  };

  // One item without what it holds, or the end of an indefinite one.
  base::Status Step() {
    if (!open_.empty() && open_.back().indefinite) {
      if (cursor_.done()) return UnexpectedEnd();
      if (cursor_.TakeBreak()) {
        if (open_.back().is_map && open_.back().items % 2 == 1) return UnexpectedBreak();
        open_.pop_back();
        return Close();
      }
    }
    std::uint32_t depth = open_.empty() ? 0 : open_.back().depth;
    Head head = TRY(TakeHead());
    if (head.major == Major::kTag) head = TRY(TakeTags(head.argument, depth));
    switch (head.major) {
      case Major::kBytes:
      case Major::kText:
        TRY(head.is_indefinite() ? Chunks(head.major) : Content(head));
        return Close();
      case Major::kArray:
      case Major::kMap:
        return Begin(head, depth);
      default:
        return Close();
    }
  }

  base::Status Begin(const Head& head, std::uint32_t depth) {
    if (++depth > kMaxDepth) return TooDeep();
    const bool is_map = head.major == Major::kMap;
    if (!head.is_indefinite()) {
      if (head.argument >> 63 != 0) return Overflow(head, ", it would cause integer overflow");
      TRY(CheckCount(is_map, head.argument));
      if (head.argument == 0) return Close();
    }
    open_.push_back({is_map, head.is_indefinite(),
                     head.is_indefinite() ? 0 : head.argument * (is_map ? 2 : 1), depth});
    return base::OkStatus();
  }

  // An item is complete, and with it perhaps those around it.
  base::Status Close() {
    while (!open_.empty()) {
      Open& outer = open_.back();
      if (outer.indefinite) {
        ++outer.items;
        if (!outer.is_map) return CheckCount(false, outer.items);
        return outer.items % 2 == 0 ? CheckCount(true, outer.items / 2) : base::OkStatus();
      }
      if (--outer.items > 0) break;
      open_.pop_back();
    }
    return base::OkStatus();
  }

  base::Result<Head> TakeTags(std::uint64_t number, std::uint32_t& depth) {
    for (;;) {
      if (cursor_.done()) return UnexpectedEnd();
      if (number == kUnsignedBignum || number == kNegativeBignum) {
        return NotAccepted(Major::kTag, "bignum");
      }
      const Head head = TRY(TakeHead());
      if (head.major != Major::kTag) return head;
      number = head.argument;
      if (++depth > kMaxDepth) return TooDeep();
    }
  }

  base::Status Content(const Head& head) {
    if (head.argument >> 63 != 0) return Overflow(head, ", causing integer overflow");
    return cursor_.Skip(head.argument) ? base::OkStatus() : UnexpectedEnd();
  }

  base::Status Chunks(Major major) {
    for (;;) {
      if (cursor_.done()) return UnexpectedEnd();
      if (cursor_.TakeBreak()) return base::OkStatus();
      const Head first = cursor_.Peek();
      if (first.major != major) {
        return base::BadRequest(base::StrCat("cbor: wrong element type ", NameOf(first.major),
                                             " for indefinite-length ", NameOf(major)));
      }
      if (first.is_indefinite()) {
        return base::BadRequest(base::StrCat("cbor: indefinite-length ", NameOf(major),
                                             " chunk is not definite-length"));
      }
      TRY(Content(TRY(TakeHead())));
    }
  }

  base::Result<Head> TakeHead() {
    Head head;
    if (!cursor_.Take(head)) return UnexpectedEnd();
    const bool primitive = head.major == Major::kPrimitive;
    if (head.info > kEightBytes) {
      const bool has_length = head.major >= Major::kBytes && head.major <= Major::kMap;
      if (head.is_indefinite() && has_length) return head;
      if (head.is_indefinite() && primitive) return UnexpectedBreak();
      return base::BadRequest(base::StrCat("cbor: invalid additional information ",
                                           std::to_string(head.info), " for type ",
                                           NameOf(head.major)));
    }
    if (!primitive) return head;
    if (head.info == kOneByte && head.argument < 32) {
      return base::BadRequest(base::StrCat("cbor: invalid simple value ",
                                           std::to_string(head.argument), " for type ",
                                           NameOf(head.major)));
    }
    const double number = FloatOf(head);
    if (std::isnan(number)) return NotAccepted(head.major, "floating-point NaN");
    if (std::isinf(number)) return NotAccepted(head.major, "floating-point infinity");
    return head;
  }

  static base::Status CheckCount(bool is_map, std::uint64_t count) {
    if (count <= (is_map ? kMaxPairs : kMaxElements)) return base::OkStatus();
    return base::BadRequest(is_map ? base::StrCat("cbor: exceeded max number of key-value pairs ",
                                                  std::to_string(kMaxPairs), " for CBOR map")
                                   : base::StrCat("cbor: exceeded max number of elements ",
                                                  std::to_string(kMaxElements), " for CBOR array"));
  }
  static base::Status Overflow(const Head& head, std::string_view end) {
    return base::BadRequest(base::StrCat("cbor: ", NameOf(head.major), " length ",
                                         std::to_string(head.argument), " is too large", end));
  }
  static base::Status TooDeep() {
    return base::BadRequest(
        base::StrCat("cbor: exceeded max nested level ", std::to_string(kMaxDepth)));
  }
  static base::Status UnexpectedBreak() {
    return base::BadRequest("cbor: unexpected \"break\" code");
  }

  Cursor cursor_;
  std::vector<Open> open_;
};

std::string IntegerText(const Head& head) {
  if (head.major == Major::kPositive) return std::to_string(head.argument);
  const bool is_last = head.argument == std::numeric_limits<std::uint64_t>::max();
  return base::StrCat("-", is_last ? "18446744073709551616" : std::to_string(head.argument + 1));
}

std::string Overflow(const Head& head) {
  return base::StrCat(IntegerText(head), " overflows Go's int64");
}

// A key that is no string: this, the digit of its major type, its argument or text. No name begins so.
constexpr std::string_view kForeign = "\xff\xfe";

// The head of a key that is no string.
std::optional<Head> HeadOf(std::string_view key) {
  if (!key.starts_with(kForeign) || key.size() < kForeign.size() + 2) return std::nullopt;
  Head head{.major = static_cast<Major>(key[kForeign.size()] - '0')};
  if (head.major > Major::kPrimitive) return std::nullopt;
  for (const char digit : key.substr(kForeign.size() + 1)) {
    head.argument = head.argument * 10 + static_cast<std::uint64_t>(digit - '0');
  }
  return head;
}

// As errors show it.
std::string ShownKey(std::string_view key) {
  const auto head = HeadOf(key);
  if (!head) return base::GoQuote(key);
  if (head->major == Major::kNegative) return IntegerText(*head);
  if (head->major == Major::kPositive)
    return std::to_string(static_cast<std::int64_t>(head->argument));
  return std::string(key.substr(kForeign.size() + 1));
}

// The content of well-formed bytes.
class Parser {
 public:
  // `only`, if given, are the names of the members of the outermost map that are read; `typed`: keys that
  // are no strings are kept, as KeyFault() reads them.
  Parser(json::Arena& arena, std::string_view bytes, const std::span<const std::string_view>* only,
         bool typed = false)
      : arena_(arena), cursor_(bytes), only_(only), typed_(typed) {}

  base::Result<json::Value> Run() {
    for (;;) {
      std::optional<json::Value> value;
      if (!open_.empty() && IsComplete()) {
        value = TRY(Close());
      } else {
        if (!open_.empty() && open_.back().is_map && !TRY(TakeKey())) continue;
        value = TRY(Item());
      }
      if (!value) continue;
      if (open_.empty()) return *value;
      Put(*value);
    }
  }

 private:
  struct Open {
    bool is_map = false;
    bool indefinite = false;
    std::uint64_t left = 0;      // elements or pairs to come
    std::size_t first = 0;       // in members_ or elements_
    std::uint64_t encoding = 0;  // the tag that holds for the byte strings within; 0: none
    std::string_view key;
  };

  bool IsComplete() {
    const Open& open = open_.back();
    return open.indefinite ? cursor_.TakeBreak() : open.left == 0;
  }

  void Put(json::Value value) {
    Open& open = open_.back();
    if (open.is_map) {
      members_.emplace_back(open.key, value);
    } else {
      elements_.push_back(value);
    }
    if (!open.indefinite) --open.left;
  }

  base::Result<json::Value> Close() {
    const Open open = open_.back();
    open_.pop_back();
    if (!open.is_map) {
      const json::Value array = json::MakeArray(arena_, std::span(elements_).subspan(open.first));
      elements_.resize(open.first);
      return array;
    }
    const auto members = std::span<const json::Member>(members_).subspan(open.first);
    if (const auto repeated = FirstRepeated(members)) {
      return base::BadRequest(base::StrCat("cbor: found duplicate map key ",
                                           ShownKey(members[*repeated].name()),
                                           " at map element index ", std::to_string(*repeated)));
    }
    const json::Value object = json::MakeObject(arena_, members);
    members_.resize(open.first);
    return object;
  }

  static bool HaveOneName(const json::Member& a, const json::Member& b) {
    return a.hash == b.hash && a.name() == b.name();
  }

  // The position of the first member whose name has been there before.
  static std::optional<std::size_t> FirstRepeated(std::span<const json::Member> members) {
    if (members.size() > json::internal::kLinearMembers) return FirstRepeatedOfMany(members);
    for (std::size_t i = 1; i < members.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (HaveOneName(members[i], members[j])) return i;
      }
    }
    return std::nullopt;
  }

  static std::optional<std::size_t> FirstRepeatedOfMany(std::span<const json::Member> members) {
    std::vector<std::size_t> order(members.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      if (members[a].hash != members[b].hash) return members[a].hash < members[b].hash;
      const int names = members[a].name().compare(members[b].name());
      return names != 0 ? names < 0 : a < b;
    });
    std::optional<std::size_t> first;
    for (std::size_t i = 1; i < order.size(); ++i) {
      if (!HaveOneName(members[order[i]], members[order[i - 1]])) continue;
      if (!first || order[i] < *first) first = order[i];
    }
    return first;
  }

  // A key that is no string.
  std::string_view ForeignKey(const Head& head) {
    std::string text;
    if (head.major <= Major::kNegative) {
      text = std::to_string(head.argument);
    } else if (head.major != Major::kPrimitive) {
      text = std::to_string(cursor_.position());  // of nothing that can be compared
    } else if (head.info < kTwoBytes) {
      text = head.info == kNull ? "<nil>" : head.info == kTrue ? "true" : "false";
    } else {
      text = golang::FormatFloat(FloatOf(head));
    }
    head.major == Major::kTag ? cursor_.SkipItem() : cursor_.SkipContent(head);
    return arena_.Copy(
        base::StrCat(kForeign, std::string(1, static_cast<char>('0' + int(head.major))), text));
  }

  // False: there is nothing to read of this pair.
  base::Result<bool> TakeKey() {
    const bool filtered = only_ != nullptr && open_.size() == 1;
    std::uint64_t encoding = open_.back().encoding;
    Head head = TRY(TakeTags(encoding));
    const bool is_string = head.major == Major::kBytes || head.major == Major::kText;
    const bool is_null = head.major == Major::kPrimitive && head.info == kNull;
    if (is_string) {
      open_.back().key = TRY(String(head, encoding));
    } else if (filtered || (typed_ && !is_null)) {
      open_.back().key = ForeignKey(head);
    } else if (!is_null) {  // the key of the pair before stays where it is
      if (head.major == Major::kTag) head = cursor_.Peek();
      const bool overflows = head.major == Major::kNegative && head.argument >> 63 != 0;
      return Unmarshal(head.major, "string", overflows ? Overflow(head) : "");
    }
    if (!filtered) return true;
    if (is_string && std::find(only_->begin(), only_->end(), open_.back().key) != only_->end())
      return true;
    cursor_.SkipItem();
    Put(json::Value());
    return false;
  }

  // Goes past tags, all but times, which Item() looks at. `encoding` becomes that of the innermost.
  base::Result<Head> TakeTags(std::uint64_t& encoding) {
    Head head;
    for (;;) {
      (void)cursor_.Take(head);
      if (head.major != Major::kTag) return head;
      const std::uint64_t number = head.argument;
      if (number == kTimeText || number == kTimeNumber) {
        const Head content = cursor_.Peek();
        TRY(CheckTimeContent(number, content));
        return head;
      }
      if (number >= kBase64Url && number <= kBase16) encoding = number;
    }
  }

  static base::Status CheckTimeContent(std::uint64_t number, const Head& content) {
    const bool is_float = content.major == Major::kPrimitive && content.info >= kTwoBytes &&
                          content.info <= kEightBytes;
    const bool fits = number == kTimeText ? content.major == Major::kText
                                          : content.major <= Major::kNegative || is_float;
    if (fits) return base::OkStatus();
    return base::BadRequest(
        base::StrCat("cbor: tag number ", std::to_string(number), " must be followed by ",
                     number == kTimeText ? "text string" : "integer or floating-point number",
                     ", got ", NameOf(content.major)));
  }

  // Nothing: an array or map has begun.
  base::Result<std::optional<json::Value>> Item() {
    std::uint64_t encoding = open_.empty() ? 0 : open_.back().encoding;
    const Head head = TRY(TakeTags(encoding));
    switch (head.major) {
      case Major::kPositive:
      case Major::kNegative:
        return std::optional(TRY(Integer(head, "int64")));
      case Major::kBytes:
      case Major::kText:
        return std::optional(json::Value::StringView(TRY(String(head, encoding))));
      case Major::kArray:
      case Major::kMap: {
        const bool is_map = head.major == Major::kMap;
        open_.push_back({is_map,
                         head.is_indefinite(),
                         head.argument,
                         is_map ? members_.size() : elements_.size(),
                         encoding,
                         {}});
        return std::optional<json::Value>();
      }
      case Major::kTag:
        return std::optional(json::String(arena_, TRY(Time(head.argument))));
      default:
        return std::optional(TRY(Primitive(head)));
    }
  }

  static base::Result<json::Value> Integer(const Head& head, std::string_view go_type) {
    if (head.argument >> 63 == 0) {
      const auto number = static_cast<std::int64_t>(head.argument);
      return json::Value::Int(head.major == Major::kPositive ? number : -1 - number);
    }
    return Unmarshal(head.major, go_type, Overflow(head));
  }

  static base::Result<json::Value> Primitive(const Head& head) {
    if (head.info == kFalse || head.info == kTrue) return json::Value::Bool(head.info == kTrue);
    if (head.info == kNull) return json::Value();
    if (head.info >= kTwoBytes) return json::Value::Double(FloatOf(head));
    return NotAccepted(head.major, base::StrCat("simple value ", std::to_string(head.argument),
                                                " is not recognized"));
  }

  base::Result<std::string_view> String(const Head& head, std::uint64_t encoding) {
    std::string_view text;
    if (head.is_indefinite()) {
      std::string whole;
      while (!cursor_.TakeBreak()) {
        Head chunk;
        (void)cursor_.Take(chunk);
        whole += cursor_.TakeBytes(chunk.argument);
      }
      text = arena_.Copy(whole);
    } else {
      text = cursor_.TakeBytes(head.argument);
    }
    if (head.major == Major::kText) {
      if (!base::IsValidUtf8(text)) return base::BadRequest("cbor: invalid UTF-8 string");
      return text;
    }
    switch (encoding) {
      case kBase64Url:
        return arena_.Copy(base::Base64UrlEncode(text));
      case kBase64:
        return arena_.Copy(base::Base64Encode(text));
      case kBase16:
        return arena_.Copy(base::HexEncode(text));
      default:
        return text;
    }
  }

  base::Result<std::string> Time(std::uint64_t tag) {
    Head head;
    (void)cursor_.Take(head);
    golang::Moment moment;
    int offset = 0;
    if (tag == kTimeText) {
      const std::string_view text = TRY(String(head, 0));
      const auto parsed = golang::ParseTime(text, &offset);
      if (!parsed.ok()) {
        return base::BadRequest(
            base::StrCat("cbor: cannot set ", text, " for time.Time: ", parsed.status().message()));
      }
      // The moment is in UTC, the text keeps its zone.
      return golang::FormatTimeNano(*parsed, offset / 60);
    }
    if (head.major == Major::kPrimitive) {
      double whole = 0;
      const double fraction = std::modf(FloatOf(head), &whole);
      if (std::abs(whole) > kLastSecond) return YearOutOfRange();
      moment.seconds = static_cast<std::int64_t>(whole);
      moment.nanos = static_cast<std::int32_t>(fraction * 1e9);
      if (moment.nanos < 0) {
        moment.nanos += 1'000'000'000;
        --moment.seconds;
      }
    } else {
      moment.seconds = TRY(Integer(head, "time.Time")).AsInt();
    }
    if (moment.seconds < kFirstSecond || moment.seconds > kLastSecond) return YearOutOfRange();
    return golang::FormatTimeNano(moment);
  }

  // The first second of year 0 and the last one of year 9999.
  static constexpr std::int64_t kFirstSecond = -62167219200;
  static constexpr std::int64_t kLastSecond = 253402300799;
  static base::Status YearOutOfRange() {
    return base::BadRequest(
        "cbor: decoded time cannot be represented in RFC3339 format with sub-second precision: "
        "Time.MarshalText: year outside of range [0,9999]");
  }

  json::Arena& arena_;
  Cursor cursor_;
  const std::span<const std::string_view>* const only_;
  const bool typed_;
  std::vector<Open> open_;
  // The elements and members of all open containers.
  std::vector<json::Value> elements_;
  std::vector<json::Member> members_;
};

}  // namespace

base::Status CheckWellFormed(std::string_view bytes) { return Checker(bytes).Run(); }

base::Result<json::Value> Parse(json::Arena& arena, std::string_view bytes) {
  TRY(CheckWellFormed(bytes));
  return Parser(arena, arena.Copy(bytes), nullptr).Run();
}

base::Result<json::Value> ParseTyped(json::Arena& arena, std::string_view bytes) {
  TRY(CheckWellFormed(bytes));
  return Parser(arena, arena.Copy(bytes), nullptr, true).Run();
}

base::Result<json::Value> ParseMembers(json::Arena& arena, std::string_view bytes,
                                       std::span<const std::string_view> names) {
  TRY(CheckWellFormed(bytes));
  const json::Value value = TRY(Parser(arena, arena.Copy(bytes), &names).Run());
  for (const json::Member& member : value.members()) {
    const std::string fault = KeyFault(member.name(), true, "value");
    if (!fault.empty()) return base::BadRequest(fault);
  }
  return value;
}

std::string KeyFault(std::string_view key, bool of_struct, std::string_view into) {
  const auto head = HeadOf(key);
  if (!head) return {};
  const bool is_integer = head->major <= Major::kNegative;
  const bool overflows = head->major == Major::kNegative && head->argument >> 63 != 0;
  if (of_struct && is_integer && !overflows) return {};
  std::string why;
  if (is_integer && overflows) {
    why = of_struct ? base::StrCat("-1-", std::to_string(head->argument), " overflows Go's int64")
                    : Overflow(*head);
  } else if (of_struct) {
    why = base::StrCat("map key is of type ", NameOf(head->major),
                       " and cannot be used to match struct field name");
  }
  return std::string(
      Unmarshal(head->major, of_struct && is_integer ? "int64" : "string", why, into).message());
}

std::string_view TypeName(json::Value value) {
  switch (value.type()) {
    case json::Type::kInt:
      return NameOf(value.AsInt() >= 0 ? Major::kPositive : Major::kNegative);
    case json::Type::kString:
      return NameOf(Major::kBytes);
    case json::Type::kArray:
      return NameOf(Major::kArray);
    case json::Type::kObject:
      return NameOf(Major::kMap);
    default:
      return NameOf(Major::kPrimitive);
  }
}

}  // namespace portcullis::cbor
