/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * libbe_preload.so: brings the transport into a UCX that has no plugin path.
 *
 * UCX up to 1.21 opens only the modules that it was compiled with. This library,
 * named in LD_PRELOAD, stands in front of uct_query_components(): on the first
 * call it opens libuct_be.so.0 from its own folder, whose constructor registers
 * the component, and then passes every call on. It has no dependency of its own,
 * so that a process which never uses UCX (a shell, a launcher) pays one file
 * mapping and nothing more.
 *
 * Threads: uct_query_components() may be called from any thread.
 * Errors: one line on stderr; the program goes on with the transports UCX has.
 */
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define BE_EXPORT __attribute__((visibility("default")))
#define BE_PLUGIN "libuct_be.so.0"

/* UCX's own types are not used: they are pointers and an int for the ABI. */
typedef int (*query_components_func_t)(void ***components, unsigned *num_components);

#define STATUS_UNSUPPORTED (-22) /* UCS_ERR_UNSUPPORTED, ucs/type/status.h */

static query_components_func_t real_query_components;

BE_EXPORT int uct_query_components(void ***components, unsigned *num_components);


static void find_real_function(void)
{
    /* UCT may have been loaded outside the global scope, where RTLD_NEXT is blind */
    void *uct   = dlopen("libuct.so.0", RTLD_LAZY | RTLD_NOLOAD);
    void *scope = (uct != NULL) ? uct : RTLD_NEXT;

    *(void **)&real_query_components = dlsym(scope, "uct_query_components");
}


static void load_plugin(void)
{
    char path[PATH_MAX];
    const char *slash;
    Dl_info info;
    int length;

    find_real_function();
    if (real_query_components == NULL) {
        fprintf(stderr, "libbe_preload: uct_query_components not found in libuct.so.0: "
                        "transport be is not available\n");
        return;
    }

    if (!dladdr(&real_query_components, &info) || (info.dli_fname == NULL)) {
        fprintf(stderr, "libbe_preload: cannot tell which folder it was loaded from: "
                        "transport be is not available\n");
        return;
    }

    slash  = strrchr(info.dli_fname, '/');
    length = (slash == NULL) ? 0 : (int)(slash + 1 - info.dli_fname);
    if (snprintf(path, sizeof(path), "%.*s" BE_PLUGIN, length, info.dli_fname) >=
        (int)sizeof(path)) {
        fprintf(stderr,
                "libbe_preload: path of its folder is longer than %d: "
                "transport be is not available\n",
                PATH_MAX);
        return;
    }

    if (dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) == NULL) {
        fprintf(stderr, "libbe_preload: %s: transport be is not available\n", dlerror());
    }
}


BE_EXPORT int uct_query_components(void ***components, unsigned *num_components)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, load_plugin);
    if (real_query_components == NULL) {
        return STATUS_UNSUPPORTED;
    }

    return real_query_components(components, num_components);
}
