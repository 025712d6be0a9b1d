/* See job_hosts.h. Called by jobs.c and job_run.c, one at a time. Replaces the
 * file as a whole. Outside of its block it changes one kind of line while the block
 * is there: "127.0.1.1 NAME", which distributions write for the machine itself,
 * would hide the address of a node. Such a line becomes a comment, followed by a
 * line for its other names. The new file is always made from the file as it would be
 * without us. */
#include "agent/job_hosts.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/address.h"
#include "base/file.h"
#include "agent/log.h"

enum { HOSTS_MAX = 16 << 20 };

static const char begin_line[] = "# nodes of the jobs of this node: begin (kept by phx-agent)\n";
static const char end_line[] = "# nodes of the jobs of this node: end (kept by phx-agent)\n";

static const char hidden[] = "# away while jobs run here (kept by phx-agent): ";
static const char instead[] = " # for the line above (kept by phx-agent)";

static char *list_path(const char *dir, uint64_t id)
{
	return phx_path("%s/%" PRIu64 ".hosts", dir, id);
}

/* Adds the lines of `text` that no other job has added already. */
static void add_lines(struct phx_buf *block, char *text)
{
	char *rest = NULL;
	size_t n = block->n;
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		PHX_AUTO_FREE char *whole = phx_path("\n%s\n", line);
		const char *there = whole && n ? strstr(block->data, whole) : NULL;
		if (!there || (size_t)(there - block->data) >= n)
			phx_buf_addf(block, "%s\n", line);
	}
}

/* Collects the lines of all jobs into a block; empty when no job has lines. */
static void collect(const char *dir, struct phx_buf *block)
{
	struct dirent **found = NULL;
	int n = scandir(dir, &found, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		const char *dot = strrchr(found[i]->d_name, '.');
		PHX_AUTO_FREE char *path = dot && phx_str_eq(dot, ".hosts")
			? phx_path("%s/%s", dir, found[i]->d_name)
			: NULL;
		PHX_AUTO_FREE char *text = NULL;
		if (path && phx_file_read(path, HOSTS_MAX, &text, NULL, NULL) == 0) {
			if (block->n)
				add_lines(block, text);
			else
				phx_buf_addf(block, "%s%s", begin_line, text);
		}
		free(found[i]);
	}
	free(found);
	if (block->n)
		phx_buf_addf(block, "%s", end_line);
}

/* Length of the line at `text`, with its newline. */
static size_t line_length(const char *text)
{
	const char *end = strchr(text, '\n');
	return end ? (size_t)(end - text) + 1 : strlen(text);
}

/* Adds the n bytes of lines at `text` as they were before any line was hidden. */
static void put_restored(struct phx_buf *b, const char *text, size_t n)
{
	for (size_t length; n; text += length, n -= length) {
		length = line_length(text) < n ? line_length(text) : n;
		const char *ours = memmem(text, length, instead, sizeof(instead) - 1);
		bool was_hidden =
			length >= sizeof(hidden) && !memcmp(text, hidden, sizeof(hidden) - 1);
		size_t skip = was_hidden ? sizeof(hidden) - 1 : 0;
		if (!ours || was_hidden)
			phx_buf_add(b, text + skip, length - skip);
	}
}

/* Adds `text` without our block, with hidden lines restored. */
static void put_others(struct phx_buf *b, const char *text)
{
	const char *begin = strstr(text, begin_line), *end = begin ? strstr(begin, end_line) : NULL;
	put_restored(b, text, end ? (size_t)(begin - text) : strlen(text));
	if (end)
		put_restored(b, end + sizeof(end_line) - 1, strlen(end + sizeof(end_line) - 1));
}

/* ---- lines that hide a node ---- */

static bool is_loopback(const char *address)
{
	return !strncmp(address, "127.", 4) || phx_str_eq(address, "::1");
}

/* Does the block have an address for `name` that is not a loopback address? */
static bool has_address(const char *block, const char *name)
{
	size_t n = strlen(name);
	for (const char *line = block; *line; line += line_length(line)) {
		size_t length = line_length(line);
		const char *tab = memchr(line, '\t', length);
		if (tab && !is_loopback(line) && length - (size_t)(tab - line) == n + 2 &&
		    !strncasecmp(tab + 1, name, n))
			return true;
	}
	return false;
}

