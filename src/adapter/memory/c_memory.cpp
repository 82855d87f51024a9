// SPDX-License-Identifier: BSD-3-Clause
#include <byteexpress/memory.h>

#include <byteexpress/allocator.hpp>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <system_error>

struct be_allocator {
    explicit be_allocator(const be::AllocatorOptions &options) : memory(options)
    {
    }

    be::Allocator memory;
};

namespace {

be::AllocatorOptions options_of(const be_allocator_params_t &params)
{
    be::AllocatorOptions options;
    if (params.map != nullptr) {
        options.mapper.map = [map = params.map, arg = params.arg](void *address,
                                                                  size_t length) {
            void *handle    = nullptr;
            const int error = map(arg, address, length, &handle);
            if (error != 0) {
                throw std::system_error(error, std::generic_category(),
                                        "mapping " + std::to_string(length) + " bytes");
            }
            return handle;
        };
    }
    if (params.unmap != nullptr) {
        options.mapper.unmap = [unmap = params.unmap, arg = params.arg](void *handle) {
            unmap(arg, handle);
        };
    }
    if (params.owner != nullptr) {
        options.owner = params.owner;
    }
    if (params.region != 0) {
        options.region = params.region;
    }
    if (params.limit != 0) {
        options.limit = params.limit;
    }
    options.receive_reserve = params.receive_reserve;
    options.numa_node       = params.numa_node;
    options.huge_pages      = params.no_huge_pages == 0;
    options.debug           = params.debug != 0;
    return options;
}

int fail(int error, const char *text, char *why, size_t why_size)
{
    if ((why != nullptr) && (why_size > 0)) {
        snprintf(why, why_size, "%s", text);
    }
    return error;
}

size_t alignment(size_t align)
{
    return (align == 0) ? be::Allocator::default_alignment : align;
}

} // namespace

void be_allocator_params_init(be_allocator_params_t *params)
{
    *params             = {};
    params->struct_size = sizeof(*params);
    params->numa_node   = be::AllocatorOptions::any_node;
}

int be_allocator_create(const be_allocator_params_t *params, be_allocator_t **allocator,
                        char *why, size_t why_size)
{
    be_allocator_params_t defaults;
    be_allocator_params_init(&defaults);
    if (params == nullptr) {
        params = &defaults;
    }
    if (params->struct_size != sizeof(*params)) {
        const std::string text = "struct_size " + std::to_string(params->struct_size) +
                                 ": " + std::to_string(sizeof(*params)) +
                                 " was expected (be_allocator_params_init() sets it)";
        return fail(EINVAL, text.c_str(), why, why_size);
    }
    try {
        *allocator = new be_allocator(options_of(*params));
        return 0;
    } catch (const std::invalid_argument &error) {
        return fail(EINVAL, error.what(), why, why_size);
    } catch (const std::exception &error) {
        return fail(ENOMEM, error.what(), why, why_size);
    }
}

void be_allocator_destroy(be_allocator_t *allocator)
{
    delete allocator;
}

void *be_alloc(be_allocator_t *allocator, size_t size, size_t align)
{
    return allocator->memory.try_allocate(size, alignment(align));
}

void be_free(be_allocator_t *allocator, void *address)
{
    allocator->memory.free(address);
}

void be_free_sized(be_allocator_t *allocator, void *address, size_t size, size_t align)
{
    allocator->memory.free(address, size, alignment(align));
}

int be_allocator_find(be_allocator_t *allocator, const void *address, void **handle)
{
    const be::Allocator::Region region = allocator->memory.find(address);
    *handle                            = region.handle;
    return region.found ? 1 : 0;
}

void be_allocator_stats(be_allocator_t *allocator, be_allocator_stats_t *stats)
{
    const be::AllocatorStats all = allocator->memory.stats();
    *stats = {all.mapped, all.mapped_peak, all.live, all.cached, all.maps, all.failures};
}
