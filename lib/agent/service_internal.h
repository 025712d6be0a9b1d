/* What service.c (the thread) and service_look.c (those who look) share. */
#ifndef PHX_AGENT_SERVICE_INTERNAL_H
#define PHX_AGENT_SERVICE_INTERNAL_H

#include <pthread.h>

#include "agent/config.h"
#include "agent/service.h"
#include "agent/service_backend.h"

enum { SERVICE_SAID_MAX = 140 };

enum slot_state { SLOT_DOWN, SLOT_UP, SLOT_DONE, SLOT_FAILED };

struct slot {
	const struct phx_service *svc; /* into role */
	enum slot_state state;
	struct service_proc proc;
	int status;
	int64_t started_ms, next_start_ms;
	uint32_t backoff_ms;
	bool drained;                      /* was told to let its clients go: it may end */
	char log_from[SERVICE_CURSOR_MAX]; /* where what it writes begins */
	char said[SERVICE_SAID_MAX];       /* what it wrote last, when it ended */
};

struct services {
	char pkg_root[AGENT_PATH_MAX];
	const struct service_backend *backend;
	void *self;
	pthread_t thread;
	int wake_fd;
	/* of the thread */
	struct phx_role role;
	struct slot *slots; /* in start order */
	uint32_t n;
	/* shared */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct command *command; /* of service.c */
	bool quit, ok;
	uint32_t restarts;
	char last_end[SERVICE_TEXT_MAX]; /* how the last one that died did */
	char text[SERVICE_TEXT_MAX];
	bool any; /* ids are of a role that runs */
	/* struct service_id: the slots, for who looks; those of the last role while none runs */
	struct phx_list ids;
};

/** How it died, for those who look. */
void slot_tell_end(struct services *s, const struct slot *slot);
/** Tell those who look how things stand; called by the thread. */
void services_publish(struct services *s);
/** Only whose services there are now; a start that fails has had them too. */
void services_publish_names(struct services *s);
/** Its end of the log as it is now: what it writes from now on comes behind. Called before it is
 * started. */
void slot_log_begin(struct services *s, struct slot *slot);
/** The last lines of `text`, which is used up, as one: "a / b / c", the beginning cut off where it
 * is too long; of what systemd says (`of_systemd`) only what tells why. "" if nothing. */
void service_reason(struct phx_buf *text, bool of_systemd, char *ret, size_t size);
/** What it wrote last, on one line, into slot->said; "" if nothing. */
void slot_log_end(struct services *s, struct slot *slot);

#endif
