/* What web.c and director.c share. */
#ifndef PHX_AGENT_WEB_INTERNAL_H
#define PHX_AGENT_WEB_INTERNAL_H

#include <pthread.h>

#include "agent/web.h"

struct web {
	bool touch;
	pthread_mutex_t lock; /* link (beats, tables) and worker (steps) */
	/* an instance */
	/* thousandths of a CPU that are all of it; 0: nothing is measured yet */
	uint32_t whole_milli;
	uint64_t used_us; /* as last read */
	int64_t read_us;  /* when; 0 never */
	/* a director */
	uint64_t table_id; /* in force; 0 none */
	bool balances;     /* it was given a table */
	struct vips *vips;
};

#endif
