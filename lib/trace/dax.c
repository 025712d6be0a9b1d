/* Reads workflows in DAX XML with libxml2; dax_write.c writes them. Called by trace/workflow.c;
 * opens no file and no network, replaces no entity. */
#include "trace/dax.h"

#include <errno.h>
#include <limits.h>
#include <libxml/parser.h>
#include <string.h>

#include "flow/draft.h"
#include "trace/decimal.h"

/* The namespace of our own profiles. */
#define OURS "phoenix"

struct reading {
	struct phx_flow_draft d;
	struct phx_err *err;
};

static bool is_element(const xmlNode *node, const char *name)
{
	return node->type == XML_ELEMENT_NODE && strcmp((const char *)node->name, name) == 0;
}

#define EACH_CHILD(it, of) for (xmlNode *it = (of)->children; it; it = it->next)

static void free_text(char **text)
{
	xmlFree(*text);
}
#define AUTO_TEXT PHX_AUTO(free_text)

static char *attribute(xmlNode *node, const char *name)
{
	return (char *)xmlGetNoNsProp(node, (const xmlChar *)name);
}

static uint32_t line_of(const xmlNode *node)
{
	long line = xmlGetLineNo(node);
	return line > 0 ? (uint32_t)line : 1;
}

/* ---- what a job is like ---- */

/* The profiles that count, whatever their namespace: a number within bounds, of which member. The
 * later ones are our own, for what Pegasus has no word for. */
#define MIB ((uint64_t)1 << 20)
#define MEMBER(m) offsetof(struct phx_flow_task, m), sizeof(((struct phx_flow_task *)0)->m)
static const struct profile {
	const char *key, *expected;
	uint64_t min, max, unit;
	size_t offset, size;
} profiles[] = {
	{"nodes", "1 to 1000000", 1, PHX_FLOW_NODES_MAX, 1, MEMBER(nodes)},
	{"cores", "1 to 65536", 1, PHX_FLOW_CORES_MAX, 1, MEMBER(cores)},
	{"memory", "MiB", 0, PHX_FLOW_BYTES_MAX / MIB, MIB, MEMBER(memory_bytes)},
	{"retry", "0 to 1000", 0, PHX_FLOW_RETRIES_MAX, 1, MEMBER(retries)},
	{"memory_bytes", "bytes", 0, PHX_FLOW_BYTES_MAX, 1, MEMBER(memory_bytes)},
	{"time_ms", "milliseconds", 0, PHX_FLOW_TIME_MAX_MS, 1, MEMBER(time_ms)},
};

static void set_profile(struct phx_flow_task *t, const struct profile *p, uint64_t value)
{
	uint32_t narrow = (uint32_t)value;
	char *member = (char *)t + p->offset;
	memcpy(member, p->size == sizeof(narrow) ? (void *)&narrow : (void *)&value, p->size);
}

static const struct profile *find_profile(const char *key)
{
	for (size_t i = 0; key && i < PHX_ARRAY_SIZE(profiles); i++)
		if (!strcasecmp(key, profiles[i].key))
			return &profiles[i];
	return NULL;
}

static int read_variable(struct reading *rd, uint32_t line, const char *name, const char *value)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	phx_buf_addf(&b, "%s=%s", name, value);
	return b.failed ? -ENOMEM
			: phx_flow_draft_link(&rd->d, rd->d.tasks.n - 1, PHX_FLOW_LINK_ENVIRONMENT,
					      b.data, b.n, line, rd->err);
}

static int read_when_failed(struct reading *rd, uint32_t line, const char *text,
			    struct phx_flow_task *t)
{
	int value;
	struct phx_err err = {0};
	if (phx_enum_parse(&phx_flow_when_failed_names, text, &value, &err) < 0)
		return phx_flow_fail(&rd->d, line, rd->err, "profile when_failed: %s", err.text);
	t->when_failed = (uint32_t)value;
	return 0;
}

static int read_wish(struct reading *rd, uint32_t line, const char *key, const char *text,
		     struct phx_flow_task *t)
{
	const struct profile *p = find_profile(key);
	uint64_t value;
	if (!p)
		return 0;
	if (phx_u64_parse(text, p->min, p->max, &value) < 0)
		return phx_flow_fail(&rd->d, line, rd->err, "profile %s: \"%.40s\": expected %s",
				     p->key, text, p->expected);
	set_profile(t, p, value * p->unit);
	return 0;
}

/* Of its command. */
static int add_word(struct reading *rd, const char *word, size_t n, uint32_t line)
{
	return phx_flow_draft_link(&rd->d, rd->d.tasks.n - 1, PHX_FLOW_LINK_ARGV, word, n, line,
				   rd->err);
}

