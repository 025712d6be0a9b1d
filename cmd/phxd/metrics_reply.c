/* Answers who scrapes metrics with a rendering, which is kept for metrics_keep_s seconds: ten
 * servers that scrape cost as much as one. Called by the API, on a thread for reads. */
#include "phxd/metrics_internal.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

#include "base/clock.h"

#define TYPE "text/plain; version=0.0.4; charset=utf-8"
enum { GZIP_WINDOW = 15 + 16, GZIP_MEMORY = 8, FAST = 1 };

/* ---- answers ---- */

static void let_go(void *arg)
{
	struct metrics_answer *a = arg;
	if (!a || --a->holders)
		return;
	free(a->text);
	free(a->packed);
	free(a);
}

/* Without it the text is sent as it is. */
static void pack(struct metrics_answer *a)
{
	z_stream z = {0};
	if (a->packed ||
	    deflateInit2(&z, FAST, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY, Z_DEFAULT_STRATEGY) !=
		    Z_OK)
		return;
	size_t most = deflateBound(&z, a->n);
	a->packed = most <= UINT32_MAX && a->n <= UINT32_MAX ? malloc(most) : NULL;
	z.next_in = (Bytef *)a->text;
	z.avail_in = (uInt)a->n;
	z.next_out = a->packed;
	z.avail_out = (uInt)most;
	if (a->packed && deflate(&z, Z_FINISH) == Z_STREAM_END)
		a->n_packed = z.total_out;
	else
		free(PHX_TAKE(a->packed));
	deflateEnd(&z);
}

static bool sees_all(const void *arg, const struct phx_re *re)
{
	(void)arg;
	(void)re;
	return true;
}

static int put_all(struct metrics *m, uint32_t page, struct phx_buf *b)
{
	const struct view_reader all = {sees_all, NULL};
	PHX_AUTO(phx_list_fini) struct phx_list rows = {0};
	uint32_t n_pages;
	int r = metrics_read_nodes(m, page, &rows, &n_pages);
	if (r < 0)
		return r;
	if (page == 1) {
		PHX_AUTO_FREE char *known = view_metrics(m->d, &all);
		phx_buf_add(b, known ? known : "", known ? strlen(known) : 0);
		metrics_put_head(m, n_pages, b);
	}
	if (m->d->cfg.metrics_nodes)
		metrics_put_nodes(b, &rows);
	return b->failed ? -ENOMEM : 0;
}

static struct metrics_answer *make(struct metrics *m, uint32_t page)
{
	struct metrics_answer *a = calloc(1, sizeof(*a));
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	int64_t began_us = phx_clock_us();
	if (!a || put_all(m, page, &b) < 0) {
		free(a);
		return NULL;
	}
	a->holders = 1;
	a->n = b.n;
	a->text = phx_buf_take(&b);
	m->took_us = phx_clock_us() - began_us;
	return a;
}

/* The answer for this page, kept or made, held for the caller; NULL: out of memory. */
static struct metrics_answer *answer_of(struct metrics *m, uint32_t page, bool gzip)
{
	uint32_t at = page - 1;
	int64_t keep_ms = at < METRICS_PAGES_KEPT ? (int64_t)m->d->cfg.metrics_keep_s * 1000 : 0;
	pthread_mutex_lock(&m->rendering);
	struct metrics_answer *a = at < METRICS_PAGES_KEPT ? m->kept[at] : NULL;
	if (!a || !keep_ms || phx_clock_ms() - m->made_ms[at] >= keep_ms) {
		a = make(m, page);
		if (a && keep_ms) {
			let_go(m->kept[at]);
			m->kept[at] = a;
			m->made_ms[at] = phx_clock_ms();
			a->holders++;
		}
	} else {
		a->holders++;
	}
	if (a && gzip)
		pack(a);
	pthread_mutex_unlock(&m->rendering);
	return a;
}

void metrics_reply(struct metrics *m, struct phx_http_request *q, uint32_t page)
{
	bool gzip = phx_http_takes_gzip(q);
	struct metrics_answer *a = answer_of(m, page, gzip);
	if (!a) {
		phx_http_reply_error(q, -ENOMEM, "out of memory");
		return;
	}
	gzip = gzip && a->packed;
	struct phx_http_shared text = {.data = gzip ? a->packed : a->text,
				       .n = gzip ? a->n_packed : a->n,
				       .gzip = gzip,
				       .type = TYPE,
				       .done = let_go,
				       .arg = a};
	phx_http_reply_shared(q, &text);
}
