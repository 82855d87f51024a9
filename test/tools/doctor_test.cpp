// SPDX-License-Identifier: BSD-3-Clause
/*
 * be_info --doctor: what is read of a machine, and what is made of it.
 */
#define BOOST_TEST_MODULE doctor
#include <boost/test/unit_test.hpp>

#include "tools/doctor/advice.hpp"
#include "tools/doctor/metrics.hpp"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>

#include <unistd.h>

using namespace be::tools;

namespace {

namespace fs = std::filesystem;

constexpr uint64_t gibi = uint64_t{1} << 30;

be::verbs::PortReport port(bool soft)
{
    be::verbs::PortReport report;
    report.device    = soft ? "softrdma0" : "mlx5_0";
    report.port      = 1;
    report.netdev    = soft ? "lo" : "eth2";
    report.numa_node = soft ? -1 : 1;
    report.usable    = true;
    report.soft      = soft;
    report.reason    = "it is active";
    return report;
}

Report report_with(bool soft)
{
    Report report;
    report.package_version = "0.1.0";
    report.built_for       = "1.13.1";
    report.ucx             = UcxLibrary{{1, 13, 1}, "/lib/libucp.so.0"};
    report.modules         = "/lib/ucx";
    report.devices.ports   = {port(soft)};
    report.devices.reason  = "there is no RDMA device";
    return report;
}

// Nothing to complain about.
Machine good_machine()
{
    Machine machine;
    machine.locked_memory          = UINT64_MAX;
    machine.open_files             = 65536;
    machine.free_huge_pages        = 512;
    machine.transparent_huge_pages = "madvise";
    machine.governors              = {{"performance", 4}};
    machine.cpus                   = {0, 1};
    machine.nodes                  = {{0, {2, 3}}, {1, {0, 1}}};
    machine.shared_memory_free     = gibi;
    machine.cgroup_memory          = 4 * gibi;
    machine.cgroup_cpus            = 2;
    return machine;
}

const Advice *find(const std::vector<Advice> &advice, const std::string &topic)
{
    for (const Advice &one : advice) {
        if (one.topic == topic) {
            return &one;
        }
    }
    return nullptr;
}

void check(const Report &report, const Machine &machine, const std::string &topic,
           Level level, const std::string &found, const std::string &change)
{
    const auto advice = advise(report, machine);
    const Advice *one = find(advice, topic);
    BOOST_TEST_CONTEXT(topic << ", expecting '" << found << "'")
    {
        BOOST_REQUIRE(one != nullptr);
        BOOST_TEST((one->level == level));
        BOOST_TEST(one->found.find(found) != std::string::npos, one->found);
        BOOST_TEST(one->change.find(change) != std::string::npos, one->change);
        BOOST_TEST((one->level == Level::good) == one->change.empty());
    }
}

// A folder that stands for "/".
class Root {
public:
    Root() : m_path(fs::temp_directory_path() / ("be-doctor." + std::to_string(getpid())))
    {
        fs::create_directories(m_path);
    }
    ~Root()
    {
        fs::remove_all(m_path);
    }
    void write(const std::string &path, const std::string &text)
    {
        const fs::path file = m_path.string() + path;
        fs::create_directories(file.parent_path());
        std::ofstream(file) << text << "\n";
    }
    std::string path() const
    {
        return m_path.string();
    }

private:
    fs::path m_path;
};

} // namespace

BOOST_AUTO_TEST_CASE(a_good_machine_needs_nothing)
{
    for (const Advice &one : advise(report_with(false), good_machine())) {
        BOOST_TEST((one.level == Level::good), one.topic << ": " << one.found);
    }
}

