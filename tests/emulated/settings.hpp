// Settings from environment variables. A value that is not a number ends the process, so that a typo is not silently ignored.
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

// The folder that `run` made, with the libraries, the headers that programs include, and a folder for temporary files.
inline std::string home() {
    const std::string folder = text_setting("VXM_EMULATED_HOME");
    if (folder.empty()) {
        fprintf(stderr, "emulated: VXM_EMULATED_HOME is not set; start the command with tests/emulated/run\n");
        exit(2);
    }
    return folder;
}

struct Settings {
    // schedule of threads and blocks: 0 runs them in order, others in a random order that the number determines
    unsigned long seed = (unsigned long)number_setting("VXM_EMULATED_SEED", 0);
    // one in this many accesses to memory that other threads may be writing yields; 0 for none
    long noise = number_setting("VXM_EMULATED_NOISE", 8);
    // seconds without progress after which a block that waits for another block's write counts as deadlocked
    long patience = number_setting("VXM_EMULATED_PATIENCE", 120);
    long devices = number_setting("VXM_EMULATED_DEVICES", 1);
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
