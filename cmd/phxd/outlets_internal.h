/* What outlets.c and outlet_tell.c share. */
#ifndef PHXD_OUTLETS_INTERNAL_H
#define PHXD_OUTLETS_INTERNAL_H

#include <pthread.h>

#include "outlet/news.h"
#include "outlet/outlet.h"
#include "phxd/daemon.h"
#include "phxd/outlets.h"

enum outlet_kind { OUTLET_LOG, OUTLET_PROGRAM, OUTLET_WEBHOOK };
enum { OUTLETS_MAX = 1 + 2 * PHX_PROGRAMS_MAX + PHX_WEBHOOKS_MAX };

struct outlet {
	struct outlets *o;
	enum outlet_kind kind;
	char name[PHX_NAME_MAX];
	char cursor_path[PHX_CONFIG_TEXT_MAX + 100];
	pthread_t thread;
	bool started;
	/* of what follows, under the lock of `o` */
	bool ended, kicked;    /* kicked: tries again at once */
	int stop_fd;           /* of the socket to its process; 0: it has none */
	struct phx_list kinds; /* struct phx_word */
	uint32_t timeout_ms;
	uint64_t cursor;               /* told up to this event, or it is none for this outlet */
	uint64_t told, dropped, aside; /* since phxd started; aside: it refused them */
	uint64_t aside_seq;            /* the last of those */
	char aside_error[PHX_OUTLET_ERROR_MAX];
	char error[PHX_OUTLET_ERROR_MAX]; /* "": the last attempt went well */
	int64_t since_ms;                 /* that it fails */
	uint32_t attempts;                /* that failed, of the present event */
	/* of the thread alone */
	bool asked[PHX_EV_COUNT_];
	uint64_t saved; /* the cursor in the file */
	int64_t saved_ms, said_ms, aside_said_ms;
	struct phx_apart *process;
	struct phx_store_reader *reader;
};

struct outlets {
	struct daemon *d;
	pthread_mutex_t lock;
	pthread_cond_t news; /* for all threads */
	uint64_t last;       /* event of the journal */
	bool ended, reload;
	pthread_t manager;
	bool managed;
	struct outlet *all[OUTLETS_MAX]; /* changed by the manager alone */
	uint32_t n;
	char wrong[PHX_OUTLET_ERROR_MAX]; /* why event_dir cannot be looked at; "" */
};

/** The thread of an outlet, whose argument it is: tells it events until it is ended. */
void *outlet_run(void *outlet);
/** The event up to which it was told, from its file; a new outlet is told what happens from now on,
 * and has its file from the beginning. */
void outlet_begin(struct outlet *x);
/** Has the launcher start a process: `ret` is the caller's, and *ret_stop a descriptor whose
 * shutdown ends it and whoever waits for its answer. */
int outlet_process(struct daemon *d, enum outlet_process which, struct phx_apart **ret,
		   int *ret_stop, struct phx_err *err);

#endif
