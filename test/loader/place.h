/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the loader share: a folder of a test's own, an environment in which only that
 * folder is searched, files good and bad to put there, and short ways to ask a loader. Everything
 * fails the running cmocka test when it goes wrong. Strings live until the end of the test. */
#ifndef TEST_LOADER_PLACE_H
#define TEST_LOADER_PLACE_H

#include "backend.h"
#include "cb_loader.h"

/* A cmocka setup and teardown: makes the folder, readable by anybody, clears every CB_ and MOCK_
 * variable, and sets CB_PLUGINS to the folder, CB_CONFIG to an empty configuration and CB_TRUST to
 * off. */
int place_setup(void **state);
int place_teardown(void **state);
#define PLACE_TEST(test) cmocka_unit_test_setup_teardown(test, place_setup, place_teardown)

/* snprintf into a string that lives until the end of the test. */
const char *text_of(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The absolute path of a name in the test's folder; "" is the folder. */
const char *path_of(const char *name);

/* Links a built mock, such as "good", into the folder as libcb_good.so, or under another name. A
 * link, not a copy: a file removed and made again may get the inode of one that is still mapped. */
void plant(const char *mock);
void plant_as(const char *mock, const char *name);
const char *mock_path(const char *mock);

void write_bytes(const char *name, const void *bytes, size_t size);
void write_text(const char *name, const char *text);
void copy_file(const char *from, const char *name, unsigned mode);
void make_folder(const char *name);

/* What a file in the folder holds. */
const char *text_in(const char *name);

/* Writes text to NAME in the folder and makes it the configuration. */
void configure(const char *name, const char *text);

cb_loader *open_loader(void);
void close_loader(cb_loader *loader);

/* Selects what an id (or NULL: the best) gives, and what a request gives. */
cb_backend select_id(cb_loader *loader, const char *id);
cb_backend select_request(cb_loader *loader, const cb_request *request);

/* Asserts that nothing can be selected, and returns the message. */
const char *select_fails(cb_loader *loader, const cb_request *request, cb_status want);

void release(cb_loader *loader, cb_backend be);

/* Selects the best, releases it and returns its name. */
const char *best(cb_loader *loader);

/* The first candidate whose file name or id is NAME; fails the test when there is none. */
cb_candidate candidate(cb_loader *loader, const char *name);
uint64_t count_candidates(cb_loader *loader, const char *name);

const char *report(cb_loader *loader);

/* What a backend's info says of a key. */
const char *fact(cb_backend be, const char *key);

/* Asserts that text has part in it, whatever the case of the letters, or has it not. */
void has_text_at(const char *text, const char *part, int want, const char *file, int line);
#define HAS_TEXT(text, part)   has_text_at(text, part, 1, __FILE__, __LINE__)
#define LACKS_TEXT(text, part) has_text_at(text, part, 0, __FILE__, __LINE__)

/* A log callback that keeps lines, from any thread; ctx is a struct said. */
struct said {
    char text[1 << 16];
    int lines;
    int32_t least; /* the least severe level heard */
};
void keep_said(void *ctx, int32_t level, const char *text);

/* Runs a program with this process's environment and waits for it. */
struct outcome {
    int status; /* the exit status, or 128 + the signal */
    const char *out, *err;
};
struct outcome run_program(const char *const argv[]);

/* Puts what makes a command run as uid 65534 before argv (of at most 8 words), or skips the test
 * when that cannot be done. A process that is not root runs argv as it is. */
struct outcome run_unprivileged(const char *test, const char *const argv[]);

#endif
