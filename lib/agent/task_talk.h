/* Messages between the agent and the keeper of tasks, each of them JSON, over the socket
 * STATE/tasks/socket of kind SOCK_SEQPACKET. The keeper outlives agents, and unknown members are an
 * error, so add members only with care. */
#ifndef PHX_AGENT_TASK_TALK_H
#define PHX_AGENT_TASK_TALK_H

#include "types/task.h"

/** Largest message, in bytes. */
#define TASK_TALK_MAX (192u << 10)

/** From the agent. "order": take this order; "ack": the head has the rows of batch `number`;
 * "drain": end all tasks, they may run again elsewhere. */
#define TASK_SAY_FIELDS(F, S) \
	F(S, what, STR(16)) \
	F(S, number, U64) \
	F(S, order, REC(phx_task_order))
PHX_RECORD_STRUCT(task_say, TASK_SAY_FIELDS);

/** From the keeper. "taken": order `number` is on the disk, or, with number 0, all such orders have
 * been named; "refused": order `number`, for `code` (negative errno) and `text`; "rows": batch
 * `number`; "drained": no task runs any more. */
#define TASK_TELL_FIELDS(F, S) \
	F(S, what, STR(16)) \
	F(S, number, U64) \
	F(S, code, I64) \
	F(S, text, STR(200)) \
	F(S, rows, LIST(phx_task_result))
PHX_RECORD_STRUCT(task_tell, TASK_TELL_FIELDS);

/** Send a message. -EAGAIN: the other side does not read; -EMSGSIZE, -EPIPE, another -errno. */
int task_talk_send(int fd, const struct phx_record *rec, const void *message);
/** Receive the next message, into zeroed memory; the caller frees it by phx_record_fini(). -EAGAIN:
 * none has come; -EPIPE: no more will come; -EPROTO: it is no such message. */
int task_talk_receive(int fd, const struct phx_record *rec, void *ret);

/** The two sides of the socket in the open directory `dir`. Return a descriptor, which the caller
 * closes, or negative errno. */
int task_talk_listen(int dir);
int task_talk_connect(int dir);

#endif
