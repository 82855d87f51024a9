// SPDX-License-Identifier: BSD-3-Clause
/*
 * Files of statistics as others may have written them: nothing outside them is read.
 */
#define BOOST_TEST_MODULE stats
#include <boost/test/unit_test.hpp>

#include "core/stats_page.hpp"
#include "tools/stats/stats.hpp"

#include <nlohmann/json.hpp>

#include <cstring>
#include <fstream>
#include <functional>

#include <unistd.h>

using namespace be::tools;
using be::core::StatsMetric;
using be::core::StatsPage;
using be::core::StatsPeer;

namespace {

namespace fs = std::filesystem;

class Folder {
public:
    Folder() :
        m_path(fs::temp_directory_path() / ("be-stats." + std::to_string(getpid())))
    {
        fs::create_directories(m_path);
    }
    ~Folder()
    {
        fs::remove_all(m_path);
    }
    const fs::path &path() const
    {
        return m_path;
    }

    // A process's file: two metrics, then what `change` makes of it.
    void write(const std::string &name, const std::function<void(StatsPage &)> &change,
               size_t size = sizeof(StatsPage))
    {
        const std::string names = "first\tcount\ttotal\tone sentence\n"
                                  "second\tbytes\tnow\tanother\n";
        const auto page         = std::make_unique<StatsPage>();
        page->magic             = StatsPage::current_magic;
        page->process           = 12;
        page->count             = 2;
        page->names_size        = names.size();
        page->values[0]         = 5;
        page->values[1]         = 6;
        page->peer_count        = 2;
        page->peers[0].name.store("fabric 1");
        page->peers[0].state.store("recovering");
        page->peers[0].path.store("rdma");
        page->peers[0].side.store("remote");
        page->peers[0].cause.store("retries exceeded");
        page->peers[0].values[StatsPeer::losses]     = 3;
        page->peers[0].values[StatsPeer::recoveries] = 2;
        page->peers[0].values[StatsPeer::status]     = 12;
        page->peers[0].below[1]                      = 1;
        for (size_t i = 2; i < page->peers[0].below.size(); i++) {
            page->peers[0].below[i] = 2;
        }
        page->peers[1].name.store("fabric 2");
        std::strcpy(page->device.data(), "mlx5_0:1");
        std::copy(names.begin(), names.end(), page->names.begin());
        change(*page);
        std::ofstream(m_path / name, std::ios::binary)
                .write(reinterpret_cast<const char *>(page.get()),
                       static_cast<std::streamsize>(size));
    }

private:
    fs::path m_path;
};

} // namespace

BOOST_AUTO_TEST_CASE(what_was_written_is_read)
{
    Folder folder;
    folder.write("12-0.stats", [](StatsPage &) {});
    folder.write("120-0.stats", [](StatsPage &) {});
    const auto stats = read_left_stats(folder.path());
    BOOST_REQUIRE(stats.size() == 2u);
    BOOST_TEST(stats[0].process == 12u);
    BOOST_TEST(stats[0].device == "mlx5_0:1");
    BOOST_REQUIRE(stats[0].metrics.size() == 2u);
    BOOST_TEST(stats[0].metrics[1].name == "second");
    BOOST_TEST(stats[0].metrics[1].unit == "bytes");
    BOOST_TEST(stats[0].metrics[1].help == "another");
    BOOST_TEST(stats[0].metrics[1].value == 6u);
    // of one process only, which does not answer
    const auto asked = read_stats(folder.path(), 12);
    BOOST_REQUIRE(asked.size() == 1u);
    BOOST_TEST(!asked[0].fresh);
    const auto json = nlohmann::json::parse(to_json(asked));
    BOOST_TEST(json["interfaces"][0]["metrics"]["first"] == 5);
    const std::string text = to_text(asked, true);
    BOOST_TEST(text.find("as of its last progress") != std::string::npos);

    BOOST_TEST((asked[0].metrics[0].kind == StatsMetric::Kind::total));
    BOOST_TEST((asked[0].metrics[1].kind == StatsMetric::Kind::now));
    const auto &peers = json["interfaces"][0]["peers"];
    BOOST_REQUIRE(peers.size() == 2u);
    BOOST_TEST(peers[0]["state"] == "recovering");
    BOOST_TEST(peers[0]["last_loss"]["side"] == "remote");
    BOOST_TEST(peers[0]["last_loss"]["status"] == 12);
    BOOST_TEST(peers[0]["recoveries_cumulated"][2]["count"] == 2);
    BOOST_TEST(!peers[1].contains("last_loss"));
    BOOST_TEST(text.find("lost 3 times, last by a remote fault: retries exceeded") !=
               std::string::npos);
    BOOST_TEST(text.find("1 below 1.024 ms, 1 below 4.096 ms") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(nothing_is_believed_beyond_the_file)
{
    Folder folder;
    folder.write("1-0.stats", [](StatsPage &page) { page.names_size = UINT64_MAX; });
    folder.write("2-0.stats", [](StatsPage &page) {
        page.names_size = page.names.size();
        page.names.fill('x'); // one name without an end
        page.device.fill('d');
    });
    folder.write("3-0.stats", [](StatsPage &page) {
        page.names_size = page.names.size();
        page.names.fill('\n'); // more names than values
        page.sequence = 1; // written for ever
    });
    folder.write("4-0.stats", [](StatsPage &page) { page.magic = 0; });
    folder.write(
            "5-0.stats", [](StatsPage &) {}, sizeof(StatsPage) - 1);
    folder.write("5-1.stats", [](StatsPage &page) {
        page.peer_count = UINT64_MAX;
        page.peers[3].cause.store(std::string(1000, 'c')); // one without an end
        page.peers[3].values[StatsPeer::losses] = 1;
    });
    folder.write("6-0.stats", [](StatsPage &page) {
        page.names.fill('\xFF'); // no UTF-8
    });
    const auto stats = read_left_stats(folder.path());
    BOOST_REQUIRE(stats.size() == 5u);
    BOOST_TEST(stats[1].device.size() == StatsPage::max_device);
    BOOST_TEST(stats[1].metrics.size() == 1u);
    BOOST_TEST(stats[2].metrics.size() == StatsPage::max_metrics);
    BOOST_REQUIRE(stats[3].peers.size() == StatsPage::max_peers);
    BOOST_TEST(stats[3].peers[3].cause.size() == 256u);
    BOOST_TEST(!nlohmann::json::parse(to_json(stats)).is_null());
    BOOST_TEST(!to_text(stats, true).empty());
}
