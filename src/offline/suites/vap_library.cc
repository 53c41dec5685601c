// SPDX-License-Identifier: Apache-2.0

// policy_test.go of vap-library (github.com/vap-library/vap-library): Go programs that send the objects of
// their texts to a cluster, which has the manifests beside the test, bindings named in TestMain, and a
// namespace for each function. They are not run but read: what each step sends (with fmt.Sprintf filled
// in), whether it has to be accepted, and how the message ends.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/file.h"
#include "base/strings.h"
#include "json/yaml.h"
#include "offline/suites/go_tokens.h"
#include "offline/suites/reading.h"
#include "offline/suites/suite_format.h"

namespace portcullis::offline {
namespace {

using Kind = GoToken::Kind;

constexpr std::string_view kDomain = "vap-library.com";
constexpr std::string_view kNamespace = "vap-testing";
// Of what all texts of a file come to; that of the library's largest test is 1 MiB.
constexpr std::size_t kMostText = std::size_t{32} << 20;
constexpr std::size_t kMostTokens = 1000;  // of a call or a map

// What stands for a text in the program.
struct Text {
  std::string value;
  std::size_t offset = 0;  // of the literal that it is made of
};

struct GoRequest {
  std::size_t offset = 0;
  std::optional<Text> body;  // none: it is made in a way that is not read
  std::string patched;       // the name of the Pod that it patches; "": it creates
  std::string subresource;
  bool is_patch = false;
  std::optional<bool> accepted;
  std::optional<Text> ends;  // the message
};

struct GoStep {
  std::string title;
  std::size_t offset = 0;
  std::vector<GoRequest> requests;
};

struct GoFunction {
  std::string name;
  std::vector<GoStep> steps;
};

using GoMap = std::vector<std::pair<std::string, std::string>>;

// What a test file says, read from its tokens.
struct GoProgram {
  std::vector<GoFunction> functions;
  GoMap labels;    // of the namespaces
  GoMap folders;   // with other manifests; which files
  GoMap bindings;  // names; whether they have a parameter
  bool is_too_large = false;
};

class GoProgramReader {
 public:
  explicit GoProgramReader(std::string_view source) : tokens_(ReadGoTokens(source)) {}

  GoProgram Run() {
    for (std::size_t i = 0; i < tokens_.size(); ++i) ReadVariable(i);
    for (at_ = 0; at_ < tokens_.size(); ++at_) ReadToken();
    program_.is_too_large = text_size_ > kMostText;
    return std::move(program_);
  }

 private:
  const GoToken& Token(std::size_t i) const {
    static const GoToken kEnd{Kind::kSign, "\n", 0};
    return i < tokens_.size() ? tokens_[i] : kEnd;
  }
  bool Signs(std::size_t i, std::string_view signs) const {
    for (std::size_t j = 0; j < signs.size(); ++j) {
      if (!Token(i + j).IsSign(signs[j])) return false;
    }
    return true;
  }

  // `NAME = "text"`, `NAME := ...`, `NAME string = ...`, `NAME = map[string]TYPE{"key": value}`.
  void ReadVariable(std::size_t i) {
    if (Token(i).kind != Kind::kName) return;
    std::size_t j = i + 1;
    if (Token(j).IsName("string")) ++j;
    if (Token(j).IsSign(':')) ++j;
    if (!Token(j).IsSign('=')) return;
    const GoToken& value = Token(j + 1);
    if (value.kind == Kind::kText) texts_.try_emplace(Token(i).text, j + 1);
    if (value.IsName("map")) maps_[Token(i).text] = MapAt(j + 1);
  }

  GoMap MapAt(std::size_t i) const {
    constexpr std::size_t kType = 6;  // tokens of `map[string]bool`, with the brace
    GoMap map;
    for (std::size_t j = 0; j < kType && !Token(i).IsSign('{'); ++j) ++i;
    const std::size_t end = i + kMostTokens;
    for (++i; i < end && !Token(i).IsSign('}'); ++i) {
      if (Token(i).kind != Kind::kText || !Token(i + 1).IsSign(':')) continue;
      map.emplace_back(Token(i).text, Token(i + 2).text);
      i += 2;
    }
    return map;
  }

