/* The script of a job: read where phx runs, with the options that its own lines
 * name ("#PHX --re queue -n 4"). They are those of the command line, which counts
 * before them. Called by job_submit.c. */
#include <errno.h>
#include <string.h>

#include "base/file.h"
#include "base/record.h"
#include "phx/job.h"

static const char mark[] = "#PHX";

/* ---- words ---- */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* Cuts the next word out of the line, quotes taken off; NULL at its end. -EINVAL: a quote is not
 * closed. */
static int next_word(char **at, char **ret)
{
	char *p = *at, quote = 0;
	while (is_blank(*p))
		p++;
	*ret = *p && *p != '#' ? p : NULL;
	char *to = p;
	for (; *ret && *p && (quote || !is_blank(*p)); p++) {
		if (quote ? *p == quote : *p == '"' || *p == '\'')
			quote = quote ? 0 : *p;
		else
			*to++ = *p;
	}
	*at = *p ? p + 1 : p;
	if (*ret)
		*to = '\0';
	return quote ? -EINVAL : 0;
}

static int add_line(struct cli_script *s, char *line)
{
	for (char *word;;) {
		int r = next_word(&line, &word);
		if (r < 0 || !word)
			return r;
		char **words = reallocarray(s->words, (size_t)s->n_words + 2, sizeof(*words));
		if (!words)
			return -ENOMEM;
		s->words = words;
		words[s->n_words++] = word;
		words[s->n_words] = NULL;
	}
}

/* ---- lines ---- */

/* Up to the first line that is no comment. */
static int collect(struct cli_script *s, const char *path)
{
	unsigned number = 1;
	s->lines = strdup(s->text);
	s->words = calloc(2, sizeof(*s->words));
	if (!s->lines || !s->words)
		return cli_fail(CLI_PARTIAL, "out of memory");
	s->words[s->n_words++] = s->lines; /* getopt skips the first */
	for (char *line = s->lines; line && (*line == '#' || *line == '\n' || *line == '\r');
	     number++) {
		char *end = strchr(line, '\n');
		if (end)
			*end = '\0';
		bool marked = phx_str_starts(line, mark) && is_blank(line[sizeof(mark) - 1]);
		if (marked && add_line(s, line + sizeof(mark) - 1) < 0)
			return cli_fail(CLI_USAGE, "%s:%u: a quote is not closed", path, number);
		line = end ? end + 1 : NULL;
	}
	return CLI_OK;
}

int cli_script_read(struct cli *cli, const char *path, struct cli_script *ret)
{
	struct phx_err err = {0};
	size_t n = 0;
	int r = phx_file_read(path, PHX_TEXT_MAX, &ret->text, &n, &err);
	if (r == -ENOENT || r == -EISDIR)
		return cli_fail(CLI_USAGE,
				"%s: there is no such script here; a command for the nodes stands "
				"behind --",
				path);
	if (r == -EFBIG)
		return cli_fail(CLI_USAGE, "%s: a script has at most %u KiB", path,
				PHX_TEXT_MAX >> 10);
	if (r < 0)
		return cli_fail(CLI_USAGE, "%s", err.text);
	if (strlen(ret->text) != n || !phx_str_starts(ret->text, "#!"))
		return cli_fail(CLI_USAGE,
				"%s: is no script: its first line must name its interpreter "
				"(#!/bin/sh); a command for "
				"the nodes stands behind --",
				path);
	int code = collect(ret, path);
	if (code)
		return code;
	r = cli_args_add(&cli->args, ret->n_words, ret->words, &err);
	return r ? cli_fail(CLI_USAGE, "%s: %s: %s", path, mark, err.text) : CLI_OK;
}

void cli_script_fini(struct cli_script *s)
{
	free(s->text);
	free(s->lines);
	free(s->words);
	*s = (struct cli_script){0};
}