BOOST_AUTO_TEST_CASE(each_fault_is_found_and_says_what_to_do)
{
    const Report hardware = report_with(false);
    const Report soft     = report_with(true);
    Machine machine       = good_machine();

    check(soft, machine, "device", Level::hint, "there is no RDMA device", "active port");
    machine.locked_memory = 65536;
    check(hardware, machine, "locked memory", Level::problem, "at most 64 KiB",
          "memlock=-1");
    check(soft, machine, "locked memory", Level::good, "does not need", "");
    machine                 = good_machine();
    machine.free_huge_pages = 0;
    check(hardware, machine, "huge pages", Level::good, "transparent ones are on", "");
    machine.transparent_huge_pages = "never";
    check(hardware, machine, "huge pages", Level::hint, "none", "vm.nr_hugepages");
    machine.governors = {{"performance", 1}, {"powersave", 3}};
    check(hardware, machine, "cpu frequency", Level::hint, "powersave on 3 CPUs",
          "cpupower");
    machine.cpus = {2};
    check(hardware, machine, "numa", Level::hint, "mlx5_0 is on node 1",
          "numactl --cpunodebind=1");
    machine.open_files = 1024;
    check(hardware, machine, "open files", Level::hint, "at most 1024", "ulimit -n");
    machine.shared_memory_free = 64 << 20;
    check(soft, machine, "shared memory", Level::problem, "64 MiB", "--shm-size");
    BOOST_TEST((find(advise(hardware, machine), "shared memory") == nullptr));
    machine.cgroup_memory = 512 << 20;
    check(hardware, machine, "container memory", Level::hint, "512 MiB", "memory.max");
    machine.cgroup_cpus = 0.5;
    check(hardware, machine, "container cpu", Level::hint, "0.50 of a CPU", "cpu.max");
    machine.counters = {{"eth2", "rx_prio3_pause", 7}};
    check(hardware, machine, "counters", Level::hint, "rx_prio3_pause is 7",
          "UCX_BE_BYTE_CREDIT");
    machine.counters = {{"mlx5_0:1", "rnr_nak_retry_err", 9}};
    check(hardware, machine, "counters", Level::hint, "rnr_nak_retry_err is 9", "PFC");
}

BOOST_AUTO_TEST_CASE(what_keeps_the_transport_out_is_a_problem)
{
    Report report = report_with(false);
    BOOST_TEST(!any_problem(advise(report, good_machine())));
    report.ucx->version = {1, 15, 0};
    check(report, good_machine(), "ucx", Level::problem, "1.15.0 is found", "--with-ucx");
    report.ucx.reset();
    report.ucx_problem = "no libucp.so.0";
    check(report, good_machine(), "ucx", Level::problem, "no libucp.so.0", "install");
    report                 = report_with(false);
    report.modules         = "";
    report.modules_problem = "no libuct_be.so";
    check(report, good_machine(), "modules", Level::problem, "no libuct_be.so", "be_run");
    report                         = report_with(false);
    report.devices.ports[0].usable = false;
    report.devices.reason          = "mlx5_0 is down";
    check(report, good_machine(), "device", Level::problem, "mlx5_0 is down",
          "UCX_BE_SOFT");
    BOOST_TEST(any_problem(advise(report, good_machine())));
}

