// NVRTC for machines without a GPU. It translates CUDA C++ to C++ for the CPU, which g++ compiles to a shared object.
//
// Assembly and dynamic shared memory are rewritten, and includes are moved to the front. A description of each kernel is appended. Error
// messages of g++ are rewritten to NVRTC's form.
#include "settings.hpp"
#include <algorithm>
#include <atomic>
#include <cctype>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <regex>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using namespace emulated;
#define CALLED extern "C" __attribute__((visibility("default")))

enum Result { SUCCESS = 0, INTERNAL = 11, INVALID_OPTION = 5, COMPILATION = 6 };
const int ARCHS[] = {75, 80, 90, 100};

struct Program {
    std::string source, name, log, code;
};

// The settings that the compiled code depends on.
static std::string compiler() {
    const std::string own = text_setting("CXX");
    return own.empty() ? "g++" : own;
}
static std::string mutation() { return text_setting("VXM_EMULATED_MUTATION"); }

// ---- rewriting

static std::string trimmed(const std::string& text) {
    const char* const space = " \t\n";
    const size_t from = text.find_first_not_of(space);
    return from == std::string::npos ? "" : text.substr(from, text.find_last_not_of(space) - from + 1);
}
static std::string lines_of(const std::string& text) { return std::string((size_t)std::count(text.begin(), text.end(), '\n'), '\n'); }

