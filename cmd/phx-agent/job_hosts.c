/* See job_hosts.h. Called by jobs.c and job_run.c, one at a time. Changes nothing
 * outside of its block, and replaces the file as a whole. */
#include "phx-agent/job_hosts.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "phx-agent/log.h"

enum { HOSTS_MAX = 16 << 20 };

static const char begin_line[] = "# nodes of the jobs of this node: begin (kept by phx-agent)\n";
static const char end_line[] = "# nodes of the jobs of this node: end (kept by phx-agent)\n";

static char *list_path(const char *dir, uint64_t id)
{
	return phx_path("%s/%" PRIu64 ".hosts", dir, id);
}

static bool address_valid(const char *text)
{
	unsigned char bytes[sizeof(struct in6_addr)];
	return inet_pton(AF_INET, text, bytes) == 1 || inet_pton(AF_INET6, text, bytes) == 1;
}

/* A line that another job has put there already is not put there again. */
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

/* What all jobs want; empty when none wants anything. */
static void collect(const char *dir, struct phx_buf *block)
{
	struct dirent **found = NULL;
	int n = scandir(dir, &found, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		const char *dot = strrchr(found[i]->d_name, '.');
		PHX_AUTO_FREE char *path = dot && phx_str_eq(dot, ".hosts") ? phx_path("%s/%s", dir, found[i]->d_name) : NULL;
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

/* `text` without our block. */
static void put_others(struct phx_buf *b, const char *text)
{
	const char *begin = strstr(text, begin_line), *end = begin ? strstr(begin, end_line) : NULL;
	if (!end) {
		phx_buf_addf(b, "%s", text);
		return;
	}
	phx_buf_add(b, text, (size_t)(begin - text));
	phx_buf_addf(b, "%s", end + sizeof(end_line) - 1);
}

static int settle(const char *dir, const char *hosts_file, struct phx_err *err)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf block = {0}, all = {0};
	PHX_AUTO_FREE char *text = NULL;
	PHX_AUTO_FREE char *real = realpath(hosts_file, NULL); /* a link stays one */
	const char *path = real ? real : hosts_file;
	int r = phx_file_read(path, HOSTS_MAX, &text, NULL, err);
	if (r < 0 && r != -ENOENT)
		return r;
	phx_err_clear(err);
	collect(dir, &block);
	put_others(&all, text ? text : "");
	if (block.n && all.n && all.data[all.n - 1] != '\n')
		phx_buf_addf(&all, "\n");
	if (block.n)
		phx_buf_add(&all, block.data, block.n);
	if (block.failed || all.failed)
		return -ENOMEM;
	if (phx_str_eq(all.data ? all.data : "", text ? text : ""))
		return 0;
	return phx_file_write(path, all.data ? all.data : "", all.n, 0644, err);
}

void job_hosts_settle(const char *dir, const char *hosts_file)
{
	struct phx_err err = {0};
	if (hosts_file[0] && settle(dir, hosts_file, &err) < 0)
		agent_log("names of nodes: %s", err.text);
}

void job_hosts_put(const char *dir, const char *hosts_file, const struct phx_job *job)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf lines = {0};
	PHX_AUTO_FREE char *path = list_path(dir, job->id);
	struct phx_err err = {0};
	PHX_LIST_EACH(struct phx_job_part, p, &job->parts)
	if (address_valid(p->address) && phx_name_valid(p->node))
		phx_buf_addf(&lines, "%s\t%s\n", p->address, p->node);
	if (!hosts_file[0] || !path || !lines.n || lines.failed)
		return;
	if (phx_file_write(path, lines.data, lines.n, 0644, &err) < 0)
		agent_log("names of nodes: %s", err.text);
	job_hosts_settle(dir, hosts_file);
}

void job_hosts_drop(const char *dir, const char *hosts_file, uint64_t id)
{
	PHX_AUTO_FREE char *path = list_path(dir, id);
	if (path && unlink(path) == 0)
		job_hosts_settle(dir, hosts_file);
}
