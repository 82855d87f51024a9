/* SPDX-License-Identifier: BSD-3-Clause */
/* Preloaded in test/uct/guard.sh: makes the plugin believe that UCX is of another release. */
__attribute__((visibility("default"))) void
ucp_get_version(unsigned *major, unsigned *minor, unsigned *release);

void ucp_get_version(unsigned *major, unsigned *minor, unsigned *release)
{
    *major   = 1;
    *minor   = 99;
    *release = 7;
}
