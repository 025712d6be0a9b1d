/* The head's side of the hands: what they are asked, on top of apart/apart.h. Called by threads of
 * the power queue, of the API and of anchors. */
#include "power/hands_internal.h"

#include <errno.h>
#include <string.h>

#include "base/json.h"

#define WHAT "the process that talks to BMCs"

enum {
	FIXED = 7, /* words of its arguments that there are always, and the end */
	ANSWER_MS = 60000,
	/* what an operation may take beyond its limit before the process counts as one that hangs
	 */
	SLACK_MS = 30000,
	POWER_MS = 60000, /* as phx_power_do() takes 0 */
};

struct phx_hands {
	struct phx_apart_config config;
	struct phx_apart *process;
	const char *argv[];
};

static int ask_of(struct phx_hands *h, struct phx_apart_question *q, const struct phx_bmc *bmc,
		  uint32_t answer_ms, struct phx_apart_reply *ret, struct phx_err *err)
{
	PHX_AUTO_FREE char *text = phx_json_record_text_sparse(&phx_bmc_record, bmc);
	if (!text)
		return -ENOMEM;
	q->body = text;
	q->n = (uint32_t)strlen(text);
	return phx_apart_ask(h->process, q, answer_ms, ret, err);
}

int phx_hands_power(struct phx_hands *h, const struct phx_bmc *bmc, enum phx_power_op op,
		    uint32_t timeout_ms, enum phx_power_state *ret_state, struct phx_err *err)
{
	uint32_t limit = timeout_ms ? timeout_ms : POWER_MS;
	struct phx_apart_question q = {.op = HANDS_power, .number = timeout_ms};
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	PHX_STR_SET(q.name, phx_enum_name(&phx_power_op_names, (int)op));
	limit = limit < UINT32_MAX - SLACK_MS ? limit + SLACK_MS : limit;
	int r = ask_of(h, &q, bmc, limit, &reply, err);
	if (r == 0 && reply.number > PHX_POWER_IS_OFF)
		r = phx_err_set(err, -EPROTO, "what the hands say is no state of a machine");
	if (r == 0 && ret_state)
		*ret_state = (enum phx_power_state)reply.number;
	return r;
}

int phx_hands_ready(struct phx_hands *h, const struct phx_bmc *bmc, struct phx_err *err)
{
	struct phx_apart_question q = {.op = HANDS_ready};
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	return ask_of(h, &q, bmc, 0, &reply, err);
}

int phx_hands_anchor(struct phx_hands *h, const char *line, struct phx_err *err)
{
	const struct phx_apart_question q = {
		.op = HANDS_anchor, .body = line, .n = (uint32_t)strlen(line)};
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	return phx_apart_ask(h->process, &q, 0, &reply, err);
}

/* ---- start and end ---- */

/* As phx_hands_serve() reads them. */
static void make_argv(const struct phx_hands_config *c, const char **argv)
{
	size_t n = 0;
	argv[n++] = c->program;
	argv[n++] = "--hands";
	argv[n++] = c->user;
	argv[n++] = c->bmc_dir;
	argv[n++] = c->run_dir;
	PHX_LIST_EACH(struct phx_word, path, c->paths)
		argv[n++] = path->text;
	argv[n++] = "--";
	PHX_LIST_EACH(struct phx_word, word, c->anchor)
		argv[n++] = word->text;
}

static size_t count_words(const struct phx_hands_config *c)
{
	return FIXED + c->paths->n + c->anchor->n;
}

int phx_hands_spawn(const struct phx_hands_config *config, struct phx_process *ret, int *ret_fd,
		    struct phx_err *err)
{
	PHX_AUTO_FREE const char **argv = calloc(count_words(config), sizeof(*argv));
	const struct phx_launch how = {.argv = argv};
	if (!argv)
		return -ENOMEM;
	make_argv(config, argv);
	return phx_apart_spawn(&how, WHAT, ret, ret_fd, err);
}

int phx_hands_start(const struct phx_hands_config *config, struct phx_hands **ret,
		    struct phx_err *err)
{
	struct phx_hands *h = calloc(1, sizeof(*h) + count_words(config) * sizeof(h->argv[0]));
	if (!h)
		return -ENOMEM;
	make_argv(config, h->argv);
	h->config = (struct phx_apart_config){.what = WHAT,
					      .argv = h->argv,
					      .start = config->start,
					      .start_arg = config->start_arg,
					      .answer_ms = ANSWER_MS,
					      .body_max = HANDS_BODY_MAX,
					      .restarted = config->restarted,
					      .arg = config->arg};
	int r = phx_apart_start(&h->config, &h->process, err);
	if (r < 0) {
		phx_hands_end(h);
		return r;
	}
	*ret = h;
	return 0;
}

void phx_hands_end(struct phx_hands *h)
{
	if (!h)
		return;
	phx_apart_end(h->process);
	free(h);
}

pid_t phx_hands_pid(struct phx_hands *h)
{
	return phx_apart_pid(h->process);
}
