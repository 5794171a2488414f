// Numbers that JavaScript uses in place of pointers.
#pragma once

#include <cstdint>
#include <vector>

namespace slotline {

/**
 * Objects by handle. A handle is a number that is never valid again after its object was removed,
 * so JavaScript that uses one too long gets an error, not freed memory.
 */
template <typename T> class Table {
public:
    static constexpr uint32_t SLOTS = 1u << 24;

    double add(T *object) {
        uint32_t slot;
        if (unused.empty()) {
            slot = (uint32_t) entries.size();
            entries.push_back({nullptr, 0});
        } else {
            slot = unused.back();
            unused.pop_back();
        }
        Entry &entry = entries[slot];
        entry.object = object;
        return (double) slot + (double) entry.generation * SLOTS;
    }

    /** nullptr where the handle is not, or no longer, valid. */
    T *find(double handle) const {
        const Entry *entry = entryOf(handle);
        return entry == nullptr ? nullptr : entry->object;
    }

    void remove(double handle) {
        if (find(handle) == nullptr) return;
        uint32_t slot = slotOf(handle);
        entries[slot].object = nullptr;
        // 2^29 generations of 2^24 slots are exact in a double.
        entries[slot].generation = (entries[slot].generation + 1) & ((1u << 29) - 1);
        unused.push_back(slot);
    }

    static uint32_t slotOf(double handle) { return (uint32_t) ((uint64_t) handle % SLOTS); }

private:
    struct Entry {
        T *object;
        uint32_t generation;
    };

    const Entry *entryOf(double handle) const {
        // Also false for NaN.
        if (!(handle >= 0 && handle < 9007199254740992.0)) return nullptr;
        uint32_t slot = slotOf(handle);
        if (slot >= entries.size()) return nullptr;
        const Entry &entry = entries[slot];
        return entry.generation == (uint64_t) handle / SLOTS ? &entry : nullptr;
    }

    std::vector<Entry> entries;
    std::vector<uint32_t> unused;
};

} // namespace slotline