// An assembly statement: its instruction, and its operands in order.
struct Assembly {
    std::string instruction;
    std::vector<std::string> operands;
};
// Parses a statement like asm("instruction" : "=r"(x) : "r"(y));
static Assembly parsed(const std::string& statement) {
    Assembly found;
    bool first = true;
    size_t last = 0;
    for (size_t at = 0; (at = statement.find('"', at)) != std::string::npos;) {
        const size_t end = statement.find('"', at + 1);
        if (end == std::string::npos) break;
        // neighbouring literals are one
        const bool more = !first && statement.find_first_not_of(" \n", last) == at && found.operands.empty();
        if (first || more) found.instruction += statement.substr(at + 1, end - at - 1);
        first = false;
        at = last = end + 1;
        // an operand follows only a constraint, not the instruction or a clobber
        if (at >= statement.size() || statement[at] != '(' || found.instruction.empty()) continue;
        size_t close = at;
        for (int depth = 0; close < statement.size(); close++) {
            if (statement[close] == '(') depth++;
            if (statement[close] == ')' && --depth == 0) break;
        }
        found.operands.push_back(statement.substr(at + 1, close - at - 1));
        at = close;
    }
    return found;
}
static std::string word_of(const std::string& bits) {
    return bits == "8" ? "unsigned char" : bits == "16" ? "unsigned short" : bits == "32" ? "unsigned" : "unsigned long long";
}
// Translates an assembly statement to C++.
static std::string lowered(const std::string& statement) {
    static const std::regex load(R"(ld\.(relaxed|acquire)\.(cta|gpu)\.global\.u(8|16|32|64) %0, \[%1\];)");
    static const std::regex store(R"(st\.(relaxed|release)\.(cta|gpu|sys)\.global\.u(8|16|32|64) \[%0\], %1;)");
    static const std::regex load_wide(R"(\{ \.reg \.b128 x; ld\.relaxed\.(cta|gpu)\.global\.b128 x, \[%2\]; mov\.b128 \{%0, %1\}, x; \})");
    static const std::regex store_wide(R"(\{ \.reg \.b128 x; mov\.b128 x, \{%1, %2\}; st\.relaxed\.(gpu|sys)\.global\.b128 \[%0\], x; \})");
    static const char* const swap_wide =
        "{ .reg .b128 a, b, x; mov.b128 a, {%3, %4}; mov.b128 b, {%5, %6}; "
        "atom.relaxed.gpu.global.cas.b128 x, [%2], a, b; mov.b128 {%0, %1}, x; }";
    static const std::regex multiply(R"(mma\.sync\.aligned\.m16n8k16\.row\.col\.f32\.f16\.f16\.f32 .*)");
    static const std::regex multiply_bits(R"(mma\.sync\.aligned\.m16n8k256\.row\.col\.s32\.b1\.b1\.s32\.and\.popc .*)");
    const Assembly a = parsed(statement);
    // an empty instruction is only a barrier for the compiler
    if (a.instruction.empty()) return ";";
    std::smatch m;
    if (std::regex_match(a.instruction, m, load) && a.operands.size() == 2) {
        const std::string name = m[1] == "acquire" ? "watch" : "load";
        return a.operands[0] + " = emulated::" + name + "<" + word_of(m[3]) + ">((const void*)(" + a.operands[1] + "));";
    }
    if (std::regex_match(a.instruction, m, store) && a.operands.size() == 2)
        return "emulated::store<" + word_of(m[3]) + ">((void*)(" + a.operands[0] + "), " + a.operands[1] + ");";
    if (std::regex_match(a.instruction, m, load_wide) && a.operands.size() == 3)
        return "emulated::load_wide((const void*)(" + a.operands[2] + "), " + a.operands[0] + ", " + a.operands[1] + ");";
    if (std::regex_match(a.instruction, m, store_wide) && a.operands.size() == 3)
        return "emulated::store_wide((void*)(" + a.operands[0] + "), " + a.operands[1] + ", " + a.operands[2] + ");";
    if (a.instruction == swap_wide && a.operands.size() == 7) {
        std::string call = "emulated::compare_and_swap_wide((void*)(" + a.operands[2] + "), " + a.operands[0] + ", " + a.operands[1];
        for (size_t k = 3; k < a.operands.size(); k++) call += ", " + a.operands[k];
        return call + ");";
    }
    if (a.instruction == "mov.u64 %0, %%globaltimer;" && a.operands.size() == 1) return a.operands[0] + " = emulated_nanoseconds();";
    const bool bits = std::regex_match(a.instruction, multiply_bits);
    if ((bits || std::regex_match(a.instruction, multiply)) && a.operands.size() == 10) {
        std::string call = std::string(bits ? "emulated::multiply_bits(" : "emulated::multiply(") + a.operands[0];
        for (size_t k = 1; k < a.operands.size(); k++) call += ", " + a.operands[k];
        return call + ");";
    }
    return "static_assert(false, \"tests/emulated/nvrtc.cpp does not know this assembly: " + a.instruction + "\");";
}
// Translates all assembly statements of a text. Line numbers stay the same.
static std::string without_assembly(const std::string& source) {
    static const std::regex start(R"(\basm( volatile)?\()");
    std::string out;
    auto at = source.begin();
    std::smatch m;
    while (std::regex_search(at, source.end(), m, start)) {
        out.append(at, m[0].first);
        auto end = m[0].first;
        bool quoted = false;
        for (int depth = 0; end != source.end(); ++end) {
            if (*end == '"') quoted = !quoted;
            if (quoted) continue;
            if (*end == '(') depth++;
            if (*end == ')') depth--;
            if (*end == ';' && depth == 0) break;
        }
        if (end != source.end()) ++end;
        const std::string statement(m[0].first, end);
        out += lowered(statement) + lines_of(statement);
        at = end;
    }
    return out.append(at, source.end());
}
// Replaces each declaration of dynamic shared memory by a macro that expands to its address.
static std::string without_dynamic(const std::string& source) {
    static const std::regex declaration(R"(extern\s+__shared__\s+(?:__align__\(\d+\)\s+)?([\w: ]+?)\s+(\w+)\[\];)");
    std::string out;
    auto at = source.begin();
    std::smatch m;
    while (std::regex_search(at, source.end(), m, declaration)) {
        out.append(at, m[0].first);
        at = m[0].second;
        const auto line = 1 + std::count(source.begin(), at, '\n');
        out += "\n#define " + m[2].str() + " ((" + m[1].str() + "*)emulated::self()->dynamic)\n#line " + std::to_string(line) + "\n";
    }
    return out.append(at, source.end());
}
// The include lines of a text.
static std::string includes_of(const std::string& source) {
    static const std::regex include(R"((^|\n)(#include <[^>]*>))");
    std::string out;
    for (std::sregex_iterator it(source.begin(), source.end(), include), end; it != end; ++it) out += (*it)[2].str() + "\n";
    return out;
}

// The description of a kernel: the entry that the driver looks up, and the section that a dry run reads.
const char* const KERNEL = R"(
extern "C" __attribute__((visibility("default"))) const emulated::Entry emulated_entry_NAME = {
    [](const void* parameter) { NAME(ARGUMENT); }, BYTES, PARAMETERS, THREADS};
