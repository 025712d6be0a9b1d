/* Writes workflows as DAX: see dax.h. What DAX has no word for stands in profiles of the namespace
 * "phoenix", which others pass over. Called by trace/workflow.c. */
#include "trace/dax.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* What XML cannot hold, however it is written. */
static bool fits(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' && !strchr("\t\n\r", *text))
			return false;
	return true;
}

static void put_text(struct phx_buf *b, const char *text)
{
	for (; *text; text++) {
		/* blanks too: parsers make others of those in an attribute */
		if (strchr("<>&\"\t\n\r", *text))
			phx_buf_addf(b, "&#%d;", *text);
		else
			phx_buf_add(b, text, 1);
	}
}

static void put_attribute(struct phx_buf *b, const char *name, const char *text)
{
	phx_buf_addf(b, " %s=\"", name);
	put_text(b, text);
	phx_buf_addf(b, "\"");
}

static void put_profile(struct phx_buf *b, const char *space, const char *key, const char *text)
{
	phx_buf_addf(b, "    <profile namespace=\"%s\"", space);
	put_attribute(b, "key", key);
	phx_buf_addf(b, ">");
	put_text(b, text);
	phx_buf_addf(b, "</profile>\n");
}

static void put_number(struct phx_buf *b, const char *space, const char *key, uint64_t value)
{
	phx_buf_addf(b, "    <profile namespace=\"%s\" key=\"%s\">%" PRIu64 "</profile>\n", space,
		     key, value);
}

/* ---- what it runs ---- */

/* The kind, then words with blanks between them: no more can DAX say of a command. */
static bool is_plain(const struct phx_flow *f, uint32_t i)
{
	uint32_t n;
	const uint32_t *words = phx_flow_list(f, i, PHX_FLOW_ARGV, &n);
	bool plain = n && !strcmp(phx_flow_text(f, words[0]), phx_flow_text(f, f->tasks[i].name));
	for (uint32_t k = 1; plain && k < n; k++) {
		const char *word = phx_flow_text(f, words[k]);
		plain = *word && !strpbrk(word, " \t\r\n");
	}
	return plain;
}

static void put_argument(struct phx_buf *b, const struct phx_flow *f, uint32_t i)
{
	uint32_t n;
	const uint32_t *words = phx_flow_list(f, i, PHX_FLOW_ARGV, &n);
	if (n < 2)
		return;
	phx_buf_addf(b, "    <argument>");
	for (uint32_t k = 1; k < n; k++) {
		phx_buf_addf(b, k > 1 ? " " : "");
		put_text(b, phx_flow_text(f, words[k]));
	}
	phx_buf_addf(b, "</argument>\n");
}

static void put_words(struct phx_buf *b, const struct phx_flow *f, uint32_t i)
{
	uint32_t n;
	phx_flow_list(f, i, PHX_FLOW_ARGV, &n);
	put_number(b, "phoenix", "words", n);
	PHX_FLOW_EACH(it, f, i, PHX_FLOW_ARGV)
	put_profile(b, "phoenix", "word", phx_flow_text(f, *it));
}

/* ---- what it is like ---- */

static void put_wishes(struct phx_buf *b, const struct phx_flow *f, const struct phx_flow_task *t)
{
	if (t->nodes != 1)
		put_number(b, "pegasus", "nodes", t->nodes);
	if (t->cores)
		put_number(b, "pegasus", "cores", t->cores);
	if (t->memory_bytes) { /* in MiB, and what is lost by that */
		put_number(b, "pegasus", "memory", (t->memory_bytes + (1 << 20) - 1) >> 20);
		put_number(b, "phoenix", "memory_bytes", t->memory_bytes);
	}
	if (t->retries)
		put_number(b, "dagman", "retry", t->retries);
	if (t->time_ms)
		put_number(b, "phoenix", "time_ms", (uint64_t)t->time_ms);
	if (t->when_failed != PHX_FLOW_STOP)
		put_profile(b, "phoenix", "when_failed",
			    phx_enum_name(&phx_flow_when_failed_names, (int)t->when_failed));
	PHX_FLOW_EACH(it, f, (uint32_t)(t - f->tasks), PHX_FLOW_ENVIRONMENT)
	{
		const char *text = phx_flow_text(f, *it), *value = strchr(text, '=');
		PHX_AUTO_FREE char *name = value ? strndup(text, (size_t)(value - text)) : NULL;
		if (name)
			put_profile(b, "env", name, value + 1);
		else
			b->failed = true;
	}
}

