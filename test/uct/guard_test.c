/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plugin's guard against another UCX, with a UCX made up here: its version and the sizes of its
 * classes are what this program says. Not linked with UCX.
 */
#include <ucx_be/compat.h>
#include <ucx_be/guard.h>

#include <stdio.h>

ucs_list_link_t uct_components_list;
ucs_class_t UCS_CLASS_DECL_NAME(uct_base_iface_t) = {.size = sizeof(uct_base_iface_t)};
ucs_class_t UCS_CLASS_DECL_NAME(uct_base_ep_t)    = {.size = sizeof(uct_base_ep_t)};
ucs_class_t UCS_CLASS_DECL_NAME(uct_iface_t)      = {.size = sizeof(uct_iface_t)};

static unsigned running_major = UCT_VERNO_MAJOR;
static unsigned running_minor = UCT_VERNO_MINOR;

/* Found by its name, as in libucp. */
__attribute__((visibility("default"))) void
ucp_get_version(unsigned *major, unsigned *minor, unsigned *release)
{
    *major   = running_major;
    *minor   = running_minor;
    *release = 9;
}

static int failures = 0;

static void expect(const char *what, int accepted, const char *text)
{
    char why[256] = "";
    int good;

    good = (uct_be_guard_check(why, sizeof(why)) == accepted) &&
           (accepted || (strstr(why, text) != NULL));
    printf("%s %s%s%s\n", good ? "ok  " : "FAIL", what, accepted ? "" : ": ", why);
    failures += !good;
}

int main(void)
{
    char text[128];

    expect("the release it was built for", 1, NULL);

    running_minor = UCT_VERNO_MINOR + 1;
    snprintf(text, sizeof(text), "built for UCX %d.%d, running UCX %d.%d.9",
             UCT_VERNO_MAJOR, UCT_VERNO_MINOR, UCT_VERNO_MAJOR, UCT_VERNO_MINOR + 1);
    expect("a later release", 0, text);

    running_minor = UCT_VERNO_MINOR;
    running_major = UCT_VERNO_MAJOR + 1;
    expect("another major release", 0, "running UCX 2.");

    running_major = UCT_VERNO_MAJOR;
    UCS_CLASS_DECL_NAME(uct_base_iface_t).size += 8;
    expect("interfaces of another size", 0, "uct_base_iface_t");
    UCS_CLASS_DECL_NAME(uct_base_iface_t).size -= 8;

    UCS_CLASS_DECL_NAME(uct_base_ep_t).size += 8;
    expect("endpoints of another size", 0, "uct_base_ep_t");
    UCS_CLASS_DECL_NAME(uct_base_ep_t).size -= 8;

    expect("the same again", 1, NULL);
    return failures != 0;
}
