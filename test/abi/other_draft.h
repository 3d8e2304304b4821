/* SPDX-License-Identifier: Apache-2.0 */
/* Included before all else, it makes of a program or plugin one whose draft no release has. */
#include <compute_backend.h>
#undef CB_ABI_DRAFT
#define CB_ABI_DRAFT 4711
