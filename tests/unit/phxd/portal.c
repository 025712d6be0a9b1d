/* The pages of the portal (cmd/phxd/portal.c): what of a directory is served, and that no request
 * names a file on the disk. */
#include "base/tree.h"
#include "fake/request.h"

#include <sys/stat.h>

#include "phxd/portal.c" /* a part of a program, not of the library */

static char top[64];
static struct phx_config cfg;
static struct daemon d;

static int setup(void **state)
{
	(void)state;
	strcpy(top, "/tmp/phx-portal.XXXXXX");
	if (!mkdtemp(top))
		return -1;
	cfg = (struct phx_config){0};
	PHX_STR_SET(cfg.portal_dir, top);
	cfg.origins[PHX_OPT_portal_dir].line = 1;
	d = (struct daemon){0};
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	portal_free(d.portal);
	return phx_dir_remove(top, NULL);
}

static void put_file(const char *name, const char *text)
{
	PHX_AUTO_FREE char *path = phx_path("%s/%s", top, name);
	assert_int_equal(phx_file_write(path, text, strlen(text), 0644, NULL), 0);
}

static void reads(void)
{
	portal_free(PHX_TAKE(d.portal));
	assert_int_equal(portal_new(&cfg, &d.portal), 0);
}

static int gets(const char *name, const struct phx_http_page **ret)
{
	FAKE_REQUEST q = {.params = {name}};
	api_portal_file(&q, &d);
	*ret = q.page;
	return q.code;
}

static void only_parts_of_pages_are_served(void **state)
{
	static const struct {
		const char *name, *type;
	} rows[] = {{"index.html", "text/html; charset=utf-8"},
		    {"app-12.js", "text/javascript; charset=utf-8"},
		    {"app-12.css", "text/css; charset=utf-8"},
		    {"logo-12.svg", "image/svg+xml"},
		    {"app-12.js.gz", NULL},
		    {"secret.conf", NULL},
		    {"README", NULL},
		    {".js", NULL},
		    {"app.jsx", NULL},
		    {"dir.js", NULL}};
	const struct phx_http_page *page;
	(void)state;
	for (size_t i = 0; i + 1 < PHX_ARRAY_SIZE(rows); i++)
		put_file(rows[i].name, rows[i].name);
	PHX_AUTO_FREE char *dir = phx_path("%s/dir.js", top);
	assert_int_equal(mkdir(dir, 0755), 0);
	reads();
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		int r = gets(rows[i].name, &page);
		assert_int_equal(r, rows[i].type ? 200 : -ENOENT);
		if (!rows[i].type)
			continue;
		assert_string_equal(page->type, rows[i].type);
		assert_int_equal(page->n, strlen(rows[i].name));
		assert_memory_equal(page->data, rows[i].name, page->n);
	}
}

static void no_request_names_a_file_on_the_disk(void **state)
{
	static const char *const names[] = {
		"../secret.js", "/etc/passwd", "./app.js", "sub/app.js", "", "app.js/"};
	const struct phx_http_page *page;
	(void)state;
	put_file("app.js", "x");
	reads();
	for (size_t i = 0; i < PHX_ARRAY_SIZE(names); i++)
		assert_int_equal(gets(names[i], &page), -ENOENT);
	/* nor is one served that came later, or gone that was removed */
	put_file("late.js", "x");
	PHX_AUTO_FREE char *app = phx_path("%s/app.js", top);
	assert_int_equal(unlink(app), 0);
	assert_int_equal(gets("late.js", &page), -ENOENT);
	assert_int_equal(gets("app.js", &page), 200);
}

/* Whose name holds its digest is kept by browsers for ever; the page that names them is not. */
static void what_has_a_digest_in_its_name_never_changes(void **state)
{
	const struct phx_http_page *page;
	FAKE_REQUEST q = {0}, of_page = {0};
	char sha[PHX_SHA256_HEX];
	(void)state;
	put_file("index.html", "a page");
	put_file("app-1.js", "a script");
	put_file("app-1.js.gz", "a script, compressed");
	reads();
	api_portal(&q, &d);
	api_portal_page(&of_page, &d);
	assert_int_equal(q.code, 200);
	assert_ptr_equal(of_page.page, q.page);
	assert_false(q.page->immutable);
	assert_null(q.page->gzip);
	assert_int_equal(phx_sha256_of("a page", 6, sha), 0);
	assert_string_equal(q.page->etag, sha);
	assert_int_equal(gets("app-1.js", &page), 200);
	assert_true(page->immutable);
	assert_int_equal(page->n_gzip, strlen("a script, compressed"));
	assert_memory_equal(page->gzip, "a script, compressed", page->n_gzip);
	/* an open page that names others is outdated */
	PHX_AUTO_JSON json_t *names = portal_names(d.portal);
	assert_int_equal(json_array_size(names), 1);
	assert_string_equal(json_string_value(json_array_get(names, 0)), "app-1.js");
}

static void what_is_too_large_is_left_out(void **state)
{
	const struct phx_http_page *page;
	PHX_AUTO_FREE char *large = phx_path("%s/large.js", top);
	PHX_AUTO_FREE char *most = phx_path("%s/most.js", top);
	(void)state;
	put_file("large.js", "x");
	put_file("most.js", "x");
	put_file("small.js", "x");
	assert_int_equal(truncate(large, FILE_MAX + 1), 0);
	assert_int_equal(truncate(most, FILE_MAX), 0);
	reads();
	assert_int_equal(gets("large.js", &page), -ENOENT);
	assert_int_equal(gets("most.js", &page), 200);
	assert_int_equal(page->n, FILE_MAX);
	assert_int_equal(gets("small.js", &page), 200);
}

static void there_are_not_any_number_of_files(void **state)
{
	char name[32];
	(void)state;
	for (int i = 0; i < FILES_MAX + 5; i++) {
		snprintf(name, sizeof(name), "a%d.js", i);
		put_file(name, "x");
	}
	reads();
	assert_int_equal(d.portal->files.n, FILES_MAX);
	/* each of them is where its page says, though the list has moved while it grew */
	PHX_LIST_EACH(struct portal_file, f, &d.portal->files) {
		const struct phx_http_page *page;
		assert_int_equal(gets(f->name, &page), 200);
		assert_ptr_equal(page->etag, f->etag);
		assert_ptr_equal(page->data, f->data);
	}
}

static void where_there_are_no_pages_it_is_said(void **state)
{
	FAKE_REQUEST q = {0}, other = {0};
	(void)state;
	reads();
	api_portal(&q, &d);
	assert_int_equal(q.code, -ENOENT);
	assert_non_null(strstr(q.text, "there are no pages in "));
	assert_non_null(strstr(q.text, top));
	snprintf(cfg.portal_dir, sizeof(cfg.portal_dir), "%s/none", top);
	reads();
	api_portal(&other, &d);
	assert_int_equal(other.code, -ENOENT);
	/* where there are some, nobody learns where they are */
	put_file("app.js", "x");
	PHX_STR_SET(cfg.portal_dir, top);
	reads();
	FAKE_REQUEST third = {.params = {"none.js"}};
	api_portal_file(&third, &d);
	assert_string_equal(third.text, "the portal has no file none.js");
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(only_parts_of_pages_are_served),
		T(no_request_names_a_file_on_the_disk),
		T(what_has_a_digest_in_its_name_never_changes),
		T(what_is_too_large_is_left_out),
		T(there_are_not_any_number_of_files),
		T(where_there_are_no_pages_it_is_said),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
