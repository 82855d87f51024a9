/* SPDX-License-Identifier: BSD-3-Clause */
#include "devices.h"

#include <stdatomic.h>
#include <stdio.h>

static _Atomic(uct_be_devices_t *) devices_found[BE_SOFT_NO + 1];

/* Adds what each port says for itself, since "no device" alone helps nobody. */
static void devices_explain(uct_be_devices_t *devices, const char *why)
{
    size_t used;
    unsigned i;

    snprintf(devices->why, sizeof(devices->why), "%s", why);
    for (i = 0; i < devices->num_ports; ++i) {
        if (devices->ports[i].usable) {
            devices->why[0] = '\0';
            return;
        }
    }

    for (i = 0; i < devices->num_ports; ++i) {
        used = strlen(devices->why);
        snprintf(devices->why + used, sizeof(devices->why) - used, "%s%s:%d: %s",
                 (used > 0) ? "; " : "", devices->ports[i].device, devices->ports[i].port,
                 devices->ports[i].reason);
    }
}

const uct_be_devices_t *uct_be_devices_get(be_soft_mode_t mode)
{
    uct_be_devices_t *devices = atomic_load(&devices_found[mode]);
    uct_be_devices_t *other   = NULL;
    be_port_info_t *ports     = NULL;
    unsigned num_ports        = 0;
    char why[UCT_BE_WHY_MAX]  = "";
    be_status_t status;

    if (devices != NULL) {
        return devices;
    }

    devices = ucs_calloc(1, sizeof(*devices), "be_devices");
    if (devices == NULL) {
        ucs_error("be: cannot allocate the list of devices");
        return NULL;
    }

    status = be_ports_query(mode, &ports, &num_ports, why, sizeof(why));
    if ((status != BE_OK) && (why[0] == '\0')) {
        snprintf(why, sizeof(why), "%s", be_status_string(status));
    }

    devices->ports     = ports;
    devices->num_ports = (status == BE_OK) ? num_ports : 0;
    devices_explain(devices, why);

    if (!atomic_compare_exchange_strong(&devices_found[mode], &other, devices)) {
        /* Another thread was faster. */
        be_ports_release(ports);
        ucs_free(devices);
        devices = other;
    }
    return devices;
}

int uct_be_devices_next(const uct_be_devices_t *devices, unsigned *port_p,
                        const be_port_info_t **first_port_p)
{
    const be_port_info_t *port;
    unsigned i, j;

    for (i = *port_p; i < devices->num_ports; ++i) {
        port = &devices->ports[i];
        if (!port->usable) {
            continue;
        }

        for (j = 0; j < i; ++j) {
            if (devices->ports[j].usable &&
                !strcmp(devices->ports[j].device, port->device)) {
                break; /* not the first of its device */
            }
        }
        if (j == i) {
            *port_p       = i + 1;
            *first_port_p = port;
            return 1;
        }
    }

    return 0;
}

void uct_be_devices_md_name(const uct_be_devices_t *devices, const be_port_info_t *port,
                            char name[UCT_MD_NAME_MAX])
{
    int length = snprintf(name, UCT_MD_NAME_MAX, "be_%s", port->device);

    if (length >= UCT_MD_NAME_MAX) {
        /* The start says the driver and the index makes it unique. */
        snprintf(name, UCT_MD_NAME_MAX, "be_%.6s~%u", port->device,
                 (unsigned)(port - devices->ports) & 0xffff);
    }
}

const be_port_info_t *
uct_be_devices_find_md(const uct_be_devices_t *devices, const char *md_name)
{
    const be_port_info_t *port;
    char name[UCT_MD_NAME_MAX];
    unsigned next = 0;

    while (uct_be_devices_next(devices, &next, &port)) {
        uct_be_devices_md_name(devices, port, name);
        if (!strcmp(name, md_name)) {
            return port;
        }
    }

    return NULL;
}

void uct_be_devices_resource_name(const be_port_info_t *port,
                                  uct_be_resource_name_t style,
                                  char name[UCT_DEVICE_NAME_MAX])
{
    if ((style == UCT_BE_RESOURCE_NETDEV) && (port->netdev[0] != '\0')) {
        snprintf(name, UCT_DEVICE_NAME_MAX, "%.*s", UCT_DEVICE_NAME_MAX - 1,
                 port->netdev);
    } else {
        snprintf(name, UCT_DEVICE_NAME_MAX, "%.*s:%d", UCT_DEVICE_NAME_MAX - 5,
                 port->device, port->port);
    }
}
