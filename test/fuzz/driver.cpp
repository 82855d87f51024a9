// SPDX-License-Identifier: BSD-3-Clause
//
// Runs a fuzz target without libFuzzer: every file of its corpus, then random inputs and
// mutations of the corpus. Finds less than libFuzzer does, and runs with every compiler.
//
// Arguments: files or folders; without any, the target's corpus in the source tree.
// BE_FUZZ_RUNS: number of generated inputs. BE_FUZZ_SEED: the first one; a crash is repeated
// by the seed that was printed last.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, std::size_t size);

namespace {

using Input = std::vector<uint8_t>;

constexpr std::size_t max_size   = 4096;
constexpr uint64_t default_runs  = 200'000;
constexpr uint64_t progress_step = 50'000;

uint64_t from_environment(const char *name, uint64_t otherwise)
{
    const char *text = std::getenv(name);

    return (text == nullptr) ? otherwise : std::strtoull(text, nullptr, 0);
}

void read_corpus(const std::filesystem::path &path, std::vector<Input> &corpus)
{
    if (std::filesystem::is_directory(path)) {
        for (const auto &entry : std::filesystem::recursive_directory_iterator(path)) {
            if (entry.is_regular_file()) {
                read_corpus(entry.path(), corpus);
            }
        }
        return;
    }

    std::ifstream file(path, std::ios::binary);

    if (!file) {
        throw std::runtime_error("cannot read " + path.string());
    }
    corpus.emplace_back(std::istreambuf_iterator<char>(file),
                        std::istreambuf_iterator<char>());
}

/* A copy of exactly the right size on the heap: reads beyond it are seen by sanitizers. */
void run(const Input &input)
{
    Input exact(input);

    exact.shrink_to_fit();
    LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

Input generate(uint64_t seed, const std::vector<Input> &corpus)
{
    std::mt19937_64 random(seed);
    Input input;

    if (random() % 4 == 0) {
        input.resize(random() % 64);
        std::generate(input.begin(), input.end(), [&] { return uint8_t(random()); });
        return input;
    }

    input = corpus[random() % corpus.size()];
    for (uint64_t changes = 1 + random() % 4; changes != 0; --changes) {
        std::size_t place = input.empty() ? 0 : random() % input.size();

        switch (random() % 5) {
        case 0:
            if (!input.empty()) {
                input[place] ^= uint8_t(1u << (random() % 8));
            }
            break;
        case 1:
            if (!input.empty()) {
                input[place] = uint8_t(random());
            }
            break;
        case 2:
            input.insert(input.begin() + place, uint8_t(random()));
            break;
        case 3:
            input.resize(place);
            break;
        default:
            const Input &other = corpus[random() % corpus.size()];

            input.insert(input.end(), other.begin(), other.end());
        }
    }
    input.resize(std::min(input.size(), max_size));
    return input;
}

} // namespace

int main(int argc, char **argv)
{
    const char *source_folder = std::getenv("BE_SRCDIR");
    std::vector<Input> corpus;
    uint64_t first = from_environment("BE_FUZZ_SEED", 1);
    uint64_t runs  = from_environment("BE_FUZZ_RUNS", default_runs);

    try {
        for (int i = 1; i < argc; ++i) {
            read_corpus(argv[i], corpus);
        }
        if (argc == 1) {
            read_corpus(std::filesystem::path(source_folder ? source_folder : ".") /
                                BE_FUZZ_CORPUS,
                        corpus);
        }
    } catch (const std::exception &error) {
        std::cerr << "corpus: " << error.what() << '\n';
        return EXIT_FAILURE;
    }
    if (corpus.empty()) {
        std::cerr << "corpus: no inputs in " BE_FUZZ_CORPUS
                     ", expected at least one file\n";
        return EXIT_FAILURE;
    }

    for (const Input &input : corpus) {
        run(input);
    }
    for (uint64_t seed = first; seed < first + runs; ++seed) {
        if ((seed - first) % progress_step == 0) {
            std::cout << "seed " << seed << std::endl;
        }
        run(generate(seed, corpus));
    }
    std::cout << corpus.size() << " files and " << runs << " generated inputs passed\n";
    return EXIT_SUCCESS;
}
