/* See job_book.h. */
#include "agent/job_book.h"

#include <errno.h>

/* ---- orders ---- */

static int judge(const struct job_book *b, const struct job_order *o, struct job_record *ret_known)
{
	int r = b->read(b->arg, o->run.id, ret_known);
	if (r < 0)
		*ret_known = (struct job_record){0};
	if (r < 0 && r != -ENOENT)
		return o->ends ? r : (int)DECIDE_JOB_SAME;
	const struct decide_run known = {ret_known->run, ret_known->submitted_ms},
				wanted = {o->run.run, o->submitted_ms};
	return decide_job(r == 0 ? &known : NULL, &wanted);
}

int job_book_order(const struct job_book *b, const struct job_order *o, struct job_known *ret)
{
	*ret = (struct job_known){0};
	int judged = o->tracked && o->ends ? (int)DECIDE_JOB_SAME : judge(b, o, &ret->rec);
	if (judged < 0)
		return judged;
	ret->older = judged == DECIDE_JOB_NEWER;
	bool runs = b->runs(b->arg, ret->older ? JOB_RECORD_RUN(&ret->rec) : o->run, ret->older);
	return decide_job_order((enum decide_job)judged, runs, o->ends);
}

/* ---- what is written ---- */

int job_book_begin(const struct job_book *b, struct job_run run, int64_t goodbye_ms,
		   int64_t submitted_ms, struct phx_err *err)
{
	const struct job_record rec = {.id = run.id,
				       .run = run.run,
				       .goodbye_ms = goodbye_ms,
				       .submitted_ms = submitted_ms};
	return b->write(b->arg, &rec, err);
}

int job_book_bar(const struct job_book *b, struct job_run run, struct phx_err *err)
{
	const struct job_record rec = {.id = run.id, .run = run.run};
	int r = b->write(b->arg, &rec, err);
	return r ? r : b->write_end(b->arg, run, JOB_STATUS_BARRED, err);
}

/* ---- what is forgotten ---- */

static void count(void *n, uint64_t id)
{
	(void)id;
	++*(uint32_t *)n;
}

struct oldest {
	const struct job_book *book;
	uint64_t id; /* 0: all are in use */
};

static void find_oldest(void *arg, uint64_t id)
{
	struct oldest *o = arg;
	if ((!o->id || id < o->id) && !o->book->in_use(o->book->arg, id))
		o->id = id;
}

/* Whether a record is in use may be read from the disk: nobody asks while there are few. */
static void forget_oldest(const struct job_book *b)
{
	uint32_t n = 0;
	b->each(b->arg, count, &n);
	for (; n > b->keep; n--) {
		struct oldest o = {.book = b};
		b->each(b->arg, find_oldest, &o);
		if (!o.id || b->remove(b->arg, o.id) < 0)
			return;
	}
}

int job_book_reported(const struct job_book *b, struct job_run run, struct phx_err *err)
{
	struct job_record rec;
	int r = b->read(b->arg, run.id, &rec) < 0 || rec.run != run.run;
	if (r == 0) {
		rec.reported = true;
		r = b->write(b->arg, &rec, err);
	}
	forget_oldest(b);
	return r;
}

/* ---- the agent starts ---- */

struct open {
	const struct job_book *book;
	job_book_fn *fn;
	void *fn_arg;
};

static void open_one(void *arg, uint64_t id)
{
	const struct open *o = arg;
	struct job_record rec;
	if (o->book->read(o->book->arg, id, &rec) == 0 && !rec.reported)
		o->fn(o->fn_arg, &rec);
}

int job_book_open(const struct job_book *b, job_book_fn *fn, void *fn_arg)
{
	struct open o = {b, fn, fn_arg};
	return b->each(b->arg, open_one, &o);
}