  void ReadToken() {
    const GoToken& token = Token(at_);
    if (token.kind != Kind::kName) return;
    if (token.text == "func") return BeginFunction();
    if (token.text == "if") return ReadCondition();
    if (Signs(at_ + 1, ".")) return;
    const bool called = Signs(at_ + 1, "(");
    if (called && token.text == "CreateTestEnv") return ReadEnvironment();
    if (called && (token.text == "Setup" || token.text == "Assess")) return BeginStep();
    ReadStatement(token, called);
  }

  void BeginFunction() {
    const GoToken& name = Token(at_ + 1);
    if (name.kind != Kind::kName || !Signs(at_ + 2, "(")) return;  // a function without a name
    is_test_ = name.text.starts_with("Test") && name.text != "TestMain";
    if (is_test_) program_.functions.push_back({name.text, {}});
  }

  void ReadEnvironment() {
    const std::vector<std::size_t> arguments = ArgumentsAt(at_ + 1);
    const auto map_of = [&](std::size_t argument) {
      if (argument >= arguments.size()) return GoMap();
      const GoToken& value = Token(arguments[argument]);
      if (value.IsName("map")) return MapAt(arguments[argument]);
      const auto found = maps_.find(value.text);
      return found == maps_.end() ? GoMap() : found->second;
    };
    program_.labels = map_of(2);
    program_.folders = map_of(3);
    program_.bindings = map_of(4);
  }

  void BeginStep() {
    if (!is_test_) return;
    const GoToken& title = Token(at_ + 2);
    GoStep step;
    step.title = title.kind == Kind::kText ? title.text : "setup";
    step.offset = Token(at_).offset;
    patched_.clear();
    program_.functions.back().steps.push_back(std::move(step));
  }

  void ReadStatement(const GoToken& token, bool called) {
    if (!is_test_ || program_.functions.back().steps.empty()) return;
    std::vector<GoRequest>& requests = program_.functions.back().steps.back().requests;
    if (called && token.text == "ApplyK8sResourceFromYAML") {
      const std::vector<std::size_t> arguments = ArgumentsAt(at_ + 1);
      GoRequest& request = requests.emplace_back();
      request.offset = token.offset;
      if (arguments.size() > 2) request.body = TextAt(arguments[2], 0);
    } else if (called && token.text == "Get") {  // Get(ctx, "name", namespace, pod)
      const std::vector<std::size_t> arguments = ArgumentsAt(at_ + 1);
      const auto name = arguments.size() > 1 ? TextAt(arguments[1], 0) : std::nullopt;
      patched_ = name ? name->value : "";
    } else if (token.text == "byte" && Signs(at_ + 1, "(")) {  // []byte(patch)
      patch_ = TextAt(at_ + 2, 0);
    } else if (called && token.text == "PatchSubresource") {
      const std::vector<std::size_t> arguments = ArgumentsAt(at_ + 1);
      GoRequest& request = requests.emplace_back();
      request.offset = token.offset;
      request.is_patch = true;
      request.patched = patched_;
      if (arguments.size() > 2) request.subresource = Token(arguments[2]).text;
      request.body = std::exchange(patch_, std::nullopt);
    } else if (called && token.text == "HasSuffix" && !requests.empty()) {
      const std::vector<std::size_t> arguments = ArgumentsAt(at_ + 1);
      if (arguments.size() > 1) requests.back().ends = TextAt(arguments[1], 0);
    }
  }

  // `if err == nil`: it should have been refused.
  void ReadCondition() {
    if (!is_test_ || program_.functions.back().steps.empty()) return;
    std::vector<GoRequest>& requests = program_.functions.back().steps.back().requests;
    if (requests.empty() || requests.back().accepted) return;
    if (!Token(at_ + 1).IsName("err") || !Token(at_ + 4).IsName("nil")) return;
    if (Signs(at_ + 2, "==")) requests.back().accepted = false;
    if (Signs(at_ + 2, "!=")) requests.back().accepted = true;
  }

