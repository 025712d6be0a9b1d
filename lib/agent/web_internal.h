/* The state that web.c and director.c share. */
#ifndef PHX_AGENT_WEB_INTERNAL_H
#define PHX_AGENT_WEB_INTERNAL_H

#include "agent/web.h"

struct web {
	struct loop *loop;
	bool touch;
	/* loop_take(): the link (beats, tables) or the worker (steps) owns the rest, also while the
	 * kernel is asked */
	bool busy;
	/* an instance */
	/* its whole share, thousandths of a CPU; 0: use is not measured */
	uint32_t whole_milli;
	uint64_t used_us; /* CPU time as last read */
	int64_t read_us;  /* when it was read; 0 never */
	/* a director */
	uint64_t table_id; /* the table in force; 0 none */
	struct vips *vips;
};

#endif