static constexpr emulated::Info<PARAMETERS> emulated_info_NAME
    __attribute__((used, section(".nv.info.NAME"), aligned(1))) = {BYTES, THREADS};
)";
// A function that the runtime calls to allocate an OS thread's shared variables.
const char* const TOUCH = R"(
extern "C" __attribute__((visibility("default"))) void* emulated_touch() {
    static thread_local int touched;
    return &touched;
}
)";
static std::string filled(std::string text, const std::string& word, const std::string& with) {
    for (size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += with.size()) text.replace(at, word.size(), with);
    return text;
}
static std::string entries_of(const std::string& source) {
    static const std::regex kernel(R"(__global__\s+void\s+(?:__launch_bounds__\(([^)]*)\)\s+)?(\w+)\s*\(([^)]*)\))");
    std::string out = TOUCH;
    for (std::sregex_iterator it(source.begin(), source.end(), kernel), end; it != end; ++it) {
        const std::string bounds = (*it)[1], name = (*it)[2], parameters = trimmed((*it)[3]);
        const auto count = parameters.empty() ? 0 : 1 + std::count(parameters.begin(), parameters.end(), ',');
        std::string bytes = "0", argument;
        if (count == 1) {
            std::string type = std::regex_replace(parameters, std::regex(R"(__grid_constant__|\bconst\b)"), "");
            type = trimmed(type.substr(0, type.find_last_of(" *&") + 1));
            bytes = "sizeof(" + type + ")";
            argument = "*(" + type + " const*)parameter";
        }
        std::string text = KERNEL;
        // kernels with several parameters are never called: the driver refuses to launch them
        if (count > 1) text = filled(text, "NAME(ARGUMENT);", "");
        text = filled(text, "NAME", name);
        text = filled(text, "ARGUMENT", argument);
        text = filled(text, "BYTES", bytes);
        text = filled(text, "PARAMETERS", std::to_string(count));
        out += filled(text, "THREADS", bounds.empty() ? "1024" : bounds.substr(0, bounds.find(',')));
    }
    return out;
}
static std::string translated(const Program& program) {
    const std::string includes = includes_of(program.source);
    std::string text = includes;
    if (!includes.empty()) text += "#define EMULATED_WITH_HEADERS\n";
    text += "#include \"device.hpp\"\n#line 1 \"" + program.name + "\"\n";
    return text + without_dynamic(without_assembly(program.source)) + entries_of(program.source);
}

// ---- compiling

static bool write_file(const std::string& path, const std::string& text) {
    FILE* file = fopen(path.c_str(), "wb");
    if (!file) return false;
    const bool written = fwrite(text.data(), 1, text.size(), file) == text.size();
    return fclose(file) == 0 && written;
}
static std::string read_file(const std::string& path) {
    std::string text;
    if (FILE* file = fopen(path.c_str(), "rb")) {
        char bytes[1 << 16];
        for (size_t n; (n = fread(bytes, 1, sizeof bytes, file)) > 0;) text.append(bytes, n);
        fclose(file);
    }
    return text;
}
static std::string quoted(const std::string& text) { return "'" + filled(text, "'", "'\\''") + "'"; }

// Rewrites messages of g++ to NVRTC's form. The project searches them for the line and for missing names and files.
static std::string as_nvrtc_says(std::string log) {
    log = std::regex_replace(log, std::regex(R"((^|\n)([^:\n]+):(\d+):\d+: (?:fatal )?error:)"), "$1$2($3): error:");
    log = std::regex_replace(log, std::regex(R"('(\w+)' was not declared in this scope)"), "identifier \"$1\" is undefined");
    return std::regex_replace(log, std::regex(R"(error: (\S+): No such file or directory)"), "error: cannot open source file \"$1\"");
}

static const char* const FLAGS =
    // the same bits as on the host: no contraction, wrapping integers, and no strict aliasing
    "-std=c++17 -O1 -ffp-contract=off -fwrapv -fno-strict-aliasing -fno-delete-null-pointer-checks -fno-math-errno "
    // programs that define the same symbols must each use their own
    "-fPIC -shared -fvisibility=hidden -fvisibility-inlines-hidden -fno-gnu-unique "
    // options against features that take time or are useless in a kernel
    "-fno-exceptions -fno-rtti -fno-threadsafe-statics -fno-stack-protector -fno-asynchronous-unwind-tables -nostdlib "
    "-w -fmax-errors=20 -fno-diagnostics-show-caret";

// Applies the mutation to the program's text with sed. Returns whether that succeeded.
static bool mutate(Program& program, const std::string& base) {
    const std::string before = base + ".before", after = base + ".after", log = base + ".log";
    const std::string command =
        "sed -E -e " + quoted(mutation()) + " " + quoted(before) + " > " + quoted(after) + " 2> " + quoted(log);
    const bool good = write_file(before, program.source) && system(command.c_str()) == 0;
    if (good) program.source = read_file(after);
    else program.log = "VXM_EMULATED_MUTATION: " + read_file(log);
    for (const std::string& path : {before, after, log}) unlink(path.c_str());
    return good;
}