  // The first token of each argument of a call whose parenthesis is at `i`.
  std::vector<std::size_t> ArgumentsAt(std::size_t i) const {
    std::vector<std::size_t> arguments;
    int depth = 0;
    bool begins = false;
    for (const std::size_t end = i + kMostTokens; i < tokens_.size() && i < end; ++i) {
      const GoToken& token = Token(i);
      if (depth > 0 && begins && !token.IsSign(')')) arguments.push_back(i);
      begins = false;
      if (token.IsSign('(') || token.IsSign('{') || token.IsSign('[')) {
        begins = ++depth == 1;
      } else if (token.IsSign(')') || token.IsSign('}') || token.IsSign(']')) {
        if (--depth == 0) break;
      } else if (depth == 1) {
        begins = token.IsSign(',');
      }
    }
    return arguments;
  }

  // A literal, a variable that has one, the namespace, or fmt.Sprintf of such.
  std::optional<Text> TextAt(std::size_t i, int depth) {
    constexpr int kMostDepth = 8;
    const GoToken& token = Token(i);
    if (token.kind == Kind::kText) return Counted({token.text, token.offset});
    if (token.kind != Kind::kName || depth > kMostDepth) return std::nullopt;
    if (token.text == "fmt" && Token(i + 2).IsName("Sprintf")) {
      return FormattedAt(i + 3, depth + 1);
    }
    if (token.text == "namespace") return Text{std::string(kNamespace), token.offset};
    const auto found = texts_.find(token.text);
    if (found == texts_.end()) return std::nullopt;
    const GoToken& literal = Token(found->second);
    return Counted({literal.text, literal.offset});
  }

  std::optional<Text> FormattedAt(std::size_t i, int depth) {
    const std::vector<std::size_t> arguments = ArgumentsAt(i);
    if (arguments.empty()) return std::nullopt;
    const auto format = TextAt(arguments[0], depth);
    if (!format) return std::nullopt;
    Text out{"", format->offset};
    std::size_t next = 1;
    const std::string_view text = format->value;
    for (std::size_t j = 0; j < text.size(); ++j) {
      if (text[j] != '%' || j + 1 == text.size()) {
        out.value.push_back(text[j]);
        continue;
      }
      const char verb = text[++j];
      if (verb == '%') {
        out.value.push_back('%');
        continue;
      }
      if ((verb != 's' && verb != 'v') || next >= arguments.size()) return std::nullopt;
      const auto argument = TextAt(arguments[next++], depth);
      if (!argument) return std::nullopt;
      out.value += argument->value;
      if (out.value.size() > kMostText) return std::nullopt;
    }
    return next == arguments.size() ? Counted(std::move(out)) : std::nullopt;
  }

  std::optional<Text> Counted(Text text) {
    text_size_ += text.value.size();
    if (text_size_ > kMostText) return std::nullopt;
    return text;
  }

  const std::vector<GoToken> tokens_;
  std::map<std::string, std::size_t> texts_;  // variables; the tokens of their texts
  std::map<std::string, GoMap> maps_;
  std::size_t text_size_ = 0;
  std::size_t at_ = 0;
  bool is_test_ = false;
  std::string patched_;
  std::optional<Text> patch_;
  GoProgram program_;
};

class VapLibraryReader {
 public:
  VapLibraryReader(const Manifest& document, Location& wrong, Suites& suites)
      : document_(document), wrong_(wrong), suites_(suites) {
    for (std::size_t i = 0; i < Source().size(); ++i) {
      if (Source()[i] == '\n') lines_.push_back(i + 1);
    }
  }

