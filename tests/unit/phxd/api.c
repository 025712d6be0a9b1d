/* API.md against the table of routes: each row of the one is in the other, with its method, its
 * right, and the listeners that have it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/util.h"
#include "types/rights.h"

static const struct {
	const char *method, *path, *via, *right;
} routes[] = {
#define ROUTE(method, path, via, handler, right, body_max, body_file) {method, path, #via, #right},
#include "phxd/routes.def"
#undef ROUTE
};

enum { TEXT = 200 };

struct page {
	char listeners[TEXT]; /* of the section */
	char method[TEXT];
	char path[TEXT];
	int line;
	bool documented[PHX_ARRAY_SIZE(routes)];
	char wrong[4096];
};

static void complain(struct page *p, const char *what, const char *which)
{
	size_t n = strlen(p->wrong);
	snprintf(p->wrong + n, sizeof(p->wrong) - n, "API.md:%d: %s %s: %s\n", p->line, p->method,
		 which, what);
}

/* Does the path of a page (/v1/nodes/NAME) stand for that of a route? A small word may stand for a
 * *: ret_word. */
static bool path_fits(const char *path, const char *route, bool *ret_word)
{
	*ret_word = false;
	while (*path && *route) {
		size_t n = strcspn(path + 1, "/") + 1, m = strcspn(route + 1, "/") + 1;
		bool capital = path[1] >= 'A' && path[1] <= 'Z';
		if (phx_str_starts(route, "/**"))
			return capital && !path[n];
		if (phx_str_starts(route, "/*"))
			*ret_word = !capital;
		else if (n != m || strncmp(path, route, n) != 0)
			return false;
		path += n;
		route += m;
	}
	return !*path && !*route;
}

/* The same letters U, T, P in both. */
static bool same_listeners(const char *a, const char *b)
{
	for (const char *c = "UTP"; *c; c++)
		if (!strchr(a, *c) != !strchr(b, *c))
			return false;
	return true;
}

static void check_request(struct page *p, const char *path, const char *who, const char *listeners)
{
	bool word = false;
	int any;
	size_t i = 0;
	while (i < PHX_ARRAY_SIZE(routes) &&
	       (strcmp(routes[i].method, p->method) != 0 ||
		!path_fits(path, routes[i].path, &word)))
		i++;
	if (i == PHX_ARRAY_SIZE(routes)) {
		complain(p, "routes.def has no such route", path);
		return;
	}
	p->documented[i] = true;
	/* a handler may ask for another one, for one word of several */
	if (word ? phx_enum_parse(&phx_right_names, who, &any, NULL) < 0
		 : strcmp(who, routes[i].right) != 0)
		complain(p, "another right is asked for, by routes.def", path);
	if (!same_listeners(listeners, routes[i].via))
		complain(p, "other listeners have it, by routes.def", path);
}

/* One text in backquotes: a method, a method and a path, a path, or a word in place of the path's
 * last. */
static void parse_token(struct page *p, char *token, const char *who, const char *listeners)
{
	token[strcspn(token, "?")] = '\0';
	char *slash = strchr(token, '/');
	if (token[0] >= 'A' && token[0] <= 'Z')
		snprintf(p->method, sizeof(p->method), "%.*s", (int)strcspn(token, " "), token);
	if (slash)
		snprintf(p->path, sizeof(p->path), "%s", slash);
	else if (token[0] >= 'a' && token[0] <= 'z')
		snprintf(strrchr(p->path, '/') + 1, sizeof(p->path) / 2, "%s", token);
	else
		return; /* the path is that of the next */
	check_request(p, p->path, who, listeners);
}

/* "`GET`, `PUT /v1/x`": each method is of that path. */
static void take_requests(struct page *p, char *cell, const char *who, const char *listeners)
{
	char *rest = NULL, before[TEXT] = "";
	int i = 0;
	for (char *part = strtok_r(cell, "`", &rest); part;
	     part = strtok_r(NULL, "`", &rest), i++) {
		if (i % 2)
			continue; /* between two */
		if (!strchr(part, '/') && part[0] >= 'A' && part[0] <= 'Z') {
			snprintf(before, sizeof(before), "%s", part);
			continue;
		}
		parse_token(p, part, who, listeners);
		if (before[0]) {
			snprintf(p->method, sizeof(p->method), "%s", before);
			check_request(p, p->path, who, listeners);
			before[0] = '\0';
		}
	}
}

/* | requests | who (listeners) | ... */
static void take_row(struct page *p, char *line)
{
	char cell[TEXT * 2], who[TEXT] = "", listeners[TEXT];
	const char *second = strstr(line, " | ");
	snprintf(listeners, sizeof(listeners), "%s", p->listeners);
	if (!second || (size_t)(second - line) >= sizeof(cell) ||
	    sscanf(second, " | %190[a-z_] (%190[^)])", who, listeners) < 1) {
		complain(p, "the row names no right", line);
		return;
	}
	snprintf(cell, sizeof(cell), "%.*s", (int)(second - line), line);
	take_requests(p, cell + 3, who, listeners);
}

static void read_page(struct page *p)
{
	struct phx_err err = {0};
	PHX_AUTO_FREE char *text = NULL;
	if (phx_file_read(TEST_DIR "/../cmd/phxd/API.md", 1 << 20, &text, NULL, &err) < 0)
		fail_msg("%s", err.text);
	char *line = text;
	while (line) {
		char *end = strchr(line, '\n');
		if (end)
			*end = '\0';
		p->line++;
		if (phx_str_starts(line, "## "))
			snprintf(p->listeners, sizeof(p->listeners), "%.190s",
				 strchr(line, '(') ? strchr(line, '(') : "");
		if (phx_str_starts(line, "| `"))
			take_row(p, line);
		line = end ? end + 1 : NULL;
	}
}

static void the_page_has_the_routes_and_no_others(void **state)
{
	(void)state;
	struct page p = {.method = "", .path = "/"};
	read_page(&p);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(routes); i++)
		if (!p.documented[i]) {
			snprintf(p.method, sizeof(p.method), "%s", routes[i].method);
			complain(&p, "is a route, and no row of the page", routes[i].path);
		}
	if (p.wrong[0])
		fail_msg("\n%s", p.wrong);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_page_has_the_routes_and_no_others),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