/* <profile namespace="pegasus" key="nodes">4</profile>, <profile namespace="env" key="A">b</> */
static int read_profile(struct reading *rd, xmlNode *node, struct phx_flow_task *t)
{
	AUTO_TEXT char *key = attribute(node, "key"), *space = attribute(node, "namespace"),
		       *text = (char *)xmlNodeGetContent(node);
	const char *value = text ? text : "";
	uint32_t line = line_of(node);
	if (!key)
		return 0;
	if (space && !strcmp(space, "env"))
		return read_variable(rd, line, key, value);
	if (space && !strcmp(space, OURS) && !strcmp(key, "word"))
		return add_word(rd, value, strlen(value), line);
	if (space && !strcmp(space, OURS) && !strcmp(key, "when_failed"))
		return read_when_failed(rd, line, value, t);
	return read_wish(rd, line, key, value, t);
}

static int read_uses(struct reading *rd, xmlNode *node)
{
	AUTO_TEXT char *size = attribute(node, "size"), *link = attribute(node, "link"),
		       *file = attribute(node, "file"), *name = attribute(node, "name");
	static const struct {
		const char *link;
		bool reads, writes;
	} links[] = {{"output", false, true}, {"inout", true, true}};
	const char *used = name ? name : file;
	uint32_t line = line_of(node), task = rd->d.tasks.n - 1;
	uint64_t bytes = 0;
	bool reads = true, writes = false;
	if (size && phx_u64_parse(size, 0, PHX_FLOW_BYTES_MAX, &bytes) < 0)
		return phx_flow_fail(&rd->d, line, rd->err,
				     "size of a file: \"%.40s\": expected bytes", size);
	if (!used)
		return phx_flow_fail(&rd->d, line, rd->err, "uses: name of a file: missing");
	for (size_t i = 0; link && i < PHX_ARRAY_SIZE(links); i++) {
		bool is = !strcmp(link, links[i].link);
		reads = is ? links[i].reads : reads;
		writes = is ? links[i].writes : writes;
	}
	int r = 0;
	if (reads)
		r = phx_flow_draft_link(&rd->d, task, PHX_FLOW_LINK_INPUT, used, strlen(used), line,
					rd->err);
	if (r == 0 && reads)
		phx_flow_draft_size(&rd->d, bytes);
	if (r == 0 && writes)
		r = phx_flow_draft_link(&rd->d, task, PHX_FLOW_LINK_OUTPUT, used, strlen(used),
					line, rd->err);
	if (r == 0 && writes)
		phx_flow_draft_size(&rd->d, bytes);
	return r;
}

/* ---- what it runs ---- */

/* <argument>-a 1 <file name="f"/> -b</argument>: words with blanks between them. */
static int read_argument(struct reading *rd, xmlNode *node)
{
	static const char blanks[] = " \t\r\n";
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	int r = 0;
	EACH_CHILD(it, node) {
		bool file = is_element(it, "file") || is_element(it, "filename");
		AUTO_TEXT char *text = NULL;
		if (file) {
			text = attribute(it, "name");
			text = text ? text : attribute(it, "file");
		} else if (it->type == XML_TEXT_NODE || it->type == XML_CDATA_SECTION_NODE) {
			text = (char *)xmlNodeGetContent(it);
		}
		phx_buf_addf(&b, "%s", text ? text : "");
	}
	if (b.failed)
		return -ENOMEM;
	for (const char *p = b.data; r == 0 && p && *(p += strspn(p, blanks));) {
		size_t n = strcspn(p, blanks);
		r = add_word(rd, p, n, line_of(node));
		p += n;
	}
	return r;
}

/* Is its command told by profiles "word", since it is more than words with blanks between them? */
static bool is_worded(xmlNode *node)
{
	EACH_CHILD(it, node) {
		if (!is_element(it, "profile"))
			continue;
		AUTO_TEXT char *key = attribute(it, "key"), *space = attribute(it, "namespace");
		if (key && space && !strcmp(space, OURS) && !strcmp(key, "words"))
			return true;
	}
	return false;
}

static int read_parts(struct reading *rd, xmlNode *node, bool worded, struct phx_flow_task *t)
{
	int r = 0;
	EACH_CHILD(it, node) {
		if (is_element(it, "profile"))
			r = read_profile(rd, it, t);
		else if (is_element(it, "uses"))
			r = read_uses(rd, it);
		else if (!worded && is_element(it, "argument"))
			r = read_argument(rd, it);
		if (r < 0)
			return r;
	}
	return 0;
}

