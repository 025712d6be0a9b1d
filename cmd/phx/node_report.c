/* phx node report: one archive of what a report of a bug needs: of each node its record with facts
 * and plan, its events, its last start, what its agent and kernel said and what the head kept of
 * that, and the head's status, configuration and version. What looks like a secret is left out
 * (base/scrub.h). What cannot be had is no error: the archive says why. Changes nothing. */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/scrub.h"
#include "phx/cli.h"

enum { CALL_MS = 30000, EVENTS = 1000, NODES_MAX = 256 };

struct report {
	struct cli *cli;
	struct archive *a;
	char top[64];         /* the directory that all of it is in */
	struct phx_buf holes; /* what could not be had */
	int64_t made_s;
	unsigned n_files;
};

/* ---- the archive ---- */

static int failed(struct report *r, const char *name)
{
	const char *why = archive_error_string(r->a);
	return cli_fail(CLI_PARTIAL, "%s: %s", name, why ? why : "cannot be packed");
}

static bool open_archive(struct report *r, int fd)
{
	r->a = archive_write_new();
	return r->a && archive_write_add_filter_zstd(r->a) >= ARCHIVE_WARN &&
		archive_write_set_format_pax_restricted(r->a) >= ARCHIVE_WARN &&
		archive_write_open_fd(r->a, fd) >= ARCHIVE_WARN;
}

/* Text that is clean already. */
static int put_clean(struct report *r, const char *name, const char *text)
{
	PHX_AUTO_FREE char *path = phx_path("%s/%s", r->top, name);
	struct archive_entry *e = archive_entry_new();
	size_t n = strlen(text);
	if (!path || !e) {
		archive_entry_free(e);
		return cli_fail(CLI_PARTIAL, "out of memory");
	}
	archive_entry_copy_pathname(e, path);
	archive_entry_set_mode(e, S_IFREG | 0600);
	archive_entry_set_size(e, (la_int64_t)n);
	archive_entry_set_mtime(e, r->made_s, 0);
	bool done = archive_write_header(r->a, e) >= ARCHIVE_WARN &&
		archive_write_data(r->a, text, n) == (la_ssize_t)n;
	archive_entry_free(e);
	r->n_files++;
	return done ? CLI_OK : failed(r, name);
}

static int put_text(struct report *r, const char *name, const char *text)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	phx_scrub_text(text, &b);
	return b.failed ? cli_fail(CLI_PARTIAL, "out of memory") : put_clean(r, name, b.data);
}

static int put_json(struct report *r, const char *name, const json_t *j)
{
	PHX_AUTO_JSON json_t *clean = phx_scrub_json(j);
	PHX_AUTO_FREE char *text = clean ? json_dumps(clean, JSON_INDENT(1)) : NULL;
	return text ? put_clean(r, name, text) : cli_fail(CLI_PARTIAL, "out of memory");
}

/* ---- what is asked of the head ---- */

/* NULL: it is noted why. */
static json_t *ask(struct report *r, const char *name, const char *path)
{
	struct phx_err err = {0};
	json_t *j = NULL;
	int code = cli_call_quiet(r->cli, "GET", path, NULL, CALL_MS, &j, &err);
	if (code)
		phx_buf_addf(&r->holes, "%s: %s\n", name,
			     err.text[0] ? err.text : "the head did not answer");
	return code ? NULL : j;
}

static int add(struct report *r, const char *name, const char *path)
{
	PHX_AUTO_JSON json_t *j = ask(r, name, path);
	return j ? put_json(r, name, j) : CLI_OK;
}

/* The member "text" of the answer, as a text. */
static int add_text(struct report *r, const char *name, const char *path)
{
	PHX_AUTO_JSON json_t *j = ask(r, name, path);
	return j ? put_text(r, name, phx_json_str(j, "text", "")) : CLI_OK;
}

/* As phx node why --verbose shows it: a text is cleaned as a whole of what is in several rows, such
 * as a key. */
static int add_why(struct report *r, const char *name, const char *path)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	PHX_AUTO_JSON json_t *j = ask(r, name, path);
	if (!j)
		return CLI_OK;
	cli_why_put(&b, j);
	return b.failed ? cli_fail(CLI_PARTIAL, "out of memory") : put_text(r, name, b.data);
}

/* The last events about a node: they are told from a number on. */
static int add_events(struct report *r, const char *node, const char *name)
{
	PHX_AUTO_JSON json_t *all = json_array();
	uint64_t after = 0;
	for (bool more = true; more;) {
		PHX_AUTO_FREE char *path = phx_path("/v1/events?node=%s&after=%llu&limit=%d", node,
						    (unsigned long long)after, EVENTS);
		PHX_AUTO_JSON json_t *j = path ? ask(r, name, path) : NULL;
		if (!j)
			break;
		json_array_extend(all, json_object_get(j, "events"));
		while (json_array_size(all) > EVENTS)
			json_array_remove(all, 0);
		uint64_t last = (uint64_t)phx_json_int(j, "last", 0);
		more = phx_json_bool(j, "more", false) && last > after;
		after = last;
	}
	return put_json(r, name, all);
}

