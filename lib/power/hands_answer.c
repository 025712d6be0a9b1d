/* The questions to the hands: ops.def. Each may take as long as a BMC does; many are answered at
 * once. Whoever asks is the head, and the head may have been taken over: it names files of bmc_dir
 * and programs that root alone could change, or is refused. Called by hands_serve.c. */
#include "power/hands_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/spawn.h"

enum { WORDS_MAX = 32, PROGRAM_MS = 20000 };

/* ---- BMCs ---- */

static int read_bmc(const struct phx_apart_question *q, struct phx_bmc *ret, struct phx_err *err)
{
	if (strlen(q->body) != q->n)
		return phx_err_set(err, -EINVAL, "the record of a BMC is a text");
	int r = phx_json_text_to_record(&phx_bmc_record, q->body, ret, err);
	return r ? r : phx_power_check(ret, err);
}

static int op_power(const struct phx_hands_config *c, const struct phx_apart_question *q,
		    struct phx_apart_reply *ret, struct phx_err *err)
{
	enum phx_power_state state = PHX_POWER_UNKNOWN;
	struct phx_bmc bmc;
	enum phx_power_op op;
	(void)c;
	int r = phx_power_op_parse(q->name, PHX_POWER_OP_COUNT_ - 1, &op, err);
	r = r ? r : read_bmc(q, &bmc, err);
	if (r == 0 && q->number > UINT32_MAX)
		r = phx_err_set(err, -EINVAL, "a time of so many milliseconds is no limit");
	r = r ? r : phx_power_do(&bmc, op, (uint32_t)q->number, &state, err);
	ret->number = state;
	return r;
}

static int op_ready(const struct phx_hands_config *c, const struct phx_apart_question *q,
		    struct phx_apart_reply *ret, struct phx_err *err)
{
	struct phx_bmc bmc;
	(void)c;
	(void)ret;
	int r = read_bmc(q, &bmc, err);
	return r ? r : phx_power_ready(&bmc, err);
}

/* ---- anchors ---- */

/* Printable, and no option of the program. */
static bool is_line(const struct phx_apart_question *q)
{
	for (uint32_t i = 0; i < q->n; i++)
		if (q->body[i] < ' ' || q->body[i] > '~')
			return false;
	return q->n && q->body[0] != '-';
}

static int op_anchor(const struct phx_hands_config *c, const struct phx_apart_question *q,
		     struct phx_apart_reply *ret, struct phx_err *err)
{
	const char *argv[WORDS_MAX + 2] = {NULL};
	size_t n = 0;
	(void)ret;
	if (!is_line(q))
		return phx_err_set(err, -EINVAL, "an anchor is a printable line");
	PHX_LIST_EACH(struct phx_word, w, c->anchor)
		if (n < WORDS_MAX)
			argv[n++] = w->text;
	if (!n)
		return 0;
	argv[n] = q->body;
	int r = strchr(argv[0], '/') ? phx_file_trusted(argv[0], err) : 0;
	const struct phx_run run = {.argv = argv, .timeout_ms = PROGRAM_MS, .dies_with_us = true};
	return r ? r : phx_run_check(&run, NULL, err);
}

/* ---- any question ---- */

typedef int (*op_fn)(const struct phx_hands_config *c, const struct phx_apart_question *q,
		     struct phx_apart_reply *ret, struct phx_err *err);
static const op_fn ops[] = {
#define OP(name, function) [HANDS_##name] = function,
#include "power/ops.def"
#undef OP
};

int hands_answer(void *arg, const struct phx_apart_question *q, struct phx_apart_reply *ret,
		 struct phx_err *err)
{
	if (q->op >= PHX_ARRAY_SIZE(ops))
		return phx_err_set(err, -ENOSYS, "the hands have no such question");
	return ops[q->op](arg, q, ret, err);
}