  base::Status Run() {
    const GoProgram program = GoProgramReader(Source()).Run();
    if (program.is_too_large) return Wrong(0, "its texts come to more than 32 MiB");
    TRY(ReadSurroundings(program));
    std::size_t cases = 0;
    for (const GoFunction& function : program.functions) {
      Suite suite;
      suite.name = base::StrCat(name_, name_.empty() ? "" : "/", function.name);
      suite.arena = arena_;
      suite.steps = true;
      suite.drops_unknown_fields = true;
      suite.inputs = inputs_;
      for (const GoStep& step : function.steps) TRY(ReadStep(step, suite));
      cases += suite.cases.size();
      if (!suite.cases.empty()) suites_.suites.push_back(std::move(suite));
    }
    return cases > 0 ? base::OkStatus() : Wrong(0, "no function of the test has steps");
  }

 private:
  std::string_view Source() const { return document_.source->text(); }

  Location PlaceOf(std::size_t offset) const {
    const auto after = std::upper_bound(lines_.begin(), lines_.end(), offset);
    const auto line = static_cast<std::size_t>(after - lines_.begin());
    return {document_.source->path(), line, offset - lines_[line - 1] + 1};
  }

  base::Status Wrong(std::size_t offset, std::string_view what) const {
    wrong_ = PlaceOf(offset);
    return base::ConfigError(std::string(what));
  }

  // What the cluster has: other manifests, those beside the test, the namespace, the bindings.
  base::Status ReadSurroundings(const GoProgram& program) {
    const std::string folder = base::FolderOf(document_.source->path());
    InputOptions options;
    for (const auto& [path, files] : program.folders) {
      if (files != "*.yaml") return Wrong(0, base::StrCat("files ", files, " are not read"));
      options.filenames.push_back(base::ResolvePath(folder, path));
    }
    options.filenames.push_back(folder.empty() ? "." : folder);
    Inputs read = suites_.files->Read(options);
    inputs_.problems = std::move(read.problems);
    inputs_.files = read.files;
    json::ObjectBuilder labels(*arena_);
    for (const auto& [key, value] : program.labels) labels.Set(arena_->Copy(key), value);
    inputs_.given = std::move(read.manifests);
    Give(MakeNamespace(*arena_, kNamespace, labels.Build()));
    for (const auto& [name, has_parameter] : program.bindings) {
      if (program.bindings.size() == 1) policy_ = base::StrCat(name, ".", kDomain);
      if (program.bindings.size() == 1) name_ = name;
      Give(BindingOf(name, has_parameter == "true"));
    }
    return base::OkStatus();
  }

  void Give(json::Value object) {
    inputs_.given.push_back(MakeManifest(document_, arena_, object));
  }

  // As GenerateDenyBindingForTesting of the library's testutils makes it.
  json::Value BindingOf(const std::string& name, bool has_parameter) const {
    json::Arena& arena = *arena_;
    const std::string policy = base::StrCat(name, ".", kDomain);
    const auto object = [&](std::string_view key, std::string_view value) {
      return json::ObjectBuilder(arena).Set(arena.Copy(key), value).Build();
    };
    const json::Value selector =
        json::ObjectBuilder(arena)
            .Set("matchLabels", object(base::StrCat(kDomain, "/", name), "deny"))
            .Build();
    json::ObjectBuilder spec(arena);
    spec.Set("policyName", policy)
        .Set("validationActions", json::ArrayBuilder(arena)
                                      .Add(std::string_view("Deny"))
                                      .Add(std::string_view("Audit"))
                                      .Build())
        .Set("matchResources",
             json::ObjectBuilder(arena).Set("namespaceSelector", selector).Build());
    if (has_parameter) {
      spec.Set("paramRef", json::ObjectBuilder(arena)
                               .Set("name", policy)
                               .Set("parameterNotFoundAction", "Deny")
                               .Build());
    }
    return json::ObjectBuilder(arena)
        .Set("apiVersion", "admissionregistration.k8s.io/v1")
        .Set("kind", "ValidatingAdmissionPolicyBinding")
        .Set("metadata", object("name", base::StrCat(name, "-deny.", kDomain)))
        .Set("spec", spec.Build())
        .Build();
  }