static int add_node(struct report *r, const char *node)
{
	static const struct {
		const char *name, *path;
		int (*add)(struct report *r, const char *name, const char *path);
	} parts[] = {
		{"node.json", "/v1/nodes/%s", add},
		{"why.txt", "/v1/nodes/%s/why?rows=yes", add_why},
		{"agent.log", "/v1/nodes/%s/logs?of=agent&lines=10000", add_text},
		{"kernel.log", "/v1/nodes/%s/logs?of=kernel&lines=10000", add_text},
		{"kept.log", "/v1/nodes/%s/logs?of=kept", add_text},
		{"erasures.json", "/v1/nodes/%s/erasures", add},
	};
	PHX_AUTO_FREE char *events = phx_path("%s/events.json", node);
	int code = events ? add_events(r, node, events) : cli_fail(CLI_PARTIAL, "out of memory");
	for (size_t i = 0; i < PHX_ARRAY_SIZE(parts) && !code; i++) {
		PHX_AUTO(phx_buf_fini) struct phx_buf path = {0};
		PHX_AUTO_FREE char *name = phx_path("%s/%s", node, parts[i].name);
		const char *at = strstr(parts[i].path, "%s");
		phx_buf_addf(&path, "%.*s%s%s", (int)(at - parts[i].path), parts[i].path, node,
			     at + 2);
		code = name && !path.failed ? parts[i].add(r, name, path.data)
					    : cli_fail(CLI_PARTIAL, "out of memory");
	}
	return code;
}

static int add_head(struct report *r)
{
	PHX_AUTO_JSON json_t *phx = json_pack("{s:s}", "phx", PHX_VERSION);
	int code = put_json(r, "version.json", phx);
	code = code ? code : add(r, "status.json", "/v1/status");
	code = code ? code : add(r, "config.json", "/v1/config");
	code = code ? code : add(r, "roles.json", "/v1/roles");
	code = code ? code : add(r, "images.json", "/v1/images");
	return code ? code : add(r, "packages.json", "/v1/packages");
}

static int add_all(struct report *r, const json_t *nodes)
{
	int code = add_head(r);
	for (size_t i = 0; i < json_array_size(nodes) && !code; i++)
		code = add_node(r, phx_json_str(json_array_get(nodes, i), "name", ""));
	if (!code && r->holes.n)
		code = put_text(r, "missing.txt", r->holes.data);
	return code;
}

/* ---- the file ---- */

/* It is there whole or not at all, and nobody else may read it. */
static int make(struct report *r, const json_t *nodes, const char *file)
{
	PHX_AUTO_FREE char *part = phx_path("%s.part", file);
	PHX_AUTO_CLOSE int fd =
		part ? open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600) : -1;
	if (fd < 0)
		return cli_fail(CLI_PARTIAL, "%s: %s", file, strerror(part ? errno : ENOMEM));
	int code = open_archive(r, fd) ? add_all(r, nodes) : failed(r, file);
	if (r->a && archive_write_close(r->a) < ARCHIVE_WARN && !code)
		code = failed(r, file);
	archive_write_free(r->a);
	if (!code && (fsync(fd) < 0 || rename(part, file) < 0))
		code = cli_fail(CLI_PARTIAL, "%s: %s", file, strerror(errno));
	if (code)
		unlink(part);
	return code;
}

static int tell(struct report *r, const json_t *nodes, const char *file)
{
	unsigned n = (unsigned)json_array_size(nodes);
	PHX_AUTO_JSON json_t *j =
		json_pack("{s:s,s:i,s:i,s:s}", "file", file, "nodes", (int)n, "files",
			  (int)r->n_files, "missing", r->holes.data ? r->holes.data : "");
	if (cli_structured(r->cli))
		return cli_print_value(r->cli, j);
	printf("%s: %u files of %u node%s\n", file, r->n_files, n, n == 1 ? "" : "s");
	if (r->holes.n)
		fprintf(stderr, "phx: not in it:\n%s", r->holes.data);
	return CLI_OK;
}

int cmd_node_report(struct cli *cli)
{
	PHX_AUTO_JSON json_t *nodes = NULL;
	struct report r = {.cli = cli, .made_s = phx_wall_ms() / 1000};
	char file[96];
	struct tm tm;
	time_t now = (time_t)r.made_s;
	gmtime_r(&now, &tm);
	strftime(r.top, sizeof(r.top), "phoenix-report-%Y%m%dT%H%M%SZ", &tm);
	snprintf(file, sizeof(file), "%s.tar.zst", r.top);
	int code = cli_nodes_select(cli, cli_arg(cli, 0), "name", &nodes);
	if (!code && json_array_size(nodes) > NODES_MAX)
		code = cli_fail(CLI_USAGE, "%zu nodes: a report has at most %d",
				json_array_size(nodes), NODES_MAX);
	const char *to = cli_opt(cli, CLI_OPT_file, file);
	code = code ? code : make(&r, nodes, to);
	code = code ? code : tell(&r, nodes, to);
	phx_buf_fini(&r.holes);
	return code;
}