BOOST_AUTO_TEST_CASE(a_machine_is_read)
{
    const std::string cpus     = "/sys/devices/system/cpu/";
    const std::string counters = "/sys/class/infiniband/mlx5_0/ports/1/hw_counters/";
    Root root;
    root.write("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "17");
    root.write("/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]");
    root.write(cpus + "cpu0/cpufreq/scaling_governor", "powersave");
    root.write(cpus + "cpu1/cpufreq/scaling_governor", "powersave");
    root.write(cpus + "cpufreq/scaling_governor", "no CPU");
    root.write("/sys/devices/system/node/node0/cpulist", "0-1,4");
    root.write("/proc/self/cgroup", "0::/outer/inner");
    root.write("/sys/fs/cgroup/outer/memory.max", "1000000");
    root.write("/sys/fs/cgroup/outer/inner/memory.max", "max");
    root.write("/sys/fs/cgroup/outer/inner/cpu.max", "50000 100000");
    root.write(counters + "rnr_nak_retry_err", "3");
    root.write(counters + "out_of_buffer", "0");

    const Machine machine = inspect_machine({port(false), port(true)}, root.path());
    BOOST_TEST(machine.free_huge_pages.value() == 17u);
    BOOST_TEST(machine.transparent_huge_pages == "never");
    BOOST_TEST(machine.governors.size() == 1u);
    BOOST_TEST(machine.governors.at("powersave") == 2u);
    BOOST_TEST((machine.nodes.at(0) == std::vector<unsigned>{0, 1, 4}));
    BOOST_TEST(machine.cgroup_memory.value() == 1000000u);
    BOOST_TEST(machine.cgroup_cpus.value() == 0.5);
    BOOST_REQUIRE(machine.counters.size() == 1u);
    BOOST_TEST(machine.counters[0].name == "rnr_nak_retry_err");
    BOOST_TEST(machine.counters[0].value == 3u);
    BOOST_TEST(!machine.cpus.empty());
}

BOOST_AUTO_TEST_CASE(an_empty_or_odd_machine_is_read_too)
{
    Root root;
    BOOST_TEST(!inspect_machine({}, root.path()).free_huge_pages);
    root.write("/sys/kernel/mm/transparent_hugepage/enabled", "]odd[");
    root.write("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "many");
    root.write("/proc/self/cgroup", "12:cpu:/old");
    const Machine machine = inspect_machine({}, root.path());
    BOOST_TEST(machine.transparent_huge_pages == "");
    BOOST_TEST(!machine.free_huge_pages);
    BOOST_TEST(!machine.cgroup_memory);
    BOOST_TEST(parse_cpu_list("3-1,x,99999999-99999999999").empty());
    (void)advise(report_with(false), machine);
}

BOOST_AUTO_TEST_CASE(both_forms_of_output)
{
    const auto advice = advise(report_with(true), good_machine());
    const auto text   = to_text(advice);
    BOOST_TEST(text.find("hint     device: the software device") != std::string::npos,
               text);
    BOOST_TEST(text.ends_with("0 problems, 1 hints\n"), text);
    const auto json = nlohmann::json::parse(to_json(advice));
    BOOST_TEST(json["schema_version"] == 1);
    BOOST_TEST(json["problem"] == false);
    BOOST_TEST(json["advice"].size() == advice.size());
    BOOST_TEST(json["advice"][0]["topic"] == "device");
    BOOST_TEST(json["advice"][0]["level"] == "hint");
}

BOOST_AUTO_TEST_CASE(where_metrics_can_be_served)
{
    Machine machine       = good_machine();
    const fs::path folder = fs::temp_directory_path() /
                            ("be-doctor." + std::to_string(getpid()));
    const auto inspect = [&](const char *where) {
        setenv("UCX_BE_METRICS", where, 1);
        inspect_metrics(machine, folder.string());
        unsetenv("UCX_BE_METRICS");
    };
    inspect("");
    BOOST_TEST((find(advise(report_with(false), machine), "metrics") == nullptr));
    inspect("127.0.0.1:0"); // without the library
    check(report_with(false), machine, "metrics", Level::problem, "prometheus-cpp-dev",
          "127.0.0.1:9400+");
    fs::create_directories(folder);
    std::ofstream(folder / "libbe_metrics.so") << "a library";
    inspect("here");
    check(report_with(false), machine, "metrics", Level::problem,
          "'here': expected ADDRESS:PORT", "ports that are free");
    inspect("192.0.2.1:9400"); // of another machine
    check(report_with(false), machine, "metrics", Level::problem,
          "192.0.2.1:9400: ", "an address of this machine");
    inspect("127.0.0.1:0");
    check(report_with(false), machine, "metrics", Level::good, "127.0.0.1:0", "");
    fs::remove_all(folder);
}
