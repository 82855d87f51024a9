/* SPDX-License-Identifier: BSD-3-Clause */
/* An application that has the transport linked in: exits 0 when UCX lists component be. */
#include <uct/api/uct.h>

#include <stdio.h>
#include <string.h>

int main(void)
{
    uct_component_h *components;
    unsigned count, i;
    int found = 0;

    if (uct_query_components(&components, &count) != UCS_OK) {
        fprintf(stderr, "uct_query_components failed\n");
        return 1;
    }

    for (i = 0; i < count; ++i) {
        uct_component_attr_t attr = {.field_mask = UCT_COMPONENT_ATTR_FIELD_NAME};

        if (uct_component_query(components[i], &attr) == UCS_OK) {
            printf("component %s\n", attr.name);
            found = found || (strcmp(attr.name, "be") == 0);
        }
    }

    uct_release_component_list(components);
    return found ? 0 : 1;
}
