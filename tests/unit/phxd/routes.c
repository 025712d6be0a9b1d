/* The table of routes (cmd/phxd/routes.c): whatever row is asked for, its right is checked before
 * the body comes and before its handler is called, what people write counts, and no row hides
 * another. The handlers are fakes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "http/internal.h"

#include "phxd/routes.c" /* a part of a program, not of the library */

enum { N_ROWS = PHX_ARRAY_SIZE(routes) };

static const struct {
	const char *method, *path;
	unsigned via;
	enum phx_right right;
	bool body_file;
} rows[] = {
#define ROUTE(method, path, via, handler, right, body_max, body_file) \
	{method, path, via, PHX_RIGHT_##right, body_file},
#include "phxd/routes.def"
#undef ROUTE
};

static struct daemon d;
static bool permitted, may_order, may_upload;
static unsigned n_asked[PHX_RIGHT_COUNT_], n_orders, n_uploads, n_reads;
static size_t handled; /* the row whose handler was called; N_ROWS: none was */

/* ---- what is called ---- */

static void handle(const void *arg, size_t row)
{
	assert_ptr_equal(arg, &d);
	assert_int_equal(handled, N_ROWS);
	handled = row;
}

enum row {
#define ROUTE(method, path, via, handler, right, body_max, body_file) ROW_##handler,
#include "phxd/routes.def"
#undef ROUTE
};
#define ROUTE(method, path, via, handler, right, body_max, body_file) \
	void handler(struct phx_http_request *q, void *arg) \
	{ \
		(void)q; \
		handle(arg, ROW_##handler); \
	}
#include "phxd/routes.def"
#undef ROUTE

bool person_require(struct daemon *of, struct phx_http_request *q, enum phx_right right)
{
	(void)q;
	assert_ptr_equal(of, &d);
	n_asked[right]++;
	return permitted;
}

bool quota_may_write(struct quota *u, struct phx_http_request *q)
{
	(void)u, (void)q;
	n_orders++;
	return may_order;
}

void reads_take(struct reads *r, struct phx_http_request *q, phx_http_handler handler)
{
	(void)r;
	n_reads++;
	handler(q, &d);
}

/* Of an upload that has no condition in the table of those. */
void phx_http_reply_error(struct phx_http_request *q, int code, const char *text)
{
	(void)q, (void)code;
	print_error("%s\n", text);
}

#define MAY_UPLOAD(name) \
	bool name(struct phx_http_request *q, void *arg) \
	{ \
		(void)q, (void)arg; \
		n_uploads++; \
		return may_upload; \
	}
MAY_UPLOAD(re_data_may_put)
MAY_UPLOAD(stage_out_may_put)
MAY_UPLOAD(job_output_may_put)
MAY_UPLOAD(workflow_may_post)

/* ---- asking ---- */

static void begin(bool person, bool order, bool upload)
{
	permitted = person;
	may_order = order;
	may_upload = upload;
	memset(n_asked, 0, sizeof(n_asked));
	n_orders = n_uploads = n_reads = 0;
	handled = N_ROWS;
}

static bool passes_gate(size_t row)
{
	struct phx_http_request q = {0};
	return routes[row].gate(&q, &d);
}

static bool is_handled(size_t row)
{
	struct phx_http_request q = {0};
	routes[row].handler(&q, &d);
	if (handled != N_ROWS && handled != row)
		fail_msg("%s %s is handled as %s", rows[row].method, rows[row].path,
			 rows[handled].path);
	return handled == row;
}

#define EACH(row) for (size_t row = 0; row < N_ROWS; row++)
#define ROW_SAYS(row, cond) \
	do { \
		if (!(cond)) \
			fail_msg("%s %s: not %s", rows[row].method, rows[row].path, #cond); \
	} while (0)

/* ---- tests ---- */

static void each_row_has_a_gate_that_asks_for_its_right(void **state)
{
	(void)state;
	EACH(row)
	{
		begin(false, true, true);
		ROW_SAYS(row, !passes_gate(row));
		ROW_SAYS(row, n_asked[rows[row].right] == 1);
		ROW_SAYS(row, n_uploads == 0); /* not even that is looked at */
		begin(true, true, true);
		ROW_SAYS(row, passes_gate(row));
		ROW_SAYS(row, n_uploads == rows[row].body_file);
	}
}

/* An upload takes long: the right may be gone when it has come. */
static void an_upload_is_permitted_twice(void **state)
{
	(void)state;
	EACH(row)
	{
		if (!rows[row].body_file)
			continue;
		begin(true, true, false);
		ROW_SAYS(row, !passes_gate(row));
		begin(false, true, true);
		ROW_SAYS(row, !is_handled(row));
		ROW_SAYS(row, n_asked[rows[row].right] == 1);
		begin(true, true, true);
		ROW_SAYS(row, is_handled(row));
	}
}

/* A read stands in a line behind others. */
static void a_read_is_permitted_again_when_its_turn_comes(void **state)
{
	(void)state;
	EACH(row)
	{
		if (!(rows[row].via & R))
			continue;
		begin(false, true, true);
		ROW_SAYS(row, !is_handled(row));
		ROW_SAYS(row, n_reads == !rows[row].body_file && n_asked[rows[row].right] == 1);
	}
}

/* Who looks, and what agents say, is counted elsewhere. */
static void what_people_order_has_a_limit(void **state)
{
	(void)state;
	EACH(row)
	{
		bool looks = !strcmp(rows[row].method, "GET") || (rows[row].via & R),
		     agents = rows[row].right == PHX_RIGHT_agent,
		     anybody = rows[row].right == PHX_RIGHT_public;
		begin(true, false, true);
		ROW_SAYS(row, is_handled(row) == (looks || agents || anybody));
		ROW_SAYS(row, n_orders == !(looks || agents || anybody));
		begin(true, true, true);
		ROW_SAYS(row, is_handled(row));
		ROW_SAYS(row, n_reads == ((rows[row].via & R) != 0));
	}
}

static bool ends_with(const char *path, const char *word)
{
	size_t n = strlen(path), m = strlen(word);
	return n > m && !strcmp(path + n - m, word);
}

/* Expensive reads are not counted, so nobody may write by one. */
static void only_reads_are_carried_out_beside(void **state)
{
	(void)state;
	EACH(row)
	ROW_SAYS(row,
		 !(rows[row].via & R) || !strcmp(rows[row].method, "GET") ||
			 ends_with(rows[row].path, "check") ||
			 ends_with(rows[row].path, "convert"));
}

/* Over plain HTTP nobody has a name, and the one thing that is told is kept as a claim. */
static void without_a_certificate_only_public_rows_are_reached(void **state)
{
	(void)state;
	EACH(row)
	{
		bool anybody = rows[row].right == PHX_RIGHT_public;
		ROW_SAYS(row, !(routes[row].via & PHX_HTTP_CERT) == anybody);
		ROW_SAYS(row, !(routes[row].via & P) || anybody);
		ROW_SAYS(row,
			 !(rows[row].via & P) || !strcmp(rows[row].method, "GET") ||
				 !strcmp(rows[row].path, "/beacon/*"));
		ROW_SAYS(row, routes[row].via & (U | T | P));
	}
}

/* A path that the row stands for, and no other row needs. */
static void path_of(size_t row, char ret[200])
{
	size_t n = 0;
	for (const char *p = rows[row].path; *p && n < 190; p++)
		n += (size_t)snprintf(ret + n, 200 - n, *p == '*' ? "x" : "%c", *p);
	ret[n] = '\0';
}

static bool fits(size_t row, const struct phx_http_path *path)
{
	char *params[PHX_HTTP_PARAMS_MAX] = {NULL};
	bool is = phx_http_path_match(routes[row].path, path, params);
	for (size_t i = 0; i < PHX_HTTP_PARAMS_MAX; i++)
		free(params[i]);
	return is;
}

/* The first row that fits is taken. */
static void no_row_hides_another(void **state)
{
	(void)state;
	EACH(row)
	{
		char text[200];
		struct phx_http_path path = {0};
		path_of(row, text);
		assert_int_equal(phx_http_path_parse(text, &path, NULL), 0);
		ROW_SAYS(row, fits(row, &path));
		for (size_t first = 0; first < row; first++)
			if (!strcmp(rows[first].method, rows[row].method) && fits(first, &path))
				fail_msg("%s %s is never reached: %s stands before it",
					 rows[row].method, rows[row].path, rows[first].path);
		phx_http_path_fini(&path);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_row_has_a_gate_that_asks_for_its_right),
		cmocka_unit_test(an_upload_is_permitted_twice),
		cmocka_unit_test(a_read_is_permitted_again_when_its_turn_comes),
		cmocka_unit_test(what_people_order_has_a_limit),
		cmocka_unit_test(only_reads_are_carried_out_beside),
		cmocka_unit_test(without_a_certificate_only_public_rows_are_reached),
		cmocka_unit_test(no_row_hides_another),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