static void put_uses(struct phx_buf *b, const struct phx_flow *f, uint32_t file, const char *link)
{
	phx_buf_addf(b, "    <uses");
	put_attribute(b, "name", phx_flow_file_name(f, file));
	phx_buf_addf(b, " link=\"%s\"", link);
	if (f->files[file].size_bytes)
		phx_buf_addf(b, " size=\"%" PRIu64 "\"", f->files[file].size_bytes);
	phx_buf_addf(b, "/>\n");
}

static void put_job(struct phx_buf *b, const struct phx_flow *f, uint32_t i)
{
	const struct phx_flow_task *t = &f->tasks[i];
	phx_buf_addf(b, "  <job");
	put_attribute(b, "id", phx_flow_id(f, i));
	put_attribute(b, "name", phx_flow_text(f, t->name));
	if (t->run_ms >= 0)
		phx_buf_addf(b, " runtime=\"%" PRId64 ".%03" PRId64 "\"", t->run_ms / 1000,
			     t->run_ms % 1000);
	phx_buf_addf(b, ">\n");
	put_argument(b, f, i);
	if (!is_plain(f, i))
		put_words(b, f, i);
	put_wishes(b, f, t);
	PHX_FLOW_EACH(it, f, i, PHX_FLOW_INPUTS)
	put_uses(b, f, *it, "input");
	PHX_FLOW_EACH(it, f, i, PHX_FLOW_OUTPUTS)
	put_uses(b, f, *it, "output");
	phx_buf_addf(b, "  </job>\n");
}

static void put_order(struct phx_buf *b, const struct phx_flow *f, uint32_t i)
{
	uint32_t n;
	phx_flow_list(f, i, PHX_FLOW_PARENTS, &n);
	if (!n)
		return;
	phx_buf_addf(b, "  <child");
	put_attribute(b, "ref", phx_flow_id(f, i));
	phx_buf_addf(b, ">");
	PHX_FLOW_EACH(it, f, i, PHX_FLOW_PARENTS)
	{
		phx_buf_addf(b, "<parent");
		put_attribute(b, "ref", phx_flow_id(f, *it));
		phx_buf_addf(b, "/>");
	}
	phx_buf_addf(b, "</child>\n");
}

/* ---- the whole ---- */

/* Every text of a workflow ends with a NUL, and they lie one behind the other. */
static int check_texts(const struct phx_flow *f, struct phx_err *err)
{
	for (size_t at = 0; at < f->n_text; at += strlen(f->text + at) + 1)
		if (!fits(f->text + at))
			return phx_err_set(err, -EINVAL,
					   "a name, a word of a command or the environment has a "
					   "control character: DAX, which is XML, cannot hold it");
	return 0;
}

int phx_dax_write(const struct phx_flow *f, struct phx_buf *ret, struct phx_err *err)
{
	int r = check_texts(f, err);
	if (r < 0)
		return r;
	phx_buf_addf(ret,
		     "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<adag "
		     "xmlns=\"http://pegasus.isi.edu/schema/DAX\" version=\"3.6\"");
	put_attribute(ret, "name", phx_flow_text(f, f->name));
	phx_buf_addf(ret, ">\n");
	for (uint32_t i = 0; i < f->n_tasks; i++)
		put_job(ret, f, i);
	for (uint32_t i = 0; i < f->n_tasks; i++)
		put_order(ret, f, i);
	phx_buf_addf(ret, "</adag>\n");
	return ret->failed ? -ENOMEM : 0;
}
