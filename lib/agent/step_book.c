/* See step_book.h. */
#include "agent/step_book.h"

#include <inttypes.h>

struct oldest {
	uint64_t id;
	uint32_t n;
};

static void find_oldest(void *arg, uint64_t id)
{
	struct oldest *o = arg;
	if (!o->n || id < o->id)
		o->id = id;
	o->n++;
}

/* A put adds one, a copy may add more. */
static void forget_oldest(const struct step_book *b)
{
	struct oldest o;
	do {
		o = (struct oldest){0};
		b->each(b->arg, find_oldest, &o);
	} while (o.n > b->keep && b->remove(b->arg, o.id) == 0);
}

int step_book_put(const struct step_book *b, uint64_t id, const void *step, struct phx_err *err)
{
	int r = b->write(b->arg, id, step, err);
	if (r == 0)
		forget_oldest(b);
	return r;
}

int step_book_keep_epoch(const struct step_book *b, struct step_epochs *e, uint64_t epoch,
			 struct phx_err *err)
{
	if (epoch > e->seen)
		e->seen = epoch;
	if (epoch <= e->written)
		return 0;
	int r = b->write_epoch(b->arg, epoch, err);
	if (r < 0)
		return phx_err_prefix(err, r,
				      "no step of epoch %" PRIu64
				      " begins, because the agent cannot write that number down",
				      epoch);
	e->written = epoch;
	return 0;
}

struct copy {
	const struct step_book *from, *to;
	void *room;
	int r;
	struct phx_err *err;
};

static void copy_one(void *arg, uint64_t id)
{
	struct copy *c = arg;
	if (c->r == 0)
		c->r = c->from->read(c->from->arg, id, c->room, c->err);
	if (c->r == 0)
		c->r = c->to->write(c->to->arg, id, c->room, c->err);
}

/* The epoch comes last: with it, but without the steps, the agent of that system would do them
 * again. */
int step_book_copy(const struct step_book *from, uint64_t from_epoch, const struct step_book *to,
		   uint64_t to_epoch, void *room, struct phx_err *err)
{
	struct copy c = {from, to, room, 0, err};
	int r = from->each(from->arg, copy_one, &c);
	r = r ? r : c.r;
	if (r == 0)
		forget_oldest(to);
	struct step_epochs e = {to_epoch, to_epoch};
	return r ? r : step_book_keep_epoch(to, &e, from_epoch, err);
}