static int read_job(struct reading *rd, xmlNode *node)
{
	uint32_t line = line_of(node);
	AUTO_TEXT char *id = attribute(node, "id"), *type = attribute(node, "name"),
		       *runtime = attribute(node, "runtime");
	bool worded = is_worded(node);
	if (!id || !*id)
		return phx_flow_fail(&rd->d, line, rd->err, "job: id: missing");
	struct phx_flow_task *t = phx_flow_draft_task(&rd->d, line, rd->err);
	if (!t)
		return -EINVAL;
	if (runtime && phx_decimal_ms(runtime, strlen(runtime), &t->run_ms) < 0)
		return phx_flow_fail(&rd->d, line, rd->err,
				     "job \"%.60s\": runtime: \"%.40s\": expected seconds", id,
				     runtime);
	int r = phx_flow_draft_text(&rd->d, id, strlen(id), &t->id, rd->err);
	if (r == 0 && type && *type) {
		r = phx_flow_draft_text(&rd->d, type, strlen(type), &t->name, rd->err);
		r = r < 0 || worded ? r : add_word(rd, type, strlen(type), line);
	}
	return r < 0 ? r : read_parts(rd, node, worded, t);
}

/* ---- dependencies ---- */

static int read_ref(struct reading *rd, xmlNode *node, uint32_t *ret)
{
	AUTO_TEXT char *ref = attribute(node, "ref");
	if (!ref)
		return phx_flow_fail(&rd->d, line_of(node), rd->err, "%s: ref: missing",
				     (const char *)node->name);
	return phx_flow_draft_text(&rd->d, ref, strlen(ref), ret, rd->err);
}

static int read_child(struct reading *rd, xmlNode *node)
{
	uint32_t child, parent;
	int r = read_ref(rd, node, &child);
	if (r < 0)
		return r;
	EACH_CHILD(it, node) {
		if (!is_element(it, "parent"))
			continue;
		r = read_ref(rd, it, &parent);
		r = r < 0 ? r : phx_flow_draft_order(&rd->d, child, parent, line_of(it), rd->err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- the whole ---- */

static int read_document(struct reading *rd, xmlDoc *doc)
{
	xmlNode *root = xmlDocGetRootElement(doc);
	if (doc->intSubset || doc->extSubset)
		return phx_flow_fail(
			&rd->d, 1, rd->err,
			"a document type (DOCTYPE) is not read: expected a plain workflow");
	if (!root || !is_element(root, "adag"))
		return phx_flow_fail(&rd->d, root ? line_of(root) : 1, rd->err,
				     "\"%.40s\": expected a workflow (adag)",
				     root ? (const char *)root->name : "");
	AUTO_TEXT char *name = attribute(root, "name");
	int r = name ? phx_flow_draft_text(&rd->d, name, strlen(name), &rd->d.name, rd->err) : 0;
	for (xmlNode *it = root->children; r == 0 && it; it = it->next) {
		if (is_element(it, "job"))
			r = read_job(rd, it);
		else if (is_element(it, "child"))
			r = read_child(rd, it);
	}
	return r;
}

static int parse(struct reading *rd, xmlParserCtxt *ctx, const char *text, size_t n)
{
	int options = XML_PARSE_NONET | XML_PARSE_BIG_LINES | XML_PARSE_NOERROR |
		XML_PARSE_NOWARNING | XML_PARSE_COMPACT;
	xmlDoc *doc = xmlCtxtReadMemory(ctx, text, (int)n, NULL, NULL, options);
	if (!doc) {
		const xmlError *e = xmlCtxtGetLastError(ctx);
		const char *why = e && e->message ? e->message : "not XML\n";
		return phx_flow_fail(&rd->d, e && e->line > 0 ? (uint32_t)e->line : 1, rd->err,
				     "%.*s", (int)strcspn(why, "\n"), why);
	}
	int r = read_document(rd, doc);
	xmlFreeDoc(doc);
	return r;
}

int phx_dax_read(const char *name, const char *text, size_t n, struct phx_flow *ret,
		 struct phx_err *err)
{
	struct reading rd = {.d.what = name, .err = err};
	if (n > INT_MAX)
		return phx_err_set(err, -EINVAL, "%s: larger than %d bytes", name, INT_MAX);
	xmlParserCtxt *ctx = xmlNewParserCtxt();
	int r = ctx ? parse(&rd, ctx, text, n) : -ENOMEM;
	xmlFreeParserCtxt(ctx);
	r = r < 0 ? r : phx_flow_make(&rd.d, ret, err);
	phx_flow_draft_fini(&rd.d);
	return r;
}
