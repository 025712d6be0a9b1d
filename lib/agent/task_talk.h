/* What agent and keeper of tasks say to each other: one message of JSON each, over a socket of the
 * kind SOCK_SEQPACKET, STATE/tasks/socket. The keeper outlives agents: what a message does not know
 * is an error, so members are only ever added with care. */
#ifndef PHX_AGENT_TASK_TALK_H
#define PHX_AGENT_TASK_TALK_H

#include "types/task.h"

/** Of one message. */
#define TASK_TALK_MAX (192u << 10)

/** The agent says: "order": take this; "ack": the head has the rows of batch `number`; "drain": end
 * all tasks, they may run again elsewhere. */
#define TASK_SAY_FIELDS(F, S) \
	F(S, what, STR(16)) \
	F(S, number, U64) \
	F(S, order, REC(phx_task_order))
PHX_RECORD_STRUCT(task_say, TASK_SAY_FIELDS);

/** The keeper says: "taken": order `number`; "refused": it, for `code` (negative errno) and `text`;
 * "rows": batch `number`; "drained". */
#define TASK_TELL_FIELDS(F, S) \
	F(S, what, STR(16)) \
	F(S, number, U64) \
	F(S, code, I64) \
	F(S, text, STR(200)) \
	F(S, rows, LIST(phx_task_result))
PHX_RECORD_STRUCT(task_tell, TASK_TELL_FIELDS);

/** Send one. -EAGAIN: the other side does not read; -EMSGSIZE, -EPIPE, another -errno. */
int task_talk_send(int fd, const struct phx_record *rec, const void *message);
/** The next message that has come, into zeroed memory: phx_record_fini(). -EAGAIN: none; -EPIPE: no
 * more will come; -EPROTO: it is none. */
int task_talk_receive(int fd, const struct phx_record *rec, void *ret);

/** Both sides of the socket in `dir`, a descriptor. Negative errno. */
int task_talk_listen(int dir);
int task_talk_connect(int dir);

#endif
