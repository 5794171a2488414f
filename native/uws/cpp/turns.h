// How long the turns of the event loop take.
#pragma once

#include <uv.h>

#include <algorithm>
#include <ctime>
#include <vector>

namespace slotline {

/**
 * Measures the turns of an event loop: everything between two waits for events, in C++, Rust and
 * JavaScript. Costs a turn one read of a clock and a lock that nothing contends for, about 60 ns.
 */
class Turns {
public:
    /** Counts from now on, by bucket. `upperSeconds` are ascending upper bounds. */
    void start(uv_loop_t *loop, std::vector<double> upperSeconds) {
        bounds = std::move(upperSeconds);
        counts.assign(bounds.size() + 1, 0);
        if (watcher.loop != nullptr) return;
        uv_loop_configure(loop, UV_METRICS_IDLE_TIME);
        uv_prepare_init(loop, &watcher);
        uv_unref((uv_handle_t *) &watcher);
        watcher.data = this;
        lastNs = uv_hrtime();
        lastIdleNs = uv_metrics_idle_time(loop);
        cpuReadNs = lastNs;
        lastCpuNs = readCpu();
        // Runs right before each wait.
        uv_prepare_start(&watcher, [](uv_prepare_t *handle) {
            static_cast<Turns *>(handle->data)->onTurn();
        });
    }

    /**
     * What was measured since the last call: the counts by bucket and of longer ones, the sum of
     * all, the longest, and the most processor time of one, each in seconds.
     */
    std::vector<double> take() {
        std::vector<double> taken(counts);
        taken.insert(taken.end(), {sumNs * 1e-9, longestNs * 1e-9, longestCpuNs * 1e-9});
        std::fill(counts.begin(), counts.end(), 0);
        sumNs = longestNs = longestCpuNs = 0;
        return taken;
    }

private:
    /** Processor time is read at most this often: it costs a system call. */
    static constexpr uint64_t CPU_READ_NS = 1'000'000;

    uv_prepare_t watcher = {};
    std::vector<double> bounds;
    std::vector<double> counts;
    double sumNs = 0, longestNs = 0, longestCpuNs = 0;
    uint64_t lastNs = 0, lastIdleNs = 0, cpuReadNs = 0, lastCpuNs = 0;

    static uint64_t readCpu() {
        timespec time = {};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        return (uint64_t) time.tv_sec * 1'000'000'000 + (uint64_t) time.tv_nsec;
    }

    void onTurn() {
        uint64_t now = uv_hrtime();
        uint64_t idle = uv_metrics_idle_time(watcher.loop);
        double turn = (double) (now - lastNs) - (double) (idle - lastIdleNs);
        lastNs = now;
        lastIdleNs = idle;
        size_t bucket = 0;
        while (bucket < bounds.size() && turn * 1e-9 > bounds[bucket]) bucket++;
        counts[bucket]++;
        sumNs += turn;
        longestNs = std::max(longestNs, turn);
        double cpu = turn;
        if (now - cpuReadNs >= CPU_READ_NS) {
            // Of this turn, and of those less than 1 ms before it.
            uint64_t cpuNs = readCpu();
            cpu = std::min(turn, (double) (cpuNs - lastCpuNs));
            lastCpuNs = cpuNs;
            cpuReadNs = now;
        }
        longestCpuNs = std::max(longestCpuNs, cpu);
    }
};

} // namespace slotline