  base::Status ReadStep(const GoStep& step, Suite& suite) const {
    if (step.requests.empty()) {
      suite.cases.push_back(NewCase(step, step.offset));
      suite.cases.back().not_ours = "steps that send nothing that is read";
    }
    for (const GoRequest& request : step.requests) {
      Case one = NewCase(step, request.offset);
      TRY(ReadRequest(request, one));
      suite.cases.push_back(std::move(one));
    }
    return base::OkStatus();
  }

  Case NewCase(const GoStep& step, std::size_t offset) const {
    Case one;
    one.name = step.title;
    one.place = one.expect_place = PlaceOf(offset);
    one.review.manifest = document_;
    return one;
  }

  base::Status ReadRequest(const GoRequest& request, Case& one) const {
    if (!request.body) {
      one.not_ours = "objects that Go functions make";
    } else if (!request.accepted) {
      one.not_ours = "requests whose error is not looked at";
    } else if (request.is_patch && request.patched.empty()) {
      one.not_ours = "patches of objects that are not named by a text";
    }
    if (!one.not_ours.empty()) return base::OkStatus();
    Manifest object = TRY(ParseText(*request.body));
    one.arenas.push_back(object.arena);
    Review& review = one.review;
    review.operation = request.is_patch ? "PATCH" : "CREATE";
    if (request.is_patch) {
      review.patch = object.object;
      review.patch_type = engine::PatchType::kStrategic;
      review.subresource = request.subresource;
      object = MakeManifest(object, object.arena, PodNamed(request.patched, *object.arena));
      review.old_object = object.object;
    } else {
      review.object = object.object;
    }
    review.name = object.name;
    review.ns = object.ns.empty() ? "default" : object.ns;
    review.manifest = std::move(object);
    // Accepted by the server; refused by the policy, and not for another reason.
    one.expect.verdict = *request.accepted ? Expected::kAllow : Expected::kDeny;
    if (!*request.accepted) one.expect.policy = policy_;
    if (request.ends) one.expect.message = TextMatch{TextMatch::Kind::kEnd, request.ends->value};
    return base::OkStatus();
  }

  // Lines of the text are lines of the file.
  base::Result<Manifest> ParseText(const Text& text) const {
    auto arena = std::make_shared<json::Arena>();
    auto owned = std::make_shared<const std::string>(text.value);
    const auto value = json::ParseYaml(*arena, *owned);
    if (!value.ok()) return Wrong(text.offset, value.status().message());
    Manifest origin;
    origin.arena = arena;
    origin.source = std::make_shared<const SourceText>(document_.source->path(), owned, *owned,
                                                       PlaceOf(text.offset).line);
    return MakeManifest(origin, std::move(arena), *value);
  }

  static json::Value PodNamed(std::string_view name, json::Arena& arena) {
    return json::ObjectBuilder(arena)
        .Set("apiVersion", "v1")
        .Set("kind", "Pod")
        .Set("metadata",
             json::ObjectBuilder(arena).Set("name", name).Set("namespace", kNamespace).Build())
        .Build();
  }

  const Manifest& document_;
  Location& wrong_;
  Suites& suites_;
  std::vector<std::size_t> lines_ = {0};  // where each begins
  std::shared_ptr<json::Arena> arena_ = std::make_shared<json::Arena>();
  Inputs inputs_;
  std::string name_;
  std::string policy_;  // the one that is bound; "": several are
};

}  // namespace

bool IsVapLibraryTest(const Manifest& document) {
  return IsGoTest(document.source->path()) && document.object.is_string() &&
         document.object.AsString().find("\"vap-library/testutils\"") != std::string_view::npos;
}

base::Status ReadVapLibraryTest(std::span<const Manifest> documents, Location& wrong,
                                Suites& suites) {
  for (const Manifest& document : documents) {
    TRY(VapLibraryReader(document, wrong, suites).Run());
  }
  return base::OkStatus();
}

}  // namespace portcullis::offline
