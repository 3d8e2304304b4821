/* SPDX-License-Identifier: Apache-2.0 */
/* What a probe answers, as bytes in a pipe:
 *
 *     cb-probe 1
 *     state=0
 *     reason=one line
 *     end
 *
 * The writer may have run code of anybody's, so the reader believes nothing. */
#ifndef CBL_PROBE_MESSAGE_H
#define CBL_PROBE_MESSAGE_H

#include "manifest.h"

/* Longer ones are no messages. */
#define CBL_PROBE_MESSAGE_MAX (16 * 1024)

/* A verdict of a probe: CB_STATE_FOUND when all went well. */
void cbl_probe_message_write(struct text *t, uint32_t state, const char *reason);

/* false: it is no message; *state and *reason are then as they were. reason points into bytes. */
bool cbl_probe_message_read(struct slice bytes, uint32_t *state, struct slice *reason);

#endif
