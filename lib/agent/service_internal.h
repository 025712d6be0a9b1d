/* What service.c (who has the services) and service_look.c (readers) share. */
#ifndef PHX_AGENT_SERVICE_INTERNAL_H
#define PHX_AGENT_SERVICE_INTERNAL_H

#include "agent/config.h"
#include "agent/service.h"
#include "agent/service_backend.h"

enum { SERVICE_SAID_MAX = 140 };

enum slot_state { SLOT_DOWN, SLOT_UP, SLOT_DONE, SLOT_FAILED };

struct slot {
	const struct phx_service *svc; /* into role */
	enum slot_state state;
	struct service_proc proc;
	sd_event_source *death; /* of proc.pidfd, while nobody has the services */
	int status;
	int64_t started_ms, next_start_ms;
	uint32_t backoff_ms;
	bool drained;                      /* got its drain signal: it may end */
	char log_from[SERVICE_CURSOR_MAX]; /* cursor where the output of this start begins */
	char said[SERVICE_SAID_MAX];       /* its last output, once it has ended */
};

struct services {
	struct loop *loop;
	char pkg_root[AGENT_PATH_MAX];
	const struct service_backend *backend;
	void *self;
	/* of who has taken `busy` */
	struct phx_role role;
	struct slot *slots; /* in start order */
	uint32_t n;
	/* with the loop */
	bool busy, looking, ok; /* looking: a worker is about to take the services */
	bool ended;             /* for good */
	sd_event_source *due;   /* a service is to be started again, or asked after */
	uint32_t restarts;
	char last_end[SERVICE_TEXT_MAX]; /* how the last service that died ended */
	char text[SERVICE_TEXT_MAX];
	bool any; /* ids are of a role that runs */
	/* struct service_id: the slots, for readers; those of the last role while none runs */
	struct phx_list ids;
};

/** Publish how the slot's service ended. */
void slot_tell_end(struct services *s, const struct slot *slot);
/** Publish the state of all slots for readers; called by who has the services. */
void services_publish(struct services *s);
/** Publish only which services there are: readers of logs find them also when their start fails. */
void services_publish_names(struct services *s);
/** Note the present end of the service's log: output of the next start comes after it. Called
 * before the start. */
void slot_log_begin(struct services *s, struct slot *slot);
/** Join the last lines of `text`, which is used up, into one: "a / b / c", cut off at its beginning
 * where it is too long. Of messages of systemd (`of_systemd`) only those that give a reason are
 * taken. "" if none is left. */
void service_reason(struct phx_buf *text, bool of_systemd, char *ret, size_t size);
/** Put the last output of the service, as one line, into slot->said; "" if there is none. */
void slot_log_end(struct services *s, struct slot *slot);

#endif
