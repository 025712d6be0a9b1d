/* RE agreements in XML, as in Fig. 3 of 000: <RE_agreement> with one element a
 * field, its value as text or as attribute value="". The figure as printed is
 * not well-formed (attributes without a name, <type=" web_service ">): it is
 * refused, and each such line is shown as it should be. Called by agreement.c;
 * loads nothing from anywhere. */
#include <ctype.h>
#include <libxml/parser.h>
#include <libxml/tree.h>
#include <stdio.h>
#include <string.h>

#include "config/agreement_internal.h"

enum { VALUE_MAX = 256 };

/* ---- what is printed in Fig. 3 ---- */

static bool is_name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

/* Plain and typographic quotes. */
static size_t quote_length(const char *p)
{
	static const char *const quotes[] = {"\"", "'", "\xe2\x80\x9c", "\xe2\x80\x9d"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(quotes); i++)
		if (!strncmp(p, quotes[i], strlen(quotes[i])))
			return strlen(quotes[i]);
	return 0;
}

/* After '<': "name=", blanks anywhere ("coordinated_ RE="); what follows, NULL when it is something
 * else. */
static const char *take_name(const char *p, char ret[PHX_NAME_MAX])
{
	size_t n = 0;
	for (; *p && *p != '='; p++) {
		if (*p == ' ' || *p == '\t')
			continue;
		if (!is_name_char(*p) || n + 1 >= PHX_NAME_MAX)
			return NULL;
		ret[n++] = *p;
	}
	ret[n] = '\0';
	return *p == '=' && n ? p + 1 : NULL;
}

static void take_value(const char *p, char ret[VALUE_MAX])
{
	size_t n = 0;
	while (*p && *p != '>' && *p != '<' && n + 1 < VALUE_MAX) {
		size_t quote = quote_length(p);
		if (quote) {
			p += quote;
			continue;
		}
		if (n || !isspace((unsigned char)*p))
			ret[n++] = *p;
		p++;
	}
	while (n && isspace((unsigned char)ret[n - 1]))
		n--;
	ret[n] = '\0';
}

/* An element written as an attribute without a name; one with a name has a blank between words: <a
 * b="c">. */
static bool find_nameless(struct agreement_reading *rd, const char *p, uint32_t line)
{
	char name[PHX_NAME_MAX], value[VALUE_MAX];
	const char *rest = take_name(p, name);
	const char *blank = strpbrk(p, " \t=");
	bool split_word = blank && *blank != '=' && blank > p && blank[-1] == '_';
	if (!rest || (blank && *blank != '=' && !split_word))
		return false;
	take_value(rest, value);
	phx_agreement_find(
		rd, line, name,
		"is written as in the paper's figure, which is not well-formed XML (a value "
		"without the name of an attribute); write <%s>%s</%s>",
		name, value, name);
	return true;
}

static bool find_all_nameless(struct agreement_reading *rd, const char *text)
{
	bool any = false;
	uint32_t line = 1;
	for (const char *p = text; *p; p++) {
		line += *p == '\n';
		if (*p == '<' && p[1] != '/' && p[1] != '!' && p[1] != '?')
			any = find_nameless(rd, p + 1, line) || any;
	}
	return any;
}

static void find_syntax(struct agreement_reading *rd, const xmlError *e)
{
	char text[200];
	snprintf(text, sizeof(text), "%s", e && e->message ? e->message : "cannot be parsed");
	text[strcspn(text, "\n")] = '\0';
	phx_agreement_find(rd, e && e->line > 0 ? (uint32_t)e->line : 1, "",
			   "not well-formed XML: %s", text);
}

/* ---- what is well-formed ---- */

static uint32_t line_of(const xmlNode *node)
{
	long line = xmlGetLineNo((xmlNode *)node);
	return line > 0 ? (uint32_t)line : 1;
}

/* Without the blanks around it: the figure has " parallel_batch_jobs ". */
static size_t trim(const char **text)
{
	while (isspace((unsigned char)**text))
		(*text)++;
	size_t n = strlen(*text);
	while (n && isspace((unsigned char)(*text)[n - 1]))
		n--;
	return n;
}