CALLED int nvrtcCompileProgram(void* handle, int count, const char* const* options) {
    Program& program = *(Program*)handle;
    std::string folders;
    for (int k = 0; k < count; k++) {
        const std::string option = options[k], include = "--include-path=";
        const auto begins = [&](const char* with) { return option.rfind(with, 0) == 0; };
        if (begins(include.c_str())) {
            folders += " -isystem " + quoted(option.substr(include.size()));
        } else if (!begins("--fmad=") && !begins("--std=") && !begins("--device-as-default") && !begins("--gpu-architecture=")) {
            program.log = "unrecognized option " + option;
            return INVALID_OPTION;
        }
    }
    static std::atomic<int> number{0};
    const std::string base = home() + "/tmp/program-" + std::to_string(getpid()) + "-" + std::to_string(number++);
    const auto begin = std::chrono::steady_clock::now();
    const std::string original = program.source;
    if (!mutation().empty() && !mutate(program, base)) return INTERNAL;
    const std::string text = base + ".cpp", object = base + ".so", log = base + ".log";
    if (!write_file(text, translated(program))) {
        program.log = "cannot write " + text;
        return INTERNAL;
    }
    const bool keep = settings().keep;
    const std::string folder = home();
    folders += " -I " + quoted(folder + "/device") + " -L " + quoted(folder + "/lib");
    const std::string command = "LC_ALL=C " + compiler() + " " + FLAGS + (keep ? " -g " : " ") + quoted(text) + " -o " + quoted(object) +
        folders + " -l:libcuda.so.1 -l:libm.so.6 -l:libc.so.6 2> " + quoted(log);
    const int status = system(command.c_str());
    program.log = as_nvrtc_says(read_file(log));
    program.code = read_file(object);
    if (settings().trace) {
        const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        const char* changed = program.source == original ? "" : ", changed by the mutation";
        fprintf(stderr, "emulated: compiled %s in %.2f s%s\n", base.c_str(), seconds, changed);
    }
    if (!keep) unlink(text.c_str());
    unlink(object.c_str());
    unlink(log.c_str());
    if (status == -1 || (WIFEXITED(status) && WEXITSTATUS(status) == 127)) {
        program.log = "cannot run " + compiler() + ": " + program.log;
        return INTERNAL;
    }
    return status == 0 && !program.code.empty() ? SUCCESS : COMPILATION;
}

// ---- the other functions of NVRTC

// The version is part of the key of a cached program. So its minor part is a hash of everything that the compiled code depends on here.
CALLED int nvrtcVersion(int* major, int* minor) {
    uint32_t hash = EMULATED_SOURCES;
    for (const char c : compiler() + "\n" + mutation() + (settings().keep ? "\nkeep" : "")) hash = (hash ^ (unsigned char)c) * 16777619u;
    *major = 13;
    *minor = (int)(hash >> 1);
    return SUCCESS;
}
CALLED const char* nvrtcGetErrorString(int error) {
    switch (error) {
    case SUCCESS: return "NVRTC_SUCCESS";
    case INVALID_OPTION: return "NVRTC_ERROR_INVALID_OPTION";
    case COMPILATION: return "NVRTC_ERROR_COMPILATION";
    default: return "NVRTC_ERROR_INTERNAL_ERROR";
    }
}
CALLED int nvrtcGetNumSupportedArchs(int* count) {
    *count = sizeof ARCHS / sizeof *ARCHS;
    return SUCCESS;
}
CALLED int nvrtcGetSupportedArchs(int* archs) {
    memcpy(archs, ARCHS, sizeof ARCHS);
    return SUCCESS;
}
CALLED int nvrtcCreateProgram(void** program, const char* source, const char* name, int, const char* const*, const char* const*) {
    *program = new Program{source, name ? name : "default_program", "", ""};
    return SUCCESS;
}
CALLED int nvrtcDestroyProgram(void** program) {
    delete (Program*)*program;
    *program = nullptr;
    return SUCCESS;
}
CALLED int nvrtcGetProgramLogSize(void* program, size_t* size) {
    *size = ((Program*)program)->log.size() + 1;
    return SUCCESS;
}
CALLED int nvrtcGetProgramLog(void* program, char* to) {
    strcpy(to, ((Program*)program)->log.c_str());
    return SUCCESS;
}
CALLED int nvrtcGetCUBINSize(void* program, size_t* size) {
    *size = ((Program*)program)->code.size();
    return SUCCESS;
}
CALLED int nvrtcGetCUBIN(void* program, char* to) {
    const std::string& code = ((Program*)program)->code;
    memcpy(to, code.data(), code.size());
    return SUCCESS;
}
