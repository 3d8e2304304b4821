/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of cb doctor share. The command opens a loader, which runs nothing of a plugin's;
 * all that does is done in children (doctor_child.c, doctor_check.c), which write into memory that
 * they share with the command. doctor_facts.c asks the system, doctor_judge.c says what is wrong,
 * doctor_text.c and doctor_json.c write the page. */
#ifndef CMD_DOCTOR_H
#define CMD_DOCTOR_H

#include "cmd.h"
#include "text.h"

#include <stdatomic.h>

/* ---- doctor_child.c ---- */

/* How a child is doing, and how it ended. In shared memory, as is what it is the first member of:
 * a child that breaks may leave anything in there, so the command terminates what it reads. */
struct child {
    _Atomic uint64_t progress; /* whatever changes it shows that the child lives */
    bool done;                 /* the work was finished */
    char end[160];             /* by the command: how it ended when the work was not finished */
    uint64_t milliseconds;
};

/* Memory that children share; zeroes, or NULL. */
void *shared_alloc(uint64_t size);
void shared_free(void *memory, uint64_t size);

/* Does the work in a process of its own, which is killed when it makes no progress for so long. */
void child_run(struct child *c, uint64_t timeout_ms, void (*work)(struct child *c, void *ctx),
               void *ctx);

/* ---- doctor_check.c: what is done in children ---- */

#define SELECTION_ROOM (1u << 20)

/* What a program would get, and the loader's report of it. */
struct selection {
    struct child child;
    char id[64]; /* "" when nothing can be selected */
    char why[sizeof(((cb_error *)0)->msg)];
    char text[SELECTION_ROOM], json[SELECTION_ROOM]; /* "" when they are too long */
};

#define DEVICES_SHOWN  8
#define FAILURES_SHOWN 5

/* What a backend does when it is made to work. */
struct checkup {
    struct child child;
    bool opened, no_device;
    char why[sizeof(((cb_error *)0)->msg)]; /* it could not be opened */
    uint32_t n_devices;
    struct {
        char name[128], id[128];
        uint32_t memory_kind;
        uint64_t bytes;
    } devices[DEVICES_SHOWN];
    uint64_t passed, failed, skipped;
    char current[160]; /* the case that was begun and not finished */
    struct {
        char spec[160], text[256];
    } failures[FAILURES_SHOWN];
};

/* Whether a plugin failed only for want of a device, which is no fault of its own. */
bool lacks_device(const cb_candidate *c);

void do_select(struct child *c, void *loader);

struct patient {
    cb_loader *loader;
    const char *id;
};
void do_checkup(struct child *c, void *patient);

/* Ends the strings that a child may have left without an end. */
void selection_seal(struct selection *s);
void checkup_seal(struct checkup *c);

/* ---- doctor_facts.c ---- */

struct facts {
    char system[256], library[64]; /* kernel and C library */
    char processor[128];           /* "" when the system does not say */
    struct text isa;               /* in the manifest's spelling */
    uint64_t online, usable;       /* processors */
};

void facts_read(struct facts *f);
void facts_free(struct facts *f);

/* ---- doctor.c: all that is on the page ---- */

struct backend_page {
    cb_candidate candidate;
    struct checkup *checkup; /* NULL: it was not tried, since its priority is 0 */
};

struct problem {
    char *what, *remedy;
};

struct page {
    cb_loader *loader;
    struct facts facts;
    struct selection *selection;
    char *config_text, *config_json, *report_text, *report_json; /* the loader's words */
    struct backend_page *backends;
    uint64_t n_backends;
    struct problem *problems;
    uint64_t n_problems;
    bool no_memory;
};

/* ---- doctor_judge.c ---- */

void page_judge(struct page *p);

/* ---- doctor_text.c, doctor_json.c ---- */

void page_to_text(const struct page *p, struct text *out);
void page_to_json(const struct page *p, struct text *out);

/* Replaces home directories by "~". */
void page_redact(struct text *t);

#endif
