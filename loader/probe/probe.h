/* SPDX-License-Identifier: Apache-2.0 */
/* What the two files of cb-probe share. */
#ifndef PROBE_H
#define PROBE_H

/* Opens a plugin with options "key=value", ended by NULL, as a host would up to its devices, writes
 * the message of probe_message.h to a descriptor, and never returns. */
_Noreturn void try_plugin(const char *path, char *const *options, int to);

#endif
