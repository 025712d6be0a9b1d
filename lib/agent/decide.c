/* See decide.h. Pure: make check-pure proves it. */
#include "agent/decide.h"

#include <errno.h>
#include <inttypes.h>

#include "pki/pki.h"

#define DAY_S INT64_C(86400)

bool decide_answers(const struct decide_done *done, const struct decide_order *o)
{
	if (done->epoch != o->epoch)
		return false;
	if (done->attempt > o->attempt)
		return true; /* a late copy of an order that is over */
	return done->nonce == o->nonce && (done->result == 0 || done->attempt == o->attempt);
}

int decide_order(const struct decide_memory *m, const struct decide_order *o, struct phx_err *err)
{
	struct decide_done done;
	if (m->pending(m->arg, o->id))
		return DECIDE_KNOWN;
	if (o->epoch < m->epoch)
		return phx_err_set(err, -ESTALE,
				   "order of epoch %" PRIu64 ", but %" PRIu64 " was seen", o->epoch,
				   m->epoch);
	int r = m->keep_epoch(m->arg, o->epoch, err);
	if (r == 0)
		r = m->find(m->arg, o->id, &done, err);
	if (r < 0 && r != -ENOENT)
		return r;
	if (r == 0 && decide_answers(&done, o))
		return DECIDE_REPEAT;
	return m->n_steps < DECIDE_STEPS_MAX ? DECIDE_RUN : DECIDE_BUSY;
}

bool decide_given_up(uint64_t seen, uint64_t epoch)
{
	return seen > epoch;
}

bool decide_here(enum phx_step_needs needs, enum phx_node_env env)
{
	switch (needs) {
	case PHX_NEEDS_NOWHERE:
		return true;
	case PHX_NEEDS_OS:
		return env == PHX_ENV_OS;
	case PHX_NEEDS_DEPLOY:
		return env == PHX_ENV_DEPLOY;
	}
	return false;
}

int64_t decide_result(int64_t result, int kept)
{
	return kept < 0 && result >= 0 ? -EIO : result;
}

enum decide_end decide_end_first(bool leaves)
{
	return leaves ? DECIDE_END_DROP : DECIDE_END_WRITE;
}

enum decide_end decide_end_next(enum decide_end done)
{
	static const enum decide_end next[] = {
		[DECIDE_END_WRITE] = DECIDE_END_TELL,
		[DECIDE_END_TELL] = DECIDE_END_DROP,
		[DECIDE_END_DROP] = DECIDE_END_OVER,
		[DECIDE_END_OVER] = DECIDE_END_OVER,
	};
	return next[done];
}

bool decide_again(int r)
{
	static const int final[] = {-EINVAL, -EPERM, -ENOENT, -EEXIST, -EBUSY,
				    -ESTALE, -E2BIG, -EFBIG,  -ELOOP,  -ENODATA};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(final); i++)
		if (r == final[i])
			return false;
	return r < 0;
}

bool decide_renews(int64_t now_s, int64_t expires_s, int64_t had_ms)
{
	int64_t left_s = expires_s - now_s, had_s = had_ms / 1000;
	return left_s < PHX_NODE_CERT_RENEW_DAYS * DAY_S ||
		left_s > (PHX_NODE_CERT_DAYS + 1) * DAY_S ||
		had_s > (PHX_NODE_CERT_DAYS - PHX_NODE_CERT_RENEW_DAYS) * DAY_S;
}

enum decide_job_act decide_job_order(enum decide_job judged, bool runs, bool ends)
{
	static const enum decide_job_act acts[][2][2] = {
		/* does not run: to start it, to end it; runs: the same */
		[DECIDE_JOB_NEW] = {{DECIDE_JOB_START, DECIDE_JOB_BAR},
				    {DECIDE_JOB_START, DECIDE_JOB_BAR}},
		[DECIDE_JOB_SAME] = {{DECIDE_JOB_TELL, DECIDE_JOB_TELL},
				     {DECIDE_JOB_TELL, DECIDE_JOB_END}},
		[DECIDE_JOB_NEWER] = {{DECIDE_JOB_START, DECIDE_JOB_BAR},
				      {DECIDE_JOB_MAKE_WAY, DECIDE_JOB_AWAIT}},
		[DECIDE_JOB_OF_PAST] = {{DECIDE_JOB_REFUSE, DECIDE_JOB_REFUSE},
					{DECIDE_JOB_REFUSE, DECIDE_JOB_REFUSE}},
	};
	return acts[judged][runs][ends];
}

enum decide_job decide_job(const struct decide_run *known, const struct decide_run *o)
{
	if (!known)
		return DECIDE_JOB_NEW;
	if (known->submitted_ms && o->submitted_ms && known->submitted_ms != o->submitted_ms)
		return DECIDE_JOB_NEWER;
	if (known->run > o->run)
		return DECIDE_JOB_OF_PAST;
	return known->run < o->run ? DECIDE_JOB_NEWER : DECIDE_JOB_SAME;
}
