/* SPDX-License-Identifier: BSD-3-Clause */
#include "guard.h"
#include "compat.h"

#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>

typedef void (*get_version_func_t)(unsigned *major, unsigned *minor, unsigned *release);

typedef struct {
    const char *name;
    const ucs_class_t *type;
    size_t built_size;
} layout_t;

extern ucs_class_t UCS_CLASS_DECL_NAME(uct_base_iface_t);
extern ucs_class_t UCS_CLASS_DECL_NAME(uct_base_ep_t);
extern ucs_class_t UCS_CLASS_DECL_NAME(uct_iface_t);

/* libuct does not tell its version, libucp does. A program that uses UCT alone, or loads UCP into
 * a scope of its own, has the libucp of its libuct beside that. */
static get_version_func_t find_get_version(void)
{
    get_version_func_t func = (get_version_func_t)dlsym(RTLD_DEFAULT, "ucp_get_version");
    char folder[PATH_MAX], path[PATH_MAX + sizeof("/libucp.so.0")];
    Dl_info info;
    void *library;

    if (func != NULL) {
        return func;
    }

    if (!dladdr(&uct_components_list, &info) || (info.dli_fname == NULL)) {
        return NULL;
    }

    snprintf(folder, sizeof(folder), "%s", info.dli_fname);
    snprintf(path, sizeof(path), "%s/libucp.so.0", dirname(folder));
    library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    return (library == NULL) ? NULL :
                               (get_version_func_t)dlsym(library, "ucp_get_version");
}

int uct_be_guard_check(char *why, size_t why_size)
{
    const layout_t layouts[] = {
            {"uct_base_iface_t", &UCS_CLASS_DECL_NAME(uct_base_iface_t),
             sizeof(uct_base_iface_t)},
            {"uct_base_ep_t", &UCS_CLASS_DECL_NAME(uct_base_ep_t), sizeof(uct_base_ep_t)},
            {"uct_iface_t", &UCS_CLASS_DECL_NAME(uct_iface_t), sizeof(uct_iface_t)}};
    get_version_func_t get_version = find_get_version();
    unsigned major = 0, minor = 0, release = 0;
    size_t i;

    if (get_version == NULL) {
        snprintf(why, why_size,
                 "built for UCX %d.%d, running a UCX whose version cannot be found "
                 "(no libucp beside libuct)",
                 UCT_VERNO_MAJOR, UCT_VERNO_MINOR);
        return 0;
    }

    get_version(&major, &minor, &release);
    if ((major != UCT_VERNO_MAJOR) || (minor != UCT_VERNO_MINOR)) {
        snprintf(why, why_size, "built for UCX %d.%d, running UCX %u.%u.%u",
                 UCT_VERNO_MAJOR, UCT_VERNO_MINOR, major, minor, release);
        return 0;
    }

    for (i = 0; i < ucs_static_array_size(layouts); ++i) {
        if (layouts[i].type->size != layouts[i].built_size) {
            snprintf(why, why_size,
                     "built for a UCX %u.%u whose %s has %zu bytes, running one where it "
                     "has %zu (other build options)",
                     major, minor, layouts[i].name, layouts[i].built_size,
                     layouts[i].type->size);
            return 0;
        }
    }

    return 1;
}