/* `rest`: a loopback line without the names of nodes; "" if no name is left. False: the line names
 * no node. */
static bool take_out(const char *block, const char *line, size_t n, struct phx_buf *rest)
{
	PHX_AUTO_FREE char *copy = strndup(line, n);
	char *more = NULL;
	bool found = false;
	uint32_t n_names = 0;
	char *comment = copy ? strchr(copy, '#') : NULL;
	if (comment)
		*comment = '\0';
	char *address = copy ? strtok_r(copy, " \t\r\n", &more) : NULL;
	if (!address || !is_loopback(address))
		return false;
	phx_buf_addf(rest, "%s", address);
	for (char *name; (name = strtok_r(NULL, " \t\r\n", &more));) {
		bool node_s = has_address(block, name);
		found = found || node_s;
		n_names += !node_s;
		if (!node_s)
			phx_buf_addf(rest, " %s", name);
	}
	if (!n_names)
		rest->n = 0;
	return found;
}

static void put_hiding(struct phx_buf *b, const char *text, const char *block)
{
	for (const char *line = text; *line; line += line_length(line)) {
		PHX_AUTO(phx_buf_fini) struct phx_buf rest = {0};
		size_t n = line_length(line);
		bool hide = take_out(block, line, n, &rest);
		if (hide)
			phx_buf_addf(b, "%s", hidden);
		phx_buf_add(b, line, n);
		if (hide && rest.n)
			phx_buf_addf(b, "%s%s%s\n", line[n - 1] == '\n' ? "" : "\n", rest.data,
				     instead);
	}
}

static int settle(const char *dir, const char *hosts_file, struct phx_err *err)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf block = {0}, all = {0}, others = {0};
	PHX_AUTO_FREE char *text = NULL;
	PHX_AUTO_FREE char *real = realpath(hosts_file, NULL); /* a link stays a link */
	const char *path = real ? real : hosts_file;
	int r = phx_file_read(path, HOSTS_MAX, &text, NULL, err);
	if (r < 0 && r != -ENOENT)
		return r;
	phx_err_clear(err);
	collect(dir, &block);
	put_others(&others, text ? text : "");
	if (others.n && block.n)
		put_hiding(&all, others.data, block.data);
	else if (others.n)
		phx_buf_add(&all, others.data, others.n);
	if (block.n && all.n && all.data[all.n - 1] != '\n')
		phx_buf_addf(&all, "\n");
	if (block.n)
		phx_buf_add(&all, block.data, block.n);
	if (block.failed || all.failed || others.failed)
		return -ENOMEM;
	if (phx_str_eq(all.data ? all.data : "", text ? text : ""))
		return 0;
	return phx_file_write(path, all.data ? all.data : "", all.n, 0644, err);
}

static void settle_all(const char *dir, const char *hosts_file)
{
	struct phx_err err = {0};
	if (hosts_file[0] && settle(dir, hosts_file, &err) < 0)
		agent_log("names of nodes: %s", err.text);
}

void job_hosts_begin(const char *dir, const char *hosts_file)
{
	PHX_AUTO_FREE char *real = hosts_file[0] ? realpath(hosts_file, NULL) : NULL;
	if (real)
		phx_file_sweep_of(real);
	settle_all(dir, hosts_file);
}

void job_hosts_put(const char *dir, const char *hosts_file, const struct phx_job *job)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf lines = {0};
	PHX_AUTO_FREE char *path = list_path(dir, job->id);
	struct phx_err err = {0};
	PHX_LIST_EACH(struct phx_job_part, p, &job->parts)
		if (phx_address_valid(p->address) && phx_name_valid(p->node))
			phx_buf_addf(&lines, "%s\t%s\n", p->address, p->node);
	if (!hosts_file[0] || !path || !lines.n || lines.failed)
		return;
	if (phx_file_write(path, lines.data, lines.n, 0644, &err) < 0)
		agent_log("names of nodes: %s", err.text);
	settle_all(dir, hosts_file);
}

void job_hosts_drop(const char *dir, const char *hosts_file, uint64_t id)
{
	PHX_AUTO_FREE char *path = list_path(dir, id);
	if (path && unlink(path) == 0)
		settle_all(dir, hosts_file);
}
