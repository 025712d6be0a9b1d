/* The head's side of the process that has the consoles: what it is asked, on top of apart/apart.h.
 * Called by threads of the API and of phxd's watch over nodes. */
#include "console/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"

#define WHAT "the process that has the consoles"

enum { FIXED = 10, ANSWER_MS = 60000, NUMBER = 12 };

struct phx_consoles {
	struct phx_apart_config config;
	struct phx_apart *process;
};

int phx_consoles_put(struct phx_consoles *c, const char *node, const struct phx_bmc *bmc,
		     struct phx_err *err)
{
	PHX_AUTO_FREE char *text = phx_json_record_text_sparse(&phx_bmc_record, bmc);
	struct phx_apart_question q = {.op = CONSOLES_put, .body = text};
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	if (!text)
		return -ENOMEM;
	q.n = (uint32_t)strlen(text);
	int r = PHX_STR_SET(q.name, node);
	return r ? r : phx_apart_ask(c->process, &q, 0, &reply, err);
}

int phx_consoles_drop(struct phx_consoles *c, const char *node, struct phx_err *err)
{
	struct phx_apart_question q = {.op = CONSOLES_drop};
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	int r = PHX_STR_SET(q.name, node);
	return r ? r : phx_apart_ask(c->process, &q, 0, &reply, err);
}

int phx_consoles_attach(struct phx_consoles *c, const char *node, unsigned flags, int *ret_fd,
			struct phx_err *err)
{
	struct phx_apart_question q = {.op = CONSOLES_attach, .number = flags};
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	int r = PHX_STR_SET(q.name, node);
	r = r ? r : phx_apart_ask(c->process, &q, 0, &reply, err);
	if (r == 0 && !reply.fd)
		r = phx_err_set(err, -EPROTO, WHAT " gave no socket");
	if (r < 0)
		return r;
	*ret_fd = reply.fd;
	reply.fd = 0;
	return 0;
}

int phx_consoles_read(struct phx_consoles *c, const char *node, uint32_t lines, const char *word,
		      struct phx_buf *ret, struct phx_err *err)
{
	struct phx_apart_question q = {
		.op = CONSOLES_read, .number = lines, .body = word, .n = (uint32_t)strlen(word)};
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	int r = PHX_STR_SET(q.name, node);
	r = r ? r : phx_apart_ask(c->process, &q, 0, &reply, err);
	if (r == 0 && reply.body.n)
		phx_buf_add(ret, reply.body.data, reply.body.n);
	return r ? r : ret->failed ? -ENOMEM : 0;
}

int phx_consoles_state(struct phx_consoles *c, const char *node, struct phx_console_state *ret,
		       struct phx_err *err)
{
	struct phx_apart_question q = {.op = CONSOLES_state};
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	int r = PHX_STR_SET(q.name, node);
	r = r ? r : phx_apart_ask(c->process, &q, 0, &reply, err);
	if (r == 0 && reply.body.n != sizeof(*ret))
		r = phx_err_set(err, -EPROTO, "what " WHAT " says is no state");
	if (r < 0)
		return r;
	memcpy(ret, reply.body.data, sizeof(*ret));
	ret->said[sizeof(ret->said) - 1] = '\0';
	return 0;
}

int phx_consoles_marks(struct phx_consoles *c, uint64_t after, struct phx_list *ret,
		       struct phx_err *err)
{
	const struct phx_apart_question q = {.op = CONSOLES_marks, .number = after};
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	struct phx_console_marked row;
	int r = phx_apart_ask(c->process, &q, 0, &reply, err);
	for (size_t at = 0; r == 0 && at + sizeof(row) <= reply.body.n; at += sizeof(row)) {
		struct phx_console_marked *to = phx_list_push(ret, sizeof(row));
		if (!to)
			return -ENOMEM;
		memcpy(to, reply.body.data + at, sizeof(row));
		to->node[sizeof(to->node) - 1] = '\0';
		to->line[sizeof(to->line) - 1] = '\0';
		to->meaning[sizeof(to->meaning) - 1] = '\0';
	}
	return r;
}

void phx_consoles_hush(struct phx_consoles *c)
{
	const struct phx_apart_question q = {.op = CONSOLES_hush};
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	(void)phx_apart_ask(c->process, &q, 0, &reply, NULL);
}

/* ---- start and end ---- */

int phx_consoles_spawn(const struct phx_consoles_config *c, struct phx_process *ret, int *ret_fd,
		       struct phx_err *err)
{
	char port[NUMBER], log_mb[NUMBER];
	PHX_AUTO_FREE const char **argv = calloc(FIXED + c->paths->n, sizeof(*argv));
	const struct phx_launch how = {.argv = argv};
	size_t n = 0;
	if (!argv)
		return -ENOMEM;
	snprintf(port, sizeof(port), "%u", c->port);
	snprintf(log_mb, sizeof(log_mb), "%u", c->log_mb);
	const char *const fixed[] = {c->program,   "--consoles", c->user, c->bmc_dir, c->run_dir,
				     c->state_dir, c->conserver, port,    log_mb};
	for (; n < PHX_ARRAY_SIZE(fixed); n++)
		argv[n] = fixed[n];
	PHX_LIST_EACH(struct phx_word, path, c->paths)
		argv[n++] = path->text;
	return phx_apart_spawn(&how, WHAT, ret, ret_fd, err);
}

int phx_consoles_start(const struct phx_consoles_config *config, struct phx_consoles **ret,
		       struct phx_err *err)
{
	struct phx_consoles *c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->config = (struct phx_apart_config){.what = WHAT,
					      .start = config->start,
					      .start_arg = config->start_arg,
					      .answer_ms = ANSWER_MS,
					      .body_max = CONSOLES_BODY_MAX,
					      .restarted = config->restarted,
					      .arg = config->arg};
	int r = phx_apart_start(&c->config, &c->process, err);
	if (r < 0)
		free(c);
	else
		*ret = c;
	return r;
}

void phx_consoles_end(struct phx_consoles *c)
{
	if (!c)
		return;
	phx_apart_end(c->process);
	free(c);
}

pid_t phx_consoles_pid(struct phx_consoles *c)
{
	return phx_apart_pid(c->process);
}
