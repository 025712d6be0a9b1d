/* The questions to the process that has the consoles: ops.def. Whoever asks is the head, and the
 * head may have been taken over: it can have consoles, and no program but those that the drivers
 * start. Called by serve.c. */
#include "console/internal.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"

enum { LINES_MAX = 100000, WORD_MAX = 200, MARKS_WAIT_MS = 20000 };

static int check_name(const struct phx_apart_question *q, struct phx_err *err)
{
	return phx_name_valid(q->name) ? 0 : phx_err_set(err, -EINVAL, "that is no node");
}

static int op_put(struct consoles *c, const struct phx_apart_question *q,
		  struct phx_apart_reply *ret, struct phx_err *err)
{
	struct phx_bmc bmc;
	(void)ret;
	if (!q->n || strlen(q->body) != q->n)
		return phx_err_set(err, -EINVAL, "the record of a BMC is a text");
	int r = check_name(q, err);
	r = r ? r : phx_json_text_to_record(&phx_bmc_record, q->body, &bmc, err);
	if (r == 0)
		PHX_STR_SET(bmc.node, q->name);
	r = r ? r : phx_console_check(&bmc, err);
	if (r < 0)
		return r;
	pthread_mutex_lock(&c->lock);
	r = consoles_line_put(c, q->name, &bmc, err);
	pthread_mutex_unlock(&c->lock);
	return r;
}

static int op_drop(struct consoles *c, const struct phx_apart_question *q,
		   struct phx_apart_reply *ret, struct phx_err *err)
{
	(void)ret;
	int r = check_name(q, err);
	if (r < 0)
		return r;
	pthread_mutex_lock(&c->lock);
	consoles_line_drop(c, q->name);
	pthread_mutex_unlock(&c->lock);
	return 0;
}

static int op_attach(struct consoles *c, const struct phx_apart_question *q,
		     struct phx_apart_reply *ret, struct phx_err *err)
{
	const unsigned flags = (unsigned)q->number & (PHX_CONSOLES_WRITE | PHX_CONSOLES_STEAL);
	uint32_t at;
	int r = check_name(q, err);
	if (r < 0)
		return r;
	pthread_mutex_lock(&c->lock);
	struct node_line *l = consoles_line_find(c, q->name, &at);
	/* conserver connects to each console that it knows */
	const bool known = l && l->client >= 0;
	if (l)
		consoles_line_attach(c, l, at, flags & PHX_CONSOLES_STEAL);
	pthread_mutex_unlock(&c->lock);
	return !l       ? phx_err_set(err, -ENOENT, "%s has no console (phx node bmc)", q->name)
		: known ? consoles_attach_to(c, q->name, flags, &ret->fd, err)
			: phx_err_set(err, -EAGAIN,
				      "conserver is just told of the console of %s: ask again in "
				      "a moment",
				      q->name);
}

static int op_read(struct consoles *c, const struct phx_apart_question *q,
		   struct phx_apart_reply *ret, struct phx_err *err)
{
	const char *word = q->n ? q->body : "";
	int r = check_name(q, err);
	if (r == 0 && (!q->number || q->number > LINES_MAX || strlen(word) > WORD_MAX))
		r = phx_err_set(err, -EINVAL, "so many lines, or such a word, cannot be asked for");
	return r ? r
		 : phx_console_log_read(c->logs, q->name, (uint32_t)q->number, word,
					CONSOLES_BODY_MAX - 1024, &ret->body, err);
}

static int op_state(struct consoles *c, const struct phx_apart_question *q,
		    struct phx_apart_reply *ret, struct phx_err *err)
{
	struct phx_console_state s = {0};
	uint32_t at;
	int r = check_name(q, err);
	if (r < 0)
		return r;
	pthread_mutex_lock(&c->lock);
	const struct node_line *l = consoles_line_find(c, q->name, &at);
	if (l) {
		s = (struct phx_console_state){1, l->up, l->restarts, ""};
		PHX_STR_SET(s.said, l->said);
	}
	pthread_mutex_unlock(&c->lock);
	phx_buf_add(&ret->body, &s, sizeof(s));
	return 0;
}

static int op_marks(struct consoles *c, const struct phx_apart_question *q,
		    struct phx_apart_reply *ret, struct phx_err *err)
{
	const int64_t until = phx_clock_ms() + MARKS_WAIT_MS;
	(void)err;
	pthread_mutex_lock(&c->lock);
	/* who had more of them than there were had them of a former process */
	const uint64_t after = q->number <= c->last_mark ? q->number : 0;
	while (c->last_mark <= after && !c->hushed && phx_cond_until(&c->marked, &c->lock, until))
		;
	uint64_t from = after + MARKS_MAX < c->last_mark ? c->last_mark - MARKS_MAX : after;
	for (uint64_t seq = from + 1; seq <= c->last_mark; seq++)
		phx_buf_add(&ret->body, &c->marks[seq % MARKS_MAX], sizeof(c->marks[0]));
	pthread_mutex_unlock(&c->lock);
	return 0;
}

static int op_hush(struct consoles *c, const struct phx_apart_question *q,
		   struct phx_apart_reply *ret, struct phx_err *err)
{
	(void)q;
	(void)ret;
	(void)err;
	pthread_mutex_lock(&c->lock);
	c->hushed = true;
	pthread_cond_broadcast(&c->marked);
	pthread_mutex_unlock(&c->lock);
	return 0;
}

typedef int (*op_fn)(struct consoles *c, const struct phx_apart_question *q,
		     struct phx_apart_reply *ret, struct phx_err *err);
static const op_fn ops[] = {
#define OP(name, function) [CONSOLES_##name] = function,
#include "console/ops.def"
#undef OP
};

int consoles_answer(void *arg, const struct phx_apart_question *q, struct phx_apart_reply *ret,
		    struct phx_err *err)
{
	if (q->op >= PHX_ARRAY_SIZE(ops))
		return phx_err_set(err, -ENOSYS, "consoles have no such question");
	return ops[q->op](arg, q, ret, err);
}