/* The text, or the attribute; an extension's as it is. False after a finding. */
static bool value_of(struct agreement_reading *rd, xmlNode *node, bool extension,
		     char ret[VALUE_MAX])
{
	const char *name = (const char *)node->name;
	xmlChar *attribute = xmlGetNoNsProp(node, (const xmlChar *)"value");
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	bool ok = true;
	if (attribute) {
		phx_buf_addf(&b, "%s", (const char *)attribute);
		ok = !node->children || (!node->children->next && xmlIsBlankNode(node->children));
	}
	for (xmlNode *n = node->children; n; n = n->next) {
		if (n->type == XML_TEXT_NODE || n->type == XML_CDATA_SECTION_NODE)
			phx_buf_addf(&b, "%s", (const char *)n->content);
		else if (n->type != XML_COMMENT_NODE)
			ok = false;
	}
	for (xmlAttr *a = node->properties; a; a = a->next)
		ok = ok && !strcmp((const char *)a->name, "value");
	xmlFree(attribute);
	const char *from = b.data ? b.data : "";
	size_t n = extension ? strlen(from) : trim(&from);
	for (size_t i = 0; i < n; i++)
		ok = ok && (unsigned char)from[i] >= 0x20 && from[i] != 0x7f;
	if (ok && n < VALUE_MAX) {
		memcpy(ret, from, n);
		ret[n] = '\0';
		return true;
	}
	phx_agreement_find(rd, line_of(node), name,
			   "must hold one printable line of at most 255 characters and nothing "
			   "else: <%s>...</%s>",
			   name, name);
	return false;
}

/* Holds other elements, and nothing besides. */
static void no_attributes(struct agreement_reading *rd, const xmlNode *node)
{
	if (node->properties)
		phx_agreement_find(rd, line_of(node), (const char *)node->name,
				   "has no attributes: its fields are elements");
}

static void read_fields(struct agreement_reading *rd, xmlNode *parent, bool extensions)
{
	char value[VALUE_MAX];
	no_attributes(rd, parent);
	for (xmlNode *n = parent->children; n; n = n->next) {
		const char *name = (const char *)n->name;
		bool is_text = n->type == XML_TEXT_NODE && xmlIsBlankNode(n);
		if (n->type == XML_COMMENT_NODE || n->type == XML_PI_NODE || is_text)
			continue;
		if (n->type != XML_ELEMENT_NODE)
			phx_agreement_find(rd, line_of(n), "",
					   "something stands here that is no element");
		else if (!extensions && !strcmp(name, "extensions"))
			read_fields(rd, n, true);
		else if (!value_of(rd, n, extensions, value))
			continue;
		else if (extensions)
			phx_agreement_extend(rd, name, value, line_of(n));
		else
			phx_agreement_put(rd, name, value, line_of(n));
	}
}

static void read_document(struct agreement_reading *rd, xmlDoc *doc)
{
	xmlNode *root = xmlDocGetRootElement(doc);
	if (doc->intSubset) {
		phx_agreement_find(rd, 1, "",
				   "a document type (<!DOCTYPE>) is not taken here: leave it out");
		return;
	}
	if (!root || strcmp((const char *)root->name, "RE_agreement")) {
		phx_agreement_find(rd, root ? line_of(root) : 1, "",
				   "the outermost element must be <RE_agreement>");
		return;
	}
	rd->line = line_of(root);
	read_fields(rd, root, false);
}

void phx_agreement_read_xml(struct agreement_reading *rd, const char *text, size_t n)
{
	/* no entity is replaced and nothing fetched: neither XML_PARSE_NOENT nor a DTD */
	const int options = XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING;
	PHX_AUTO_FREE char *copy = strndup(text, n);
	xmlParserCtxt *ctxt = copy && strlen(copy) == n ? xmlNewParserCtxt() : NULL;
	if (!ctxt) {
		phx_agreement_find(rd, 1, "", "a NUL byte; is this a text file?");
		return;
	}
	xmlDoc *doc = xmlCtxtReadMemory(ctxt, text, (int)n, "agreement", NULL, options);
	if (doc)
		read_document(rd, doc);
	else if (!find_all_nameless(rd, copy))
		find_syntax(rd, xmlCtxtGetLastError(ctxt));
	xmlFreeDoc(doc);
	xmlFreeParserCtxt(ctxt);
}
