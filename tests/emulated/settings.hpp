// What the environment says. A value that is no number ends the process, rather than run something else than was asked for.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <string>
namespace emulated {

inline std::string text_setting(const char* name) {
    const char* text = getenv(name);
    return text ? text : "";
}
inline long number_setting(const char* name, long usual) {
    const std::string text = text_setting(name);
    if (text.empty()) return usual;
    char* end;
    const long number = strtol(text.c_str(), &end, 0);
    if (*end || number < 0) {
        fprintf(stderr, "emulated: %s=%s is not a number\n", name, text.c_str());
        exit(2);
    }
    return number;
}

// The folder that `run` made, with the libraries, the headers of programs and a folder for what is temporary.
inline std::string home() {
    const std::string folder = text_setting("VXM_EMULATED_HOME");
    if (folder.empty()) {
        fprintf(stderr, "emulated: VXM_EMULATED_HOME is not set; start the command with tests/emulated/run\n");
        exit(2);
    }
    return folder;
}

struct Settings {
    // how threads and blocks take turns: 0 in order, others at random, the same for the same number
    unsigned long seed = (unsigned long)number_setting("VXM_EMULATED_SEED", 0);
    // one in so many accesses to what others may be writing gives way; 0 for none
    long noise = number_setting("VXM_EMULATED_NOISE", 8);
    // seconds after which a block that only waits for others' writes is taken to wait for good
    long patience = number_setting("VXM_EMULATED_PATIENCE", 120);
    long multiprocessors = number_setting("VXM_EMULATED_MULTIPROCESSORS", 2);
    long occupancy = number_setting("VXM_EMULATED_OCCUPANCY", 2);
    unsigned long memory = (unsigned long)number_setting("VXM_EMULATED_MEMORY", 4096) << 20;
    bool guard = number_setting("VXM_EMULATED_GUARD", 0);
    bool trace = number_setting("VXM_EMULATED_TRACE", 0);
    bool keep = number_setting("VXM_EMULATED_KEEP", 0);
};
inline const Settings& settings() {
    static const Settings all;
    return all;
}

} // namespace emulated
