/* SPDX-License-Identifier: BSD-3-Clause */
/* The UCT component `be` and how it gets into a process. */
#include "ep.h"
#include "guard.h"
#include "log.h"
#include "md.h"
#include "rkey.h"

#include <ucs/sys/module.h>

#include <stdio.h>

static uct_component_t uct_be_component;

/* Did the user ask for this transport by name, or does UCX look at all it can find? */
static int be_is_requested(void)
{
    const char *list = getenv("UCX_TLS");
    size_t length;

    while ((list != NULL) && (*list != '\0')) {
        length = strcspn(list, ",");
        if ((length == 2) && !strncmp(list, "be", 2)) {
            return 1;
        }
        list += length + (list[length] == ',');
    }

    return 0;
}

static ucs_status_t query_md_resources(uct_component_t *component,
                                       uct_md_resource_desc_t **resources_p,
                                       unsigned *num_resources_p)
{
    static int explained = 0;
    const uct_be_devices_t *devices;
    uct_md_resource_desc_t *resources;
    const be_port_info_t *port;
    uct_be_md_config_t config;
    unsigned next, count;
    ucs_status_t status;
    be_soft_mode_t soft;

    /* UCT passes no configuration here, but what devices there are depends on it. */
    status = uct_be_config_read(&component->md_config, UCS_DEFAULT_ENV_PREFIX, &config);
    if (status != UCS_OK) {
        return status; /* the parser has said which variable is wrong */
    }
    soft = config.soft;
    ucs_config_parser_release_opts(&config, component->md_config.table);

    devices = uct_be_devices_get(soft);
    if (devices == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    if ((devices->why[0] != '\0') && !explained) {
        explained = 1;
        ucs_log(be_is_requested() ? UCS_LOG_LEVEL_WARN : UCS_LOG_LEVEL_DEBUG,
                "be: no usable RDMA device: %s", devices->why);
    }

    for (next = 0, count = 0; uct_be_devices_next(devices, &next, &port); ++count) {
    }
    if (count == 0) {
        return uct_md_query_empty_md_resource(resources_p, num_resources_p);
    }

    resources = ucs_calloc(count, sizeof(*resources), "be_md_resources");
    if (resources == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    for (next = 0, count = 0; uct_be_devices_next(devices, &next, &port); ++count) {
        uct_be_devices_md_name(devices, port, resources[count].md_name);
    }

    *resources_p     = resources;
    *num_resources_p = count;
    return UCS_OK;
}

static ucs_status_t rkey_unpack(uct_component_t *component,
                                const void *buffer UCT_BE_RKEY_UNPACK_PARAMS_ARG,
                                uct_rkey_t *rkey_p, void **handle_p)
{
    *handle_p = NULL;
    return uct_be_rkey_unpack_buffer(buffer, rkey_p);
}

static uct_component_t uct_be_component = {
        .name               = "be",
        .query_md_resources = query_md_resources,
        .md_open            = uct_be_md_open,
        .cm_open = (uct_component_cm_open_func_t)ucs_empty_function_return_unsupported,
        .rkey_unpack = rkey_unpack,
        .rkey_ptr = (uct_component_rkey_ptr_func_t)ucs_empty_function_return_unsupported,
        .rkey_release = (uct_component_rkey_release_func_t)
                ucs_empty_function_return_success,
        .md_config   = {.name   = "BE memory domain",
                        .prefix = "BE_",
                        .table  = uct_be_md_config_table,
                        .size   = sizeof(uct_be_md_config_t)},
        .cm_config   = UCS_CONFIG_EMPTY_GLOBAL_LIST_ENTRY,
        .tl_list     = UCT_COMPONENT_TL_LIST_INITIALIZER(&uct_be_component),
        .flags       = 0,
        .md_vfs_init = uct_be_md_vfs_init,
        UCT_BE_COMPONENT_OF_RELEASE};

static UCT_TL_DEFINE_ENTRY(&uct_be_component, be, uct_be_md_query_ports, uct_be_iface_t,
                           "BE_", uct_be_iface_config_table, uct_be_iface_config_t);

/* Registered by whoever comes first: the loader of the library, UCX's loader of modules, or the
 * application that calls uct_be_init() because it links the library statically. */
static enum {
    NOT_YET,
    REGISTERED,
    NEVER_AGAIN
} registration = NOT_YET;

__attribute__((visibility("default"))) void uct_be_init(void)
{
    char why[UCT_BE_WHY_MAX];

    if (registration != NOT_YET) {
        return;
    }

    if (!uct_be_guard_check(why, sizeof(why))) {
        fprintf(stderr, "libuct_be: not registered: %s\n", why);
        registration = NEVER_AGAIN;
        return;
    }

    uct_be_log_init();
    uct_component_register(&uct_be_component);
    uct_tl_register(&uct_be_component, &UCT_TL_NAME(be));
    registration = REGISTERED;
}

__attribute__((visibility("default"))) void uct_be_cleanup(void)
{
    if (registration != REGISTERED) {
        return;
    }

    uct_be_log_cleanup();
    uct_tl_unregister(&UCT_TL_NAME(be));
    uct_component_unregister(&uct_be_component);
    registration = NEVER_AGAIN; /* UCX keeps the component in its list */
}

UCS_F_CTOR static void on_load(void)
{
    uct_be_init();
}

UCS_F_DTOR static void on_exit_of_process(void)
{
    uct_be_cleanup();
}

UCS_MODULE_INIT()
{
    uct_be_init();
    return (registration == REGISTERED) ? UCS_OK : UCS_ERR_UNSUPPORTED;
}
