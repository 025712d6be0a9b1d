/* What the agent and the kernel of its node have said, for who asks for it (logs.c). In the deploy
 * environment that is one log, the kernel's, in which /init puts what it and the agent say.
 * Elsewhere the agent's lines are where its stderr goes: systemd's journal, or a file; nothing
 * keeps them a second time. Reads, changes nothing. On any thread. */
#ifndef PHX_AGENT_OWN_LOG_H
#define PHX_AGENT_OWN_LOG_H

#include "agent/config.h"
#include "agent/service_backend.h"

struct own_log_ask {
	enum phx_logs_of of; /* agent or kernel */
	uint64_t step;       /* only what was said while it was carried out; 0: all */
	const struct service_log_ask *from;
};

/** At most SERVICE_LOG_MAX bytes, the last ones, and the cursor of their end. -ENOENT with a text:
 * nothing keeps it here. */
int own_log_read(const struct agent_config *cfg, const struct own_log_ask *ask,
		 struct phx_buf *ret_text, char ret_cursor[SERVICE_CURSOR_MAX],
		 struct phx_err *err);

/** Cuts `text` to the lines from the beginning of the step to its end, or to the last line if it
 * has not ended; "" if it has not begun. `began`: it began before the text. */
void own_log_cut_step(struct phx_buf *text, uint64_t step, bool began);

#endif
