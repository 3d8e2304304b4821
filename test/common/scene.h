/* SPDX-License-Identifier: Apache-2.0 */
/* An instance with two streams, an event and two buffers of floats. */
#ifndef TEST_COMMON_SCENE_H
#define TEST_COMMON_SCENE_H

#include "backend.h"

#define COUNT 64
#define BYTES (COUNT * sizeof(float))

struct scene {
    cb_backend be;
    const compute_backend_v1 *api;
    void *self;
    cb_stream *stream[2];
    cb_event *event;
    uint64_t buffer[2];
    uint64_t large; /* of scene_slow; 0: not yet */
};

/* options: as for test_open. */
void scene_open(struct scene *s, const char *const *options);
/* All but the instance may be gone already. */
void scene_close(struct scene *s);

/* Asynchronous; stream 0, 1, or -1 for the default one. */
void scene_set(struct scene *s, int stream, int buffer, uint32_t value);
void scene_put(struct scene *s, int stream, int buffer, const float *x);
cb_status scene_get(struct scene *s, int stream, int buffer, float *x, cb_error *err);
/* Adds one buffer to another. */
void scene_add(struct scene *s, int stream, int to, int from);
void scene_record(struct scene *s, int stream);
void scene_wait(struct scene *s, int stream);
void scene_finish(struct scene *s, int stream);
/* Work that is so large that it is not done for some time after a few more calls. */
void scene_slow(struct scene *s, int stream);
/* What event_query tells of the event. */
int scene_is_done(struct scene *s);

/* COUNT elements: value, value + 1, ... */
void scene_fill(float *x, float value);
/* Fails unless element i is value + step * i. */
void scene_expect(const float *x, float value, float step);

#endif
