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
	/* owned by whoever has taken `busy`, who "has the services" */
	struct phx_role role;
	struct slot *slots; /* in start order */
	uint32_t n;
	/* the same for a role whose services run ahead, idle, beside the active role; the two sets
	 * are exchanged while something is done to these (service_ahead.c) */
	struct {
		struct phx_role role;
		struct slot *slots;
		uint32_t n;
	} beside;
	bool exchanged;
	/* guarded by the loop */
	bool busy, looking, ok; /* looking: a worker is about to take the services */
	bool ended;             /* for good */
	sd_event_source *due;   /* when to start a service again, or to look whether it lives */
	uint32_t restarts;
	char last_end[SERVICE_TEXT_MAX]; /* how the last service that died ended */
	char text[SERVICE_TEXT_MAX];
	bool any; /* ids are of a role that runs */
	/* struct service_id: the slots, for readers; those of the last role while none runs */
	struct phx_list ids;
};

/* ---- service.c; all but the first two are for whoever has the services ---- */

/** Take the services. -ECANCELED: they have ended for good. */
int services_begin(struct services *s, struct phx_err *err);
/** Give the services back, and have them looked after when `due_ms` has come. Returns `r`. */
int services_finish(struct services *s, int64_t due_ms, int r);
/** Do all services of exactly this role run? */
bool services_all_up(struct services *s, const struct phx_role *role);
/** Start the services of the role. On failure none runs. */
int services_run_role(struct services *s, const struct phx_role *role, struct phx_err *err);
/** Stop all services, and forget the role. */
void services_stop_all(struct services *s);
/** Stop services of `role` that an earlier agent may have left. */
int services_stop_leftovers(struct services *s, const struct phx_role *role, struct phx_err *err);

/** Called, with the loop held, when a service has died or the time has come: whoever has the
 * services looks after them, or else a worker does. `arg` is the services. */
void services_notice(void *arg);
/** Stop watching for deaths of services. Called with the loop held. */
void services_unwatch(struct services *s);
/** Free the role and its slots, none of which runs. */
void services_forget_role(struct services *s);

/* ---- service_ahead.c; for whoever has the services, none of which runs ---- */

/** `role` is to start: if its services run ahead they become the active ones, with their full
 * share of the CPU; those of another role are stopped. */
void services_take_ahead(struct services *s, const struct phx_role *role);
/** Stop the services that run ahead. */
void services_stop_ahead(struct services *s);

/* ---- service_look.c ---- */

/** Publish how the slot's service ended. */
void slot_tell_end(struct services *s, const struct slot *slot);
/** Publish the state of all slots for readers; called by whoever has the services. */
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
